/* taps.h: which inputs an output of one axis sees, with which weights; and the lists of all of an axis. */
#ifndef ISO_KERNELS_RESAMPLE_TAPS_H
#define ISO_KERNELS_RESAMPLE_TAPS_H
#include "kernels/resample/resample.h"
#include "numeric/hd.h"

/* Inputs begin … end − 1 of output o, and the sum that their weights are divided by (smooth only, else 1). */
typedef struct iso__tap_range {
  int64_t begin, end;
  double total;
} iso__tap_range;
ISO__SHARED iso__tap_range iso__resample_range(const iso_resample_problem *p, int axis, int64_t o);
/* The weight of input i in output o, whose range is r. */
ISO__SHARED double iso__resample_weight(const iso_resample_problem *p, int axis, int64_t o, const iso__tap_range *r,
                                        int64_t i);
/* At most so many inputs an output. */
int64_t iso__resample_most_taps(const iso_resample_problem *p, int axis);
/* Outputs that may see input i: a range that holds all that do. */
ISO__SHARED iso__tap_range iso__resample_seen_by(const iso_resample_problem *p, int axis, int64_t i);

/* An axis' lists, one an output (forward) or one an input (backward): list j holds elements begin[j], begin[j] + 1, …
 * of the other side with weights weight[offset[j] … offset[j + 1] − 1], of the operands' dtype. */
typedef struct iso__taps {
  const int32_t *begin, *offset;
  const void *weight;
  int64_t longest;
} iso__taps;
size_t iso__resample_taps_bytes(const iso_resample_problem *p);
void iso__resample_taps(const iso_resample_problem *p, void *workspace, iso__taps taps[3]);

#ifdef __CUDACC__
#  include "kernels/resample/places.c"
#endif
#endif
