/* test_context.c: first errors, scopes and their handles, the end of a context, memory of the context, hash, cpu. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "base/clock.h"
#include "base/context.h"
#include "base/cpu.h"
#include "base/hash.h"

static iso_context *bare(int n_threads) {
  iso_context *ctx;
  assert_int_equal(iso__context_new(NULL, NULL, n_threads, ISO_ISA_AVX512, &ctx), ISO_OK);
  return ctx;
}

/* ---- errors ---- */

static void test_first_error(void **state) {
  (void)state;
  iso_context *ctx = bare(1);
  assert_int_equal(iso_error_code(ctx), ISO_OK);
  assert_string_equal(iso_error_message(ctx), "");
  assert_false(iso__failed(ctx));
  assert_int_equal(
      iso__fail(ctx, ISO_SHAPE_MISMATCH, "/a/b/conv2d.c", 41, "conv2d", "x has %d channels but w expects %d", 3, 4),
      ISO_SHAPE_MISMATCH);
  static const char first[] = "conv2d: x has 3 channels but w expects 4 (SHAPE_MISMATCH, conv2d.c:41)";
  assert_string_equal(iso_error_message(ctx), first);
  assert_int_equal(iso__fail(ctx, ISO_IO, "f.c", 1, "read", "later"), ISO_SHAPE_MISMATCH);
  assert_string_equal(iso_error_message(ctx), first);
  assert_true(iso__failed(ctx));
  iso_clear_error(ctx);
  assert_int_equal(iso_error_code(ctx), ISO_OK);

  char endless[2000];
  memset(endless, 'x', sizeof endless - 1);
  endless[sizeof endless - 1] = '\0';
  iso__fail(ctx, ISO_IO, "file.c", 7, endless, "%s", endless);
  assert_true(strlen(iso_error_message(ctx)) < sizeof ctx->error.message);
  iso_clear_error(ctx);
  iso__fail(ctx, ISO_IO, "file.c", 7, "read", "%s", endless);
  assert_non_null(strstr(iso_error_message(ctx), "xxx (IO, file.c:7)"));
  iso__context_free(ctx);
  assert_int_equal(iso__fail(NULL, ISO_IO, "f.c", 1, "read", "no context"), ISO_IO);
  assert_true(iso__failed(NULL));
}

static void test_status_texts(void **state) {
  (void)state;
  assert_string_equal(iso_status_name(ISO_OK), "OK");
  assert_string_equal(iso_status_name(ISO_DIVERGED), "DIVERGED");
  assert_string_equal(iso_status_sentence(ISO_MEMORY_LIMIT), "the context's memory limit would be exceeded");
  assert_non_null(iso_status_name((iso_status)999));
  assert_non_null(iso_status_sentence((iso_status)-1));
  assert_string_equal(iso_version(), "0.1.0");
}

/* ---- scopes ---- */

typedef struct probe {
  iso__handle handle;
  int id;
} probe;

static int order[32], n_dead;

static void probe_destroy(iso__handle *handle) { order[n_dead++] = ((probe *)(void *)handle)->id; }

static void enter(iso_context *ctx, probe *p, int id) {
  *p = (probe){.handle = {.destroy = probe_destroy}, .id = id};
  iso__handle_enter(ctx, &p->handle);
}

