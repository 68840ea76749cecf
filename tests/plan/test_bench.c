/* test_bench.c: engines timed in turns on one set of operands, kept weights included; errors; every allocation failed
 * in turn; the machine's traffic. */
#include "plan/kept.h"
#include "plan_test.h"

static const char *const problems[] = {
    "gemm f32 m9 n31 k40 tb1", "gemm f32 m9 n31 k40 tb1 kept1", "conv2d.fwd f32 n2 c9 h13 w11 k10 r3 s3 p1",
    "conv2d.fwd f32 n2 c9 h13 w11 k10 r3 s3 p1 kept1", "conv2d.bwd_weights f32 n2 c3 h12 w12 k8 r5 s5"};

static iso_context *context(void) { return plan_context("balanced", 2, "none", NULL); }

/* One slice of every engine that could run. False with the context's error set. */
static bool time_all(iso_context *ctx, const char *problem, int *n_timed) {
  static iso_plan_candidate candidates[ISO_MAX_PLAN_CANDIDATES];
  const int n = iso_plan_query(ctx, problem, candidates);
  iso_bench *bench = iso_bench_new(ctx, problem);
  bool ok = bench != NULL;
  for (int i = 0; i < n && ok; i++) {
    iso_bench_result r;
    if (!(candidates[i].estimated_ms > 0)) continue;
    ok = iso_bench_slice(bench, candidates[i].engine, 0.01, &r) == ISO_OK;
    if (!ok) break;
    assert_true(r.n_samples >= 1 && r.median_ms > 0 && r.flops > 0 && r.bytes > 0 && r.residual != r.residual);
    ++*n_timed;
  }
  iso_bench_free(bench);
  return ok;
}

static void test_engines_take_turns(void **state) {
  (void)state;
  iso_context *ctx = context();
  for (size_t p = 0; p < sizeof problems / sizeof *problems; p++) {
    int n_timed = 0;
    const size_t live = iso_memory_get_info(ctx).live_bytes;
    if (!time_all(ctx, problems[p], &n_timed)) fail_msg("%s: %s", problems[p], iso_error_message(ctx));
    assert_true(n_timed >= 1);
    assert_int_equal(iso_memory_get_info(ctx).live_bytes, live);
  }
  iso_context_free(ctx);
}

/* Nothing leaks and nothing crashes, whichever allocation fails; then it works again. */
static void test_every_allocation_may_fail(void **state) {
  (void)state;
  iso_context *ctx = context();
  for (size_t p = 0; p < sizeof problems / sizeof *problems; p++) {
    int n_timed = 0;
    assert_true(time_all(ctx, problems[p], &n_timed));
    const size_t live = iso_memory_get_info(ctx).live_bytes;
    bool ok = false;
    uint64_t at = 1;
    for (; !ok && at < 200; at++) {
      iso_memory_fail_at(ctx, at);
      ok = time_all(ctx, problems[p], &n_timed);
      iso_memory_fail_at(ctx, 0);
      if (!ok) assert_int_equal(iso_error_code(ctx), ISO_OUT_OF_MEMORY);
      iso_clear_error(ctx);
      assert_int_equal(iso_memory_get_info(ctx).live_bytes, live);
    }
    assert_true(ok && at > 3); /* some did fail */
  }
  iso_context_free(ctx);
}

static void test_errors(void **state) {
  (void)state;
  iso_context *ctx;
  iso_bench_result r;
  assert_int_equal(iso__context_new(NULL, NULL, 1, ISO_ISA_SCALAR, &ctx), ISO_OK);
  assert_int_equal(iso__plan_attach(ctx), ISO_OK);
  assert_null(iso_bench_new(ctx, "gemm f32 m-1 n2 k2"));
  assert_int_equal(iso_error_code(ctx), ISO_INVALID_ARGUMENT);
  assert_null(iso_bench_new(ctx, problems[0])); /* the first error stays */
  iso_clear_error(ctx);
  iso_bench *bench = iso_bench_new(ctx, problems[0]);
  assert_non_null(bench);
  assert_int_equal(iso_bench_slice(bench, "cpu.abacus.gemm", 1, &r), ISO_NOT_FOUND);
  iso_clear_error(ctx);
  assert_int_equal(iso_bench_slice(bench, "cpu.avx2.gemm_blocked", 1, &r), ISO_UNSUPPORTED);
  iso_clear_error(ctx);
  assert_int_equal(iso_bench_slice(bench, "cpu.scalar.gemm_reference", 0.01, &r), ISO_OK);
  assert_int_equal(iso_bench_slice(NULL, "cpu.scalar.gemm_reference", 1, &r), ISO_INVALID_ARGUMENT);
  iso_bench_free(bench);
  iso_bench_free(NULL);
  iso_context_free(ctx);
}

static void test_traffic(void **state) {
  (void)state;
  iso_context *ctx = context();
  for (int isa = ISO_ISA_SCALAR; isa <= (int)iso_context_isa(ctx); isa++) {
    iso_context *masked;
    assert_int_equal(iso__context_new(NULL, NULL, 2, (iso_isa)isa, &masked), ISO_OK);
    assert_true(iso_machine_traffic_gbs(masked, ISO_TRAFFIC_READ, 1 << 20, 1) > 0);
    assert_true(iso_machine_traffic_gbs(masked, ISO_TRAFFIC_COPY, 1 << 20, 1) > 0);
    iso__context_free(masked);
  }
  for (uint64_t at = 1; at <= 2; at++) {
    iso_memory_fail_at(ctx, at);
    assert_true(iso_machine_traffic_gbs(ctx, ISO_TRAFFIC_COPY, 12345678, 1) == 0);
  }
  iso_memory_fail_at(ctx, 0);
  assert_true(iso_machine_traffic_gbs(NULL, ISO_TRAFFIC_READ, 1 << 20, 1) == 0);
  assert_int_equal(iso_error_code(ctx), ISO_OK);
  iso_context_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_engines_take_turns),
                                     cmocka_unit_test(test_every_allocation_may_fail), cmocka_unit_test(test_errors),
                                     cmocka_unit_test(test_traffic)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
