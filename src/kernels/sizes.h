/* sizes.h: arithmetic on extents, and workspaces laid out piece by piece. */
#ifndef ISO_KERNELS_SIZES_H
#define ISO_KERNELS_SIZES_H
#include <stddef.h>
#include <stdint.h>
#include "numeric/hd.h"

static inline ISO__HD int64_t iso__min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline ISO__HD int64_t iso__max(int64_t a, int64_t b) { return a > b ? a : b; }
/* Of n ≥ 0 by parts > 0. */
static inline ISO__HD int64_t iso__ceil_div(int64_t n, int64_t part) { return (n + part - 1) / part; }
static inline ISO__HD int64_t iso__round_up(int64_t n, int64_t multiple) {
  return iso__ceil_div(n, multiple) * multiple;
}

/* Reserves n items at *at, which moves on to the next cache line; returns their offset. */
static inline size_t iso__take(size_t *at, int64_t n, size_t item_bytes) {
  const size_t begin = *at;
  *at = (begin + (size_t)n * item_bytes + 63) / 64 * 64;
  return begin;
}
#endif
