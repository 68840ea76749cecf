/* test_nn.c: modules, names, initialisers, models, optimisers and schedules. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <isobit/nn.h>

static iso_context *open_context(uint64_t seed, int n_threads) {
  iso_policy policy;
  iso_context *ctx;
  assert_int_equal(iso_policy_preset("reproducible", &policy), ISO_OK);
  policy.seed = seed;
  assert_int_equal(iso_context_new(&(iso_context_options){.n_threads = n_threads, .policy = &policy}, &ctx), ISO_OK);
  return ctx;
}
static void expect_error(iso_context *ctx, iso_status code, const char *words) {
  assert_int_equal(iso_error_code(ctx), code);
  if (!strstr(iso_error_message(ctx), words)) fail_msg("'%s' does not say '%s'", iso_error_message(ctx), words);
  iso_clear_error(ctx);
}
static bool same_bits(const iso_tensor *a, const iso_tensor *b) {
  char x[33], y[33];
  assert_int_equal(iso_tensor_hash(a, x), ISO_OK);
  assert_int_equal(iso_tensor_hash(b, y), ISO_OK);
  return strcmp(x, y) == 0;
}

static void test_names_are_pytorchs(void **state) {
  (void)state;
  iso_context *ctx = open_context(1, 1);
  iso_module *net = iso_model_new(ctx, "resnet8", NULL);
  static const char *const some[] = {"conv1.weight",     "bn1.weight",      "bn1.bias",
                                     "bn1.running_mean", "bn1.running_var", "layer1.0.conv1.weight"};
  size_t n;
  const iso_named_tensor *list = iso_module_tensors(net, &n);
  for (int i = 0; i < 6; i++) assert_string_equal(list[i].name, some[i]);
  assert_true(list[0].trainable);
  assert_false(list[3].trainable);
  assert_string_equal(list[n - 1].name, "fc.bias");
  assert_ptr_equal(iso_module_find_tensor(net, "layer2.0.downsample.1.running_var"),
                   iso_module_find_tensor(iso_module_find(net, "layer2.0.downsample.1"), "running_var"));
  assert_non_null(iso_module_find_tensor(net, "layer2.0.downsample.1.running_var"));
  assert_null(iso_module_find_tensor(net, "layer9.weight"));
  assert_null(iso_module_find(net, "layer1.7"));
  /* 16·9·1 + stages + heads, as torch counts them */
  assert_int_equal(iso_module_n_parameters(net), 144 + 32 + (2 * 2304 + 64) + (4608 + 9216 + 512 + 128 + 64) +
                                                     (18432 + 36864 + 2048 + 256 + 128) + 650);
  char text[2048];
  assert_true(iso_module_describe(net, text, sizeof text) < (int)sizeof text);
  assert_non_null(strstr(text, "(layer3): Sequential"));
  assert_int_equal(iso_module_describe(net, NULL, 0), (int)strlen(text));
  iso_module_free(net);
  iso_context_free(ctx);
}

/* Sums the positions that are there: 1 where none are said to be padding. */
static iso_tensor *sum_forward(iso_module *m, iso_tensor *x, const iso_tensor *lengths) {
  if (!lengths) return iso_sum(iso_module_context(m), x, 1, (const int[]){1}, false);
  iso_context *ctx = iso_module_context(m);
  return iso_mul(ctx, iso_sum(ctx, x, 1, (const int[]){1}, false), iso_cast(ctx, lengths, ISO_F32));
}

static void test_sequences(void **state) {
  (void)state;
  static const iso_module_type type = {.name = "Sum", .forward_sequence = sum_forward};
  iso_context *ctx = open_context(1, 1);
  iso_module *net = iso_sequential(ctx, 2, (iso_module *[]){iso_relu_module(ctx), iso_module_new(ctx, &type, NULL)});
  iso_tensor *x = iso_requires_grad(iso_tensor_full(ctx, ISO_F32, 2, ISO_DIMS(2, 3), 1), true);
  iso_tensor *lengths = iso_tensor_copy_from(ctx, ISO_I64, 1, ISO_DIMS(2), (const int64_t[]){2, 5});
  float y[2];
  for (int checkpointing = 0; checkpointing < 2; checkpointing++) {
    iso_module_set_checkpointing(net, checkpointing);
    assert_int_equal(iso_tensor_copy_to(iso_module_forward_sequence(net, x, lengths), y, sizeof y), ISO_OK);
    assert_true(y[0] == 6 && y[1] == 15);
    assert_int_equal(iso_tensor_copy_to(iso_module_forward_sequence(net, x, NULL), y, sizeof y), ISO_OK);
    assert_true(y[0] == 3 && y[1] == 3);
    assert_true(same_bits(iso_module_forward(net, x), iso_module_forward_sequence(net, x, NULL)));
    float dx[6];
    assert_int_equal(iso_backward_with(iso_module_forward_sequence(net, x, lengths), NULL, NULL), ISO_OK);
    assert_int_equal(iso_tensor_copy_to(iso_grad(x), dx, sizeof dx), ISO_OK);
    for (int i = 0; i < 6; i++) assert_true(dx[i] == (i < 3 ? 2 : 5));
    iso_grad_zero(x);
  }
  assert_null(iso_module_forward_sequence(net, x, iso_tensor_full(ctx, ISO_I64, 1, ISO_DIMS(3), 1)));
  expect_error(ctx, ISO_SHAPE_MISMATCH, "a batch of 2");
  assert_null(iso_module_forward_sequence(net, x, iso_tensor_full(ctx, ISO_F32, 1, ISO_DIMS(2), 1)));
  expect_error(ctx, ISO_SHAPE_MISMATCH, "i64 (batch)");
  iso_module_free(net);
  iso_context_free(ctx);
}

