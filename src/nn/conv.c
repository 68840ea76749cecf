/* conv.c: the layers of convolutions, plain and transposed, of one to three dimensions; weights in channels-last
 * storage, logically (K,C/groups,kernel…), transposed (C,K/groups,kernel…).
 *
 * Both start as PyTorch's do: U(±1/√fan), fan = second extent · kernel positions, for weights and bias. */
#include <stdio.h>
#include <string.h>
#include "nn/conv.h"
#include "nn/init.h"
#include "nn/module.h"
#include "ops/product/conv.h"

typedef struct axis {
  int64_t kernel, stride, dilation, before, after, output_pad;
} axis;

typedef struct layer {
  int n_axes;
  bool transposed, no_bias;
  int64_t in, out, groups;
  axis axis[3]; /* outermost first, all defaults filled in */
  iso_tensor *weight, *bias;
} layer;

/* ---- computing ---- */

static iso_tensor *compute_1d(const iso_module *m, iso_tensor *x, bool relu) {
  const layer *l = m->state;
  const axis *w = &l->axis[0];
  return (l->transposed ? iso_conv_transpose1d : iso_conv1d)(m->ctx, x, l->weight, l->bias,
                                                             &(iso_conv1d_options){.stride = w->stride,
                                                                                   .dilation = w->dilation,
                                                                                   .pad_left = w->before,
                                                                                   .pad_right = w->after,
                                                                                   .output_pad = w->output_pad,
                                                                                   .groups = l->groups,
                                                                                   .relu = relu});
}

static iso_tensor *compute_2d(const iso_module *m, iso_tensor *x, bool relu) {
  const layer *l = m->state;
  const axis *h = &l->axis[0], *w = &l->axis[1];
  return (l->transposed ? iso_conv_transpose2d : iso_conv2d)(m->ctx, x, l->weight, l->bias,
                                                             &(iso_conv2d_options){.stride_h = h->stride,
                                                                                   .stride_w = w->stride,
                                                                                   .dilation_h = h->dilation,
                                                                                   .dilation_w = w->dilation,
                                                                                   .pad_top = h->before,
                                                                                   .pad_bottom = h->after,
                                                                                   .pad_left = w->before,
                                                                                   .pad_right = w->after,
                                                                                   .output_pad_h = h->output_pad,
                                                                                   .output_pad_w = w->output_pad,
                                                                                   .groups = l->groups,
                                                                                   .relu = relu});
}

static iso_tensor *compute_3d(const iso_module *m, iso_tensor *x, bool relu) {
  const layer *l = m->state;
  const axis *d = &l->axis[0], *h = &l->axis[1], *w = &l->axis[2];
  return (l->transposed ? iso_conv_transpose3d : iso_conv3d)(m->ctx, x, l->weight, l->bias,
                                                             &(iso_conv3d_options){.stride_d = d->stride,
                                                                                   .stride_h = h->stride,
                                                                                   .stride_w = w->stride,
                                                                                   .dilation_d = d->dilation,
                                                                                   .dilation_h = h->dilation,
                                                                                   .dilation_w = w->dilation,
                                                                                   .pad_front = d->before,
                                                                                   .pad_back = d->after,
                                                                                   .pad_top = h->before,
                                                                                   .pad_bottom = h->after,
                                                                                   .pad_left = w->before,
                                                                                   .pad_right = w->after,
                                                                                   .output_pad_d = d->output_pad,
                                                                                   .output_pad_h = h->output_pad,
                                                                                   .output_pad_w = w->output_pad,
                                                                                   .groups = l->groups,
                                                                                   .relu = relu});
}

static iso_tensor *compute(const iso_module *m, iso_tensor *x, bool relu) {
  static iso_tensor *(*const by_axes[])(const iso_module *, iso_tensor *, bool) = {compute_1d, compute_2d, compute_3d};
  return by_axes[((const layer *)m->state)->n_axes - 1](m, x, relu);
}
static iso_tensor *forward(iso_module *m, iso_tensor *x) { return compute(m, x, false); }
static iso_tensor *forward_relu(iso_module *m, iso_tensor *x) { return compute(m, x, true); }

/* ---- in words ---- */

typedef struct text {
  char s[96];
} text;
static int64_t number(const axis *a, size_t field) {
  int64_t value;
  memcpy(&value, (const char *)a + field, sizeof value);
  return value;
}
/* A field of every axis, "3×3", "1+2" where first and second differ on an axis; unless `each`, once where all axes are
 * alike. */
