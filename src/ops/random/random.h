/* random.h: what the files of random operators share: the place they draw from. */
#ifndef ISO_OPS_RANDOM_RANDOM_H
#define ISO_OPS_RANDOM_RANDOM_H
#include "ops/ops.h"

/* Where an operator of the forward pass draws from: the next site of the stream "graph". */
iso_philox iso__random_next_site(iso_context *ctx);
/* What kernels of such a site read the step's number from; NULL: their arguments' own. */
const uint32_t *iso__random_step_at(const iso_context *ctx);
/* Whether so many elements have random numbers of `words` words each; else false with the error kept. */
bool iso__random_check_count(iso_context *ctx, const char *op, int64_t numel, int words);
/* A tensor of ones with probability p, else zeros, drawn at `at`. */
iso_tensor *iso__random_bernoulli_at(iso_context *ctx, const char *op, iso_dtype dtype, int n_dims,
                                     const int64_t *shape, double p, const iso_philox *at);
#endif