static void test_models(void **state) {
  (void)state;
  static const struct {
    const char *name;
    int64_t n_parameters;
  } models[] = {{"mlp", 235146},        {"cnn", 421642}, {"resnet18", 11172810}, {"resnet18_imagenet", 11175370},
                {"resnet50", 23522250}, /* torchvision's 25,557,032 have 1000 classes and 3 channels */
                {"mobilenet", 3216650}};
  iso_context *ctx = open_context(1, 2);
  for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
    iso_module *net = iso_model_new(ctx, models[i].name, NULL);
    assert_int_equal(iso_module_n_parameters(net), models[i].n_parameters);
    iso_scope_push(ctx);
    iso_tensor *y = iso_module_forward(net, iso_random_normal(ctx, ISO_F32, 4, ISO_DIMS(2, 1, 28, 28), 0, 1));
    if (!y) fail_msg("%s: %s", models[i].name, iso_error_message(ctx));
    assert_int_equal(iso_tensor_n_dims(y), 2);
    assert_int_equal(iso_tensor_shape(y)[1], 10);
    assert_int_equal(iso_backward(iso_mean_all(ctx, y)), ISO_OK);
    iso_scope_pop(ctx);
    size_t n;
    const iso_named_tensor *list = iso_module_tensors(net, &n);
    for (size_t k = 0; k < n; k++)
      if (list[k].trainable) assert_non_null(iso_grad(list[k].tensor));
    iso_module_free(net);
  }
  assert_null(iso_model_new(ctx, "vgg", NULL));
  expect_error(ctx, ISO_NOT_FOUND, "resnet18");
  iso_context_free(ctx);
}

/* Weights depend on seed and order alone. */
static void test_initialisers(void **state) {
  (void)state;
  iso_context *ctx = open_context(7, 1), *other = open_context(7, 2), *seeded = open_context(8, 1);
  iso_module *a = iso_model_new(ctx, "cnn", NULL), *b = iso_model_new(other, "cnn", NULL),
             *c = iso_model_new(seeded, "cnn", NULL);
  iso_init_restart(ctx);
  iso_module *again = iso_model_new(ctx, "cnn", NULL);
  size_t n;
  const iso_named_tensor *list = iso_module_tensors(a, &n);
  for (size_t i = 0; i < n; i++) {
    assert_true(same_bits(list[i].tensor, iso_module_find_tensor(b, list[i].name)));
    assert_true(same_bits(list[i].tensor, iso_module_find_tensor(again, list[i].name)));
    assert_false(same_bits(list[i].tensor, iso_module_find_tensor(c, list[i].name)));
  }
  /* PyTorch's bound: 1/sqrt(fan_in), reached nearly and never passed. */
  iso_tensor *w = iso_module_find_tensor(a, "3.weight");
  iso_scope_push(ctx);
  double largest, smallest;
  iso_tensor_item(iso_amax(ctx, w, 0, NULL, false), &largest);
  iso_tensor_item(iso_amin(ctx, w, 0, NULL, false), &smallest);
  const double bound = 1 / sqrt(32 * 9);
  assert_true(largest <= bound && largest > 0.99 * bound && smallest >= -bound && smallest < -0.99 * bound);
  iso_tensor *t = iso_tensor_new(ctx, ISO_F32, 2, ISO_DIMS(400, 100));
  double mean, var;
  assert_int_equal(iso_init_kaiming_normal(t, 0, ISO_FAN_IN, 3), ISO_OK);
  iso_tensor_item(iso_mean_all(ctx, t), &mean);
  iso_tensor_item(iso_var(ctx, t, 0, NULL, false, 1), &var);
  assert_true(fabs(mean) < 0.003 && fabs(var - 0.02) < 0.0005);
  assert_int_equal(iso_init_xavier_uniform(t, 0, 4), ISO_OK);
  iso_tensor_item(iso_amax(ctx, t, 0, NULL, false), &largest);
  assert_true(largest <= sqrt(6.0 / 500) && largest > 0.99 * sqrt(6.0 / 500));
  assert_int_equal(iso_init_kaiming_uniform(iso_select(ctx, t, 0, 0), 0, ISO_FAN_IN, 0), ISO_SHAPE_MISMATCH);
  expect_error(ctx, ISO_SHAPE_MISMATCH, "(100)");
  /* Storage order has no say. */
  iso_tensor *rows = iso_tensor_new(ctx, ISO_F32, 4, ISO_DIMS(3, 4, 2, 2));
  iso_tensor *image = iso_tensor_new_channels_last(ctx, ISO_F32, 4, ISO_DIMS(3, 4, 2, 2));
  assert_int_equal(iso_init_normal(rows, 0, 1, 9) + iso_init_normal(image, 0, 1, 9), 0);
  assert_true(same_bits(rows, image));
  iso_scope_pop(ctx);
  iso_module_free(a), iso_module_free(b), iso_module_free(c), iso_module_free(again);
  iso_context_free(ctx), iso_context_free(other), iso_context_free(seeded);
}

static double dot_of_rows(const double *w, int columns, int i, int j) {
  double sum = 0;
  for (int k = 0; k < columns; k++) sum += w[i * columns + k] * w[j * columns + k];
  return sum;
}

