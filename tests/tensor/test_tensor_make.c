/* test_tensor_make.c: making, asking, borrowing, handles in scopes, stale handles, memory failing at every allocation.
 */
#include <float.h>
#include <math.h>
#include "base/fenv.h"
#include "tensor_test.h"

static void test_make_and_ask(void **state) {
  (void)state;
  iso_context *ctx = new_context(1);
  iso_tensor *t = iso_tensor_new(ctx, ISO_F32, 3, ISO_DIMS(2, 3, 4));
  assert_int_equal(iso_tensor_dtype(t), ISO_F32);
  assert_int_equal(iso_tensor_n_dims(t), 3);
  assert_memory_equal(iso_tensor_shape(t), ISO_DIMS(2, 3, 4), 3 * sizeof(int64_t));
  assert_memory_equal(iso_tensor_strides(t), ISO_DIMS(12, 4, 1), 3 * sizeof(int64_t));
  assert_int_equal(iso_tensor_numel(t), 24);
  assert_true(iso_tensor_is_contiguous(t));
  assert_false(iso_tensor_is_channels_last(t));
  assert_ptr_equal(iso_tensor_context(t), ctx);
  assert_int_equal((uintptr_t)iso_tensor_data(t) % 64, 0);
  char text[80];
  assert_int_equal(iso_tensor_format(t, text, sizeof text), 28);
  assert_string_equal(text, "f32 (2,3,4) strides (12,4,1)");
  end_context(ctx);
}

static void test_channels_last(void **state) {
  (void)state;
  iso_context *ctx = new_context(1);
  iso_tensor *t = iso_tensor_new_channels_last(ctx, ISO_F16, 4, ISO_DIMS(2, 3, 4, 5));
  assert_memory_equal(iso_tensor_strides(t), ISO_DIMS(60, 1, 15, 3), 4 * sizeof(int64_t));
  assert_true(iso_tensor_is_channels_last(t));
  assert_false(iso_tensor_is_contiguous(t));
  iso_tensor *like = iso__tensor_new_like(ctx, &t->view, ISO_F32);
  assert_true(iso_tensor_is_channels_last(like));
  assert_int_equal(iso_tensor_dtype(like), ISO_F32);
  iso_tensor *flat = iso_tensor_new(ctx, ISO_F32, 4, ISO_DIMS(2, 1, 4, 5)); /* one channel: both layouts at once */
  assert_true(iso_tensor_is_contiguous(flat) && iso_tensor_is_channels_last(flat));
  iso_tensor *signal = iso_tensor_new_channels_last(ctx, ISO_F32, 3, ISO_DIMS(2, 3, 4));
  assert_memory_equal(iso_tensor_strides(signal), ISO_DIMS(12, 1, 3), 3 * sizeof(int64_t));
  iso_tensor *volume = iso_tensor_new_channels_last(ctx, ISO_F32, 5, ISO_DIMS(2, 3, 4, 5, 6));
  assert_memory_equal(iso_tensor_strides(volume), ISO_DIMS(360, 1, 90, 18, 3), 5 * sizeof(int64_t));
  assert_true(iso_tensor_is_channels_last(signal) && iso_tensor_is_channels_last(volume));
  assert_false(iso_tensor_is_contiguous(signal) || iso_tensor_is_contiguous(volume));
  assert_true(iso_tensor_is_channels_last(iso__tensor_new_like(ctx, &volume->view, ISO_F64)));
  assert_null(iso_tensor_new_channels_last(ctx, ISO_F32, 2, ISO_DIMS(2, 3))); /* no positions beside the channels */
  assert_int_equal(iso_error_code(ctx), ISO_INVALID_ARGUMENT);
  iso_clear_error(ctx);
  end_context(ctx);
}

