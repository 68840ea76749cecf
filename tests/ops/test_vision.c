/* test_vision.c: ops/vision: values against formulas and brute force, ties, NaN, groups, layouts, refusals. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "ops/fixture.h" /* last: it names a context that headers name, too */

static void expect(const iso_tensor *t, int64_t n, const double *values, double tolerance) {
  double got[64];
  if (!t) fail_msg("%s", iso_error_message(ctx));
  assert_int_equal(iso_tensor_numel(t), n);
  assert_int_equal(iso_tensor_copy_to(iso_cast(ctx, t, ISO_F64), got, sizeof(double) * (size_t)n), ISO_OK);
  for (int64_t i = 0; i < n; i++)
    if (!(fabs(got[i] - values[i]) <= tolerance))
      fail_msg("element %lld is %.9g, %.9g is expected", (long long)i, got[i], values[i]);
}
#define COUNT_OF(...) ((int64_t)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)))
#define EXPECT(t, tolerance, ...) expect(t, COUNT_OF(__VA_ARGS__), (const double[]){__VA_ARGS__}, tolerance)
static iso_tensor *make(int n_dims, const int64_t *shape, const double *values) {
  return iso_cast(ctx, iso_tensor_copy_from(ctx, ISO_F64, n_dims, shape, values), ISO_F32);
}
#define BOXES(...) make(2, ISO_DIMS(COUNT_OF(__VA_ARGS__) / 4, 4), (const double[]){__VA_ARGS__})
#define SCORES(...) make(1, ISO_DIMS(COUNT_OF(__VA_ARGS__)), (const double[]){__VA_ARGS__})

static void test_boxes(void **state) {
  (void)state;
  iso_tensor *a = BOXES(0, 0, 2, 2, 1, 1, 4, 3), *b = BOXES(1, 0, 3, 2, 5, 5, 6, 7, 0, 0, 2, 2);
  EXPECT(iso_box_area(ctx, a), 0, 4, 6);
  EXPECT(iso_box_iou(ctx, a, b), 1e-7, 2.0 / 6, 0, 1, 2.0 / 8, 0, 1.0 / 9);
  EXPECT(iso_generalized_box_iou(ctx, a, b), 1e-6, 2.0 / 6, 0 - (42 - 6) / 42.0, 1, 2.0 / 8 - (9 - 8) / 9.0,
         0 - (30 - 8) / 30.0, 1.0 / 9 - (12 - 9) / 12.0);
  EXPECT(iso_distance_box_iou(ctx, a, BOXES(1, 0, 3, 2), 0), 1e-6, 2.0 / 6 - 1.0 / 13, 2.0 / 8 - 1.25 / 18);
  const double v = 4 / (M_PI * M_PI) * pow(atan(1) - atan(1.5), 2), iou = 2.0 / 8;
  EXPECT(iso_complete_box_iou(ctx, a, BOXES(1, 0, 3, 2), 0), 1e-6, 2.0 / 6 - 1.0 / 13,
         iou - 1.25 / 18 - v * v / (1 - iou + v));
  iso_tensor *form = BOXES(1, 2, 4, 8);
  EXPECT(iso_box_convert(ctx, form, ISO_BOX_XYXY, ISO_BOX_XYWH), 0, 1, 2, 3, 6);
  EXPECT(iso_box_convert(ctx, form, ISO_BOX_XYXY, ISO_BOX_CXCYWH), 0, 2.5, 5, 3, 6);
  EXPECT(iso_box_convert(ctx, form, ISO_BOX_XYWH, ISO_BOX_XYXY), 0, 1, 2, 5, 10);
  EXPECT(iso_box_convert(ctx, form, ISO_BOX_CXCYWH, ISO_BOX_XYXY), 0, -1, -2, 3, 6);
  EXPECT(iso_box_convert(ctx, form, ISO_BOX_CXCYWH, ISO_BOX_XYWH), 0, -1, -2, 4, 8);
  EXPECT(iso_clip_boxes(ctx, BOXES(-1, 1, 9, 9, 2, -3, 3, 4), 5, 6), 0, 0, 1, 6, 5, 2, 0, 3, 4);
  assert_int_equal(iso_tensor_numel(iso_box_iou(ctx, a, iso_slice(ctx, b, 0, 0, 0, 1))), 0);
}