/* Identity, dirac, orthogonal, sparse, truncated normal and gains, from their definitions. */
static void test_initialisers_of_whole_matrices(void **state) {
  (void)state;
  iso_context *ctx = open_context(7, 2);
  double w[4000];
  iso_scope_push(ctx);
  iso_tensor *t = iso_tensor_new(ctx, ISO_F64, 2, ISO_DIMS(3, 4));
  assert_int_equal(iso_init_eye(iso_transpose(ctx, t, 0, 1)), ISO_OK);
  iso_tensor_copy_to(t, w, 12 * sizeof *w);
  for (int i = 0; i < 12; i++) assert_true(w[i] == (i / 4 == i % 4));
  assert_int_equal(iso_init_ones(t), ISO_OK), iso_tensor_copy_to(t, w, 12 * sizeof *w);
  for (int i = 0; i < 12; i++) assert_true(w[i] == 1);
  assert_int_equal(iso_init_zeros(t), ISO_OK), iso_tensor_copy_to(t, w, 12 * sizeof *w);
  for (int i = 0; i < 12; i++) assert_true(w[i] == 0);
  /* Two groups of three channels with two inputs: 0 → 0 and 1 → 1 in each, at the centre (1,2) of 3×4. */
  iso_tensor *kernel = iso_tensor_new_channels_last(ctx, ISO_F32, 4, ISO_DIMS(6, 2, 3, 4));
  assert_int_equal(iso_init_dirac(kernel, 2), ISO_OK);
  iso_tensor_copy_to(iso_cast(ctx, kernel, ISO_F64), w, 144 * sizeof *w);
  for (int i = 0; i < 144; i++) assert_true(w[i] == (i % 12 == 6 && i / 24 % 3 == i / 12 % 2));
  assert_int_equal(iso_init_dirac(kernel, 4), ISO_INVALID_ARGUMENT);
  expect_error(ctx, ISO_INVALID_ARGUMENT, "6 channels are not 4 equal groups");
  /* W·Wᵀ = 4 of 5×12; Wᵀ·W = 4 of 12×5. */
  iso_tensor *wide = iso_tensor_new(ctx, ISO_F64, 3, ISO_DIMS(5, 3, 4)),
             *tall = iso_tensor_new(ctx, ISO_F64, 2, ISO_DIMS(12, 5));
  for (int run = 0; run < 2; run++) {
    assert_int_equal(iso_init_orthogonal(run ? tall : wide, 2, 5), ISO_OK);
    iso_tensor_copy_to(run ? iso_transpose(ctx, tall, 0, 1) : wide, w, 60 * sizeof *w);
    for (int i = 0; i < 5; i++)
      for (int j = 0; j < 5; j++) assert_true(fabs(dot_of_rows(w, 12, i, j) - 4 * (i == j)) < 1e-13);
  }
  iso_tensor *sparse = iso_tensor_new(ctx, ISO_F32, 2, ISO_DIMS(50, 80));
  assert_int_equal(iso_init_sparse(sparse, 0.29, 0, 6), ISO_OK);
  iso_tensor_copy_to(iso_cast(ctx, sparse, ISO_F64), w, sizeof w);
  int first = 0;
  for (int c = 0; c < 80; c++) {
    int zeros = 0;
    for (int r = 0; r < 50; r++) zeros += w[80 * r + c] == 0, assert_true(fabs(w[80 * r + c]) < 0.06);
    assert_int_equal(zeros, 15);
    first += w[c] == 0;
  }
  assert_in_range(first, 10, 40); /* other rows in other columns */
  assert_int_equal(
      iso_init_trunc_normal(sparse, &(iso_truncated_normal_options){.sd = 0.02, .low = -0.01, .high = 0.03}, 1),
      ISO_OK);
  iso_tensor_copy_to(iso_cast(ctx, sparse, ISO_F64), w, sizeof w);
  for (int i = 0; i < 4000; i++) assert_true(w[i] >= -0.010001 && w[i] <= 0.030001);
  assert_int_equal(iso_init_orthogonal(iso_select(ctx, t, 0, 0), 0, 0), ISO_SHAPE_MISMATCH);
  expect_error(ctx, ISO_SHAPE_MISMATCH, "(4) has 1 axes: 2 to 8");
  assert_int_equal(iso_init_sparse(t, 1.5, 0, 0), ISO_INVALID_ARGUMENT);
  expect_error(ctx, ISO_INVALID_ARGUMENT, "sparsity 1.5");
  assert_true(iso_init_gain(ISO_NONLINEARITY_LEAKY_RELU, 0) == sqrt(2) &&
              iso_init_gain(ISO_NONLINEARITY_RELU, 9) == sqrt(2));
  assert_true(fabs(iso_init_gain(ISO_NONLINEARITY_LEAKY_RELU, 3) - sqrt(0.2)) < 1e-16);
  assert_true(iso_init_gain(ISO_NONLINEARITY_TANH, 0) == 5.0 / 3 && iso_init_gain(ISO_NONLINEARITY_SELU, 0) == 0.75);
  iso_scope_pop(ctx);
  iso_context_free(ctx);
}

/* ---- fusing and a module of the user's own ---- */

static iso_tensor *plain_relu(iso_module *m, iso_tensor *x) { return iso_relu(iso_module_context(m), x); }
static const iso_module_type plain_relu_type = {.name = "PlainRelu", .forward = plain_relu};

