/* models.c: models by name, as their papers and PyTorch's examples define them. */
#include <stdio.h>
#include <string.h>
#include "nn/mobilenet.h"
#include "nn/module.h"
#include "nn/resnet.h"

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
  parts[2] = iso_max_pool2d_module(ctx, 2, 2, 0);
  parts[3] = conv3x3(ctx, 32, 64);
  parts[4] = iso_relu_module(ctx);
  parts[5] = iso_max_pool2d_module(ctx, 2, 2, 0);
  parts[6] = iso_flatten_module(ctx);
  parts[7] = iso_linear_module(ctx, 64 * (c->height / 4) * (c->width / 4), 128, true);
  parts[8] = iso_relu_module(ctx);
  parts[9] = iso_linear_module(ctx, 128, c->classes, true);
  return iso_sequential(ctx, 10, parts);
}

/* ---- by name ---- */

static const struct {
  const char *name;
  iso_module *(*make)(iso_context *ctx, const iso_model_config *config);
} models[] = {{"mlp", mlp},
              {"cnn", cnn},
              {"resnet8", iso__resnet8},
              {"resnet18", iso__resnet18},
              {"resnet18_imagenet", iso__resnet18_imagenet},
              {"resnet50", iso__resnet50},
              {"mobilenet", iso__mobilenet}};
static const char *const names[] = {"mlp",      "cnn",       "resnet8", "resnet18", "resnet18_imagenet",
                                    "resnet50", "mobilenet", NULL};

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
  char known[160] = "";
  for (size_t i = 0, at = 0; names[i] && at < sizeof known; i++)
    at += (size_t)snprintf(known + at, sizeof known - at, "%s%s", i ? ", " : "", names[i]);
  ISO__FAIL(ctx, ISO_NOT_FOUND, "iso_model_new", "there is no model '%s': %s are known", name ? name : "", known);
  return NULL;
}
