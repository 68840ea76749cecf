/* test_policy.c: presets, dials from text and environment, sentences of refusals, scoped policies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "policy/policy.h"

static iso_policy preset(const char *name) {
  iso_policy p;
  assert_int_equal(iso_policy_preset(name, &p), ISO_OK);
  return p;
}

static void test_presets(void **state) {
  (void)state;
  static const struct {
    const char *name;
    iso_repro repro;
    iso_tuning tuning;
    bool references_only;
  } rows[] = {{"fast", ISO_REPRO_OFF, ISO_TUNING_MEASURE, false},
              {"balanced", ISO_REPRO_OFF, ISO_TUNING_RULE, false},
              {"reproducible", ISO_REPRO_INVARIANT, ISO_TUNING_RULE, false},
              {"default", ISO_REPRO_INVARIANT, ISO_TUNING_MEASURE, false},
              {"portable", ISO_REPRO_PORTABLE, ISO_TUNING_MEASURE, false},
              {"plain", ISO_REPRO_INVARIANT, ISO_TUNING_RULE, true}};
  int n = 0;
  for (const char *const *name = iso_policy_names(); *name; name++, n++) {
    iso_policy p = preset(*name);
    assert_string_equal(*name, rows[n].name);
    assert_int_equal(p.repro, rows[n].repro);
    assert_int_equal(p.tuning, rows[n].tuning);
    assert_int_equal(p.references_only, rows[n].references_only);
    assert_int_equal(p.accuracy, ISO_ACCURACY_STANDARD);
    assert_int_equal(p.rule, 2);
    assert_int_equal(p.leaves, 1);
    assert_int_equal(p.seed, 0);
    assert_true(p.workspace_limit == SIZE_MAX && p.memory_limit == 0);
    assert_int_equal(iso__policy_check(&p, NULL, 0), ISO_OK);
  }
  assert_int_equal(n, 6);
  iso_policy p;
  assert_int_equal(iso_policy_preset("fastest", &p), ISO_NOT_FOUND);
  assert_int_equal(iso_policy_preset(NULL, &p), ISO_NOT_FOUND);
}

static void test_good_values(void **state) {
  (void)state;
  iso_policy p = preset("default");
  char message[200] = "untouched";
#define SET(dial, value) assert_int_equal(iso_policy_set(&p, dial, value, message, sizeof message), ISO_OK)
  SET("repro", "portable");
  SET("tuning", "replay");
  SET("accuracy", "strict");
  SET("vendor", "on");
  SET("references_only", "yes");
  SET("leaves", "4");
  SET("rule", "1");
  SET("math_matmul", "f32");
  assert_true(p.repro == ISO_REPRO_PORTABLE && p.tuning == ISO_TUNING_REPLAY && p.accuracy == ISO_ACCURACY_STRICT &&
              p.vendor && p.references_only && p.leaves == 4);
  SET("seed", "18446744073709551615");
  assert_true(p.seed == UINT64_MAX);
  SET("seed", "0xdeadBEEF");
  assert_int_equal(p.seed, 0xdeadbeef);
  static const struct {
    const char *text;
    size_t n_bytes;
  } sizes[] = {
      {"0", 0},          {"12345", 12345},    {"64KB", 64000}, {"64 KiB", 65536},         {"100MiB", 104857600},
      {"1GiB", 1 << 30}, {"2gb", 2000000000}, {"7B", 7},       {"1TiB", (size_t)1 << 40}, {"none", SIZE_MAX}};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    SET("workspace_limit", sizes[i].text);
    assert_true(p.workspace_limit == sizes[i].n_bytes);
  }
  SET("memory_limit", "1GiB");
  assert_int_equal(p.memory_limit, 1 << 30);
  SET("memory_limit", "none");
  assert_int_equal(p.memory_limit, 0);
  static const struct {
    const char *text;
    uint64_t ms;
  } durations[] = {{"0ms", 0}, {"250ms", 250}, {"60s", 60000}, {"5min", 300000}, {"none", UINT64_MAX}};
  for (size_t i = 0; i < sizeof durations / sizeof durations[0]; i++) {
    SET("tuning_budget", durations[i].text);
    SET("problem_budget", durations[i].text);
    assert_true(p.tuning_budget_ms == durations[i].ms && p.problem_budget_ms == durations[i].ms);
  }
#undef SET
  assert_string_equal(message, "untouched");
}

static void test_bad_values(void **state) {
  (void)state;
  static const struct {
    const char *dial, *value;
    iso_status status;
    const char *message;
  } rows[] = {
      {"repro", "fastest", ISO_INVALID_ARGUMENT, "repro=fastest: accepted are off, run, invariant, portable"},
      {"repro", "", ISO_INVALID_ARGUMENT, NULL},
      {"tuning", "Rule", ISO_INVALID_ARGUMENT, "tuning=Rule: accepted are rule, measure, replay"},
      {"math_conv", "tf32", ISO_UNSUPPORTED, NULL},
      {"math_conv", "fp8", ISO_INVALID_ARGUMENT, NULL},
      {"vendor", "maybe", ISO_INVALID_ARGUMENT, "vendor=maybe: accepted are on, off"},
      {"rule", "3", ISO_INVALID_ARGUMENT, NULL},
      {"leaves", "3", ISO_INVALID_ARGUMENT, "leaves=3: accepted are a power of two from 1 to 65536"},
      {"leaves", "0", ISO_INVALID_ARGUMENT, NULL},
      {"leaves", "131072", ISO_INVALID_ARGUMENT, NULL},
      {"leaves", "4x", ISO_INVALID_ARGUMENT, NULL},
      {"leaves", "99999999999999999999", ISO_INVALID_ARGUMENT, NULL},
      {"seed", "abc", ISO_INVALID_ARGUMENT, NULL},
      {"seed", "-1", ISO_INVALID_ARGUMENT, NULL},
      {"seed", "18446744073709551616", ISO_INVALID_ARGUMENT, NULL},
      {"seed", "0x", ISO_INVALID_ARGUMENT, NULL},
      {"seed", "0x-1", ISO_INVALID_ARGUMENT, NULL},
      {"workspace_limit", "100Mi", ISO_INVALID_ARGUMENT, NULL},
      {"workspace_limit", "-5", ISO_INVALID_ARGUMENT, NULL},
      {"workspace_limit", "1.5GiB", ISO_INVALID_ARGUMENT, NULL},
      {"workspace_limit", "99999999999TiB", ISO_INVALID_ARGUMENT, NULL},
      {"workspace_limit", NULL, ISO_INVALID_ARGUMENT, NULL},
      {"tuning_budget", "60", ISO_INVALID_ARGUMENT, NULL},
      {"problem_budget", "99999999999999999999s", ISO_INVALID_ARGUMENT, NULL},
      {"colour", "red", ISO_NOT_FOUND, NULL},
      {NULL, "red", ISO_NOT_FOUND, NULL},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    iso_policy p = preset("default"), before = p;
    char message[300] = "";
    assert_int_equal(iso_policy_set(&p, rows[i].dial, rows[i].value, message, sizeof message), rows[i].status);
    assert_memory_equal(&p, &before, sizeof p);
    if (rows[i].message) assert_string_equal(message, rows[i].message);
    if (rows[i].dial) assert_non_null(strstr(message, rows[i].dial));
    if (rows[i].value) assert_non_null(strstr(message, rows[i].status == ISO_NOT_FOUND ? "leaves" : rows[i].value));
    assert_int_equal(iso_policy_set(&p, rows[i].dial, rows[i].value, NULL, 0), rows[i].status);
  }
}

static void test_environment(void **state) {
  (void)state;
  iso_policy p = preset("default"), before = p;
  char message[300];
  setenv("ISOBIT_SEED", "7", 1);
  setenv("ISOBIT_WORKSPACE_LIMIT", "100MiB", 1);
  setenv("ISOBIT_REPRO", "", 1);
  assert_int_equal(iso_policy_from_environment(&p, message, sizeof message), ISO_OK);
  assert_int_equal(p.seed, 7);
  assert_int_equal(p.workspace_limit, 100 << 20);
  assert_int_equal(p.repro, before.repro);
  setenv("ISOBIT_LEAVES", "abc", 1);
  p = before;
  assert_int_equal(iso_policy_from_environment(&p, message, sizeof message), ISO_INVALID_ARGUMENT);
  assert_string_equal(message, "ISOBIT_LEAVES=abc: accepted are a power of two from 1 to 65536");
  assert_memory_equal(&p, &before, sizeof p);
  unsetenv("ISOBIT_SEED");
  unsetenv("ISOBIT_WORKSPACE_LIMIT");
  unsetenv("ISOBIT_REPRO");
  unsetenv("ISOBIT_LEAVES");
}

/* The name that other stacks use works, says so, and yields to ours. */
static void test_the_older_name_of_workspace_limit(void **state) {
  (void)state;
  iso_policy p = preset("default");
  char message[300] = "old";
  setenv("CUDNN_WORKSPACE_LIMIT", "64MiB", 1);
  assert_int_equal(iso_policy_from_environment(&p, message, sizeof message), ISO_OK);
  assert_int_equal(p.workspace_limit, 64 << 20);
  assert_non_null(strstr(message, "CUDNN_WORKSPACE_LIMIT=64MiB"));
  assert_non_null(strstr(message, "ISOBIT_WORKSPACE_LIMIT"));
  setenv("ISOBIT_WORKSPACE_LIMIT", "1MiB", 1);
  assert_int_equal(iso_policy_from_environment(&p, message, sizeof message), ISO_OK);
  assert_int_equal(p.workspace_limit, 1 << 20);
  assert_string_equal(message, "");
  unsetenv("ISOBIT_WORKSPACE_LIMIT");
  setenv("CUDNN_WORKSPACE_LIMIT", "lots", 1);
  assert_int_equal(iso_policy_from_environment(&p, message, sizeof message), ISO_INVALID_ARGUMENT);
  assert_non_null(strstr(message, "CUDNN_WORKSPACE_LIMIT=lots: accepted are"));
  unsetenv("CUDNN_WORKSPACE_LIMIT");
}

