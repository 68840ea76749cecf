/* test_tuner.c: what choosing costs: a new shape, a known one, many; budgets; what is measured and what is told of it.
 */
#include "plan/state.h"
#include "plan_test.h"

/* Under `rule`, with a store that has no record: judged and chosen without a stopwatch. */
static void test_a_new_shape_costs_nothing(void **state) {
  (void)state;
  enum { N = 2000 };
  char folder[64];
  make_folder(folder);
  iso_context *ctx = plan_context("reproducible", 2, folder, NULL);
  static _Alignas(16) unsigned char problems[N][ISO__MAX_PROBLEM_BYTES];
  for (int i = 0; i < N; i++) {
    char text[64];
    snprintf(text, sizeof text, "gemm f32 m%d n%d k%d", 300 + i % 50, 300 + i / 50, 311);
    assert_int_equal(iso__problem_parse(ctx, text, problems[i]), ISO_OK);
  }
  iso__plan plan;
  double new_ns = 1e9; /* of the quietest tenth: each shape is new once, and other tests run beside this one */
  for (int first = 0; first < N; first += N / 10) {
    const uint64_t begin = iso__clock_ns();
    for (int i = first; i < first + N / 10; i++) assert_true(iso__plan_get(ctx, (iso__problem *)problems[i], &plan));
    const double ns = (double)(iso__clock_ns() - begin) / (double)(N / 10);
    new_ns = ns < new_ns ? ns : new_ns;
  }
  const iso_tuner_stats stats = iso_tuner_get_stats(ctx);
  assert_true(stats.n_timed == 0 && stats.n_samples == 0 && stats.spent_ms == 0 && stats.n_by_rule == N);
  assert_int_equal(for_files(folder, "", NULL), 0);
  double best = 1e9;
  for (int round = 0; round < 20; round++) {
    const uint64_t start = iso__clock_ns();
    for (int i = 0; i < N; i++) iso__plan_get(ctx, (iso__problem *)problems[i], &plan);
    const double ns = (double)(iso__clock_ns() - start) / (double)N;
    best = ns < best ? ns : best;
  }
  printf("a new shape under rule: %.1f us; one of %d known ones: %.0f ns\n", new_ns / 1e3, N, best);
  if (!is_sanitized()) assert_true(new_ns < 20000 && best < 1000);
  iso_context_free(ctx);
  remove_folder(folder);
}

