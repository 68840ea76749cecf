/* test_session.c: inference sessions: a sample's bits alone, in batches, filled up and among NaN; no stopwatch; memory
 * planned once; errors that are one request's; threads; every allocation failed once. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <isobit/isobit.h>

#if defined(__SANITIZE_ADDRESS__)
enum { PLANS_MEMORY = 0 }; /* every block comes straight from the source there */
#else
enum { PLANS_MEMORY = 1 };
#endif

static iso_context *open_context(const char *preset) {
  iso_policy policy;
  iso_context *ctx;
  assert_int_equal(iso_policy_preset(preset, &policy), ISO_OK);
  assert_int_equal(iso_context_new(&(iso_context_options){.n_threads = 2, .policy = &policy}, &ctx), ISO_OK);
  return ctx;
}

enum { VOCABULARY = 50, POSITIONS = 40, WIDTH = 24 };

static iso_module *small_bert(iso_context *ctx) {
  return iso_bert_new(
      ctx,
      &(iso_bert_config){
          .vocabulary = VOCABULARY, .width = WIDTH, .layers = 2, .heads = 3, .positions = POSITIONS, .classes = 5});
}
static iso_module *text_cnn(iso_context *ctx) {
  return iso_text_model_new(
      ctx, "textcnn", &(iso_text_model_config){.vocabulary = VOCABULARY, .classes = 5, .width = WIDTH, .padding = 3});
}
static iso_module *text_classifier(iso_context *ctx) {
  return iso_text_classifier_new(
      ctx, &(iso_text_classifier_config){.vocabulary = VOCABULARY, .width = WIDTH, .classes = 5, .padding = 3});
}

static iso_session *open_session(iso_context *ctx, iso_module *m, int64_t max_batch, int64_t max_length) {
  assert_non_null(m);
  iso_session *s =
      iso_session_new(ctx, m, &(iso_session_options){.max_batch = max_batch, .max_length = max_length, .padding = 3});
  if (!s) fail_msg("%s", iso_error_message(ctx));
  return s;
}

static void run(iso_session *s, const iso_session_input *in, iso_session_result *out) {
  if (iso_session_run(s, in, out)) fail_msg("%s", out->message);
}

/* ---- bits ---- */

enum { N_TEXTS = 7, LONGEST = 33 };
static const int64_t text_lengths[N_TEXTS] = {1, 5, 33, 17, 2, 32, 9};
static int64_t token(int text, int64_t at) { return 4 + (text * 31 + at * 7) % (VOCABULARY - 4); }

/* Text by text, then all at once filled up to `length` with ids that no vocabulary has. */
static void same_in_a_batch(iso_session *s, int64_t length) {
  iso_session_result alone = {0}, batch = {0};
  int64_t ids[N_TEXTS * POSITIONS];
  for (int i = 0; i < N_TEXTS; i++)
    for (int64_t k = 0; k < length; k++)
      ids[i * length + k] = k < text_lengths[i] ? token(i, k) : (k % 2 ? INT64_MAX : -1 - k);
  run(s, &(iso_session_input){ISO_I64, 2, ISO_DIMS(N_TEXTS, length), ids, text_lengths}, &batch);
  const size_t row = (size_t)batch.shape[1] * sizeof(float);
  for (int i = 0; i < N_TEXTS; i++) {
    run(s, &(iso_session_input){ISO_I64, 2, ISO_DIMS(1, text_lengths[i]), ids + i * length, NULL}, &alone);
    assert_memory_equal(alone.data, (char *)batch.data + (size_t)i * row, row);
  }
  iso_session_result_release(s, &alone), iso_session_result_release(s, &batch);
}

static void test_a_texts_bits_are_its_own(void **state) {
  (void)state;
  iso_module *(*const models[])(iso_context *) = {small_bert, text_cnn, text_classifier};
  static const char *const presets[] = {"default", "fast", "portable"};
  for (size_t m = 0; m < sizeof models / sizeof models[0]; m++)
    for (int p = 0; p < 3; p++) {
      iso_context *ctx = open_context(presets[p]);
      iso_module *model = models[m](ctx);
      iso_session *s = open_session(ctx, model, 4, 16);
      same_in_a_batch(s, LONGEST);
      same_in_a_batch(s, POSITIONS);
      iso_session_free(s);
      iso_module_free(model);
      iso_context_free(ctx);
    }
}

