/* local_response.c: local response normalisation, written in operators: the squares' mean over neighbouring channels is
 * an average pooling along them. */
#include "ops/ops.h"

/* Zeros of x's shape but with n channels. */
static iso_tensor *zero_channels(iso_context *ctx, const iso_tensor *x, int64_t n) {
  int64_t shape[ISO_MAX_DIMS];
  memcpy(shape, x->view.shape, sizeof shape);
  shape[1] = n;
  return iso_tensor_zeros(ctx, x->view.dtype, x->view.n_dims, shape);
}

iso_tensor *iso_local_response_norm(iso_context *ctx, const iso_tensor *x,
                                    const iso_local_response_norm_options *options) {
  ISO__AUTOCAST(ctx, "local_response_norm", iso_local_response_norm(ctx, x, options), &x);
  if (!iso__takes_floats(ctx, "local_response_norm", 1, ISO__TENSORS(x))) return NULL;
  if (x->view.n_dims < 3 || !options || options->size < 1 || options->size > INT32_MAX) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "local_response_norm",
              "x has %d dimensions and size is %lld: (N,C,L,…) and a size of at least 1 are needed", x->view.n_dims,
              options ? (long long)options->size : 0);
    return NULL;
  }
  const iso_local_response_norm_options *o = options;
  if (iso__view_numel(&x->view) == 0) return iso_mul_scalar(ctx, x, 1);
  iso__enter(ctx);
  iso_tensor *parts[] = {zero_channels(ctx, x, o->size / 2), iso_square(ctx, x),
                         zero_channels(ctx, x, (o->size - 1) / 2)};
  iso_tensor *padded = iso_cat(ctx, 3, (const iso_tensor *const *)parts, 1);
  int64_t flat[4] = {x->view.shape[0], 1, x->view.shape[1] + o->size - 1, -1};
  iso_tensor *mean =
      iso_avg_pool2d(ctx, iso_reshape(ctx, padded, 4, flat),
                     &(iso_pool2d_options){.kernel_h = o->size, .kernel_w = 1, .stride_h = 1, .stride_w = 1});
  iso_tensor *sum = iso_add_scalar(ctx, iso_mul_scalar(ctx, mean, o->alpha), o->k);
  iso_tensor *divisor = iso_pow_scalar(ctx, iso_reshape(ctx, sum, x->view.n_dims, x->view.shape), o->beta);
  return iso__leave(ctx, iso_div(ctx, x, divisor));
}
