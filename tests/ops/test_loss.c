/* test_loss.c: losses: values that are exact, refusals that name what is wrong, edges. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <isobit/isobit.h>

static iso_context *ctx;
static int setup(void **state) {
  (void)state;
  assert_int_equal(iso_context_new(NULL, &ctx), ISO_OK);
  return 0;
}
static int teardown(void **state) {
  (void)state;
  iso_context_free(ctx);
  return 0;
}

static double item(const iso_tensor *t) {
  double value = NAN;
  if (!t) fail_msg("%s", iso_error_message(ctx));
  assert_int_equal(iso_tensor_item(t, &value), ISO_OK);
  return value;
}
static double at(const iso_tensor *t, int64_t i) {
  double value = NAN;
  iso_tensor_at(t, &i, &value);
  return value;
}
static iso_tensor *floats(int64_t n, const float *v) { return iso_tensor_copy_from(ctx, ISO_F32, 1, &n, v); }
static iso_tensor *integers(int64_t n, const int64_t *v) { return iso_tensor_copy_from(ctx, ISO_I64, 1, &n, v); }
#define FLOATS(...) floats((int64_t)(sizeof((float[]){__VA_ARGS__}) / 4), (const float[]){__VA_ARGS__})
#define INTEGERS(...) integers((int64_t)(sizeof((int64_t[]){__VA_ARGS__}) / 8), (const int64_t[]){__VA_ARGS__})
#define REFUSED(status, words, ...)                                                                                    \
  do {                                                                                                                 \
    assert_null(__VA_ARGS__);                                                                                          \
    assert_int_equal(iso_error_code(ctx), status);                                                                     \
    if (!strstr(iso_error_message(ctx), words)) fail_msg("'%s' in '%s'", words, iso_error_message(ctx));               \
    iso_clear_error(ctx);                                                                                              \
  } while (0)

static void test_values(void **state) {
  (void)state;
  iso_tensor *x = FLOATS(0, 3, -4), *t = FLOATS(1, 1, -4);
  assert_true(item(iso_mse_loss(ctx, x, t, &(iso_loss_options){.reduction = ISO_REDUCTION_SUM})) == 5);
  assert_true(item(iso_mse_loss(ctx, x, t, &(iso_loss_options){.count = 10})) == 0.5);
  assert_true(item(iso_l1_loss(ctx, x, t, NULL)) == 1);
  assert_true(item(iso_l1_loss(ctx, x, t, &(iso_loss_options){.weight = FLOATS(3, 0, 9)})) == 1);
  iso_tensor *each = iso_smooth_l1_loss(ctx, x, t, 2, &(iso_loss_options){.reduction = ISO_REDUCTION_NONE});
  assert_true(at(each, 0) == 0.25 && at(each, 1) == 1 && at(each, 2) == 0);
  each = iso_huber_loss(ctx, x, t, 1, &(iso_loss_options){.reduction = ISO_REDUCTION_NONE});
  assert_true(at(each, 0) == 0.5 && at(each, 1) == 1.5 && at(each, 2) == 0);
  assert_true(item(iso_smooth_l1_loss(ctx, x, t, 0, NULL)) == 1);
  each = iso_hinge_embedding_loss(ctx, FLOATS(2, 0.25f, 2), FLOATS(1, -1, -1), 1,
                                  &(iso_loss_options){.reduction = ISO_REDUCTION_NONE});
  assert_true(at(each, 0) == 2 && at(each, 1) == 0.75 && at(each, 2) == 0);
  assert_true(item(iso_margin_ranking_loss(ctx, FLOATS(1, 2), FLOATS(2, 1), FLOATS(1, 1), 0.5, NULL)) == 0.75);
}

static void test_multilabel(void **state) {
  (void)state;
  iso_tensor *x = FLOATS(0.1f, 0.2f, 0.4f, 0.8f);
  const double loss = item(iso_multilabel_margin_loss(ctx, x, INTEGERS(3, 0, -1, 1), NULL)); /* PyTorch's own example */
  assert_true(fabs(loss - 0.85) < 1e-6);
  assert_true(item(iso_multi_margin_loss(ctx, FLOATS(1, 3, 0), iso_tensor_zeros(ctx, ISO_I64, 0, NULL), 1, NULL)) == 1);
  REFUSED(ISO_INVALID_ARGUMENT, "target[2] of row 0 is 4",
          iso_multilabel_margin_loss(ctx, x, INTEGERS(3, 0, 4, 1), NULL));
}