static void test_scopes(void **state) {
  (void)state;
  n_dead = 0;
  iso_context *ctx = bare(1);
  probe p[8];
  enter(ctx, &p[0], 0);
  iso_scope_push(ctx);
  enter(ctx, &p[1], 1);
  enter(ctx, &p[2], 2);
  iso_scope_push(ctx);
  enter(ctx, &p[3], 3);
  enter(ctx, &p[4], 4);
  enter(ctx, &p[5], 5);
  iso__handle_escape(ctx, &p[3].handle); /* into the scope of 1 and 2 */
  iso__handle_escape(ctx, &p[3].handle); /* stays there: it is no longer the innermost scope's */
  iso__handle_keep(ctx, &p[4].handle);
  iso_scope_pop(ctx);
  assert_int_equal(n_dead, 1);
  assert_int_equal(order[0], 5);
  iso__handle_leave(&p[1].handle);
  iso_scope_pop(ctx);
  assert_int_equal(n_dead, 3);
  assert_int_equal(order[1], 3); /* newest first */
  assert_int_equal(order[2], 2);
  assert_int_equal(iso_error_code(ctx), ISO_OK);
  iso_scope_pop(ctx);
  assert_int_equal(iso_error_code(ctx), ISO_STATE);
  iso_scope_push(ctx); /* pairs in a failed context, too */
  enter(ctx, &p[6], 6);
  iso_scope_pop(ctx);
  assert_int_equal(order[3], 6);
  iso_scope_push(ctx);
  enter(ctx, &p[7], 7);
  iso__context_free(ctx); /* open scopes, then the root's, then the kept */
  assert_int_equal(n_dead, 7);
  assert_int_equal(order[4], 7);
  assert_int_equal(order[5], 0);
  assert_int_equal(order[6], 4);
}

/* A push without memory still pairs with its pop, in any nesting. */
static void test_scopes_without_memory(void **state) {
  (void)state;
  iso_context *ctx = bare(1);
  n_dead = 0;
  probe p[2];
  iso_scope_push(ctx);
  iso_memory_fail_at(ctx, 1);
  iso_scope_push(ctx);
  assert_int_equal(iso_error_code(ctx), ISO_OUT_OF_MEMORY);
  enter(ctx, &p[0], 0);
  iso_scope_push(ctx);
  iso_scope_pop(ctx);
  iso_scope_pop(ctx);
  assert_int_equal(n_dead, 0);
  iso_scope_pop(ctx);
  assert_int_equal(n_dead, 1);
  iso__context_free(ctx);
}

/* ---- life ---- */

static iso_context *slots_of;
static int n_slots_freed;
static void slot_free(iso_context *ctx, void *slot) {
  assert_ptr_equal(ctx, slots_of);
  order[n_slots_freed++] = *(int *)slot;
}

static void test_slots(void **state) {
  (void)state;
  static int names[] = {0, 1, 2};
  n_slots_freed = 0;
  iso_context *ctx = slots_of = bare(1);
  for (int i = 0; i < 3; i++) {
    ctx->slot[i * 2] = &names[i];
    ctx->slot_free[i * 2] = slot_free;
  }
  iso__context_free(ctx);
  assert_int_equal(n_slots_freed, 3);
  for (int i = 0; i < 3; i++) assert_int_equal(order[i], 2 - i);
}

static void test_shared_heap(void **state) {
  (void)state;
  iso_context *parent = bare(2), *child;
  iso__heap *heap = parent->heap;
  iso__heap_retain(heap);
  assert_int_equal(iso__context_new(NULL, heap, 1, ISO_ISA_SCALAR, &child), ISO_OK);
  assert_int_equal(iso_n_threads(child), 1);
  assert_int_equal(iso_context_isa(child), ISO_ISA_SCALAR);
  iso__context_free(parent);
  void *block = iso__alloc(child, 100);
  assert_non_null(block);
  iso__free(child, block, 100);
  iso__heap_fail_at(heap, 1);
  iso_context *none;
  assert_int_equal(iso__context_new(NULL, heap, 1, ISO_ISA_SCALAR, &none), ISO_OUT_OF_MEMORY);
  assert_null(none);
  assert_int_equal(iso__context_new(NULL, heap, -1, ISO_ISA_SCALAR, &none), ISO_INVALID_ARGUMENT);
  iso__context_free(child);
  assert_int_equal(iso__heap_info(heap).live_bytes, 0);
  iso__heap_release(heap);
  iso__context_free(NULL);
}

