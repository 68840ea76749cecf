/* test_index_checks.c: the words for a bad index, and the list by which a device's report is understood. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "device/cuda/indices.h"

static iso_context *open_context(void) {
  iso_context *ctx;
  assert_int_equal(iso__context_new(NULL, NULL, 1, ISO_ISA_SCALAR, &ctx), ISO_OK);
  return ctx;
}
static void expect(const iso__index_check *check, int64_t position, int64_t value, const char *words) {
  iso_context *ctx = open_context();
  iso__index_fail(ctx, check, position, value);
  assert_int_equal(iso_error_code(ctx), ISO_INVALID_ARGUMENT);
  if (strncmp(iso_error_message(ctx), words, strlen(words)) != 0) fail_msg("%s", iso_error_message(ctx));
  iso__context_free(ctx);
}

static void test_words(void **state) {
  (void)state;
  iso__index_check c = {.op = "gather", .name = "index", .extent = 5, .n_dims = 3, .shape = {2, 3, 4}};
  expect(&c, 0, 7, "gather: index[0,0,0] is 7: 0 to 4 are in range (");
  expect(&c, 23, -1, "gather: index[1,2,3] is -1: 0 to 4 are in range (");
  c.wraps = true;
  expect(&c, 9, -6, "gather: index[0,2,1] is -6: -5 to 4 are in range (");
  c.n_dims = 0;
  expect(&c, 0, 5, "gather: index is 5: -5 to 4 are in range (");
  c.extent = 0;
  expect(&c, 0, 0, "gather: index is 0, but there is nothing to point at (");
  expect(
      &(iso__index_check){
          .op = "nll_loss", .name = "target", .is_class = true, .extent = 10, .n_dims = 1, .shape = {9}},
      8, 10, "nll_loss: target[8] is 10: classes run from 0 to 9 (");
}

/* Equal checks have one number, which stays; whatever differs makes another. */
static void test_numbers(void **state) {
  (void)state;
  iso_context *ctx = open_context();
  iso__index_checks list = {0};
  iso__index_check c[64];
  enum { N = sizeof c / sizeof *c };
  for (int i = 0; i < N; i++) {
    c[i] = (iso__index_check){.op = i & 1 ? "gather" : "take",
                              .name = i & 2 ? "index" : "offsets",
                              .wraps = i & 4,
                              .is_class = i & 8,
                              .extent = i & 16 ? 5 : 6,
                              .n_dims = 2,
                              .shape = {3, i & 32 ? 4 : 7}};
    assert_int_equal(iso__index_checks_find(ctx, &list, &c[i]), i);
  }
  for (int round = 0; round < 2; round++)
    for (int i = 0; i < N; i++) assert_int_equal(iso__index_checks_find(ctx, &list, &c[i]), i);
  for (int i = N - 1; i >= 0; i--) assert_int_equal(iso__index_checks_find(ctx, &list, &c[i]), i);
  assert_int_equal(list.n, N);
  iso__free(ctx, list.list, list.capacity * sizeof *list.list);
  iso__context_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_words), cmocka_unit_test(test_numbers)};
  return cmocka_run_group_tests_name("index checks", tests, NULL, NULL);
}
