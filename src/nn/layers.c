/* layers.c: layers without parameters: activations, pooling, flattening, dropout. */
#include <stdio.h>
#include "nn/layers.h"
#include "nn/module.h"

/* ---- activations ---- */

static iso_tensor *relu(iso_module *m, iso_tensor *x) { return iso_relu(m->ctx, x); }
static iso_tensor *gelu(iso_module *m, iso_tensor *x) { return iso_gelu(m->ctx, x); }
static iso_tensor *silu(iso_module *m, iso_tensor *x) { return iso_silu(m->ctx, x); }
static iso_tensor *tanh_of(iso_module *m, iso_tensor *x) { return iso_tanh(m->ctx, x); }
static iso_tensor *sigmoid(iso_module *m, iso_tensor *x) { return iso_sigmoid(m->ctx, x); }

static const iso_module_type relu_type = {.name = "ReLU", .forward = relu};
static const iso_module_type gelu_type = {.name = "GELU", .forward = gelu};
static const iso_module_type silu_type = {.name = "SiLU", .forward = silu};
static const iso_module_type tanh_type = {.name = "Tanh", .forward = tanh_of};
static const iso_module_type sigmoid_type = {.name = "Sigmoid", .forward = sigmoid};

iso_module *iso_relu_module(iso_context *ctx) { return iso_module_new(ctx, &relu_type, NULL); }
iso_module *iso_gelu_module(iso_context *ctx) { return iso_module_new(ctx, &gelu_type, NULL); }
iso_module *iso_silu_module(iso_context *ctx) { return iso_module_new(ctx, &silu_type, NULL); }
iso_module *iso_tanh_module(iso_context *ctx) { return iso_module_new(ctx, &tanh_type, NULL); }
iso_module *iso_sigmoid_module(iso_context *ctx) { return iso_module_new(ctx, &sigmoid_type, NULL); }

bool iso__is_relu_module(const iso_module *m) { return m->type == &relu_type; }

/* ---- pooling ---- */

static iso_tensor *max_pool(iso_module *m, iso_tensor *x) { return iso_max_pool2d(m->ctx, x, m->state); }
static iso_tensor *avg_pool(iso_module *m, iso_tensor *x) { return iso_avg_pool2d(m->ctx, x, m->state); }
static iso_tensor *global_avg_pool(iso_module *m, iso_tensor *x) {
  iso_tensor *pooled = iso_global_avg_pool2d(m->ctx, x);
  iso_tensor *y = pooled ? iso_reshape(m->ctx, pooled, 2, iso_tensor_shape(pooled)) : NULL;
  iso_release(pooled);
  return y;
}
static int describe_pool(const iso_module *m, char *text, size_t n_bytes) {
  const iso_pool2d_options *o = m->state;
  return snprintf(text, n_bytes, "(kernel %lld, stride %lld, pad %lld)", (long long)o->kernel_h,
                  (long long)(o->stride_h ? o->stride_h : o->kernel_h), (long long)o->pad_h);
}
static const iso_module_type max_pool_type = {
    .name = "MaxPool2d", .state_bytes = sizeof(iso_pool2d_options), .forward = max_pool, .describe = describe_pool};
static const iso_module_type avg_pool_type = {
    .name = "AvgPool2d", .state_bytes = sizeof(iso_pool2d_options), .forward = avg_pool, .describe = describe_pool};
static const iso_module_type global_avg_pool_type = {.name = "GlobalAvgPool", .forward = global_avg_pool};

static iso_module *pool_new(iso_context *ctx, const iso_module_type *type, int64_t kernel, int64_t stride,
                            int64_t pad) {
  const iso_pool2d_options o = {
      .kernel_h = kernel, .kernel_w = kernel, .stride_h = stride, .stride_w = stride, .pad_h = pad, .pad_w = pad};
  return iso_module_new(ctx, type, &o);
}
iso_module *iso_max_pool2d_module(iso_context *ctx, int64_t kernel, int64_t stride, int64_t pad) {
  return pool_new(ctx, &max_pool_type, kernel, stride, pad);
}
iso_module *iso_avg_pool2d_module(iso_context *ctx, int64_t kernel, int64_t stride, int64_t pad) {
  return pool_new(ctx, &avg_pool_type, kernel, stride, pad);
}
iso_module *iso_global_avg_pool_module(iso_context *ctx) { return iso_module_new(ctx, &global_avg_pool_type, NULL); }

/* ---- the rest ---- */

static iso_tensor *flatten(iso_module *m, iso_tensor *x) {
  if (iso_tensor_n_dims(x) > 1) return iso_flatten(m->ctx, x, 1, -1);
  return iso_tensor_n_dims(x) == 1 ? iso_unsqueeze(m->ctx, x, 1) : iso_flatten(m->ctx, x, 0, -1);
}
static const iso_module_type flatten_type = {.name = "Flatten", .forward = flatten};
iso_module *iso_flatten_module(iso_context *ctx) { return iso_module_new(ctx, &flatten_type, NULL); }

static iso_tensor *dropout(iso_module *m, iso_tensor *x) {
  return iso_dropout(m->ctx, x, *(const double *)m->state, m->training);
}
static int describe_dropout(const iso_module *m, char *text, size_t n_bytes) {
  return snprintf(text, n_bytes, "(p %g)", *(const double *)m->state);
}
static const iso_module_type dropout_type = {
    .name = "Dropout", .state_bytes = sizeof(double), .forward = dropout, .describe = describe_dropout};
iso_module *iso_dropout_module(iso_context *ctx, double p) { return iso_module_new(ctx, &dropout_type, &p); }
