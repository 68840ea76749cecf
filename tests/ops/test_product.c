/* test_product.c: products of other forms: what they are next to matmul, bit for bit, and what they refuse. Gradients:
 * gradients/product.c; values beside PyTorch's: tests/conformance. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ops/ops.h"
#include "ops/fixture.h" /* last: it names a context that headers name, too */

static iso_tensor *uneven(int n_dims, const int64_t *shape) {
  iso_tensor *t = iso_tensor_new(ctx, ISO_F32, n_dims, shape);
  const iso_philox at = {.seed = 1, .stream = ISO_PHILOX_USER};
  assert_int_equal(iso_fill_normal(t, &at, 0, 1), ISO_OK);
  return t;
}
static void expect_same(const iso_tensor *a, const iso_tensor *b) {
  char ha[33], hb[33];
  if (!a || !b) fail_msg("%s", iso_error_message(ctx));
  assert_int_equal(iso_tensor_hash(a, ha), ISO_OK);
  assert_int_equal(iso_tensor_hash(b, hb), ISO_OK);
  assert_string_equal(ha, hb);
}

static void test_sums_are_matmul_s(void **state) {
  (void)state;
  iso_tensor *a = uneven(3, ISO_DIMS(3, 4, 70)), *b = uneven(3, ISO_DIMS(3, 70, 5)), *c = uneven(2, ISO_DIMS(4, 5));
  iso_tensor *a0 = iso_select(ctx, a, 0, 0), *b0 = iso_select(ctx, b, 0, 0), *v = iso_select(ctx, b0, 1, 2);
  iso_tensor *product = iso_matmul(ctx, a0, b0);
  expect_same(iso_addmm(ctx, c, a0, b0, 1, 1), iso_add(ctx, c, product));
  expect_same(iso_addmm(ctx, c, a0, b0, 3, 0.7),
              iso_add(ctx, iso_mul_scalar(ctx, c, 3), iso_mul_scalar(ctx, product, 0.7)));
  expect_same(iso_dot(ctx, iso_select(ctx, a0, 0, 1), v), iso_select(ctx, iso_select(ctx, product, 0, 1), 0, 2));
  expect_same(iso_inner(ctx, a0, iso_transpose(ctx, b0, 0, 1)), product);
  expect_same(iso_tensordot(ctx, a0, b0, 1, (int[]){1}, (int[]){0}), product);
  expect_same(iso_baddbmm(ctx, c, a, b, 1, 1), iso_add(ctx, c, iso_matmul(ctx, a, b)));
  /* Σ over the stack and the inner extent is one sum of 210 terms. */
  iso_tensor *wide = iso_reshape(ctx, iso_permute(ctx, a, (int[]){1, 0, 2}), 2, ISO_DIMS(4, 210));
  expect_same(iso_addbmm(ctx, c, a, b, 0, 1), iso_matmul(ctx, wide, iso_reshape(ctx, b, 2, ISO_DIMS(210, 5))));
  /* Two axes in the order named. */
  iso_tensor *x = uneven(3, ISO_DIMS(6, 7, 8)), *y = uneven(3, ISO_DIMS(7, 6, 3));
  iso_tensor *rows = iso_reshape(ctx, iso_permute(ctx, x, (int[]){2, 1, 0}), 2, ISO_DIMS(8, 42));
  expect_same(iso_tensordot(ctx, x, y, 2, (int[]){1, 0}, (int[]){0, 1}),
              iso_matmul(ctx, rows, iso_reshape(ctx, y, 2, ISO_DIMS(42, 3))));
}

/* (2,100)·(100,3)·(3,50): first the left pair, 900 multiplications instead of 25,000. */
static void test_the_cheapest_association(void **state) {
  (void)state;
  iso_tensor *a = uneven(2, ISO_DIMS(2, 100)), *b = uneven(2, ISO_DIMS(100, 3)), *c = uneven(2, ISO_DIMS(3, 50));
  const iso_tensor *const chain[] = {a, b, c};
  expect_same(iso_multi_dot(ctx, 3, chain), iso_matmul(ctx, iso_matmul(ctx, a, b), c));
  const iso_tensor *const back[] = {iso_transpose(ctx, c, 0, 1), iso_transpose(ctx, b, 0, 1),
                                    iso_transpose(ctx, a, 0, 1)};
  expect_same(iso_multi_dot(ctx, 3, back), iso_matmul(ctx, back[0], iso_matmul(ctx, back[1], back[2])));
  iso_tensor *row = uneven(1, ISO_DIMS(100)), *column = uneven(1, ISO_DIMS(3));
  const iso_tensor *const ends[] = {row, b, column};
  expect_same(iso_multi_dot(ctx, 3, ends), iso_dot(ctx, iso_matmul(ctx, row, b), column));
  const iso_tensor *const wrong[] = {a, c, b};
  assert_null(iso_multi_dot(ctx, 3, wrong));
  expect_error(ISO_SHAPE_MISMATCH, "factor 0 has 100 columns and factor 1 3 rows");
  assert_null(iso_multi_dot(ctx, 1, chain));
  expect_error(ISO_INVALID_ARGUMENT, "1 factors");
}

