/* test_abuse.c: every operator with what nobody should give it: no tensor, wrong dtypes, extents of 0, eight
 * dimensions, repeated elements, extreme options. Each call must give a result or NULL with a sentence; afterwards no
 * byte is held and the context still computes. */
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <isobit/isobit.h>
#include "support/foreign_device.h"

static iso_context *context_new(const char *preset, int n_threads) {
  iso_policy policy;
  iso_context *ctx;
  assert_int_equal(iso_policy_preset(preset, &policy), ISO_OK);
  assert_int_equal(iso_context_new(&(iso_context_options){.n_threads = n_threads, .policy = &policy}, &ctx), ISO_OK);
  return ctx;
}

/* ---- operators as functions of up to three tensors ---- */
typedef const iso_tensor *const *inputs;
typedef iso_tensor *call(iso_context *ctx, inputs t);
#define A t[0]
#define B t[1]
#define C t[2]
#define CALL(name, ...)                                                                                                \
  static iso_tensor *c_##name(iso_context *ctx, inputs t) {                                                            \
    (void)t;                                                                                                           \
    return __VA_ARGS__;                                                                                                \
  }
#define AXES(...) ((const int[]){__VA_ARGS__})
/* The first of several results. */
static iso_tensor *first_of(iso_status status, iso_tensor *const *parts) { return status == ISO_OK ? parts[0] : NULL; }
static iso_tensor *split_sizes(iso_context *ctx, inputs t) {
  iso_tensor *parts[2] = {NULL};
  const iso_status status = iso_split_sizes(ctx, A, 0, 2, ISO_DIMS(1, 1), parts);
  return first_of(status, parts);
}
static iso_tensor *split_evenly(iso_context *ctx, inputs t) {
  iso_tensor *parts[2] = {NULL};
  const iso_status status = iso_split_evenly(ctx, A, 0, 2, parts);
  return first_of(status, parts);
}
static iso_tensor *chunk(iso_context *ctx, inputs t) {
  int n_parts = 0;
  iso_tensor *parts[3] = {NULL};
  const iso_status status = iso_chunk(ctx, A, -1, 3, parts, &n_parts);
  return n_parts ? first_of(status, parts) : NULL;
}
static iso_tensor *unbind(iso_context *ctx, inputs t) {
  iso_tensor *parts[3] = {NULL};
  const iso_status status = iso_unbind(ctx, A, 0, 3, parts);
  return first_of(status, parts);
}
static iso_tensor *meshgrid(iso_context *ctx, inputs t) {
  iso_tensor *grids[2] = {NULL};
  const iso_status status = iso_meshgrid(ctx, 2, t, grids);
  return first_of(status, grids);
}
/* One of several results wanted, the others not; and all of them. */
static iso_tensor *svd_values(iso_context *ctx, inputs t) {
  iso_tensor *s = NULL, *u = iso_svd(ctx, A, true, &s, NULL);
  return u ? s : NULL;
}
static iso_tensor *lu_upper(iso_context *ctx, inputs t) {
  iso_tensor *u = NULL, *p = iso_lu(ctx, A, NULL, &u);
  return p ? u : NULL;
}
#define LIST(X)                                                                                                        \
  X(add, iso_add(ctx, A, B))                                                                                           \
  X(sub, iso_sub(ctx, A, B))                                                                                           \
  X(mul, iso_mul(ctx, A, B))                                                                                           \
  X(div, iso_div(ctx, A, B))                                                                                           \
  X(pow, iso_pow(ctx, A, B))                                                                                           \
  X(maximum, iso_maximum(ctx, A, B))                                                                                   \
  X(minimum, iso_minimum(ctx, A, B))                                                                                   \
  X(add_relu, iso_add_relu(ctx, A, B))                                                                                 \
  X(eq, iso_eq(ctx, A, B))                                                                                             \
  X(ne, iso_ne(ctx, A, B))                                                                                             \
  X(lt, iso_lt(ctx, A, B))                                                                                             \
  X(le, iso_le(ctx, A, B))                                                                                             \
  X(gt, iso_gt(ctx, A, B))                                                                                             \
  X(ge, iso_ge(ctx, A, B))                                                                                             \
  X(where, iso_where(ctx, A, B, C))                                                                                    \
  X(where_bool, iso_where(ctx, iso_gt(ctx, A, B), B, C))                                                               \
  X(logical_and, iso_logical_and(ctx, A, B))                                                                           \
  X(logical_or, iso_logical_or(ctx, A, B))                                                                             \
  X(logical_xor, iso_logical_xor(ctx, A, B))                                                                           \
  X(logical_not, iso_logical_not(ctx, A))                                                                              \
  X(isnan, iso_isnan(ctx, A))                                                                                          \
  X(isinf, iso_isinf(ctx, A))                                                                                          \
  X(isfinite, iso_isfinite(ctx, A))                                                                                    \
  X(masked_fill, iso_masked_fill(ctx, A, iso_isnan(ctx, B), (double)NAN))                                              \
  X(bitwise_and, iso_bitwise_and(ctx, A, B))                                                                           \
  X(bitwise_or, iso_bitwise_or(ctx, A, B))                                                                             \
  X(bitwise_xor, iso_bitwise_xor(ctx, A, B))                                                                           \
  X(bitwise_not, iso_bitwise_not(ctx, A))                                                                              \
  X(bitwise_left_shift, iso_bitwise_left_shift(ctx, A, B))                                                             \
  X(bitwise_right_shift, iso_bitwise_right_shift(ctx, A, B))                                                           \
  X(add_scalar, iso_add_scalar(ctx, A, 1e308))                                                                         \
  X(mul_scalar, iso_mul_scalar(ctx, A, (double)NAN))                                                                   \
  X(rsub_scalar, iso_rsub_scalar(ctx, A, 1))                                                                           \
  X(div_scalar, iso_div_scalar(ctx, A, 0))                                                                             \
  X(rdiv_scalar, iso_rdiv_scalar(ctx, A, 1))                                                                           \
  X(pow_scalar, iso_pow_scalar(ctx, A, -0.5))                                                                          \
  X(clamp, iso_clamp(ctx, A, 1, -1))                                                                                   \
  X(relu6, iso_relu6(ctx, A))                                                                                          \
  X(hardtanh, iso_hardtanh(ctx, A, 1, -1))                                                                             \
  X(leaky_relu, iso_leaky_relu(ctx, A, INFINITY))                                                                      \
  X(prelu, iso_prelu(ctx, A, B))                                                                                       \
  X(rrelu, iso_rrelu(ctx, A, 0, 1, true))                                                                              \
  X(rrelu_mean, iso_rrelu(ctx, A, 1, 0, false))                                                                        \
  X(elu, iso_elu(ctx, A, -1))                                                                                          \
  X(celu, iso_celu(ctx, A, 0))                                                                                         \
  X(selu, iso_selu(ctx, A))                                                                                            \
  X(mish, iso_mish(ctx, A))                                                                                            \
  X(hardswish, iso_hardswish(ctx, A))                                                                                  \
  X(hardsigmoid, iso_hardsigmoid(ctx, A))                                                                              \
  X(hardshrink, iso_hardshrink(ctx, A, -1))                                                                            \
  X(softshrink, iso_softshrink(ctx, A, -1))                                                                            \
  X(tanhshrink, iso_tanhshrink(ctx, A))                                                                                \
  X(threshold, iso_threshold(ctx, A, (double)NAN, 1))                                                                  \
  X(softplus_beta, iso_softplus_beta(ctx, A, 0, 0))                                                                    \
  X(softsign, iso_softsign(ctx, A))                                                                                    \
  X(logsigmoid, iso_logsigmoid(ctx, A))                                                                                \
  X(glu, iso_glu(ctx, A, -1))                                                                                          \
  X(glu_far, iso_glu(ctx, A, 9))                                                                                       \
  X(swiglu, iso_swiglu(ctx, A, B))                                                                                     \
  X(geglu, iso_geglu(ctx, A, B))                                                                                       \
  X(geglu_tanh, iso_geglu_tanh(ctx, A, B))                                                                             \
  X(floor, iso_floor(ctx, A))                                                                                          \
  X(ceil, iso_ceil(ctx, A))                                                                                            \
  X(trunc, iso_trunc(ctx, A))                                                                                          \
  X(round, iso_round(ctx, A))                                                                                          \
  X(round_decimals, iso_round_decimals(ctx, A, INT_MIN))                                                               \
  X(round_2, iso_round_decimals(ctx, A, 2))                                                                            \
  X(frac, iso_frac(ctx, A))                                                                                            \
  X(frexp, iso_frexp(ctx, A, NULL))                                                                                    \
  X(ldexp, iso_ldexp(ctx, A, B))                                                                                       \
  X(floor_divide, iso_floor_divide(ctx, A, B))                                                                         \
  X(trunc_divide, iso_trunc_divide(ctx, A, B))                                                                         \
  X(remainder, iso_remainder(ctx, A, B))                                                                               \
  X(fmod, iso_fmod(ctx, A, B))                                                                                         \
  X(add_scaled, iso_add_scaled(ctx, A, B, (double)NAN))                                                                \
  X(fmax, iso_fmax(ctx, A, B))                                                                                         \
  X(fmin, iso_fmin(ctx, A, B))                                                                                         \
  X(clamp_min, iso_clamp_min(ctx, A, B))                                                                               \
  X(clamp_max, iso_clamp_max(ctx, A, B))                                                                               \
  X(clamp_tensor, iso_clamp_tensor(ctx, A, B, C))                                                                      \
  X(copysign, iso_copysign(ctx, A, B))                                                                                 \
  X(nextafter, iso_nextafter(ctx, A, B))                                                                               \
  X(heaviside, iso_heaviside(ctx, A, B))                                                                               \
  X(lerp, iso_lerp(ctx, A, B, C))                                                                                      \
  X(lerp_scalar, iso_lerp_scalar(ctx, A, B, 1e308))                                                                    \
  X(addcmul, iso_addcmul(ctx, A, B, C, 1))                                                                             \
  X(addcdiv, iso_addcdiv(ctx, A, B, C, 1))                                                                             \
  X(logaddexp, iso_logaddexp(ctx, A, B))                                                                               \
  X(logaddexp2, iso_logaddexp2(ctx, A, B))                                                                             \
  X(xlogy, iso_xlogy(ctx, A, B))                                                                                       \
  X(xlog1py, iso_xlog1py(ctx, A, B))                                                                                   \
  X(hypot, iso_hypot(ctx, A, B))                                                                                       \
  X(float_power, iso_float_power(ctx, A, B))                                                                           \
  X(gcd, iso_gcd(ctx, A, B))                                                                                           \
  X(lcm, iso_lcm(ctx, A, B))                                                                                           \
  X(logit, iso_logit(ctx, A))                                                                                          \
  X(logit_clamped, iso_logit_clamped(ctx, A, 0.75))                                                                    \
  X(entr, iso_entr(ctx, A))                                                                                            \
  X(sinc, iso_sinc(ctx, A))                                                                                            \
  X(nan_to_num, iso_nan_to_num(ctx, A, 0, 1, 2))                                                                       \
  X(deg2rad, iso_deg2rad(ctx, A))                                                                                      \
  X(rad2deg, iso_rad2deg(ctx, A))                                                                                      \
  X(signbit, iso_signbit(ctx, A))                                                                                      \
  X(isposinf, iso_isposinf(ctx, A))                                                                                    \
  X(isneginf, iso_isneginf(ctx, A))                                                                                    \
  X(isclose, iso_isclose(ctx, A, B, -1, 0, true))                                                                      \
  X(isclose_nan, iso_isclose(ctx, A, B, 0, 0, true))                                                                   \
  X(sin, iso_sin(ctx, A))                                                                                              \
  X(cos, iso_cos(ctx, A))                                                                                              \
  X(tan, iso_tan(ctx, A))                                                                                              \
  X(asin, iso_asin(ctx, A))                                                                                            \
  X(acos, iso_acos(ctx, A))                                                                                            \
  X(atan, iso_atan(ctx, A))                                                                                            \
  X(sinh, iso_sinh(ctx, A))                                                                                            \
  X(cosh, iso_cosh(ctx, A))                                                                                            \
  X(asinh, iso_asinh(ctx, A))                                                                                          \
  X(acosh, iso_acosh(ctx, A))                                                                                          \
  X(atanh, iso_atanh(ctx, A))                                                                                          \
  X(log10, iso_log10(ctx, A))                                                                                          \
  X(erfc, iso_erfc(ctx, A))                                                                                            \
  X(atan2, iso_atan2(ctx, A, B))                                                                                       \
  X(lgamma, iso_lgamma(ctx, A))                                                                                        \
  X(digamma, iso_digamma(ctx, A))                                                                                      \
  X(trigamma, iso_trigamma(ctx, A))                                                                                    \
  X(erfinv, iso_erfinv(ctx, A))                                                                                        \
  X(ndtri, iso_ndtri(ctx, A))                                                                                          \
  X(i0, iso_i0(ctx, A))                                                                                                \
  X(i0e, iso_i0e(ctx, A))                                                                                              \
  X(i1, iso_i1(ctx, A))                                                                                                \
  X(i1e, iso_i1e(ctx, A))                                                                                              \
  X(flip, iso_flip(ctx, A, 2, AXES(0, -1)))                                                                            \
  X(flip_twice, iso_flip(ctx, A, 2, AXES(0, 0)))                                                                       \
  X(rot90, iso_rot90(ctx, A, -7, 0, 1))                                                                                \
  X(diagonal, iso_diagonal(ctx, A, INT64_MIN, 0, -1))                                                                  \
  X(movedim, iso_movedim(ctx, A, 1, AXES(0), AXES(-1)))                                                                \
  X(unflatten, iso_unflatten(ctx, A, -1, 2, ISO_DIMS(-1, 2)))                                                          \
  X(atleast, iso_atleast(ctx, A, 3))                                                                                   \
  X(unfold, iso_unfold(ctx, A, 0, 2, INT64_MAX))                                                                       \
  X(split_sizes, split_sizes(ctx, t))                                                                                  \
  X(split_evenly, split_evenly(ctx, t))                                                                                \
  X(chunk, chunk(ctx, t))                                                                                              \
  X(unbind, unbind(ctx, t))                                                                                            \
  X(meshgrid, meshgrid(ctx, t))                                                                                        \
  X(hstack, iso_hstack(ctx, 2, t))                                                                                     \
  X(vstack, iso_vstack(ctx, 3, t))                                                                                     \
  X(dstack, iso_dstack(ctx, 2, t))                                                                                     \
  X(column_stack, iso_column_stack(ctx, 2, t))                                                                         \
  X(block_diag, iso_block_diag(ctx, 3, t))                                                                             \
  X(repeat, iso_repeat(ctx, A, 3, ISO_DIMS(2, 1, 0)))                                                                  \
  X(repeat_too_often, iso_repeat(ctx, A, 2, ISO_DIMS(INT64_MAX, INT64_MAX)))                                           \
  X(repeat_interleave, iso_repeat_interleave(ctx, A, 0, 2))                                                            \
  X(repeat_interleave_too_often, iso_repeat_interleave(ctx, A, 0, INT64_MAX))                                          \
  X(repeat_interleave_each, iso_repeat_interleave_each(ctx, A, 0, B))                                                  \
  X(roll, iso_roll(ctx, A, 2, ISO_DIMS(INT64_MIN, INT64_MAX), AXES(0, -1)))                                            \
  X(roll_all, iso_roll(ctx, A, 1, ISO_DIMS(-3), NULL))                                                                 \
  X(pad, iso_pad(ctx, A, 2, ISO_DIMS(INT64_MAX, 1), ISO_PAD_CONSTANT, 0))                                              \
  X(pad_negative, iso_pad(ctx, A, 2, ISO_DIMS(-1, INT64_MIN), ISO_PAD_CONSTANT, 0))                                    \
  X(pad_reflect, iso_pad(ctx, A, 2, ISO_DIMS(1, 2), ISO_PAD_REFLECT, 0))                                               \
  X(pad_circular, iso_pad(ctx, A, 2, ISO_DIMS(2, 1), ISO_PAD_CIRCULAR, 0))                                             \
  X(tril, iso_tril(ctx, A, INT64_MIN))                                                                                 \
  X(triu, iso_triu(ctx, A, INT64_MAX))                                                                                 \
  X(diag_embed, iso_diag_embed(ctx, A, INT64_MAX, -2, -1))                                                             \
  X(diag_embed_beside, iso_diag_embed(ctx, A, -1, -2, -1))                                                             \
  X(diag, iso_diag(ctx, A, 1))                                                                                         \
  X(slice_scatter, iso_slice_scatter(ctx, A, B, 0, INT64_MIN, INT64_MAX, 2))                                           \
  X(select_scatter, iso_select_scatter(ctx, A, B, 0, -1))                                                              \
  X(diagonal_scatter, iso_diagonal_scatter(ctx, A, B, 0, 0, 1))                                                        \
  X(pixel_shuffle, iso_pixel_shuffle(ctx, A, INT64_MAX))                                                               \
  X(pixel_unshuffle, iso_pixel_unshuffle(ctx, A, 2))                                                                   \
  X(channel_shuffle, iso_channel_shuffle(ctx, A, 2))                                                                   \
  X(im2col, iso_im2col(ctx, A, &(iso_im2col_options){.kernel_h = 2, .kernel_w = 2, .pad_w = INT64_MAX}))               \
  X(im2col_small, iso_im2col(ctx, A, &(iso_im2col_options){.kernel_h = 1, .kernel_w = 2, .pad_h = 1}))                 \
  X(col2im, iso_col2im(ctx, A, 3, INT64_MAX, &(iso_im2col_options){.kernel_h = 2}))                                    \
  X(einsum, iso_einsum(ctx, "ij,jk->ik", 2, t))                                                                        \
  X(einsum_of_one, iso_einsum(ctx, "...ii->...i", 1, t))                                                               \
  X(einsum_wrong, iso_einsum(ctx, "ij,(", 2, t))                                                                       \
  X(cholesky, iso_cholesky(ctx, A, false))                                                                             \
  X(qr, iso_qr(ctx, A, false, NULL))                                                                                   \
  X(qr_complete, iso_qr(ctx, iso_detach(ctx, A), true, NULL))                                                          \
  X(lu_factor, iso_lu_factor(ctx, A, NULL))                                                                            \
  X(lu, lu_upper(ctx, t))                                                                                              \
  X(eigh, iso_eigh(ctx, A, true, NULL))                                                                                \
  X(svd, iso_svd(ctx, A, false, NULL, NULL))                                                                           \
  X(svd_full, iso_svd(ctx, A, true, NULL, NULL))                                                                       \
  X(svd_values, svd_values(ctx, t))                                                                                    \
  X(triangular_solve, iso_triangular_solve(ctx, A, B, &(iso_triangular_options){.upper = true, .right = true}))        \
  X(solve, iso_solve(ctx, A, B))                                                                                       \
  X(cholesky_solve, iso_cholesky_solve(ctx, A, B, false))                                                              \
  X(lu_solve, iso_lu_solve(ctx, A, B, C))                                                                              \
  X(inv, iso_inv(ctx, A))                                                                                              \
  X(cholesky_inverse, iso_cholesky_inverse(ctx, A, true))                                                              \
  X(det, iso_det(ctx, iso_matrix_exp(ctx, A)))                                                                         \
  X(slogdet, iso_slogdet(ctx, iso_matrix_exp(ctx, A), NULL))                                                           \
  X(logdet, iso_logdet(ctx, iso_matrix_exp(ctx, A)))                                                                   \
  X(matrix_power, iso_matrix_power(ctx, A, -3))                                                                        \
  X(matrix_power_of_most, iso_matrix_power(ctx, A, INT64_MIN))                                                         \
  X(matrix_exp, iso_matrix_exp(ctx, A))                                                                                \
  X(cross, iso_cross(ctx, A, B, -1))                                                                                   \
  X(vander, iso_vander(ctx, A, 3))                                                                                     \
  X(vander_of_most, iso_vander(ctx, A, INT64_MAX))                                                                     \
  X(cdist, iso_cdist(ctx, A, B, 1.5))                                                                                  \
  X(schatten_norm, iso_schatten_norm(ctx, A, 1))                                                                       \
  X(cov, iso_cov(ctx, A, 1, &(iso_cov_options){.counts = B, .weights = C}))                                            \
  X(corrcoef, iso_corrcoef(ctx, A))                                                                                    \
  X(max_pool1d_with_indices, iso_max_pool1d_with_indices(ctx, A, &(iso_pool1d_options){.kernel = 2}, NULL))            \
  X(max_pool2d_with_indices,                                                                                           \
    iso_max_pool2d_with_indices(ctx, A, &(iso_pool2d_options){.kernel_h = 1, .kernel_w = 1}, NULL))                    \
  X(max_pool3d_with_indices, iso_max_pool3d_with_indices(ctx, A, NULL, NULL))                                          \
  X(lp_pool3d, iso_lp_pool3d(ctx, A, 2, &(iso_pool3d_options){.kernel_d = 1, .kernel_h = INT64_MAX, .kernel_w = 1}))   \
  X(adaptive_avg_pool1d, iso_adaptive_avg_pool1d(ctx, A, INT64_MAX))                                                   \
  X(adaptive_max_pool3d, iso_adaptive_max_pool3d(ctx, A, 1, 2, 1, NULL))                                               \
  X(max_unpool3d, iso_max_unpool3d(ctx, A, B, INT64_MAX, 2, 2))                                                        \
  X(arange, iso_arange(ctx, ISO_F32, 0, (double)NAN, 1))                                                               \
  X(linspace, iso_linspace(ctx, ISO_F32, 0, 1, INT64_MAX))                                                             \
  X(logspace, iso_logspace(ctx, ISO_F64, 0, 1e300, 3, -2))                                                             \
  X(eye, iso_eye(ctx, ISO_BOOL, INT64_MAX, INT64_MAX))                                                                 \
  X(full_like, iso_full_like(ctx, A, (double)NAN))                                                                     \
  X(empty_like, iso_empty_like(ctx, A))                                                                                \
  X(tril_indices, iso_tril_indices(ctx, 3, INT64_MAX, 0))                                                              \
  X(triu_indices, iso_triu_indices(ctx, INT64_C(1) << 31, 1, INT64_MAX))                                               \
  X(chain, iso_chain(ctx, "mul(exp(a), clamp(b, s0, s1))", 2, t, 2, (const double[]){-1, 1}))                          \
  X(chain_of_nothing, iso_chain(ctx, "exp(a)", 0, t, 0, NULL))                                                         \
  X(neg, iso_neg(ctx, A))                                                                                              \
  X(abs, iso_abs(ctx, A))                                                                                              \
  X(sign, iso_sign(ctx, A))                                                                                            \
  X(square, iso_square(ctx, A))                                                                                        \
  X(sqrt, iso_sqrt(ctx, A))                                                                                            \
  X(rsqrt, iso_rsqrt(ctx, A))                                                                                          \
  X(reciprocal, iso_reciprocal(ctx, A))                                                                                \
  X(exp, iso_exp(ctx, A))                                                                                              \
  X(exp2, iso_exp2(ctx, A))                                                                                            \
  X(expm1, iso_expm1(ctx, A))                                                                                          \
  X(log, iso_log(ctx, A))                                                                                              \
  X(log2, iso_log2(ctx, A))                                                                                            \
  X(log1p, iso_log1p(ctx, A))                                                                                          \
  X(erf, iso_erf(ctx, A))                                                                                              \
  X(tanh, iso_tanh(ctx, A))                                                                                            \
  X(sigmoid, iso_sigmoid(ctx, A))                                                                                      \
  X(sinpi, iso_sinpi(ctx, A))                                                                                          \
  X(cospi, iso_cospi(ctx, A))                                                                                          \
  X(relu, iso_relu(ctx, A))                                                                                            \
  X(gelu, iso_gelu(ctx, A))                                                                                            \
  X(gelu_tanh, iso_gelu_tanh(ctx, A))                                                                                  \
  X(silu, iso_silu(ctx, A))                                                                                            \
  X(softplus, iso_softplus(ctx, A))                                                                                    \
  X(sum_all_axes, iso_sum(ctx, A, 0, NULL, false))                                                                     \
  X(sum_first, iso_sum(ctx, A, 1, AXES(0), false))                                                                     \
  X(sum_last, iso_sum(ctx, A, 1, AXES(-1), true))                                                                      \
  X(sum_twice, iso_sum(ctx, A, 2, AXES(0, 0), true))                                                                   \
  X(sum_far, iso_sum(ctx, A, 1, AXES(INT_MIN), true))                                                                  \
  X(sum_many, iso_sum(ctx, A, INT_MAX, AXES(0), true))                                                                 \
  X(sum_negative, iso_sum(ctx, A, -1, AXES(0), true))                                                                  \
  X(sum_no_axes, iso_sum(ctx, A, 1, NULL, true))                                                                       \
  X(sum_inner, iso_sum(ctx, A, 2, AXES(0, 2), false))                                                                  \
  X(mean, iso_mean(ctx, A, 1, AXES(0), false))                                                                         \
  X(mean_last, iso_mean(ctx, A, 1, AXES(-1), false))                                                                   \
  X(var, iso_var(ctx, A, 1, AXES(0), false, 1))                                                                        \
  X(var_huge, iso_var(ctx, A, 1, AXES(-1), true, 1e300))                                                               \
  X(prod, iso_prod(ctx, A, 1, AXES(0), false))                                                                         \
  X(prod_all, iso_prod(ctx, A, 0, NULL, false))                                                                        \
  X(amax, iso_amax(ctx, A, 1, AXES(0), false))                                                                         \
  X(amin, iso_amin(ctx, A, 0, NULL, true))                                                                             \
  X(argmax, iso_argmax(ctx, A, 0, false))                                                                              \
  X(argmin, iso_argmin(ctx, A, -1, true))                                                                              \
  X(argmin_far, iso_argmin(ctx, A, INT_MAX, true))                                                                     \
  X(nansum, iso_nansum(ctx, A, 1, AXES(0), false))                                                                     \
  X(nanmean, iso_nanmean(ctx, A, 1, AXES(-1), true))                                                                   \
  X(sum_to_size, iso_sum_to_size(ctx, A, 1, ISO_DIMS(1)))                                                              \
  X(sum_to_size_bad, iso_sum_to_size(ctx, A, 3, ISO_DIMS(-1, INT64_MAX, 2)))                                           \
  X(sum_to_size_deep, iso_sum_to_size(ctx, A, INT_MIN, NULL))                                                          \
  X(trace, iso_trace(ctx, A))                                                                                          \
  X(std, iso_std(ctx, A, 1, AXES(-1), false, 0))                                                                       \
  X(std_negative, iso_std(ctx, A, 0, NULL, false, -1e300))                                                             \
  X(var_mean, iso_var_mean(ctx, A, 1, AXES(0), true, 1, &(iso_tensor *){NULL}))                                        \
  X(std_mean, iso_std_mean(ctx, A, 0, NULL, false, 1, NULL))                                                           \
  X(logsumexp, iso_logsumexp(ctx, A, 1, AXES(0), false))                                                               \
  X(logsumexp_last, iso_logsumexp(ctx, A, 1, AXES(-1), true))                                                          \
  X(norm_0, iso_vector_norm(ctx, A, 0, 0, NULL, false))                                                                \
  X(norm_1, iso_vector_norm(ctx, A, 1, 1, AXES(0), false))                                                             \
  X(norm_2, iso_vector_norm(ctx, A, 2, 1, AXES(-1), true))                                                             \
  X(norm_3, iso_vector_norm(ctx, A, 3, 1, AXES(0), false))                                                             \
  X(norm_inf, iso_vector_norm(ctx, A, (double)INFINITY, 1, AXES(0), false))                                            \
  X(norm_minus_inf, iso_vector_norm(ctx, A, -(double)INFINITY, 0, NULL, true))                                         \
  X(norm_nan, iso_vector_norm(ctx, A, (double)NAN, 0, NULL, true))                                                     \
  X(dist, iso_dist(ctx, A, B, 2))                                                                                      \
  X(normalize, iso_normalize(ctx, A, 2, 0, 1e-12))                                                                     \
  X(renorm, iso_renorm(ctx, A, 2, 0, 1))                                                                               \
  X(renorm_bad, iso_renorm(ctx, A, -1, 0, (double)NAN))                                                                \
  X(aminmax, iso_aminmax(ctx, A, 1, AXES(0), false, &(iso_tensor *){NULL}))                                            \
  X(max, iso_max(ctx, A, 0, false, &(iso_tensor *){NULL}))                                                             \
  X(min, iso_min(ctx, A, -1, true, NULL))                                                                              \
  X(max_far, iso_max(ctx, A, INT_MIN, true, NULL))                                                                     \
  X(argmax_all, iso_argmax_all(ctx, A))                                                                                \
  X(argmin_all, iso_argmin_all(ctx, A))                                                                                \
  X(any, iso_any(ctx, A, 1, AXES(0), false))                                                                           \
  X(all, iso_all(ctx, A, 0, NULL, true))                                                                               \
  X(count_nonzero, iso_count_nonzero(ctx, A, 1, AXES(-1)))                                                             \
  X(cumsum, iso_cumsum(ctx, A, 0))                                                                                     \
  X(cumsum_last, iso_cumsum(ctx, A, -1))                                                                               \
  X(cumsum_far, iso_cumsum(ctx, A, INT_MIN))                                                                           \
  X(cumprod, iso_cumprod(ctx, A, 0))                                                                                   \
  X(cummax, iso_cummax(ctx, A, 0, &(iso_tensor *){NULL}))                                                              \
  X(cummin, iso_cummin(ctx, A, -1, NULL))                                                                              \
  X(logcumsumexp, iso_logcumsumexp(ctx, A, 0))                                                                         \
  X(diff, iso_diff(ctx, A, 1, -1, NULL, NULL))                                                                         \
  X(diff_many, iso_diff(ctx, A, INT_MAX, 0, B, C))                                                                     \
  X(diff_negative, iso_diff(ctx, A, INT_MIN, 0, NULL, NULL))                                                           \
  X(trapezoid, iso_trapezoid(ctx, A, B, 1, -1))                                                                        \
  X(trapezoid_alone, iso_trapezoid(ctx, A, NULL, (double)NAN, 0))                                                      \
  X(cumulative_trapezoid, iso_cumulative_trapezoid(ctx, A, B, 1, 0))                                                   \
  X(sum_all, iso_sum_all(ctx, A))                                                                                      \
  X(mean_all, iso_mean_all(ctx, A))                                                                                    \
  X(matmul, iso_matmul(ctx, A, B))                                                                                     \
  X(matmul_t, iso_matmul(ctx, A, iso_transpose(ctx, B, -1, -2)))                                                       \
  X(linear, iso_linear(ctx, A, B, C, true))                                                                            \
  X(linear_no_bias, iso_linear(ctx, A, B, NULL, false))                                                                \
  X(addmm, iso_addmm(ctx, A, B, C, 2, (double)NAN))                                                                    \
  X(addmm_no_c, iso_addmm(ctx, C, A, B, 0, 1))                                                                         \
  X(addmv, iso_addmv(ctx, A, B, C, 1, 1))                                                                              \
  X(addr, iso_addr(ctx, A, B, C, 1, 1))                                                                                \
  X(baddbmm, iso_baddbmm(ctx, A, B, C, 1, 0.5))                                                                        \
  X(addbmm, iso_addbmm(ctx, A, B, C, 1, 0.5))                                                                          \
  X(dot, iso_dot(ctx, A, B))                                                                                           \
  X(vecdot, iso_vecdot(ctx, A, B, -1))                                                                                 \
  X(vecdot_far, iso_vecdot(ctx, A, B, INT_MIN))                                                                        \
  X(outer, iso_outer(ctx, A, B))                                                                                       \
  X(inner, iso_inner(ctx, A, B))                                                                                       \
  X(kron, iso_kron(ctx, A, B))                                                                                         \
  X(tensordot, iso_tensordot(ctx, A, B, 1, AXES(-1), AXES(0)))                                                         \
  X(tensordot_twice, iso_tensordot(ctx, A, B, 2, AXES(0, 0), AXES(0, 0)))                                              \
  X(tensordot_many, iso_tensordot(ctx, A, B, INT_MAX, AXES(0), AXES(0)))                                               \
  X(tensordot_none, iso_tensordot(ctx, A, B, 1, NULL, NULL))                                                           \
  X(multi_dot, iso_multi_dot(ctx, 3, (const iso_tensor *const[]){A, B, C}))                                            \
  X(multi_dot_none, iso_multi_dot(ctx, 0, NULL))                                                                       \
  X(multi_dot_many, iso_multi_dot(ctx, INT_MAX, (const iso_tensor *const[]){A, B}))                                    \
  X(bilinear, iso_bilinear(ctx, A, B, C, NULL))                                                                        \
  X(bilinear_bias, iso_bilinear(ctx, A, A, B, C))                                                                      \
  X(attention,                                                                                                         \
    iso_scaled_dot_product_attention(ctx, A, B, B, &(iso_attention_options){.causal = true, .dropout = 0.5}))          \
  X(attention_mask, iso_scaled_dot_product_attention(ctx, A, A, B, &(iso_attention_options){.mask = C, .scale = 2}))   \
  X(conv, iso_conv2d(ctx, A, B, NULL, NULL))                                                                           \
  X(conv_bias, iso_conv2d(ctx, A, B, C, &(iso_conv2d_options){.relu = true, .pad_h = 1, .pad_w = 1}))                  \
  X(conv_residual, iso_conv2d(ctx, A, B, NULL, &(iso_conv2d_options){.residual = C}))                                  \
  X(conv_stride, iso_conv2d(ctx, A, B, NULL, &(iso_conv2d_options){.stride_h = INT64_MAX, .stride_w = INT64_MAX}))     \
  X(conv_pad, iso_conv2d(ctx, A, B, NULL, &(iso_conv2d_options){.pad_h = INT64_MAX, .pad_w = INT64_MAX}))              \
  X(conv_pad_2, iso_conv2d(ctx, A, B, NULL, &(iso_conv2d_options){.pad_h = INT64_MAX / 2 - 5, .pad_w = 1}))            \
  X(conv_dilation, iso_conv2d(ctx, A, B, NULL, &(iso_conv2d_options){.dilation_h = INT64_MAX, .dilation_w = 2}))       \
  X(conv_groups, iso_conv2d(ctx, A, B, NULL, &(iso_conv2d_options){.groups = INT64_MAX}))                              \
  X(conv_groups_2, iso_conv2d(ctx, A, B, NULL, &(iso_conv2d_options){.groups = 2}))                                    \
  X(conv_negative, iso_conv2d(ctx, A, B, NULL, &(iso_conv2d_options){.stride_h = -1, .pad_h = INT64_MIN}))             \
  X(conv_min, iso_conv2d(ctx, A, B, NULL, &(iso_conv2d_options){.dilation_h = INT64_MIN, .groups = INT64_MIN}))        \
  X(conv_sides, iso_conv2d(ctx, A, B, NULL, &(iso_conv2d_options){.pad_top = INT64_MAX, .pad_h = INT64_MAX}))          \
  X(conv_output_pad, iso_conv2d(ctx, A, B, NULL, &(iso_conv2d_options){.output_pad_h = INT64_MIN}))                    \
  X(conv1, iso_conv1d(ctx, A, B, C, NULL))                                                                             \
  X(conv1_all,                                                                                                         \
    iso_conv1d(ctx, A, B, NULL, &(iso_conv1d_options){.stride = 2, .pad = 1, .pad_right = 1, .residual = A}))          \
  X(conv3, iso_conv3d(ctx, A, B, C, NULL))                                                                             \
  X(conv3_pad,                                                                                                         \
    iso_conv3d(ctx, A, B, NULL, &(iso_conv3d_options){.pad_d = 1 << 30, .pad_h = 1 << 30, .pad_w = 1 << 30}))          \
  X(conv_t1, iso_conv_transpose1d(ctx, A, B, C, &(iso_conv1d_options){.stride = 2, .output_pad = 1, .relu = true}))    \
  X(conv_t1_huge, iso_conv_transpose1d(ctx, A, B, NULL, &(iso_conv1d_options){.stride = INT32_MAX}))                   \
  X(conv_t2, iso_conv_transpose2d(ctx, A, B, NULL, &(iso_conv2d_options){.residual = C, .relu = true}))                \
  X(conv_t2_same, iso_conv_transpose2d(ctx, A, B, C, &(iso_conv2d_options){.pad_h = 1, .pad_w = 1, .residual = A}))    \
  X(conv_t2_huge,                                                                                                      \
    iso_conv_transpose2d(ctx, A, B, NULL, &(iso_conv2d_options){.stride_h = INT64_MAX, .dilation_w = INT64_MAX}))      \
  X(conv_t2_groups,                                                                                                    \
    iso_conv_transpose2d(ctx, A, B, NULL, &(iso_conv2d_options){.groups = INT64_MAX, .pad_h = INT64_MIN}))             \
  X(conv_t3, iso_conv_transpose3d(ctx, A, B, C, NULL))                                                                 \
  X(conv_t3_pad,                                                                                                       \
    iso_conv_transpose3d(ctx, A, B, NULL, &(iso_conv3d_options){.pad_back = INT32_MAX, .output_pad_w = INT64_MAX}))    \
  X(max_pool, iso_max_pool2d(ctx, A, &(iso_pool2d_options){.kernel_h = 2, .kernel_w = 2}))                             \
  X(max_pool_pad, iso_max_pool2d(ctx, A, &(iso_pool2d_options){.kernel_h = 3, .kernel_w = 3, .pad_h = 1, .pad_w = 1})) \
  X(max_pool_none, iso_max_pool2d(ctx, A, NULL))                                                                       \
  X(max_pool_zero, iso_max_pool2d(ctx, A, &(iso_pool2d_options){0}))                                                   \
  X(max_pool_huge,                                                                                                     \
    iso_max_pool2d(ctx, A,                                                                                             \
                   &(iso_pool2d_options){                                                                              \
                       .kernel_h = INT64_MAX, .kernel_w = INT64_MAX, .pad_h = INT64_MAX / 2, .pad_w = INT64_MAX / 2})) \
  X(max_pool_stride,                                                                                                   \
    iso_max_pool2d(ctx, A,                                                                                             \
                   &(iso_pool2d_options){.kernel_h = 1, .kernel_w = 1, .stride_h = INT64_MAX, .stride_w = INT64_MAX})) \
  X(avg_pool, iso_avg_pool2d(ctx, A, &(iso_pool2d_options){.kernel_h = 2, .kernel_w = 2, .count_padding = true}))      \
  X(avg_pool_negative,                                                                                                 \
    iso_avg_pool2d(ctx, A, &(iso_pool2d_options){.kernel_h = 2, .kernel_w = 2, .pad_h = INT64_MIN}))                   \
  X(avg_pool_huge, iso_avg_pool2d(ctx, A, &(iso_pool2d_options){.kernel_h = INT64_MAX, .kernel_w = 1}))                \
  X(global_avg_pool, iso_global_avg_pool2d(ctx, A))                                                                    \
  X(grid_sample, iso_grid_sample(ctx, A, B, NULL))                                                                     \
  X(grid_sample_cubic,                                                                                                 \
    iso_grid_sample(ctx, A, B, &(iso_grid_sample_options){.mode = ISO_GRID_BICUBIC, .padding = ISO_GRID_REFLECTION}))  \
  X(grid_sample_none, iso_grid_sample(ctx, A, B, &(iso_grid_sample_options){.padding = (iso_grid_padding)-1}))         \
  X(affine_grid, iso_affine_grid(ctx, A, 4, ISO_DIMS(2, INT64_MAX, 2, INT64_MIN), true))                               \
  X(affine_grid_none, iso_affine_grid(ctx, A, INT_MIN, NULL, false))                                                   \
  X(nearest, iso_interpolate(ctx, A, &(iso_interpolate_options){.size_d = 2, .size_h = 3, .size_w = 2}))               \
  X(cubic, iso_interpolate(ctx, A,                                                                                     \
                           &(iso_interpolate_options){                                                                 \
                               .mode = ISO_INTERPOLATE_CUBIC, .scale_h = 0.5, .scale_w = 1e300, .antialias = true}))   \
  X(linear_huge, iso_interpolate(ctx, A,                                                                               \
                                 &(iso_interpolate_options){.mode = ISO_INTERPOLATE_LINEAR,                            \
                                                            .size_h = INT64_MAX,                                       \
                                                            .size_w = INT64_MIN,                                       \
                                                            .align_corners = true}))                                   \
  X(area_none,                                                                                                         \
    iso_interpolate(ctx, A, &(iso_interpolate_options){.mode = (iso_interpolate_mode)77, .scale_w = (double)NAN}))     \
  X(max_pool1, iso_max_pool1d(ctx, A, &(iso_pool1d_options){.kernel = 2, .dilation = INT64_MAX}))                      \
  X(max_pool3, iso_max_pool3d(ctx, A, &(iso_pool3d_options){.kernel_d = 1, .kernel_h = 1, .kernel_w = 1}))             \
  X(avg_pool1, iso_avg_pool1d(ctx, A, &(iso_pool1d_options){.kernel = 2, .ceil_mode = true, .divisor = INT64_MIN}))    \
  X(avg_pool3, iso_avg_pool3d(ctx, A, NULL))                                                                           \
  X(lp_pool, iso_lp_pool2d(ctx, A, 0, &(iso_pool2d_options){.kernel_h = 2, .kernel_w = 1, .pad_h = INT64_MAX}))        \
  X(lp_pool_huge, iso_lp_pool1d(ctx, A, 2, &(iso_pool1d_options){.kernel = INT64_MAX}))                                \
  X(adaptive_avg, iso_adaptive_avg_pool2d(ctx, A, 3, -1))                                                              \
  X(adaptive_avg_huge, iso_adaptive_avg_pool3d(ctx, A, INT64_MAX, INT32_MAX, INT64_MIN))                               \
  X(adaptive_max, iso_adaptive_max_pool2d(ctx, A, 2, 2, NULL))                                                         \
  X(adaptive_max_none, iso_adaptive_max_pool1d(ctx, A, 0, NULL))                                                       \
  X(max_unpool, iso_max_unpool2d(ctx, A, B, 3, 3))                                                                     \
  X(max_unpool_huge, iso_max_unpool1d(ctx, A, B, INT64_MAX))                                                           \
  X(fractional,                                                                                                        \
    iso_fractional_max_pool2d(ctx, A,                                                                                  \
                              &(iso_fractional_pool2d_options){                                                        \
                                  .kernel_h = 1, .kernel_w = 1, .ratio_h = 0.5, .ratio_w = (double)NAN, .samples = B}, \
                              NULL))                                                                                   \
  X(fractional_3,                                                                                                      \
    iso_fractional_max_pool3d(                                                                                         \
        ctx, A, &(iso_fractional_pool3d_options){.kernel_d = INT64_MIN, .out_h = INT64_MAX, .ratio_w = 1e300}, NULL))  \
  X(layer_norm, iso_layer_norm(ctx, A, 1, B, C, 0))                                                                    \
  X(rms_norm, iso_rms_norm(ctx, A, 2, B, 0))                                                                           \
  X(group_norm, iso_group_norm(ctx, A, 2, B, C, 0))                                                                    \
  X(instance_norm, iso_instance_norm(ctx, A, B, C, 0))                                                                 \
  X(batch_norm, iso_batch_norm(ctx, A, NULL, NULL, NULL, NULL, &(iso_batch_norm_options){.training = true}))           \
  X(batch_norm_affine, iso_batch_norm(ctx, A, B, C, NULL, NULL, &(iso_batch_norm_options){.training = true}))          \
  X(batch_norm_eval, iso_batch_norm(ctx, A, NULL, NULL, NULL, NULL, NULL))                                             \
  X(batch_norm_running, iso_batch_norm(ctx, A, B, C, (iso_tensor *)(uintptr_t)B, (iso_tensor *)(uintptr_t)C, NULL))    \
  X(batch_norm_residual, iso_batch_norm(ctx, A, NULL, NULL, NULL, NULL,                                                \
                                        &(iso_batch_norm_options){.training = true, .residual = B, .relu = true}))     \
  X(random_exponential, iso_random_exponential(ctx, ISO_F32, 1, ISO_DIMS(3), (double)NAN))                             \
  X(geometric, iso_random_geometric(ctx, ISO_F32, 1, ISO_DIMS(3), 1e-320))                                             \
  X(cauchy, iso_random_cauchy(ctx, ISO_F64, 1, ISO_DIMS(3), 0, 1e308))                                                 \
  X(log_normal, iso_random_log_normal(ctx, ISO_F32, 1, ISO_DIMS(3), 1e308, 1e308))                                     \
  X(truncated, iso_random_truncated_normal(ctx, ISO_F32, 1, ISO_DIMS(3), NULL))                                        \
  X(truncated_inf, iso_random_truncated_normal(ctx, ISO_F32, 1, ISO_DIMS(3),                                           \
                                               &(iso_truncated_normal_options){.low = INFINITY, .high = -INFINITY}))   \
  X(bernoulli_p, iso_bernoulli(ctx, A))                                                                                \
  X(normal, iso_normal(ctx, A, B))                                                                                     \
  X(rand_like, iso_rand_like(ctx, A))                                                                                  \
  X(randn_like, iso_randn_like(ctx, A))                                                                                \
  X(randint, iso_randint(ctx, ISO_U8, 1, ISO_DIMS(3), INT64_MIN, INT64_MAX))                                           \
  X(randint_like, iso_randint_like(ctx, A, 0, 2))                                                                      \
  X(randperm, iso_randperm(ctx, 9))                                                                                    \
  X(randperm_huge, iso_randperm(ctx, INT64_MAX))                                                                       \
  X(multinomial, iso_multinomial(ctx, A, 2, false))                                                                    \
  X(multinomial_again, iso_multinomial(ctx, A, 5, true))                                                               \
  X(multinomial_huge, iso_multinomial(ctx, A, INT64_MAX, true))                                                        \
  X(feature_dropout, iso_feature_dropout(ctx, A, 0.5, true))                                                           \
  X(dropout_1d, iso_dropout1d(ctx, A, 0.5, true))                                                                      \
  X(dropout_2d, iso_dropout2d(ctx, A, 0.5, true))                                                                      \
  X(dropout_3d, iso_dropout3d(ctx, A, 1, true))                                                                        \
  X(alpha_dropout, iso_alpha_dropout(ctx, A, 0.5, true))                                                               \
  X(feature_alpha_dropout, iso_feature_alpha_dropout(ctx, A, (double)NAN, true))                                       \
  X(dropout, iso_dropout(ctx, A, 0.5, true))                                                                           \
  X(dropout_one, iso_dropout(ctx, A, 1, true))                                                                         \
  X(dropout_nan, iso_dropout(ctx, A, (double)NAN, true))                                                               \
  X(dropout_off, iso_dropout(ctx, A, 7, false))                                                                        \
  X(softmax, iso_softmax(ctx, A, -1))                                                                                  \
  X(softmax_first, iso_softmax(ctx, A, 0))                                                                             \
  X(softmax_far, iso_softmax(ctx, A, INT_MIN))                                                                         \
  X(log_softmax, iso_log_softmax(ctx, A, 1))                                                                           \
  X(cross_entropy, iso_cross_entropy(ctx, A, B, NULL))                                                                 \
  X(cross_entropy_weights, iso_cross_entropy(ctx, A, B, &(iso_cross_entropy_options){.weights = C}))                   \
  X(cross_entropy_count, iso_cross_entropy(ctx, A, B, &(iso_cross_entropy_options){.count = -3}))                      \
  X(cross_entropy_nan, iso_cross_entropy(ctx, A, B, &(iso_cross_entropy_options){.count = (double)NAN}))               \
  X(softmin, iso_softmin(ctx, A, -1))                                                                                  \
  X(masked_softmax, iso_masked_softmax(ctx, A, iso_lt(ctx, A, B), 0))                                                  \
  X(masked_softmax_mask, iso_masked_softmax(ctx, A, B, 0))                                                             \
  X(masked_log_softmax, iso_masked_log_softmax(ctx, A, iso_lt(ctx, A, A), INT_MAX))                                    \
  X(gumbel, iso_gumbel_softmax(ctx, A, 0.5, true, 0))                                                                  \
  X(gumbel_tau, iso_gumbel_softmax(ctx, A, NAN, true, 0))                                                              \
  X(local_response, iso_local_response_norm(ctx, A, &(iso_local_response_norm_options){.size = 3, .beta = 1, .k = 1})) \
  X(local_response_none, iso_local_response_norm(ctx, A, NULL))                                                        \
  X(nll, iso_nll_loss(ctx, A, B, NULL))                                                                                \
  X(nll_options, iso_nll_loss(ctx, A, B, &(iso_cross_entropy_options){.weights = C, .ignores = true, .count = NAN}))   \
  X(cross_entropy_smoothed, iso_cross_entropy(ctx, A, B, &(iso_cross_entropy_options){.label_smoothing = 0.5}))        \
  X(cross_entropy_bad, iso_cross_entropy(ctx, A, B, &(iso_cross_entropy_options){.label_smoothing = NAN}))             \
  X(cross_entropy_rows, iso_cross_entropy(ctx, A, B, &(iso_cross_entropy_options){.reduction = ISO_REDUCTION_NONE}))   \
  X(bce, iso_binary_cross_entropy(ctx, A, B, &(iso_loss_options){.weight = C}))                                        \
  X(bce_logits, iso_binary_cross_entropy_with_logits(ctx, A, B, C, NULL))                                              \
  X(kl_div, iso_kl_div(ctx, A, B, false, NULL))                                                                        \
  X(l1, iso_l1_loss(ctx, A, B, NULL))                                                                                  \
  X(smooth_l1, iso_smooth_l1_loss(ctx, A, B, 1, &(iso_loss_options){.weight = C, .reduction = ISO_REDUCTION_SUM}))     \
  X(smooth_l1_bad, iso_smooth_l1_loss(ctx, A, B, -1, NULL))                                                            \
  X(huber, iso_huber_loss(ctx, A, B, 1e-320, NULL))                                                                    \
  X(poisson, iso_poisson_nll_loss(ctx, A, B, &(iso_poisson_nll_options){.full = true}))                                \
  X(gaussian, iso_gaussian_nll_loss(ctx, A, B, C, &(iso_gaussian_nll_options){.full = true}))                          \
  X(soft_margin, iso_soft_margin_loss(ctx, A, B, NULL))                                                                \
  X(hinge, iso_hinge_embedding_loss(ctx, A, B, 1, NULL))                                                               \
  X(ranking, iso_margin_ranking_loss(ctx, A, B, C, 0.5, NULL))                                                         \
  X(multi_margin, iso_multi_margin_loss(ctx, A, B, 1, &(iso_multi_margin_options){.p = 2, .weights = C}))              \
  X(multi_margin_p, iso_multi_margin_loss(ctx, A, B, 1, &(iso_multi_margin_options){.p = INT_MAX}))                    \
  X(multilabel, iso_multilabel_margin_loss(ctx, A, B, NULL))                                                           \
  X(multilabel_soft, iso_multilabel_soft_margin_loss(ctx, A, B, &(iso_loss_options){.weight = C}))                     \
  X(cosine, iso_cosine_similarity(ctx, A, B, 1, 0))                                                                    \
  X(cosine_far, iso_cosine_similarity(ctx, A, B, INT_MIN, -1))                                                         \
  X(distance, iso_pairwise_distance(ctx, A, B, 3, 0, true))                                                            \
  X(distance_bad, iso_pairwise_distance(ctx, A, B, NAN, 0, true))                                                      \
  X(cosine_embedding, iso_cosine_embedding_loss(ctx, A, B, C, 0, NULL))                                                \
  X(triplet, iso_triplet_margin_loss(ctx, A, B, C, 1, &(iso_triplet_margin_options){.swap = true, .p = INFINITY}))     \
  X(ctc, iso_ctc_loss(ctx, A, B, C, C, NULL))                                                                          \
  X(ctc_blank, iso_ctc_loss(ctx, A, B, C, C, &(iso_ctc_options){.blank = INT64_MAX, .count = NAN}))                    \
  X(mse, iso_mse_loss(ctx, A, B, NULL))                                                                                \
  X(mse_negative, iso_mse_loss(ctx, A, B, &(iso_loss_options){.count = -1}))                                           \
  X(reshape, iso_reshape(ctx, A, 2, ISO_DIMS(-1, 3)))                                                                  \
  X(reshape_two, iso_reshape(ctx, A, 2, ISO_DIMS(-1, -1)))                                                             \
  X(reshape_zero, iso_reshape(ctx, A, 2, ISO_DIMS(-1, 0)))                                                             \
  X(reshape_huge, iso_reshape(ctx, A, 3, ISO_DIMS(INT64_MAX, 2, -1)))                                                  \
  X(reshape_negative, iso_reshape(ctx, A, 1, ISO_DIMS(INT64_MIN)))                                                     \
  X(reshape_nine, iso_reshape(ctx, A, 9, ISO_DIMS(1, 1, 1, 1, 1, 1, 1, 1, 1)))                                         \
  X(reshape_many, iso_reshape(ctx, A, -1, ISO_DIMS(1)))                                                                \
  X(reshape_null, iso_reshape(ctx, A, 1, NULL))                                                                        \
  X(flatten, iso_flatten(ctx, A, 1, -1))                                                                               \
  X(flatten_back, iso_flatten(ctx, A, -1, 0))                                                                          \
  X(squeeze, iso_squeeze(ctx, A, 0))                                                                                   \
  X(squeeze_far, iso_squeeze(ctx, A, 100))                                                                             \
  X(unsqueeze, iso_unsqueeze(ctx, A, -1))                                                                              \
  X(unsqueeze_far, iso_unsqueeze(ctx, A, INT_MIN))                                                                     \
  X(permute, iso_permute(ctx, A, AXES(1, 0, 2, 3, 4, 5, 6, 7)))                                                        \
  X(permute_twice, iso_permute(ctx, A, AXES(0, 0, 0, 0, 0, 0, 0, 0)))                                                  \
  X(permute_null, iso_permute(ctx, A, NULL))                                                                           \
  X(transpose, iso_transpose(ctx, A, 0, -1))                                                                           \
  X(transpose_far, iso_transpose(ctx, A, 0, INT_MIN))                                                                  \
  X(slice, iso_slice(ctx, A, 0, INT64_MIN, INT64_MAX, 1))                                                              \
  X(slice_step_0, iso_slice(ctx, A, 0, 0, 1, 0))                                                                       \
  X(slice_back, iso_slice(ctx, A, 0, 5, 0, -1))                                                                        \
  X(slice_huge, iso_slice(ctx, A, -1, 0, INT64_MAX, INT64_MAX))                                                        \
  X(slice_empty, iso_slice(ctx, A, 0, 1, 1, 1))                                                                        \
  X(slice_reverse, iso_slice(ctx, A, 0, 3, -100, 2))                                                                   \
  X(select, iso_select(ctx, A, 0, -1))                                                                                 \
  X(select_far, iso_select(ctx, A, 0, INT64_MIN))                                                                      \
  X(expand, iso_expand(ctx, A, 4, ISO_DIMS(2, 3, 4, 5)))                                                               \
  X(expand_zero, iso_expand(ctx, A, 8, ISO_DIMS(0, 0, 0, 0, 0, 0, 0, 0)))                                              \
  X(expand_huge, iso_expand(ctx, A, 3, ISO_DIMS(INT64_MAX, INT64_MAX, 3)))                                             \
  X(expand_minus, iso_expand(ctx, A, 2, ISO_DIMS(-1, -1)))                                                             \
  X(expand_null, iso_expand(ctx, A, 2, NULL))                                                                          \
  X(cat, iso_cat(ctx, 2, (const iso_tensor *const[]){A, B}, 0))                                                        \
  X(cat_last, iso_cat(ctx, 3, (const iso_tensor *const[]){A, A, A}, -1))                                               \
  X(cat_none, iso_cat(ctx, 0, NULL, 0))                                                                                \
  X(cat_negative, iso_cat(ctx, -1, (const iso_tensor *const[]){A}, 0))                                                 \
  X(cat_null, iso_cat(ctx, 2, NULL, 0))                                                                                \
  X(stack, iso_stack(ctx, 2, (const iso_tensor *const[]){A, B}, 0))                                                    \
  X(stack_last, iso_stack(ctx, 2, (const iso_tensor *const[]){A, A}, -1))                                              \
  X(stack_far, iso_stack(ctx, 1, (const iso_tensor *const[]){A}, INT_MAX))                                             \
  X(contiguous, iso_contiguous(ctx, A))                                                                                \
  X(channels_last, iso_channels_last(ctx, A))                                                                          \
  X(clone, iso_clone(ctx, A))                                                                                          \
  X(cast_f16, iso_cast(ctx, A, ISO_F16))                                                                               \
  X(cast_i64, iso_cast(ctx, A, ISO_I64))                                                                               \
  X(cast_f64, iso_cast(ctx, A, ISO_F64))                                                                               \
  X(cast_none, iso_cast(ctx, A, (iso_dtype)99))                                                                        \
  X(alias, iso_tensor_alias(ctx, A))                                                                                   \
  X(detach, iso_detach(ctx, A))                                                                                        \
  X(uniform, iso_random_uniform(ctx, ISO_F32, 1, ISO_DIMS(INT64_MAX), 0, 1))                                           \
  X(normal_int, iso_random_normal(ctx, ISO_I64, 1, ISO_DIMS(3), 0, 1))                                                 \
  X(bernoulli, iso_random_bernoulli(ctx, ISO_F32, 1, ISO_DIMS(3), (double)NAN))                                        \
  X(bernoulli_2, iso_random_bernoulli(ctx, ISO_F32, 1, ISO_DIMS(3), 2))                                                \
  X(sort, iso_sort(ctx, A, -1, true, NULL))                                                                            \
  X(sort_first, iso_sort(ctx, A, 0, false, &(iso_tensor *){NULL}))                                                     \
  X(sort_far, iso_sort(ctx, A, INT_MIN, false, NULL))                                                                  \
  X(argsort, iso_argsort(ctx, A, 0, false))                                                                            \
  X(msort, iso_msort(ctx, A))                                                                                          \
  X(topk, iso_topk(ctx, A, 1, -1, true, NULL))                                                                         \
  X(topk_many, iso_topk(ctx, A, INT64_MAX, 0, true, NULL))                                                             \
  X(topk_negative, iso_topk(ctx, A, INT64_MIN, 0, false, NULL))                                                        \
  X(kthvalue, iso_kthvalue(ctx, A, 1, 0, false, &(iso_tensor *){NULL}))                                                \
  X(kthvalue_far, iso_kthvalue(ctx, A, INT64_MIN, 0, true, NULL))                                                      \
  X(median, iso_median(ctx, A, -1, false, NULL))                                                                       \
  X(nanmedian, iso_nanmedian(ctx, A, 0, true, NULL))                                                                   \
  X(mode, iso_mode(ctx, A, -1, false, NULL))                                                                           \
  X(quantile, iso_quantile(ctx, A, 2, (const double[]){0.25, 1}, 0, true, ISO_QUANTILE_LINEAR))                        \
  X(quantile_nan, iso_quantile(ctx, A, 1, (const double[]){(double)NAN}, 0, true, ISO_QUANTILE_LINEAR))                \
  X(quantile_none, iso_quantile(ctx, A, INT_MIN, NULL, 0, true, ISO_QUANTILE_LINEAR))                                  \
  X(nanquantile, iso_nanquantile(ctx, A, 1, (const double[]){0.5}, -1, false, (iso_quantile_rule)99))                  \
  X(unique, iso_unique(ctx, A, &(iso_tensor *){NULL}, NULL))                                                           \
  X(unique_along, iso_unique_along(ctx, A, 0, NULL, &(iso_tensor *){NULL}))                                            \
  X(unique_consecutive, iso_unique_consecutive(ctx, A, NULL, NULL))                                                    \
  X(unique_consecutive_along, iso_unique_consecutive_along(ctx, A, -1, &(iso_tensor *){NULL}, NULL))                   \
  X(searchsorted, iso_searchsorted(ctx, A, B, false, NULL))                                                            \
  X(searchsorted_sorter, iso_searchsorted(ctx, A, B, true, C))                                                         \
  X(bucketize, iso_bucketize(ctx, A, B, true))                                                                         \
  X(isin, iso_isin(ctx, A, B, true))                                                                                   \
  X(gather, iso_gather(ctx, A, -1, B))                                                                                 \
  X(gather_self, iso_gather(ctx, A, 0, A))                                                                             \
  X(take_along_dim, iso_take_along_dim(ctx, A, B, 0))                                                                  \
  X(index_select, iso_index_select(ctx, A, 0, B))                                                                      \
  X(take, iso_take(ctx, A, B))                                                                                         \
  X(index, iso_index(ctx, A, 2, t))                                                                                    \
  X(index_none, iso_index(ctx, A, 1, NULL))                                                                            \
  X(index_many, iso_index(ctx, A, INT_MAX, t))                                                                         \
  X(masked_select, iso_masked_select(ctx, A, B))                                                                       \
  X(masked_scatter, iso_masked_scatter(ctx, A, B, C))                                                                  \
  X(nonzero, iso_nonzero(ctx, A))                                                                                      \
  X(argwhere, iso_argwhere(ctx, A))                                                                                    \
  X(scatter, iso_scatter(ctx, A, 0, B, C))                                                                             \
  X(scatter_value, iso_scatter_value(ctx, A, -1, B, (double)NAN))                                                      \
  X(scatter_add, iso_scatter_add(ctx, A, INT_MIN, B, C))                                                               \
  X(scatter_reduce, iso_scatter_reduce(ctx, A, 0, B, C, ISO_COMBINE_PROD, true))                                       \
  X(scatter_reduce_none, iso_scatter_reduce(ctx, A, 0, B, A, (iso_combine)99, false))                                  \
  X(index_copy, iso_index_copy(ctx, A, 0, B, C))                                                                       \
  X(index_add, iso_index_add(ctx, A, -1, B, C, 1e300))                                                                 \
  X(index_reduce, iso_index_reduce(ctx, A, 0, B, C, ISO_COMBINE_MEAN, false))                                          \
  X(index_fill, iso_index_fill(ctx, A, 0, B, 1e300))                                                                   \
  X(index_put, iso_index_put(ctx, A, 1, &B, C, true))                                                                  \
  X(put, iso_put(ctx, A, B, C, false))                                                                                 \
  X(one_hot, iso_one_hot(ctx, A, 0))                                                                                   \
  X(one_hot_huge, iso_one_hot(ctx, A, INT64_MAX))                                                                      \
  X(bincount_weighted, iso_bincount_weighted(ctx, A, B, INT64_MIN))                                                    \
  X(embedding, iso_embedding(ctx, A, B, NULL))                                                                         \
  X(embedding_padding, iso_embedding(ctx, A, B, &(iso_embedding_options){.has_padding = true, .padding = INT64_MIN}))  \
  X(embedding_bag, iso_embedding_bag(ctx, A, B, NULL))                                                                 \
  X(embedding_bag_list, iso_embedding_bag(ctx, A, B, &(iso_embedding_bag_options){.offsets = C, .mode = ISO_BAG_MAX})) \
  X(segment_reduce, iso_segment_reduce(ctx, A, ISO_COMBINE_AMIN, &(iso_segment_options){.lengths = B}))                \
  X(segment_reduce_far,                                                                                                \
    iso_segment_reduce(ctx, A, ISO_COMBINE_SUM, &(iso_segment_options){.offsets = B, .axis = INT_MAX}))                \
  X(bincount, iso_bincount(ctx, A, 3))                                                                                 \
  X(bincount_huge, iso_bincount(ctx, A, INT64_MAX))                                                                    \
  X(histc, iso_histc(ctx, A, 5, 0, 0))                                                                                 \
  X(histc_nan, iso_histc(ctx, A, 5, (double)NAN, 1))                                                                   \
  X(histc_huge, iso_histc(ctx, A, INT64_MAX, 0, 1))                                                                    \
  X(histogram, iso_histogram(ctx, A, B, C, true))                                                                      \
  X(histogramdd, iso_histogramdd(ctx, A, 2, (const iso_tensor *const[]){B, C}, NULL, false))                           \
  X(histogram_edges, iso_histogram_edges(ctx, A, 7, -1e308, 1e308))                                                    \
  X(box_area, iso_box_area(ctx, A))                                                                                    \
  X(box_iou, iso_box_iou(ctx, A, B))                                                                                   \
  X(generalized_box_iou, iso_generalized_box_iou(ctx, A, B))                                                           \
  X(distance_box_iou, iso_distance_box_iou(ctx, A, A, -1))                                                             \
  X(complete_box_iou, iso_complete_box_iou(ctx, A, B, 0))                                                              \
  X(box_convert, iso_box_convert(ctx, A, ISO_BOX_XYWH, ISO_BOX_CXCYWH))                                                \
  X(box_convert_none, iso_box_convert(ctx, A, (iso_box_format)9, ISO_BOX_XYXY))                                        \
  X(clip_boxes, iso_clip_boxes(ctx, A, (double)NAN, -1))                                                               \
  X(nms, iso_nms(ctx, A, B, 0.5))                                                                                      \
  X(batched_nms, iso_batched_nms(ctx, A, B, C, (double)NAN))                                                           \
  X(roi_align, iso_roi_align(ctx, A, B, &(iso_roi_options){.out_h = 2, .out_w = 3}))                                   \
  X(roi_pool, iso_roi_pool(ctx, A, B, &(iso_roi_options){.out_h = 2, .out_w = 3}))                                     \
  X(roi_align_huge,                                                                                                    \
    iso_roi_align(ctx, A, B, &(iso_roi_options){.out_h = INT64_MAX, .out_w = 1, .samples = INT64_MIN}))                \
  X(focal, iso_sigmoid_focal_loss(ctx, A, B, 0.25, 2, NULL))                                                           \
  X(new_negative, iso_tensor_new(ctx, ISO_F32, 1, ISO_DIMS(-1)))                                                       \
  X(new_null, iso_tensor_new(ctx, ISO_F32, 1, NULL))                                                                   \
  X(new_dtype, iso_tensor_new(ctx, (iso_dtype)-1, 1, ISO_DIMS(1)))                                                     \
  X(new_huge, iso_tensor_new(ctx, ISO_F64, 2, ISO_DIMS(INT64_C(1) << 31, INT64_C(1) << 31)))                           \
  X(new_hidden, iso_tensor_new(ctx, ISO_F64, 3, ISO_DIMS(0, INT64_MAX, INT64_MAX)))                                    \
  X(full_hidden, iso_tensor_full(ctx, ISO_F64, 3, ISO_DIMS(INT64_MAX, INT64_MAX, 0), 3))                               \
  X(channels_last_null, iso_tensor_new_channels_last(ctx, ISO_F32, 4, NULL))                                           \
  X(copy_from_null, iso_tensor_copy_from(ctx, ISO_F32, 1, ISO_DIMS(3), NULL))                                          \
  X(wrap_null, iso_tensor_wrap(ctx, ISO_F32, 1, ISO_DIMS(3), NULL, NULL, NULL, NULL))
