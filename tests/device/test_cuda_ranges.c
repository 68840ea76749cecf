/* test_cuda_ranges.c: NVTX ranges reach what a profiler injects; without one there are none. In builds with CUDA. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <dlfcn.h>
#include <cmocka.h>

#ifdef STUB_NVTX
#  include "device/cuda/state.h"

/* NVTX looks for an injected library once a process: the test's argument says which one this is. */
static void test_ranges(void **state) {
  (void)state;
  void (*push)(const char *name) = NULL, (*pop)(void) = NULL;
  const bool injected = getenv("NVTX_INJECTION64_PATH") != NULL;
  assert_int_equal(iso__cuda_ranges(&push, &pop), injected);
  assert_int_equal(push && pop, injected);
  if (!injected) return;
  push("conv2d.fwd f32 n1"), push("inner"), pop(), pop();
  void *library = dlopen(STUB_NVTX, RTLD_NOW | RTLD_NOLOAD);
  assert_non_null(library);
  assert_string_equal((const char *)dlsym(library, "stub_log"),
                      "domain(isobit) push(conv2d.fwd f32 n1) push(inner) pop() pop() ");
  dlclose(library);
}

/* Once without a profiler, in this process; once with one, in a fresh one. */
static void test_injected(void **state) {
  (void)state;
  if (getenv("NVTX_INJECTION64_PATH")) return;
  char command[4096];
  snprintf(command, sizeof command, "NVTX_INJECTION64_PATH='%s' '%s' > /dev/null 2>&1", STUB_NVTX, TEST_PROGRAM);
  assert_int_equal(system(command), 0);
}
#else
static void test_ranges(void **state) { (void)state, skip(); }
static void test_injected(void **state) { (void)state, skip(); }
#endif

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_ranges), cmocka_unit_test(test_injected)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
