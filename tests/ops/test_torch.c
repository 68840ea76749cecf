/* test_torch.c: every case of tests/data/torch (values computed with PyTorch in f64) against ours in f64, operators in
 * f32 too.
 *
 * f64 runs the class references, so this holds the operators' meaning: shapes, attributes, gradients, update rules; its
 * tolerance covers nothing but another order of summation. f32 runs the engines that users get. A case whose operator
 * this file does not know fails. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <isobit/io.h>
#include <isobit/nn.h>
#include <jansson.h>

#define FOLDER "tests/data/torch"
enum { MAX_TENSORS = 24 };

typedef struct torch_case {
  iso_context *ctx;
  iso_dtype dtype;
  const char *name;
  json_t *json;
  int n_inputs;
  iso_tensor *in[MAX_TENSORS];
} torch_case;

/* ---- reading ---- */

static iso_tensor *read_file(const torch_case *c, const json_t *entry, const char *key) {
  char path[512];
  const char *file = json_string_value(json_object_get(entry, key));
  if (!file) return NULL;
  snprintf(path, sizeof path, FOLDER "/%s/%s", c->name, file);
  iso_tensor *t = iso_npy_read(c->ctx, path);
  if (!t) fail_msg("%s: %s", c->name, iso_error_message(c->ctx));
  return iso_tensor_dtype(t) == ISO_F64 ? iso_cast(c->ctx, t, c->dtype) : t;
}
static json_t *entry_named(const torch_case *c, const char *list, const char *name) {
  size_t i;
  json_t *entry;
  json_array_foreach(json_object_get(c->json, list), i, entry) {
    if (strcmp(json_string_value(json_object_get(entry, "name")), name) == 0) return entry;
  }
  return NULL;
}
static iso_tensor *input(const torch_case *c, const char *name) {
  size_t i;
  json_t *entry;
  json_array_foreach(json_object_get(c->json, "inputs"), i, entry) {
    if (strcmp(json_string_value(json_object_get(entry, "name")), name) == 0) return c->in[i];
  }
  return NULL;
}
static iso_tensor *output(const torch_case *c, const char *name) {
  json_t *entry = entry_named(c, "outputs", name);
  if (!entry) fail_msg("%s has no output %s", c->name, name);
  return read_file(c, entry, "file");
}

static json_t *attribute(const torch_case *c, const char *name) {
  return json_object_get(json_object_get(c->json, "attributes"), name);
}
static double number(const torch_case *c, const char *name, double usual) {
  const json_t *value = attribute(c, name);
  return value ? json_number_value(value) : usual;
}
static int64_t item(const torch_case *c, const char *name, size_t i) {
  return json_integer_value(json_array_get(attribute(c, name), i));
}
static int list(const torch_case *c, const char *name, int64_t *out) {
  const size_t n = json_array_size(attribute(c, name));
  for (size_t i = 0; i < n; i++) out[i] = item(c, name, i);
  return (int)n;
}

/* ---- comparing ---- */

static void compare(const torch_case *c, const char *what, const iso_tensor *got, const iso_tensor *expected) {
  if (!got || !expected) fail_msg("%s: %s is missing: %s", c->name, what, iso_error_message(c->ctx));
  const int64_t n = iso_tensor_numel(expected);
  if (iso_tensor_numel(got) != n) fail_msg("%s: %s has another number of elements", c->name, what);
  double *a = calloc((size_t)n + 1, sizeof *a), *b = calloc((size_t)n + 1, sizeof *b);
  iso_no_grad_push(c->ctx);
  got = iso_cast(c->ctx, got, ISO_F64), expected = iso_cast(c->ctx, expected, ISO_F64);
  iso_no_grad_pop(c->ctx);
  assert_int_equal(iso_tensor_copy_to(got, a, (size_t)n * sizeof *a), ISO_OK);
  assert_int_equal(iso_tensor_copy_to(expected, b, (size_t)n * sizeof *b), ISO_OK);
  double largest = 1e-3;
  for (int64_t i = 0; i < n; i++)
    if (isfinite(b[i])) largest = fmax(largest, fabs(b[i]));
  const double tolerance = (c->dtype == ISO_F32 ? 4e-6 : 1e-11) * largest;
  for (int64_t i = 0; i < n; i++)
    if (!(isfinite(b[i]) ? fabs(a[i] - b[i]) <= tolerance : isnan(b[i]) ? isnan(a[i]) : a[i] == b[i]))
      fail_msg("%s in %s: %s[%lld] is %.17g, PyTorch says %.17g", c->name, iso_dtype_name(c->dtype), what, (long long)i,
               a[i], b[i]);
  free(a);
  free(b);
}

