/* models.c: models by name, as their papers and PyTorch's examples define them. ResNets are the CIFAR kind: a 3×3 stem
 * without pooling (He et al., "Deep Residual Learning", 2015). */
#include <stdio.h>
#include <string.h>
#include "nn/module.h"

/* Layers are made by statements, since C leaves the order inside an initialiser open and weights depend on it. */
static iso_module *mlp(iso_context *ctx, const iso_model_config *c) {
  iso_module *parts[6];
  parts[0] = iso_flatten_module(ctx);
  parts[1] = iso_linear_module(ctx, c->channels * c->height * c->width, 256, true);
  parts[2] = iso_relu_module(ctx);
  parts[3] = iso_linear_module(ctx, 256, 128, true);
  parts[4] = iso_relu_module(ctx);
  parts[5] = iso_linear_module(ctx, 128, c->classes, true);
  return iso_sequential(ctx, 6, parts);
}

static iso_module *conv3x3(iso_context *ctx, int64_t in, int64_t out) {
  return iso_conv2d_module(ctx, &(iso_conv2d_config){.in = in, .out = out, .kernel = 3, .pad = 1});
}

static iso_module *cnn(iso_context *ctx, const iso_model_config *c) {
  iso_module *parts[10];
  parts[0] = conv3x3(ctx, c->channels, 32);
  parts[1] = iso_relu_module(ctx);
  parts[2] = iso_max_pool2d_module(ctx, 2, 2);
  parts[3] = conv3x3(ctx, 32, 64);
  parts[4] = iso_relu_module(ctx);
  parts[5] = iso_max_pool2d_module(ctx, 2, 2);
  parts[6] = iso_flatten_module(ctx);
  parts[7] = iso_linear_module(ctx, 64 * (c->height / 4) * (c->width / 4), 128, true);
  parts[8] = iso_relu_module(ctx);
  parts[9] = iso_linear_module(ctx, 128, c->classes, true);
  return iso_sequential(ctx, 10, parts);
}

/* ---- ResNets: named children, so that parameters have torchvision's names ---- */

/* Adds each child under its name; NULL and everything freed if one is missing. */
static iso_module *with_children(iso_context *ctx, const iso_module_type *type, int n, const char *const *names,
                                 iso_module *const *children) {
  iso_module *m = iso_module_new(ctx, type, NULL);
  bool complete = m != NULL;
  for (int i = 0; i < n; i++) {
    if (!complete) iso_module_free(children[i]);
    else complete = iso_module_add_child(m, names[i], children[i]) != NULL;
  }
  if (complete) return m;
  iso_module_free(m);
  return NULL;
}

/* Children in order: conv1, bn1 (with relu), stages, avgpool, fc. */
static iso_tensor *resnet_forward(iso_module *m, iso_tensor *x) {
  const iso_tensor *const callers = x;
  for (size_t i = 0; i < m->n_children && x; i++) {
    iso_module *child = m->children[i].module;
    iso_tensor *y =
        child->type->forward_relu && i == 1 ? child->type->forward_relu(child, x) : iso_module_forward(child, x);
    if (x != callers) iso_release(x);
    x = y;
  }
  return x;
}
static const iso_module_type resnet_type = {.name = "ResNet", .forward = resnet_forward};

static iso_module *stage(iso_context *ctx, int n_blocks, int64_t in, int64_t out, int64_t stride) {
  iso_module *blocks[4];
  for (int i = 0; i < n_blocks; i++) blocks[i] = iso_basic_block(ctx, i ? out : in, out, i ? 1 : stride);
  return iso_sequential(ctx, n_blocks, blocks);
}

static iso_module *resnet(iso_context *ctx, const iso_model_config *c, int n_stages, int n_blocks, int64_t width) {
  const char *names[8] = {"conv1", "bn1"};
  static const char *const stage_names[] = {"layer1", "layer2", "layer3", "layer4"};
  iso_module *children[8];
  int n = 0;
  children[n++] = iso_conv2d_module(
      ctx, &(iso_conv2d_config){.in = c->channels, .out = width, .kernel = 3, .pad = 1, .no_bias = true});
  children[n++] = iso_batch_norm_module(ctx, width, 0, 0);
  int64_t in = width, out = width;
  for (int s = 0; s < n_stages; s++, in = out, out *= 2) {
    names[n] = stage_names[s];
    children[n++] = stage(ctx, n_blocks, in, out, s ? 2 : 1);
  }
  names[n] = "avgpool";
  children[n++] = iso_global_avg_pool_module(ctx);
  names[n] = "fc";
  children[n++] = iso_linear_module(ctx, in, c->classes, true);
  return with_children(ctx, &resnet_type, n, names, children);
}

static iso_module *resnet8(iso_context *ctx, const iso_model_config *c) { return resnet(ctx, c, 3, 1, 16); }
static iso_module *resnet18(iso_context *ctx, const iso_model_config *c) { return resnet(ctx, c, 4, 2, 64); }

/* ---- by name ---- */

static const struct {
  const char *name;
  iso_module *(*make)(iso_context *ctx, const iso_model_config *config);
} models[] = {{"mlp", mlp}, {"cnn", cnn}, {"resnet8", resnet8}, {"resnet18", resnet18}};
static const char *const names[] = {"mlp", "cnn", "resnet8", "resnet18", NULL};

const char *const *iso_model_names(void) { return names; }

iso_module *iso_model_new(iso_context *ctx, const char *name, const iso_model_config *config) {
  if (iso__failed(ctx)) return NULL;
  iso_model_config c = config ? *config : (iso_model_config){0};
  if (c.channels == 0) c.channels = 1;
  if (c.height == 0) c.height = 28;
  if (c.width == 0) c.width = 28;
  if (c.classes == 0) c.classes = 10;
  if (c.channels < 1 || c.height < 4 || c.width < 4 || c.classes < 1) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "iso_model_new",
              "channels %lld, height %lld, width %lld, classes %lld: at least 1, 4, 4 and 1 are needed",
              (long long)c.channels, (long long)c.height, (long long)c.width, (long long)c.classes);
    return NULL;
  }
  for (size_t i = 0; i < sizeof models / sizeof *models; i++)
    if (name && strcmp(models[i].name, name) == 0) return models[i].make(ctx, &c);
  ISO__FAIL(ctx, ISO_NOT_FOUND, "iso_model_new", "there is no model '%s': mlp, cnn, resnet8, resnet18 are known",
            name ? name : "");
  return NULL;
}
