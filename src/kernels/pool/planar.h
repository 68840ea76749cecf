/* planar.h: where the windows of a row lie, for the engines on planes of one channel; planar_impl.h says how they work.
 */
#ifndef ISO_KERNELS_POOL_PLANAR_H
#define ISO_KERNELS_POOL_PLANAR_H
#include "kernels/pool/window.h"

/* Window o of a row: kernel position s of lo[o] … hi[o] − 1 is at column first[o] + s·dilation; n[o] positions count
 * for an average. Padded up to `stride` windows, a multiple of 16, by empty ones at the last one's place. full[b]: the
 * 16 windows from 16·b on hold all of 0 … longest − 1. */
typedef struct iso__pool_columns {
  int32_t *first, *lo, *hi;
  float *n;
  uint8_t *full;
  int64_t stride, longest;
} iso__pool_columns;
enum { ISO__POOL_COLUMNS = 16 };
iso__pool_columns iso__pool_columns_make(const iso_pool_problem *p, void *workspace);
#endif