/* Sequential's fused relu against a relu that it does not know, forward and backward, bit for bit. */
static void test_fusing_keeps_the_bits(void **state) {
  (void)state;
  iso_context *ctx = open_context(3, 2);
  iso_module *nets[2];
  for (int i = 0; i < 2; i++) {
    iso_init_restart(ctx);
    iso_module *parts[8];
    parts[0] = iso_conv2d_module(ctx, &(iso_conv2d_config){.in = 3, .out = 8, .kernel = 3, .pad = 1, .stride = 2});
    parts[1] = i ? iso_module_new(ctx, &plain_relu_type, NULL) : iso_relu_module(ctx);
    parts[2] = iso_conv2d_module(ctx, &(iso_conv2d_config){.in = 8, .out = 8, .kernel = 3, .no_bias = true});
    parts[3] = iso_batch_norm_module(ctx, 8, 0, 0);
    parts[4] = i ? iso_module_new(ctx, &plain_relu_type, NULL) : iso_relu_module(ctx);
    parts[5] = iso_global_avg_pool_module(ctx);
    parts[6] = iso_linear_module(ctx, 8, 5, true);
    parts[7] = i ? iso_module_new(ctx, &plain_relu_type, NULL) : iso_relu_module(ctx);
    nets[i] = iso_sequential(ctx, 8, parts);
  }
  iso_scope_push(ctx);
  iso_tensor *x = iso_random_normal(ctx, ISO_F32, 4, ISO_DIMS(4, 3, 9, 7), 0, 1), *y[2];
  for (int i = 0; i < 2; i++) {
    y[i] = iso_module_forward(nets[i], x);
    if (!y[i] || iso_backward(iso_sum_all(ctx, iso_square(ctx, y[i])))) fail_msg("%s", iso_error_message(ctx));
  }
  assert_true(same_bits(y[0], y[1]));
  size_t n;
  const iso_named_tensor *list = iso_module_tensors(nets[0], &n);
  for (size_t i = 0; i < n; i++) {
    iso_tensor *twin = iso_module_find_tensor(nets[1], list[i].name);
    assert_true(same_bits(list[i].tensor, twin));
    if (list[i].trainable) assert_true(same_bits(iso_grad(list[i].tensor), iso_grad(twin)));
  }
  iso_scope_pop(ctx);
  iso_module_free(nets[0]), iso_module_free(nets[1]);
  iso_context_free(ctx);
}

/* The six layers: PyTorch's weight shapes and first distribution, result shapes, their line in words, relu fused. */
static void check_layer(iso_context *ctx, iso_module *m, int n_dims, const int64_t *x_shape, const int64_t *w_shape,
                        const int64_t *y_shape, const char *line) {
  if (!m) fail_msg("%s", iso_error_message(ctx));
  char text[200];
  iso_module_describe(m, text, sizeof text);
  if (!strstr(text, line)) fail_msg("'%s' is not '%s'", text, line);
  iso_tensor *w = iso_module_find_tensor(m, "weight"), *b = iso_module_find_tensor(m, "bias");
  assert_memory_equal(iso_tensor_shape(w), w_shape, (size_t)n_dims * sizeof *w_shape);
  assert_true(iso_tensor_is_channels_last(w));
  iso_module *parts[] = {m, iso_relu_module(ctx)}, *net = iso_sequential(ctx, 2, parts);
  iso_scope_push(ctx);
  double fan = 1, largest;
  for (int d = 1; d < n_dims; d++) fan *= (double)w_shape[d];
  for (int i = 0; i < (b ? 2 : 1); i++) {
    iso_tensor_item(iso_amax(ctx, iso_abs(ctx, i ? b : w), 0, NULL, false), &largest);
    assert_true(largest > 0 && largest <= (double)(float)(1 / sqrt(fan)) && (i || largest > 0.9 / sqrt(fan)));
  }
  iso_tensor *x = iso_random_normal(ctx, ISO_F32, n_dims, x_shape, 0, 1), *y = iso_module_forward(net, x);
  if (!y) fail_msg("%s", iso_error_message(ctx));
  assert_memory_equal(iso_tensor_shape(y), y_shape, (size_t)n_dims * sizeof *y_shape);
  assert_true(same_bits(y, iso_relu(ctx, iso_module_forward(m, x))));
  iso_scope_pop(ctx);
  iso_module_free(net);
}