static void test_values(void **state) {
  (void)state;
  iso_context *ctx = new_context(1);
  double x;
  for (int d = 0; d < ISO_DTYPE_COUNT; d++) {
    iso_tensor *z = iso_tensor_zeros(ctx, (iso_dtype)d, 2, ISO_DIMS(50, 70));
    iso_tensor *f = iso_tensor_full(ctx, (iso_dtype)d, 2, ISO_DIMS(131, 77), 1.0);
    for (int64_t i = 0; i < 131; i++)
      for (int64_t k = 0; k < 77; k += 19) {
        assert_int_equal(iso_tensor_at(f, ISO_DIMS(i, k), &x), ISO_OK);
        assert_true(x == 1.0);
        if (i < 50 && k < 70) assert_int_equal(iso_tensor_at(z, ISO_DIMS(i, k), &x), ISO_OK);
        if (i < 50 && k < 70) assert_true(x == 0.0);
      }
  }
  float a[6] = {1, 2, 3, 4, 5, 6};
  iso_tensor *t = iso_tensor_copy_from(ctx, ISO_F32, 2, ISO_DIMS(2, 3), a);
  assert_int_equal(iso_tensor_at(t, ISO_DIMS(1, 0), &x), ISO_OK);
  assert_true(x == 4);
  assert_int_equal(iso_tensor_at(t, ISO_DIMS(1, 3), &x), ISO_INVALID_ARGUMENT);
  assert_non_null(strstr(iso_error_message(ctx), "index 3 of dim 1"));
  iso_clear_error(ctx);
  assert_int_equal(iso_tensor_item(t, &x), ISO_SHAPE_MISMATCH);
  assert_non_null(strstr(iso_error_message(ctx), "(2,3)"));
  iso_clear_error(ctx);
  iso_tensor *scalar = iso_tensor_full(ctx, ISO_F64, 0, NULL, 0.1);
  assert_int_equal(iso_tensor_item(scalar, &x), ISO_OK);
  assert_true(x == 0.1);

  /* A host that flushes subnormals and rounds upward changes nothing. */
#if defined(__x86_64__)
  unsigned saved = _mm_getcsr();
  _mm_setcsr(0x1f80u | 0x8040u | 0x4000u);
  iso_tensor *tiny = iso_tensor_full(ctx, ISO_F32, 1, ISO_DIMS(1), 0x1p-140);
  iso_tensor *rounded = iso_tensor_full(ctx, ISO_F32, 1, ISO_DIMS(1), 1.0 + 0x1p-40);
  iso_status status = iso_tensor_item(tiny, &x);
  _mm_setcsr(saved);
  assert_int_equal(status, ISO_OK);
  assert_true(x == 0x1p-140);
  assert_true(*(float *)iso_tensor_data(rounded) == 1.0f);
#endif
  end_context(ctx);
}

static void test_empty(void **state) {
  (void)state;
  iso_context *ctx = new_context(2);
  iso_tensor *t = iso_tensor_zeros(ctx, ISO_F32, 3, ISO_DIMS(2, 0, 3));
  assert_int_equal(iso_tensor_numel(t), 0);
  assert_true(iso_tensor_is_contiguous(t));
  assert_non_null(iso_tensor_data(t));
  iso_tensor *u = iso_tensor_copy_from(ctx, ISO_F32, 1, ISO_DIMS(0), NULL);
  assert_non_null(u);
  assert_int_equal(iso_tensor_copy_to(u, NULL, 0), ISO_OK);
  assert_int_equal(iso_tensor_assign(t, iso_tensor_full(ctx, ISO_F64, 3, ISO_DIMS(2, 0, 3), 5)), ISO_OK);
  char hex[33];
  assert_int_equal(iso_tensor_hash(t, hex), ISO_OK);
  end_context(ctx);
}

static void test_bad_shapes(void **state) {
  (void)state;
  iso_context *ctx = new_context(1);
  static const struct {
    int dtype, n_dims;
    int64_t shape[ISO_MAX_DIMS + 1];
    const char *named;
  } rows[] = {{ISO_F32, 2, {3, -4}, "extent -4 of dim 1"},
              {ISO_F32, -1, {0}, "-1 dims"},
              {ISO_F32, 9, {1, 1, 1, 1, 1, 1, 1, 1, 1}, "9 dims"},
              {ISO_F32, 2, {INT64_MAX, 2}, "9223372036854775807"},
              {ISO_F64, 3, {1 << 21, 1 << 21, 1 << 20}, "of dim 2"},
              {ISO_F64, 4, {0, 1 << 21, 1 << 21, 1 << 20}, "of dim 3"}, /* strides would overflow even so */
              {99, 1, {1}, "99 is no dtype"}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    assert_null(iso_tensor_new(ctx, (iso_dtype)rows[i].dtype, rows[i].n_dims, rows[i].shape));
    assert_int_equal(iso_error_code(ctx), ISO_INVALID_ARGUMENT);
    assert_non_null(strstr(iso_error_message(ctx), rows[i].named));
    assert_null(iso_tensor_new(ctx, ISO_F32, 1, ISO_DIMS(1))); /* nothing happens until the error is cleared */
    iso_clear_error(ctx);
  }
  assert_null(iso_tensor_new(ctx, ISO_F32, 1, NULL));
  iso_clear_error(ctx);
  assert_null(iso_tensor_copy_from(ctx, ISO_F32, 1, ISO_DIMS(1), NULL));
  iso_clear_error(ctx);
  assert_null(iso_tensor_new(ctx, ISO_U8, 1, ISO_DIMS(INT64_MAX / 4)));
  assert_int_equal(iso_error_code(ctx), ISO_OUT_OF_MEMORY);
  iso_clear_error(ctx);
  iso__heap_set_limit(ctx->heap, 1 << 20);
  assert_null(iso_tensor_new(ctx, ISO_F32, 1, ISO_DIMS(1 << 18)));
  assert_int_equal(iso_error_code(ctx), ISO_MEMORY_LIMIT);
  assert_null(iso_tensor_new(NULL, ISO_F32, 1, ISO_DIMS(1)));
  end_context(ctx);
}

