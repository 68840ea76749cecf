/* The elementary functions' public face: one lane of math_f32.h, and math_f64.h, in the default floating-point
 * environment whatever the caller has set. */
#include "isobit/numeric.h"
#include "base/fenv.h"
#include "math_f32.h"
#include "math_f64.h"

#define ISO__F32(name)                                                                                                 \
  float iso_f32_##name(float x) {                                                                                      \
    const iso__fenv saved = iso__fenv_enter();                                                                         \
    const float y = iso__fenv_pin_f32(v_##name(iso__fenv_pin_f32(x)));                                                 \
    iso__fenv_leave(saved);                                                                                            \
    return y;                                                                                                          \
  }
#define ISO__F64(name)                                                                                                 \
  double iso_f64_##name(double x) {                                                                                    \
    const iso__fenv saved = iso__fenv_enter();                                                                         \
    const double y = iso__fenv_pin(iso__##name##_f64(iso__fenv_pin(x)));                                               \
    iso__fenv_leave(saved);                                                                                            \
    return y;                                                                                                          \
  }

ISO__F32(exp)
ISO__F32(exp2)
ISO__F32(expm1)
ISO__F32(log)
ISO__F32(log2)
ISO__F32(log1p)
ISO__F32(tanh)
ISO__F32(sigmoid)
ISO__F32(silu)
ISO__F32(softplus)
ISO__F32(erf)
ISO__F32(gelu)
ISO__F32(gelu_tanh)
ISO__F32(rsqrt)
ISO__F32(sinpi)
ISO__F32(cospi)
float iso_f32_pow(float x, float y) {
  const iso__fenv saved = iso__fenv_enter();
  const float z = iso__fenv_pin_f32(v_pow(iso__fenv_pin_f32(x), iso__fenv_pin_f32(y)));
  iso__fenv_leave(saved);
  return z;
}

ISO__F64(exp)
ISO__F64(exp2)
ISO__F64(expm1)
ISO__F64(log)
ISO__F64(log2)
ISO__F64(log1p)
ISO__F64(tanh)
ISO__F64(sigmoid)
ISO__F64(silu)
ISO__F64(softplus)
ISO__F64(erf)
ISO__F64(gelu)
ISO__F64(gelu_tanh)
ISO__F64(rsqrt)
ISO__F64(sinpi)
ISO__F64(cospi)
double iso_f64_pow(double x, double y) {
  const iso__fenv saved = iso__fenv_enter();
  const double z = iso__fenv_pin(iso__pow_f64(iso__fenv_pin(x), iso__fenv_pin(y)));
  iso__fenv_leave(saved);
  return z;
}
double iso_f64_powi(double x, int64_t n) {
  const iso__fenv saved = iso__fenv_enter();
  const double z = iso__fenv_pin(iso__powi_f64(iso__fenv_pin(x), n));
  iso__fenv_leave(saved);
  return z;
}