LIST(CALL)

typedef struct operator{
  const char *name;
  call *f;
}
operator;
static const operator operators[] = {
#define ROW(name, ...) {#name, c_##name},
    LIST(ROW)};
enum { N_OPERATORS = sizeof operators / sizeof operators[0] };

/* ---- the tensors ---- */
enum { N_FORMS = 21 };
static iso_tensor *form(iso_context *ctx, int i) {
  static const struct {
    int n_dims;
    int64_t shape[ISO_MAX_DIMS];
  } shapes[] = {{0, {0}},
                {1, {0}},
                {1, {3}},
                {2, {0, 3}},
                {2, {3, 0}},
                {2, {3, 3}},
                {4, {2, 3, 4, 5}},
                {4, {0, 3, 4, 5}},
                {4, {2, 0, 4, 5}},
                {4, {2, 3, 0, 5}},
                {4, {3, 3, 3, 3}},
                {8, {1, 2, 1, 3, 1, 2, 1, 2}},
                {8, {1, 2, 1, 0, 1, 2, 1, 2}},
                {3, {2, 3, 3}}};
  enum { N_SHAPES = sizeof shapes / sizeof shapes[0] };
  static const iso_dtype dtypes[] = {ISO_F64, ISO_I64, ISO_U8, ISO_F16, ISO_BOOL};
  if (i < N_SHAPES) return iso_tensor_full(ctx, ISO_F32, shapes[i].n_dims, shapes[i].shape, 0.5);
  i -= N_SHAPES;
  if (i < 5) return iso_tensor_full(ctx, dtypes[i], 2, ISO_DIMS(3, 3), 1);
  if (i == 5) return iso_expand(ctx, iso_tensor_full(ctx, ISO_F32, 2, ISO_DIMS(3, 1), 0.5), 2, ISO_DIMS(3, 3));
  if (i == 6) return iso_slice(ctx, iso_tensor_full(ctx, ISO_I64, 1, ISO_DIMS(7), 1), 0, 0, 6, 2);
  return NULL;
}

