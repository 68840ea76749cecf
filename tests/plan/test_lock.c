/* test_lock.c: lockfiles: written from a run, replayed strictly on any number of threads, compared, checked, refused.
 */
#include "base/cpu.h"
#include "plan_test.h"

static char folder[64];
static const char *path_in_folder(const char *name, char path[128]) {
  snprintf(path, 128, "%s/%s", folder, name);
  return path;
}
static int make_test_folder(void **state) {
  (void)state;
  make_folder(folder);
  return 0;
}
static int remove_test_folder(void **state) {
  (void)state;
  remove_folder(folder);
  return 0;
}

static void write_lock(const char *path, const char *lines) {
  char text[4096];
  const int n = snprintf(text, sizeof text, "isobit lock 1\n%s", lines);
  write_file(path, text, (size_t)n);
}

/* ---- a run and its replay ---- */

/* Two training steps and an evaluation; the weights' hash. */
static iso_status train(iso_context *ctx, char hash[33]) {
  iso_trainer *t = iso_trainer_new(
      ctx, &(iso_vision_options){.model = "cnn", .data_folder = "synthetic", .batch_size = 6, .n_steps = 2});
  if (!t) fail_msg("%s", iso_error_message(ctx));
  iso_status status = iso_trainer_step(t, NULL);
  if (status == ISO_OK) status = iso_trainer_step(t, NULL);
  iso_evaluation evaluation;
  if (status == ISO_OK) status = iso_trainer_evaluate(t, 12, &evaluation);
  if (status == ISO_OK) status = iso_trainer_weights_hash(t, hash);
  iso_trainer_free(t);
  return status;
}

static void test_a_run_is_replayed(void **state) {
  (void)state;
  char a[128], b[128], hash[33], first[64 << 10], second[64 << 10];
  path_in_folder("a.lock", a), path_in_folder("b.lock", b);
  iso_context *ctx = plan_context("default", 2, "none", NULL);
  assert_int_equal(train(ctx, hash), ISO_OK);
  const size_t n_used = iso_plan_n_used(ctx);
  assert_true(n_used > 20);
  assert_int_equal(iso_lock_write(ctx, a), ISO_OK);
  iso_context_free(ctx);
  for (int threads = 1; threads <= 2; threads++) {
    char again[33];
    size_t n_changes = 99;
    ctx = plan_context("default", threads, "none", NULL);
    set_tuning(ctx, ISO_TUNING_REPLAY);
    assert_int_equal(iso_lock_load(ctx, a), ISO_OK);
    if (train(ctx, again)) fail_msg("%s", iso_error_message(ctx));
    assert_string_equal(again, hash);
    const iso_tuner_stats stats = iso_tuner_get_stats(ctx);
    assert_true(stats.n_timed == 0 && stats.n_by_rule == 0 && stats.n_from_lock == n_used);
    assert_int_equal(iso_plan_n_used(ctx), n_used);
    for (size_t i = 0; i < n_used; i++) {
      iso_plan_use use;
      assert_true(iso_plan_used(ctx, i, &use));
      assert_true(use.source == ISO_PLAN_FROM_LOCK && use.n_uses > 0);
    }
    assert_int_equal(iso_lock_write(ctx, b), ISO_OK);
    assert_int_equal(iso_lock_diff(ctx, a, b, NULL, NULL, &n_changes), ISO_OK);
    assert_int_equal(n_changes, 0);
    iso_context_free(ctx);
  }
  const size_t n = read_file(a, first, sizeof first);
  assert_int_equal(read_file(b, second, sizeof second), n);
  assert_memory_equal(first, second, n);
  /* Sorted, each once, of the form that the header promises. */
  char *line = strtok(first, "\n"), *before = NULL;
  assert_string_equal(line, "isobit lock 1");
  for (; (line = strtok(NULL, "\n")); before = line) {
    assert_non_null(strstr(line, " -> cpu."));
    assert_non_null(strstr(line, " ws "));
    if (before) assert_true(strcmp(before, line) < 0);
  }
}

