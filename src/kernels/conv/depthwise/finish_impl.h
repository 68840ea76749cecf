/* finish_impl.h: what depthwise and grouped micro-kernels share: the end of a pixel's chain, and the packed weights. */
#include "kernels/conv/depthwise/depthwise.h"
#include "numeric/unroll.h"
#include "numeric/vec.h"

/* fold of one chunk, bias, residual, activation; n channels at c of the pixel `y` elements away. */
VEC_FN vf finish(const iso__dw_run *t, vf acc, int64_t c, int64_t y, const bool whole, size_t n) {
  vf v = vf_add(vf_zero(), acc);
  if (t->bias) v = vf_add(v, whole ? vf_load(t->bias + c) : vf_load_n(t->bias + c, n));
  if (t->residual) v = vf_add(v, whole ? vf_load(t->residual + y + c) : vf_load_n(t->residual + y + c, n));
  if (t->relu) v = vf_max(vf_zero(), v); /* NaN stays: the second operand; no sum here is −0 */
  return v;
}

VEC_FN void finish_pixels(const iso__dw_run *t, const vf *acc, int64_t c, const int n_pixels) {
  UNROLL_32 for (int i = 0; i < n_pixels; i++)
      vf_store(t->y + i * t->y_pixel + c, finish(t, acc[i], c, i * t->y_pixel, true, VF_LANES));
}

/* out[((i·n_cols + j)·depth + d)·width + lane]: the weight of tap (i, j) between output channel v·width + lane and the
 * d-th channel of its group; false if one is not finite. */
static bool pack(const iso__conv_product *g, const float *w, int64_t v, float *out) {
  const iso_conv_problem *p = g->problem;
  const int64_t left = p->c - v * VF_LANES, n = left < VF_LANES ? left : VF_LANES, taps = p->r * p->s, depth = g->depth;
  vf zero = vf_zero();
  for (int64_t i = 0; i < g->row.n_taps; i++)
    for (int64_t j = 0; j < g->col.n_taps; j++) {
      const int64_t tap = (g->row.first_tap + i * g->row.tap_stride) * p->s + g->col.first_tap + j * g->col.tap_stride;
      for (int64_t d = 0; d < depth; d++, out += VF_LANES) {
        for (int64_t lane = 0; lane < VF_LANES; lane++) {
          const int64_t c = v * VF_LANES + lane, within = c % depth;
          const int64_t k = g->transposed ? c - within + d : c, from = g->transposed ? within : d;
          out[lane] = lane < n ? w[(k * taps + tap) * depth + from] : 0;
        }
        zero = vf_fma(vf_load(out), vf_zero(), zero);
      }
    }
  return !vm_any(vf_isnan(zero));
}

#define EIGHT(name)                                                                                                    \
  { name##_1, name##_2, name##_3, name##_4, name##_5, name##_6, name##_7, name##_8 }