static void judge(iso_context *ctx, const iso_tensor *y, const char *name, int a, int b) {
  (void)y;
  if (iso_error_code(ctx) != ISO_OK && strlen(iso_error_message(ctx)) < 20)
    fail_msg("%s(%d,%d): the sentence is '%s'", name, a, b, iso_error_message(ctx));
}

static void try_one(iso_context *ctx, const operator* op, int a, int b, int c, bool differentiate) {
  iso_scope_push(ctx);
  iso_tensor *t[3] = {a < 0 ? NULL : form(ctx, a), b < 0 ? NULL : form(ctx, b), c < 0 ? NULL : form(ctx, c)};
  assert_int_equal(iso_error_code(ctx), ISO_OK);
  for (int i = 0; i < 3 && differentiate; i++)
    if (t[i] && iso_dtype_is_float(iso_tensor_dtype(t[i]))) iso_requires_grad(t[i], true);
  iso_tensor *y = op->f(ctx, (const iso_tensor *const *)t);
  judge(ctx, y, op->name, a, b);
  assert_true(!y || iso_error_code(ctx) == ISO_OK);
  if (y && differentiate && iso_wants_grad(y)) {
    iso_backward_with(y, NULL, NULL);
    judge(ctx, y, op->name, a, b);
    /* Sums of gradients are computed in f32 and f64 only. */
    if (iso_error_code(ctx) != ISO_OK && iso_error_code(ctx) != ISO_DTYPE_MISMATCH)
      fail_msg("%s(%d,%d,%d) backward: %s", op->name, a, b, c, iso_error_message(ctx));
    iso_clear_error(ctx);
  }
  iso_clear_error(ctx);
  iso_scope_pop(ctx);
}