static void test_nms(void **state) {
  (void)state;
  iso_tensor *boxes = BOXES(0, 0, 10, 10, 1, 1, 11, 11, 20, 20, 30, 30, 0, 0, 10, 10, 21, 20, 31, 30);
  EXPECT(iso_nms(ctx, boxes, SCORES(0.5, 0.9, 0.3, 0.7, 0.4), 0.5), 0, 1, 4);
  EXPECT(iso_nms(ctx, boxes, SCORES(0.5, 0.5, 0.5, 0.5, 0.5), 0.5), 0, 0, 2);
  EXPECT(iso_nms(ctx, boxes, SCORES(0.5, 0.9, 0.3, 0.7, 0.4), 0.99), 0, 1, 3, 4, 2);
  EXPECT(iso_nms(ctx, boxes, SCORES(0.5, 0.9, 0.3, (double)NAN, 0.4), 0.5), 0, 3, 4);
  /* An overlap that equals the threshold does not suppress. */
  EXPECT(iso_nms(ctx, BOXES(0, 0, 2, 1, 1, 0, 2, 1), SCORES(2, 1), 0.5), 0, 0, 1);
  const int64_t group[] = {7, 7, 7, -1, -1};
  iso_tensor *groups = iso_tensor_copy_from(ctx, ISO_I64, 1, ISO_DIMS(5), group);
  EXPECT(iso_batched_nms(ctx, boxes, SCORES(0.5, 0.9, 0.3, 0.7, 0.4), groups, 0.5), 0, 1, 3, 4, 2);
  iso_tensor *none = iso_tensor_zeros(ctx, ISO_F32, 2, ISO_DIMS(0, 4));
  assert_int_equal(iso_tensor_numel(iso_nms(ctx, none, iso_tensor_zeros(ctx, ISO_F32, 1, ISO_DIMS(0)), 0.5)), 0);
  assert_null(iso_nms(ctx, boxes, SCORES(1, 2), 0.5));
  expect_error(ISO_SHAPE_MISMATCH, "scores are (2) for 5 boxes");
  assert_null(iso_batched_nms(ctx, boxes, SCORES(1, 2, 3, 4, 5), SCORES(1, 2, 3, 4, 5), 0.5));
  expect_error(ISO_DTYPE_MISMATCH, "groups are f32");
}

/* Many boxes: no two that stay overlap by more, and every other one is overlapped by a better one that stays. */
static void test_nms_of_many(void **state) {
  (void)state;
  enum { N = 700 };
  static float box[N][4], score[N];
  static int64_t group[N];
  bool stays[N] = {false};
  iso_tensor *corner = iso_random_uniform(ctx, ISO_F32, 2, ISO_DIMS(N, 4), 0, 20);
  iso_tensor *boxes = iso_box_convert(ctx, corner, ISO_BOX_XYWH, ISO_BOX_XYXY);
  iso_tensor *scores = iso_random_uniform(ctx, ISO_F32, 1, ISO_DIMS(N), 0, 1);
  for (int i = 0; i < N; i++) group[i] = i % 3;
  iso_tensor_copy_to(boxes, box, sizeof box), iso_tensor_copy_to(scores, score, sizeof score);
  iso_tensor *groups = iso_tensor_copy_from(ctx, ISO_I64, 1, ISO_DIMS(N), group);
  iso_tensor *y = iso_batched_nms(ctx, boxes, scores, groups, 0.4);
  if (!y) fail_msg("%s", iso_error_message(ctx));
  const int64_t n = iso_tensor_numel(y), *kept = iso_tensor_data(y);
  for (int64_t i = 0; i < n; i++) stays[kept[i]] = true;
  for (int64_t i = 1; i < n; i++) assert_true(score[kept[i - 1]] >= score[kept[i]]);
  static float iou[N][N];
  iso_tensor_copy_to(iso_box_iou(ctx, boxes, boxes), iou, sizeof iou);
  for (int i = 0; i < N; i++) {
    bool overlapped = false;
    for (int64_t k = 0; k < n; k++) {
      const int64_t j = kept[k];
      overlapped |= j != i && group[i] == group[j] && score[j] >= score[i] && (double)iou[i][j] > 0.4;
    }
    assert_int_equal(overlapped, !stays[i]);
  }
  assert_in_range(n, 10, N - 10);
}

