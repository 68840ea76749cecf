/* test_free.c: rows of class `free` promise no bits: with several threads they really do differ from run to run, since
 * otherwise the proof that other rows don't could not fail. That they stay within the operator's error bound of
 * binary64 is test_engines.c's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include "base/cpu.h"
#include "plan/operands.h"
#include "plan/state.h"
#include "run_engine.h"

enum { MAX_THREADS = 2, N_TRIES = 50 };
static iso_context *contexts[MAX_THREADS + 1];

static bool differs(const iso__engine *row, const char *text, const iso__problem *problem) {
  iso__operand_set first, next;
  assert_true(iso__operand_set_init(contexts[1], problem, NULL, 7, &first));
  assert_true(iso__operand_set_init(contexts[1], problem, NULL, 7, &next));
  run_engine(contexts[2], row, problem, first.args);
  int out = 0;
  while (!first.operand[out].output) out++;
  bool same = true;
  for (int n_runs = 1; same && n_runs < N_TRIES; n_runs++) {
    run_engine(contexts[2], row, problem, next.args);
    same = iso_same_bits(first.block[out], next.block[out], (size_t)first.operand[out].n, first.operand[out].dtype);
  }
  printf("%s on '%s' with 2 threads: %s\n", row->name, text,
         same ? "no difference seen, which proves nothing" : "the bits differ from run to run");
  iso__operand_set_release(contexts[1], &first);
  iso__operand_set_release(contexts[1], &next);
  return !same;
}

/* Every operator that has free rows is tried; if none was seen to differ, the machine gave no proof and the test says
 * so. */
static void test_differs_from_run_to_run(void **state) {
  (void)state;
  int n_tried = 0, n_differ = 0;
  static const char *const texts[] = {"gemm f32 m16 n16 k65536 ta1",
                                      "conv2d.bwd_weights f32 n64 c1 h28 w28 k32 r3 s3 p1"};
  for (const iso__engine *row = iso__the_registry.engines; row->name; row++) {
    if (row->level != ISO_REPRO_OFF || row->isa > iso__cpu()->isa) continue;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
      _Alignas(16) unsigned char bytes[ISO__MAX_PROBLEM_BYTES];
      const iso__problem *problem = (const iso__problem *)bytes;
      assert_int_equal(iso__problem_parse(contexts[1], texts[i], bytes), ISO_OK);
      if (row->op != problem->op || row->applicable(problem)) continue;
      n_tried++;
      n_differ += differs(row, texts[i], problem);
    }
  }
  assert_true(n_tried > 0 || iso__cpu()->isa == ISO_ISA_SCALAR);
  if (!n_differ) {
    printf("[  SKIPPED ] none of %d free rows was seen to differ\n", n_tried);
    skip();
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_differs_from_run_to_run)};
  for (int t = 1; t <= MAX_THREADS; t++) {
    if (iso__context_new(NULL, NULL, t, iso__cpu()->isa, &contexts[t]) != ISO_OK) return 1;
    if (iso__plan_attach(contexts[t]) != ISO_OK) return 1;
  }
  const int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
  for (int t = 1; t <= MAX_THREADS; t++) iso__context_free(contexts[t]);
  return n_failed;
}
