/* sequential.c: modules one after the other, and the residual block.
 *
 * Intermediate handles end as soon as the next module has read them: what the gradient needs lies on the tape, and
 * nothing else has to stay in memory. */
#include <stdio.h>
#include "nn/batch_norm.h"
#include "nn/layers.h"
#include "nn/module.h"

/* y = f(x); ends x unless it is the caller's. */
static iso_tensor *step(iso_tensor *y, iso_tensor *x, const iso_tensor *callers) {
  if (x != callers) iso_release(x);
  return y;
}

static iso_tensor *forward_sequence(iso_module *m, iso_tensor *x, const iso_tensor *lengths) {
  const iso_tensor *const callers = x;
  for (size_t i = 0; i < m->n_children && x; i++) {
    iso_module *child = m->children[i].module;
    const bool fuse =
        child->type->forward_relu && i + 1 < m->n_children && iso__is_relu_module(m->children[i + 1].module);
    x = step(fuse      ? iso__module_forward_relu(child, x)
             : lengths ? iso_module_forward_sequence(child, x, lengths)
                       : iso_module_forward(child, x),
             x, callers);
    i += fuse;
  }
  return x == callers && x ? iso_tensor_alias(m->ctx, x) : x;
}

static const iso_module_type sequential_type = {.name = "Sequential", .forward_sequence = forward_sequence};

iso_module *iso_sequential(iso_context *ctx, int n, iso_module *const *children) {
  iso_module *m = iso_module_new(ctx, &sequential_type, NULL);
  bool complete = m != NULL;
  for (int i = 0; i < n; i++) {
    char name[16];
    snprintf(name, sizeof name, "%d", i);
    if (!complete) iso_module_free(children[i]);
    else complete = iso_module_add_child(m, name, children[i]) != NULL;
  }
  if (complete) return m;
  iso_module_free(m);
  return NULL;
}

/* ---- residual blocks ---- */

enum { MOST_CONVOLUTIONS = 3 };
typedef struct residual_block {
  int n; /* convolutions, each with its batch norm: two of a basic block, three of a bottleneck */
  iso_module *conv[MOST_CONVOLUTIONS], *bn[MOST_CONVOLUTIONS],
      *downsample; /* children; downsample NULL: the identity */
} residual_block;

static iso_tensor *block_forward(iso_module *m, iso_tensor *x) {
  const residual_block *b = m->state;
  iso_tensor *h = x;
  for (int i = 0; i + 1 < b->n; i++) {
    iso_tensor *c = iso_module_forward(b->conv[i], h);
    if (h != x) iso_release(h);
    h = c ? iso__batch_norm_module_forward(b->bn[i], c, NULL, true) : NULL;
    iso_release(c);
  }
  iso_tensor *c = iso_module_forward(b->conv[b->n - 1], h);
  iso_release(h);
  iso_tensor *shortcut = b->downsample ? iso_module_forward(b->downsample, x) : NULL;
  iso_tensor *y = c ? iso__batch_norm_module_forward(b->bn[b->n - 1], c, b->downsample ? shortcut : x, true) : NULL;
  iso_release(c);
  iso_release(shortcut);
  return y;
}
static const iso_module_type basic_type = {.name = "BasicBlock",
                                           .state_bytes = sizeof(residual_block),
                                           .forward = block_forward},
                             bottleneck_type = {
                                 .name = "Bottleneck", .state_bytes = sizeof(residual_block), .forward = block_forward};

static iso_module *conv(iso_context *ctx, int64_t in, int64_t out, int64_t kernel, int64_t stride) {
  return iso_conv2d_module(
      ctx, &(iso_conv2d_config){
               .in = in, .out = out, .kernel = kernel, .stride = stride, .pad = kernel / 2, .no_bias = true});
}

/* One convolution of a block. */
typedef struct layer {
  int64_t out, kernel, stride;
} layer;

static iso_module *residual(iso_context *ctx, const iso_module_type *type, int64_t in, int n, const layer *layers) {
  static const char *const conv_names[] = {"conv1", "conv2", "conv3"}, *const bn_names[] = {"bn1", "bn2", "bn3"};
  iso_module *m = iso_module_new(ctx, type, NULL);
  if (!m) return NULL;
  residual_block *b = m->state;
  b->n = n;
  int64_t channels = in, stride = 1;
  for (int i = 0; i < n; i++) {
    const layer *l = &layers[i];
    b->conv[i] = iso_module_add_child(m, conv_names[i], conv(ctx, channels, l->out, l->kernel, l->stride));
    b->bn[i] = iso_module_add_child(m, bn_names[i], iso_batch_norm_module(ctx, l->out, 0, 0));
    channels = l->out, stride *= l->stride;
  }
  if (in != channels || stride != 1) {
    iso_module *const parts[] = {conv(ctx, in, channels, 1, stride), iso_batch_norm_module(ctx, channels, 0, 0)};
    b->downsample = iso_module_add_child(m, "downsample", iso_sequential(ctx, 2, parts));
  }
  if (!iso__failed(ctx)) return iso__module_mark_block(m);
  iso_module_free(m);
  return NULL;
}

iso_module *iso_basic_block(iso_context *ctx, int64_t in, int64_t out, int64_t stride) {
  return residual(ctx, &basic_type, in, 2, (const layer[]){{out, 3, stride}, {out, 3, 1}});
}
iso_module *iso_bottleneck_block(iso_context *ctx, int64_t in, int64_t width, int64_t stride) {
  return residual(ctx, &bottleneck_type, in, 3, (const layer[]){{width, 1, 1}, {width, 3, stride}, {4 * width, 1, 1}});
}
