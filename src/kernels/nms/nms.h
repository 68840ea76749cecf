/* nms.h: greedy non-maximum suppression: which boxes stay.
 *
 * boxes (n,4) x1 y1 x2 y2, the best first; keep (n) bool. In order, each box that is not suppressed stays and
 * suppresses every later one of its run with inter/((area + area') − inter) > threshold, where inter = w·h of the
 * larger corners from the smaller, negative extents 0, and area = (x2 − x1)·(y2 − y1). `grouped`: group (n) i64; a run
 * is neighbours of one group; else all boxes are. A NaN suppresses nothing: larger is b > a ? b : a, smaller b < a ? b
 * : a. */
#ifndef ISO_KERNELS_NMS_H
#define ISO_KERNELS_NMS_H
#include "plan/plan.h"

typedef struct iso_nms_problem {
  iso__problem head;
  int64_t n;
  uint8_t grouped;
  uint8_t reserved[7];
} iso_nms_problem;
typedef struct iso_nms_args {
  const void *boxes;
  const int64_t *group;
  unsigned char *keep;
  double threshold; /* compared with, as it is */
} iso_nms_args;

/* The end of the run that begins at `begin`. */
static inline int64_t iso__nms_run_end(const iso_nms_problem *p, const int64_t *group, int64_t begin) {
  int64_t end = p->grouped ? begin + 1 : p->n;
  while (end < p->n && group[end] == group[begin]) end++;
  return end;
}
#endif