static void test_format(void **state) {
  (void)state;
  iso_policy p = preset("reproducible");
  p.workspace_limit = 100 << 20;
  p.memory_limit = 12345;
  p.seed = 9;
  char text[400], cut[20];
  int n = iso_policy_format(&p, text, sizeof text);
  assert_string_equal(text, "repro=invariant tuning=rule accuracy=standard math_matmul=f32 math_conv=f32 vendor=off "
                            "references_only=off rule=2 leaves=1 seed=9 workspace_limit=100MiB memory_limit=12345 "
                            "tuning_budget=60s problem_budget=30ms");
  assert_int_equal(n, strlen(text));
  assert_int_equal(iso_policy_format(&p, cut, sizeof cut), n);
  assert_string_equal(cut, "repro=invariant tun");
  assert_int_equal(iso_policy_format(&p, NULL, 0), n);

  /* The line says everything: setting its words on another policy gives the same one. */
  iso_policy q = preset("fast");
  for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
    char *value = strchr(word, '=');
    *value = '\0';
    assert_int_equal(iso_policy_set(&q, word, value + 1, NULL, 0), ISO_OK);
  }
  assert_int_equal(iso_policy_format(&q, text, sizeof text), n);
  assert_true(q.repro == p.repro && q.workspace_limit == p.workspace_limit && q.memory_limit == p.memory_limit);
}

