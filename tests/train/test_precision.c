/* test_precision.c: jobs in bf16 and f16: they learn as f32 does, with bits that depend on nothing but what f32's do,
 * less memory, and in f16 steps that are skipped by name; a resume goes on with the same bits, the scaler's included.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <isobit/isobit.h>

typedef struct job {
  const char *precision, *autocast, *model, *isa;
  int threads, leaves;
  bool plain; /* images as they are, and no clipping */
  int64_t batch_size;
  uint64_t n_steps, spoiled; /* a gradient overflows in step `spoiled` − 1; 0: none does */
} job;

static char warnings[8][400];
static int n_warnings;
static void keep_warning(void *user, const char *sentence) {
  (void)user;
  if (n_warnings < 8) snprintf(warnings[n_warnings++], sizeof warnings[0], "%s", sentence);
}

static iso_context *open_context(const job *j) {
  iso_policy policy;
  iso_context *ctx;
  assert_int_equal(iso_policy_preset("reproducible", &policy), ISO_OK);
  policy.seed = 3;
  if (j->leaves) policy.leaves = j->leaves;
  assert_int_equal(
      iso_context_new(
          &(iso_context_options){.n_threads = j->threads ? j->threads : 2, .isa = j->isa, .policy = &policy}, &ctx),
      ISO_OK);
  iso_set_warning_handler(ctx, keep_warning, NULL);
  n_warnings = 0;
  return ctx;
}
static iso_trainer *open_trainer(iso_context *ctx, const job *j) {
  return iso_trainer_new(ctx, &(iso_vision_options){.model = j->model ? j->model : "resnet8",
                                                    .data_folder = "synthetic",
                                                    .batch_size = j->batch_size ? j->batch_size : 12,
                                                    .augment = !j->plain,
                                                    .clip_norm = j->plain ? 0 : 5,
                                                    .n_steps = j->n_steps ? j->n_steps : 5,
                                                    .precision = j->precision,
                                                    .autocast = j->autocast});
}

static bool spoils;
static iso_tensor *spoil(iso_context *ctx, iso_tensor *grad, void *user) {
  (void)user;
  return spoils ? iso_mul_scalar(ctx, iso_add_scalar(ctx, grad, 1), INFINITY) : grad;
}

/* The last parameter's name. */
static const char *hook(iso_trainer *t) {
  size_t n;
  const iso_named_tensor *tensors = iso_module_tensors(iso_trainer_model(t), &n);
  while (n-- > 0)
    if (tensors[n].trainable) {
      assert_int_equal(iso_hook_add(tensors[n].tensor, spoil, NULL), ISO_OK);
      return tensors[n].name;
    }
  fail_msg("no parameter");
  return NULL;
}

static void steps(iso_context *ctx, iso_trainer *t, const job *j, uint64_t until, iso_step_info *info) {
  while (iso_trainer_next_step(t) < until) {
    spoils = j->spoiled && iso_trainer_next_step(t) == j->spoiled - 1;
    if (iso_trainer_step(t, info)) fail_msg("%s", iso_error_message(ctx));
  }
}

static void run(const job *j, char hash[33], double *loss, size_t *peak) {
  iso_context *ctx = open_context(j);
  iso_trainer *t = open_trainer(ctx, j);
  if (!t) fail_msg("%s", iso_error_message(ctx));
  iso_step_info info;
  hook(t);
  steps(ctx, t, j, j->n_steps ? j->n_steps : 5, &info);
  assert_int_equal(iso_trainer_weights_hash(t, hash), ISO_OK);
  if (loss) *loss = info.loss;
  if (peak) *peak = iso_memory_get_info(ctx).peak_bytes;
  iso_trainer_free(t);
  iso_context_free(ctx);
}

static void test_invariance(void **state) {
  (void)state;
  static const char *const precisions[] = {"bf16", "f16"};
  char before[33] = "";
  for (int k = 0; k < 2; k++) {
    const job base = {.precision = precisions[k], .spoiled = k ? 3 : 0};
    job others[4] = {base, base, base, base};
    char expected[33], got[33];
    others[0].threads = 1, others[0].isa = "avx2";
    others[1].threads = 3;
    others[2].precision = "f32", others[2].spoiled = 0;
    others[3].leaves = 2;
    run(&base, expected, NULL, NULL);
    for (int i = 0; i < 4; i++) {
      run(&others[i], got, NULL, NULL);
      assert_int_equal(!strcmp(expected, got), i < 2); /* f32, and leaves, are other computations */
    }
    assert_string_not_equal(expected, before);
    strcpy(before, expected);
  }
}

/* The loss falls as it does in f32. */
static void test_learns(void **state) {
  (void)state;
  double loss[3];
  char hash[33];
  static const char *const precisions[] = {"f32", "bf16", "f16"};
  for (int k = 0; k < 3; k++)
    run(&(job){.precision = precisions[k], .batch_size = 32, .n_steps = 60, .plain = true}, hash, &loss[k], NULL);
  print_message("loss after 60 steps: %.4f in f32, %.4f in bf16, %.4f in f16\n", loss[0], loss[1], loss[2]);
  assert_true(loss[0] < 0.3);
  for (int k = 1; k < 3; k++) assert_true(fabs(loss[k] - loss[0]) < 0.05);
}