/* ---- operators ---- */

typedef iso_tensor *unary(iso_context *ctx, const iso_tensor *x);
static const struct {
  const char *op;
  unary *f;
} unaries[] = {{"abs", iso_abs},         {"erf", iso_erf},          {"exp", iso_exp},   {"expm1", iso_expm1},
               {"log", iso_log},         {"log1p", iso_log1p},      {"neg", iso_neg},   {"relu", iso_relu},
               {"rsqrt", iso_rsqrt},     {"silu", iso_silu},        {"sqrt", iso_sqrt}, {"tanh", iso_tanh},
               {"sigmoid", iso_sigmoid}, {"softplus", iso_softplus}};

typedef iso_tensor *binary(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
static const struct {
  const char *op;
  binary *f;
} binaries[] = {{"add", iso_add}, {"sub", iso_sub}, {"mul", iso_mul},
                {"div", iso_div}, {"pow", iso_pow}, {"matmul", iso_matmul}};

static iso_tensor *reduction(const torch_case *c, const char *op) {
  int64_t axes64[8];
  int axes[8];
  const int n = list(c, "axes", axes64);
  const bool keep = json_is_true(attribute(c, "keepdims"));
  for (int i = 0; i < n; i++) axes[i] = (int)axes64[i];
  if (!strcmp(op, "sum")) return iso_sum(c->ctx, c->in[0], n, axes, keep);
  if (!strcmp(op, "mean")) return iso_mean(c->ctx, c->in[0], n, axes, keep);
  if (!strcmp(op, "amax")) return iso_amax(c->ctx, c->in[0], n, axes, keep);
  return iso_var(c->ctx, c->in[0], n, axes, keep, number(c, "correction", 1));
}

/* more_padding: [before, after] of each axis, beyond `padding`. */
static int64_t more_padding(const torch_case *c, size_t axis, size_t side) {
  return json_integer_value(json_array_get(json_array_get(attribute(c, "more_padding"), axis), side));
}
static iso_tensor *conv1d(const torch_case *c, bool transposed) {
  return (transposed ? iso_conv_transpose1d
                     : iso_conv1d)(c->ctx, c->in[0], input(c, "w"), input(c, "b"),
                                   &(iso_conv1d_options){.stride = item(c, "stride", 0),
                                                         .pad = item(c, "padding", 0),
                                                         .pad_left = more_padding(c, 0, 0),
                                                         .pad_right = more_padding(c, 0, 1),
                                                         .dilation = item(c, "dilation", 0),
                                                         .output_pad = item(c, "output_padding", 0),
                                                         .groups = (int64_t)number(c, "groups", 1)});
}
static iso_tensor *conv2d(const torch_case *c, bool transposed) {
  return (transposed ? iso_conv_transpose2d
                     : iso_conv2d)(c->ctx, c->in[0], input(c, "w"), input(c, "b"),
                                   &(iso_conv2d_options){.stride_h = item(c, "stride", 0),
                                                         .stride_w = item(c, "stride", 1),
                                                         .pad_h = item(c, "padding", 0),
                                                         .pad_w = item(c, "padding", 1),
                                                         .pad_top = more_padding(c, 0, 0),
                                                         .pad_bottom = more_padding(c, 0, 1),
                                                         .pad_left = more_padding(c, 1, 0),
                                                         .pad_right = more_padding(c, 1, 1),
                                                         .dilation_h = item(c, "dilation", 0),
                                                         .dilation_w = item(c, "dilation", 1),
                                                         .output_pad_h = item(c, "output_padding", 0),
                                                         .output_pad_w = item(c, "output_padding", 1),
                                                         .groups = (int64_t)number(c, "groups", 1)});
}
static iso_tensor *conv3d(const torch_case *c, bool transposed) {
  return (transposed ? iso_conv_transpose3d
                     : iso_conv3d)(c->ctx, c->in[0], input(c, "w"), input(c, "b"),
                                   &(iso_conv3d_options){.stride_d = item(c, "stride", 0),
                                                         .stride_h = item(c, "stride", 1),
                                                         .stride_w = item(c, "stride", 2),
                                                         .pad_d = item(c, "padding", 0),
                                                         .pad_h = item(c, "padding", 1),
                                                         .pad_w = item(c, "padding", 2),
                                                         .pad_front = more_padding(c, 0, 0),
                                                         .pad_back = more_padding(c, 0, 1),
                                                         .pad_top = more_padding(c, 1, 0),
                                                         .pad_bottom = more_padding(c, 1, 1),
                                                         .pad_left = more_padding(c, 2, 0),
                                                         .pad_right = more_padding(c, 2, 1),
                                                         .dilation_d = item(c, "dilation", 0),
                                                         .dilation_h = item(c, "dilation", 1),
                                                         .dilation_w = item(c, "dilation", 2),
                                                         .output_pad_d = item(c, "output_padding", 0),
                                                         .output_pad_h = item(c, "output_padding", 1),
                                                         .output_pad_w = item(c, "output_padding", 2),
                                                         .groups = (int64_t)number(c, "groups", 1)});
}
static const struct {
  const char *op;
  iso_tensor *(*f)(const torch_case *c, bool transposed);
  bool transposed;
} convolutions[] = {{"conv1d", conv1d, false},          {"conv2d", conv2d, false},
                    {"conv3d", conv3d, false},          {"conv_transpose1d", conv1d, true},
                    {"conv_transpose2d", conv2d, true}, {"conv_transpose3d", conv3d, true}};
static iso_pool2d_options pool_options(const torch_case *c) {
  return (iso_pool2d_options){.kernel_h = item(c, "kernel", 0),
                              .kernel_w = item(c, "kernel", 1),
                              .stride_h = item(c, "stride", 0),
                              .stride_w = item(c, "stride", 1),
                              .pad_h = item(c, "padding", 0),
                              .pad_w = item(c, "padding", 1),
                              .count_padding = json_is_true(attribute(c, "count_include_pad"))};
}
static iso_tensor *batch_norm(const torch_case *c) {
  iso_tensor *mean = input(c, "running_mean"), *var = input(c, "running_var");
  iso_tensor *weight = input(c, "weight"), *bias = input(c, "bias");
  const int64_t channels = iso_tensor_numel(mean);
  if (!weight) weight = iso_tensor_full(c->ctx, c->dtype, 1, &channels, 1);
  if (!bias) bias = iso_tensor_zeros(c->ctx, c->dtype, 1, &channels);
  iso_tensor *y = iso_batch_norm(c->ctx, c->in[0], weight, bias, mean, var,
                                 &(iso_batch_norm_options){.training = json_is_true(attribute(c, "training")),
                                                           .momentum = number(c, "momentum", 0),
                                                           .eps = number(c, "eps", 0)});
  compare(c, "running_mean", mean, output(c, "running_mean_after"));
  compare(c, "running_var", var, output(c, "running_var_after"));
  return y;
}
static iso_tensor *shape_operator(const torch_case *c, const char *op) {
  int64_t dims[8], shape[8];
  int order[8];
  const int n_dims = list(c, "dims", dims), n_shape = list(c, "shape", shape);
  for (int i = 0; i < n_dims; i++) order[i] = (int)dims[i];
  if (!strcmp(op, "permute")) return iso_permute(c->ctx, c->in[0], order);
  if (!strcmp(op, "reshape")) return iso_reshape(c->ctx, c->in[0], n_shape, shape);
  if (!strcmp(op, "permute_reshape")) return iso_reshape(c->ctx, iso_permute(c->ctx, c->in[0], order), n_shape, shape);
  if (!strcmp(op, "cat"))
    return iso_cat(c->ctx, c->n_inputs, (const iso_tensor *const *)c->in, (int)number(c, "axis", 0));
  return iso_slice(c->ctx, c->in[0], (int)number(c, "axis", 0), (int64_t)number(c, "start", 0),
                   (int64_t)number(c, "stop", 0), (int64_t)number(c, "step", 1));
}

/* y, h_n and c_n one behind the other. */
static iso_tensor *recurrence(const torch_case *c, const char *op) {
  iso_context *ctx = c->ctx;
  int64_t lengths[8];
  const int n_lengths = list(c, "lengths", lengths), layers = (int)number(c, "layers", 1);
  const bool both = json_is_true(attribute(c, "bidirectional"));
  iso_recurrent_weights w[8];
  for (int i = 0; i < layers * (1 + both); i++) {
    const iso_tensor **const slots[] = {&w[i].w_ih, &w[i].w_hh, &w[i].b_ih, &w[i].b_hh};
    static const char *const kinds[] = {"weight_ih", "weight_hh", "bias_ih", "bias_hh"};
    for (int k = 0; k < 4; k++) {
      char name[40];
      snprintf(name, sizeof name, "%s_l%d%s", kinds[k], i / (1 + both), both && i % 2 ? "_reverse" : "");
      *slots[k] = input(c, name);
    }
  }
  const iso_recurrent_options o = {
      .n_layers = layers,
      .bidirectional = both,
      .time_first = json_is_true(attribute(c, "time_first")),
      .relu = json_is_true(attribute(c, "relu")),
      .lengths = n_lengths ? iso_tensor_copy_from(ctx, ISO_I64, 1, ISO_DIMS(n_lengths), lengths) : NULL,
      .h0 = input(c, "h0"),
      .c0 = input(c, "c0")};
  iso_tensor *h_n = NULL, *c_n = NULL;
  iso_tensor *y = !strcmp(op, "lstm")  ? iso_lstm(ctx, c->in[0], w, &o, &h_n, &c_n)
                  : !strcmp(op, "gru") ? iso_gru(ctx, c->in[0], w, &o, &h_n)
                                       : iso_rnn(ctx, c->in[0], w, &o, &h_n);
  iso_tensor *parts[3] = {y, h_n, c_n};
  for (int i = 0; i < 3 && parts[i]; i++) parts[i] = iso_flatten(ctx, parts[i], 0, -1);
  return iso_cat(ctx, c_n ? 3 : 2, (const iso_tensor *const *)parts, 0);
}

static iso_tensor *apply(const torch_case *c, const char *op) {
  iso_context *ctx = c->ctx;
  iso_tensor *x = c->in[0];
  const int axis = (int)number(c, "axis", 0);
  for (size_t i = 0; i < sizeof unaries / sizeof *unaries; i++)
    if (!strcmp(op, unaries[i].op)) return unaries[i].f(ctx, x);
  for (size_t i = 0; i < sizeof binaries / sizeof *binaries; i++)
    if (!strcmp(op, binaries[i].op) && c->n_inputs == 2) return binaries[i].f(ctx, x, c->in[1]);
  if (!strcmp(op, "pow_scalar")) return iso_pow_scalar(ctx, x, number(c, "exponent", 0));
  if (!strcmp(op, "gelu"))
    return strcmp(json_string_value(attribute(c, "approximate")), "tanh") ? iso_gelu(ctx, x) : iso_gelu_tanh(ctx, x);
  if (!strcmp(op, "sum") || !strcmp(op, "mean") || !strcmp(op, "amax") || !strcmp(op, "var")) return reduction(c, op);
  for (size_t i = 0; i < sizeof convolutions / sizeof *convolutions; i++)
    if (!strcmp(op, convolutions[i].op)) return convolutions[i].f(c, convolutions[i].transposed);
  if (!strcmp(op, "linear")) return iso_linear(ctx, x, input(c, "w"), input(c, "b"), false);
  if (!strcmp(op, "batch_norm")) return batch_norm(c);
  if (!strcmp(op, "lstm") || !strcmp(op, "gru") || !strcmp(op, "rnn")) return recurrence(c, op);
  if (!strcmp(op, "adaptive_avg_pool2d")) return iso_global_avg_pool2d(ctx, x);
  const iso_pool2d_options pool = pool_options(c);
  if (!strcmp(op, "avg_pool2d")) return iso_avg_pool2d(ctx, x, &pool);
  if (!strcmp(op, "max_pool2d")) return iso_max_pool2d(ctx, x, &pool);
  if (!strcmp(op, "dropout")) return iso_dropout(ctx, x, number(c, "p", 0), json_is_true(attribute(c, "training")));
  if (!strcmp(op, "softmax")) return iso_softmax(ctx, x, axis);
  if (!strcmp(op, "log_softmax")) return iso_log_softmax(ctx, x, axis);
  if (!strcmp(op, "mse_loss")) return iso_mse_loss(ctx, x, input(c, "target"), NULL);
  if (!strcmp(op, "cross_entropy"))
    return iso_cross_entropy(ctx, x, input(c, "labels"),
                             &(iso_cross_entropy_options){.weights = input(c, "class_weights")});
  if (!strcmp(op, "permute") || !strcmp(op, "reshape") || !strcmp(op, "permute_reshape") || !strcmp(op, "cat") ||
      !strcmp(op, "slice"))
    return shape_operator(c, op);
  fail_msg("%s: operator %s is not known here", c->name, op);
  return NULL;
}

static void operator_case(torch_case *c, const char *op) {
  size_t i;
  json_t *entry;
  iso_tensor *y = apply(c, op);
  if (!y) fail_msg("%s: %s", c->name, iso_error_message(c->ctx));
  json_t *out = entry_named(c, "outputs", "y");
  compare(c, "y", y, read_file(c, out, "file"));
  iso_tensor *dy = read_file(c, out, "grad");
  if (!dy) return;
  if (iso_backward_with(y, dy, NULL)) fail_msg("%s: %s", c->name, iso_error_message(c->ctx));
  json_array_foreach(json_object_get(c->json, "inputs"), i, entry) {
    iso_tensor *expected = read_file(c, entry, "grad");
    if (expected) compare(c, json_string_value(json_object_get(entry, "file")), iso_grad(c->in[i]), expected);
  }
}

/* ---- optimisers, clipping, schedules ---- */

static iso_optimizer *optimizer_of(const torch_case *c, const char *op, size_t n, const iso_named_tensor *list_of) {
  const double lr = number(c, "lr", 0), decay = number(c, "weight_decay", 0);
  if (!strcmp(op, "sgd"))
    return iso_sgd_new(c->ctx, n, list_of,
                       &(iso_sgd_options){.lr = lr,
                                          .momentum = number(c, "momentum", 0),
                                          .dampening = number(c, "dampening", 0),
                                          .weight_decay = decay,
                                          .nesterov = json_is_true(attribute(c, "nesterov"))});
  const double eps = number(c, "eps", 0);
  if (!strcmp(op, "rmsprop"))
    return iso_rmsprop_new(c->ctx, n, list_of,
                           &(iso_rmsprop_options){.lr = lr,
                                                  .alpha = number(c, "alpha", 0),
                                                  .eps = eps,
                                                  .weight_decay = decay,
                                                  .momentum = number(c, "momentum", 0),
                                                  .centered = json_is_true(attribute(c, "centered"))});
  if (!strcmp(op, "adagrad"))
    return iso_adagrad_new(c->ctx, n, list_of,
                           &(iso_adagrad_options){.lr = lr,
                                                  .lr_decay = number(c, "lr_decay", 0),
                                                  .weight_decay = decay,
                                                  .initial = number(c, "initial_accumulator_value", 0),
                                                  .eps = eps});
  if (!strcmp(op, "adadelta"))
    return iso_adadelta_new(
        c->ctx, n, list_of,
        &(iso_adadelta_options){.lr = lr, .rho = number(c, "rho", 0), .eps = eps, .weight_decay = decay});
  json_t *betas = attribute(c, "betas");
  const bool decoupled = !strcmp(op, "adamw") || json_is_true(attribute(c, "decoupled_weight_decay"));
  const double beta1 = json_number_value(json_array_get(betas, 0)), beta2 = json_number_value(json_array_get(betas, 1));
  if (!strcmp(op, "nadam"))
    return iso_nadam_new(c->ctx, n, list_of,
                         &(iso_nadam_options){.lr = lr,
                                              .beta1 = beta1,
                                              .beta2 = beta2,
                                              .eps = eps,
                                              .weight_decay = decay,
                                              .momentum_decay = number(c, "momentum_decay", 0),
                                              .decoupled = decoupled});
  const iso_adam_options adam = {
      .lr = lr, .beta1 = beta1, .beta2 = beta2, .eps = eps, .weight_decay = decay, .decoupled = decoupled};
  if (!strcmp(op, "adamax")) return iso_adamax_new(c->ctx, n, list_of, &adam);
  return strcmp(op, "radam") ? iso_adam_new(c->ctx, n, list_of, &adam) : iso_radam_new(c->ctx, n, list_of, &adam);
}

static void optimizer_case(torch_case *c, const char *op) {
  iso_tensor *p = iso_requires_grad(iso_clone(c->ctx, input(c, "p")), true), *params = output(c, "params");
  const iso_named_tensor named = {.name = "p", .tensor = p, .trainable = true};
  iso_optimizer *o = optimizer_of(c, op, 1, &named);
  assert_non_null(o);
  for (int64_t step = 0; step < iso_tensor_shape(params)[0]; step++) {
    assert_int_equal(iso_grad_set(p, iso_contiguous(c->ctx, iso_select(c->ctx, input(c, "grads"), 0, step))), ISO_OK);
    assert_int_equal(iso_optimizer_step(o), ISO_OK);
    compare(c, "params", p, iso_select(c->ctx, params, 0, step));
  }
  iso_optimizer_free(o);
}

static void clip_case(torch_case *c) {
  iso_named_tensor named[2] = {{.name = "a", .trainable = true}, {.name = "b", .trainable = true}};
  const char *const grads[] = {"grad0", "grad1"}, *const clipped[] = {"clipped0", "clipped1"};
  for (int i = 0; i < 2; i++) {
    iso_tensor *g = input(c, grads[i]);
    named[i].tensor = iso_requires_grad(iso_clone(c->ctx, g), true);
    assert_int_equal(iso_grad_set(named[i].tensor, g), ISO_OK);
  }
  iso_optimizer *o = iso_sgd_new(c->ctx, 2, named, NULL);
  double norm;
  assert_int_equal(iso_optimizer_clip_grad_norm(o, number(c, "max_norm", 0), &norm), ISO_OK);
  compare(c, "norm", iso_tensor_full(c->ctx, ISO_F64, 0, NULL, norm), output(c, "norm"));
  for (int i = 0; i < 2; i++) compare(c, clipped[i], iso_grad(named[i].tensor), output(c, clipped[i]));
  iso_optimizer_free(o);
}

/* linear_lr from factor a to b in n steps is not our warm-up; its line is checked in test_nn.c by formula instead. */
static void schedule_case(torch_case *c, const char *op) {
  iso_schedule s = {.lr = number(c, "base_lr", 0)};
  if (!strcmp(op, "cosine_annealing_lr")) {
    s.kind = ISO_SCHEDULE_COSINE;
    s.period = (uint64_t)number(c, "T_max", 0);
    s.min_lr = number(c, "eta_min", 0);
  } else if (!strcmp(op, "step_lr")) {
    s.kind = ISO_SCHEDULE_STEP;
    s.period = (uint64_t)number(c, "step_size", 0);
    s.gamma = number(c, "gamma", 0);
  } else if (strcmp(op, "linear_lr") != 0) {
    fail_msg("schedule %s is not known here", op);
  } else {
    return;
  }
  double lr[20];
  for (uint64_t i = 0; i < 20; i++) lr[i] = iso_schedule_lr(&s, i);
  compare(c, "lr", iso_tensor_copy_from(c->ctx, ISO_F64, 1, ISO_DIMS(20), lr), output(c, "lr"));
}

/* ---- three steps of a small net ---- */

static void training_case(torch_case *c) {
  static const char *const names[] = {"conv_w", "bn_weight", "bn_bias", "linear_w", "linear_b"};
  iso_context *ctx = c->ctx;
  iso_named_tensor p[5];
  for (int i = 0; i < 5; i++) {
    iso_tensor *t = input(c, names[i]);
    t = iso_tensor_n_dims(t) == 4 ? iso_channels_last(ctx, iso_detach(ctx, t)) : iso_detach(ctx, t);
    p[i] =
        (iso_named_tensor){.name = names[i], .tensor = iso_requires_grad(iso_clone(ctx, t), true), .trainable = true};
  }
  const int64_t channels = iso_tensor_numel(p[1].tensor);
  iso_tensor *mean = iso_tensor_zeros(ctx, ISO_F64, 1, &channels),
             *var = iso_tensor_full(ctx, ISO_F64, 1, &channels, 1);
  iso_optimizer *o = optimizer_of(c, "sgd", 5, p);
  iso_tensor *losses = output(c, "losses");
  for (int64_t step = 0; step < iso_tensor_numel(losses); step++) {
    iso_optimizer_zero_grad(o);
    iso_tensor *h = iso_conv2d(ctx, input(c, "x"), p[0].tensor, NULL, &(iso_conv2d_options){.pad_h = 1, .pad_w = 1});
    h = iso_batch_norm(ctx, h, p[1].tensor, p[2].tensor, mean, var,
                       &(iso_batch_norm_options){.training = true, .relu = true});
    h = iso_max_pool2d(ctx, h, &(iso_pool2d_options){.kernel_h = 2, .kernel_w = 2});
    h = iso_linear(ctx, iso_flatten(ctx, h, 1, -1), p[3].tensor, p[4].tensor, false);
    iso_tensor *loss = iso_cross_entropy(ctx, h, input(c, "labels"), NULL);
    compare(c, "loss", loss, iso_select(ctx, losses, 0, step));
    assert_int_equal(iso_backward(loss), ISO_OK);
    assert_int_equal(iso_optimizer_step(o), ISO_OK);
  }
  for (int i = 0; i < 5; i++) {
    char after[64];
    snprintf(after, sizeof after, "%s_after", names[i]);
    compare(c, after, p[i].tensor, output(c, after));
    iso_tensor *grad = read_file(c, entry_named(c, "outputs", after), "grad");
    if (grad) compare(c, "gradient", iso_grad(p[i].tensor), grad);
  }
  compare(c, "running_mean", mean, output(c, "running_mean_after"));
  compare(c, "running_var", var, output(c, "running_var_after"));
  iso_optimizer_free(o);
}

/* ---- all of them ---- */

static void run_case(iso_context *ctx, const char *name, iso_dtype dtype) {
  char path[512];
  json_error_t error;
  snprintf(path, sizeof path, FOLDER "/%s/case.json", name);
  torch_case c = {.ctx = ctx, .dtype = dtype, .name = name, .json = json_load_file(path, 0, &error)};
  if (!c.json) fail_msg("%s: %s", path, error.text);
  size_t i;
  json_t *entry;
  const char *kind = json_string_value(json_object_get(c.json, "kind")),
             *op = json_string_value(json_object_get(c.json, "op"));
  if (dtype == ISO_F32 && strcmp(kind, "operator") != 0) {
    json_decref(c.json);
    return;
  }
  iso_scope_push(ctx);
  json_array_foreach(json_object_get(c.json, "inputs"), i, entry) {
    c.in[i] = read_file(&c, entry, "file");
    c.n_inputs = (int)i + 1;
    if (json_object_get(entry, "grad")) iso_requires_grad(c.in[i], true);
  }
  if (!strcmp(kind, "operator")) operator_case(&c, op);
  else if (!strcmp(kind, "optimizer")) optimizer_case(&c, op);
  else if (!strcmp(kind, "clip")) clip_case(&c);
  else if (!strcmp(kind, "schedule")) schedule_case(&c, op);
  else if (!strcmp(kind, "training")) training_case(&c);
  else fail_msg("%s: kind %s is not known here", name, kind);
  if (iso_error_code(ctx)) fail_msg("%s: %s", name, iso_error_message(ctx));
  iso_scope_pop(ctx);
  json_decref(c.json);
}

static void test_all_cases(void **state) {
  (void)state;
  iso_context *ctx;
  assert_int_equal(iso_context_new(&(iso_context_options){.n_threads = 1}, &ctx), ISO_OK);
  FILE *index = fopen(FOLDER "/index.txt", "r");
  assert_non_null(index);
  char name[256];
  int n = 0;
  while (fgets(name, sizeof name, index)) {
    name[strcspn(name, "\n")] = '\0';
    if (!*name) continue;
    run_case(ctx, name, ISO_F64);
    run_case(ctx, name, ISO_F32);
    n++;
  }
  fclose(index);
  assert_true(n >= 180);
  iso_context_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_cases)};
  return cmocka_run_group_tests_name("torch", tests, NULL, NULL);
}