static void test_null(void **state) {
  (void)state;
  double x;
  char hex[33], text[40];
  assert_int_equal(iso_tensor_n_dims(NULL), 0);
  assert_null(iso_tensor_shape(NULL));
  assert_null(iso_tensor_strides(NULL));
  assert_null(iso_tensor_data(NULL));
  assert_null(iso_tensor_context(NULL));
  assert_int_equal(iso_tensor_numel(NULL), 0);
  assert_false(iso_tensor_is_contiguous(NULL) || iso_tensor_is_channels_last(NULL));
  assert_int_equal(iso_tensor_item(NULL, &x), ISO_INVALID_ARGUMENT);
  assert_int_equal(iso_tensor_at(NULL, NULL, &x), ISO_INVALID_ARGUMENT);
  assert_int_equal(iso_tensor_copy_to(NULL, NULL, 0), ISO_INVALID_ARGUMENT);
  assert_int_equal(iso_tensor_assign(NULL, NULL), ISO_INVALID_ARGUMENT);
  assert_int_equal(iso_tensor_hash(NULL, hex), ISO_INVALID_ARGUMENT);
  assert_string_equal(hex, "");
  assert_true(iso_tensor_format(NULL, text, sizeof text) > 0);
  iso_tensor_touch(NULL);
  assert_null(iso_keep(NULL));
  assert_null(iso_escape(NULL));
  iso_release(NULL);
}

/* ---- borrowed memory ---- */

static void count_call(void *user) { ++*(int *)user; }

static void test_wrap(void **state) {
  (void)state;
  iso_context *ctx = new_context(1);
  float a[12];
  for (int i = 0; i < 12; i++) a[i] = (float)i;
  int n_calls = 0;
  double x;
  iso_tensor *t = iso_tensor_wrap(ctx, ISO_F32, 2, ISO_DIMS(3, 4), NULL, a, count_call, &n_calls);
  assert_ptr_equal(iso_tensor_data(t), a);
  iso_scope_push(ctx);
  iso_tensor *alias = iso_tensor_alias(ctx, t);
  iso_release(t);
  assert_int_equal(n_calls, 0);
  iso_tensor_at(alias, ISO_DIMS(2, 1), &x);
  assert_true(x == 9);
  iso_scope_pop(ctx);
  assert_int_equal(n_calls, 1);

  /* Columns backwards: the first element is in the middle of the memory. */
  iso_tensor *flipped = iso_tensor_wrap(ctx, ISO_F32, 2, ISO_DIMS(3, 4), ISO_DIMS(4, -1), a + 3, NULL, NULL);
  assert_ptr_equal(iso_tensor_data(flipped), a + 3);
  assert_ptr_equal(flipped->view.storage->data, a);
  assert_int_equal(flipped->view.storage->n_bytes, sizeof a);
  iso_tensor_at(flipped, ISO_DIMS(1, 3), &x);
  assert_true(x == 4);

  assert_null(iso_tensor_wrap(ctx, ISO_F32, 1, ISO_DIMS(2), NULL, (char *)a + 1, NULL, NULL));
  iso_clear_error(ctx);
  assert_null(iso_tensor_wrap(ctx, ISO_F32, 1, ISO_DIMS(2), NULL, NULL, NULL, NULL));
  iso_clear_error(ctx);
  assert_null(iso_tensor_wrap(ctx, ISO_F32, 2, ISO_DIMS(3, 3), ISO_DIMS(INT64_MAX / 2, INT64_MIN / 2), a, NULL, NULL));
  assert_int_equal(iso_error_code(ctx), ISO_INVALID_ARGUMENT);
  iso_clear_error(ctx);
  iso_memory_fail_at(ctx, 2);
  assert_null(iso_tensor_wrap(ctx, ISO_F32, 1, ISO_DIMS(2), NULL, a, count_call, &n_calls));
  assert_int_equal(n_calls, 1); /* the memory stays the caller's */
  end_context(ctx);
}

