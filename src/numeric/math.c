/* The elementary functions' public face: one lane of math_f32.h, and math_f64.h. */
#include "isobit/numeric.h"
#include "math_f32.h"
#include "math_f64.h"

float iso_f32_exp(float x) { return v_exp(x); }
float iso_f32_exp2(float x) { return v_exp2(x); }
float iso_f32_expm1(float x) { return v_expm1(x); }
float iso_f32_log(float x) { return v_log(x); }
float iso_f32_log2(float x) { return v_log2(x); }
float iso_f32_log1p(float x) { return v_log1p(x); }
float iso_f32_tanh(float x) { return v_tanh(x); }
float iso_f32_sigmoid(float x) { return v_sigmoid(x); }
float iso_f32_silu(float x) { return v_silu(x); }
float iso_f32_softplus(float x) { return v_softplus(x); }
float iso_f32_erf(float x) { return v_erf(x); }
float iso_f32_gelu(float x) { return v_gelu(x); }
float iso_f32_gelu_tanh(float x) { return v_gelu_tanh(x); }
float iso_f32_rsqrt(float x) { return v_rsqrt(x); }
float iso_f32_sinpi(float x) { return v_sinpi(x); }
float iso_f32_cospi(float x) { return v_cospi(x); }
float iso_f32_pow(float x, float y) { return v_pow(x, y); }

double iso_f64_exp(double x) { return iso__exp_f64(x); }
double iso_f64_exp2(double x) { return iso__exp2_f64(x); }
double iso_f64_expm1(double x) { return iso__expm1_f64(x); }
double iso_f64_log(double x) { return iso__log_f64(x); }
double iso_f64_log2(double x) { return iso__log2_f64(x); }
double iso_f64_log1p(double x) { return iso__log1p_f64(x); }
double iso_f64_tanh(double x) { return iso__tanh_f64(x); }
double iso_f64_sigmoid(double x) { return iso__sigmoid_f64(x); }
double iso_f64_silu(double x) { return iso__silu_f64(x); }
double iso_f64_softplus(double x) { return iso__softplus_f64(x); }
double iso_f64_erf(double x) { return iso__erf_f64(x); }
double iso_f64_gelu(double x) { return iso__gelu_f64(x); }
double iso_f64_gelu_tanh(double x) { return iso__gelu_tanh_f64(x); }
double iso_f64_rsqrt(double x) { return iso__rsqrt_f64(x); }
double iso_f64_sinpi(double x) { return iso__sinpi_f64(x); }
double iso_f64_cospi(double x) { return iso__cospi_f64(x); }
double iso_f64_pow(double x, double y) { return iso__pow_f64(x, y); }
double iso_f64_powi(double x, int64_t n) { return iso__powi_f64(x, n); }
