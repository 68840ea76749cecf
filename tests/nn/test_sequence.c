/* test_sequence.c: attention, encoders, pooling, BERT and text classifiers: shapes, names, what a sample's bits may
 * depend on, training, errors. Values against PyTorch: tests/pretrained and tests/conformance. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <isobit/isobit.h>

enum { BATCH = 3, LENGTH = 11, WIDTH = 16, VOCABULARY = 50 };

static iso_context *open_context(int n_threads) {
  iso_policy policy;
  iso_context *ctx;
  assert_int_equal(iso_policy_preset("reproducible", &policy), ISO_OK);
  assert_int_equal(iso_context_new(&(iso_context_options){.n_threads = n_threads, .policy = &policy}, &ctx), ISO_OK);
  return ctx;
}
static void expect_error(iso_context *ctx, iso_status code, const char *words) {
  assert_int_equal(iso_error_code(ctx), code);
  if (!strstr(iso_error_message(ctx), words)) fail_msg("'%s' does not say '%s'", iso_error_message(ctx), words);
  iso_clear_error(ctx);
}
static void expect_fine(iso_context *ctx) {
  if (iso_error_code(ctx)) fail_msg("%s", iso_error_message(ctx));
}

static iso_tensor *random_floats(iso_context *ctx, int n_dims, const int64_t *shape, uint32_t site) {
  iso_tensor *t = iso_tensor_new(ctx, ISO_F32, n_dims, shape);
  iso_fill_normal(t, &(iso_philox){.seed = 3, .stream = ISO_PHILOX_USER, .site = site}, 0, 1);
  return t;
}
static iso_tensor *lengths_of(iso_context *ctx, int n, const int64_t *lengths) {
  return iso_tensor_copy_from(ctx, ISO_I64, 1, ISO_DIMS(n), lengths);
}
/* The floats of a tensor, to be freed. */
static float *floats(const iso_tensor *t) {
  const size_t n = (size_t)iso_tensor_numel(t);
  float *x = malloc(n * sizeof *x + 1);
  assert_int_equal(iso_tensor_copy_to(t, x, n * sizeof *x), ISO_OK);
  return x;
}

/* ---- the same bits alone, in company, and whatever padding holds ---- */

/* Rows of y: (batch,length,width) up to the sample's length, or (batch,width). */
static void expect_row(const iso_tensor *all, int b, const iso_tensor *alone, int64_t length) {
  const int n = iso_tensor_n_dims(all);
  const int64_t *shape = iso_tensor_shape(all);
  const int64_t each = n == 3 ? shape[1] * shape[2] : shape[1], used = n == 3 ? length * shape[2] : shape[1];
  float *x = floats(all), *y = floats(alone);
  assert_true(iso_same_bits(x + b * each, y, (size_t)used, ISO_F32));
  free(x), free(y);
}

/* x (BATCH,LENGTH,…) floats. */
static void check_independence(iso_context *ctx, iso_module *m, uint32_t site) {
  static const int64_t lengths[BATCH] = {LENGTH, 4, 7};
  iso_module_train(m, false);
  iso_no_grad_push(ctx);
  iso_tensor *x = random_floats(ctx, 3, ISO_DIMS(BATCH, LENGTH, WIDTH), site);
  float *data = floats(x);
  for (int b = 0; b < BATCH; b++)
    for (int64_t i = lengths[b] * WIDTH; i < LENGTH * WIDTH; i++) data[b * LENGTH * WIDTH + i] = i % 2 ? NAN : INFINITY;
  iso_tensor *poisoned = iso_tensor_copy_from(ctx, ISO_F32, 3, ISO_DIMS(BATCH, LENGTH, WIDTH), data);
  free(data);
  iso_tensor *all = iso_module_forward_sequence(m, poisoned, lengths_of(ctx, BATCH, lengths));
  expect_fine(ctx);
  for (int b = 0; b < BATCH; b++) {
    iso_tensor *row = iso_slice(ctx, x, 0, b, b + 1, 1);
    iso_tensor *cut = iso_slice(ctx, row, 1, 0, lengths[b], 1);
    expect_row(all, b, iso_module_forward_sequence(m, cut, NULL), lengths[b]);
    expect_fine(ctx);
  }
  iso_no_grad_pop(ctx);
}

