/* device.h: where storage lies and how its bytes move: one row a device.
 *
 * All work of a device (copies, engines) is ordered: what is called later sees what was called earlier. A copy between
 * host and device has finished when the call returns, as far as the host can tell; work on the device itself may still
 * be under way until `synchronize`. */
#ifndef ISO_DEVICE_DEVICE_H
#define ISO_DEVICE_DEVICE_H
#include <isobit/numeric.h>
#include "base/context.h"

/* Two arrangements of the same elements; strides in elements, from the pointers given with it. */
typedef struct iso__strided {
  int n_dims; /* at most 8 */
  int64_t shape[8], dst_strides[8], src_strides[8];
  iso_dtype dst_dtype, src_dtype;
} iso__strided;

/* A moment in a device's work. */
typedef struct iso__event {
  void *handle; /* the CPU has none */
  uint64_t ns;  /* of the CPU: by its clock */
} iso__event;
/* Indices that are to be in [0, extent), and how those that are not are told of. */
typedef struct iso__index_check {
  const char *op, *name; /* "index_select", "index"; they live for ever */
  bool is_class;         /* a target among classes: other words */
  bool wraps;            /* negative ones count from the end */
  bool ignores;          /* `ignored` may be there too, and becomes extent */
  int64_t ignored, extent;
  int n_dims; /* positions are told as those of a contiguous tensor of this shape */
  int64_t shape[8];
} iso__index_check;
/* Keeps the error of the index of that row-major position and value. */
void iso__index_fail(iso_context *ctx, const iso__index_check *check, int64_t position, int64_t value);

typedef struct iso__device {
  const char *name; /* "cpu", "cuda:0" */
  iso_isa isa;      /* of the rows that run here, no others; of the CPU it is each context's */
  int ordinal;
  const char *model; /* "NVIDIA H200"; the CPU's is base/cpu.h's to say */
  /* Memory that the device's engines use; `heap` is the asking context's, and the CPU's memory is its own. */
  void *(*alloc)(const struct iso__device *device, iso__heap *heap, size_t n_bytes, iso_status *status);
  void (*free)(const struct iso__device *device, iso__heap *heap, void *block, size_t n_bytes);
  /* Memory of the host that the device's own work may read and write, pinned: for results of captures and for copies
   * beside other work; `free` takes it too. NULL for the CPU. */
  void *(*alloc_pinned)(const struct iso__device *device, size_t n_bytes, iso_status *status);
  /* Bytes; either side may be this device's or the host's. */
  iso_status (*copy)(const struct iso__device *device, void *dst, const void *src, size_t n_bytes);
  iso_status (*zero)(const struct iso__device *device, void *dst, size_t n_bytes);
  /* Both sides are this device's; elements are cast once (NUMERICS §1). NULL for the CPU: see tensor/copy.c. */
  iso_status (*copy_strided)(const struct iso__device *device, void *dst, const void *src, const iso__strided *form);
  /* n elements of 1, 2, 4 or 8 bytes; NULL for the CPU. */
  iso_status (*fill)(const struct iso__device *device, void *dst, const void *element, size_t item_bytes, int64_t n);
  iso_status (*synchronize)(const struct iso__device *device);
  /* What `run` takes on the device, in ns, waiting for it: NULL for the CPU, whose clock will do. */
  double (*time)(const struct iso__device *device, void (*run)(const void *arg), const void *arg);
  /* Events: made, set behind all work that was given to the device until now, and compared: ns from one to the other,
   * waiting for both. */
  iso_status (*event_init)(const struct iso__device *device, iso__event *event);
  void (*event_release)(const struct iso__device *device, iso__event *event);
  iso_status (*event_record)(const struct iso__device *device, iso__event *event);
  iso_status (*event_elapsed)(const struct iso__device *device, const iso__event *begin, const iso__event *end,
                              double *ns);
  /* What follows is NULL for the CPU. Copies from pinned memory to the device's, behind what was given to the device
   * until now but beside what follows, and sets `done` behind the copy: the device's work can follow it, or the host
   * wait for it. */
  iso_status (*copy_beside)(const struct iso__device *device, void *dst, const void *src, size_t n_bytes,
                            iso__event *done);
  iso_status (*event_follow)(const struct iso__device *device, const iso__event *event);
  iso_status (*event_wait)(const struct iso__device *device, const iso__event *event);
  /* How often the host has waited for the device; occupies it for so long, so that
   * what is launched meanwhile runs without gaps; the kernels that `run` launches (it does not run, and no other
   * thread may use the device meanwhile; 0: not known). */
  uint64_t (*n_waits)(const struct iso__device *device);
  void (*delay)(const struct iso__device *device, double ns);
  int (*count_launches)(const struct iso__device *device, void (*run)(const void *arg), const void *arg);
  /* What a pair of events adds to the time between them; measured. */
  double (*event_overhead_ns)(const struct iso__device *device);
  /* Names what is done until the pop, for a profiler; NULL too where none listens. */
  void (*range_push)(const char *name);
  void (*range_pop)(void);
  /* Measured over about slice_ms: f32 fused multiply-adds (two each) and bytes read and written by a copy, in 1e9/s. */
  double (*peak_gflops)(const struct iso__device *device, double slice_ms);
  double (*copy_gbs)(const struct iso__device *device, double slice_ms);
  /* Writes n indices (i64 or i32, dense) as i64 in range: a bad one as 0, which is an error at the next call that waits
   * (`collect`), of several the one of the earliest check, and there of the lowest position. NULL: not there. */
  iso_status (*check_indices)(iso_context *ctx, const iso__index_check *check, const void *from, iso_dtype dtype,
                              int64_t *to, int64_t n);
  /* After waiting: keeps the first error that the context's work has left behind. NULL: work leaves none. */
  void (*collect)(iso_context *ctx);
  int width; /* what shares the work: a CUDA device's multiprocessors; 0 for the CPU, where it is a context's threads */
} iso__device;

extern const iso__device iso__device_cpu;

/* "cpu", "cuda" (the first), "cuda:1", or "auto": the first CUDA device that can be used, else the CPU. Not OK: `why`
 * says what is missing and what to do. Devices live as long as the process. */
iso_status iso__device_find(const char *name, const iso__device **device, char *why, size_t n_bytes);

/* The device that operators of this context compute on. */
static inline const iso__device *iso__device_of(const iso_context *ctx) {
  return ctx->device ? ctx->device : &iso__device_cpu;
}
/* Keeps what a call of the device got, where it failed. Returns the context's code. */
iso_status iso__device_asked(iso_context *ctx, const iso__device *device, const char *op, iso_status status);
/* The same of a call that waited for the device; with it the errors of the context's work until then. Returns the
 * context's code. */
iso_status iso__device_waited(iso_context *ctx, const iso__device *device, const char *op, iso_status status);
static inline bool iso__is_on_cpu(const iso_context *ctx) { return !ctx->device; }

#endif
