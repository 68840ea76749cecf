/* The orders: the accumulators of order.h against the words of the contract written out a second way (whole arrays of
 * chunk sums, level-by-level trees), and lanes.h at every width against order.h. */
#include "numeric_test.h"
#include "numeric/bulk.h"
#include "numeric/order.h"
#include <math.h>

static const size_t sizes[] = {0,   1,    2,    3,    5,    63,   64,   65,   127,  200,  255,   256,   257,
                               511, 1023, 1024, 1025, 1300, 2048, 4095, 4096, 4097, 8192, 12289, 28673, 40000};
enum { N_SIZES = sizeof sizes / sizeof *sizes, MOST = 40000 };
static float x[MOST], y[MOST];
static double xd[MOST], yd[MOST];

static void fill(int spread) {
  uint64_t seed = 3;
  for (int i = 0; i < MOST; i++) {
    x[i] = test_float(&seed, spread), y[i] = test_float(&seed, spread);
    xd[i] = (double)x[i] * 0x1.23456789abcdep0, yd[i] = (double)y[i];
  }
}
static void assert_same(float a, float b) { assert_int_equal(float_bits(a), float_bits(b)); }
static void assert_same_f64(double a, double b) { assert_true(double_bits(a) == double_bits(b)); }

/* Level by level, as the contract words it; v is overwritten. */
static float tree_by_levels(float *v, size_t n) {
  if (!n) return 0.0f;
  for (; n > 1; n = (n + 1) / 2)
    for (size_t i = 0; i < n; i += 2) v[i / 2] = i + 1 < n ? v[i] + v[i + 1] : v[i];
  return v[0];
}
static void tree(void **state) {
  (void)state;
  fill(8);
  for (size_t n = 0; n <= 300; n++) {
    float copy[300];
    memcpy(copy, x, n * sizeof *x);
    assert_same(iso__tree_f32(x, n), tree_by_levels(copy, n));
  }
}

static float chunk_sum(size_t from, size_t n, int product) {
  float acc = 0.0f;
  for (size_t k = from; k < n && k < from + 256; k++) acc = product ? fmaf(x[k], y[k], acc) : acc + x[k];
  return acc;
}
static void ordered(void **state) {
  (void)state;
  fill(8);
  for (int s = 0; s < N_SIZES; s++)
    for (int product = 0; product < 2; product++) {
      float chunks[MOST / 256 + 1];
      size_t n_chunks = 0;
      for (size_t k = 0; k < sizes[s]; k += 256) chunks[n_chunks++] = chunk_sum(k, sizes[s], product);
      float total = 0.0f;
      for (size_t p = 0; p < n_chunks; p += 4) {
        float panel = 0.0f;
        for (size_t c = p; c < p + 4 && c < n_chunks; c++) panel += chunks[c];
        total += panel;
      }
      assert_same(total, iso__fold_f32(chunks, n_chunks));
      assert_same(total, product ? iso__ordered_dot_f32(x, 1, y, 1, sizes[s]) : iso__ordered_sum_f32(x, 1, sizes[s]));
    }
}
static void ordered_strides_and_absent_terms(void **state) {
  (void)state;
  fill(8);
  /* Absent terms keep their k and change nothing: the same as terms of zero. */
  for (size_t gap = 1; gap < 3000; gap += 271) {
    struct iso__ordered_f32 skipping = {0}, zeros = {0};
    for (int k = 0; k < 700; k++) iso__ordered_fma_f32(&skipping, x[k], y[k]), iso__ordered_fma_f32(&zeros, x[k], y[k]);
    iso__ordered_skip_f32(&skipping, gap);
    for (size_t k = 0; k < gap; k++) iso__ordered_add_f32(&zeros, 0.0f);
    for (int k = 700; k < 2500; k++) iso__ordered_add_f32(&skipping, x[k]), iso__ordered_add_f32(&zeros, x[k]);
    assert_same(iso__ordered_end_f32(&skipping), iso__ordered_end_f32(&zeros));
  }
  float backwards[1000], every_third[1000];
  for (int i = 0; i < 1000; i++) backwards[i] = x[999 - i], every_third[i] = y[3 * i];
  assert_same(iso__ordered_dot_f32(x + 999, -1, y, 3, 1000), iso__ordered_dot_f32(backwards, 1, every_third, 1, 1000));
  /* −0 never comes out. */
  const float minus_zero = -0.0f;
  assert_same(iso__ordered_sum_f32(&minus_zero, 1, 1), 0.0f);
  assert_same(iso__lanes_sum_f32(&minus_zero, 1, 1), 0.0f);
  const float tiny = -0x1p-100f, little = 0x1p-100f;
  assert_same(iso__ordered_dot_f32(&tiny, 1, &little, 1, 1), 0.0f);
  assert_same(iso__lanes_dot_f32(&tiny, 1, &little, 1, 1), 0.0f);
}