static void test_explanations(void **state) {
  (void)state;
  static const char *const others[] = {"repro",
                                       "tuning",
                                       "accuracy",
                                       "math_matmul",
                                       "math_conv",
                                       "vendor",
                                       "references_only",
                                       "rule",
                                       "leaves",
                                       "seed",
                                       "workspace_limit",
                                       "memory_limit",
                                       "tuning_budget",
                                       "problem_budget",
                                       "fixed-shapes",
                                       "varying-shapes",
                                       "paper",
                                       "mixed-precision",
                                       "several-devices",
                                       "serving",
                                       "ci"};
  for (const char *const *name = iso_policy_names(); *name; name++) assert_non_null(iso_policy_explain(*name));
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) assert_non_null(iso_policy_explain(others[i]));
  assert_null(iso_policy_explain("fastest"));
  assert_null(iso_policy_explain(NULL));
}

static void test_scoped(void **state) {
  (void)state;
  iso_context *ctx;
  assert_int_equal(iso__context_new(NULL, NULL, 1, ISO_ISA_SCALAR, &ctx), ISO_OK);
  assert_int_equal(iso_policy_current(ctx)->repro, ISO_REPRO_INVARIANT); /* none attached: the default */
  assert_int_equal(iso_policy_current(NULL)->tuning, ISO_TUNING_MEASURE);
  iso_policy outer = preset("fast"), inner = preset("reproducible");
  outer.memory_limit = 10 << 20;
  inner.memory_limit = 1 << 20;
  assert_int_equal(iso_policy_push(ctx, &inner), ISO_STATE);
  iso_clear_error(ctx);
  assert_int_equal(iso__policy_attach(ctx, &outer), ISO_OK);
  assert_int_equal(iso_memory_get_info(ctx).limit_bytes, 10 << 20);
  for (int i = 0; i < 20; i++) {
    assert_int_equal(iso_policy_push(ctx, i % 2 ? iso_policy_current(ctx) : &inner), ISO_OK);
    assert_int_equal(iso_policy_current(ctx)->repro, ISO_REPRO_INVARIANT);
    assert_int_equal(iso_memory_get_info(ctx).limit_bytes, 1 << 20);
  }
  assert_null(iso__alloc(ctx, 2 << 20));
  assert_int_equal(iso_error_code(ctx), ISO_MEMORY_LIMIT);
  assert_non_null(strstr(iso_error_message(ctx), "would exceed memory_limit, 1048576 bytes: weights 0 B, "));
  assert_non_null(strstr(iso_error_message(ctx), ", other "));
  for (int i = 0; i < 20; i++) assert_int_equal(iso_policy_pop(ctx), ISO_OK); /* in a failed context, too */
  assert_int_equal(iso_policy_current(ctx)->repro, ISO_REPRO_OFF);
  assert_int_equal(iso_memory_get_info(ctx).limit_bytes, 10 << 20);
  iso_clear_error(ctx);
  assert_int_equal(iso_policy_pop(ctx), ISO_STATE);
  iso_clear_error(ctx);
  inner.leaves = 3;
  assert_int_equal(iso_policy_push(ctx, &inner), ISO_INVALID_ARGUMENT);
  assert_non_null(strstr(iso_error_message(ctx), "leaves=3"));
  iso_clear_error(ctx);
  inner.leaves = 1;
  inner.repro = (iso_repro)17;
  assert_int_equal(iso_policy_push(ctx, &inner), ISO_INVALID_ARGUMENT);
  iso_clear_error(ctx);
  assert_int_equal(iso_policy_push(ctx, NULL), ISO_INVALID_ARGUMENT);
  iso__context_free(ctx);
}