static void test_every_operator(void **state) {
  (void)state;
  iso_context *ctx = context_new("reproducible", 1);
  /* Once, so that what a context keeps for its life is there. */
  for (int o = 0; o < N_OPERATORS; o++) try_one(ctx, &operators[o], 5, 5, 2, true);
  for (int o = 0; o < N_OPERATORS; o++) try_one(ctx, &operators[o], 6, 10, 2, true);
  for (int o = 0; o < N_OPERATORS; o++)
    for (int a = -1; a < N_FORMS; a++)
      for (int b = -1; b < N_FORMS; b++) {
        const size_t before = iso_memory_get_info(ctx).live_bytes;
        try_one(ctx, &operators[o], a, b, b, true);
        const size_t after = iso_memory_get_info(ctx).live_bytes;
        if (after > before && a < 3 && b > 3) try_one(ctx, &operators[o], a, b, b, true);
        if (iso_memory_get_info(ctx).live_bytes > after)
          fail_msg("%s(%d,%d) keeps memory: %zu, %zu, %zu", operators[o].name, a, b, before, after,
                   iso_memory_get_info(ctx).live_bytes);
        try_one(ctx, &operators[o], a, b, 2, false);
      }
  assert_int_equal(iso_tape_length(ctx), 0);
  iso_context_free(ctx);
}