static void expect(iso_context *ctx, iso_status code, const char *words) {
  assert_int_equal(iso_error_code(ctx), code);
  if (!strstr(iso_error_message(ctx), words)) fail_msg("'%s' does not say '%s'", iso_error_message(ctx), words);
  iso_clear_error(ctx);
}

static bool get_plan(iso_context *ctx, const char *text, iso__plan *plan) {
  _Alignas(16) unsigned char buffer[ISO__MAX_PROBLEM_BYTES];
  assert_int_equal(iso__problem_parse(ctx, text, buffer), ISO_OK);
  return iso__plan_get(ctx, (iso__problem *)buffer, plan);
}

static void test_what_replay_refuses(void **state) {
  (void)state;
  static const struct {
    const char *line, *says;
  } rows[] = {
      {"gemm f32 m8 n9 k11 -> cpu.scalar.gemm_reference@2 class ordered ws 0B\n", "gemm f32 m8 n9 k10"},
      {"gemm f32 m8 n9 k10 -> cpu.vulcan.gemm@1 class ordered ws 0B\n", "there is no engine cpu.vulcan.gemm"},
      {"gemm f32 m8 n9 k10 -> cpu.scalar.gemm_reference@77 class ordered ws 0B\n", "cpu.scalar.gemm_reference@77"},
      {"gemm f32 m8 n9 k10 -> cpu.scalar.gemm_reference@2 class lanes ws 0B\n", "class lanes is pinned"},
      {"gemm f32 m8 n9 k10 -> cpu.avx2.gemm_split_k_free@1 class free ws 0B\n", "gemm_split_k_free"},
      {"gemm f32 m8 n9 k10 -> cpu.scalar.copy@1 class map ws 0B\n", "there is no engine cpu.scalar.copy"},
  };
  char path[128];
  path_in_folder("bad.lock", path);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    heard warnings = {0};
    iso__plan plan;
    iso_context *ctx = plan_context("reproducible", 1, "none", NULL);
    iso_set_warning_handler(ctx, hear, &warnings);
    write_lock(path, rows[i].line);
    assert_int_equal(iso_lock_load(ctx, path), ISO_OK);
    /* Not strict: used where it holds, else said once. */
    assert_true(get_plan(ctx, "gemm f32 m8 n9 k10", &plan));
    assert_int_equal(plan.source, ISO_PLAN_FROM_RULE);
    assert_int_equal(warnings.n, i > 0);
    set_tuning(ctx, ISO_TUNING_REPLAY);
    assert_false(get_plan(ctx, "gemm f32 m8 n9 k10", &plan));
    expect(ctx, ISO_NO_PLAN, rows[i].says);
    assert_int_equal(iso_lock_load(ctx, NULL), ISO_OK);
    assert_false(get_plan(ctx, "gemm f32 m8 n9 k10", &plan));
    expect(ctx, ISO_NO_PLAN, "no lockfile");
    assert_false(iso_lock_hash(ctx, (char[33]){0}));
    iso_context_free(ctx);
  }
}

/* What a lockfile pins beats the rule and the stopwatch; children pin the same. Words of a problem may stand in any
 * order that this build reads. */