static void test_classes(void **state) {
  (void)state;
  iso_tensor *x = iso_reshape(ctx, FLOATS(-1, -2, -3, -4, -5, -6), 2, ISO_DIMS(2, 3)), *t = INTEGERS(2, 0);
  const iso_cross_entropy_options ignores = {.ignores = true, .ignore_index = 2, .reduction = ISO_REDUCTION_NONE};
  assert_true(item(iso_nll_loss(ctx, x, t, NULL)) == 3.5);
  iso_tensor *rows = iso_nll_loss(ctx, x, t, &ignores);
  assert_true(at(rows, 0) == 0 && !signbit(at(rows, 0)) && at(rows, 1) == 4);
  assert_true(item(iso_nll_loss(ctx, x, t, &(iso_cross_entropy_options){.weights = FLOATS(3, 1, 1)})) == 15.0 / 4);
  /* Every target ignored: 0/0. */
  assert_true(isnan(item(
      iso_cross_entropy(ctx, x, INTEGERS(7, 7), &(iso_cross_entropy_options){.ignores = true, .ignore_index = 7}))));
  REFUSED(ISO_INVALID_ARGUMENT, "target[1] is 3: classes run from 0 to 2", iso_nll_loss(ctx, x, INTEGERS(0, 3), NULL));
  REFUSED(ISO_INVALID_ARGUMENT, "target[0] is -100", iso_cross_entropy(ctx, x, INTEGERS(-100, 1), NULL));
  REFUSED(ISO_INVALID_ARGUMENT, "label_smoothing is 2",
          iso_cross_entropy(ctx, x, t, &(iso_cross_entropy_options){.label_smoothing = 2}));
  REFUSED(ISO_SHAPE_MISMATCH, "weights have 2 elements for 3 classes",
          iso_cross_entropy(ctx, x, t, &(iso_cross_entropy_options){.weights = FLOATS(1, 2)}));
  REFUSED(ISO_SHAPE_MISMATCH, "(N,classes,…)", iso_cross_entropy(ctx, x, INTEGERS(0, 1, 2), NULL));
}

/* One image pixel by pixel, as rows and as an image: the same bits, forward and backward. */
static void test_image_is_rows(void **state) {
  (void)state;
  enum { N = 2, C = 5, HW = 6 };
  iso_tensor *image = iso_requires_grad(iso_random_normal(ctx, ISO_F32, 4, ISO_DIMS(N, C, 2, 3), 0, 2), true);
  iso_tensor *rows =
      iso_reshape(ctx, iso_permute(ctx, iso_detach(ctx, image), (int[]){0, 2, 3, 1}), 2, ISO_DIMS(N * HW, C));
  iso_requires_grad(rows, true);
  int64_t classes[N * HW];
  for (int i = 0; i < N * HW; i++) classes[i] = i * 7 % (C + 1); /* C is ignored */
  iso_tensor *t = integers(N * HW, classes);
  const iso_cross_entropy_options o = {.ignores = true, .ignore_index = C};
  iso_tensor *a = iso_cross_entropy(ctx, image, iso_reshape(ctx, t, 3, ISO_DIMS(N, 2, 3)), &o);
  assert_int_equal(iso_backward(a), ISO_OK);
  iso_tensor *b = iso_cross_entropy(ctx, rows, t, &o);
  assert_true(item(a) == item(b));
  assert_int_equal(iso_backward(b), ISO_OK);
  float da[N * HW * C], db[N * HW * C];
  iso_tensor *back = iso_permute(ctx, iso_grad(image), (int[]){0, 2, 3, 1});
  assert_int_equal(iso_tensor_copy_to(back, da, sizeof da), ISO_OK);
  assert_int_equal(iso_tensor_copy_to(iso_grad(rows), db, sizeof db), ISO_OK);
  assert_memory_equal(da, db, sizeof da);
}

static void test_binary_at_the_ends(void **state) {
  (void)state;
  iso_tensor *p = iso_requires_grad(FLOATS(0, 1, 0, 1), true), *t = FLOATS(0, 1, 1, 0);
  iso_tensor *loss = iso_binary_cross_entropy(ctx, p, t, &(iso_loss_options){.reduction = ISO_REDUCTION_NONE});
  assert_true(at(loss, 0) == 0 && at(loss, 1) == 0 && at(loss, 2) == 100 && at(loss, 3) == 100);
  assert_int_equal(iso_backward_with(loss, NULL, NULL), ISO_OK);
  const iso_tensor *g = iso_grad(p);
  assert_true(at(g, 0) == 0 && at(g, 1) == 0 && at(g, 2) == (double)-1e12f && at(g, 3) == (double)1e12f);
  assert_true(item(iso_kl_div(ctx, FLOATS(-1, -2), FLOATS(0, 1), false, NULL)) == 1);
}

/* Whether a path of frames spells the target once repeats are merged and blanks (0) dropped. */
static bool spells(const int *path, int frames, const int64_t *target, int letters) {
  int n = 0;
  for (int i = 0; i < frames; i++) {
    if (!path[i] || (i && path[i] == path[i - 1])) continue;
    if (n == letters || path[i] != target[n]) return false;
    n++;
  }
  return n == letters;
}