static void test_beta_0_reads_no_c(void **state) {
  (void)state;
  iso_tensor *nan = iso_tensor_full(ctx, ISO_F32, 2, ISO_DIMS(2, 2), (double)NAN), *a = uneven(2, ISO_DIMS(2, 3)),
             *b = uneven(2, ISO_DIMS(3, 2));
  expect_same(iso_addmm(ctx, nan, a, b, 0, 1), iso_matmul(ctx, a, b));
  /* No terms: zeros, and β·c. */
  iso_tensor *none = iso_tensor_zeros(ctx, ISO_F32, 2, ISO_DIMS(2, 0)), *c = uneven(2, ISO_DIMS(2, 2));
  expect_same(iso_addmm(ctx, c, none, iso_transpose(ctx, none, 0, 1), 2, 1), iso_mul_scalar(ctx, c, 2));
}

static void test_kron_and_bilinear(void **state) {
  (void)state;
  iso_tensor *a = iso_tensor_copy_from(ctx, ISO_F32, 2, ISO_DIMS(1, 2), (float[]){2, 3});
  iso_tensor *b = iso_tensor_copy_from(ctx, ISO_F32, 1, ISO_DIMS(2), (float[]){5, 7});
  expect_same(iso_kron(ctx, a, b), iso_tensor_copy_from(ctx, ISO_F32, 2, ISO_DIMS(1, 4), (float[]){10, 14, 15, 21}));
  assert_null(iso_kron(ctx, uneven(5, ISO_DIMS(1, 1, 1, 1, 2)), b));
  expect_error(ISO_SHAPE_MISMATCH, "at most four dimensions");
  /* One output: x1ᵀ·w·x2 = (1,2)·((1,2),(3,4))·(5,6) = 17·… */
  iso_tensor *x1 = iso_tensor_copy_from(ctx, ISO_F32, 1, ISO_DIMS(2), (float[]){1, 2});
  iso_tensor *x2 = iso_tensor_copy_from(ctx, ISO_F32, 1, ISO_DIMS(2), (float[]){5, 6});
  iso_tensor *w = iso_tensor_copy_from(ctx, ISO_F32, 3, ISO_DIMS(1, 2, 2), (float[]){1, 2, 3, 4});
  iso_tensor *bias = iso_tensor_full(ctx, ISO_F32, 1, ISO_DIMS(1), 0.5);
  expect_same(iso_bilinear(ctx, x1, x2, w, bias), iso_tensor_full(ctx, ISO_F32, 1, ISO_DIMS(1), 7 * 5 + 10 * 6 + 0.5));
}

static void test_refusals(void **state) {
  (void)state;
  iso_tensor *a = uneven(2, ISO_DIMS(2, 3)), *b = uneven(2, ISO_DIMS(3, 4)), *stack = uneven(3, ISO_DIMS(2, 2, 3));
  assert_null(iso_addmm(ctx, uneven(2, ISO_DIMS(3, 4)), a, b, 1, 1));
  expect_error(ISO_SHAPE_MISMATCH, "c is (3,4), which does not expand to the product's (2,4)");
  assert_null(iso_addmm(ctx, stack, a, b, 1, 1));
  expect_error(ISO_SHAPE_MISMATCH, "does not expand");
  assert_null(iso_addmv(ctx, a, a, b, 1, 1));
  expect_error(ISO_SHAPE_MISMATCH, "b is (3,4): 1 dimension is expected");
  assert_null(iso_baddbmm(ctx, a, stack, uneven(3, ISO_DIMS(1, 3, 4)), 1, 1));
  expect_error(ISO_SHAPE_MISMATCH, "a has 2 matrices and b 1");
  assert_null(iso_tensordot(ctx, stack, stack, 2, (int[]){0, -3}, (int[]){0, 1}));
  expect_error(ISO_INVALID_ARGUMENT, "axis 0 is named twice");
  assert_null(iso_tensordot(ctx, a, b, 1, (int[]){0}, (int[]){0}));
  expect_error(ISO_SHAPE_MISMATCH, "the extents of a pair of axes differ");
  assert_null(iso_inner(ctx, a, b));
  expect_error(ISO_SHAPE_MISMATCH, "the last extents differ");
  assert_null(iso_outer(ctx, a, b));
  expect_error(ISO_SHAPE_MISMATCH, "both need one dimension");
  assert_null(iso_bilinear(ctx, a, b, stack, NULL));
  expect_error(ISO_SHAPE_MISMATCH, "(out,in1,in2)");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_sums_are_matmul_s, setup, teardown),
      cmocka_unit_test_setup_teardown(test_the_cheapest_association, setup, teardown),
      cmocka_unit_test_setup_teardown(test_beta_0_reads_no_c, setup, teardown),
      cmocka_unit_test_setup_teardown(test_kron_and_bilinear, setup, teardown),
      cmocka_unit_test_setup_teardown(test_refusals, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
