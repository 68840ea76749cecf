/* test_workspace.c: every class has an engine whose workspace does not grow with the batch, so a cap on it may refuse a
 * problem but never changes the class, and with it bits. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include "base/cpu.h"
#include "kernels/conv/conv.h"
#include "kernels/gemm/gemm.h"
#include "plan/state.h"

/* Blocks may fill up first: batches are compared at which they are full. */
enum { N_THREADS = 2, FULL = 1 << 14, TIMES = 4, MIB = 1 << 20 };

extern const char *const iso__gemm_cases[], *const iso__conv_cases[];

/* The same problem with so many times the batch; false: it has none. */
static bool enlarge(iso__problem *problem, int times) {
  if (problem->op == ISO__OP_GEMM) {
    iso_gemm_problem *p = (iso_gemm_problem *)problem;
    if (p->trans_a || p->m < 4 || p->batch != 1) return false; /* there m is the weights' own extent */
    return p->m *= times, true;
  }
  iso_conv_problem *p = (iso_conv_problem *)problem;
  return p->n >= 4 ? (p->n *= times, true) : false;
}

/* Of the class' fast engine that grows least, in MiB; negative: the class has no fast engine here. */
static double least_growth(const iso__engine *reference, const iso__problem *small, const iso__problem *large) {
  double least = -1;
  for (const iso__engine *e = iso__engine_first(reference->op); e; e = iso__engine_next(e)) {
    if (e->reference || iso__class_reference(e) != reference || e->isa > iso__cpu()->isa || e->applicable(small) ||
        e->applicable(large) || !(e->dtypes & ISO__DTYPE_BIT(small->dtype)))
      continue;
    const double growth =
        fmax(0, (double)e->workspace(large, N_THREADS) - (double)e->workspace(small, N_THREADS)) / MIB;
    if (least < 0 || growth < least) least = growth;
  }
  return least;
}
/* Slots that fill up: sums of small outputs wait in up to so much. A copy of the images would be a thousand times that.
 */
static const double most_growth = 8;

static void test_family(void **state) {
  const char *const *cases = *state;
  int n_checked = 0;
  for (; *cases; cases++) {
    _Alignas(16) unsigned char small_bytes[ISO__MAX_PROBLEM_BYTES], large_bytes[ISO__MAX_PROBLEM_BYTES];
    iso__problem *small = (iso__problem *)small_bytes, *large = (iso__problem *)large_bytes;
    char why[320];
    if (iso__problem_read(*cases, small_bytes, why, sizeof why)) fail_msg("%s", why);
    if (!enlarge(small, FULL)) continue;
    memcpy(large_bytes, small_bytes, sizeof small_bytes);
    enlarge(large, TIMES);
    for (const iso__engine *r = iso__engine_first(small->op); r; r = iso__engine_next(r)) {
      if (!r->reference || r->applicable(small)) continue;
      const double growth = least_growth(r, small, large);
      if (growth > most_growth)
        fail_msg("'%s', %d and then %d times the batch: class %s needs %.0f MiB more in its thriftiest engine", *cases,
                 FULL, FULL * TIMES, r->class_name, growth);
      n_checked += growth >= 0;
    }
  }
  print_message("%d problems and classes checked\n", n_checked);
  assert_true(n_checked > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      {.name = "gemm", .test_func = test_family, .initial_state = (void *)(uintptr_t)iso__gemm_cases},
      {.name = "conv", .test_func = test_family, .initial_state = (void *)(uintptr_t)iso__conv_cases}};
  return cmocka_run_group_tests_name("workspace", tests, NULL, NULL);
}