/* CTC against the sum over every path there is. */
static void test_ctc(void **state) {
  (void)state;
  enum { T = 6, N = 5, C = 3, S = 3 };
  const int64_t targets[N * S] = {1, 2, 1, 1, 1, 0, 2, 0, 0, 0, 0, 0, 2, 2, 2}, frames[N] = {6, 5, 6, 3, 4},
                            letters[N] = {3, 2, 1, 0, 3}; /* the last one needs five frames */
  iso_tensor *x = iso_log_softmax(ctx, iso_random_normal(ctx, ISO_F64, 3, ISO_DIMS(T, N, C), 0, 1), 2);
  iso_tensor *loss =
      iso_ctc_loss(ctx, x, iso_reshape(ctx, integers(N * S, targets), 2, ISO_DIMS(N, S)), integers(N, frames),
                   integers(N, letters), &(iso_ctc_options){.reduction = ISO_REDUCTION_NONE});
  const double *log_p = iso_tensor_data(x);
  for (int i = 0; i < N; i++) {
    double sum = 0;
    int paths = 1;
    for (int t = 0; t < frames[i]; t++) paths *= C;
    for (int k = 0; k < paths; k++) {
      int path[T], rest = k;
      double score = 0;
      for (int t = 0; t < frames[i]; t++, rest /= C) path[t] = rest % C, score += log_p[(t * N + i) * C + path[t]];
      if (spells(path, (int)frames[i], targets + i * S, (int)letters[i])) sum += exp(score);
    }
    if (sum > 0) assert_true(fabs(at(loss, i) + log(sum)) < 1e-12);
    else assert_true(at(loss, i) == (double)INFINITY);
  }
  /* Lengths that do not lie side by side. */
  int64_t apart[2 * N] = {0};
  for (int i = 0; i < N; i++) apart[2 * i] = frames[i];
  iso_tensor *again = iso_ctc_loss(ctx, x, iso_reshape(ctx, integers(N * S, targets), 2, ISO_DIMS(N, S)),
                                   iso_slice(ctx, integers(2 * N, apart), 0, 0, 2 * N, 2), integers(N, letters),
                                   &(iso_ctc_options){.reduction = ISO_REDUCTION_NONE});
  for (int i = 0; i < N; i++) assert_true(at(again, i) == at(loss, i));
  loss = iso_ctc_loss(ctx, x, integers(N * S, targets), integers(N, frames), integers(N, (int64_t[]){0, 0, 0, 0, 16}),
                      NULL);
  assert_null(loss);
  iso_clear_error(ctx);
  loss = iso_ctc_loss(ctx, x, integers(3, targets), integers(N, frames), integers(N, (int64_t[]){0, 0, 0, 0, 3}),
                      &(iso_ctc_options){.zero_infinity = true, .reduction = ISO_REDUCTION_NONE});
  assert_true(at(loss, 4) < 100 && at(loss, 0) == -(log_p[0] + log_p[N * C] + log_p[2 * N * C] + log_p[3 * N * C] +
                                                    log_p[4 * N * C] + log_p[5 * N * C]));
  REFUSED(ISO_INVALID_ARGUMENT, "input_lengths[4] is 7",
          iso_ctc_loss(ctx, x, integers(3, targets), integers(N, (int64_t[]){0, 0, 0, 0, 7}),
                       integers(N, (int64_t[]){0, 0, 0, 0, 3}), NULL));
  REFUSED(ISO_INVALID_ARGUMENT, "target 1 of sample 4 is 3",
          iso_ctc_loss(ctx, x, integers(2, (int64_t[]){1, 3}), integers(N, frames),
                       integers(N, (int64_t[]){0, 0, 0, 0, 2}), NULL));
}

static void test_empty(void **state) {
  (void)state;
  iso_tensor *none = iso_tensor_zeros(ctx, ISO_F32, 2, ISO_DIMS(0, 3)),
             *t = iso_tensor_zeros(ctx, ISO_I64, 1, ISO_DIMS(0));
  assert_true(isnan(item(iso_mse_loss(ctx, none, none, NULL))));
  assert_true(item(iso_l1_loss(ctx, none, none, &(iso_loss_options){.reduction = ISO_REDUCTION_SUM})) == 0);
  assert_true(isnan(item(iso_cross_entropy(ctx, none, t, NULL))));
  assert_true(item(iso_nll_loss(ctx, none, t, &(iso_cross_entropy_options){.reduction = ISO_REDUCTION_SUM})) == 0);
  REFUSED(ISO_SHAPE_MISMATCH, "x is (0,3) but target is (0)",
          iso_huber_loss(ctx, none, iso_tensor_zeros(ctx, ISO_F32, 1, ISO_DIMS(0)), 1, NULL));
  REFUSED(ISO_INVALID_ARGUMENT, "delta is 0", iso_huber_loss(ctx, none, none, 0, NULL));
  REFUSED(ISO_INVALID_ARGUMENT, "beta is -1", iso_smooth_l1_loss(ctx, none, none, -1, NULL));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_values),        cmocka_unit_test(test_multilabel),         cmocka_unit_test(test_classes),
      cmocka_unit_test(test_image_is_rows), cmocka_unit_test(test_binary_at_the_ends), cmocka_unit_test(test_ctc),
      cmocka_unit_test(test_empty),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
