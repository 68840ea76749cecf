/* test_tensor_views.c: view arithmetic, copies and hashes against loops that go element by element. */
#include "tensor_test.h"

/* ---- copies ---- */

/* dst := src for random layouts, dtypes and thread counts; every element as numeric's cast of one element says, and
 * nothing written outside the view. */
static void copy_once(iso_context *ctx, uint32_t *random, int64_t max_extent) {
  int64_t shape[ISO_MAX_DIMS] = {0};
  int n_dims = (int)(next_random(random) % 5);
  for (int i = 0; i < n_dims; i++)
    shape[i] = next_random(random) % (uint32_t)max_extent + (next_random(random) % 8 != 0);
  iso_dtype from = (iso_dtype)(next_random(random) % ISO_DTYPE_COUNT);
  iso_dtype to = next_random(random) % 2 ? from : (iso_dtype)(next_random(random) % ISO_DTYPE_COUNT);
  iso_scope_push(ctx);
  iso_tensor *src = random_view(ctx, from, n_dims, shape, random), *dst = random_view(ctx, to, n_dims, shape, random);
  iso_tensor *expected =
      iso_tensor_copy_from(ctx, ISO_U8, 1, ISO_DIMS((int64_t)dst->view.storage->n_bytes), dst->view.storage->data);
  iso__storage *memory = expected->view.storage;
  iso__view v = dst->view;
  v.storage = memory;
  for (int64_t i = 0, n = iso__view_numel(&v); i < n; i++)
    iso__cast_element(element_at(&src->view, i), from, element_at(&v, i), to);
  iso__view_copy(ctx, &dst->view, &src->view);
  assert_memory_equal(dst->view.storage->data, memory->data, memory->n_bytes);
  iso_scope_pop(ctx);
}

static void test_copies(void **state) {
  (void)state;
  uint32_t random = 5;
  for (int n_threads = 1; n_threads <= 3; n_threads++) {
    iso_context *ctx = new_context(n_threads);
    for (int i = 0; i < 1500; i++) copy_once(ctx, &random, 7);
    for (int i = 0; i < 40; i++) copy_once(ctx, &random, 24);
    end_context(ctx);
  }
}

/* Sizes at which work is cut into units and tiles. */
static void test_large_copies(void **state) {
  (void)state;
  static const int64_t shapes[][4] = {
      {2, 3, 60, 70}, {1, 1, 1, 70001}, {5, 130, 17, 19}, {70001, 1, 1, 1}, {1, 300, 1, 301}};
  for (int n_threads = 1; n_threads <= 4; n_threads++) {
    iso_context *ctx = new_context(n_threads);
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
      for (int cast = 0; cast < 2; cast++) {
        iso_scope_push(ctx);
        iso_tensor *a = iso_tensor_new(ctx, ISO_I32, 4, shapes[s]);
        int64_t n = iso_tensor_numel(a);
        for (int64_t i = 0; i < n; i++) ((int32_t *)iso_tensor_data(a))[i] = (int32_t)i;
        iso_tensor *b = iso_tensor_new_channels_last(ctx, cast ? ISO_F64 : ISO_I32, 4, shapes[s]);
        iso_tensor *c = iso_tensor_new(ctx, ISO_I32, 4, shapes[s]);
        assert_int_equal(iso_tensor_assign(b, a), ISO_OK);
        for (int64_t i = 0; i < n; i += 1 + i % 13)
          assert_true(cast ? *(double *)(void *)element_at(&b->view, i) == (double)i
                           : *(int32_t *)(void *)element_at(&b->view, i) == i);
        assert_int_equal(iso_tensor_assign(c, b), ISO_OK);
        assert_memory_equal(iso_tensor_data(c), iso_tensor_data(a), (size_t)n * 4);
        iso_scope_pop(ctx);
      }
    end_context(ctx);
  }
}