static size_t resident_bytes(void) {
  long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
  if (file) fclose(file);
  return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* However many shapes come by, memory stays bounded; a lockfile that would not have them all is refused. */
static void test_a_hundred_thousand_shapes(void **state) {
  (void)state;
  const int n = is_sanitized() ? 20000 : 100000;
  _Alignas(16) unsigned char buffer[ISO__MAX_PROBLEM_BYTES];
  iso_context *ctx = plan_context("reproducible", 1, "none", NULL);
  const size_t before = resident_bytes(), live = iso_memory_get_info(ctx).live_bytes;
  for (int i = 0; i < n; i++) {
    char text[64];
    iso__plan plan;
    snprintf(text, sizeof text, "gemm f32 m%d n%d k70", 1 + i % 1000, 1 + i / 1000);
    assert_int_equal(iso__problem_parse(ctx, text, buffer), ISO_OK);
    assert_true(iso__plan_get(ctx, (iso__problem *)buffer, &plan));
  }
  const size_t grown = resident_bytes() - before;
  printf("%d shapes: %.1f MiB\n", n, (double)grown / (1 << 20));
  if (!is_sanitized()) assert_true(grown < 24 << 20);
  assert_int_equal(iso_memory_get_info(ctx).live_bytes, live);
  assert_int_equal(iso_plan_n_used(ctx), ISO__MAX_USED);
  assert_int_equal(iso_lock_write(ctx, "/tmp/isobit-never-written.lock"), ISO_STATE);
  iso_clear_error(ctx);
  iso_plan_forget_used(ctx);
  assert_int_equal(iso_plan_n_used(ctx), 0);
  plan_of(ctx, "gemm f32 m3 n3 k70");
  assert_int_equal(iso_plan_n_used(ctx), 1);
  iso_context_free(ctx);
}

static void set_budgets(iso_context *ctx, uint64_t job_ms, uint64_t problem_ms) {
  iso_policy policy = *iso_policy_current(ctx);
  policy.tuning_budget_ms = job_ms;
  policy.problem_budget_ms = problem_ms;
  assert_int_equal(iso_policy_push(ctx, &policy), ISO_OK);
}

static void test_budgets(void **state) {
  (void)state;
  iso_context *ctx = plan_context("default", 1, "none", NULL), *child;
  set_budgets(ctx, 0, 30);
  assert_int_equal(plan_of(ctx, "gemm f32 m110 n111 k112").source, ISO_PLAN_FROM_RULE);
  iso_tuner_stats stats = iso_tuner_get_stats(ctx);
  assert_true(stats.n_timed == 0 && stats.n_out_of_budget == 1 && stats.n_by_rule == 1);
  /* Children spend from the same purse. */
  set_budgets(ctx, 20, UINT64_MAX);
  assert_int_equal(iso_context_new_child(ctx, 1, &child), ISO_OK);
  for (int i = 0; i < 200; i++) {
    char text[64];
    snprintf(text, sizeof text, "gemm f32 m200 n%d k200", 100 + i);
    plan_of(i % 2 ? child : ctx, text);
  }
  stats = iso_tuner_get_stats(child);
  assert_true(stats.n_timed > 0 && stats.n_out_of_budget > 1);
  assert_int_equal(stats.n_timed + stats.n_by_rule, 201);
  printf("20 ms of budget: %d problems in %.1f ms, %d more by estimate\n", (int)stats.n_timed, stats.spent_ms,
         (int)stats.n_out_of_budget);
  if (!is_sanitized()) assert_true(stats.spent_ms < 200); /* the last problem may end late, on a busy machine */
  assert_true(iso_tuner_get_stats(ctx).spent_ms == stats.spent_ms);
  iso_context_free(child);
  iso_context_free(ctx);
}

static void test_small_problems_are_not_timed(void **state) {
  (void)state;
  iso_context *ctx = plan_context("default", 1, "none", NULL);
  iso_plan_use use;
  assert_int_equal(iso_plan_tune(ctx, "gemm f32 m2 n2 k2", &use), ISO_OK);
  assert_true(use.source == ISO_PLAN_FROM_RULE && use.estimated_ms < 0.005 && use.measured_ms == 0);
  assert_int_equal(iso_tuner_get_stats(ctx).n_timed, 0);
  iso_context_free(ctx);
}

/* What was measured is told, candidate by candidate; by the store as well, when another process asks. */
static void test_measurements_are_data(void **state) {
  (void)state;
  char folder[64];
  make_folder(folder);
  for (int pass = 0; pass < 2; pass++) {
    iso_plan_candidate c[ISO_MAX_PLAN_CANDIDATES];
    iso_context *ctx = plan_context("default", 1, folder, NULL);
    const int n = iso_plan_query(ctx, "gemm f32 m120 n121 k122", c);
    int n_chosen = 0, n_slower = 0;
    for (int i = 0; i < n; i++) {
      n_chosen += c[i].verdict == ISO_VERDICT_CHOSEN;
      n_slower += c[i].verdict == ISO_VERDICT_SLOWER;
      assert_int_equal(c[i].n_samples > 0, c[i].measured_ms > 0);
      if (c[i].chosen) assert_true(c[i].measured_ms > 0 && c[i].estimated_ms > 0);
      if (c[i].verdict == ISO_VERDICT_ESTIMATED_SLOWER) assert_true(c[i].measured_ms == 0);
    }
    assert_int_equal(n_chosen, 1);
    if (iso_context_isa(ctx) > ISO_ISA_SCALAR) assert_true(n_slower > 0);
    iso_context_free(ctx);
  }
  remove_folder(folder);
}

static void test_words(void **state) {
  (void)state;
#define CHECK(name, value, word, sentence)                                                                             \
  assert_string_equal(iso_verdict_word(ISO_VERDICT_##name), word);                                                     \
  assert_string_equal(iso_verdict_sentence((iso_verdict)value), sentence);
  ISO_VERDICT_LIST(CHECK)
#undef CHECK
  assert_string_equal(iso_verdict_word((iso_verdict)99), "unknown");
  assert_string_equal(iso_plan_source_name(ISO_PLAN_FROM_STORE), "store");
  assert_string_equal(iso_plan_source_name((iso_plan_source)99), "unknown");
  const iso_plan_use use = {.problem = "gemm f32 m1 n1 k1",
                            .engine = "cpu.x",
                            .revision = 3,
                            .class_name = "ordered",
                            .workspace_bytes = 1300000};
  char text[ISO_PLAN_LINE_BYTES];
  iso_plan_use_format(&use, text, sizeof text);
  assert_string_equal(text, "gemm f32 m1 n1 k1 -> cpu.x@3 class ordered ws 1.2MiB");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_new_shape_costs_nothing),
                                     cmocka_unit_test(test_a_hundred_thousand_shapes),
                                     cmocka_unit_test(test_budgets),
                                     cmocka_unit_test(test_small_problems_are_not_timed),
                                     cmocka_unit_test(test_measurements_are_data),
                                     cmocka_unit_test(test_words)};
  return cmocka_run_group_tests_name("tuner", tests, NULL, NULL);
}