static text numbers(const layer *l, size_t first, size_t second, bool each) {
  text out = {{0}};
  bool alike = !each;
  for (int i = 1; i < l->n_axes; i++)
    alike = alike && number(&l->axis[i], first) == number(&l->axis[0], first) &&
            number(&l->axis[i], second) == number(&l->axis[0], second);
  size_t at = 0;
  for (int i = 0; i < (alike ? 1 : l->n_axes) && at < sizeof out.s; i++) {
    const int64_t a = number(&l->axis[i], first), b = number(&l->axis[i], second);
    at += (size_t)snprintf(out.s + at, sizeof out.s - at, a == b ? "%s%lld" : "%s%lld+%lld", i ? "×" : "", (long long)a,
                           (long long)b);
  }
  return out;
}
#define NUMBERS(field, each) numbers(l, offsetof(axis, field), offsetof(axis, field), each).s

static int describe(const iso_module *m, char *out, size_t n_bytes) {
  const layer *l = m->state;
  return snprintf(out, n_bytes, "(%lld → %lld, %s, stride %s, padding %s, groups %lld%s)", (long long)l->in,
                  (long long)l->out, NUMBERS(kernel, true), NUMBERS(stride, false),
                  numbers(l, offsetof(axis, before), offsetof(axis, after), false).s, (long long)l->groups,
                  l->no_bias ? ", no bias" : "");
}

/* ---- making ---- */

#define TYPE(name_)                                                                                                    \
  {                                                                                                                    \
    .name = name_, .state_bytes = sizeof(layer), .forward = forward, .forward_relu = forward_relu,                     \
    .describe = describe                                                                                               \
  }
static const iso_module_type types[2][3] = {
    {TYPE("Conv1d"), TYPE("Conv2d"), TYPE("Conv3d")},
    {TYPE("ConvTranspose1d"), TYPE("ConvTranspose2d"), TYPE("ConvTranspose3d")}};

/* ---- folding what is behind into the weights ---- */

bool iso__is_conv_module(const iso_module *m) {
  return m->type == &types[0][0] || m->type == &types[0][1] || m->type == &types[0][2];
}

bool iso__conv_module_fold(iso_module *m, const iso_tensor *scale, iso_tensor *shift) {
  layer *l = m->state;
  int64_t shape[5] = {l->out, 1, 1, 1, 1};
  const iso_tensor *column = iso_reshape(m->ctx, scale, l->n_axes + 2, shape);
  const iso_tensor *weight = iso_mul(m->ctx, l->weight, column);
  if (!weight) return false;
  if (l->bias && iso_tensor_assign(l->bias, shift)) return false;
  if (!l->bias && !(l->bias = iso_module_add_parameter(m, "bias", shift))) return false;
  l->no_bias = false;
  return iso_tensor_assign(l->weight, weight) == ISO_OK;
}

/* ---- making ---- */

static int64_t or_else(int64_t n, int64_t usual) { return n ? n : usual; }
static bool check(iso_context *ctx, const layer *l, const char *name) {
  bool good = l->in >= 1 && l->out >= 1 && l->groups >= 1 && l->in % l->groups == 0 && l->out % l->groups == 0;
  for (int i = 0; i < l->n_axes && good; i++) {
    const axis *a = &l->axis[i];
    good = a->kernel >= 1 && a->stride >= 1 && a->dilation >= 1 && a->before >= 0 && a->after >= 0 &&
           a->output_pad >= 0 && a->output_pad < (l->transposed ? a->stride : 1);
  }
  if (good) return true;
  ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, name,
            "in %lld, out %lld, kernel %s, stride %s, padding %s, dilation %s, output padding %s, groups %lld",
            (long long)l->in, (long long)l->out, NUMBERS(kernel, true), NUMBERS(stride, true),
            numbers(l, offsetof(axis, before), offsetof(axis, after), true).s, NUMBERS(dilation, true),
            NUMBERS(output_pad, true), (long long)l->groups);
  return false;
}

static iso_module *make(iso_context *ctx, layer *l) {
  const iso_module_type *type = &types[l->transposed][l->n_axes - 1];
  l->groups = or_else(l->groups, 1);
  for (int i = 0; i < l->n_axes; i++)
    l->axis[i].stride = or_else(l->axis[i].stride, 1), l->axis[i].dilation = or_else(l->axis[i].dilation, 1);
  if (!check(ctx, l, type->name)) return NULL;
  int64_t shape[5] = {l->out, l->in / l->groups};
  if (l->transposed) shape[0] = l->in, shape[1] = l->out / l->groups;
  double fan_in = (double)shape[1];
  for (int i = 0; i < l->n_axes; i++) fan_in *= (double)(shape[2 + i] = l->axis[i].kernel);
  l->weight = iso__init_default(ctx, iso_tensor_new_channels_last(ctx, ISO_F32, l->n_axes + 2, shape), fan_in);
  if (!l->no_bias) l->bias = iso__init_default(ctx, iso_tensor_new(ctx, ISO_F32, 1, &l->out), fan_in);
  iso_module *m = iso_module_new(ctx, type, l);
  if (!m) {
    iso_release(l->weight);
    iso_release(l->bias);
    return NULL;
  }
  m = iso__module_with(m, "weight", l->weight, true);
  if (!m) iso_release(l->bias);
  return m && l->bias ? iso__module_with(m, "bias", l->bias, true) : m;
}