/* What is made without a tensor, the same wherever the context computes. */
static iso_tensor *made(iso_context *ctx, int i) {
  iso_random_set_step(ctx, 3); /* the same draws in every context */
  iso_tensor *t = i < 7 ? NULL : iso_tensor_zeros(ctx, ISO_F32, 3, ISO_DIMS(4, 3, 2));
  if (i == 8 || i == 9) t = iso_tensor_zeros(ctx, ISO_F32, 2, ISO_DIMS(4, 3));
  switch (i) {
  case 0: return iso_arange(ctx, ISO_I64, 0, 7, 2);
  case 1: return iso_linspace(ctx, ISO_F32, 0, 1, 5);
  case 2: return iso_logspace(ctx, ISO_F64, 0, 1, 5, 10);
  case 3: return iso_eye(ctx, ISO_F16, 3, 4);
  case 4: return iso_tril_indices(ctx, 4, 3, 0);
  case 5: return iso_randperm(ctx, 9);
  case 6: return iso_tensor_full(ctx, ISO_F32, 2, ISO_DIMS(3, 5), 2.5);
  case 7: return iso_init_dirac(t, 2), t;
  case 8: return iso_init_eye(t), t;
  case 9: return iso_init_sparse(t, 0.5, 1, 4), t;
  default: return iso_init_orthogonal(t, 1, 5), t;
  }
}
static void test_makers_on_a_device_out_of_reach(void **state) {
  (void)state;
  iso_context *here = context_new("reproducible", 1), *there = context_new("reproducible", 1);
  there->device = &foreign_device;
  for (int i = 0; i <= 10; i++) {
    char expected[33], got[33];
    iso_tensor *a = made(here, i), *b = made(there, i);
    if (!a || !b) fail_msg("maker %d: %s%s", i, iso_error_message(here), iso_error_message(there));
    assert_string_equal(iso_tensor_device(a), "cpu"), assert_string_equal(iso_tensor_device(b), "foreign:0");
    assert_int_equal(iso_tensor_hash(a, expected), ISO_OK), assert_int_equal(iso_tensor_hash(b, got), ISO_OK);
    assert_string_equal(expected, got);
  }
  iso_context_free(here), iso_context_free(there);
}