static void test_assign(void **state) {
  (void)state;
  iso_context *ctx = new_context(2);
  int32_t data[6] = {0, 1, 2, 3, 4, 5}, out[6];
  iso_tensor *t = iso_tensor_copy_from(ctx, ISO_I32, 1, ISO_DIMS(6), data);
  iso__view v;
  assert_true(iso__view_slice(ctx, &t->view, 0, 0, 5, 1, &v));
  iso_tensor *head = iso__tensor_from_view(ctx, &v);
  assert_true(iso__view_slice(ctx, &t->view, 0, 1, 6, 1, &v));
  iso_tensor *tail = iso__tensor_from_view(ctx, &v);
  assert_int_equal(iso_tensor_assign(tail, head), ISO_OK); /* they overlap: as if src were copied first */
  assert_int_equal(iso_tensor_copy_to(t, out, sizeof out), ISO_OK);
  assert_memory_equal(out, ((const int32_t[]){0, 0, 1, 2, 3, 4}), sizeof out);
  assert_int_equal(iso_tensor_assign(t, t), ISO_OK);
  assert_int_equal(iso_tensor_assign(t, head), ISO_SHAPE_MISMATCH);
  assert_non_null(strstr(iso_error_message(ctx), "dst is (6) but src is (5)"));
  iso_clear_error(ctx);
  assert_int_equal(iso_tensor_copy_to(t, out, 4), ISO_INVALID_ARGUMENT);
  assert_non_null(strstr(iso_error_message(ctx), "24 are wanted"));
  iso_clear_error(ctx);
  assert_true(iso__view_expand(ctx, &head->view, 2, ISO_DIMS(3, 5), &v));
  iso_tensor *expanded = iso__tensor_from_view(ctx, &v);
  iso_tensor *full = iso_tensor_zeros(ctx, ISO_I32, 2, ISO_DIMS(3, 5));
  assert_int_equal(iso_tensor_assign(full, expanded), ISO_OK);
  double x;
  iso_tensor_at(full, ISO_DIMS(2, 4), &x);
  assert_true(x == 3);
  assert_int_equal(iso_tensor_assign(expanded, full), ISO_INVALID_ARGUMENT);
  end_context(ctx);
}

/* ---- view arithmetic ---- */

static void test_permute_and_slice(void **state) {
  (void)state;
  iso_context *ctx = new_context(1);
  iso_tensor *t = iso_tensor_new(ctx, ISO_U8, 3, ISO_DIMS(2, 3, 4));
  iso__view v;
  assert_true(iso__view_permute(ctx, &t->view, (const int[]){2, 0, -2}, &v));
  assert_memory_equal(v.shape, ISO_DIMS(4, 2, 3), 24);
  assert_memory_equal(v.strides, ISO_DIMS(1, 12, 4), 24);
  static const int bad_axes[][3] = {{0, 0, 1}, {0, 1, 3}, {0, 1, -4}, {1, 2, -1}};
  for (int i = 0; i < 4; i++) {
    assert_false(iso__view_permute(ctx, &t->view, bad_axes[i], &v));
    assert_int_equal(iso_error_code(ctx), ISO_INVALID_ARGUMENT);
    iso_clear_error(ctx);
  }
  static const struct {
    int64_t begin, end, step, first, n;
  } cuts[] = {{0, 4, 1, 0, 4},    {1, 3, 1, 1, 2},         {-2, 4, 1, 2, 2}, {0, -1, 1, 0, 3},
              {-99, 99, 1, 0, 4}, {3, 1, 1, 0, 0},         {0, 4, 3, 0, 2},  {1, 4, 2, 1, 2},
              {4, 9, 1, 0, 0},    {0, 4, INT64_MAX, 0, 1}, {2, 99, 5, 2, 1}, {INT64_MIN, INT64_MAX, 1, 0, 4}};
  for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
    assert_true(iso__view_slice(ctx, &t->view, -1, cuts[i].begin, cuts[i].end, cuts[i].step, &v));
    assert_int_equal(v.shape[2], cuts[i].n);
    assert_int_equal(v.offset, cuts[i].first);
    if (cuts[i].n > 1) assert_int_equal(v.strides[2], cuts[i].step);
  }
  assert_false(iso__view_slice(ctx, &t->view, 3, 0, 1, 1, &v));
  iso_clear_error(ctx);
  assert_false(iso__view_slice(ctx, &t->view, 0, 0, 1, 0, &v));
  assert_non_null(strstr(iso_error_message(ctx), "step 0"));
  end_context(ctx);
}