static void test_convolution_layers(void **state) {
  (void)state;
  iso_context *ctx = open_context(3, 1);
  check_layer(ctx,
              iso_conv1d_module(
                  ctx, &(iso_conv1d_config){.in = 6, .out = 8, .kernel = 5, .stride = 2, .pad = 1, .pad_right = 1}),
              3, ISO_DIMS(2, 6, 11), ISO_DIMS(8, 6, 5), ISO_DIMS(2, 8, 5),
              "Conv1d(6 → 8, 5, stride 2, padding 1+2, groups 1)");
  check_layer(ctx,
              iso_conv2d_module(ctx, &(iso_conv2d_config){.in = 4,
                                                          .out = 8,
                                                          .kernel = 3,
                                                          .kernel_w = 5,
                                                          .groups = 2,
                                                          .pad_left = 1,
                                                          .pad_right = 1,
                                                          .no_bias = true}),
              4, ISO_DIMS(2, 4, 5, 6), ISO_DIMS(8, 2, 3, 5), ISO_DIMS(2, 8, 3, 4),
              "Conv2d(4 → 8, 3×5, stride 1, padding 0×1, groups 2, no bias)");
  check_layer(ctx,
              iso_conv3d_module(ctx, &(iso_conv3d_config){.in = 3, .out = 4, .kernel = 3, .stride_w = 2, .pad = 1}), 5,
              ISO_DIMS(1, 3, 4, 5, 6), ISO_DIMS(4, 3, 3, 3, 3), ISO_DIMS(1, 4, 4, 5, 3),
              "Conv3d(3 → 4, 3×3×3, stride 1×1×2, padding 1, groups 1)");
  check_layer(ctx,
              iso_conv_transpose1d_module(
                  ctx, &(iso_conv1d_config){.in = 8, .out = 6, .kernel = 4, .stride = 2, .pad = 1, .output_pad = 1}),
              3, ISO_DIMS(2, 8, 5), ISO_DIMS(8, 6, 4), ISO_DIMS(2, 6, 11), "ConvTranspose1d(8 → 6, 4, stride 2");
  check_layer(ctx,
              iso_conv_transpose2d_module(
                  ctx, &(iso_conv2d_config){.in = 4, .out = 6, .kernel = 4, .stride = 2, .pad = 1, .groups = 2}),
              4, ISO_DIMS(1, 4, 3, 5), ISO_DIMS(4, 3, 4, 4), ISO_DIMS(1, 6, 6, 10), "ConvTranspose2d(4 → 6, 4×4");
  check_layer(ctx, iso_conv_transpose3d_module(ctx, &(iso_conv3d_config){.in = 4, .out = 3, .kernel = 2, .stride = 2}),
              5, ISO_DIMS(1, 4, 2, 3, 2), ISO_DIMS(4, 3, 2, 2, 2), ISO_DIMS(1, 3, 4, 6, 4), "ConvTranspose3d(4 → 3");

  assert_null(iso_conv1d_module(ctx, &(iso_conv1d_config){.in = 3, .out = 4, .kernel = 3, .stride = -2}));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "Conv1d: in 3, out 4, kernel 3, stride -2, padding 0, dilation 1");
  assert_null(iso_conv3d_module(ctx, &(iso_conv3d_config){.in = 3, .out = 4, .kernel = 3, .pad = 1, .pad_top = -1}));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "padding 1×-1+1×1");
  assert_null(iso_conv_transpose2d_module(
      ctx, &(iso_conv2d_config){.in = 3, .out = 4, .kernel = 3, .stride = 2, .output_pad_w = 2}));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "output padding 0×2");
  assert_null(iso_conv2d_module(ctx, &(iso_conv2d_config){.in = 3, .out = 4, .kernel = 3, .output_pad_h = 1}));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "output padding 1×0");
  assert_null(iso_conv2d_module(
      ctx, &(iso_conv2d_config){.in = INT64_MAX, .out = INT64_MAX, .kernel = INT64_MAX, .dilation = INT64_MAX}));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "9223372036854775807");
  iso_context_free(ctx);
}

/* A text's class scores are linear in the mean of the rows of its tokens; the padding's row is 0 and stays so. */
static void test_text_classifier(void **state) {
  (void)state;
  iso_context *ctx = open_context(3, 2);
  iso_module *net = iso_text_classifier_new(
      ctx, &(iso_text_classifier_config){.vocabulary = 50, .width = 5, .classes = 3, .padding = 7});
  char text[256];
  iso_module_describe(net, text, sizeof text);
  if (!strstr(text, "EmbeddingBag(50 × 5, padding 7, mean)")) fail_msg("%s", text);
  assert_int_equal(iso_module_n_parameters(net), 50 * 5 + 3 * 5 + 3);
  iso_tensor *w = iso_module_find_tensor(net, "embedding.weight");
  assert_non_null(iso_module_find_tensor(net, "linear.bias"));
  double v;
  for (int64_t i = 0; i < 5; i++)
    assert_int_equal(iso_tensor_at(w, ISO_DIMS(7, i), &v), ISO_OK), assert_true(v == 0 && !signbit(v));
  const int64_t ids[] = {3, 9, 3, 7, 7, 7, 7, 7, 1, 2, 4, 49};
  const float counts[] = {3, 1, 4};
  iso_tensor *x = iso_tensor_copy_from(ctx, ISO_I64, 2, ISO_DIMS(3, 4), ids);
  iso_tensor *y = iso_module_forward(net, x);
  /* In operators: rows, then their sum, whose zeros change no bit, over the number of tokens. */
  iso_tensor *rows = iso_embedding(ctx, x, w, &(iso_embedding_options){.has_padding = true, .padding = 7});
  iso_tensor *sum = iso_sum(ctx, rows, 1, (const int[]){1}, false);
  iso_tensor *mean = iso_div(ctx, sum, iso_tensor_copy_from(ctx, ISO_F32, 2, ISO_DIMS(3, 1), counts));
  iso_tensor *expected = iso_module_forward(iso_module_find(net, "linear"), mean);
  assert_true(same_bits(y, expected));
  assert_int_equal(iso_backward(iso_sum_all(ctx, iso_square(ctx, y))), ISO_OK);
  const iso_tensor *g = iso_grad(w);
  for (int64_t r = 0; r < 50; r++) {
    bool is_there = false;
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) is_there |= ids[i] == r && r != 7;
    assert_int_equal(iso_tensor_at(g, ISO_DIMS(r, 0), &v), ISO_OK);
    assert_true((v != 0) == is_there);
  }
  iso_module_zero_grad(net);
  iso_tensor *bad = iso_tensor_full(ctx, ISO_I64, 2, ISO_DIMS(1, 2), 50);
  assert_null(iso_module_forward(net, bad));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "embedding_bag: index[0,0] is 50: 0 to 49 are in range");
  iso_module_free(net);
  iso_module *single = iso_embedding_module(ctx, &(iso_embedding_config){.rows = 4, .width = 2});
  y = iso_module_forward(single,
                         iso_tensor_copy_from(ctx, ISO_I64, 2, ISO_DIMS(2, 2), ((const int64_t[]){3, 0, 1, 2})));
  assert_int_equal(iso_tensor_n_dims(y), 3);
  iso_module_free(single);
  assert_null(iso_embedding_module(ctx, &(iso_embedding_config){.rows = 0, .width = 2}));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "rows 0, width 2");
  assert_null(iso_text_classifier_new(ctx, &(iso_text_classifier_config){.vocabulary = 5, .padding = 5}));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "padding is 5: a table with 5 rows");
  iso_context_free(ctx);
}

