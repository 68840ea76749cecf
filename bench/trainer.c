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

static iso_tensor *random_texts(iso_context *ctx, text_shape text, int64_t batch) {
  const iso_philox at = {.seed = 1, .stream = ISO_PHILOX_USER, .site = 2},
                   lengths = {.seed = 1, .stream = ISO_PHILOX_USER, .site = 3};
  int64_t *ids = malloc((size_t)(batch * text.length) * sizeof *ids);
  if (!ids) return NULL;
  for (int64_t b = 0; b < batch; b++) {
    const int64_t n = text.length - iso_philox_word(&lengths, (uint64_t)b) % (text.length / 2 + 1);
    for (int64_t i = 0; i < text.length; i++) {
      const int64_t k = b * text.length + i, tokens = text.vocabulary > 1 ? text.vocabulary - 1 : 1;
      ids[k] = i < n ? 1 + iso_philox_word(&at, (uint64_t)k) % tokens : 0;
    }
  }
  iso_tensor *t = iso_tensor_copy_from(ctx, ISO_I64, 2, ISO_DIMS(batch, text.length), ids);
  free(ids);
  return iso_keep(t);
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

/* x is kept already. */
static bool open_with(trainer *t, iso_context *ctx, iso_module *net, iso_tensor *x, int64_t batch) {
  *t = (trainer){.ctx = ctx, .net = net, .x = x, .labels = random_labels(ctx, batch)};
  return net && t->x && t->labels;
}
bool trainer_open(trainer *t, iso_context *ctx, iso_module *net, image_shape image, int64_t batch) {
  return open_with(t, ctx, net, random_images(ctx, image, batch), batch);
}
bool trainer_open_texts(trainer *t, iso_context *ctx, iso_module *net, text_shape text, int64_t batch) {
  return open_with(t, ctx, net, random_texts(ctx, text, batch), batch);
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
  if (iso_capture_begin(t->capture)) l = iso_keep(iso_to(t->ctx, iso_detach(t->ctx, gradients(t)), "cpu"));
  if (iso_capture_end(t->capture)) t->recorded = l;
  else iso_release(l);
  iso_scope_pop(t->ctx);
  return t->recorded != NULL;
}

/* A step's gradients as the tree over its leaves; the loss is its own tree. */
static bool leaves_backward(trainer *t, int n_leaves, double *loss) {
  const int64_t batch = iso_tensor_shape(t->x)[0];
  bool ok = iso_step_begin(t->ctx, n_leaves) == ISO_OK;
  for (int g = 0; g < n_leaves && ok; g++) {
    int64_t begin, end;
    iso_leaf_range(batch, n_leaves, g, &begin, &end);
    if (begin == end) continue;
    iso_scope_push(t->ctx);
    iso_leaf_begin(t->ctx, g);
    iso_tensor *y = iso_module_forward(t->net, iso_slice(t->ctx, t->x, 0, begin, end, 1));
    iso_tensor *l = iso_cross_entropy(t->ctx, y, iso_slice(t->ctx, t->labels, 0, begin, end, 1),
                                      &(iso_cross_entropy_options){.count = (double)batch});
    ok = iso_backward(l) == ISO_OK && iso_leaf_end(t->ctx, l) == ISO_OK;
    iso_scope_pop(t->ctx);
  }
  return ok && iso_step_end(t->ctx, loss) == ISO_OK;
}

bool trainer_weights_hash(const trainer *t, char hex[33]) {
  size_t n;
  const iso_named_tensor *list = iso_module_tensors(t->net, &n);
  char(*all)[33] = n ? malloc(n * sizeof *all) : NULL;
  bool ok = all != NULL;
  for (size_t i = 0; i < n && ok; i++) ok = iso_tensor_hash(list[i].tensor, all[i]) == ISO_OK;
  iso_scope_push(t->ctx);
  if (ok)
    ok = iso_tensor_hash(iso_tensor_copy_from(t->ctx, ISO_U8, 1, ISO_DIMS((int64_t)(n * sizeof *all)), all), hex) ==
         ISO_OK;
  iso_scope_pop(t->ctx);
  free(all);
  return ok;
}

bool trainer_step(trainer *t, double *loss) {
  const int n_leaves = iso_policy_current(t->ctx)->leaves;
  if (n_leaves > 1) return leaves_backward(t, n_leaves, loss) && iso_optimizer_step(t->sgd) == ISO_OK;
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