static void test_nan_in_padded_slots(void **state) {
  (void)state;
  iso_context *ctx = open_context("default");
  iso_module *parts[] = {
      iso_transformer_encoder(ctx, 2, &(iso_encoder_config){.width = WIDTH, .heads = 2, .dropout = 0.1}),
      iso_sequence_pooling_module(ctx, ISO_POOLING_MEAN, true)};
  iso_module *model = iso_sequential(ctx, 2, parts);
  iso_session *s = open_session(ctx, model, 0, 0);
  iso_session_result alone = {0}, batch = {0};
  float x[2][8][WIDTH];
  const int64_t lengths[] = {3, 8};
  for (int b = 0; b < 2; b++)
    for (int i = 0; i < 8; i++)
      for (int k = 0; k < WIDTH; k++) x[b][i][k] = i < lengths[b] ? (float)((b + i * 5 + k * 3) % 11) / 8 - 0.5f : NAN;
  run(s, &(iso_session_input){ISO_F32, 3, ISO_DIMS(2, 8, WIDTH), x, lengths}, &batch);
  run(s, &(iso_session_input){ISO_F32, 3, ISO_DIMS(1, 3, WIDTH), x, NULL}, &alone);
  assert_memory_equal(alone.data, batch.data, WIDTH * sizeof(float));
  for (int k = 0; k < 2 * WIDTH; k++) assert_true(isfinite(((const float *)batch.data)[k]));
  iso_session_result_release(s, &alone), iso_session_result_release(s, &batch);
  iso_session_free(s);
  iso_module_free(model);
  iso_context_free(ctx);
}

/* An image's bits: alone, and as the last of five; those of the plain module. */
static void test_images(void **state) {
  (void)state;
  iso_context *ctx = open_context("default");
  iso_module *model = iso_model_new(ctx, "resnet8", NULL);
  iso_session *s = open_session(ctx, model, 0, 0);
  iso_session_result alone = {0}, batch = {0};
  enum { N = 5, PIXELS = 28 * 28 };
  float x[N][PIXELS];
  for (int i = 0; i < N * PIXELS; i++) (&x[0][0])[i] = (float)(i * 37 % 101) / 101;
  run(s, &(iso_session_input){ISO_F32, 4, ISO_DIMS(N, 1, 28, 28), x, NULL}, &batch);
  run(s, &(iso_session_input){ISO_F32, 4, ISO_DIMS(1, 1, 28, 28), x[N - 1], NULL}, &alone);
  assert_memory_equal(alone.data, (float *)batch.data + 10 * (N - 1), 10 * sizeof(float));
  float plain[10 * N];
  iso_tensor *y = iso_module_forward(model, iso_tensor_copy_from(ctx, ISO_F32, 4, ISO_DIMS(N, 1, 28, 28), x));
  assert_int_equal(iso_tensor_copy_to(y, plain, sizeof plain), ISO_OK);
  assert_memory_equal(plain, batch.data, sizeof plain);
  iso_session_result_release(s, &alone), iso_session_result_release(s, &batch);
  iso_session_free(s);
  iso_module_free(model);
  iso_context_free(ctx);
}

/* ---- freezing ---- */

enum { N_IMAGES = 3, N_CLASSES = 10 };
static void classify(iso_module *m, float out[N_IMAGES * N_CLASSES]) {
  iso_context *ctx = iso_module_context(m);
  float x[N_IMAGES][32 * 32];
  for (int i = 0; i < N_IMAGES * 32 * 32; i++) (&x[0][0])[i] = (float)(i * 37 % 101) / 101 - 0.5f;
  iso_scope_push(ctx);
  const iso_tensor *y = iso_module_forward(m, iso_tensor_copy_from(ctx, ISO_F32, 4, ISO_DIMS(N_IMAGES, 1, 32, 32), x));
  if (!y) fail_msg("%s", iso_error_message(ctx));
  assert_int_equal(iso_tensor_copy_to(y, out, N_IMAGES * N_CLASSES * sizeof *out), ISO_OK);
  iso_scope_pop(ctx);
}

/* Running statistics and affine parts that do something. */
static void stir(iso_module *m) {
  size_t n;
  const iso_named_tensor *list = iso_module_tensors(m, &n);
  for (size_t i = 0; i < n; i++) {
    const bool variance = strstr(list[i].name, "running_var"), mean = strstr(list[i].name, "running_mean");
    const bool affine = iso_tensor_n_dims(list[i].tensor) == 1;
    if (!variance && !mean && !affine) continue;
    float *data = iso_tensor_data(list[i].tensor);
    for (int64_t k = 0; k < iso_tensor_numel(list[i].tensor); k++)
      data[k] = variance ? 0.5f + (float)(k % 7) / 5
                : mean   ? (float)(k % 5) / 20 - 0.1f
                         : data[k] + (float)(k % 3) / 16;
    iso_tensor_touch(list[i].tensor);
  }
}