/* Reshapes of random views: a view that is given shows the same elements in order; and where it is refused, no choice
 * of strides could show them (checked by comparing all elements with the strides that the first ones imply). */
static void test_reshape(void **state) {
  (void)state;
  iso_context *ctx = new_context(1);
  uint32_t random = 11;
  int n_views = 0, n_copies = 0;
  for (int round = 0; round < 3000; round++) {
    int64_t shape[5], cut[5];
    int n_dims = 1 + (int)(next_random(&random) % 4), n_new = 0;
    int64_t n = 1;
    for (int i = 0; i < n_dims; i++) n *= shape[i] = 1 + next_random(&random) % 4;
    for (int64_t left = n; n_new < 5; n_new++) { /* a random factorisation */
      int64_t f = 1 + next_random(&random) % 6;
      cut[n_new] = n_new == 4 ? left : left % f == 0 ? f : 1;
      left /= cut[n_new];
    }
    iso_scope_push(ctx);
    iso_tensor *t = random_view(ctx, ISO_I64, n_dims, shape, &random);
    int64_t product = 1, hidden = next_random(&random) % 5, known = cut[hidden];
    for (int i = 0; i < 5; i++) product *= cut[i];
    assert_int_equal(product, n);
    if (next_random(&random) % 2) cut[hidden] = -1;
    iso__view v;
    bool is_view = iso__view_reshape(ctx, &t->view, 5, cut, &v);
    assert_int_equal(iso_error_code(ctx), ISO_OK);
    assert_int_equal(v.n_dims, 5);
    assert_int_equal(v.shape[hidden], known);
    if (!is_view) {
      v = t->view; /* the strides that a view would need, read off at each dim's second element */
      iso__view target = v;
      target.n_dims = 5;
      cut[hidden] = known;
      int64_t step = 1;
      for (int i = 4; i >= 0; i--) {
        target.shape[i] = cut[i];
        target.strides[i] = cut[i] > 1 ? (element_at(&v, step) - element_at(&v, 0)) / 8 : 0;
        step *= cut[i];
      }
      bool fits = true;
      for (int64_t i = 0; i < n; i++) fits = fits && element_at(&target, i) == element_at(&v, i);
      assert_false(fits);
      n_copies++;
    } else {
      for (int64_t i = 0; i < n; i++) assert_ptr_equal(element_at(&v, i), element_at(&t->view, i));
      n_views++;
    }
    iso_scope_pop(ctx);
  }
  assert_true(n_views > 500 && n_copies > 300);
  iso_tensor *t = iso_tensor_new(ctx, ISO_U8, 2, ISO_DIMS(4, 6));
  static const int64_t bad[][3] = {{5, -1, 1}, {-1, -1, 6}, {4, 6, 2}, {-1, 0, 1}, {-2, 12, 1}, {INT64_MAX, 4, 1}};
  for (int i = 0; i < 6; i++) {
    iso__view v;
    assert_false(iso__view_reshape(ctx, &t->view, 3, bad[i], &v));
    assert_true(iso_error_code(ctx) != ISO_OK);
    iso_clear_error(ctx);
  }
  iso_tensor *none = iso_tensor_new(ctx, ISO_U8, 2, ISO_DIMS(0, 6));
  iso__view v;
  assert_true(iso__view_reshape(ctx, &none->view, 2, ISO_DIMS(3, 0), &v));
  assert_true(iso__view_reshape(ctx, &none->view, 2, ISO_DIMS(-1, 3), &v));
  assert_int_equal(v.shape[0], 0);
  assert_false(iso__view_reshape(ctx, &none->view, 2, ISO_DIMS(-1, 0), &v)); /* any number would do */
  end_context(ctx);
}