static float lanes_by_definition(size_t n, int operation, float mean) {
  float panels[MOST / 4096 + 1];
  size_t n_panels = 0;
  for (size_t p = 0; p < n; p += 4096) {
    float lane[64] = {0};
    for (size_t i = p; i < n && i < p + 4096; i++) {
      float *l = &lane[(i - p) % 64];
      const float d = x[i] - mean;
      *l = operation == 0 ? *l + x[i] : operation == 1 ? fmaf(x[i], y[i], *l) : fmaf(d, d, *l);
    }
    panels[n_panels++] = tree_by_levels(lane, 64);
  }
  return tree_by_levels(panels, n_panels) + 0.0f;
}
static void lanes(void **state) {
  (void)state;
  const struct iso__bulk *tables[3];
  const int n_tables = iso__bulk_available(tables);
  for (int spread = 0; spread < 20; spread += 8) {
    fill(spread);
    for (size_t s = 0; s < N_SIZES + 140; s++) {
      const size_t n = s < N_SIZES ? sizes[s] : s - N_SIZES;
      const float sum = lanes_by_definition(n, 0, 0), dot = lanes_by_definition(n, 1, 0);
      const float deviation = lanes_by_definition(n, 2, 0.3f);
      assert_same(sum, iso__lanes_sum_f32(x, 1, n));
      assert_same(dot, iso__lanes_dot_f32(x, 1, y, 1, n));
      for (int t = 0; t < n_tables; t++) {
        /* In a buffer of exactly n: a read beyond the row is an error under the address sanitiser. */
        float *row = malloc((n ? n : 1) * sizeof *row);
        memcpy(row, x, n * sizeof *row);
        assert_same(sum, tables[t]->lanes_sum(row, n));
        assert_same(dot, tables[t]->lanes_dot(row, y, n));
        assert_same(deviation, tables[t]->lanes_square_deviation(row, 0.3f, n));
        free(row);
      }
    }
  }
}

static float f32_at(const void *args, size_t i) { return ((const float *)args)[i]; }
static double f64_at(const void *args, size_t i) { return ((const double *)args)[i]; }
static void moments(void **state) {
  (void)state;
  fill(0);
  for (int s = 1; s < N_SIZES; s++) {
    const size_t n = sizes[s];
    float sum[MOST / 256 + 1], mean[MOST / 256 + 1], m2[MOST / 256 + 1], terms[MOST / 256 + 1];
    size_t c = 0;
    for (size_t k = 0; k < n; k += 256, c++) {
      const size_t end = k + 256 < n ? k + 256 : n;
      sum[c] = chunk_sum(k, n, 0), mean[c] = sum[c] / (float)(end - k), m2[c] = 0.0f;
      for (size_t i = k; i < end; i++) m2[c] = fmaf(x[i] - mean[c], x[i] - mean[c], m2[c]);
    }
    const float all = iso__fold_f32(sum, c) / (float)n;
    for (size_t k = 0; k < c; k++) {
      const float e = mean[k] - all, n_c = (float)(k + 1 < c ? 256 : n - 256 * k);
      terms[k] = fmaf(n_c * e, e, m2[k]);
    }
    const struct iso__moments_f32 got = iso__moments_f32(f32_at, x, n);
    assert_same(got.mean, all);
    assert_same(got.m2, iso__fold_f32(terms, c));
    /* And they are moments: against long double. */
    long double exact_mean = 0, exact_m2 = 0;
    for (size_t i = 0; i < n; i++) exact_mean += (long double)xd[i] / (long double)n;
    for (size_t i = 0; i < n; i++) exact_m2 += ((long double)xd[i] - exact_mean) * ((long double)xd[i] - exact_mean);
    const struct iso__moments_f64 wide = iso__moments_f64(f64_at, xd, n);
    assert_true(fabsl((long double)wide.mean - exact_mean) <= 1e-15L);
    assert_true(fabsl((long double)wide.m2 - exact_m2) <= 1e-13L * (exact_m2 + 1));
  }
  assert_true(isnan(iso__moments_f32(f32_at, x, 0).mean));
  assert_same(iso__moments_f32(f32_at, x, 0).m2, 0.0f);
}