/* Exact: every bit stays. Folded: close to it, and each batch norm is gone. */
static void test_freezing(void **state) {
  (void)state;
  static const struct {
    const char *name;
    int n_norms;
  } models[] = {{"resnet8", 9}, {"resnet50", 53}, {"mobilenet", 27}, {"cnn", 0}};
  for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
    iso_context *ctx = open_context("reproducible");
    iso_module *m = iso_model_new(ctx, models[i].name, &(iso_model_config){.height = 32, .width = 32});
    float before[N_IMAGES * N_CLASSES], exact[N_IMAGES * N_CLASSES], folded[N_IMAGES * N_CLASSES];
    iso_freeze_report report;
    stir(m);
    iso_module_train(m, false);
    classify(m, before);
    assert_int_equal(iso_module_freeze(m, NULL, &report), ISO_OK);
    assert_true(report.n_packed > 0 && report.n_folded == 0);
    classify(m, exact);
    assert_memory_equal(before, exact, sizeof before);
    if (iso_module_freeze(m, &(iso_freeze_options){.fold_batch_norm = true}, &report))
      fail_msg("%s", iso_error_message(ctx));
    assert_int_equal(report.n_folded, models[i].n_norms);
    classify(m, folded);
    double worst = 0, largest = 0;
    for (int k = 0; k < N_IMAGES * N_CLASSES; k++) {
      worst = fmax(worst, fabs((double)folded[k] - (double)before[k]));
      largest = fmax(largest, fabs((double)before[k]));
    }
    if (!(worst <= 1e-4 * largest)) fail_msg("%s: %g away of %g", models[i].name, worst, largest);
    size_t n;
    const iso_named_tensor *list = iso_module_tensors(m, &n);
    for (size_t k = 0; k < n; k++) assert_false(iso_wants_grad(list[k].tensor));
    iso_module_freeze(m, &(iso_freeze_options){.fold_batch_norm = true}, &report);
    assert_int_equal(report.n_folded, 0); /* once is enough */
    iso_module_free(m);
    iso_context_free(ctx);
  }
}

/* ---- no stopwatch, no fresh memory ---- */

static void test_nothing_is_timed_and_memory_is_planned(void **state) {
  (void)state;
  iso_context *ctx = open_context("default"); /* tuning=measure */
  assert_int_equal(iso_policy_current(ctx)->tuning, ISO_TUNING_MEASURE);
  iso_module *model =
      iso_bert_new(ctx, &(iso_bert_config){.vocabulary = VOCABULARY, .width = 128, .layers = 2, .heads = 4});
  const iso_tuner_stats start = iso_tuner_get_stats(ctx); /* initialisers are timed */
  iso_session *s = open_session(ctx, model, 4, 64);
  const iso_memory_info before = iso_memory_get_info(ctx);
  iso_session_result y = {0};
  int64_t ids[4 * 64];
  for (int i = 0; i < 4 * 64; i++) ids[i] = i % VOCABULARY;
  for (int64_t batch = 1; batch <= 4; batch++)
    for (int64_t length = 1; length <= 64; length += 3)
      run(s, &(iso_session_input){ISO_I64, 2, ISO_DIMS(batch, length), ids, NULL}, &y);
  const iso_tuner_stats tuner = iso_tuner_get_stats(ctx);
  assert_int_equal(tuner.n_timed, start.n_timed);
  assert_int_equal(tuner.n_samples, start.n_samples);
  const iso_session_stats stats = iso_session_get_stats(s);
  assert_int_equal(stats.n_runs, 4 * 22);
  assert_int_equal(stats.n_failed, 0);
  assert_true(stats.p50_ms > 0 && stats.p99_ms >= stats.p50_ms);
  assert_true(stats.packed_bytes > 0 && stats.planned_bytes > 0);
  if (PLANS_MEMORY) {
    assert_true(stats.n_blocks > 0);
    assert_int_equal(stats.n_missed, 0);
    /* Nothing but plans and small things was taken beside the stretch. */
    assert_true(iso_memory_get_info(ctx).peak_bytes < before.live_bytes + (3 << 20));
  }
  iso_session_result_release(s, &y);
  iso_session_free(s);
  iso_module_free(model);
  iso_context_free(ctx);
}