static iso_encoder_config small_encoder(bool norm_first, bool causal) {
  return (iso_encoder_config){
      .width = WIDTH, .heads = 4, .feedforward = 24, .norm_first = norm_first, .causal = causal};
}

static void test_a_sample_is_alone(void **state) {
  (void)state;
  for (int threads = 1; threads <= 3; threads += 2) {
    iso_context *ctx = open_context(threads);
    for (int kind = 0; kind < 8; kind++) {
      const iso_encoder_config e = small_encoder(kind & 1, kind & 2);
      iso_module *m =
          kind < 4 ? iso_transformer_encoder(ctx, 2, &e)
          : kind == 4
              ? iso_multi_head_attention_module(ctx, &(iso_multi_head_attention_config){.width = WIDTH, .heads = 2})
              : iso_sequence_pooling_module(ctx, (iso_pooling)(kind - 5), kind == 5);
      check_independence(ctx, m, (uint32_t)kind);
      iso_module_free(m);
    }
    iso_context_free(ctx);
  }
}

/* Ids: a padded batch with any ids behind the end against each text alone. */
static void check_texts(iso_context *ctx, iso_module *m) {
  static const int64_t lengths[BATCH] = {5, LENGTH, 1};
  int64_t ids[2][BATCH][LENGTH];
  iso_module_train(m, false);
  iso_no_grad_push(ctx);
  for (int v = 0; v < 2; v++)
    for (int b = 0; b < BATCH; b++)
      for (int i = 0; i < LENGTH; i++)
        ids[v][b][i] = i < lengths[b] ? 1 + (7 * b + 3 * i) % (VOCABULARY - 1) : v ? 1 + (i + b) % 40 : 0;
  for (int v = 0; v < 2; v++) {
    iso_tensor *x = iso_tensor_copy_from(ctx, ISO_I64, 2, ISO_DIMS(BATCH, LENGTH), ids[v]);
    iso_tensor *all = iso_module_forward_sequence(m, x, lengths_of(ctx, BATCH, lengths));
    expect_fine(ctx);
    for (int b = 0; b < BATCH; b++) {
      iso_tensor *cut = iso_slice(ctx, iso_slice(ctx, x, 0, b, b + 1, 1), 1, 0, lengths[b], 1);
      expect_row(all, b, iso_module_forward_sequence(m, cut, NULL), lengths[b]);
      expect_fine(ctx);
    }
  }
  iso_no_grad_pop(ctx);
}

static iso_bert_config small_bert(int64_t classes) {
  return (iso_bert_config){
      .vocabulary = VOCABULARY, .width = WIDTH, .layers = 2, .heads = 4, .positions = LENGTH, .classes = classes};
}

static void test_texts_are_alone(void **state) {
  (void)state;
  iso_context *ctx = open_context(2);
  for (const char *const *name = iso_text_model_names(); *name; name++) {
    const iso_bert_config bert = small_bert(5);
    iso_module *m = iso_text_model_new(
        ctx, *name, &(iso_text_model_config){.vocabulary = VOCABULARY, .classes = 5, .width = WIDTH, .bert = &bert});
    expect_fine(ctx);
    check_texts(ctx, m);
    iso_module_free(m);
  }
  for (int pooling = 0; pooling < 4; pooling++) {
    iso_bert_config c = small_bert(0);
    c.pooling = (iso_pooling)(pooling % 3), c.pooler = pooling == 3, c.normalize = pooling == 0;
    iso_module *m = iso_bert_new(ctx, &c);
    check_texts(ctx, m);
    iso_module_free(m);
  }
  iso_context_free(ctx);
}

/* ---- names ---- */

static void test_names_are_hugging_faces(void **state) {
  (void)state;
  iso_context *ctx = open_context(1);
  iso_bert_config c = small_bert(3);
  c.pooler = true;
  iso_module *m = iso_bert_new(ctx, &c);
  static const char *const names[] = {"embeddings.word_embeddings.weight",
                                      "embeddings.token_type_embeddings.weight",
                                      "embeddings.LayerNorm.bias",
                                      "encoder.layer.1.attention.self.query.weight",
                                      "encoder.layer.0.attention.output.dense.bias",
                                      "encoder.layer.0.attention.output.LayerNorm.weight",
                                      "encoder.layer.1.intermediate.dense.weight",
                                      "encoder.layer.1.output.LayerNorm.bias",
                                      "pooler.dense.weight",
                                      "classifier.bias"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) assert_non_null(iso_module_find_tensor(m, names[i]));
  assert_int_equal(iso_bert_get_config(m)->layers, 2);
  assert_null(iso_bert_get_config(iso_module_find(m, "encoder")));
  assert_int_equal(iso_module_checkpoint_blocks(m, true), 2);
  iso_module_free(m);
  iso_context_free(ctx);
}