static void scans(void **state) {
  (void)state;
  fill(2);
  static float out[MOST];
  const size_t n = 5000;
  iso__scan_sum_f32(x, 1, out, 1, n);
  float carry = 0.0f;
  for (size_t p = 0; p < n; p += 1024) {
    float run = 0.0f;
    for (size_t i = p; i < n && i < p + 1024; i++) run += x[i], assert_same(out[i], carry + run);
    carry += run;
  }
  for (int i = 0; i < 5000; i++) y[i] = 1.0f + x[i] * 0x1p-12f;
  iso__scan_product_f32(y, 1, out, 1, n);
  carry = 1.0f;
  for (size_t p = 0; p < n; p += 1024) {
    float run = 1.0f;
    for (size_t i = p; i < n && i < p + 1024; i++) run *= y[i], assert_same(out[i], carry * run);
    carry *= run;
  }
  /* In place and backwards, by strides. */
  float reversed[3] = {1.0f, 2.0f, 4.0f};
  iso__scan_sum_f32(reversed + 2, -1, reversed + 2, -1, 3);
  assert_same(reversed[0], 7.0f), assert_same(reversed[1], 6.0f), assert_same(reversed[2], 4.0f);
}

/* The f64 orders are the f32 ones in double: on values whose every partial result is exact in both, and against
 * another arithmetic of the same order where they aren't. */
static void f64_orders(void **state) {
  (void)state;
  uint64_t seed = 5;
  for (int i = 0; i < MOST; i++) x[i] = (float)(test_random(&seed) % 16), y[i] = (float)(test_random(&seed) % 4);
  for (int i = 0; i < MOST; i++) xd[i] = (double)x[i], yd[i] = (double)y[i];
  for (int s = 0; s < N_SIZES; s++) {
    const size_t n = sizes[s];
    assert_same_f64(iso__ordered_dot_f64(xd, 1, yd, 1, n), (double)iso__ordered_dot_f32(x, 1, y, 1, n));
    assert_same_f64(iso__ordered_sum_f64(xd, 1, n), (double)iso__ordered_sum_f32(x, 1, n));
    assert_same_f64(iso__lanes_dot_f64(xd, 1, yd, 1, n), (double)iso__lanes_dot_f32(x, 1, y, 1, n));
    assert_same_f64(iso__lanes_sum_f64(xd, 1, n), (double)iso__lanes_sum_f32(x, 1, n));
  }
  fill(8);
  double lane[64] = {0};
  for (int i = 0; i < 3000; i++) lane[i % 64] = fma(xd[i], yd[i], lane[i % 64]);
  for (int width = 64; width > 1; width /= 2)
    for (int i = 0; i < width; i += 2) lane[i / 2] = lane[i] + lane[i + 1];
  assert_same_f64(iso__lanes_dot_f64(xd, 1, yd, 1, 3000), lane[0]);
  double t = 0, p = 0, acc = 0;
  for (int k = 0; k < 3000; k++) {
    acc = fma(xd[k], yd[k], acc);
    if (k % 256 == 255) p += acc, acc = 0;
    if (k % 1024 == 1023) t += p, p = 0;
  }
  assert_same_f64(iso__ordered_dot_f64(xd, 1, yd, 1, 3000), t + (p + acc));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tree),       cmocka_unit_test(ordered), cmocka_unit_test(ordered_strides_and_absent_terms),
      cmocka_unit_test(lanes),      cmocka_unit_test(moments), cmocka_unit_test(scans),
      cmocka_unit_test(f64_orders),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
