/* ops/random.h: random numbers and dropout. What holds for every operator: ops.h. */
#ifndef ISOBIT_OPS_RANDOM_H
#define ISOBIT_OPS_RANDOM_H
#include <isobit/tensor.h>
#ifdef __cplusplus
extern "C" {
#endif

/* ---- random numbers: functions of (seed, step, leaf, site, element), never of threads ---- */
/* The context's optimiser steps so far; set when resuming. Setting it starts the sites again from 0. */
ISO_API uint32_t iso_random_step(const iso_context *ctx);
ISO_API void iso_random_set_step(iso_context *ctx, uint32_t step);
/* New tensors of stream "graph" at the next site, f32 or f64: uniform in [a,b) = fma(b−a,u,a); normal fma(sd,z,mean); 1
 * with probability p, else 0. No gradient, here and below, up to dropout. */
ISO_API iso_tensor *iso_random_uniform(iso_context *ctx, iso_dtype dtype, int n_dims, const int64_t *shape, double a,
                                       double b);
ISO_API iso_tensor *iso_random_normal(iso_context *ctx, iso_dtype dtype, int n_dims, const int64_t *shape, double mean,
                                      double sd);
ISO_API iso_tensor *iso_random_bernoulli(iso_context *ctx, iso_dtype dtype, int n_dims, const int64_t *shape, double p);
/* Of x's shape and dtype: uniform in [0,1), normal with mean 0 and deviation 1. */
ISO_API iso_tensor *iso_rand_like(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_randn_like(iso_context *ctx, const iso_tensor *x);

/* ---- more distributions: in f64 from one 64-bit draw an element, w = ((draw >> 12) + ½)·2^−52, rounded once ---- */
/* −log(w)/rate. */
ISO_API iso_tensor *iso_random_exponential(iso_context *ctx, iso_dtype dtype, int n_dims, const int64_t *shape,
                                           double rate);
/* Trials up to the first success of probability p, 0 < p ≤ 1: max(1, ceil(log(w)/log(1 − p))). */
ISO_API iso_tensor *iso_random_geometric(iso_context *ctx, iso_dtype dtype, int n_dims, const int64_t *shape, double p);
/* fma(scale, −cos(πw)/sin(πw), median). */
ISO_API iso_tensor *iso_random_cauchy(iso_context *ctx, iso_dtype dtype, int n_dims, const int64_t *shape,
                                      double median, double scale);
/* exp(normal(mean, sd)), in the dtype. */
ISO_API iso_tensor *iso_random_log_normal(iso_context *ctx, iso_dtype dtype, int n_dims, const int64_t *shape,
                                          double mean, double sd);
typedef struct iso_truncated_normal_options {
  double mean, sd;  /* sd 0: 1                                       */
  double low, high; /* what lies outside never comes; 0 and 0: −2, 2 */
} iso_truncated_normal_options;
/* The normal distribution given that low ≤ x ≤ high: mean + sd·Φ⁻¹(Φ(α) + w·(Φ(β) − Φ(α))), α and β the bounds in
 * deviations, from the side of the smaller numbers; clamped. options NULL: the defaults. */
ISO_API iso_tensor *iso_random_truncated_normal(iso_context *ctx, iso_dtype dtype, int n_dims, const int64_t *shape,
                                                const iso_truncated_normal_options *options);
/* 1 with the probability p[i], else 0; p's shape and dtype. A p outside of [0,1] is ISO_INVALID_ARGUMENT with place and
 * value. */
ISO_API iso_tensor *iso_bernoulli(iso_context *ctx, const iso_tensor *p);
/* mean + sd·z, two roundings; broadcast. sd below 0 is ISO_INVALID_ARGUMENT with place and value. */
ISO_API iso_tensor *iso_normal(iso_context *ctx, const iso_tensor *mean, const iso_tensor *sd);

/* ---- integers ---- */
/* low + the upper half of (64-bit draw)·(high − low): in [low,high), biased by less than (high − low)·2^−64. Of a dtype
 * that holds all of these integers. */
ISO_API iso_tensor *iso_randint(iso_context *ctx, iso_dtype dtype, int n_dims, const int64_t *shape, int64_t low,
                                int64_t high);
ISO_API iso_tensor *iso_randint_like(iso_context *ctx, const iso_tensor *x, int64_t low, int64_t high);
/* i64 (n): 0 … n−1 in the order of the stable sort of n 64-bit draws. */
ISO_API iso_tensor *iso_randperm(iso_context *ctx, int64_t n);
/* weights (n) or (m,n), not normalised, any float dtype → i64 (k) or (m,k): categories. With replacement the first
 * whose ascending f64 sum of weights exceeds u·(their whole sum); without, the k smallest −log(w)/weight, ascending,
 * which is drawing one after the other from what is left. A weight of 0 never comes. ISO_INVALID_ARGUMENT for weights
 * below 0 or not finite, and for fewer positive ones than are to be drawn. */
ISO_API iso_tensor *iso_multinomial(iso_context *ctx, const iso_tensor *weights, int64_t k, bool replacement);

/* ---- fills in place, at a place of the caller's choice; element numbers are logical, whatever t's strides ---- */
ISO_API iso_status iso_fill_uniform(iso_tensor *t, const iso_philox *at, double a, double b);
ISO_API iso_status iso_fill_normal(iso_tensor *t, const iso_philox *at, double mean, double sd);
ISO_API iso_status iso_fill_truncated_normal(iso_tensor *t, const iso_philox *at,
                                             const iso_truncated_normal_options *options);

/* ---- dropout: p in [0,1]; training false: x itself. Dropped elements pass no gradient ---- */
/* Each element is zeroed with probability p, else scaled by 1/(1−p). */
ISO_API iso_tensor *iso_dropout(iso_context *ctx, const iso_tensor *x, double p, bool training);
/* Whole channels (N,C,…) instead of elements. */
ISO_API iso_tensor *iso_feature_dropout(iso_context *ctx, const iso_tensor *x, double p, bool training);
/* The same for (N,C,L) or (C,L); for (N,C,H,W), where three axes are (N,C,L); for (N,C,D,H,W) or (C,D,H,W). */
ISO_API iso_tensor *iso_dropout1d(iso_context *ctx, const iso_tensor *x, double p, bool training);
ISO_API iso_tensor *iso_dropout2d(iso_context *ctx, const iso_tensor *x, double p, bool training);
ISO_API iso_tensor *iso_dropout3d(iso_context *ctx, const iso_tensor *x, double p, bool training);
/* a·(dropped ? α : x) + b with α = −1.7581, a = ((1−p)(1 + pα²))^−½, b = −aαp: keeps mean 0 and variance 1, as selu's
 * results have them. Klambauer et al., 2017. The second one drops whole channels (N,C,…). */
ISO_API iso_tensor *iso_alpha_dropout(iso_context *ctx, const iso_tensor *x, double p, bool training);
ISO_API iso_tensor *iso_feature_alpha_dropout(iso_context *ctx, const iso_tensor *x, double p, bool training);

#ifdef __cplusplus
}
#endif
#endif
