/* roi.h: regions of interest of feature maps, bin by bin.
 *
 * x (n,h,w,c) channels-last; rois (k,5): number of the image, x1, y1, x2, y2, times `scale`. Bins (k,out_h,out_w,c).
 *
 * roi_align: a bin is the mean of rows × columns bilinear samples, rows = `samples`, or ⌈height/out_h⌉ where that is 0.
 * Sample (i,j) lies at y = y1 + bin·bin_h + ((i + ½)·bin_h)/rows, x alike; `aligned` moves all corners by −½, otherwise
 * extents are at least 1. Below −1 or beyond the extent a sample is absent; else y is clamped to 0 from below, and from
 * y ≥ h − 1 on it is h − 1. Its terms are the taps (low,low), (low,high), (high,low), (high,high) of (y,x), whose
 * weights are rounded once. Class `ordered`: k = 4·(i·columns + j) + tap, absent ones keep their k; then ÷
 * max(rows·columns, 1). Gradient, class `ordered`: dx = Σ fma(weight, g, ·) over (region, bin, sample, tap) that fall
 * on it, k the rank among these, g = dy ÷ max(rows·columns, 1).
 *
 * roi_pool: index (k,out_h,out_w,c) i64, of the bin's largest element in (n,c,h,w), −1 where the bin is empty; the
 * first NaN, else of equals the lowest. Corners are rounded to nearest, halves away from zero; bin (i,j) has the rows
 * ⌊i·bin_h⌋ … ⌈(i + 1)·bin_h⌉ − 1 of a region of at least 1. */
#ifndef ISO_KERNELS_ROI_H
#define ISO_KERNELS_ROI_H
#include "plan/plan.h"

typedef struct iso_roi_problem {
  iso__problem head;
  int64_t n, c, h, w, k, out_h, out_w, samples;
  uint8_t aligned;
  uint8_t reserved[7];
} iso_roi_problem;
/* align fwd: x, rois -> y. align bwd: dy, rois -> dx. pool: x, rois -> index. Regions name existing images. */
typedef struct iso_roi_args {
  const void *x, *rois, *dy;
  void *y, *dx;
  int64_t *index;
  double scale; /* rounded to the dtype once */
} iso_roi_args;
#endif