/* Where the host cannot touch a tensor's elements every operator gives a result or says that it is not there. */
static void test_on_a_device_out_of_reach(void **state) {
  (void)state;
  iso_context *ctx = context_new("reproducible", 1);
  ctx->device = &foreign_device;
  for (int o = 0; o < N_OPERATORS; o++)
    for (int a = -1; a < N_FORMS; a++) {
      const int others[] = {-1, 2, 5, 6, a};
      for (size_t k = 0; k < sizeof others / sizeof others[0]; k++) {
        iso_scope_push(ctx);
        iso_tensor *t[3] = {a < 0 ? NULL : form(ctx, a), others[k] < 0 ? NULL : form(ctx, others[k]), form(ctx, 15)};
        assert_int_equal(iso_error_code(ctx), ISO_OK);
        const iso_tensor *y = operators[o].f(ctx, (const iso_tensor *const *)t);
        judge(ctx, y, operators[o].name, a, others[k]);
        assert_true(!y || iso_error_code(ctx) == ISO_OK);
        iso_clear_error(ctx);
        iso_scope_pop(ctx);
      }
    }
  ctx->device = NULL;
  iso_context_free(ctx);
}

static void test_no_context(void **state) {
  (void)state;
  iso_context *ctx = context_new("reproducible", 1);
  iso_tensor *t[3] = {form(ctx, 6), form(ctx, 10), form(ctx, 2)};
  iso_tensor *none[3] = {NULL, NULL, NULL};
  for (int o = 0; o < N_OPERATORS; o++) {
    assert_null(operators[o].f(NULL, (const iso_tensor *const *)t));
    assert_null(operators[o].f(NULL, (const iso_tensor *const *)none));
  }
  iso_context_free(ctx);
}