static void test_expand_and_broadcast(void **state) {
  (void)state;
  iso_context *ctx = new_context(1);
  iso_tensor *a = iso_tensor_new(ctx, ISO_F32, 3, ISO_DIMS(4, 1, 3)),
             *b = iso_tensor_new(ctx, ISO_F32, 2, ISO_DIMS(5, 1));
  int n_dims;
  int64_t shape[ISO_MAX_DIMS];
  assert_true(iso__broadcast(ctx, "add", &a->view, &b->view, &n_dims, shape));
  assert_int_equal(n_dims, 3);
  assert_memory_equal(shape, ISO_DIMS(4, 5, 3), 24);
  iso__view v;
  assert_true(iso__view_expand(ctx, &b->view, 3, shape, &v));
  assert_memory_equal(v.strides, ISO_DIMS(0, 1, 0), 24);
  iso_tensor *zero = iso_tensor_new(ctx, ISO_F32, 1, ISO_DIMS(0)),
             *one = iso_tensor_new(ctx, ISO_F32, 2, ISO_DIMS(2, 1));
  assert_true(iso__broadcast(ctx, "add", &zero->view, &one->view, &n_dims, shape));
  assert_memory_equal(shape, ISO_DIMS(2, 0), 16);
  iso_tensor *c = iso_tensor_new(ctx, ISO_F32, 2, ISO_DIMS(5, 2));
  assert_false(iso__broadcast(ctx, "add", &a->view, &c->view, &n_dims, shape));
  assert_int_equal(iso_error_code(ctx), ISO_SHAPE_MISMATCH);
  assert_non_null(strstr(iso_error_message(ctx), "add: (4,1,3) and (5,2) do not broadcast: extents 3 and 2"));
  iso_clear_error(ctx);
  static const int64_t bad[][3] = {{4, 5, 2}, {3, 1, 3}, {4, -1, 3}};
  for (int i = 0; i < 3; i++) {
    assert_false(iso__view_expand(ctx, &a->view, 3, bad[i], &v));
    assert_true(iso_error_code(ctx) != ISO_OK);
    iso_clear_error(ctx);
  }
  assert_false(iso__view_expand(ctx, &a->view, 2, ISO_DIMS(1, 3), &v));
  char text[8];
  assert_string_equal(iso__shape_text(3, ISO_DIMS(10, 20, 30), text, sizeof text), "(10,20,");
  end_context(ctx);
}

/* ---- hashes ---- */

static void hash_of(const iso_tensor *t, char hex[33]) { assert_int_equal(iso_tensor_hash(t, hex), ISO_OK); }

/* Equal for every layout of the same values, for any number of threads. */
static void test_hash_sees_values_only(void **state) {
  (void)state;
  uint32_t random = 21;
  static const int64_t shapes[][4] = {{3, 4, 5, 6}, {1, 1, 1, 1}, {2, 64, 33, 31}, {1, 3, 300, 301}, {9, 0, 2, 2}};
  for (int d = 0; d < ISO_DTYPE_COUNT; d++)
    for (int s = 0; s < 5; s++) {
      char first[33] = "", hex[33];
      for (int n_threads = 1; n_threads <= 3; n_threads++) {
        iso_context *ctx = new_context(n_threads);
        uint32_t same = random + (uint32_t)(d * 5 + s);
        iso_tensor *t = random_view(ctx, (iso_dtype)d, 4, shapes[s], &same);
        iso_tensor *dense = iso_tensor_new(ctx, (iso_dtype)d, 4, shapes[s]);
        iso_tensor *last = iso_tensor_new_channels_last(ctx, (iso_dtype)d, 4, shapes[s]);
        iso_tensor_assign(dense, t);
        iso_tensor_assign(last, t);
        hash_of(t, hex);
        if (!first[0]) memcpy(first, hex, sizeof hex);
        assert_string_equal(hex, first);
        hash_of(dense, hex);
        assert_string_equal(hex, first);
        hash_of(last, hex);
        assert_string_equal(hex, first);
        end_context(ctx);
      }
    }
}

