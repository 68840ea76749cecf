/* test_free.c: rows of class `free` promise no bits, so they are held to two other things: their results stay within
 * the operator's error bound of binary64 whatever the threads, and with several threads they really do differ from run
 * to run, since otherwise the proof that other rows don't could not fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cmocka.h>
#include "base/cpu.h"
#include "base/fenv.h"
#include "numeric/dtype.h"
#include "plan/operands.h"
#include "plan/state.h"

enum { MAX_THREADS = 4, N_SAMPLES = 100, N_TRIES = 50 };
extern const char *const iso__gemm_cases[];
extern const char *const iso__conv_cases[];
static const char *const *const families[] = {iso__gemm_cases, iso__conv_cases};
static iso_context *contexts[MAX_THREADS + 1];

static const iso__engine *reference_of(uint16_t op) {
  for (const iso__engine *r = iso__the_registry.engines; r->name; r++)
    if (r->op == op && r->element && (r->dtypes & ISO__DTYPE_BIT(ISO_F64))) return r;
  return NULL;
}

static void run(iso_context *ctx, const iso__engine *row, const iso__problem *problem, const iso__operand_set *set) {
  const size_t n_bytes = row->workspace(problem, ctx->n_threads);
  void *workspace = aligned_alloc(64, n_bytes / 64 * 64 + 64);
  assert_non_null(workspace);
  const iso__call call = {.ctx = ctx,
                          .engine = row,
                          .problem = problem,
                          .args = set->args,
                          .workspace = workspace,
                          .workspace_bytes = n_bytes};
  const iso__fenv saved = iso__fenv_enter();
  row->run(&call);
  iso__fenv_leave(saved);
  free(workspace);
}

/* Binary64 operands with the same values, or their magnitudes. */
static void widen(const iso__operand_set *from, iso__operand_set *to, bool magnitude) {
  for (int i = 0; i < from->n; i++) {
    if (!from->operand[i].input || from->operand[i].dtype != ISO_F32) continue;
    double *v = to->block[i];
    for (int64_t j = 0; j < from->operand[i].n; j++) {
      v[j] = ((const float *)from->block[i])[j];
      if (magnitude) v[j] = fabs(v[j]);
    }
  }
}

static void check_bound(const iso__problem *problem, const iso__engine *row, const char *text) {
  iso__operand_set before, set, exact, magnitude;
  _Alignas(16) unsigned char bytes[ISO__MAX_PROBLEM_BYTES];
  iso__problem *wide = (iso__problem *)memcpy(bytes, problem, problem->n_bytes);
  wide->dtype = ISO_F64;
  const iso__engine *reference = reference_of(problem->op);
  const double bound = iso__problem_operator(problem)->error_bound;
  assert_true(iso__operand_set_init(contexts[1], problem, NULL, 7, &before));
  assert_true(iso__operand_set_init(contexts[1], wide, NULL, 7, &exact));
  assert_true(iso__operand_set_init(contexts[1], wide, NULL, 7, &magnitude));
  widen(&before, &exact, false), widen(&before, &magnitude, true);
  for (int threads = 1; threads <= MAX_THREADS; threads++) {
    assert_true(iso__operand_set_init(contexts[1], problem, NULL, 7, &set));
    run(contexts[threads], row, problem, &set);
    for (int i = 0; i < set.n; i++) {
      if (!set.operand[i].output) continue;
      for (int s = 0; s < N_SAMPLES && s < set.operand[i].n; s++) {
        const int64_t at = s < 8 ? s : (int64_t)((uint64_t)s * 0x9e3779b97f4a7c15u % (uint64_t)set.operand[i].n);
        double y, scale;
        if (!reference->element(wide, exact.args, i, at, &y)) continue;
        reference->element(wide, magnitude.args, i, at, &scale);
        const double x = ((const float *)set.block[i])[at];
        if (fabs(x - y) > bound * (fmax(fabs(y), fabs(scale)) + 1e-30))
          fail_msg("%s on '%s', %d threads: element %lld is %a, in binary64 %a", row->name, text, threads,
                   (long long)at, x, y);
      }
    }
    iso__operand_set_release(contexts[1], &set);
  }
  iso__operand_set_release(contexts[1], &before);
  iso__operand_set_release(contexts[1], &exact);
  iso__operand_set_release(contexts[1], &magnitude);
}

static void test_within_bound(void **state) {
  (void)state;
  int n_checked = 0;
  for (size_t f = 0; f < sizeof families / sizeof families[0]; f++)
    for (const char *const *text = families[f]; *text; text++) {
      _Alignas(16) unsigned char bytes[ISO__MAX_PROBLEM_BYTES];
      const iso__problem *problem = (const iso__problem *)bytes;
      assert_int_equal(iso__problem_parse(contexts[1], *text, bytes), ISO_OK);
      for (const iso__engine *row = iso__the_registry.engines; row->name; row++)
        if (row->level == ISO_REPRO_OFF && row->op == problem->op && row->isa <= iso__cpu()->isa &&
            (row->dtypes & ISO__DTYPE_BIT(problem->dtype)) && !row->applicable(problem))
          check_bound(problem, row, *text), n_checked++;
    }
  assert_true(n_checked > 0);
}

static void check_differs(const iso__engine *row, const char *text, const iso__problem *problem) {
  iso__operand_set first, next;
  assert_true(iso__operand_set_init(contexts[1], problem, NULL, 7, &first));
  assert_true(iso__operand_set_init(contexts[1], problem, NULL, 7, &next));
  run(contexts[2], row, problem, &first);
  int n_runs = 1, out = 0;
  while (!first.operand[out].output) out++;
  for (bool same = true; same && n_runs < N_TRIES; n_runs++) {
    run(contexts[2], row, problem, &next);
    same = iso_same_bits(first.block[out], next.block[out], (size_t)first.operand[out].n, first.operand[out].dtype);
  }
  printf("%s on '%s' with 2 threads: %s\n", row->name, text,
         n_runs < N_TRIES ? "the bits differ from run to run" : "no difference seen, which proves nothing");
  iso__operand_set_release(contexts[1], &first);
  iso__operand_set_release(contexts[1], &next);
}

static void test_differs_from_run_to_run(void **state) {
  (void)state;
  static const char *const texts[] = {"gemm f32 m16 n16 k65536 ta1",
                                      "conv2d.bwd_weights f32 n64 c1 h28 w28 k32 r3 s3 p1"};
  for (const iso__engine *row = iso__the_registry.engines; row->name; row++) {
    if (row->level != ISO_REPRO_OFF || row->isa > iso__cpu()->isa) continue;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
      _Alignas(16) unsigned char bytes[ISO__MAX_PROBLEM_BYTES];
      const iso__problem *problem = (const iso__problem *)bytes;
      assert_int_equal(iso__problem_parse(contexts[1], texts[i], bytes), ISO_OK);
      if (row->op == problem->op && !row->applicable(problem)) check_differs(row, texts[i], problem);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_within_bound),
                                     cmocka_unit_test(test_differs_from_run_to_run)};
  for (int t = 1; t <= MAX_THREADS; t++) {
    if (iso__context_new(NULL, NULL, t, iso__cpu()->isa, &contexts[t]) != ISO_OK) return 1;
    if (iso__plan_attach(contexts[t]) != ISO_OK) return 1;
  }
  const int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
  for (int t = 1; t <= MAX_THREADS; t++) iso__context_free(contexts[t]);
  return n_failed;
}
