/* test_linalg.c: factorisations against what they promise (residuals, orthogonality, order, signs), across threads and
 * instruction sets, and what is refused. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ops/fixture.h" /* last: it names a context that headers name, too */

static iso_tensor *normal(iso_dtype dtype, int n_dims, const int64_t *shape, uint64_t seed) {
  iso_tensor *t = iso_tensor_new(ctx, dtype, n_dims, shape);
  const iso_philox at = {.seed = seed, .stream = ISO_PHILOX_USER};
  assert_int_equal(iso_fill_normal(t, &at, 0, 1), ISO_OK);
  return t;
}
static iso_tensor *turned(const iso_tensor *t) { return iso_transpose(ctx, t, -1, -2); }
static iso_tensor *scaled(const iso_tensor *u, const iso_tensor *s) {
  return iso_mul(ctx, u, iso_unsqueeze(ctx, s, -2));
}
/* The largest |a − b|; NaN where one is. */
static double apart(const iso_tensor *a, const iso_tensor *b) {
  double d = NAN;
  iso_tensor *difference = iso_abs(ctx, iso_sub(ctx, a, b));
  if (!difference || iso_tensor_item(iso_amax(ctx, difference, 0, NULL, false), &d) != ISO_OK)
    fail_msg("%s", iso_error_message(ctx));
  return d;
}
static double orthogonality(const iso_tensor *q) { /* of its columns */
  const int64_t n = iso_tensor_shape(q)[iso_tensor_n_dims(q) - 1];
  return apart(iso_matmul(ctx, turned(q), q), iso_eye(ctx, iso_tensor_dtype(q), n, n));
}

static const iso_dtype dtypes[] = {ISO_F32, ISO_F64};
static double least_error(iso_dtype dtype) { return dtype == ISO_F64 ? 1e-13 : 4e-5; }

static void test_residuals(void **state) {
  (void)state;
  for (int d = 0; d < 2; d++)
    for (int64_t m = 1; m <= 40; m += 13)
      for (int64_t n = 1; n <= 40; n += 13) {
        const double e = least_error(dtypes[d]) * (double)(m + n);
        iso_scope_push(ctx);
        iso_tensor *a = normal(dtypes[d], 3, ISO_DIMS(3, m, n), (uint64_t)(m * 100 + n)), *r, *s, *vt, *l, *u;
        iso_tensor *q = iso_qr(ctx, a, false, &r);
        assert_true(apart(iso_matmul(ctx, q, r), a) < e && orthogonality(q) < e);
        assert_true(apart(iso_triu(ctx, r, 0), r) == 0);
        q = iso_qr(ctx, a, true, &r);
        assert_true(apart(iso_matmul(ctx, q, r), a) < e && orthogonality(q) < e);
        iso_tensor *left = iso_svd(ctx, a, false, &s, &vt);
        assert_true(apart(iso_matmul(ctx, scaled(left, s), vt), a) < e);
        assert_true(orthogonality(left) < e && orthogonality(turned(vt)) < e);
        iso_tensor *more, *whole = iso_svd(ctx, a, true, NULL, &more);
        assert_true(iso_tensor_shape(whole)[2] == m && iso_tensor_shape(more)[1] == n);
        assert_true(orthogonality(whole) < e && orthogonality(turned(more)) < e);
        const int64_t least = m < n ? m : n; /* the others are the same bits */
        assert_true(apart(iso_slice(ctx, whole, 2, 0, least, 1), left) == 0);
        assert_true(apart(iso_slice(ctx, more, 1, 0, least, 1), vt) == 0);
        iso_tensor *p = iso_lu(ctx, a, &l, &u);
        assert_true(apart(iso_matmul(ctx, p, iso_matmul(ctx, l, u)), a) < e);
        double largest;
        iso_tensor_item(iso_amax(ctx, iso_abs(ctx, l), 0, NULL, false), &largest);
        assert_true(largest == 1); /* the pivots are the largest */
        iso_scope_pop(ctx);
      }
}

