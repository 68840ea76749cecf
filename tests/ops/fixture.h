/* fixture.h: a context of two threads and a scope for all tests of a program, and what is expected of an error. */
#ifndef ISO_TESTS_OPS_FIXTURE_H
#define ISO_TESTS_OPS_FIXTURE_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <isobit/isobit.h>

static iso_context *ctx;
static int setup(void **state) {
  (void)state;
  if (iso_context_new(&(iso_context_options){.n_threads = 2}, &ctx) != ISO_OK) return 1;
  iso_scope_push(ctx);
  return 0;
}
static int teardown(void **state) {
  (void)state;
  iso_scope_pop(ctx);
  iso_context_free(ctx);
  return 0;
}
/* The context's error has this code and says these words; it is cleared. */
static inline void expect_error(iso_status code, const char *words) {
  assert_int_equal(iso_error_code(ctx), code);
  if (!strstr(iso_error_message(ctx), words)) fail_msg("'%s' does not say '%s'", iso_error_message(ctx), words);
  iso_clear_error(ctx);
}
static inline void refused(const iso_tensor *t, iso_status code, const char *words) {
  assert_null(t);
  expect_error(code, words);
}
#endif