/* ---- training: the loss falls, and checkpointing changes no bit, dropout included ---- */

static double train(const char *name, bool checkpointing, int n_threads, char hash[33]) {
  iso_context *ctx = open_context(n_threads);
  const iso_bert_config bert = small_bert(2);
  iso_module *m = iso_text_model_new(
      ctx, name,
      &(iso_text_model_config){.vocabulary = VOCABULARY, .classes = 2, .width = WIDTH, .dropout = 0.1, .bert = &bert});
  iso_module_checkpoint_blocks(m, checkpointing);
  size_t n;
  const iso_named_tensor *list = iso_module_tensors(m, &n);
  iso_optimizer *adam = iso_adam_new(ctx, n, list, &(iso_adam_options){.lr = 1e-2});
  double loss = 0, first = 0;
  for (int step = 0; step < 30; step++) {
    int64_t ids[8 * LENGTH], lengths[8], y[8];
    for (int b = 0; b < 8; b++) {
      y[b] = b % 2, lengths[b] = 3 + (b + step) % (LENGTH - 3);
      for (int i = 0; i < LENGTH; i++)
        ids[b * LENGTH + i] = i >= lengths[b] ? 0 : y[b] ? 1 + (i + step) % 20 : 25 + (i + step) % 20;
    }
    iso_scope_push(ctx);
    iso_tensor *x = iso_tensor_copy_from(ctx, ISO_I64, 2, ISO_DIMS(8, LENGTH), ids);
    iso_tensor *scores = iso_module_forward_sequence(m, x, lengths_of(ctx, 8, lengths));
    iso_tensor *l = iso_cross_entropy(ctx, scores, iso_tensor_copy_from(ctx, ISO_I64, 1, ISO_DIMS(8), y), NULL);
    iso_backward(l);
    iso_tensor_item(l, &loss);
    if (!step) first = loss;
    iso_optimizer_step(adam), iso_optimizer_zero_grad(adam);
    iso_scope_pop(ctx);
    expect_fine(ctx);
  }
  assert_true(loss < 0.6 * first);
  iso_module_train(m, false);
  int64_t probe[LENGTH];
  for (int i = 0; i < LENGTH; i++) probe[i] = i + 1;
  iso_tensor_hash(iso_module_forward(m, iso_tensor_copy_from(ctx, ISO_I64, 2, ISO_DIMS(1, LENGTH), probe)), hash);
  iso_optimizer_free(adam);
  iso_module_free(m);
  iso_context_free(ctx);
  return loss;
}

static void test_training(void **state) {
  (void)state;
  char hash[3][33];
  for (const char *const *name = iso_text_model_names(); *name; name++) {
    const double loss = train(*name, false, 1, hash[0]);
    assert_true(train(*name, true, 1, hash[1]) == loss && train(*name, false, 3, hash[2]) == loss);
    assert_string_equal(hash[0], hash[1]);
    assert_string_equal(hash[0], hash[2]);
  }
}

/* ---- pooling and its empty texts ---- */

/* ---- fused passes have the bits of single ones ---- */

static void expect_same(const iso_tensor *a, const iso_tensor *b) {
  assert_non_null(a), assert_non_null(b);
  float *x = floats(a), *y = floats(b);
  assert_int_equal(iso_tensor_numel(a), iso_tensor_numel(b));
  assert_true(iso_same_bits(x, y, (size_t)iso_tensor_numel(a), ISO_F32));
  free(x), free(y);
}

