/* The elementary functions in binary64, one number at a time: for f64 tensors, host scalars (learning rates, bias
 * corrections) and everything that a gradient check compares with. Built like math_f32.h, which see; bounds and special
 * values are in docs/numerics-math.md and asserted by tests/numeric/test_math_f64.c. */
#ifndef ISO__NUMERIC_MATH_F64_H
#define ISO__NUMERIC_MATH_F64_H

#include <stdint.h>
#include "hd.h"

ISO__SHARED double iso__exp_f64(double x);
ISO__SHARED double iso__exp2_f64(double x);
ISO__SHARED double iso__expm1_f64(double x);
ISO__SHARED double iso__log_f64(double x);
ISO__SHARED double iso__log2_f64(double x);
ISO__SHARED double iso__log1p_f64(double x);
ISO__SHARED double iso__tanh_f64(double x);
ISO__SHARED double iso__sigmoid_f64(double x);
ISO__SHARED double iso__silu_f64(double x);
ISO__SHARED double iso__silu_grad_f64(double x);
ISO__SHARED double iso__softplus_f64(double x);
ISO__SHARED double iso__erf_f64(double x);
ISO__SHARED double iso__gelu_f64(double x);
ISO__SHARED double iso__gelu_grad_f64(double x);
ISO__SHARED double iso__gelu_tanh_f64(double x);
ISO__SHARED double iso__gelu_tanh_grad_f64(double x);
ISO__SHARED double iso__rsqrt_f64(double x);
ISO__SHARED double iso__sinpi_f64(double x);
ISO__SHARED double iso__cospi_f64(double x);
ISO__SHARED double iso__log10_f64(double x);
ISO__SHARED double iso__sin_f64(double x);
ISO__SHARED double iso__cos_f64(double x);
ISO__SHARED double iso__tan_f64(double x);
ISO__SHARED double iso__asin_f64(double x);
ISO__SHARED double iso__acos_f64(double x);
ISO__SHARED double iso__atan_f64(double x);
ISO__SHARED double iso__sinh_f64(double x);
ISO__SHARED double iso__cosh_f64(double x);
ISO__SHARED double iso__asinh_f64(double x);
ISO__SHARED double iso__acosh_f64(double x);
ISO__SHARED double iso__atanh_f64(double x);
ISO__SHARED double iso__erfc_f64(double x);
ISO__SHARED double iso__log_sigmoid_f64(double x);
ISO__SHARED double iso__mish_f64(double x);
ISO__SHARED double iso__mish_grad_f64(double x);
ISO__SHARED double iso__lgamma_f64(double x);
ISO__SHARED double iso__digamma_f64(double x);
ISO__SHARED double iso__trigamma_f64(double x);
ISO__SHARED double iso__erfinv_f64(double x);
ISO__SHARED double iso__ndtri_f64(double x);
ISO__SHARED double iso__i0_f64(double x);
ISO__SHARED double iso__i0e_f64(double x);
ISO__SHARED double iso__i1_f64(double x);
ISO__SHARED double iso__i1e_f64(double x);
ISO__SHARED double iso__atan2_f64(double y, double x);
ISO__SHARED double iso__pow_f64(double x, double y);
ISO__SHARED double iso__hypot_f64(double x, double y);
ISO__SHARED double iso__fmod_f64(double x, double y);
ISO__SHARED double iso__remainder_f64(double x, double y);
ISO__SHARED double iso__logaddexp_f64(double x, double y);
/* x^n by squaring, low bit of |n| first; 1/x^|n| where n < 0. x^0 = 1. Not within ulps of the power but a fixed order.
 */
ISO__SHARED double iso__powi_f64(double x, int64_t n);

#ifdef __CUDACC__
#  include "math_f64.c"
#  include "bessel_f64.c"
#  include "gamma_f64.c"
#  include "hyperbolic_f64.c"
#  include "quantile_f64.c"
#  include "remainder_f64.c"
#  include "trig_f64.c"
#endif
#endif