static void test_symmetric(void **state) {
  (void)state;
  for (int d = 0; d < 2; d++)
    for (int64_t n = 1; n <= 50; n += 7) {
      const double e = least_error(dtypes[d]) * (double)n * 3;
      iso_scope_push(ctx);
      iso_tensor *x = normal(dtypes[d], 3, ISO_DIMS(2, n, n), (uint64_t)n), *v;
      iso_tensor *a = iso_add(ctx, iso_matmul(ctx, x, turned(x)), iso_eye(ctx, dtypes[d], n, n));
      iso_tensor *l = iso_cholesky(ctx, a, false), *u = iso_cholesky(ctx, a, true);
      assert_true(apart(iso_matmul(ctx, l, turned(l)), a) < e && apart(turned(l), u) < e);
      iso_tensor *values = iso_eigh(ctx, a, false, &v);
      assert_true(apart(iso_matmul(ctx, scaled(v, values), turned(v)), a) < e * 3 && orthogonality(v) < e);
      if (n > 1) {
        double least;
        iso_tensor *steps = iso_sub(ctx, iso_slice(ctx, values, 1, 1, n, 1), iso_slice(ctx, values, 1, 0, n - 1, 1));
        iso_tensor_item(iso_amin(ctx, steps, 0, NULL, false), &least);
        assert_true(least >= 0);
      }
      iso_tensor *b = normal(dtypes[d], 3, ISO_DIMS(1, n, 3), 5);
      assert_true(apart(iso_matmul(ctx, a, iso_solve(ctx, a, b)), iso_expand(ctx, b, 3, ISO_DIMS(2, n, 3))) < e * 10);
      assert_true(apart(iso_matmul(ctx, a, iso_cholesky_solve(ctx, b, l, false)),
                        iso_expand(ctx, b, 3, ISO_DIMS(2, n, 3))) < e * 10);
      iso_scope_pop(ctx);
    }
}

/* Zeros, equal values, huge and tiny ones, one that is not a number. */
static void test_edges(void **state) {
  (void)state;
  iso_tensor *v, *s, *vt, *r;
  iso_tensor *zero = iso_tensor_zeros(ctx, ISO_F32, 2, ISO_DIMS(4, 3));
  iso_tensor *u = iso_svd(ctx, zero, false, &s, &vt);
  assert_true(orthogonality(u) == 0 && apart(s, iso_full_like(ctx, s, 0)) == 0 && orthogonality(vt) == 0);
  assert_true(orthogonality(iso_qr(ctx, zero, true, &r)) == 0);
  u = iso_svd(ctx, iso_tensor_zeros(ctx, ISO_F32, 2, ISO_DIMS(3, 0)), true, &s, &vt);
  assert_true(iso_tensor_shape(u)[1] == 3 && orthogonality(u) == 0 && iso_tensor_numel(s) == 0);
  assert_true(iso_tensor_numel(vt) == 0);
  iso_tensor *one = iso_tensor_full(ctx, ISO_F64, 2, ISO_DIMS(5, 5), 1); /* rank 1 */
  u = iso_svd(ctx, one, false, &s, &vt);
  assert_true(orthogonality(u) < 1e-14 && apart(iso_matmul(ctx, scaled(u, s), vt), one) < 1e-14);
  iso_tensor *values = iso_eigh(ctx, iso_mul_scalar(ctx, iso_eye(ctx, ISO_F32, 3, 3), 7), false, &v);
  assert_true(apart(values, iso_full_like(ctx, values, 7)) == 0 && orthogonality(v) == 0);
  for (int big = -1; big <= 1; big += 2) {
    iso_tensor *a = iso_mul_scalar(ctx, normal(ISO_F32, 2, ISO_DIMS(6, 4), 3), big > 0 ? 1e37 : 1e-36);
    const double scale = big > 0 ? 1e37 : 1e-36;
    u = iso_svd(ctx, a, false, &s, &vt);
    assert_true(apart(iso_matmul(ctx, scaled(u, s), vt), a) < 1e-5 * scale);
    iso_tensor *q = iso_qr(ctx, a, false, &r);
    assert_true(apart(iso_matmul(ctx, q, r), a) < 1e-5 * scale && orthogonality(q) < 1e-5);
  }
  iso_tensor *nan = iso_tensor_full(ctx, ISO_F32, 2, ISO_DIMS(3, 3), (double)NAN);
  double item;
  assert_non_null(iso_eigh(ctx, nan, false, &v));
  u = iso_svd(ctx, nan, false, &s, &vt);
  assert_int_equal(iso_tensor_at(s, ISO_DIMS(0), &item), ISO_OK);
  assert_true(isnan(item));
  double det;
  assert_int_equal(iso_tensor_item(iso_det(ctx, iso_tensor_zeros(ctx, ISO_F32, 2, ISO_DIMS(0, 0))), &det), ISO_OK);
  assert_true(det == 1);
  assert_int_equal(iso_tensor_item(iso_det(ctx, iso_flip(ctx, iso_eye(ctx, ISO_F64, 3, 3), 1, (int[]){0})), &det),
                   ISO_OK);
  assert_true(det == -1);
}

