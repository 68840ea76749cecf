/* linear.c: the layer y = x·wᵀ + b. */
#include <stdio.h>
#include "nn/init.h"
#include "nn/module.h"
#include "ops/product/linear.h"

typedef struct linear {
  int64_t in, out;
  iso_tensor *weight, *bias; /* the module's; (out,in), (out) or NULL */
} linear;

static iso_tensor *forward(iso_module *m, iso_tensor *x) {
  const linear *l = m->state;
  return iso_linear(m->ctx, x, l->weight, l->bias, false);
}
static iso_tensor *forward_relu(iso_module *m, iso_tensor *x) {
  const linear *l = m->state;
  return iso_linear(m->ctx, x, l->weight, l->bias, true);
}
static int describe(const iso_module *m, char *text, size_t n_bytes) {
  const linear *l = m->state;
  return snprintf(text, n_bytes, "(%lld → %lld%s)", (long long)l->in, (long long)l->out, l->bias ? "" : ", no bias");
}
static const iso_module_type type = {.name = "Linear",
                                     .state_bytes = sizeof(linear),
                                     .forward = forward,
                                     .forward_relu = forward_relu,
                                     .describe = describe};

iso_tensor *iso__module_forward_fused(iso_module *m, iso_tensor *x, const iso_tensor *residual, int activation) {
  if (!x || m->type != &type || m->checkpointing) return NULL;
  const linear *l = m->state;
  const size_t outer = iso__module_enter(m);
  iso_tensor *y = iso__linear_fused(m->ctx, x, l->weight, l->bias, residual, (iso__activation)activation);
  iso__module_leave(m, outer);
  return y;
}

iso_module *iso_linear_module(iso_context *ctx, int64_t in, int64_t out, bool bias) {
  if (iso__failed(ctx)) return NULL;
  if (in < 0 || out < 0) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "Linear", "in %lld, out %lld", (long long)in, (long long)out);
    return NULL;
  }
  linear l = {.in = in, .out = out};
  l.weight = iso__init_default(ctx, iso_tensor_new(ctx, ISO_F32, 2, (const int64_t[]){out, in}), (double)in);
  if (bias) l.bias = iso__init_default(ctx, iso_tensor_new(ctx, ISO_F32, 1, &out), (double)in);
  iso_module *m = iso_module_new(ctx, &type, &l);
  if (!m) {
    iso_release(l.weight);
    iso_release(l.bias);
    return NULL;
  }
  m = iso__module_with(m, "weight", l.weight, true);
  if (!m) iso_release(l.bias);
  return m && bias ? iso__module_with(m, "bias", l.bias, true) : m;
}