/* In place where the operands share memory, or where one element has several indices. */
static void test_in_place_overlap(void **state) {
  (void)state;
  iso_context *ctx = context_new("reproducible", 2);
  enum { N = 300 };
  iso_tensor *x = iso_random_normal(ctx, ISO_F32, 2, ISO_DIMS(N, N), 0, 1), *y = iso_clone(ctx, x);
  iso_tensor *turned = iso_contiguous(ctx, iso_transpose(ctx, y, 0, 1));
  assert_int_equal(iso_accumulate(y, turned, 0.5), ISO_OK);
  assert_int_equal(iso_accumulate(x, iso_transpose(ctx, x, 0, 1), 0.5), ISO_OK);
  assert_memory_equal(iso_tensor_data(x), iso_tensor_data(y), sizeof(float) * N * N);
  /* Onto the same elements nothing is read late. */
  assert_int_equal(iso_accumulate(x, x, 1), ISO_OK);
  iso_tensor *wide = iso_expand(ctx, iso_tensor_full(ctx, ISO_F32, 2, ISO_DIMS(3, 1), 1), 2, ISO_DIMS(3, 4));
  const iso_philox at = {.seed = 1};
  assert_int_equal(iso_accumulate(wide, wide, 1), ISO_INVALID_ARGUMENT), iso_clear_error(ctx);
  assert_int_equal(iso_fill_uniform(wide, &at, 0, 1), ISO_INVALID_ARGUMENT), iso_clear_error(ctx);
  assert_int_equal(iso_fill_normal(wide, &at, 0, 1), ISO_INVALID_ARGUMENT), iso_clear_error(ctx);
  iso_context_free(ctx);
}