static void test_memory(void **state) {
  (void)state;
  iso_context *ctx = bare(1);
  void *block = NULL;
  size_t capacity = 0, live = iso_memory_get_info(ctx).live_bytes;
  for (size_t n = 1; n <= 1000; n++) {
    assert_true(iso__grow(ctx, &block, &capacity, n, sizeof(int)));
    assert_true(capacity >= n);
    ((int *)block)[n - 1] = (int)n;
  }
  for (int i = 0; i < 1000; i++) assert_int_equal(((int *)block)[i], i + 1);
  iso_memory_fail_at(ctx, 1);
  void *before = block;
  assert_false(iso__grow(ctx, &block, &capacity, 5000, sizeof(int)));
  assert_ptr_equal(block, before);
  assert_int_equal(iso_error_code(ctx), ISO_OUT_OF_MEMORY);
  iso_clear_error(ctx);
  assert_false(iso__grow(ctx, &block, &capacity, SIZE_MAX / 2, 8));
  assert_int_equal(iso_error_code(ctx), ISO_OUT_OF_MEMORY);
  iso_clear_error(ctx);
  iso__free(ctx, block, capacity * sizeof(int));
  assert_int_equal(iso_memory_get_info(ctx).live_bytes, live);

  unsigned char *zeros = iso__zalloc(ctx, 3000);
  for (int i = 0; i < 3000; i++) assert_int_equal(zeros[i], 0);
  iso__free(ctx, zeros, 3000);
  iso__heap_set_limit(ctx->heap, 100000);
  assert_null(iso__alloc(ctx, 200000));
  assert_int_equal(iso_error_code(ctx), ISO_MEMORY_LIMIT);
  assert_non_null(strstr(iso_error_message(ctx), "200000"));
  iso__context_free(ctx);
}

/* ---- hash, clock, cpu ---- */

static void test_hash(void **state) {
  (void)state;
  char hex[33];
  iso__hash_format(iso__hash_bytes("abc", 3), hex);
  assert_string_equal(hex,
                      "06b05ab6733a618578af5f94892f3950"); /* XXH128("abc") as the library's own program prints it */
  iso__hasher *h = iso__hasher_new();
  iso__hasher_add(h, "a", 1);
  iso__hasher_add(h, "", 0);
  iso__hasher_add(h, "bc", 2);
  iso__hash_format(iso__hasher_end(h), hex);
  assert_string_equal(hex, "06b05ab6733a618578af5f94892f3950");
  assert_true(iso__hash64("abc", 3) != iso__hash64("acb", 3));
}

static void test_cpu(void **state) {
  (void)state;
  const iso__cpu_info *cpu = iso__cpu();
  assert_true(cpu->n_cores >= 1 && cpu->n_cores < 1 << 20);
  assert_true(cpu->l1_bytes >= 4096 && cpu->l2_bytes >= cpu->l1_bytes);
  assert_true(cpu->model[0] != '\0');
  for (int i = 0; i < 3; i++) {
    iso_isa isa;
    assert_int_equal(iso__isa_parse(iso_isa_name((iso_isa)i), &isa), ISO_OK);
    assert_int_equal(isa, i);
  }
  iso_isa isa;
  assert_int_equal(iso__isa_parse("sse2", &isa), ISO_NOT_FOUND);
  assert_int_equal(iso__isa_parse(NULL, &isa), ISO_NOT_FOUND);
  uint64_t t = iso__clock_ns();
  assert_true(iso__clock_ns() >= t);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_first_error), cmocka_unit_test(test_status_texts),
                                     cmocka_unit_test(test_scopes),      cmocka_unit_test(test_scopes_without_memory),
                                     cmocka_unit_test(test_slots),       cmocka_unit_test(test_shared_heap),
                                     cmocka_unit_test(test_memory),      cmocka_unit_test(test_hash),
                                     cmocka_unit_test(test_cpu)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