/* Bilinear interpolation at a point, written anew. */
static double sample(const double *x, int h, int w, double y, double at) {
  if (y < -1 || y > h || at < -1 || at > w) return 0;
  y = fmin(fmax(y, 0), h - 1), at = fmin(fmax(at, 0), w - 1);
  const int top = (int)y, left = (int)at, bottom = top + 1 < h ? top + 1 : top, right = left + 1 < w ? left + 1 : left;
  const double v = y - top, u = at - left;
  return (1 - v) * ((1 - u) * x[top * w + left] + u * x[top * w + right]) +
         v * ((1 - u) * x[bottom * w + left] + u * x[bottom * w + right]);
}

static void test_roi_align(void **state) {
  (void)state;
  enum { N = 2, C = 3, H = 7, W = 9, K = 3, P = 2, Q = 3 };
  static double x[N][C][H * W], want[K][C][P][Q];
  const double rois[K][5] = {{0, 1, 2, 9, 12}, {1, -6, -5, 30, 11}, {1, 4, 4, 4.5, 4.25}};
  for (int i = 0; i < N * C * H * W; i++) x[i / (C * H * W)][i / (H * W) % C][i % (H * W)] = sin(i * 1.7);
  iso_tensor *image = iso_tensor_copy_from(ctx, ISO_F64, 4, ISO_DIMS(N, C, H, W), x);
  iso_tensor *regions = iso_tensor_copy_from(ctx, ISO_F64, 2, ISO_DIMS(K, 5), rois);
  for (int aligned = 0; aligned < 2; aligned++)
    for (int samples = 0; samples < 3; samples++) {
      for (int k = 0; k < K; k++) {
        const double off = aligned ? 0.5 : 0, x1 = rois[k][1] * 0.5 - off, y1 = rois[k][2] * 0.5 - off;
        double width = rois[k][3] * 0.5 - off - x1, height = rois[k][4] * 0.5 - off - y1;
        if (!aligned) width = fmax(width, 1), height = fmax(height, 1);
        const int rows = samples ? samples : (int)ceil(height / P), columns = samples ? samples : (int)ceil(width / Q);
        for (int c = 0; c < C; c++)
          for (int p = 0; p < P; p++)
            for (int q = 0; q < Q; q++) {
              double sum = 0;
              for (int i = 0; i < rows; i++)
                for (int j = 0; j < columns; j++)
                  sum += sample(x[(int)rois[k][0]][c], H, W, y1 + (p + (i + 0.5) / rows) * height / P,
                                x1 + (q + (j + 0.5) / columns) * width / Q);
              want[k][c][p][q] = sum / fmax(rows * columns, 1);
            }
      }
      const iso_roi_options o = {.out_h = P, .out_w = Q, .scale = 0.5, .samples = samples, .aligned = aligned};
      iso_tensor *y = iso_roi_align(ctx, image, regions, &o);
      assert_true(iso_tensor_is_contiguous(y));
      expect(y, K * C * P * Q, &want[0][0][0][0], 1e-12);
      iso_tensor *same = iso_roi_align(ctx, iso_channels_last(ctx, image), regions, &o);
      assert_true(iso_tensor_is_channels_last(same));
      expect(same, K * C * P * Q, &want[0][0][0][0], 1e-12);
      iso_tensor *narrow = iso_roi_align(ctx, iso_cast(ctx, image, ISO_F32), iso_cast(ctx, regions, ISO_F32), &o);
      expect(narrow, K * C * P * Q, &want[0][0][0][0], 1e-5);
    }
  const iso_roi_options o = {.out_h = 1, .out_w = 1};
  assert_null(iso_roi_align(ctx, image, iso_mul_scalar(ctx, regions, 2), &o));
  expect_error(ISO_INVALID_ARGUMENT, "rois[1] names image 2");
  assert_null(iso_roi_align(ctx, image, iso_tensor_full(ctx, ISO_F64, 2, ISO_DIMS(1, 5), (double)NAN), &o));
  expect_error(ISO_INVALID_ARGUMENT, "rois[0]");
  assert_null(iso_roi_align(ctx, image, regions, NULL));
  expect_error(ISO_INVALID_ARGUMENT, "bins");
}