static void test_a_pin_decides(void **state) {
  (void)state;
  char path[128], hash[33], other[33];
  path_in_folder("pin.lock", path);
  write_lock(path, "# a remark\n\ngemm f32 k70 n60 m50 -> cpu.scalar.gemm_reference@2 class ordered ws 0B\n");
  iso_context *ctx = plan_context("default", 1, "none", NULL), *child;
  assert_int_equal(iso_lock_load(ctx, path), ISO_OK);
  assert_int_equal(iso_context_new_child(ctx, 1, &child), ISO_OK);
  iso_context *const both[] = {ctx, child};
  for (int i = 0; i < 2; i++) {
    const iso__plan plan = plan_of(both[i], "gemm f32 m50 n60 k70");
    assert_string_equal(plan.engine->name, "cpu.scalar.gemm_reference");
    assert_int_equal(plan.source, ISO_PLAN_FROM_LOCK);
  }
  iso_plan_candidate c[ISO_MAX_PLAN_CANDIDATES];
  int n_not_pinned = 0;
  const int n = iso_plan_query(ctx, "gemm f32 m50 n60 k70", c);
  for (int i = 0; i < n; i++) n_not_pinned += c[i].verdict == ISO_VERDICT_NOT_PINNED;
  assert_true(n_not_pinned > 0);
  assert_int_equal(iso_tuner_get_stats(ctx).n_timed, 0);
  assert_true(iso_lock_hash(ctx, hash));
  iso_context_free(child);
  /* The hash is of plans, not of remarks and workspace. */
  write_lock(path, "gemm f32 m50 n60 k70 -> cpu.scalar.gemm_reference@2 class ordered ws 7GiB\n");
  assert_int_equal(iso_lock_load(ctx, path), ISO_OK);
  assert_true(iso_lock_hash(ctx, other));
  assert_string_equal(hash, other);
  write_lock(path, "gemm f32 m50 n60 k70 -> cpu.scalar.gemm_reference@3 class ordered ws 7GiB\n");
  assert_int_equal(iso_lock_load(ctx, path), ISO_OK);
  assert_true(iso_lock_hash(ctx, other));
  assert_string_not_equal(hash, other);
  iso_context_free(ctx);
}

static int revision_of(const char *engine) {
  for (const iso__engine *e = iso__the_registry.engines; e->name; e++)
    if (!strcmp(e->name, engine)) return e->revision;
  fail_msg("there is no engine %s", engine);
  return 0;
}

/* A pin may name a class that the rule did not choose: the run then has that class' bits. What the policy's accuracy
 * excludes cannot be pinned, and an engine's class is not for the lockfile to say. */
static void test_a_pin_of_another_class(void **state) {
  (void)state;
  static const char *const problem = "conv2d.fwd f32 n2 c64 h28 w28 k64 r3 s3 p1";
  static const struct {
    const char *engine, *pinned_class;
    bool holds;
  } pins[] = {{"cpu.avx2.conv_igemm", "ordered", true},
              {"cpu.avx2.winograd.2x2k3_tiles", "winograd.2x2k3", true},
              {"cpu.avx2.winograd.6x6k3_tiles", "winograd.6x6k3", false},
              {"cpu.avx2.winograd.2x2k3_tiles", "ordered", false}};
  if (iso__cpu()->isa < ISO_ISA_AVX2) skip();
  char path[128], line[512];
  path_in_folder("class.lock", path);
  iso_context *ctx = plan_context("reproducible", 1, "none", NULL);
  const char *const by_rule = plan_of(ctx, problem).engine->class_name;
  iso_context_free(ctx);
  for (size_t i = 0; i < sizeof pins / sizeof pins[0]; i++) {
    snprintf(line, sizeof line, "%s -> %s@%d class %s ws 0B\n", problem, pins[i].engine, revision_of(pins[i].engine),
             pins[i].pinned_class);
    write_lock(path, line);
    ctx = plan_context("reproducible", 1, "none", NULL);
    assert_int_equal(iso_lock_load(ctx, path), ISO_OK);
    const iso__plan plan = plan_of(ctx, problem);
    assert_string_equal(plan.engine->class_name, pins[i].holds ? pins[i].pinned_class : by_rule);
    assert_int_equal(plan.source == ISO_PLAN_FROM_LOCK, pins[i].holds);
    iso_context_free(ctx);
  }
}

