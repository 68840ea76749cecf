/* test_vendor_rows.c: when rows of a vendor's library are candidates, without one and without a device: the level, the
 * dial, then the library, in this order, so that nothing is loaded where no row may be used. The device here is one in
 * name; the libraries are a stub of another version and a place that is not there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <isobit/ops.h>
#include "device/device.h"
#include "plan/plan.h"

static const char gemm[] = "gemm f32 m64 n64 k64", conv[] = "conv2d.fwd f32 n2 c8 h8 w8 k8 r3 s3 p1";
static iso__device device;
static iso_context *ctx;

/* How the rows of a vendor's are judged under these dials: the number of them, and the verdict and reason of the last.
 */
static int judge(const char *problem, const char *repro, const char *vendor, iso_verdict *verdict,
                 const char **reason) {
  static iso__candidate candidates[ISO__MAX_CANDIDATES];
  _Alignas(16) unsigned char bytes[ISO__MAX_PROBLEM_BYTES];
  char message[200];
  iso_policy policy;
  assert_int_equal(iso_policy_preset("balanced", &policy), ISO_OK);
  assert_int_equal(iso_policy_set(&policy, "repro", repro, message, sizeof message), ISO_OK);
  assert_int_equal(iso_policy_set(&policy, "vendor", vendor, message, sizeof message), ISO_OK);
  assert_int_equal(iso_policy_push(ctx, &policy), ISO_OK);
  assert_int_equal(iso__problem_parse(ctx, problem, bytes), ISO_OK);
  const int n = iso__plan_candidates(ctx, (const iso__problem *)bytes, candidates);
  iso_policy_pop(ctx);
  int n_rows = 0;
  for (int i = 0; i < n; i++) {
    if (!candidates[i].engine->library) continue;
    assert_false(candidates[i].chosen);
    *verdict = candidates[i].verdict, *reason = candidates[i].reason;
    n_rows++;
  }
  return n_rows;
}

static bool has_rows(void) {
  iso_verdict verdict;
  const char *reason;
  return judge(gemm, "off", "on", &verdict, &reason) > 0;
}

static void is_refused(const char *problem, const char *repro, const char *vendor, iso_verdict wanted,
                       const char *says) {
  iso_verdict verdict = ISO_VERDICT_CHOSEN;
  const char *reason = "";
  assert_true(judge(problem, repro, vendor, &verdict, &reason) > 0);
  assert_int_equal(verdict, wanted);
  if (!strstr(reason, says)) fail_msg("'%s' says not '%s'", reason, says);
}

static void test_levels_and_dial(void **state) {
  (void)state;
  if (!has_rows()) skip(); /* a build without CUDA has none */
  is_refused(conv, "portable", "on", ISO_VERDICT_LEVEL, "asks for 'portable'");
  is_refused(conv, "invariant", "on", ISO_VERDICT_LEVEL, "asks for 'invariant'");
  is_refused(conv, "run", "on", ISO_VERDICT_VENDOR, "not cuDNN");
  is_refused(conv, "off", "off", ISO_VERDICT_VENDOR, "vendor=off");
}

static void test_libraries(void **state) {
  (void)state;
  if (!has_rows()) skip();
  is_refused(gemm, "off", "on", ISO_VERDICT_VENDOR,
             "libcublasLt.so.12 to .13 not found: searched ISOBIT_CUBLASLT=/nowhere");
  is_refused(conv, "off", "on", ISO_VERDICT_VENDOR, "has no cudnnGetVersion");
  const char *const problem[] = {conv, gemm}; /* and named, as benchmarks and lockfiles do */
  const char *const engine[] = {"vendor.cudnn.9.fwd_tiles", "vendor.cublaslt.13.gemm"};
  for (int i = 0; i < 2; i++) {
    iso_bench_result result;
    assert_int_equal(iso_bench_engine(ctx, problem[i], engine[i], 1, &result), ISO_UNSUPPORTED);
    assert_non_null(strstr(iso_error_message(ctx), i ? "not found" : "has no cudnnGetVersion"));
    iso_clear_error(ctx);
  }
}

/* What the levels promise, row by row. */
static void test_rows(void **state) {
  (void)state;
  int n = 0;
  for (const iso__engine *row = iso__the_registry.engines; row->name; row++) {
    if (!row->library) continue;
    n++;
    assert_true(row->level <= ISO_REPRO_RUN);
    assert_true(row->error_bound > 0);
    assert_null(iso__class_reference(row));
    assert_int_equal(!strncmp(row->class_name, "vendor.", 7), 1);
    assert_int_equal(!strncmp(row->name, "vendor.", 7), 1);
    const bool ordered = !strstr(row->name, "atomics") && !strstr(row->name, "in_place");
    assert_int_equal(row->level, ordered ? ISO_REPRO_RUN : ISO_REPRO_OFF);
  }
  if (!n) skip();
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_levels_and_dial), cmocka_unit_test(test_libraries),
                                     cmocka_unit_test(test_rows)};
  setenv("ISOBIT_CUBLASLT", "/nowhere", 1);
  setenv("ISOBIT_CUDNN", STUB_VENDOR, 1); /* loads, and is none */
  device = iso__device_cpu;
  device.name = "cuda:0", device.isa = ISO_ISA_CUDA, device.width = 132;
  if (iso_context_new(NULL, &ctx) != ISO_OK) return 1;
  ctx->device = &device;
  const int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
  ctx->device = NULL;
  iso_context_free(ctx);
  return n_failed;
}
