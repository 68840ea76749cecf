/* The elementary functions' public face: one lane of math_f32.h, and math_f64.h, in the default floating-point
 * environment whatever the caller has set. */
#include "isobit/numeric.h"
#include "base/fenv.h"
#include "math_f32.h"
#include "math_f64.h"

/* clang-format off */
#define FUNCTIONS(X) \
  X(exp) X(exp2) X(expm1) X(log) X(log2) X(log10) X(log1p) X(sin) X(cos) X(tan) \
  X(sinpi) X(cospi) X(asin) X(acos) X(atan) X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) \
  X(atanh) X(sigmoid) X(silu) X(softplus) X(erf) X(erfc) X(gelu) X(gelu_tanh) X(rsqrt) \
  X(log_sigmoid) X(mish) X(lgamma) X(digamma) X(trigamma) X(erfinv) X(ndtri) X(i0) X(i0e) X(i1) \
  X(i1e)
#define FUNCTIONS_OF_TWO(X) X(pow) X(atan2) X(hypot) X(fmod) X(remainder) X(logaddexp)
/* clang-format on */

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
#define ISO__F32_OF_TWO(name)                                                                                          \
  float iso_f32_##name(float x, float y) {                                                                             \
    const iso__fenv saved = iso__fenv_enter();                                                                         \
    const float z = iso__fenv_pin_f32(v_##name(iso__fenv_pin_f32(x), iso__fenv_pin_f32(y)));                           \
    iso__fenv_leave(saved);                                                                                            \
    return z;                                                                                                          \
  }
#define ISO__F64_OF_TWO(name)                                                                                          \
  double iso_f64_##name(double x, double y) {                                                                          \
    const iso__fenv saved = iso__fenv_enter();                                                                         \
    const double z = iso__fenv_pin(iso__##name##_f64(iso__fenv_pin(x), iso__fenv_pin(y)));                             \
    iso__fenv_leave(saved);                                                                                            \
    return z;                                                                                                          \
  }
FUNCTIONS(ISO__F32)
FUNCTIONS(ISO__F64)
FUNCTIONS_OF_TWO(ISO__F32_OF_TWO)
FUNCTIONS_OF_TWO(ISO__F64_OF_TWO)
double iso_f64_powi(double x, int64_t n) {
  const iso__fenv saved = iso__fenv_enter();
  const double z = iso__fenv_pin(iso__powi_f64(iso__fenv_pin(x), n));
  iso__fenv_leave(saved);
  return z;
}