/* ---- handles ---- */

static iso_tensor *sum_like(iso_context *ctx) {
  iso_scope_push(ctx);
  iso_tensor_new(ctx, ISO_F32, 1, ISO_DIMS(1000));
  iso_tensor *result = iso_escape(iso_tensor_new(ctx, ISO_F32, 1, ISO_DIMS(10)));
  iso_scope_pop(ctx);
  return result;
}

static void test_scopes(void **state) {
  (void)state;
  iso_context *ctx = new_context(1);
  size_t start = iso_memory_get_info(ctx).live_bytes;
  iso_scope_push(ctx);
  iso_tensor *kept = iso_keep(iso_tensor_new(ctx, ISO_F32, 1, ISO_DIMS(10)));
  iso_tensor *escaped = sum_like(ctx);
  assert_int_equal(iso_tensor_numel(escaped), 10);
  iso_tensor *released = iso_tensor_new(ctx, ISO_F32, 1, ISO_DIMS(10));
  iso_release(released);
  iso_scope_pop(ctx);
  assert_int_equal(iso_tensor_numel(kept), 10);
  assert_true(iso_memory_get_info(ctx).live_bytes > start);
  iso_release(kept);
  assert_int_equal(iso_memory_get_info(ctx).live_bytes, start);
  iso_tensor_new(ctx, ISO_F32, 1, ISO_DIMS(10)); /* the root scope's: until the end */
  end_context(ctx);
}

/* Storage may outlive the context that made it. */
static void test_storage_outlives(void **state) {
  (void)state;
  iso_context *ctx = new_context(1);
  iso__heap *heap = ctx->heap;
  iso__heap_retain(heap);
  iso_tensor *t = iso_tensor_full(ctx, ISO_F32, 1, ISO_DIMS(100), 3);
  iso__storage *s = t->view.storage;
  assert_true(iso__storage_is_exclusive(s));
  iso__storage_retain(s);
  assert_false(iso__storage_is_exclusive(s));
  iso__context_free(ctx);
  assert_true(iso__storage_is_exclusive(s));
  assert_true(((float *)s->data)[99] == 3);
  iso__storage_release(s);
  assert_int_equal(iso__heap_info(heap).live_bytes, 0);
  iso__heap_release(heap);
  iso__storage_release(NULL);
}

typedef struct counted_var {
  iso__var base;
  int n_destroyed;
} counted_var;
static void var_destroy(iso__var *var) { ((counted_var *)(void *)var)->n_destroyed++; }

static void test_var(void **state) {
  (void)state;
  iso_context *ctx = new_context(1);
  counted_var var = {.base = {.n_refs = 1, .destroy = var_destroy}};
  iso_tensor *t = iso_tensor_new(ctx, ISO_F32, 0, NULL);
  t->var = &var.base;
  iso_tensor *alias = iso_tensor_alias(ctx, t);
  assert_ptr_equal(alias->var, t->var);
  assert_ptr_equal(alias->view.storage, t->view.storage);
  iso_release(t);
  assert_int_equal(var.n_destroyed, 0);
  iso_release(alias);
  assert_int_equal(var.n_destroyed, 1);
  end_context(ctx);
}

static void test_versions(void **state) {
  (void)state;
  iso_context *ctx = new_context(1);
  iso_tensor *t = iso_tensor_zeros(ctx, ISO_F32, 1, ISO_DIMS(3));
  unsigned version = t->view.storage->version;
  iso_tensor_touch(t);
  assert_int_equal(t->view.storage->version, version + 1);
  assert_int_equal(iso_tensor_assign(iso_tensor_alias(ctx, t), iso_tensor_zeros(ctx, ISO_F64, 1, ISO_DIMS(3))), ISO_OK);
  assert_int_equal(t->view.storage->version, version + 2);
  end_context(ctx);
}