static void test_bad_text(void **state) {
  (void)state;
  static const struct {
    const char *text, *says;
  } rows[] = {
      {"", "line 1"},
      {"isobit lock 2\n", "'isobit lock 2'"},
      {"isobit lock 1\ngemm f32 m1 n1 k1 cpu.x@1 class ordered ws 0B\n", "line 2: expected PROBLEM"},
      {"isobit lock 1\n\n# fine\ngemm f32 m1 -> cpu.x class ordered ws 0B\n", "line 4: expected ENGINE@REVISION"},
      {"isobit lock 1\ngemm f32 m1 -> cpu.x@-1 class ordered ws 0B\n", "cpu.x@-1"},
      {"isobit lock 1\ngemm f32 m1 -> cpu.x@123456789 class ordered ws 0B\n", "line 2"},
      {"isobit lock 1\ngemm f32 m1 -> cpu.x@1 class  ws 0B\n", "line 2: expected class"},
      {"isobit lock 1\ngemm f32 m1 -> cpu.x@1 class ordered ws \n", "line 2: expected class"},
      {"isobit lock 1\n<<<<<<< HEAD\n", "'<<<<<<< HEAD'"},
  };
  char path[128];
  path_in_folder("text.lock", path);
  iso_context *ctx = plan_context("reproducible", 1, "none", NULL);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    write_file(path, rows[i].text, strlen(rows[i].text));
    assert_int_equal(iso_lock_load(ctx, path), ISO_CORRUPT);
    expect(ctx, ISO_CORRUPT, rows[i].says);
  }
  write_file(path, "isobit lock 1\n\0\n", 16);
  iso_lock_load(ctx, path);
  expect(ctx, ISO_CORRUPT, "byte");
  iso_lock_load(ctx, "/nowhere/isobit.lock");
  expect(ctx, ISO_NOT_FOUND, "/nowhere/isobit.lock");
  iso_lock_load(ctx, "/dev/zero");
  expect(ctx, ISO_IO, "/dev/zero");
  iso_lock_load(ctx, "/");
  expect(ctx, ISO_IO, "directory");
  iso_lock_write(ctx, "/dev/null/isobit.lock");
  expect(ctx, ISO_IO, "/dev/null/isobit.lock");
  iso_context_free(ctx);
}

/* ---- tools ---- */

static int n_findings;
static void judge_finding(void *user, const iso_lock_finding *f) {
  static const char *const reasons[] = {"there is no operator", "there is no engine", "revision", "class", "compute"};
  (void)user;
  assert_int_equal(f->line, 3 + n_findings);
  if (!strstr(f->reason, reasons[n_findings])) fail_msg("'%s' for '%s'", f->reason, f->text);
  assert_non_null(strstr(f->text, " -> "));
  n_findings++;
}

static void test_check(void **state) {
  (void)state;
  char path[128];
  size_t n_lines, n_stale;
  path_in_folder("check.lock", path);
  write_lock(path, "gemm f32 m5 n5 k5 -> cpu.scalar.gemm_reference@2 class ordered ws 0B\n"
                   "conv3d.fwd f32 n1 -> cpu.scalar.gemm_reference@2 class ordered ws 0B\n"
                   "gemm f32 m5 n5 k6 -> cpu.scalar.gemm@1 class ordered ws 0B\n"
                   "gemm f32 m5 n5 k7 -> cpu.scalar.gemm_reference@9 class ordered ws 0B\n"
                   "gemm f32 m5 n5 k8 -> cpu.scalar.gemm_reference@2 class lanes ws 0B\n"
                   "gemm i64 m5 n5 k9 -> cpu.scalar.gemm_reference@2 class ordered ws 0B\n");
  iso_context *ctx = plan_context("reproducible", 1, "none", NULL);
  n_findings = 0;
  assert_int_equal(iso_lock_check(ctx, path, judge_finding, NULL, &n_lines, &n_stale), ISO_OK);
  assert_int_equal(n_lines, 6);
  assert_int_equal(n_stale, 5);
  assert_int_equal(n_findings, 5);
  assert_int_equal(iso_lock_check(ctx, path, NULL, NULL, NULL, NULL), ISO_OK);
  iso_context_free(ctx);
}

typedef struct changes {
  int n;
  char text[8][256];
} changes;
static void note_change(void *user, const iso_lock_change *c) {
  changes *all = user;
  snprintf(all->text[all->n++], sizeof all->text[0], "%s: %s | %s%s", c->problem, c->before ? c->before : "-",
           c->after ? c->after : "-", c->other_class ? " !" : "");
}