static void test_train_and_eval(void **state) {
  (void)state;
  iso_context *ctx = open_context(3, 1);
  iso_module *net = iso_dropout_module(ctx, 0.5);
  iso_scope_push(ctx);
  iso_tensor *x = iso_tensor_full(ctx, ISO_F32, 1, ISO_DIMS(1000), 1);
  double kept;
  iso_tensor *first = iso_module_forward(net, x), *second = iso_module_forward(net, x);
  assert_false(same_bits(first, second)); /* another site */
  iso_tensor_item(iso_mean_all(ctx, first), &kept);
  assert_true(fabs(kept - 1) < 0.15);
  iso_random_set_step(ctx, 0);
  iso_tensor *replay = iso_module_forward(net, x);
  assert_true(same_bits(first, iso_module_forward(net, x)) == false);
  iso_random_set_step(ctx, 0);
  assert_true(same_bits(replay, iso_module_forward(net, x)));
  iso_module_train(net, false);
  assert_true(same_bits(x, iso_module_forward(net, x)));
  iso_scope_pop(ctx);
  iso_module_free(net);
  iso_context_free(ctx);
}

static void test_registration_errors(void **state) {
  (void)state;
  iso_context *ctx = open_context(3, 1);
  iso_module *net = iso_sequential(ctx, 0, NULL);
  assert_non_null(iso_module_add_child(net, "a", iso_relu_module(ctx)));
  assert_null(iso_module_add_child(net, "a", iso_relu_module(ctx)));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "'a'");
  assert_null(iso_module_add_parameter(net, "a.b", iso_tensor_zeros(ctx, ISO_F32, 0, NULL)));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "a.b");
  assert_null(iso_module_add_parameter(net, "n", iso_tensor_zeros(ctx, ISO_I64, 0, NULL)));
  expect_error(ctx, ISO_DTYPE_MISMATCH, "i64");
  assert_null(iso_linear_module(ctx, -1, 2, true));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "-1");
  assert_null(iso_conv2d_module(ctx, &(iso_conv2d_config){.in = 3, .out = 4, .kernel = 3, .groups = 2}));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "groups 2");
  iso_module_free(net);
  iso_context_free(ctx);
}

/* ---- optimisers ---- */

static void train(iso_context *ctx, iso_module *net, iso_optimizer *o, int n_steps) {
  for (int i = 0; i < n_steps; i++) {
    iso_scope_push(ctx);
    iso_tensor *x = iso_random_normal(ctx, ISO_F32, 2, ISO_DIMS(8, 6), 0, 1);
    iso_tensor *loss = iso_mse_loss(ctx, iso_module_forward(net, x), iso_mul_scalar(ctx, x, 0.5), NULL);
    assert_int_equal(iso_backward(loss), ISO_OK);
    if (iso_optimizer_step(o)) fail_msg("%s", iso_error_message(ctx));
    iso_optimizer_zero_grad(o);
    iso_scope_pop(ctx);
  }
}

/* State copied into a fresh optimiser after three steps continues with the same bits, for every kind. */
static const char *const kinds[] = {"sgd",      "adam",   "adamw", "rmsprop", "adagrad",
                                    "adadelta", "adamax", "nadam", "radam"};