static void test_roi_pool(void **state) {
  (void)state;
  double x[20];
  for (int i = 0; i < 20; i++) x[i] = (i * 7) % 20;
  iso_tensor *image = iso_requires_grad(make(4, ISO_DIMS(1, 1, 4, 5), x), true);
  /* 0 7 14 1 8 · 15 2 9 16 3 · 10 17 4 11 18 · 5 12 19 6 13 */
  iso_tensor *rois = make(2, ISO_DIMS(2, 5), (const double[]){0, 0, 0, 3, 3, 0, 4, 3, 9, 9});
  const iso_roi_options o = {.out_h = 2, .out_w = 2};
  iso_tensor *y = iso_roi_pool(ctx, image, rois, &o);
  EXPECT(y, 0, 15, 16, 17, 19, 13, 0, 0, 0);
  assert_int_equal(iso_backward_with(y, NULL, NULL), ISO_OK);
  EXPECT(iso_grad(image), 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 1);
  iso_tensor *last = iso_roi_pool(ctx, iso_channels_last(ctx, image), rois, &o);
  assert_true(iso_tensor_is_channels_last(last));
  EXPECT(last, 0, 15, 16, 17, 19, 13, 0, 0, 0);
}

/* What has no gradient case, while memory runs out. */
static void test_out_of_memory(void **state) {
  (void)state;
  iso_tensor *boxes = BOXES(0, 0, 10, 10, 1, 1, 11, 11, 20, 20, 30, 30), *scores = SCORES(1, 2, 3);
  iso_tensor *groups = iso_cast(ctx, SCORES(1, 0, 1), ISO_I64),
             *image = iso_tensor_full(ctx, ISO_F32, 4, ISO_DIMS(1, 2, 3, 3), 1);
  iso_tensor *rois = make(2, ISO_DIMS(1, 5), (const double[]){0, 0, 0, 2, 2});
  size_t live = 0;
  uint64_t at = 0; /* the first call fails nowhere, and fills caches */
  for (bool failed = true; failed || at <= 1; at++) {
    iso_scope_push(ctx);
    iso_memory_fail_at(ctx, at);
    iso_tensor *kept = iso_batched_nms(ctx, boxes, scores, groups, 0.5);
    iso_tensor *pooled = iso_roi_pool(ctx, image, rois, &(iso_roi_options){.out_h = 2, .out_w = 2});
    iso_memory_fail_at(ctx, 0);
    failed = iso_error_code(ctx) != ISO_OK;
    if (failed) assert_int_equal(iso_error_code(ctx), ISO_OUT_OF_MEMORY), assert_null(pooled);
    else assert_true(kept && pooled);
    iso_clear_error(ctx);
    iso_scope_pop(ctx);
    if (at == 0) live = iso_memory_get_info(ctx).live_bytes;
    else assert_int_equal(iso_memory_get_info(ctx).live_bytes, live);
    assert_true(at < 10000);
  }
  assert_true(at > 10);
}

static void test_focal_loss(void **state) {
  (void)state;
  const double x[] = {-2, 0.5, 3}, t[] = {1, 0, 1};
  double want[3], sum = 0;
  for (int i = 0; i < 3; i++) {
    const double p = 1 / (1 + exp(-x[i])), p_t = t[i] > 0 ? p : 1 - p;
    want[i] = (t[i] > 0 ? 0.25 : 0.75) * pow(1 - p_t, 2) * -log(p_t), sum += want[i];
  }
  iso_tensor *a = SCORES(-2, 0.5, 3), *b = SCORES(1, 0, 1);
  expect(iso_sigmoid_focal_loss(ctx, a, b, 0.25, 2, &(iso_loss_options){.reduction = ISO_REDUCTION_NONE}), 3, want,
         1e-6);
  expect(iso_sigmoid_focal_loss(ctx, a, b, 0.25, 2, &(iso_loss_options){.reduction = ISO_REDUCTION_SUM}), 1, &sum,
         1e-6);
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
  const struct CMUnitTest tests[] = {TEST(test_boxes),        TEST(test_nms),      TEST(test_nms_of_many),
                                     TEST(test_roi_align),    TEST(test_roi_pool), TEST(test_focal_loss),
                                     TEST(test_out_of_memory)};
  return cmocka_run_group_tests_name("vision", tests, NULL, NULL);
}