/* Larger than what was warmed: from the heap, with the same bits. */
static void test_beyond_what_was_warmed(void **state) {
  (void)state;
  iso_context *ctx = open_context("default");
  iso_module *model = small_bert(ctx);
  iso_session *s = open_session(ctx, model, 1, 2);
  same_in_a_batch(s, POSITIONS);
  if (PLANS_MEMORY) assert_true(iso_session_get_stats(s).n_missed > 0);
  const iso_session_shape shape = {ISO_I64, 2, {N_TEXTS, POSITIONS}};
  assert_int_equal(iso_session_warm(s, 1, &shape), ISO_OK);
  const uint64_t missed = iso_session_get_stats(s).n_missed;
  same_in_a_batch(s, POSITIONS);
  if (PLANS_MEMORY) assert_true(iso_session_get_stats(s).n_missed <= missed);
  iso_session_free(s);
  iso_module_free(model);
  iso_context_free(ctx);
}

/* ---- errors ---- */

static void refuses(iso_session *s, const iso_session_input *in, iso_status code, const char *words) {
  iso_session_result y = {0};
  assert_int_equal(iso_session_run(s, in, &y), code);
  if (!strstr(y.message, words)) fail_msg("'%s' does not say '%s'", y.message, words);
  iso_session_result_release(s, &y);
}

static void test_an_error_is_one_requests(void **state) {
  (void)state;
  iso_context *ctx = open_context("default");
  iso_module *model = small_bert(ctx);
  iso_session *s = open_session(ctx, model, 2, 8);
  const int64_t ids[2 * (POSITIONS + 1)] = {4, 5, 6, 7}, beyond[] = {2, 3}, negative[] = {-1, 2}, unknown[] = {4, 50};
  const float real[] = {1, 2, 3, 4};
  iso_session_result before = {0}, after = {0};
  const iso_session_input good = {ISO_I64, 2, ISO_DIMS(2, 2), ids, NULL};
  run(s, &good, &before);
  refuses(s, &(iso_session_input){ISO_I64, 2, ISO_DIMS(2, 2), ids, beyond}, ISO_INVALID_ARGUMENT,
          "sample 1 has length 3: 0 to 2");
  refuses(s, &(iso_session_input){ISO_I64, 2, ISO_DIMS(2, 2), ids, negative}, ISO_INVALID_ARGUMENT,
          "sample 0 has length -1");
  refuses(s, &(iso_session_input){ISO_I64, 1, ISO_DIMS(4), ids, beyond}, ISO_SHAPE_MISMATCH, "1 dimensions");
  refuses(s, &(iso_session_input){ISO_F32, 2, ISO_DIMS(2, 2), real, NULL}, ISO_DTYPE_MISMATCH, "f32");
  refuses(s, &(iso_session_input){ISO_I64, 2, ISO_DIMS(1, 2), unknown, NULL}, ISO_INVALID_ARGUMENT, "50");
  refuses(s, &(iso_session_input){ISO_I64, 2, ISO_DIMS(1, POSITIONS + 1), ids, NULL}, ISO_SHAPE_MISMATCH,
          "this model has 40 positions");
  refuses(s, &(iso_session_input){ISO_I64, 2, ISO_DIMS(0, 2), ids, NULL}, ISO_INVALID_ARGUMENT, "no samples");
  refuses(s, &(iso_session_input){ISO_I64, 2, ISO_DIMS(2, -2), ids, NULL}, ISO_INVALID_ARGUMENT, "-2");
  refuses(s, &(iso_session_input){ISO_I64, 2, ISO_DIMS(2, 2), NULL, NULL}, ISO_INVALID_ARGUMENT, "no data");
  refuses(s, NULL, ISO_INVALID_ARGUMENT, "input");
  run(s, &good, &after);
  assert_memory_equal(before.data, after.data, 10 * sizeof(float));
  assert_string_equal(after.message, "");
  assert_int_equal(iso_session_get_stats(s).n_failed, 10);
  iso_session_result_release(s, &before), iso_session_result_release(s, &after);
  iso_session_free(s);
  iso_module_free(model);
  assert_null(iso_session_new(ctx, NULL, NULL));
  assert_int_equal(iso_error_code(ctx), ISO_INVALID_ARGUMENT);
  iso_context_free(ctx);
}

