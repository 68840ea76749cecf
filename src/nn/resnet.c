/* resnet.c: residual networks (He et al., "Deep Residual Learning", 2015) with torchvision's names of parameters. */
#include "nn/resnet.h"
#include "nn/module.h"

/* Children in order: conv1, bn1 (with relu), maybe maxpool, stages, avgpool, fc. */
static iso_tensor *resnet_forward(iso_module *m, iso_tensor *x) {
  const iso_tensor *const callers = x;
  for (size_t i = 0; i < m->n_children && x; i++) {
    iso_module *child = m->children[i].module;
    iso_tensor *y =
        child->type->forward_relu && i == 1 ? iso__module_forward_relu(child, x) : iso_module_forward(child, x);
    if (x != callers) iso_release(x);
    x = y;
  }
  return x;
}
static const iso_module_type resnet_type = {.name = "ResNet", .forward = resnet_forward};

/* Stages of residual blocks, each stage twice as wide as the one before and half as large. */
typedef struct resnet_shape {
  int n_stages, n_blocks[4];
  int64_t width;
  bool large_stem; /* 7×7, stride 2, then pooled; else 3×3 */
  bool bottlenecks;
} resnet_shape;

enum { MOST_BLOCKS = 6 };

/* *channels: of what goes in, then of what comes out. */
static iso_module *stage(iso_context *ctx, const resnet_shape *shape, int s, int64_t *channels) {
  iso_module *blocks[MOST_BLOCKS];
  const int64_t width = shape->width << s;
  for (int i = 0; i < shape->n_blocks[s]; i++) {
    const int64_t stride = s && !i ? 2 : 1;
    blocks[i] = (shape->bottlenecks ? iso_bottleneck_block : iso_basic_block)(ctx, *channels, width, stride);
    *channels = shape->bottlenecks ? 4 * width : width;
  }
  return iso_sequential(ctx, shape->n_blocks[s], blocks);
}

static iso_module *resnet(iso_context *ctx, const iso_model_config *c, resnet_shape shape) {
  const char *names[9] = {"conv1", "bn1"};
  static const char *const stage_names[] = {"layer1", "layer2", "layer3", "layer4"};
  iso_module *children[9];
  int n = 0;
  const iso_conv2d_config small = {.in = c->channels, .out = shape.width, .kernel = 3, .pad = 1, .no_bias = true},
                          large = {.in = c->channels,
                                   .out = shape.width,
                                   .kernel = 7,
                                   .stride = 2,
                                   .pad = 3,
                                   .no_bias = true};
  children[n++] = iso_conv2d_module(ctx, shape.large_stem ? &large : &small);
  children[n++] = iso_batch_norm_module(ctx, shape.width, 0, 0);
  if (shape.large_stem) names[n] = "maxpool", children[n++] = iso_max_pool2d_module(ctx, 3, 2, 1);
  int64_t channels = shape.width;
  for (int s = 0; s < shape.n_stages; s++) {
    names[n] = stage_names[s];
    children[n++] = stage(ctx, &shape, s, &channels);
  }
  names[n] = "avgpool";
  children[n++] = iso_global_avg_pool_module(ctx);
  names[n] = "fc";
  children[n++] = iso_linear_module(ctx, channels, c->classes, true);
  return iso__module_with_children(ctx, &resnet_type, n, names, children);
}

iso_module *iso__resnet8(iso_context *ctx, const iso_model_config *c) {
  return resnet(ctx, c, (resnet_shape){.n_stages = 3, .n_blocks = {1, 1, 1}, .width = 16});
}
iso_module *iso__resnet18(iso_context *ctx, const iso_model_config *c) {
  return resnet(ctx, c, (resnet_shape){.n_stages = 4, .n_blocks = {2, 2, 2, 2}, .width = 64});
}
iso_module *iso__resnet18_imagenet(iso_context *ctx, const iso_model_config *c) {
  return resnet(ctx, c, (resnet_shape){.n_stages = 4, .n_blocks = {2, 2, 2, 2}, .width = 64, .large_stem = true});
}
iso_module *iso__resnet50(iso_context *ctx, const iso_model_config *c) {
  return resnet(
      ctx, c,
      (resnet_shape){.n_stages = 4, .n_blocks = {3, 4, 6, 3}, .width = 64, .large_stem = true, .bottlenecks = true});
}
