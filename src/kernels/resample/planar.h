/* planar.h: the columns' lists turned for vectors of columns; planar_impl.h says how they are used. */
#ifndef ISO_KERNELS_RESAMPLE_PLANAR_H
#define ISO_KERNELS_RESAMPLE_PLANAR_H
#include "kernels/resample/taps.h"

/* Column j's tap k: element begin[j] + k with weight[k·stride + j] while k < n[j]; columns are padded with lists of no
 * tap up to stride, a multiple of 16. */
typedef struct iso__columns {
  int32_t *begin, *n;
  float *weight;
  int64_t stride, longest;
} iso__columns;
/* The longest list of an axis in the problem's direction. */
int64_t iso__resample_longest(const iso_resample_problem *p, int axis);
/* After the lists of iso__resample_taps in the workspace of iso__resample_planar_workspace. */
iso__columns iso__resample_columns(const iso_resample_problem *p, void *workspace, const iso__taps *taps);
#endif