static void test_refusals(void **state) {
  (void)state;
  iso_tensor *r, *a = iso_tensor_zeros(ctx, ISO_F32, 3, ISO_DIMS(2, 3, 3)), *one = iso_eye(ctx, ISO_F32, 3, 3);
  iso_tensor *second = iso_stack(ctx, 2, (const iso_tensor *const[]){one, iso_neg(ctx, one)}, 0);
  refused(iso_cholesky(ctx, second, false), ISO_INVALID_ARGUMENT, "matrix 1 of the batch");
  refused(iso_solve(ctx, a, one), ISO_INVALID_ARGUMENT, "matrix 0 of the batch is singular: pivot 0 is 0");
  refused(iso_inv(ctx, iso_tensor_zeros(ctx, ISO_F32, 2, ISO_DIMS(2, 3))), ISO_SHAPE_MISMATCH, "square");
  refused(iso_qr(ctx, iso_tensor_zeros(ctx, ISO_F32, 1, ISO_DIMS(2)), false, &r), ISO_SHAPE_MISMATCH, "(2)");
  refused(iso_solve(ctx, one, iso_tensor_zeros(ctx, ISO_F32, 2, ISO_DIMS(2, 1))), ISO_SHAPE_MISMATCH, "2 rows");
  refused(iso_eigh(ctx, iso_eye(ctx, ISO_I64, 2, 2), false, NULL), ISO_DTYPE_MISMATCH, "i64");
  refused(iso_cross(ctx, one, iso_tensor_zeros(ctx, ISO_F32, 2, ISO_DIMS(3, 2)), -1), ISO_SHAPE_MISMATCH,
          "3 is needed");
}

static void hash_all(int n_threads, const char *isa, char hash[5][33]) {
  iso_context *outer = ctx;
  assert_int_equal(iso_context_new(&(iso_context_options){.n_threads = n_threads, .isa = isa}, &ctx), ISO_OK);
  iso_scope_push(ctx);
  iso_tensor *a = normal(ISO_F32, 3, ISO_DIMS(5, 23, 23), 9), *r, *s, *vt, *v;
  iso_tensor *t[5] = {iso_qr(ctx, a, false, &r), iso_svd(ctx, a, false, &s, &vt), iso_eigh(ctx, a, false, &v),
                      iso_inv(ctx, a), iso_matrix_exp(ctx, a)};
  for (int i = 0; i < 5; i++) assert_int_equal(iso_tensor_hash(t[i], hash[i]), ISO_OK);
  iso_scope_pop(ctx);
  iso_context_free(ctx);
  ctx = outer;
}
static void test_same_bits(void **state) {
  (void)state;
  char one[5][33], other[5][33];
  hash_all(1, "scalar", one);
  for (int i = 0; i < 3; i++) {
    hash_all(i + 1, (const char *const[]){"scalar", "avx2", "avx512"}[i], other);
    assert_memory_equal(one, other, sizeof one);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_residuals), cmocka_unit_test(test_symmetric), cmocka_unit_test(test_edges),
      cmocka_unit_test(test_refusals),  cmocka_unit_test(test_same_bits),
  };
  return cmocka_run_group_tests_name("linalg", tests, setup, teardown);
}
