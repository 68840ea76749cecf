/* conv2d.c: the layer of a 2-D convolution; weights logically (K,C/groups,R,S), in channels-last storage. */
#include <stdio.h>
#include "nn/init.h"
#include "nn/module.h"

typedef struct conv2d {
  iso_conv2d_config config; /* all defaults filled in */
  iso_tensor *weight, *bias;
} conv2d;

static iso_tensor *compute(iso_module *m, iso_tensor *x, bool relu) {
  const conv2d *l = m->state;
  const iso_conv2d_config *c = &l->config;
  const iso_conv2d_options o = {.stride_h = c->stride,
                                .stride_w = c->stride_w,
                                .pad_h = c->pad,
                                .pad_w = c->pad_w,
                                .dilation_h = c->dilation,
                                .dilation_w = c->dilation_w,
                                .groups = c->groups,
                                .relu = relu};
  return iso_conv2d(m->ctx, x, l->weight, l->bias, &o);
}
static iso_tensor *forward(iso_module *m, iso_tensor *x) { return compute(m, x, false); }
static iso_tensor *forward_relu(iso_module *m, iso_tensor *x) { return compute(m, x, true); }

static int describe(const iso_module *m, char *text, size_t n_bytes) {
  const iso_conv2d_config *c = &((const conv2d *)m->state)->config;
  return snprintf(text, n_bytes, "(%lld → %lld, %lld×%lld, stride %lld, padding %lld, groups %lld%s)", (long long)c->in,
                  (long long)c->out, (long long)c->kernel, (long long)c->kernel_w, (long long)c->stride,
                  (long long)c->pad, (long long)c->groups, c->no_bias ? ", no bias" : "");
}
static const iso_module_type type = {.name = "Conv2d",
                                     .state_bytes = sizeof(conv2d),
                                     .forward = forward,
                                     .forward_relu = forward_relu,
                                     .describe = describe};

static int64_t or_else(int64_t n, int64_t usual) { return n ? n : usual; }

static iso_conv2d_config filled(const iso_conv2d_config *config) {
  iso_conv2d_config c = *config;
  c.kernel_w = or_else(c.kernel_w, c.kernel);
  c.stride = or_else(c.stride, 1), c.stride_w = or_else(c.stride_w, c.stride);
  c.pad_w = or_else(c.pad_w, c.pad);
  c.dilation = or_else(c.dilation, 1), c.dilation_w = or_else(c.dilation_w, c.dilation);
  c.groups = or_else(c.groups, 1);
  return c;
}

iso_module *iso_conv2d_module(iso_context *ctx, const iso_conv2d_config *config) {
  if (iso__failed(ctx) || !config) return NULL;
  conv2d l = {.config = filled(config)};
  const iso_conv2d_config *c = &l.config;
  if (c->in < 1 || c->out < 1 || c->kernel < 1 || c->kernel_w < 1 || c->groups < 1 || c->in % c->groups ||
      c->out % c->groups) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "Conv2d", "in %lld, out %lld, kernel %lld×%lld, groups %lld", (long long)c->in,
              (long long)c->out, (long long)c->kernel, (long long)c->kernel_w, (long long)c->groups);
    return NULL;
  }
  const int64_t shape[4] = {c->out, c->in / c->groups, c->kernel, c->kernel_w};
  const double fan_in = (double)(shape[1] * shape[2] * shape[3]);
  l.weight = iso__init_default(ctx, iso_tensor_new_channels_last(ctx, ISO_F32, 4, shape), fan_in);
  if (!c->no_bias) l.bias = iso__init_default(ctx, iso_tensor_new(ctx, ISO_F32, 1, &c->out), fan_in);
  iso_module *m = iso_module_new(ctx, &type, &l);
  if (!m) {
    iso_release(l.weight);
    iso_release(l.bias);
    return NULL;
  }
  m = iso__module_with(m, "weight", l.weight, true);
  if (!m) iso_release(l.bias);
  return m && l.bias ? iso__module_with(m, "bias", l.bias, true) : m;
}