static void test_diff(void **state) {
  (void)state;
  char a[128], b[128];
  size_t n;
  changes seen = {0};
  path_in_folder("x.lock", a), path_in_folder("y.lock", b);
  write_lock(a, "gemm f32 m1 -> cpu.a@1 class ordered ws 0B\ngemm f32 m2 -> cpu.a@1 class ordered ws 0B\n"
                "gemm f32 m3 -> cpu.a@1 class ordered ws 1KiB\ngemm f32 m5 -> cpu.a@1 class ordered ws 0B\n");
  write_lock(b, "gemm f32 m2 -> cpu.a@2 class ordered ws 0B\ngemm f32 m3 -> cpu.a@1 class ordered ws 2KiB\n"
                "gemm f32 m4 -> cpu.a@1 class ordered ws 0B\ngemm f32 m5 -> cpu.b@1 class free ws 0B\n");
  iso_context *ctx = plan_context("reproducible", 1, "none", NULL);
  assert_int_equal(iso_lock_diff(ctx, a, b, note_change, &seen, &n), ISO_OK);
  assert_int_equal(n, 4);
  assert_string_equal(seen.text[0], "gemm f32 m1: cpu.a@1 class ordered ws 0B | -");
  assert_string_equal(seen.text[1], "gemm f32 m2: cpu.a@1 class ordered ws 0B | cpu.a@2 class ordered ws 0B");
  assert_string_equal(seen.text[2], "gemm f32 m4: - | cpu.a@1 class ordered ws 0B");
  assert_string_equal(seen.text[3], "gemm f32 m5: cpu.a@1 class ordered ws 0B | cpu.b@1 class free ws 0B !");
  assert_int_equal(iso_lock_diff(ctx, a, a, NULL, NULL, &n), ISO_OK);
  assert_int_equal(n, 0);
  assert_int_equal(iso_lock_diff(ctx, a, "/nowhere/b.lock", NULL, NULL, &n), ISO_NOT_FOUND);
  iso_context_free(ctx);
}

/* Parts of a model under different levels: one problem, two plans, both in the file and both replayed. */
static void test_scoped_policies(void **state) {
  (void)state;
  char path[128];
  path_in_folder("scoped.lock", path);
  write_lock(path, "gemm f32 m64 n64 k8192 -> cpu.avx2.gemm_split_k_free@1 class free ws 1MiB\n"
                   "gemm f32 m64 n64 k8192 -> cpu.scalar.gemm_reference@2 class ordered ws 0B\n");
  iso_context *ctx = plan_context("reproducible", 1, "none", NULL);
  if (iso_context_isa(ctx) < ISO_ISA_AVX2) {
    iso_context_free(ctx);
    skip();
  }
  assert_int_equal(iso_lock_load(ctx, path), ISO_OK);
  set_tuning(ctx, ISO_TUNING_REPLAY);
  assert_string_equal(plan_of(ctx, "gemm f32 m64 n64 k8192").engine->name, "cpu.scalar.gemm_reference");
  iso_policy off = *iso_policy_current(ctx);
  off.repro = ISO_REPRO_OFF;
  assert_int_equal(iso_policy_push(ctx, &off), ISO_OK);
  assert_string_equal(plan_of(ctx, "gemm f32 m64 n64 k8192").engine->name, "cpu.avx2.gemm_split_k_free");
  iso_policy_pop(ctx);
  char text[1024];
  assert_int_equal(iso_lock_write(ctx, path), ISO_OK);
  read_file(path, text, sizeof text);
  assert_non_null(strstr(text, "cpu.avx2.gemm_split_k_free@"));
  assert_non_null(strstr(text, "cpu.scalar.gemm_reference@"));
  iso_context_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_run_is_replayed),
                                     cmocka_unit_test(test_what_replay_refuses),
                                     cmocka_unit_test(test_a_pin_decides),
                                     cmocka_unit_test(test_a_pin_of_another_class),
                                     cmocka_unit_test(test_bad_text),
                                     cmocka_unit_test(test_check),
                                     cmocka_unit_test(test_diff),
                                     cmocka_unit_test(test_scoped_policies)};
  return cmocka_run_group_tests_name("lock", tests, make_test_folder, remove_test_folder);
}
