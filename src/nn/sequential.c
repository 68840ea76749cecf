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

static iso_tensor *forward(iso_module *m, iso_tensor *x) {
  const iso_tensor *const callers = x;
  for (size_t i = 0; i < m->n_children && x; i++) {
    iso_module *child = m->children[i].module;
    const bool fuse =
        child->type->forward_relu && i + 1 < m->n_children && iso__is_relu_module(m->children[i + 1].module);
    x = step(fuse ? child->type->forward_relu(child, x) : iso_module_forward(child, x), x, callers);
    i += fuse;
  }
  return x == callers && x ? iso_tensor_alias(m->ctx, x) : x;
}

static const iso_module_type sequential_type = {.name = "Sequential", .forward = forward};

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

/* ---- basic block ---- */

typedef struct basic_block {
  iso_module *conv1, *bn1, *conv2, *bn2, *downsample; /* children; downsample NULL: the identity */
} basic_block;

static iso_tensor *block_forward(iso_module *m, iso_tensor *x) {
  const basic_block *b = m->state;
  iso_tensor *a = iso_module_forward(b->conv1, x);
  iso_tensor *h = a ? iso__batch_norm_module_forward(b->bn1, a, NULL, true) : NULL;
  iso_release(a);
  iso_tensor *c = iso_module_forward(b->conv2, h);
  iso_release(h);
  iso_tensor *shortcut = b->downsample ? iso_module_forward(b->downsample, x) : NULL;
  iso_tensor *y = c ? iso__batch_norm_module_forward(b->bn2, c, b->downsample ? shortcut : x, true) : NULL;
  iso_release(c);
  iso_release(shortcut);
  return y;
}
static const iso_module_type block_type = {
    .name = "BasicBlock", .state_bytes = sizeof(basic_block), .forward = block_forward};

static iso_module *conv(iso_context *ctx, int64_t in, int64_t out, int64_t kernel, int64_t stride) {
  return iso_conv2d_module(
      ctx, &(iso_conv2d_config){
               .in = in, .out = out, .kernel = kernel, .stride = stride, .pad = kernel / 2, .no_bias = true});
}

iso_module *iso_basic_block(iso_context *ctx, int64_t in, int64_t out, int64_t stride) {
  iso_module *m = iso_module_new(ctx, &block_type, NULL);
  if (!m) return NULL;
  basic_block *b = m->state;
  b->conv1 = iso_module_add_child(m, "conv1", conv(ctx, in, out, 3, stride));
  b->bn1 = iso_module_add_child(m, "bn1", iso_batch_norm_module(ctx, out, 0, 0));
  b->conv2 = iso_module_add_child(m, "conv2", conv(ctx, out, out, 3, 1));
  b->bn2 = iso_module_add_child(m, "bn2", iso_batch_norm_module(ctx, out, 0, 0));
  if (in != out || stride != 1) {
    iso_module *const parts[] = {conv(ctx, in, out, 1, stride), iso_batch_norm_module(ctx, out, 0, 0)};
    b->downsample = iso_module_add_child(m, "downsample", iso_sequential(ctx, 2, parts));
  }
  if (!iso__failed(ctx)) return m;
  iso_module_free(m);
  return NULL;
}