static void test_hash_sees_everything(void **state) {
  (void)state;
  iso_context *ctx = new_context(2);
  enum { N = 40000 };
  iso_tensor *t = iso_tensor_zeros(ctx, ISO_F32, 1, ISO_DIMS(N));
  float *x = iso_tensor_data(t);
  for (int i = 0; i < N; i++) x[i] = (float)i;
  char before[33], hex[33];
  hash_of(t, before);
  assert_int_equal(strlen(before), 32);
  for (int i = 0; i < N; i += 1999) { /* each position */
    x[i] += 0.5f;
    hash_of(t, hex);
    assert_string_not_equal(hex, before);
    x[i] -= 0.5f;
  }
  x[10] = 20000, x[20000] = 10; /* order, across chunks */
  hash_of(t, hex);
  assert_string_not_equal(hex, before);
  x[10] = 10, x[20000] = 20000;
  x[0] = -0.0f; /* the sign of zero */
  hash_of(t, hex);
  assert_string_not_equal(hex, before);
  x[0] = 0.0f;
  iso__view v;
  assert_true(iso__view_reshape(ctx, &t->view, 2, ISO_DIMS(200, 200), &v));
  hash_of(iso__tensor_from_view(ctx, &v), hex); /* shape */
  assert_string_not_equal(hex, before);
  v = t->view;
  v.dtype = ISO_I32;
  hash_of(iso__tensor_from_view(ctx, &v), hex); /* dtype */
  assert_string_not_equal(hex, before);
  hash_of(t, hex);
  assert_string_equal(hex, before);
  end_context(ctx);
}

static void test_hash_of_nans(void **state) {
  (void)state;
  iso_context *ctx = new_context(1);
  static const struct {
    iso_dtype dtype;
    uint64_t nans[3], infinity;
  } rows[] = {{ISO_F32, {0x7fc00000, 0xffc00001, 0x7f800001}, 0x7f800000},
              {ISO_F64, {0x7ff8000000000000, 0xfff0000000000001, 0x7ff4000000000000}, 0x7ff0000000000000},
              {ISO_F16, {0x7e00, 0xfc01, 0x7fff}, 0x7c00},
              {ISO_BF16, {0x7fc0, 0xff81, 0x7fff}, 0x7f80}};
  for (size_t r = 0; r < 4; r++) {
    char hex[5][33];
    for (int k = 0; k < 4; k++) { /* little-endian: the low bytes come first */
      iso_tensor *t = iso_tensor_full(ctx, rows[r].dtype, 1, ISO_DIMS(20000), 2.0);
      uint64_t bits = k < 3 ? rows[r].nans[k] : rows[r].infinity;
      memcpy(element_at(&t->view, 19000), &bits, iso_dtype_size(rows[r].dtype));
      hash_of(t, hex[k]);
      uint64_t after = 0; /* and the tensor itself stays as it is */
      memcpy(&after, element_at(&t->view, 19000), iso_dtype_size(rows[r].dtype));
      assert_true(after == bits);
    }
    assert_string_equal(hex[0], hex[1]);
    assert_string_equal(hex[0], hex[2]);
    assert_string_not_equal(hex[0], hex[3]);
  }
  end_context(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_copies),
                                     cmocka_unit_test(test_large_copies),
                                     cmocka_unit_test(test_assign),
                                     cmocka_unit_test(test_permute_and_slice),
                                     cmocka_unit_test(test_reshape),
                                     cmocka_unit_test(test_expand_and_broadcast),
                                     cmocka_unit_test(test_hash_sees_values_only),
                                     cmocka_unit_test(test_hash_sees_everything),
                                     cmocka_unit_test(test_hash_of_nans)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
