/* test_train.c: a training run's bits depend on nothing but model, data, options, seed and step count. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#  include <xmmintrin.h>
#endif
#include <cmocka.h>
#include <isobit/isobit.h>
#include "plan/plan.h"

enum { N_STEPS = 5 };

typedef struct setup {
  const char *policy, *isa;
  int threads, workers, leaves;
  uint64_t adversary;
  iso_vision_options options;
} setup;

static iso_context *open_context(const setup *s) {
  iso_policy policy;
  iso_context *ctx;
  assert_int_equal(iso_policy_preset(s->policy ? s->policy : "default", &policy), ISO_OK);
  policy.seed = 3;
  if (s->leaves) policy.leaves = s->leaves;
  const iso_context_options options = {.n_threads = s->threads, .isa = s->isa, .policy = &policy};
  assert_int_equal(iso_context_new(&options, &ctx), ISO_OK);
  iso__tuner_set_adversary(ctx, s->adversary);
  return ctx;
}

static iso_trainer *open_trainer(iso_context *ctx, const setup *s) {
  iso_vision_options options = s->options;
  if (!options.model) options.model = "resnet8";
  if (!options.data_folder) options.data_folder = "synthetic";
  if (!options.batch_size) options.batch_size = 12;
  options.augment = true;
  options.n_workers = s->workers;
  options.n_steps = N_STEPS;
  iso_trainer *t = iso_trainer_new(ctx, &options);
  if (!t) fail_msg("%s", iso_error_message(ctx));
  return t;
}

static void steps(iso_context *ctx, iso_trainer *t, uint64_t until) {
  while (iso_trainer_next_step(t) < until)
    if (iso_trainer_step(t, NULL)) fail_msg("%s", iso_error_message(ctx));
}

/* The hash after N_STEPS steps. */
static void run(const setup *s, char hash[33]) {
  iso_context *ctx = open_context(s);
  iso_trainer *t = open_trainer(ctx, s);
  steps(ctx, t, N_STEPS);
  assert_int_equal(iso_trainer_weights_hash(t, hash), ISO_OK);
  iso_trainer_free(t);
  iso_context_free(ctx);
}

static void assert_same_as(const setup *base, const setup *other, const char *what) {
  char a[33], b[33];
  run(base, a), run(other, b);
  if (strcmp(a, b) != 0) fail_msg("%s: weights %s, expected %s", what, b, a);
}

/* Instrumented code is slow: there every sixth allocation or so fails, and two thread counts are compared. */
static bool sanitized(void) { return getenv("ISOBIT_TEST_SANITIZED") != NULL; }

static void test_threads(void **state) {
  (void)state;
  static const char *const models[] = {"mlp", "cnn", "resnet8"};
  for (int m = 0; m < 3; m++) {
    const setup base = {.threads = 1, .options.model = models[m]};
    for (int threads = 2; threads <= (sanitized() ? 2 : 4); threads++)
      assert_same_as(&base, &(setup){.threads = threads, .options.model = models[m]}, models[m]);
  }
}

static void test_policies_of_one_class(void **state) {
  (void)state;
  assert_same_as(&(setup){.threads = 2, .policy = "reproducible"}, &(setup){.threads = 2, .policy = "default"},
                 "default against reproducible");
  assert_same_as(&(setup){.threads = 2, .policy = "reproducible"}, &(setup){.threads = 1, .policy = "portable"},
                 "portable against reproducible");
}

/* The references are the specification: a small run through them alone. */
static void test_plain_equals_default(void **state) {
  (void)state;
  const iso_vision_options small = {.model = "mlp", .batch_size = 2};
  assert_same_as(&(setup){.threads = 2, .policy = "plain", .options = small},
                 &(setup){.threads = 1, .policy = "default", .options = small}, "default against plain");
}