/* A saved tensor that changes, a second backward, a pop too many: the error says which. */
static void test_misused_tape(void **state) {
  (void)state;
  iso_context *ctx = context_new("reproducible", 1);
  iso_tensor *w = iso_requires_grad(iso_tensor_full(ctx, ISO_F32, 1, ISO_DIMS(4), 2), true);
  iso_tensor *x = iso_tensor_full(ctx, ISO_F32, 1, ISO_DIMS(4), 3);
  iso_tensor *loss = iso_sum_all(ctx, iso_mul(ctx, w, x));
  assert_int_equal(iso_accumulate(x, x, 1), ISO_OK);
  assert_int_equal(iso_backward(loss), ISO_MODIFIED), iso_clear_error(ctx);
  iso_tape_clear(ctx), iso_grad_zero(w);
  loss = iso_sum_all(ctx, iso_mul(ctx, w, x));
  assert_int_equal(iso_backward(loss), ISO_OK);
  assert_true(iso_backward(loss) != ISO_OK);
  assert_true(strlen(iso_error_message(ctx)) > 20), iso_clear_error(ctx);
  assert_int_equal(iso_policy_pop(ctx), ISO_STATE), iso_clear_error(ctx);
  iso_scope_pop(ctx);
  assert_int_equal(iso_error_code(ctx), ISO_STATE), iso_clear_error(ctx);
  iso_no_grad_pop(ctx), iso_clear_error(ctx);
  for (int i = 0; i < 3; i++) assert_int_equal(iso_policy_push(ctx, iso_policy_current(ctx)), ISO_OK);
  for (int i = 0; i < 1000; i++) iso_scope_push(ctx);
  double v;
  char *volatile nowhere = NULL;
  assert_int_equal(iso_tensor_item(x, NULL), ISO_SHAPE_MISMATCH), iso_clear_error(ctx);
  assert_int_equal(iso_tensor_item(iso_sum_all(ctx, x), NULL), ISO_INVALID_ARGUMENT), iso_clear_error(ctx);
  assert_int_equal(iso_tensor_at(x, NULL, &v), ISO_INVALID_ARGUMENT), iso_clear_error(ctx);
  assert_int_equal(iso_tensor_hash(x, nowhere), ISO_INVALID_ARGUMENT), iso_clear_error(ctx);
  iso_context_free(ctx);
}

/* Caps of every size: the same bits, or an error that names the limit. */
static void test_workspace_limits(void **state) {
  (void)state;
  static const size_t caps[] = {SIZE_MAX, 4 << 20, 1 << 16, 4096, 64, 1, 0};
  char usual[3][33] = {0};
  for (size_t c = 0; c < sizeof caps / sizeof caps[0]; c++) {
    iso_context *ctx = context_new("reproducible", 2);
    iso_policy p = *iso_policy_current(ctx);
    p.workspace_limit = caps[c];
    assert_int_equal(iso_policy_push(ctx, &p), ISO_OK);
    iso_tensor *x = iso_requires_grad(iso_random_normal(ctx, ISO_F32, 4, ISO_DIMS(3, 16, 13, 13), 0, 1), true);
    iso_tensor *w = iso_requires_grad(iso_random_normal(ctx, ISO_F32, 4, ISO_DIMS(24, 16, 3, 3), 0, 1), true);
    iso_tensor *y = iso_conv2d(ctx, x, w, NULL, &(iso_conv2d_options){.pad_h = 1, .pad_w = 1});
    if (!y || iso_backward_with(y, NULL, NULL)) {
      assert_int_equal(iso_error_code(ctx), ISO_WORKSPACE_LIMIT);
      assert_non_null(strstr(iso_error_message(ctx), "needs"));
      assert_true(c > 1); /* a limit of 4 MiB must do */
      iso_context_free(ctx);
      continue;
    }
    const iso_tensor *const results[] = {y, iso_grad(x), iso_grad(w)};
    for (int i = 0; i < 3; i++) {
      char hex[33];
      assert_int_equal(iso_tensor_hash(results[i], hex), ISO_OK);
      if (c == 0) memcpy(usual[i], hex, sizeof hex);
      else assert_string_equal(usual[i], hex);
    }
    iso_context_free(ctx);
  }
}

/* Contexts and children of one, each on a thread of its own, all planning the same new problems at once. */
static void *use_context(void *arg) {
  iso_context *parent = arg, *ctx;
  if (parent ? iso_context_new_child(parent, 2, &ctx) : iso_context_new(&(iso_context_options){.n_threads = 2}, &ctx))
    return NULL;
  char *hex = malloc(33);
  iso_tensor *last = NULL;
  for (int64_t n = 17; n < 40; n++) {
    iso_tensor *x = iso_requires_grad(iso_tensor_full(ctx, ISO_F32, 2, ISO_DIMS(n, n + 3), 0.01), true);
    iso_tensor *y = iso_softmax(ctx, iso_matmul(ctx, x, iso_transpose(ctx, x, 0, 1)), -1);
    iso_backward_with(iso_square(ctx, y), NULL, NULL);
    last = iso_grad(x);
  }
  if (hex && iso_tensor_hash(last, hex)) hex[0] = 0;
  iso_context_free(ctx);
  return hex;
}
static void test_contexts_on_threads(void **state) {
  (void)state;
  enum { N_THREADS = 6 };
  pthread_t threads[N_THREADS];
  char *hex[N_THREADS];
  iso_context *parent = context_new("default", 1);
  for (int i = 0; i < N_THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, use_context, i & 1 ? parent : NULL), 0);
  for (int i = 0; i < N_THREADS; i++) {
    void *result;
    pthread_join(threads[i], &result);
    assert_non_null(hex[i] = result);
  }
  for (int i = 1; i < N_THREADS; i++) assert_string_equal(hex[0], hex[i]);
  for (int i = 0; i < N_THREADS; i++) free(hex[i]);
  iso_context_free(parent);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_operator),
                                     cmocka_unit_test(test_on_a_device_out_of_reach),
                                     cmocka_unit_test(test_makers_on_a_device_out_of_reach),
                                     cmocka_unit_test(test_no_context),
                                     cmocka_unit_test(test_in_place_overlap),
                                     cmocka_unit_test(test_misused_tape),
                                     cmocka_unit_test(test_workspace_limits),
                                     cmocka_unit_test(test_contexts_on_threads)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