/* Out of memory at every allocation of attaching and pushing: an error, nothing lost. */
static void test_without_memory(void **state) {
  (void)state;
  for (uint64_t n = 1; n <= 3; n++) {
    iso_context *ctx;
    assert_int_equal(iso__context_new(NULL, NULL, 1, ISO_ISA_SCALAR, &ctx), ISO_OK);
    iso__heap *heap = ctx->heap;
    iso__heap_retain(heap);
    iso_policy p = preset("fast"), q = preset("plain");
    iso_memory_fail_at(ctx, n);
    iso__policy_attach(ctx, &p);
    iso_policy_push(ctx, &q);
    assert_int_equal(iso_error_code(ctx), n <= 2 ? ISO_OUT_OF_MEMORY : ISO_OK);
    assert_int_equal(iso_policy_current(ctx)->references_only, n == 3);
    iso__context_free(ctx);
    assert_int_equal(iso__heap_info(heap).live_bytes, 0);
    iso__heap_release(heap);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_presets),
                                     cmocka_unit_test(test_good_values),
                                     cmocka_unit_test(test_bad_values),
                                     cmocka_unit_test(test_environment),
                                     cmocka_unit_test(test_the_older_name_of_workspace_limit),
                                     cmocka_unit_test(test_format),
                                     cmocka_unit_test(test_explanations),
                                     cmocka_unit_test(test_scoped),
                                     cmocka_unit_test(test_without_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