/* Without a tape a linear layer takes what follows it along; with one every operator is by itself. */
static void test_inference_has_the_bits_of_the_tape(void **state) {
  (void)state;
  iso_context *ctx = open_context(2);
  int64_t ids[BATCH * LENGTH];
  for (int i = 0; i < BATCH * LENGTH; i++) ids[i] = i * 7 % VOCABULARY;
  iso_tensor *t = iso_tensor_copy_from(ctx, ISO_I64, 2, ISO_DIMS(BATCH, LENGTH), ids);
  iso_tensor *lengths = lengths_of(ctx, BATCH, (const int64_t[]){LENGTH, 3, 8});
  for (int a = ISO_FEEDFORWARD_GELU; a <= ISO_FEEDFORWARD_RELU; a++) {
    iso_module *m = iso_bert_new(ctx, &(iso_bert_config){.vocabulary = VOCABULARY,
                                                         .width = WIDTH,
                                                         .layers = 2,
                                                         .heads = 4,
                                                         .positions = LENGTH,
                                                         .activation = (iso_feedforward)a,
                                                         .classes = 5});
    iso_module_train(m, false);
    iso_tensor *taped = iso_module_forward_sequence(m, t, lengths);
    iso_no_grad_push(ctx);
    iso_tensor *fused = iso_module_forward_sequence(m, t, lengths);
    iso_no_grad_pop(ctx);
    expect_fine(ctx);
    expect_same(taped, fused);
    iso_module_free(m);
  }
  iso_context_free(ctx);
}

/* x + (x·w1ᵀ)·w2ᵀ: the gradient of x is dy and then the product, which adds itself to it in place. */
static void test_gradients_added_in_place(void **state) {
  enum { ROWS = 37, WIDE = 1300 };
  (void)state;
  for (int threads = 1; threads <= 2; threads++) {
    iso_context *ctx = open_context(threads);
    iso_tensor *x = random_floats(ctx, 2, ISO_DIMS(ROWS, WIDTH), 1),
               *dy = random_floats(ctx, 2, ISO_DIMS(ROWS, WIDTH), 2);
    iso_tensor *w1 = random_floats(ctx, 2, ISO_DIMS(WIDE, WIDTH), 3),
               *w2 = random_floats(ctx, 2, ISO_DIMS(WIDTH, WIDE), 4);
    iso_requires_grad(x, true);
    iso_tensor *h = iso_mul_scalar(ctx, x, 1); /* no leaf, whose sums wait elsewhere */
    iso_tensor *y = iso_add(ctx, iso_linear(ctx, iso_linear(ctx, h, w1, NULL, false), w2, NULL, false), h);
    assert_int_equal(iso_backward_with(y, dy, NULL), ISO_OK);
    iso_no_grad_push(ctx);
    iso_tensor *product = iso_matmul(ctx, iso_matmul(ctx, dy, w2), w1);
    expect_same(iso_grad(x), iso_add(ctx, dy, product));
    iso_no_grad_pop(ctx);
    float *before = floats(dy), *again = floats(random_floats(ctx, 2, ISO_DIMS(ROWS, WIDTH), 2));
    assert_memory_equal(before, again, ROWS * WIDTH * sizeof *before); /* the caller's dy is no sum */
    free(before), free(again);
    expect_fine(ctx);
    iso_context_free(ctx);
  }
}

static void test_pooling(void **state) {
  (void)state;
  iso_context *ctx = open_context(1);
  static const float x[] = {1, -2, 3, 4, 5, -6, 7, 8};
  iso_tensor *t = iso_tensor_copy_from(ctx, ISO_F32, 3, ISO_DIMS(2, 2, 2), x);
  static const struct {
    iso_pooling pooling;
    int64_t lengths[2];
    float y[4];
  } cases[] = {{ISO_POOLING_MEAN, {2, 1}, {2, 1, 5, -6}},
               {ISO_POOLING_MEAN, {0, 2}, {0, 0, 6, 1}},
               {ISO_POOLING_MAX, {1, 2}, {1, -2, 7, 8}},
               {ISO_POOLING_MAX, {0, 0}, {0, 0, 0, 0}},
               {ISO_POOLING_CLS, {1, 2}, {1, -2, 5, -6}}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    float *y = floats(iso_pool_sequence(ctx, t, lengths_of(ctx, 2, cases[i].lengths), cases[i].pooling));
    assert_memory_equal(y, cases[i].y, sizeof cases[i].y);
    free(y);
  }
  assert_null(iso_pool_sequence(ctx, iso_select(ctx, t, 0, 0), NULL, ISO_POOLING_MEAN));
  expect_error(ctx, ISO_SHAPE_MISMATCH, "(batch,length,width)");
  iso_context_free(ctx);
}