enum { N_KINDS = sizeof kinds / sizeof *kinds };
static iso_optimizer *optimizer_of(iso_context *ctx, int kind, size_t n, const iso_named_tensor *p) {
  const iso_adam_options adam = {.lr = 0.01, .weight_decay = 0.02, .decoupled = kind == 2};
  switch (kind) {
  case 0:
    return iso_sgd_new(ctx, n, p,
                       &(iso_sgd_options){.lr = 0.05, .momentum = 0.9, .dampening = 0.1, .weight_decay = 1e-3});
  case 3: return iso_rmsprop_new(ctx, n, p, &(iso_rmsprop_options){.momentum = 0.5, .centered = true});
  case 4: return iso_adagrad_new(ctx, n, p, &(iso_adagrad_options){.lr_decay = 0.1, .initial = 0.25});
  case 5: return iso_adadelta_new(ctx, n, p, NULL);
  case 6: return iso_adamax_new(ctx, n, p, &adam);
  case 7: return iso_nadam_new(ctx, n, p, &(iso_nadam_options){.weight_decay = 0.1, .decoupled = true});
  case 8: return iso_radam_new(ctx, n, p, &(iso_adam_options){.beta2 = 0.9}); /* rectified from the sixth step on */
  default: return iso_adam_new(ctx, n, p, &adam);
  }
}
static void test_resume(void **state) {
  (void)state;
  for (int kind = 0; kind < N_KINDS; kind++) {
    iso_context *ctx = open_context(3, 1);
    iso_module *net = iso_linear_module(ctx, 6, 6, true), *copy = iso_linear_module(ctx, 6, 6, true);
    size_t n, n_state;
    const iso_named_tensor *p = iso_module_tensors(net, &n), *q = iso_module_tensors(copy, &n);
    iso_optimizer *a = optimizer_of(ctx, kind, n, p), *b = optimizer_of(ctx, kind, n, q);
    if (!a || !b) fail_msg("%s: %s", kinds[kind], iso_error_message(ctx));
    assert_string_equal(iso_optimizer_name(a), kinds[kind]);
    train(ctx, net, a, 3);
    const iso_named_tensor *from = iso_optimizer_state(a, &n_state), *to = iso_optimizer_state(b, &n_state);
    if (kind < 3) assert_string_equal(from[0].name, kind ? "weight.m" : "weight.momentum");
    assert_int_equal(n_state, 1 + 2 * (kind == 3 ? 3 : kind == 0 || kind == 4 ? 1 : 2) + (kind == 7));
    assert_string_equal(from[n_state - 1].name, "steps");
    for (size_t i = 0; i < n_state; i++) assert_int_equal(iso_tensor_assign(to[i].tensor, from[i].tensor), ISO_OK);
    for (size_t i = 0; i < n; i++) assert_int_equal(iso_tensor_assign(q[i].tensor, p[i].tensor), ISO_OK);
    assert_int_equal((int)iso_random_step(ctx), 3);
    train(ctx, net, a, 5);
    iso_random_set_step(ctx, 3);
    train(ctx, copy, b, 5);
    for (size_t i = 0; i < n; i++) assert_true(same_bits(p[i].tensor, q[i].tensor));
    iso_optimizer_free(a), iso_optimizer_free(b);
    iso_module_free(net), iso_module_free(copy);
    iso_context_free(ctx);
  }
}

/* With gradients of 0, AdamW only decays: matrices by lr·decay, biases not at all. */
static void test_decay_of_matrices_only(void **state) {
  (void)state;
  for (int matrices_only = 0; matrices_only < 2; matrices_only++) {
    iso_context *ctx = open_context(3, 1);
    iso_module *net = iso_linear_module(ctx, 2, 2, true);
    size_t n;
    const iso_named_tensor *p = iso_module_tensors(net, &n);
    assert_int_equal(n, 2);
    float before[2], after[2];
    iso_optimizer *o = iso_adam_new(ctx, n, p, &(iso_adam_options){.lr = 0.5, .weight_decay = 0.5, .decoupled = true});
    iso_optimizer_decay_matrices_only(o, matrices_only);
    for (int i = 0; i < 2; i++) {
      before[i] = *(const float *)iso_tensor_data(p[i].tensor);
      iso_grad_set(p[i].tensor,
                   iso_tensor_zeros(ctx, ISO_F32, iso_tensor_n_dims(p[i].tensor), iso_tensor_shape(p[i].tensor)));
    }
    assert_int_equal(iso_optimizer_step(o), ISO_OK);
    for (int i = 0; i < 2; i++) after[i] = *(const float *)iso_tensor_data(p[i].tensor);
    assert_true(before[0] != 0 && before[1] != 0);
    assert_true(after[0] == before[0] * 0.75f);
    assert_true(after[1] == (matrices_only ? before[1] : before[1] * 0.75f));
    iso_optimizer_free(o);
    iso_module_free(net);
    iso_context_free(ctx);
  }
}

static void test_optimizer_refuses(void **state) {
  (void)state;
  iso_context *ctx = open_context(3, 1);
  iso_module *net = iso_linear_module(ctx, 2, 2, true);
  size_t n;
  const iso_named_tensor *p = iso_module_tensors(net, &n);
  assert_null(iso_sgd_new(ctx, n, p, &(iso_sgd_options){.nesterov = true}));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "Nesterov");
  assert_null(iso_adam_new(ctx, n, p, &(iso_adam_options){.beta1 = 1.5}));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "1.5");
  assert_null(iso_rmsprop_new(ctx, n, p, &(iso_rmsprop_options){.alpha = -0.25}));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "-0.25");
  assert_null(iso_adadelta_new(ctx, n, p, &(iso_adadelta_options){.rho = 1}));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "decay of the means 0 and 1");
  assert_null(iso_adagrad_new(ctx, n, p, &(iso_adagrad_options){.initial = -2}));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "initial sum -2");
  assert_null(iso_adamax_new(ctx, n, p, &(iso_adam_options){.decoupled = true}));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "decoupled");
  assert_null(iso_nadam_new(ctx, n, p, &(iso_nadam_options){.momentum_decay = -1}));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "-1");
  iso_optimizer *o = iso_sgd_new(ctx, n, p, NULL);
  assert_true(iso_optimizer_lr(o) == 1e-3);
  iso_scope_push(ctx);
  iso_tensor *x = iso_tensor_full(ctx, ISO_F32, 2, ISO_DIMS(1, 2), 1);
  iso_tensor *loss = iso_sum_all(ctx, iso_module_forward(net, x));
  assert_int_equal(iso_accumulate(x, x, 1), ISO_OK); /* linear has saved x */
  assert_int_equal(iso_backward(loss), ISO_MODIFIED);
  assert_int_equal(iso_optimizer_step(o), ISO_MODIFIED);
  iso_clear_error(ctx);
  assert_int_equal(iso_optimizer_step(o), ISO_STATE); /* the gradients are incomplete */
  expect_error(ctx, ISO_STATE, "zero them first");
  iso_optimizer_zero_grad(o);
  assert_int_equal(iso_optimizer_step(o), ISO_OK);
  iso_scope_pop(ctx);
  iso_optimizer_free(o);
  iso_module_free(net);
  iso_context_free(ctx);
}

