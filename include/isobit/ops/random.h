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
/* New tensors of stream "graph" at the next site: uniform in [a,b) = fma(b−a,u,a); normal fma(sd,z,mean); 1 with
 * probability p, else 0. No gradient. */
ISO_API iso_tensor *iso_random_uniform(iso_context *ctx, iso_dtype dtype, int n_dims, const int64_t *shape, double a,
                                       double b);
ISO_API iso_tensor *iso_random_normal(iso_context *ctx, iso_dtype dtype, int n_dims, const int64_t *shape, double mean,
                                      double sd);
ISO_API iso_tensor *iso_random_bernoulli(iso_context *ctx, iso_dtype dtype, int n_dims, const int64_t *shape, double p);
/* Fill t in place at a place of the caller's choice; element numbers are logical, whatever t's strides. */
ISO_API iso_status iso_fill_uniform(iso_tensor *t, const iso_philox *at, double a, double b);
ISO_API iso_status iso_fill_normal(iso_tensor *t, const iso_philox *at, double mean, double sd);

/* ---- dropout ---- */
/* Each element is zeroed with probability p, else scaled by 1/(1−p): p in [0,1). training false: x itself. */
ISO_API iso_tensor *iso_dropout(iso_context *ctx, const iso_tensor *x, double p, bool training);

#ifdef __cplusplus
}
#endif
#endif
