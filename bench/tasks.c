/* tasks.c: a task is one operator, a gradient or an optimiser's step on fixed inputs that lie on the context's device
 * (ISOBIT_DEVICE), as a user calls it. A slice is runs back to back with one wait at the end: what a device does
 * while the host goes ahead, and what the host can't keep up with. The shapes are those of gpu_cells.py. */
#include "tasks.h"
#include <stdlib.h>
#include <string.h>
#include "clock.h"
#include "median.h"

typedef struct task_kind {
  const char *name;
  bool (*make)(task *t); /* inputs, and what is recorded; false with the context's error set */
  bool (*run)(task *t);
} task_kind;

/* ---- inputs ---- */

enum { ROWS = 65536, WIDTH = 768, M1 = 1 << 20, M4 = 1 << 22, N_TOKENS = 16384 };

static iso_tensor *normal(iso_context *ctx, int n_dims, const int64_t *shape) {
  return iso_random_normal(ctx, ISO_F32, n_dims, shape, 0, 1);
}

/* n places below `below`; one_bin: every second is the same one. */
static iso_tensor *places(iso_context *ctx, int64_t n, int64_t below, bool one_bin) {
  const iso_philox at = {.seed = 1, .stream = ISO_PHILOX_USER, .site = 2};
  int64_t *index = malloc((size_t)n * sizeof *index);
  if (!index) return NULL;
  for (int64_t i = 0; i < n; i++) index[i] = one_bin && i % 2 ? below / 2 : iso_philox_word(&at, (uint64_t)i) % below;
  iso_tensor *t = iso_tensor_copy_from(ctx, ISO_I64, 1, &n, index);
  free(index);
  return t;
}

/* Records y with gradients for the first n inputs; dy is ones that lie as y does, images channels-last. */
static bool record(task *t, int n, iso_tensor *(*forward)(task *t)) {
  for (int i = 0; i < n; i++) iso_requires_grad(t->in[i], true);
  t->y = forward(t);
  if (!t->y) return false;
  const int n_dims = iso_tensor_n_dims(t->y);
  iso_tensor *ones = iso_tensor_full(t->ctx, ISO_F32, n_dims, iso_tensor_shape(t->y), 1);
  t->dy = n_dims == 4 ? iso_channels_last(t->ctx, ones) : ones;
  return t->dy != NULL;
}
static bool gradients(task *t, int n) {
  const iso_tensor *y = t->y, *dy = t->dy, *in[6];
  iso_tensor *grads[6];
  for (int i = 0; i < n; i++) in[i] = t->in[i];
  return iso_grad_of(1, &y, &dy, n, in, &(iso_backward_options){.retain_graph = true}, grads) == ISO_OK;
}
static bool one_gradient(task *t) { return gradients(t, 1); }
static bool three_gradients(task *t) { return gradients(t, 3); }

/* ---- sums into places ---- */

static bool make_scatter(task *t, bool one_bin) {
  t->in[0] = normal(t->ctx, 1, ISO_DIMS(M1)), t->in[1] = places(t->ctx, M4, M1, one_bin);
  t->in[2] = normal(t->ctx, 1, ISO_DIMS(M4));
  return t->in[0] && t->in[1] && t->in[2];
}
static bool make_spread(task *t) { return make_scatter(t, false); }
static bool make_one_bin(task *t) { return make_scatter(t, true); }
static bool scatter_add(task *t) { return iso_scatter_add(t->ctx, t->in[0], 0, t->in[1], t->in[2]) != NULL; }

static bool make_index_add(task *t) {
  t->in[0] = normal(t->ctx, 2, ISO_DIMS(4096, WIDTH)), t->in[1] = places(t->ctx, N_TOKENS, 4096, false);
  t->in[2] = normal(t->ctx, 2, ISO_DIMS(N_TOKENS, WIDTH));
  return t->in[0] && t->in[1] && t->in[2];
}
static bool index_add(task *t) { return iso_index_add(t->ctx, t->in[0], 0, t->in[1], t->in[2], 1) != NULL; }

static iso_tensor *embed(task *t) { return iso_embedding(t->ctx, t->in[1], t->in[0], NULL); }
static bool make_embedding(task *t) {
  t->in[0] = normal(t->ctx, 2, ISO_DIMS(30522, WIDTH)), t->in[1] = places(t->ctx, N_TOKENS, 30522, false);
  return t->in[0] && t->in[1] && record(t, 1, embed);
}

