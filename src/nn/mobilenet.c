/* mobilenet.c: MobileNet (Howard et al., "MobileNets: Efficient Convolutional Neural Networks for Mobile Vision
 * Applications", 2017, table 1), width 1: a 3×3 stem of stride 2, then 13 separable blocks, each a depthwise 3×3 and a
 * 1×1 convolution, relu(bn(·)) after every convolution; average over the image, linear. */
#include "nn/mobilenet.h"
#include "nn/module.h"

enum { STEM = 32, N_BLOCKS = 13 };
static const struct {
  int64_t out, stride;
} blocks[N_BLOCKS] = {{64, 1},  {128, 2}, {128, 1}, {256, 2}, {256, 1},  {512, 2}, {512, 1},
                      {512, 1}, {512, 1}, {512, 1}, {512, 1}, {1024, 2}, {1024, 1}};

/* One or two of convolution, batch norm and relu, one after the other. */
static iso_module *convolutions(iso_context *ctx, int n, const iso_conv2d_config *configs) {
  iso_module *parts[6];
  for (int i = 0; i < n; i++) {
    parts[3 * i] = iso_conv2d_module(ctx, &configs[i]);
    parts[3 * i + 1] = iso_batch_norm_module(ctx, configs[i].out, 0, 0);
    parts[3 * i + 2] = iso_relu_module(ctx);
  }
  return iso_sequential(ctx, 3 * n, parts);
}

static iso_module *separable(iso_context *ctx, int64_t in, int64_t out, int64_t stride) {
  const iso_conv2d_config configs[] = {
      {.in = in, .out = in, .kernel = 3, .stride = stride, .pad = 1, .groups = in, .no_bias = true},
      {.in = in, .out = out, .kernel = 1, .no_bias = true}};
  return iso__module_mark_block(convolutions(ctx, 2, configs));
}

iso_module *iso__mobilenet(iso_context *ctx, const iso_model_config *c) {
  iso_module *parts[N_BLOCKS + 3];
  int n = 0;
  const iso_conv2d_config stem = {.in = c->channels, .out = STEM, .kernel = 3, .stride = 2, .pad = 1, .no_bias = true};
  parts[n++] = convolutions(ctx, 1, &stem);
  int64_t in = STEM;
  for (int i = 0; i < N_BLOCKS; in = blocks[i++].out) parts[n++] = separable(ctx, in, blocks[i].out, blocks[i].stride);
  parts[n++] = iso_global_avg_pool_module(ctx);
  parts[n++] = iso_linear_module(ctx, in, c->classes, true);
  return iso_sequential(ctx, n, parts);
}