static void test_instruction_sets(void **state) {
  (void)state;
  iso_context *ctx = open_context(&(setup){0});
  const iso_isa best = iso_context_isa(ctx);
  iso_context_free(ctx);
  if (best < ISO_ISA_AVX2) {
    printf("[  SKIPPED ] this CPU has no avx2\n");
    skip();
  }
  const iso_vision_options small = {.model = "mlp", .batch_size = 2};
  assert_same_as(&(setup){.threads = 1, .isa = "scalar", .options = small},
                 &(setup){.threads = 2, .isa = "avx2", .options = small}, "avx2 against scalar");
  if (best < ISO_ISA_AVX512) {
    printf("[  SKIPPED ] this CPU has no avx512\n");
    return;
  }
  assert_same_as(&(setup){.threads = 1, .isa = "avx2"}, &(setup){.threads = 2, .isa = "avx512"}, "avx512 against avx2");
}

static void test_loader_workers(void **state) {
  (void)state;
  const setup base = {.threads = 1, .options.model = "mlp"};
  assert_same_as(&base, &(setup){.threads = 1, .workers = 1, .options.model = "mlp"}, "1 worker");
  assert_same_as(&base, &(setup){.threads = 1, .workers = 4, .options.model = "mlp"}, "4 workers");
}

static void test_poisoned_floating_point_mode(void **state) {
  (void)state;
#if defined(__x86_64__)
  char expected[33], got[33];
  const setup s = {.threads = 2, .workers = 2, .options.model = "cnn"};
  run(&s, expected);
  const unsigned saved = _mm_getcsr(),
                 poison = 0x1f80 | 0x8040 | 0x4000; /* flush to zero, denormals are zero, round up */
  _mm_setcsr(poison);                               /* threads made from now on inherit it */
  run(&s, got);
  const unsigned after = _mm_getcsr();
  _mm_setcsr(saved);
  assert_string_equal(expected, got);
  assert_int_equal(after & 0xffc0, poison & 0xffc0); /* the host's mode is its own business */
#else
  skip();
#endif
}

static void test_leaves_do_not_depend_on_threads(void **state) {
  (void)state;
  assert_same_as(&(setup){.threads = 1, .leaves = 4}, &(setup){.threads = 3, .leaves = 4, .workers = 1}, "4 leaves");
  char one[33], four[33];
  run(&(setup){.threads = 1}, one), run(&(setup){.threads = 1, .leaves = 4}, four);
  assert_string_not_equal(one, four); /* another tree, other statistics: other bits, as documented */
}

static void test_adversary(void **state) {
  (void)state;
  const setup base = {.threads = 2, .options.model = "cnn"};
  for (uint64_t seed = 1; seed <= (sanitized() ? 1 : 5); seed++)
    assert_same_as(&base, &(setup){.threads = 2, .adversary = seed, .options.model = "cnn"}, "distorted times");
}

/* A row's logits do not depend on the rows beside it. */
static void test_rows_alone_and_in_a_batch(void **state) {
  (void)state;
  static const char *const models[] = {"mlp", "cnn", "resnet8"};
  for (int m = 0; m < 3; m++) {
    iso_context *ctx = open_context(&(setup){.threads = 2});
    iso_module *model = iso_model_new(ctx, models[m], NULL);
    iso_module_train(model, false);
    iso_no_grad_push(ctx);
    iso_tensor *x = iso_random_normal(ctx, ISO_F32, 4, ISO_DIMS(33, 1, 28, 28), 0, 1);
    iso_tensor *together = iso_module_forward(model, x);
    assert_non_null(together);
    for (int64_t i = 0; i < 33; i += 4) {
      iso_tensor *alone = iso_module_forward(model, iso_slice(ctx, x, 0, i, i + 1, 1));
      assert_non_null(alone);
      assert_true(
          iso_same_bits(iso_tensor_data(alone), (const float *)iso_tensor_data(together) + 10 * i, 10, ISO_F32));
    }
    iso_no_grad_pop(ctx);
    iso_module_free(model);
    iso_context_free(ctx);
  }
}

