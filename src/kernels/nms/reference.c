/* reference.c: class `greedy`: suppression as nms.h says, box by box. */
#include "kernels/nms/nms.h"

#define SUPPRESSES(real)                                                                                               \
  static bool suppresses_##real(const real *a, const real *b, double threshold) {                                      \
    const real left = b[0] > a[0] ? b[0] : a[0], top = b[1] > a[1] ? b[1] : a[1];                                      \
    const real right = b[2] < a[2] ? b[2] : a[2], bottom = b[3] < a[3] ? b[3] : a[3];                                  \
    const real w = right - left > 0 ? right - left : 0, h = bottom - top > 0 ? bottom - top : 0;                       \
    const real inter = w * h, area_a = (a[2] - a[0]) * (a[3] - a[1]), area_b = (b[2] - b[0]) * (b[3] - b[1]);          \
    return (double)(inter / ((area_a + area_b) - inter)) > threshold;                                                  \
  }
SUPPRESSES(float)
SUPPRESSES(double)

void iso__nms_reference_run(const iso__call *call) {
  const iso_nms_problem *p = (const iso_nms_problem *)call->problem;
  const iso_nms_args *a = call->args;
  const float *f = a->boxes;
  const double *d = a->boxes;
  for (int64_t i = 0; i < p->n; i++) a->keep[i] = 1;
  for (int64_t begin = 0, end; begin < p->n; begin = end) {
    end = iso__nms_run_end(p, a->group, begin);
    for (int64_t i = begin; i < end; i++)
      for (int64_t j = i + 1; a->keep[i] && j < end; j++)
        if (p->head.dtype == ISO_F64 ? suppresses_double(d + 4 * i, d + 4 * j, a->threshold)
                                     : suppresses_float(f + 4 * i, f + 4 * j, a->threshold))
          a->keep[j] = 0;
  }
}
