/* indices.h (this room's): bad indices that a context's checks on the device have met.
 *
 * A check's kernel writes into a report of its context, in host memory that the device sees; nothing is copied or
 * waited for until somebody waits anyway and looks there. Which check it was is a number into a list that the context
 * keeps: equal checks have one number, so the list ends where a training step repeats itself, and a captured check is
 * still known when it is replayed. */
#ifndef ISO_DEVICE_CUDA_INDICES_H
#define ISO_DEVICE_CUDA_INDICES_H
#include "device/device.h"

typedef struct iso__index_report {
  int32_t check; /* 1 + its number; 0: all were good */
  int64_t position, value;
} iso__index_report;

/* What the kernel does (indices.cu). */
typedef struct iso__index_work {
  const void *from; /* i64, or i32 */
  int64_t *to, n, extent, ignored;
  iso__index_report *report;
  int32_t check;
  bool is_i32, wraps, ignores;
} iso__index_work;
int iso__cuda_launch_index_check(const iso__index_work *work, void *stream, int n_multiprocessors);

iso_status iso__cuda_check_indices(iso_context *ctx, const iso__index_check *check, const void *from, iso_dtype dtype,
                                   int64_t *to, int64_t n);
void iso__cuda_collect(iso_context *ctx);

/* The list: the number of this check, entered if it is new; −1 without memory. */
typedef struct iso__index_checks {
  iso__index_check *list;
  size_t n, capacity, latest;
} iso__index_checks;
int iso__index_checks_find(iso_context *ctx, iso__index_checks *checks, const iso__index_check *check);
#endif