static void test_resume_at_every_step(void **state) {
  (void)state;
  char expected[33], got[33], folder[] = "/tmp/isobit-resume-XXXXXX", path[128];
  static const char *const optimizers[] = {"sgd", "adamw", "nadam"};
  assert_non_null(mkdtemp(folder));
  for (int o = 0; o < 3; o++) {
    const setup s = {.threads = 2,
                     .options = {.model = "cnn", .optimizer = optimizers[o], .schedule = "cosine", .clip_norm = 1}};
    run(&s, expected);
    for (uint64_t at = 0; at <= N_STEPS; at++) {
      iso_context *ctx = open_context(&s);
      iso_trainer *t = open_trainer(ctx, &s);
      steps(ctx, t, at);
      if (iso_trainer_save(t, folder)) fail_msg("%s", iso_error_message(ctx));
      iso_trainer_free(t);
      iso_context_free(ctx);
      const setup other = {.threads = 1, .workers = 1, .options = s.options};
      ctx = open_context(&other);
      t = open_trainer(ctx, &other);
      if (iso_trainer_resume(t, folder)) fail_msg("%s", iso_error_message(ctx));
      assert_int_equal(iso_trainer_next_step(t), at);
      steps(ctx, t, N_STEPS);
      iso_trainer_weights_hash(t, got);
      if (strcmp(expected, got) != 0) fail_msg("resumed at step %d: %s, expected %s", (int)at, got, expected);
      iso_trainer_free(t);
      iso_context_free(ctx);
    }
  }
  snprintf(path, sizeof path, "%s/checkpoint.safetensors", folder);
  unlink(path), rmdir(folder);
}

static void test_resume_refuses_another_run(void **state) {
  (void)state;
  char folder[] = "/tmp/isobit-resume-XXXXXX", path[128], hash[33], before[33];
  assert_non_null(mkdtemp(folder));
  const setup s = {.threads = 1, .options.model = "mlp"},
              other = {.threads = 1, .options = {.model = "mlp", .lr = 0.01}};
  iso_context *ctx = open_context(&s);
  iso_trainer *t = open_trainer(ctx, &s), *u = open_trainer(ctx, &other);
  assert_int_equal(iso_trainer_resume(t, folder), ISO_NOT_FOUND);
  assert_int_equal(iso_error_code(ctx), ISO_OK);
  assert_int_equal(iso_trainer_save(t, folder), ISO_OK);
  iso_trainer_weights_hash(u, before);
  assert_int_equal(iso_trainer_resume(u, folder), ISO_INVALID_ARGUMENT);
  assert_non_null(strstr(iso_error_message(ctx), "lr"));
  iso_clear_error(ctx);
  iso_trainer_weights_hash(u, hash);
  assert_string_equal(before, hash);
  iso_trainer_free(t), iso_trainer_free(u);
  iso_context_free(ctx);
  snprintf(path, sizeof path, "%s/checkpoint.safetensors", folder);
  unlink(path), rmdir(folder);
}

static void test_hash_log_names_every_layer(void **state) {
  (void)state;
  char path[] = "/tmp/isobit-log-XXXXXX", line[512];
  const int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  iso_context *ctx = open_context(&(setup){.threads = 1});
  iso_trainer *t = open_trainer(ctx, &(setup){.options.model = "mlp"});
  assert_int_equal(iso_trainer_log_hashes(t, path), ISO_OK);
  steps(ctx, t, 2);
  size_t n_tensors, n_lines = 0;
  iso_module_tensors(iso_trainer_model(t), &n_tensors);
  iso_trainer_free(t);
  iso_context_free(ctx);
  FILE *f = fopen(path, "r");
  while (fgets(line, sizeof line, f)) n_lines++;
  fclose(f);
  unlink(path);
  assert_int_equal(n_lines, 1 + 2 * (n_tensors + 2)); /* start; batch, loss and tensors of two steps */
}