/* Each allocation of opening and of a request fails in turn: a clean error, and the next request has the usual bits. */
static void test_every_allocation_fails_once(void **state) {
  (void)state;
  iso_context *ctx = open_context("default");
  iso_module *model = small_bert(ctx);
  iso_session *s = NULL;
  for (uint64_t n = 1; !s; n++) {
    iso_memory_fail_at(ctx, n);
    s = iso_session_new(ctx, model, &(iso_session_options){.max_batch = 2, .max_length = 3});
    iso_memory_fail_at(ctx, 0);
    if (!s) assert_int_equal(iso_error_code(ctx), ISO_OUT_OF_MEMORY);
    iso_clear_error(ctx);
  }
  const int64_t ids[] = {4, 5, 6, 7, 8, 9}, lengths[] = {3, 1};
  const iso_session_input in = {ISO_I64, 2, ISO_DIMS(2, 3), ids, lengths};
  iso_session_result usual = {0}, y = {0};
  run(s, &in, &usual);
  uint64_t n_failed = 0;
  for (bool done = false; !done;) {
    iso_memory_fail_at(ctx, n_failed + 1);
    const iso_status status = iso_session_run(s, &in, &y);
    iso_memory_fail_at(ctx, 0);
    done = status == ISO_OK;
    if (done) assert_memory_equal(usual.data, y.data, 10 * sizeof(float));
    else {
      assert_int_equal(status, ISO_OUT_OF_MEMORY);
      n_failed++;
      run(s, &in, &y);
      assert_memory_equal(usual.data, y.data, 10 * sizeof(float));
      iso_session_result_release(s, &y);
    }
  }
  assert_true(n_failed > 20);
  iso_session_result_release(s, &usual), iso_session_result_release(s, &y);
  iso_session_free(s);
  iso_module_free(model);
  iso_context_free(ctx);
}

/* ---- threads ---- */

enum { N_THREADS = 4, N_CALLS = 40 };
typedef struct caller {
  iso_session *session;
  const float *expected; /* (N_TEXTS,5) */
  int first, n_wrong;
} caller;

static void *call(void *user) {
  caller *c = user;
  iso_session_result y = {0};
  int64_t ids[POSITIONS];
  for (int i = 0; i < N_CALLS; i++) {
    const int text = (c->first + i) % N_TEXTS;
    for (int64_t k = 0; k < text_lengths[text]; k++) ids[k] = token(text, k);
    if (i % 5 == 4) ids[0] = -7; /* refused, in the middle of the others */
    const iso_status status =
        iso_session_run(c->session, &(iso_session_input){ISO_I64, 2, ISO_DIMS(1, text_lengths[text]), ids, NULL}, &y);
    if (i % 5 == 4) c->n_wrong += status == ISO_OK;
    else c->n_wrong += status != ISO_OK || memcmp(y.data, c->expected + 5 * text, 5 * sizeof(float)) != 0;
  }
  iso_session_result_release(c->session, &y);
  return NULL;
}

static void test_threads_share_a_session(void **state) {
  (void)state;
  iso_context *ctx = open_context("default");
  iso_module *model = small_bert(ctx);
  iso_session *s = open_session(ctx, model, 1, LONGEST);
  float expected[N_TEXTS * 5];
  iso_session_result y = {0};
  int64_t ids[POSITIONS];
  for (int i = 0; i < N_TEXTS; i++) {
    for (int64_t k = 0; k < text_lengths[i]; k++) ids[k] = token(i, k);
    run(s, &(iso_session_input){ISO_I64, 2, ISO_DIMS(1, text_lengths[i]), ids, NULL}, &y);
    memcpy(expected + 5 * i, y.data, 5 * sizeof(float));
  }
  pthread_t thread[N_THREADS];
  caller callers[N_THREADS];
  for (int i = 0; i < N_THREADS; i++) {
    callers[i] = (caller){s, expected, i, 0};
    assert_int_equal(pthread_create(&thread[i], NULL, call, &callers[i]), 0);
  }
  for (int i = 0; i < N_THREADS; i++) {
    pthread_join(thread[i], NULL);
    assert_int_equal(callers[i].n_wrong, 0);
  }
  assert_int_equal(iso_session_get_stats(s).n_failed, N_THREADS * N_CALLS / 5);
  iso_session_result_release(s, &y);
  iso_session_free(s);
  iso_module_free(model);
  iso_context_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_texts_bits_are_its_own),
                                     cmocka_unit_test(test_nan_in_padded_slots),
                                     cmocka_unit_test(test_images),
                                     cmocka_unit_test(test_freezing),
                                     cmocka_unit_test(test_nothing_is_timed_and_memory_is_planned),
                                     cmocka_unit_test(test_beyond_what_was_warmed),
                                     cmocka_unit_test(test_an_error_is_one_requests),
                                     cmocka_unit_test(test_every_allocation_fails_once),
                                     cmocka_unit_test(test_threads_share_a_session)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
