/* test_plan.c: choosing engines: reasons, caps, classes, the cache, the tuner under distorted times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <isobit/isobit.h>
#include "base/clock.h"
#include "plan/plan.h"

static iso_context *open_context(const char *preset, size_t workspace_limit, int threads) {
  iso_policy policy;
  iso_context *ctx;
  assert_int_equal(iso_policy_preset(preset, &policy), ISO_OK);
  policy.workspace_limit = workspace_limit;
  assert_int_equal(iso_context_new(&(iso_context_options){.policy = &policy, .n_threads = threads}, &ctx), ISO_OK);
  return ctx;
}

static const char *const problem_text = "conv2d.bwd_weights f32 n32 c64 h32 w32 k64 r3 s3 p1";

static const iso_plan_candidate *chosen(const iso_plan_candidate *c, int n) {
  for (int i = 0; i < n; i++)
    if (c[i].chosen) return &c[i];
  return NULL;
}

static void test_every_candidate_has_a_verdict(void **state) {
  (void)state;
  iso_plan_candidate c[ISO_MAX_PLAN_CANDIDATES];
  iso_context *ctx = open_context("reproducible", SIZE_MAX, 2);
  const int n = iso_plan_query(ctx, problem_text, c);
  assert_true(n > 1);
  assert_non_null(chosen(c, n));
  assert_string_equal(chosen(c, n)->class_name, "winograd.4x4k3");
  for (int i = 0; i < n; i++) {
    const bool can_run = c[i].verdict <= ISO_VERDICT_ESTIMATED_SLOWER;
    assert_int_equal(can_run, c[i].reason[0] == '\0');
    assert_int_equal(c[i].chosen, c[i].verdict == ISO_VERDICT_CHOSEN);
    if (!strcmp(c[i].class_name, "free")) assert_false(can_run);
    if (c[i].verdict == ISO_VERDICT_LEVEL) assert_non_null(strstr(c[i].reason, "promise"));
  }
  iso_context_free(ctx);
}

static void test_plain_uses_references(void **state) {
  (void)state;
  iso_plan_candidate c[ISO_MAX_PLAN_CANDIDATES];
  iso_context *ctx = open_context("plain", SIZE_MAX, 2);
  const int n = iso_plan_query(ctx, problem_text, c);
  assert_non_null(strstr(chosen(c, n)->engine, "reference"));
  iso_context_free(ctx);
}

static void test_masked_instruction_sets(void **state) {
  (void)state;
  static const char *const names[] = {"scalar", "avx2"};
  for (int i = 0; i < 2; i++) {
    iso_plan_candidate c[ISO_MAX_PLAN_CANDIDATES];
    iso_context *ctx;
    assert_int_equal(iso_context_new(&(iso_context_options){.isa = names[i]}, &ctx), ISO_OK);
    const int n = iso_plan_query(ctx, "gemm f32 m64 n64 k64", c);
    assert_true(chosen(c, n)->isa <= (iso_isa)i);
    for (int j = 0; j < n; j++)
      if (c[j].isa > (iso_isa)i) assert_non_null(strstr(c[j].reason, "limited"));
    iso_context_free(ctx);
  }
}

/* A cap filters engines and keeps the class; no cap is ever exceeded. */
static void test_workspace_cap(void **state) {
  (void)state;
  iso_plan_candidate free_choice[ISO_MAX_PLAN_CANDIDATES], c[ISO_MAX_PLAN_CANDIDATES];
  iso_context *ctx = open_context("reproducible", SIZE_MAX, 2);
  static const char *const products = "conv2d.bwd_weights f32 n32 c1 h32 w32 k64 r3 s3 p1";
  int n = iso_plan_query(ctx, products, free_choice);
  const size_t wanted = chosen(free_choice, n)->workspace_bytes;
  iso_context_free(ctx);
  assert_true(wanted > 0);
  ctx = open_context("reproducible", wanted - 1, 2);
  n = iso_plan_query(ctx, products, c);
  const iso_plan_candidate *other = chosen(c, n);
  assert_non_null(other);
  assert_string_equal(other->class_name, chosen(free_choice, n)->class_name);
  assert_true(other->workspace_bytes < wanted);
  iso_context_free(ctx);
}

/* Every engine that the class has is named with what it needs; the reference does not step in silently. */
static void test_too_small_a_cap_says_what_is_needed(void **state) {
  (void)state;
  static const char *const texts[] = {"conv2d.fwd f32 n32 c64 h32 w32 k64 r3 s3 p1", "sgd.step f64 n1000"};
  for (int i = 0; i < 2; i++) {
    iso_context *ctx = open_context("reproducible", 64, 1);
    _Alignas(16) unsigned char buffer[ISO__MAX_PROBLEM_BYTES];
    assert_int_equal(iso__problem_parse(ctx, texts[i], buffer), ISO_OK);
    iso__plan plan;
    assert_false(iso__plan_get(ctx, (iso__problem *)buffer, &plan));
    assert_int_equal(iso_error_code(ctx), ISO_WORKSPACE_LIMIT);
    assert_non_null(strstr(iso_error_message(ctx), "needs"));
    assert_non_null(strstr(iso_error_message(ctx), "the limit is 64"));
    iso_context_free(ctx);
  }
}