/* Out of memory at every allocation of a job in turn: an error that says so, nothing lost, nothing left. */
static void test_out_of_memory_everywhere(void **state) {
  (void)state;
  const setup s = {.threads = 1, .options = {.model = "cnn", .batch_size = 2}};
  uint64_t n_failed = 0;
  for (uint64_t at = 1;; at += at < (sanitized() ? 20 : 200) ? 1 : 1 + at / (sanitized() ? 8 : 50)) {
    iso_context *ctx = open_context(&s);
    const size_t live = iso_memory_get_info(ctx).live_bytes;
    iso_memory_fail_at(ctx, at);
    iso_trainer *t = iso_trainer_new(
        ctx, &(iso_vision_options){.model = "cnn", .batch_size = 2, .data_folder = "synthetic", .n_steps = 2});
    iso_status status = t ? iso_trainer_step(t, NULL) : iso_error_code(ctx);
    if (!status) status = iso_trainer_step(t, NULL);
    iso_memory_fail_at(ctx, 0);
    if (status && status != ISO_OUT_OF_MEMORY) fail_msg("allocation %d failed: %s", (int)at, iso_error_message(ctx));
    n_failed += status != ISO_OK;
    iso_trainer_free(t);
    iso_clear_error(ctx);
    const size_t left = iso_memory_get_info(ctx).live_bytes;
    iso_context_free(ctx);
    if (t == NULL && left != live) fail_msg("allocation %d failed and %zu bytes were left", (int)at, left - live);
    if (!status) break;
  }
  assert_true(n_failed > (sanitized() ? 30 : 50));
}

/* The proof can fail: under `fast` two runs need not agree. */
static void test_fast_differs(void **state) {
  (void)state;
  enum { TRIES = 12 };
  char first[33], next[33];
  const setup s = {.threads = 2, .policy = "fast", .options = {.model = "cnn", .batch_size = 64}};
  run(&s, first);
  for (int i = 1; i < TRIES; i++) {
    run(&s, next);
    if (strcmp(first, next) != 0) return;
  }
  printf("[  SKIPPED ] 'fast' gave the same bits in %d tries\n", TRIES);
  skip();
}

static void test_bad_options(void **state) {
  (void)state;
  static const struct bad {
    iso_vision_options options;
    const char *says;
  } bads[] = {
      {{.model = "vgg"}, "vgg"},
      {{.batch_size = -3}, "-3"},
      {{.batch_size = 5000}, "5000"},
      {{.lr = -1}, "-1"},
      {{.momentum = 1.5}, "1.5"},
      {{.optimizer = "lion"}, "lion"},
      {{.schedule = "wave"}, "wave"},
      {{.data_folder = "/nowhere/at/all"}, "/nowhere/at/all"},
      {{.n_workers = -1}, "-1"},
      {{.weight_decay = (double)INFINITY}, "inf"},
      {{.n_epochs = UINT64_MAX}, "18446744073709551615"},
  };
  for (size_t i = 0; i < sizeof bads / sizeof bads[0]; i++) {
    iso_context *ctx = open_context(&(setup){.threads = 1});
    iso_vision_options options = bads[i].options;
    if (!options.data_folder) options.data_folder = "synthetic";
    assert_null(iso_trainer_new(ctx, &options));
    if (!strstr(iso_error_message(ctx), bads[i].says))
      fail_msg("'%s' does not name %s", iso_error_message(ctx), bads[i].says);
    iso_context_free(ctx);
  }
}

/* A schedule over two epochs is still on its way down at the end of the first. */
static void test_schedule_spans_all_epochs(void **state) {
  (void)state;
  iso_context *ctx = open_context(&(setup){.threads = 1});
  iso_trainer *t = iso_trainer_new(
      ctx, &(iso_vision_options){.model = "mlp", .data_folder = "synthetic", .batch_size = 2048, .n_epochs = 2});
  assert_non_null(t);
  assert_int_equal(iso_trainer_steps_per_epoch(t), 2);
  iso_step_info info;
  double last = 1;
  for (int i = 0; i < 4; i++) {
    assert_int_equal(iso_trainer_step(t, &info), ISO_OK);
    assert_true(info.lr > 0 && info.lr < last);
    last = info.lr;
  }
  iso_trainer_free(t);
  iso_context_free(ctx);
}

