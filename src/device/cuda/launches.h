/* launches.h (this room's): the latest launches of a device by name, and how many have ended for certain.
 *
 * An error of a kernel comes at some later call, which knows nothing of it. So the host writes down what it launches,
 * and every MARK_EVERY launches asks the stream to write their number into pinned memory: what was launched since the
 * number that stands there can have failed, nothing earlier. Between marks a launch costs an increment and a store. */
#ifndef ISO_DEVICE_CUDA_LAUNCHES_H
#define ISO_DEVICE_CUDA_LAUNCHES_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ISO__LAUNCHES_KEPT = 64, ISO__LAUNCHES_MARK_EVERY = 32 };
typedef struct iso__launches {
  atomic_uint n;                                   /* so far; wraps */
  _Atomic(const char *) names[ISO__LAUNCHES_KEPT]; /* of number i mod ISO__LAUNCHES_KEPT */
  volatile uint32_t *ended;                        /* written by the stream; NULL: it cannot be asked to */
  atomic_bool is_lost;                             /* the device met an error after which nothing of it can be used */
} iso__launches;

/* Whether the stream is to be asked now to write *number once all before this launch has ended. */
bool iso__launches_note(iso__launches *l, const char *name, uint32_t *number);
/* "in cuda.gather_rows", or "in one of the last 4 launches: cuda.map ×3, cuda.gather_rows", oldest first; "" where all
 * have ended. */
void iso__launches_describe(const iso__launches *l, char *text, size_t n_bytes);
#endif