static void test_replay_without_a_record(void **state) {
  (void)state;
  iso_context *ctx = open_context("reproducible", SIZE_MAX, 1);
  iso_policy policy = *iso_policy_current(ctx);
  policy.tuning = ISO_TUNING_REPLAY;
  iso_policy_push(ctx, &policy);
  _Alignas(16) unsigned char buffer[ISO__MAX_PROBLEM_BYTES];
  assert_int_equal(iso__problem_parse(ctx, "gemm f32 m77 n78 k79", buffer), ISO_OK);
  iso__plan plan;
  assert_false(iso__plan_get(ctx, (iso__problem *)buffer, &plan));
  assert_int_equal(iso_error_code(ctx), ISO_NO_PLAN);
  assert_non_null(strstr(iso_error_message(ctx), "m77"));
  iso_context_free(ctx);
}

static void test_hostile_problem_texts(void **state) {
  (void)state;
  static const char *const texts[] = {"",
                                      "conv3d.fwd f32 n1",
                                      "gemm f32 m-1 n2 k3",
                                      "gemm f32 m9223372036854775807 n9223372036854775807 k2",
                                      "gemm f32 m99999999999999999999 n1 k1",
                                      "gemm f32 m1 n1 k1 zebra7",
                                      "gemm f32 m",
                                      "conv2d.fwd f32 n1 c3 h8 w8 k4 r3 s3 p1 g2",
                                      "conv2d.fwd f32 n1 c4 h8 w8 k4 r3 s3 u0",
                                      "map f32 fn=nonsense n4"};
  iso_plan_candidate c[ISO_MAX_PLAN_CANDIDATES];
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    iso_context *ctx = open_context("reproducible", SIZE_MAX, 1);
    const int n = iso_plan_query(ctx, texts[i], c);
    if (n || !iso_error_code(ctx) || !*iso_error_message(ctx)) fail_msg("'%s' was accepted", texts[i]);
    iso_context_free(ctx);
  }
}

/* Chosen from whatever the distorted clock says, but inside the class. */
static void test_adversary_stays_in_class(void **state) {
  (void)state;
  iso_context *ctx = open_context("default", SIZE_MAX, 2);
  for (uint64_t seed = 1; seed <= 20; seed++) {
    iso_plan_candidate c[ISO_MAX_PLAN_CANDIDATES];
    iso__tuner_set_adversary(ctx, seed);
    const int n = iso_plan_query(ctx, "conv2d.bwd_weights f32 n4 c16 h14 w14 k16 r3 s3 p1", c);
    assert_string_equal(chosen(c, n)->class_name, "winograd.4x4k3");
  }
  assert_true(iso_tuner_get_stats(ctx).n_timed > 0);
  iso_context_free(ctx);
}

static void test_a_plan_is_found_quickly(void **state) {
  (void)state;
  iso_context *ctx = open_context("reproducible", SIZE_MAX, 1);
  _Alignas(16) unsigned char buffer[ISO__MAX_PROBLEM_BYTES];
  iso__plan plan;
  assert_int_equal(iso__problem_parse(ctx, "conv2d.fwd f32 n64 c64 h56 w56 k64 r3 s3 p1", buffer), ISO_OK);
  assert_true(iso__plan_get(ctx, (iso__problem *)buffer, &plan));
  uint64_t best = UINT64_MAX;
  for (int round = 0; round < 20; round++) {
    const uint64_t begin = iso__clock_ns();
    for (int i = 0; i < 1000; i++) iso__plan_get(ctx, (iso__problem *)buffer, &plan);
    const uint64_t ns = (iso__clock_ns() - begin) / 1000;
    if (ns < best) best = ns;
  }
  printf("a plan in memory is found in %llu ns\n", (unsigned long long)best);
  if (!getenv("ISOBIT_TEST_SANITIZED")) assert_true(best < 1000);
  iso_context_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_candidate_has_a_verdict),
                                     cmocka_unit_test(test_plain_uses_references),
                                     cmocka_unit_test(test_masked_instruction_sets),
                                     cmocka_unit_test(test_workspace_cap),
                                     cmocka_unit_test(test_too_small_a_cap_says_what_is_needed),
                                     cmocka_unit_test(test_replay_without_a_record),
                                     cmocka_unit_test(test_hostile_problem_texts),
                                     cmocka_unit_test(test_adversary_stays_in_class),
                                     cmocka_unit_test(test_a_plan_is_found_quickly)};
  return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