/* Calls with nothing, and paths that are too long to be cut silently. */
static void test_nothing_and_too_much(void **state) {
  (void)state;
  static char path[5000];
  char name[33];
  memset(path, 'a', sizeof path - 1);
  assert_null(iso_trainer_new(NULL, NULL));
  assert_int_equal(iso_trainer_next_step(NULL), 0);
  assert_int_equal(iso_trainer_steps_per_epoch(NULL), 0);
  assert_null(iso_trainer_model(NULL));
  assert_int_equal(iso_trainer_data_info(NULL, ISO_SPLIT_TRAIN).n_samples, 0);
  assert_int_equal(iso_trainer_step(NULL, NULL), ISO_INVALID_ARGUMENT);
  assert_int_equal(iso_trainer_evaluate(NULL, 0, NULL), ISO_INVALID_ARGUMENT);
  assert_int_equal(iso_trainer_weights_hash(NULL, name), ISO_INVALID_ARGUMENT);
  assert_int_equal(iso_trainer_log_hashes(NULL, "x"), ISO_INVALID_ARGUMENT);
  assert_int_equal(iso_trainer_save(NULL, "x"), ISO_INVALID_ARGUMENT);
  assert_int_equal(iso_checkpoint_model_name(NULL, "x", name, sizeof name), ISO_INVALID_ARGUMENT);
  iso_context *ctx = open_context(&(setup){.threads = 1});
  assert_null(iso_trainer_new(ctx, &(iso_vision_options){.data_folder = path}));
  assert_non_null(strstr(iso_error_message(ctx), "longer than"));
  iso_clear_error(ctx);
  iso_trainer *t = open_trainer(ctx, &(setup){.options.model = "mlp"});
  const char *const folders[] = {path, "", NULL};
  for (int i = 0; i < 3; i++) {
    assert_int_equal(iso_trainer_save(t, folders[i]), ISO_INVALID_ARGUMENT), iso_clear_error(ctx);
    assert_int_equal(iso_trainer_resume(t, folders[i]), ISO_INVALID_ARGUMENT), iso_clear_error(ctx);
    assert_int_equal(iso_trainer_load_weights(t, folders[i]), ISO_INVALID_ARGUMENT), iso_clear_error(ctx);
  }
  assert_int_equal(iso_trainer_log_hashes(t, path), ISO_INVALID_ARGUMENT), iso_clear_error(ctx);
  assert_int_equal(iso_trainer_evaluate(t, 0, NULL), ISO_INVALID_ARGUMENT);
  /* A device is written to, and neither read nor replaced. */
  assert_int_equal(iso_trainer_log_hashes(t, "/dev/full"), ISO_OK);
  assert_int_equal(iso_trainer_step(t, NULL), ISO_IO);
  iso_trainer_free(t);
  iso_context_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_threads),
                                     cmocka_unit_test(test_policies_of_one_class),
                                     cmocka_unit_test(test_plain_equals_default),
                                     cmocka_unit_test(test_instruction_sets),
                                     cmocka_unit_test(test_loader_workers),
                                     cmocka_unit_test(test_poisoned_floating_point_mode),
                                     cmocka_unit_test(test_leaves_do_not_depend_on_threads),
                                     cmocka_unit_test(test_adversary),
                                     cmocka_unit_test(test_rows_alone_and_in_a_batch),
                                     cmocka_unit_test(test_resume_at_every_step),
                                     cmocka_unit_test(test_resume_refuses_another_run),
                                     cmocka_unit_test(test_hash_log_names_every_layer),
                                     cmocka_unit_test(test_out_of_memory_everywhere),
                                     cmocka_unit_test(test_fast_differs),
                                     cmocka_unit_test(test_bad_options),
                                     cmocka_unit_test(test_schedule_spans_all_epochs),
                                     cmocka_unit_test(test_nothing_and_too_much)};
  return cmocka_run_group_tests_name("train", tests, NULL, NULL);
}