#ifdef ISO_DEBUG
static void test_stale(void **state) {
  (void)state;
  iso_context *ctx = new_context(1);
  char text[40], hex[33];
  double x;
  iso_scope_push(ctx);
  iso_tensor *t = iso_tensor_zeros(ctx, ISO_F32, 1, ISO_DIMS(1));
  iso_scope_pop(ctx);
  for (int i = 0; i < 1000; i++)
    iso_release(iso_tensor_new(ctx, ISO_F32, 1, ISO_DIMS(1))); /* its memory isn't reused */
#  define STALE(call)                                                                                                  \
    do {                                                                                                               \
      (void)(call);                                                                                                    \
      assert_int_equal(iso_error_code(ctx), ISO_STALE_HANDLE);                                                         \
      iso_clear_error(ctx);                                                                                            \
    } while (0)
  STALE(iso_tensor_numel(t));
  STALE(iso_tensor_data(t));
  STALE(iso_tensor_format(t, text, sizeof text));
  STALE(iso_tensor_alias(ctx, t));
  STALE(iso_keep(t));
  STALE(iso_escape(t));
  STALE(iso_tensor_item(t, &x));
  STALE(iso_tensor_hash(t, hex));
  STALE(iso_tensor_assign(t, t));
  STALE((iso_release(t), 0));
  STALE((iso_tensor_touch(t), 0));
#  undef STALE
  for (int i = 0; i < 6000; i++)
    iso_release(iso_tensor_new(ctx, ISO_F32, 1, ISO_DIMS(1))); /* the quarantine is bounded */
  end_context(ctx);
}
#endif

/* ---- memory failing at every allocation in turn ---- */

static void make_all(iso_context *ctx) {
  float data[4] = {1, 2, 3, 4};
  iso_scope_push(ctx);
  iso_tensor *a = iso_tensor_new(ctx, ISO_F32, 2, ISO_DIMS(2, 2));
  iso_tensor *b = iso_tensor_copy_from(ctx, ISO_F32, 2, ISO_DIMS(2, 2), data);
  iso_tensor_wrap(ctx, ISO_F32, 1, ISO_DIMS(4), NULL, data, NULL, NULL);
  iso_keep(iso_tensor_alias(ctx, a));
  iso_tensor_full(ctx, ISO_F64, 1, ISO_DIMS(4), 1.0);
  if (b) {
    iso__view v;
    if (iso__view_permute(ctx, &b->view, (const int[]){1, 0}, &v)) {
      iso_tensor *transposed = iso__tensor_from_view(ctx, &v);
      iso_tensor_assign(b, transposed);
    }
  }
  iso_scope_pop(ctx);
}

static void test_memory_failures(void **state) {
  (void)state;
  uint64_t n = 1;
  for (;; n++) {
    iso_context *ctx = new_context(1);
    uint64_t before = iso_memory_get_info(ctx).n_allocations;
    iso_memory_fail_at(ctx, n);
    make_all(ctx);
    bool reached = iso_memory_get_info(ctx).n_allocations >= before + n;
    assert_int_equal(iso_error_code(ctx), reached ? ISO_OUT_OF_MEMORY : ISO_OK);
    if (reached) assert_non_null(strstr(iso_error_message(ctx), "OUT_OF_MEMORY"));
    iso_clear_error(ctx);
    iso_memory_fail_at(ctx, 0);
    make_all(ctx); /* the context is as good as new */
    assert_int_equal(iso_error_code(ctx), ISO_OK);
    end_context(ctx);
    if (!reached) break;
  }
  assert_true(n > 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_make_and_ask),
                                     cmocka_unit_test(test_channels_last),
                                     cmocka_unit_test(test_values),
                                     cmocka_unit_test(test_empty),
                                     cmocka_unit_test(test_bad_shapes),
                                     cmocka_unit_test(test_null),
                                     cmocka_unit_test(test_wrap),
                                     cmocka_unit_test(test_scopes),
                                     cmocka_unit_test(test_storage_outlives),
                                     cmocka_unit_test(test_var),
                                     cmocka_unit_test(test_versions),
#ifdef ISO_DEBUG
                                     cmocka_unit_test(test_stale),
#endif
                                     cmocka_unit_test(test_memory_failures)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