static iso_tensor *enlarge(task *t) {
  return iso_interpolate(t->ctx, t->in[0],
                         &(iso_interpolate_options){.mode = ISO_INTERPOLATE_LINEAR, .scale_h = 2, .scale_w = 2});
}
static bool make_bilinear(task *t) {
  iso_tensor *x = normal(t->ctx, 4, ISO_DIMS(16, 64, 64, 64));
  t->in[0] = x ? iso_channels_last(t->ctx, x) : NULL;
  return t->in[0] && record(t, 1, enlarge);
}

/* ---- what moves memory ---- */

static bool make_rows(task *t) {
  for (int i = 0; i < 2; i++)
    if (!(t->in[i] = normal(t->ctx, 2, ISO_DIMS(ROWS, WIDTH)))) return false;
  return true;
}
static bool add(task *t) { return iso_add(t->ctx, t->in[0], t->in[1]) != NULL; }
static bool relu(task *t) { return iso_relu(t->ctx, t->in[0]) != NULL; }
static bool gelu(task *t) { return iso_gelu(t->ctx, t->in[0]) != NULL; }
static bool exponential(task *t) { return iso_exp(t->ctx, t->in[0]) != NULL; }
static bool sum_rows(task *t) { return iso_sum(t->ctx, t->in[0], 1, (const int[]){1}, false) != NULL; }
static bool sum_columns(task *t) { return iso_sum(t->ctx, t->in[0], 1, (const int[]){0}, false) != NULL; }

static iso_tensor *softmax_of(task *t) { return iso_softmax(t->ctx, t->in[0], 1); }
static bool softmax(task *t) { return softmax_of(t) != NULL; }
static bool make_softmax_gradient(task *t) { return make_rows(t) && record(t, 1, softmax_of); }

static bool make_layer_norm(task *t) {
  t->in[0] = normal(t->ctx, 2, ISO_DIMS(ROWS, WIDTH));
  for (int i = 1; i < 3; i++) t->in[i] = normal(t->ctx, 1, ISO_DIMS(WIDTH));
  return t->in[0] && t->in[1] && t->in[2];
}
static iso_tensor *layer_norm_of(task *t) { return iso_layer_norm(t->ctx, t->in[0], 1, t->in[1], t->in[2], 0); }
static bool layer_norm(task *t) { return layer_norm_of(t) != NULL; }

static bool make_batch_norm(task *t) {
  iso_tensor *x = normal(t->ctx, 4, ISO_DIMS(64, 256, 56, 56));
  t->in[0] = x ? iso_channels_last(t->ctx, x) : NULL;
  for (int i = 1; i < 4; i++) t->in[i] = normal(t->ctx, 1, ISO_DIMS(256));
  t->in[4] = iso_tensor_full(t->ctx, ISO_F32, 1, ISO_DIMS(256), 1);
  return t->in[0] && t->in[1] && t->in[2] && t->in[3] && t->in[4];
}
static iso_tensor *batch_norm_of(task *t) {
  return iso_batch_norm(t->ctx, t->in[0], t->in[1], t->in[2], t->in[3], t->in[4],
                        &(iso_batch_norm_options){.training = true});
}
static bool batch_norm(task *t) { return batch_norm_of(t) != NULL; }
static bool make_batch_norm_gradient(task *t) { return make_batch_norm(t) && record(t, 3, batch_norm_of); }

/* ---- optimisers: 160 tensors, 25 M parameters, the matrices and vectors of a small transformer ---- */

enum { N_PARAMETERS = 160 };

static iso_tensor *parameter(iso_context *ctx, int i) {
  if (i == 0) return normal(ctx, 2, ISO_DIMS(1692, WIDTH));
  if (i <= 40) return normal(ctx, 2, ISO_DIMS(WIDTH, WIDTH));
  return normal(ctx, 1, i <= 120 ? ISO_DIMS(WIDTH) : ISO_DIMS(2 * WIDTH));
}
static bool make_parameters(task *t, iso_named_tensor *list) {
  for (int i = 0; i < N_PARAMETERS; i++) {
    iso_tensor *p = parameter(t->ctx, i), *grad = parameter(t->ctx, i);
    if (!p || !grad) return false;
    iso_requires_grad(p, true);
    if (iso_grad_set(p, grad) != ISO_OK) return false;
    list[i] = (iso_named_tensor){.name = "p", .tensor = p, .trainable = true};
  }
  return true;
}
static bool make_sgd(task *t) {
  iso_named_tensor list[N_PARAMETERS];
  const iso_sgd_options options = {.lr = 1e-3, .momentum = 0.9, .weight_decay = 5e-4};
  return make_parameters(t, list) && (t->optimizer = iso_sgd_new(t->ctx, N_PARAMETERS, list, &options));
}
static bool make_adamw(task *t) {
  iso_named_tensor list[N_PARAMETERS];
  const iso_adam_options options = {.weight_decay = 0.01, .decoupled = true};
  return make_parameters(t, list) && (t->optimizer = iso_adam_new(t->ctx, N_PARAMETERS, list, &options));
}
static bool step(task *t) { return iso_optimizer_step(t->optimizer) == ISO_OK; }

