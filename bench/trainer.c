/* trainer.c: the step that both sides of a comparison take. */
#include "trainer.h"
#include <stdio.h>
#include <stdlib.h>

iso_context *bench_context(const char *policy, int n_threads, char *message, size_t n_bytes) {
  iso_policy p;
  iso_context *ctx = NULL;
  if (iso_policy_preset(policy, &p) != ISO_OK) {
    snprintf(message, n_bytes, "policy %s: no such preset", policy);
    return NULL;
  }
  iso_context_new_message(&(iso_context_options){.n_threads = n_threads, .policy = &p}, &ctx, message, n_bytes);
  return ctx;
}

static iso_tensor *random_images(iso_context *ctx, image_shape image, int64_t batch) {
  iso_tensor *x = iso_tensor_new_channels_last(ctx, ISO_F32, 4,
                                               (const int64_t[4]){batch, image.channels, image.height, image.width});
  iso_fill_normal(x, &(iso_philox){.seed = 1, .stream = ISO_PHILOX_USER, .site = 0}, 0, 1);
  return iso_keep(x);
}

static iso_tensor *random_labels(iso_context *ctx, int64_t batch) {
  const iso_philox at = {.seed = 1, .stream = ISO_PHILOX_USER, .site = 1};
  int64_t *labels = malloc((size_t)batch * sizeof *labels);
  if (!labels) return NULL;
  for (int64_t i = 0; i < batch; i++) labels[i] = iso_philox_word(&at, (uint64_t)i) % N_CLASSES;
  iso_tensor *t = iso_tensor_copy_from(ctx, ISO_I64, 1, ISO_DIMS(batch), labels);
  free(labels);
  return iso_keep(t);
}

bool trainer_open(trainer *t, iso_context *ctx, iso_module *net, image_shape image, int64_t batch) {
  *t = (trainer){.ctx = ctx, .net = net};
  iso_scope_push(ctx);
  t->x = random_images(ctx, image, batch);
  t->labels = random_labels(ctx, batch);
  iso_scope_pop(ctx);
  return net && t->x && t->labels;
}

bool trainer_add_optimizer(trainer *t) {
  size_t n;
  const iso_named_tensor *tensors = iso_module_tensors(t->net, &n);
  t->sgd = iso_sgd_new(t->ctx, n, tensors, &(iso_sgd_options){.lr = 0.05, .momentum = 0.9, .weight_decay = 5e-4});
  return t->sgd != NULL;
}

/* The loss, in the current scope. */
static iso_tensor *gradients(trainer *t) {
  iso_tensor *l = iso_cross_entropy(t->ctx, iso_module_forward(t->net, t->x), t->labels, NULL);
  return iso_backward(l) == ISO_OK ? l : NULL;
}

bool trainer_record(trainer *t) {
  if (!t->capture && !(t->capture = iso_capture_new(t->ctx))) return false;
  iso_scope_push(t->ctx);
  iso_optimizer_zero_grad(t->sgd);
  iso_tensor *l = NULL;
  if (iso_capture_begin(t->capture)) l = iso_keep(gradients(t));
  if (iso_capture_end(t->capture)) t->recorded = l;
  else iso_release(l);
  iso_scope_pop(t->ctx);
  return t->recorded != NULL;
}

bool trainer_step(trainer *t, double *loss) {
  iso_scope_push(t->ctx);
  iso_optimizer_zero_grad(t->sgd);
  iso_tensor *l = t->recorded;
  bool ok = l ? iso_capture_replay(t->capture) == ISO_OK : (l = gradients(t)) != NULL;
  ok = ok && iso_optimizer_step(t->sgd) == ISO_OK;
  if (ok && loss) ok = iso_tensor_item(l, loss) == ISO_OK;
  iso_scope_pop(t->ctx);
  return ok;
}

void trainer_close(trainer *t) {
  iso_release(t->recorded);
  iso_capture_free(t->capture);
  iso_optimizer_free(t->sgd);
  iso_module_free(t->net);
  iso_release(t->x);
  iso_release(t->labels);
  *t = (trainer){0};
}

iso_module *bench_small_mlp(iso_context *ctx) {
  return iso_sequential(ctx, 4,
                        (iso_module *[]){iso_flatten_module(ctx), iso_linear_module(ctx, 784, 32, true),
                                         iso_relu_module(ctx), iso_linear_module(ctx, 32, N_CLASSES, true)});
}

bool bench_touch_code(iso_context *ctx) {
  iso_module *toy = iso_sequential(
      ctx, 8,
      (iso_module *[]){iso_conv2d_module(ctx, &(iso_conv2d_config){.in = 1, .out = 4, .kernel = 3, .pad = 1}),
                       iso_batch_norm_module(ctx, 4, 0, 0), iso_relu_module(ctx), iso_max_pool2d_module(ctx, 2, 2, 0),
                       iso_basic_block(ctx, 4, 8, 2), iso_global_avg_pool_module(ctx), iso_flatten_module(ctx),
                       iso_linear_module(ctx, 8, N_CLASSES, true)});
  trainer t;
  const bool ok =
      trainer_open(&t, ctx, toy, (image_shape){1, 8, 8}, 1) && trainer_add_optimizer(&t) && trainer_step(&t, NULL);
  trainer_close(&t);
  return ok;
}