static void test_schedules(void **state) {
  (void)state;
  const iso_schedule constant = {.lr = 0.5},
                     warm = {.kind = ISO_SCHEDULE_STEP, .lr = 0.8, .warmup_steps = 3, .period = 2, .gamma = 0.5};
  assert_true(iso_schedule_lr(&constant, 1000000) == 0.5);
  const double expected[] = {0.2, 0.4, 0.6, 0.8, 0.8, 0.4, 0.4, 0.2};
  for (uint64_t i = 0; i < 8; i++) assert_true(fabs(iso_schedule_lr(&warm, i) - expected[i]) < 1e-15);
  const iso_schedule cosine = {.kind = ISO_SCHEDULE_COSINE, .lr = 1, .period = 4, .min_lr = 0.25};
  assert_true(iso_schedule_lr(&cosine, 0) == 1 && iso_schedule_lr(&cosine, 2) == 0.625 &&
              iso_schedule_lr(&cosine, 4) == 0.25);
  assert_true(iso_schedule_lr(&cosine, 400) == 0.25);
  const iso_schedule linear = {.kind = ISO_SCHEDULE_LINEAR, .lr = 1, .warmup_steps = 1, .period = 4};
  const double down[] = {0.5, 1, 0.75, 0.5, 0.25, 0, 0};
  for (uint64_t i = 0; i < 7; i++) assert_true(iso_schedule_lr(&linear, i) == down[i]);
}

/* ---- memory: every allocation of a training step failing in turn ---- */

static iso_status small_step(iso_context *ctx) {
  iso_module *parts[5];
  parts[0] = iso_conv2d_module(ctx, &(iso_conv2d_config){.in = 1, .out = 4, .kernel = 3, .pad = 1});
  parts[1] = iso_batch_norm_module(ctx, 4, 0, 0);
  parts[2] = iso_relu_module(ctx);
  parts[3] = iso_flatten_module(ctx);
  parts[4] = iso_linear_module(ctx, 64, 3, true);
  iso_module *net = iso_sequential(ctx, 5, parts);
  size_t n = 0;
  const iso_named_tensor *p = iso_module_tensors(net, &n);
  iso_optimizer *o = iso_sgd_new(ctx, n, p, &(iso_sgd_options){.lr = 0.1, .momentum = 0.9});
  iso_scope_push(ctx);
  const int64_t targets[] = {0, 1, 2, 1};
  iso_tensor *t = iso_tensor_copy_from(ctx, ISO_I64, 1, ISO_DIMS(4), targets);
  iso_step_begin(ctx, 2);
  for (int leaf = 0; leaf < 2; leaf++) {
    iso_tensor *x = iso_random_normal(ctx, ISO_F32, 4, ISO_DIMS(2, 1, 4, 4), 0, 1);
    iso_leaf_begin(ctx, leaf);
    iso_tensor *loss =
        iso_cross_entropy(ctx, iso_module_forward(net, x), iso_slice(ctx, t, 0, 2 * leaf, 2 * leaf + 2, 1),
                          &(iso_cross_entropy_options){.count = 4});
    iso_backward(loss);
    iso_leaf_end(ctx, loss);
  }
  iso_step_end(ctx, NULL);
  iso_optimizer_clip_grad_norm(o, 1, NULL);
  iso_optimizer_step(o);
  iso_scope_pop(ctx);
  iso_step_abandon(ctx);
  iso_optimizer_free(o);
  iso_module_free(net);
  return iso_error_code(ctx);
}

static void test_every_allocation_failing(void **state) {
  (void)state;
  iso_context *ctx = open_context(3, 1);
  assert_int_equal(small_step(ctx), ISO_OK);
  assert_int_equal(small_step(ctx), ISO_OK);
  const size_t live = iso_memory_get_info(ctx).live_bytes;
  int n_failures = 0;
  for (uint64_t at = 1;; at++) {
    iso_memory_fail_at(ctx, at);
    const iso_status status = small_step(ctx);
    iso_memory_fail_at(ctx, 0);
    if (status == ISO_OK) break;
    if (status != ISO_OUT_OF_MEMORY) fail_msg("allocation %d: %s", (int)at, iso_error_message(ctx));
    n_failures++;
    iso_clear_error(ctx);
    if (iso_memory_get_info(ctx).live_bytes != live)
      fail_msg("allocation %d left %zd bytes", (int)at, (ssize_t)(iso_memory_get_info(ctx).live_bytes - live));
    assert_true(at < 5000);
  }
  assert_true(n_failures > 100);
  assert_int_equal(small_step(ctx), ISO_OK);
  iso_context_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_names_are_pytorchs),
      cmocka_unit_test(test_models),
      cmocka_unit_test(test_initialisers),
      cmocka_unit_test(test_initialisers_of_whole_matrices),
      cmocka_unit_test(test_fusing_keeps_the_bits),
      cmocka_unit_test(test_convolution_layers),
      cmocka_unit_test(test_text_classifier),
      cmocka_unit_test(test_train_and_eval),
      cmocka_unit_test(test_registration_errors),
      cmocka_unit_test(test_resume),
      cmocka_unit_test(test_sequences),
      cmocka_unit_test(test_optimizer_refuses),
      cmocka_unit_test(test_decay_of_matrices_only),
      cmocka_unit_test(test_schedules),
      cmocka_unit_test(test_every_allocation_failing),
  };
  return cmocka_run_group_tests_name("nn", tests, NULL, NULL);
}