/* ---- a small model: token ids (4,64) -> embedding -> mean -> linear ---- */

static bool make_classifier(task *t) {
  iso_tensor *ids = places(t->ctx, 256, 10000, false);
  t->in[0] = ids ? iso_reshape(t->ctx, ids, 2, ISO_DIMS(4, 64)) : NULL;
  t->in[1] = normal(t->ctx, 2, ISO_DIMS(10000, 128)), t->in[2] = normal(t->ctx, 2, ISO_DIMS(10, 128));
  t->in[3] = normal(t->ctx, 1, ISO_DIMS(10));
  return t->in[0] && t->in[1] && t->in[2] && t->in[3];
}
static bool classify(task *t) {
  const iso_tensor *e = iso_embedding(t->ctx, t->in[0], t->in[1], NULL);
  const iso_tensor *mean = e ? iso_mean(t->ctx, e, 1, (const int[]){1}, false) : NULL;
  return mean && iso_linear(t->ctx, mean, t->in[2], t->in[3], false);
}

static const task_kind kinds[] = {{"scatter_add", make_spread, scatter_add},
                                  {"scatter_add_one_bin", make_one_bin, scatter_add},
                                  {"index_add", make_index_add, index_add},
                                  {"embedding_gradient", make_embedding, one_gradient},
                                  {"bilinear_gradient", make_bilinear, one_gradient},
                                  {"add", make_rows, add},
                                  {"relu", make_rows, relu},
                                  {"gelu", make_rows, gelu},
                                  {"exp", make_rows, exponential},
                                  {"sum_rows", make_rows, sum_rows},
                                  {"sum_columns", make_rows, sum_columns},
                                  {"softmax", make_rows, softmax},
                                  {"softmax_gradient", make_softmax_gradient, one_gradient},
                                  {"layer_norm", make_layer_norm, layer_norm},
                                  {"batch_norm", make_batch_norm, batch_norm},
                                  {"batch_norm_gradient", make_batch_norm_gradient, three_gradients},
                                  {"sgd", make_sgd, step},
                                  {"adamw", make_adamw, step},
                                  {"classifier", make_classifier, classify}};

/* ---- commands ---- */

static bool run_n(task *t, int n) {
  for (int i = 0; i < n; i++) {
    iso_scope_push(t->ctx);
    const bool ok = t->captured ? iso_capture_replay(t->capture) == ISO_OK : t->kind->run(t);
    iso_scope_pop(t->ctx);
    if (!ok) return false;
  }
  return iso_synchronize(t->ctx) == ISO_OK;
}

/* Whether runs from now on are replays: of the small model, whose launches are what it costs. */
static bool record_run(task *t) {
  if (t->kind->run != classify || !(t->capture = iso_capture_new(t->ctx))) return false;
  iso_no_grad_push(t->ctx);
  if (iso_capture_begin(t->capture)) t->kind->run(t);
  t->captured = iso_capture_end(t->capture);
  iso_no_grad_pop(t->ctx);
  return t->captured;
}

json_t *task_close(task *t) {
  if (t->ctx) {
    iso_optimizer_free(t->optimizer);
    iso_capture_free(t->capture);
    iso_scope_pop(t->ctx);
    iso_context_free(t->ctx);
  }
  *t = (task){0};
  return json_object();
}

static json_t *give_up(task *t) {
  json_t *reply = context_failure(t->ctx);
  json_decref(task_close(t));
  return reply;
}

/* A context under the default policy, choices by stopwatch; NULL with *reply set. */
static iso_context *measuring_context(const char *tuning, json_t **reply) {
  iso_policy policy;
  iso_context *ctx = NULL;
  char message[512] = "";
  iso_policy_preset("default", &policy);
  if (iso_policy_set(&policy, "tuning", tuning, message, sizeof message) != ISO_OK ||
      iso_context_new_message(&(iso_context_options){.n_threads = 1, .policy = &policy}, &ctx, message,
                              sizeof message) != ISO_OK)
    *reply = failure("%s", message);
  return ctx;
}

