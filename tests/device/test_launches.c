/* test_launches.c: which launches can have failed, from the number that the stream wrote last. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "device/cuda/launches.h"

static const char *const names[] = {"zero", "one", "two", "three", "four"};
static const char *describe(const iso__launches *l) {
  static char text[200];
  iso__launches_describe(l, text, sizeof text);
  return text;
}

static void test_names(void **state) {
  (void)state;
  volatile uint32_t ended = 0;
  iso__launches l = {.ended = &ended};
  uint32_t number;
  assert_string_equal(describe(&l), "");
  assert_true(iso__launches_note(&l, names[0], &number));
  assert_int_equal(number, 0); /* nothing is before it */
  assert_string_equal(describe(&l), "in zero");
  for (int i = 1; i < 5; i++) assert_false(iso__launches_note(&l, names[i], &number));
  assert_string_equal(describe(&l), "in one of the last 5 launches: zero, one, two, three, four");
  ended = 3;
  assert_string_equal(describe(&l), "in one of the last 2 launches: three, four");
  ended = 5;
  assert_string_equal(describe(&l), "");
}

/* Marks come every ISO__LAUNCHES_MARK_EVERY launches with the number of all before; numbers wrap. */
static void test_marks(void **state) {
  (void)state;
  volatile uint32_t ended = UINT32_MAX - 63;
  iso__launches l = {.ended = &ended};
  atomic_store(&l.n, UINT32_MAX - 63);
  uint32_t number;
  int n_marks = 0;
  for (int i = 0; i < 128; i++)
    if (iso__launches_note(&l, names[i % 5], &number)) ended = number, n_marks++;
  assert_int_equal(n_marks, 128 / ISO__LAUNCHES_MARK_EVERY);
  assert_int_equal(ended, 64 - ISO__LAUNCHES_MARK_EVERY);
  assert_memory_equal(describe(&l), "in one of the last 32 launches: ", 32);
}

/* Without a driver that writes numbers, or long behind: the last that are kept, and the text may be cut. */
static void test_without_numbers(void **state) {
  (void)state;
  iso__launches l = {0};
  uint32_t number;
  for (int i = 0; i < 1000; i++) iso__launches_note(&l, "same", &number);
  assert_string_equal(describe(&l), "in one of the last 64 launches: same ×64");
  for (int i = 0; i < 1000; i++)
    assert_false(iso__launches_note(&l, i & 1 ? "an.engine.of.some.length" : "another", &number));
  const char *text = describe(&l);
  assert_memory_equal(text, "in one of the last 64 launches: another, an.engine.of", 53);
  assert_int_equal(strlen(text), 199);
  assert_string_equal(text + 196, "\xe2\x80\xa6");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_names), cmocka_unit_test(test_marks),
                                     cmocka_unit_test(test_without_numbers)};
  return cmocka_run_group_tests_name("launches", tests, NULL, NULL);
}
