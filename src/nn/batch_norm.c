/* batch_norm.c: the layer of batch normalisation. */
#include "nn/batch_norm.h"
#include <stdio.h>
#include "nn/module.h"

typedef struct batch_norm {
  int64_t channels;
  double momentum, eps;
  iso_tensor *gamma, *beta, *running_mean, *running_var;
  bool folded; /* into the convolution before it (freeze.c): what is left is residual and relu */
} batch_norm;

static iso_tensor *what_is_left(iso_context *ctx, const iso_tensor *x, const iso_tensor *residual, bool relu) {
  iso_tensor *sum = residual ? iso_add(ctx, x, residual) : iso_tensor_alias(ctx, x);
  if (!sum || !relu) return sum;
  iso_tensor *y = iso_relu(ctx, sum);
  iso_release(sum);
  return y;
}

iso_tensor *iso__batch_norm_module_forward(iso_module *m, const iso_tensor *x, const iso_tensor *residual, bool relu) {
  const batch_norm *l = m->state;
  if (l->folded) return what_is_left(m->ctx, x, residual, relu);
  const iso_batch_norm_options o = {
      .training = m->training, .momentum = l->momentum, .eps = l->eps, .residual = residual, .relu = relu};
  const size_t outer = iso__module_enter(m);
  iso_tensor *y = iso_batch_norm(m->ctx, x, l->gamma, l->beta, l->running_mean, l->running_var, &o);
  iso__module_leave(m, outer);
  return y;
}
static iso_tensor *forward(iso_module *m, iso_tensor *x) { return iso__batch_norm_module_forward(m, x, NULL, false); }
static iso_tensor *forward_relu(iso_module *m, iso_tensor *x) {
  return iso__batch_norm_module_forward(m, x, NULL, true);
}
static int describe(const iso_module *m, char *text, size_t n_bytes) {
  const batch_norm *l = m->state;
  return snprintf(text, n_bytes, "(%lld, momentum %g, eps %g%s)", (long long)l->channels, l->momentum, l->eps,
                  l->folded ? ", folded" : "");
}
static const iso_module_type type = {.name = "BatchNorm",
                                     .state_bytes = sizeof(batch_norm),
                                     .forward = forward,
                                     .forward_relu = forward_relu,
                                     .describe = describe};

iso_module *iso_batch_norm_module(iso_context *ctx, int64_t channels, double momentum, double eps) {
  if (iso__failed(ctx)) return NULL;
  if (channels < 1) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "BatchNorm", "%lld channels", (long long)channels);
    return NULL;
  }
  batch_norm l = {.channels = channels, .momentum = momentum != 0 ? momentum : 0.1, .eps = eps != 0 ? eps : 1e-5};
  iso_module *m = iso_module_new(ctx, &type, &l);
  m = iso__module_with(m, "weight", iso_tensor_full(ctx, ISO_F32, 1, &channels, 1), true);
  m = iso__module_with(m, "bias", iso_tensor_zeros(ctx, ISO_F32, 1, &channels), true);
  m = iso__module_with(m, "running_mean", iso_tensor_zeros(ctx, ISO_F32, 1, &channels), false);
  m = iso__module_with(m, "running_var", iso_tensor_full(ctx, ISO_F32, 1, &channels, 1), false);
  if (!m) return NULL;
  batch_norm *own = m->state;
  own->gamma = m->tensors[0].tensor, own->beta = m->tensors[1].tensor;
  own->running_mean = m->tensors[2].tensor, own->running_var = m->tensors[3].tensor;
  return m;
}

bool iso__is_batch_norm_module(const iso_module *m) { return m->type == &type; }
iso__batch_norm_parts iso__batch_norm_parts_of(const iso_module *m) {
  const batch_norm *l = m->state;
  return (iso__batch_norm_parts){l->gamma, l->beta, l->running_mean, l->running_var, l->eps, l->folded};
}
void iso__batch_norm_module_set_folded(iso_module *m) { ((batch_norm *)m->state)->folded = true; }
