/* gelu in binary32 and its derivative; as math_f32.h, which includes this file and has the conventions.
 *
 * x·Φ(x) = max(x, 0) − |x|·Φ(−|x|) and Φ(−a) = ½·2^q(a) with a polynomial q: no special cases near 0 or far out, and
 * Φ keeps an absolute precision everywhere. The derivative is g for x < 0 and 1 − g above, where g = Φ(−a) − a·φ(a) =
 * e^(−a²/2)·m(a). */
#ifndef ISO__NUMERIC_GELU_F32_H
#define ISO__NUMERIC_GELU_F32_H

#include "vec.h"

VEC_FN vf v_gelu(vf x) {
  const vf b = vf_max(vf_set1(-11.0f), v_minus_abs(x));
  vf q = vf_set1(-0x1.f6f9bcp-20f); /* log2(2·Φ(b))/b */
  q = vf_fma(q, b, vf_set1(-0x1.eb5aeep-16f));
  q = vf_fma(q, b, vf_set1(-0x1.2f99ep-13f));
  q = vf_fma(q, b, vf_set1(0x1.d11238p-13f));
  q = vf_fma(q, b, vf_set1(0x1.d4eb9ep-8f));
  q = vf_fma(q, b, vf_set1(0x1.ae7714p-5f));
  q = vf_fma(q, b, vf_set1(-0x1.d63754p-2f));
  q = vf_fma(q, b, vf_set1(0x1.26aee6p+0f));
  return vf_fma(vf_mul(b, v_decay2(vf_mul(q, b))), vf_set1(0x1p-65f), vf_max(vf_set1(-0.0f), x));
}

VEC_FN vf v_gelu_grad(vf x) {
  const vf b = vf_max(vf_set1(-15.0f), v_minus_abs(x));
  vf m = vf_set1(0x1.450122p-22f);
  m = vf_fma(m, b, vf_set1(0x1.f49a24p-18f));
  m = vf_fma(m, b, vf_set1(0x1.5ae982p-14f));
  m = vf_fma(m, b, vf_set1(0x1.228614p-11f));
  m = vf_fma(m, b, vf_set1(0x1.4ff0acp-9f));
  m = vf_fma(m, b, vf_set1(0x1.256dcp-7f));
  m = vf_fma(m, b, vf_set1(0x1.a064f8p-6f));
  m = vf_fma(m, b, vf_set1(0x1.faf082p-5f));
  m = vf_fma(m, b, vf_set1(0x1.0ff2fcp-3f));
  m = vf_fma(m, b, vf_set1(0x1.ffef64p-3f));
  m = vf_fma(m, b, vf_set1(0x1.98840cp-1f));
  m = vf_fma(m, b, vf_set1(0x1.fffffep-2f));
  const vf e = v_decay2(vf_mul(vf_mul(b, vf_set1(-0x1.715476p-1f)), b)), g = vf_mul(e, m);
  return vf_select(vf_lt(x, vf_zero()), vf_mul(g, vf_set1(0x1p-64f)), vf_fnma(g, vf_set1(0x1p-64f), vf_set1(1.0f)));
}

#endif