static iso_module *make_1d(iso_context *ctx, const iso_conv1d_config *c, bool transposed) {
  if (iso__failed(ctx) || !c) return NULL;
  layer l = {.n_axes = 1,
             .transposed = transposed,
             .no_bias = c->no_bias,
             .in = c->in,
             .out = c->out,
             .groups = c->groups,
             .axis = {{.kernel = c->kernel,
                       .stride = c->stride,
                       .dilation = c->dilation,
                       .before = iso__conv_side(c->pad, c->pad_left),
                       .after = iso__conv_side(c->pad, c->pad_right),
                       .output_pad = c->output_pad}}};
  return make(ctx, &l);
}

static iso_module *make_2d(iso_context *ctx, const iso_conv2d_config *c, bool transposed) {
  if (iso__failed(ctx) || !c) return NULL;
  const int64_t pad_w = or_else(c->pad_w, c->pad);
  layer l = {.n_axes = 2,
             .transposed = transposed,
             .no_bias = c->no_bias,
             .in = c->in,
             .out = c->out,
             .groups = c->groups,
             .axis = {{.kernel = c->kernel,
                       .stride = c->stride,
                       .dilation = c->dilation,
                       .before = iso__conv_side(c->pad, c->pad_top),
                       .after = iso__conv_side(c->pad, c->pad_bottom),
                       .output_pad = c->output_pad_h},
                      {.kernel = or_else(c->kernel_w, c->kernel),
                       .stride = or_else(c->stride_w, c->stride),
                       .dilation = or_else(c->dilation_w, c->dilation),
                       .before = iso__conv_side(pad_w, c->pad_left),
                       .after = iso__conv_side(pad_w, c->pad_right),
                       .output_pad = c->output_pad_w}}};
  return make(ctx, &l);
}

static iso_module *make_3d(iso_context *ctx, const iso_conv3d_config *c, bool transposed) {
  if (iso__failed(ctx) || !c) return NULL;
  const int64_t pad_h = or_else(c->pad_h, c->pad), pad_w = or_else(c->pad_w, c->pad);
  layer l = {.n_axes = 3,
             .transposed = transposed,
             .no_bias = c->no_bias,
             .in = c->in,
             .out = c->out,
             .groups = c->groups,
             .axis = {{.kernel = c->kernel,
                       .stride = c->stride,
                       .dilation = c->dilation,
                       .before = iso__conv_side(c->pad, c->pad_front),
                       .after = iso__conv_side(c->pad, c->pad_back),
                       .output_pad = c->output_pad_d},
                      {.kernel = or_else(c->kernel_h, c->kernel),
                       .stride = or_else(c->stride_h, c->stride),
                       .dilation = or_else(c->dilation_h, c->dilation),
                       .before = iso__conv_side(pad_h, c->pad_top),
                       .after = iso__conv_side(pad_h, c->pad_bottom),
                       .output_pad = c->output_pad_h},
                      {.kernel = or_else(c->kernel_w, c->kernel),
                       .stride = or_else(c->stride_w, c->stride),
                       .dilation = or_else(c->dilation_w, c->dilation),
                       .before = iso__conv_side(pad_w, c->pad_left),
                       .after = iso__conv_side(pad_w, c->pad_right),
                       .output_pad = c->output_pad_w}}};
  return make(ctx, &l);
}

iso_module *iso_conv1d_module(iso_context *ctx, const iso_conv1d_config *config) { return make_1d(ctx, config, false); }
iso_module *iso_conv_transpose1d_module(iso_context *ctx, const iso_conv1d_config *config) {
  return make_1d(ctx, config, true);
}
iso_module *iso_conv2d_module(iso_context *ctx, const iso_conv2d_config *config) { return make_2d(ctx, config, false); }
iso_module *iso_conv_transpose2d_module(iso_context *ctx, const iso_conv2d_config *config) {
  return make_2d(ctx, config, true);
}
iso_module *iso_conv3d_module(iso_context *ctx, const iso_conv3d_config *config) { return make_3d(ctx, config, false); }
iso_module *iso_conv_transpose3d_module(iso_context *ctx, const iso_conv3d_config *config) {
  return make_3d(ctx, config, true);
}
