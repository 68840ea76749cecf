/* test_lost_device.c: a kernel that reads where nothing is: the next call that waits names it, and the device is not
 * opened again. In a process of its own, whose device is lost with it. Skipped where no CUDA device can be used. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <isobit/isobit.h>
#include "tensor/tensor.h"

static void test_a_lost_device(void **state) {
  (void)state;
  iso_policy policy;
  iso_context *ctx, *other;
  char why[320];
  assert_int_equal(iso_policy_preset("portable", &policy), ISO_OK);
  policy.tuning = ISO_TUNING_RULE;
  if (iso_context_new_message(&(iso_context_options){.policy = &policy, .device = "cuda:0"}, &ctx, why, sizeof why)) {
    print_message("no CUDA device can be used: %s\n", why);
    skip();
  }
  iso_scope_push(ctx);
  iso_tensor *x = iso_tensor_zeros(ctx, ISO_F32, 2, ISO_DIMS(5, 64));
  iso_tensor *index = iso_tensor_full(ctx, ISO_I64, 1, ISO_DIMS(9), 1e15);
  index->view.storage->indices_below = 1; /* a lie: nobody looks at them */
  for (int i = 0; i < 40; i++) assert_non_null(iso_relu(ctx, x));
  assert_int_equal(iso_synchronize(ctx), ISO_OK);
  iso_tensor *y = iso_index_select(ctx, x, 0, index);
  assert_non_null(y);
  iso_relu(ctx, y);
  assert_int_equal(iso_synchronize(ctx), ISO_DEVICE_ERROR);
  print_message("%s\n", iso_error_message(ctx));
  static const char *const words[] = {"cuda:0: ", "cudaErrorIllegalAddress", "cuda.gather", "lost"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) assert_non_null(strstr(iso_error_message(ctx), words[i]));
  assert_int_equal(
      iso_context_new_message(&(iso_context_options){.policy = &policy, .device = "cuda:0"}, &other, why, sizeof why),
      ISO_DEVICE_ERROR);
  assert_non_null(strstr(why, "must be started anew"));
  iso_scope_pop(ctx);
  iso_context_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_lost_device)};
  return cmocka_run_group_tests_name("a lost device", tests, NULL, NULL);
}