/* ---- refusals ---- */

static void test_refusals(void **state) {
  (void)state;
  iso_context *ctx = open_context(1);
  assert_null(iso_multi_head_attention_module(ctx, &(iso_multi_head_attention_config){.width = 10, .heads = 3}));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "width 10, heads 3");
  assert_null(iso_transformer_encoder(ctx, 0, &(iso_encoder_config){.width = 8, .heads = 2}));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "0 layers");
  assert_null(iso_transformer_encoder_layer(ctx, &(iso_encoder_config){.width = 8, .heads = 2, .dropout = 1}));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "dropout 1");
  assert_null(iso_bert_new(ctx, &(iso_bert_config){.layers = -1}));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "layers -1");
  assert_null(iso_text_model_new(ctx, "nothing", &(iso_text_model_config){.vocabulary = 5, .classes = 2}));
  expect_error(ctx, ISO_NOT_FOUND, "textcnn");
  assert_null(iso_text_model_new(ctx, "bert", NULL));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "vocabulary 0");
  const iso_bert_config c = small_bert(0);
  iso_module *m = iso_bert_new(ctx, &c);
  assert_null(iso_module_forward(m, iso_tensor_full(ctx, ISO_I64, 2, ISO_DIMS(1, LENGTH + 1), 3)));
  expect_error(ctx, ISO_SHAPE_MISMATCH, "12 tokens long: this model has 11");
  assert_null(iso_module_forward(m, iso_tensor_full(ctx, ISO_I64, 2, ISO_DIMS(1, 2), VOCABULARY)));
  assert_int_not_equal(iso_error_code(ctx), ISO_OK);
  iso_clear_error(ctx);
  assert_null(iso_module_forward(iso_module_find(m, "encoder.layer"),
                                 iso_tensor_full(ctx, ISO_F32, 3, ISO_DIMS(1, 2, WIDTH), 1)));
  expect_error(ctx, ISO_STATE, "the layer it belongs to");
  iso_module_free(m);
  iso_context_free(ctx);
}

/* A model made, run forward and backward, and freed. */
static void make_and_run(iso_context *ctx) {
  const iso_bert_config c = small_bert(2);
  iso_scope_push(ctx);
  iso_init_restart(ctx);
  iso_module *m = iso_bert_new(ctx, &c);
  iso_tensor *ids = iso_tensor_full(ctx, ISO_I64, 2, ISO_DIMS(2, 5), 4);
  iso_tensor *y = iso_module_forward_sequence(m, ids, lengths_of(ctx, 2, (const int64_t[]){5, 2}));
  iso_tensor *loss = y ? iso_mean_all(ctx, y) : NULL;
  if (loss) iso_backward(loss);
  iso_scope_pop(ctx);
  iso_module_free(m);
}

/* Out of memory at every allocation in turn: an error, and not a byte left. */
static void test_every_allocation_failing(void **state) {
  (void)state;
  iso_context *ctx = open_context(1);
  make_and_run(ctx); /* lends workspace and fills caches */
  expect_fine(ctx);
  const size_t live = iso_memory_get_info(ctx).live_bytes;
  bool done = false;
  for (uint64_t at = 1; !done; at++) {
    iso_memory_fail_at(ctx, at);
    make_and_run(ctx);
    iso_memory_fail_at(ctx, 0);
    done = iso_error_code(ctx) == ISO_OK;
    if (!done) assert_int_equal(iso_error_code(ctx), ISO_OUT_OF_MEMORY);
    iso_clear_error(ctx);
    if (iso_memory_get_info(ctx).live_bytes != live)
      fail_msg("allocation %d left %zd bytes", (int)at, (ssize_t)(iso_memory_get_info(ctx).live_bytes - live));
    assert_true(at < 100000);
  }
  iso_context_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_sample_is_alone),
                                     cmocka_unit_test(test_texts_are_alone),
                                     cmocka_unit_test(test_names_are_hugging_faces),
                                     cmocka_unit_test(test_training),
                                     cmocka_unit_test(test_inference_has_the_bits_of_the_tape),
                                     cmocka_unit_test(test_gradients_added_in_place),
                                     cmocka_unit_test(test_pooling),
                                     cmocka_unit_test(test_refusals),
                                     cmocka_unit_test(test_every_allocation_failing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