/* task NAME tuning T */
json_t *task_open(task *t, const words *w) {
  json_t *reply = NULL;
  const task_kind *kind = NULL;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (!strcmp(kinds[i].name, w->word[0])) kind = &kinds[i];
  if (!kind) return failure("there is no task %s", w->word[0]);
  json_decref(task_close(t));
  if (!(t->ctx = measuring_context(value_of(w, "tuning", "measure"), &reply))) return reply;
  t->kind = kind;
  iso_scope_push(t->ctx); /* until the task is closed: what is recorded lives as long */
  if (!kind->make(t) || !run_n(t, 2)) return give_up(t);
  const bool recorded = record_run(t);
  return json_pack("{s:s, s:s}", "device", iso_context_device(t->ctx), "captured",
                   recorded     ? "yes"
                   : t->capture ? iso_capture_reason(t->capture)
                                : "no");
}

/* run ms X: the median of blocks of runs, in ms a run. */
json_t *task_slice(task *t, const words *w) {
  enum { BLOCKS = 5, MOST = 2000 };
  json_t *reply = NULL;
  double ms, block_ms[BLOCKS];
  if (!t->kind) return failure("no task is open");
  if (!read_positive("ms", value_of(w, "ms", "20"), 1e5, &ms, &reply)) return reply;
  const double first = clock_ns();
  if (!run_n(t, 1)) return give_up(t); /* brings clock and caches back */
  const double begin = clock_ns(), one_ms = (begin - first) / 1e6;
  if (!run_n(t, 2)) return give_up(t);
  const double run_ms = (clock_ns() - begin) / 2e6;
  const double wanted = ms / BLOCKS / (run_ms < one_ms ? run_ms : one_ms);
  const int n = wanted < 1 ? 1 : wanted > MOST ? MOST : (int)wanted;
  for (int b = 0; b < BLOCKS; b++) {
    const double start = clock_ns();
    if (!run_n(t, n)) return give_up(t);
    block_ms[b] = (clock_ns() - start) / 1e6 / n;
  }
  return json_pack("{s:f, s:i}", "ms", median(block_ms, BLOCKS), "n", n * BLOCKS);
}

/* 0, 2, 4 … 5, 3, 1; beyond all of them for a negative i. */
static int64_t up_and_down(int64_t i, int64_t n) { return i < 0 ? n - 1 - i : 2 * i < n ? 2 * i : 2 * (n - 1 - i) + 1; }

/* lengths N: a one-dimensional convolution at N lengths that were never seen, up and down, each call waited for; ms in
 * their order. Engines are chosen by rule. */
json_t *task_lengths(const words *w) {
  enum { MOST = 1000, SHORTEST = 400, STEP = 37, CHANNELS = 64 };
  json_t *reply = NULL;
  int64_t n;
  if (!read_count("lengths", w->word[0], &n, &reply)) return reply;
  if (n > MOST) return failure("at most %d lengths", MOST);
  iso_context *ctx = measuring_context("rule", &reply);
  if (!ctx) return reply;
  json_t *times = json_array();
  iso_scope_push(ctx);
  const iso_tensor *weights = normal(ctx, 3, ISO_DIMS(CHANNELS, CHANNELS, 5));
  bool ok = weights != NULL;
  for (int64_t i = -2; ok && i < n; i++) { /* two that load code and take memory */
    iso_scope_push(ctx);
    const iso_tensor *x = normal(ctx, 3, ISO_DIMS(16, CHANNELS, SHORTEST + STEP * up_and_down(i, n)));
    ok = x && iso_synchronize(ctx) == ISO_OK;
    const double begin = clock_ns();
    ok = ok && iso_conv1d(ctx, x, weights, NULL, &(iso_conv1d_options){.pad = 2}) && iso_synchronize(ctx) == ISO_OK;
    if (ok && i >= 0) json_array_append_new(times, json_real((clock_ns() - begin) / 1e6));
    iso_scope_pop(ctx);
  }
  iso_scope_pop(ctx);
  reply = ok ? json_pack("{s:O}", "times_ms", times) : context_failure(ctx);
  json_decref(times);
  iso_context_free(ctx);
  return reply;
}