static void test_memory(void **state) {
  (void)state;
  size_t peak[2];
  char hash[33];
  for (int k = 0; k < 2; k++)
    run(&(job){.precision = k ? "bf16" : "f32", .batch_size = 256, .n_steps = 2}, hash, NULL, &peak[k]);
  print_message("peak: %.1f MiB in f32, %.1f in bf16 (%.3f)\n", (double)peak[0] / 0x1p20, (double)peak[1] / 0x1p20,
                (double)peak[1] / (double)peak[0]);
  assert_true((double)peak[1] < 0.75 * (double)peak[0]);
}

static void test_skipped(void **state) {
  (void)state;
  const job j = {.precision = "f16", .spoiled = 2};
  iso_context *ctx = open_context(&j);
  iso_trainer *t = open_trainer(ctx, &j);
  const char *name = hook(t);
  char before[33], after[33];
  iso_step_info info;
  steps(ctx, t, &j, 1, &info);
  const uint64_t skipped = iso_trainer_n_skipped(t); /* the first may overflow by itself */
  assert_int_equal(skipped, info.skipped);
  assert_true(info.scale == 65536);
  assert_int_equal(iso_trainer_weights_hash(t, before), ISO_OK);
  n_warnings = 0;
  steps(ctx, t, &j, 2, &info);
  assert_int_equal(iso_trainer_weights_hash(t, after), ISO_OK);
  assert_true(info.skipped && iso_trainer_n_skipped(t) == skipped + 1 && n_warnings == 1);
  if (!strstr(warnings[0], "step 1 is skipped") || !strstr(warnings[0], name) || !strstr(warnings[0], "element 0"))
    fail_msg("'%s' does not name step 1, '%s' and element 0", warnings[0], name);
  const double was = info.scale;
  steps(ctx, t, &j, 3, &info);
  assert_true(info.scale == was / 2);
  if (!info.skipped) assert_int_equal(iso_trainer_weights_hash(t, after), ISO_OK);
  iso_trainer_free(t);
  iso_context_free(ctx);
}

static void remove_checkpoint(const char *folder) {
  char path[300];
  snprintf(path, sizeof path, "%s/checkpoint.safetensors", folder);
  unlink(path);
  rmdir(folder);
}

static void test_resume(void **state) {
  (void)state;
  char folder[] = "/tmp/isobit-precision-XXXXXX", expected[33], got[33];
  assert_non_null(mkdtemp(folder));
  const job j = {.precision = "f16", .spoiled = 2, .n_steps = 6};
  run(&j, expected, NULL, NULL);
  uint64_t skipped = 0;
  for (int part = 0; part < 2; part++) {
    job half = j;
    half.threads = part ? 1 : 2;
    iso_context *ctx = open_context(&half);
    iso_trainer *t = open_trainer(ctx, &half);
    iso_step_info info;
    hook(t);
    if (part) assert_int_equal(iso_trainer_resume(t, folder), ISO_OK);
    if (part) assert_int_equal(iso_trainer_n_skipped(t), skipped);
    steps(ctx, t, &half, part ? 6 : 3, &info);
    skipped = iso_trainer_n_skipped(t);
    if (!part) assert_int_equal(iso_trainer_save(t, folder), ISO_OK);
    assert_int_equal(iso_trainer_weights_hash(t, got), ISO_OK);
    iso_trainer_free(t);
    iso_context_free(ctx);
  }
  assert_string_equal(expected, got);
  /* Another precision, or another list, would not go on with the same bits. */
  static const job wrong[] = {{.precision = "bf16", .n_steps = 6},
                              {.precision = "f16", .autocast = "relu=f32", .n_steps = 6}};
  static const char *const words[] = {"precision = f16", "autocast = "};
  for (int i = 0; i < 2; i++) {
    iso_context *ctx = open_context(&wrong[i]);
    iso_trainer *t = open_trainer(ctx, &wrong[i]);
    assert_int_equal(iso_trainer_resume(t, folder), ISO_INVALID_ARGUMENT);
    if (!strstr(iso_error_message(ctx), words[i])) fail_msg("%s", iso_error_message(ctx));
    iso_trainer_free(t);
    iso_context_free(ctx);
  }
  remove_checkpoint(folder);
}

static void test_refusals(void **state) {
  (void)state;
  static const job wrong[] = {{.precision = "fp16"},
                              {.precision = "bf16", .autocast = "softmax=half"},
                              {.precision = "f32", .autocast = "softmax=low"}};
  static const char *const words[] = {"precision is 'fp16'", "'softmax=half' does not say", "precision is f32"};
  for (int i = 0; i < 3; i++) {
    iso_context *ctx = open_context(&wrong[i]);
    assert_null(open_trainer(ctx, &wrong[i]));
    assert_int_equal(iso_error_code(ctx), ISO_INVALID_ARGUMENT);
    if (!strstr(iso_error_message(ctx), words[i])) fail_msg("%s", iso_error_message(ctx));
    iso_context_free(ctx);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_invariance), cmocka_unit_test(test_learns),
                                     cmocka_unit_test(test_memory),     cmocka_unit_test(test_skipped),
                                     cmocka_unit_test(test_resume),     cmocka_unit_test(test_refusals)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
