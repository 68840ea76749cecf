/* test_plan_memory.c: the peak that is told before training is the one that is measured, by owner; planning changes
 * nothing and takes no memory; checkpointed training has the same bits and a lower peak. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <isobit/isobit.h>

enum { N_STEPS = 3 };

static iso_context *open_context(int leaves, size_t limit) {
  iso_policy policy;
  iso_context *ctx;
  assert_int_equal(iso_policy_preset("default", &policy), ISO_OK);
  policy.memory_limit = limit;
  policy.tuning =
      ISO_TUNING_RULE; /* which engine wins a measurement, and so its workspace, is a matter of the moment */
  if (leaves) policy.leaves = leaves;
  assert_int_equal(iso_context_new(&(iso_context_options){.n_threads = 2, .policy = &policy}, &ctx), ISO_OK);
  return ctx;
}

typedef struct job {
  iso_vision_options vision;
  iso_text_options text; /* of texts where it has data */
  int leaves;
} job;

static iso_trainer *open_trainer(iso_context *ctx, const job *j) {
  iso_trainer *t = j->text.data ? iso_trainer_new_text(ctx, &j->text) : iso_trainer_new(ctx, &j->vision);
  if (!t) fail_msg("%s", iso_error_message(ctx));
  return t;
}

typedef struct outcome {
  iso_memory_plan plan;
  iso_memory_info measured;
  char hash[33];
} outcome;

/* Trains after planning, if asked. */
static outcome run(const job *j, bool plans, uint64_t n_steps) {
  outcome o = {0};
  iso_context *ctx = open_context(j->leaves, 0);
  iso_trainer *t = open_trainer(ctx, j);
  const iso_memory_info before = iso_memory_get_info(ctx);
  if (plans && iso_trainer_plan_memory(t, NULL, &o.plan)) fail_msg("%s", iso_error_message(ctx));
  if (plans) { /* a batch was loaded, no more */
    const iso_memory_info after = iso_memory_get_info(ctx);
    assert_true(after.peak_bytes < before.peak_bytes + (3 << 20));
    assert_true(after.live_bytes < before.live_bytes + (1 << 20));
    assert_int_equal(iso_tape_length(ctx), 0);
  }
  for (uint64_t i = 0; i < n_steps; i++)
    if (iso_trainer_step(t, NULL)) fail_msg("%s", iso_error_message(ctx));
  o.measured = iso_memory_get_info(ctx);
  assert_int_equal(iso_trainer_weights_hash(t, o.hash), ISO_OK);
  iso_trainer_free(t);
  iso_context_free(ctx);
  return o;
}

static void expect_near(const char *what, size_t planned, size_t measured, size_t of) {
  const double far = fabs((double)planned - (double)measured) / (double)of;
  if (far > 0.05) fail_msg("%s: planned %zu, measured %zu", what, planned, measured);
}

/* Within 5 % of the whole, in sum and by owner. */
static void expect_as_planned(const outcome *o) {
  const iso_memory_owners *a = &o->plan.at_peak, *b = &o->measured.at_peak;
  const size_t peak = o->measured.peak_bytes;
  expect_near("peak", o->plan.peak_bytes, peak, peak);
  expect_near("weights", a->weights, b->weights, peak);
  expect_near("gradients and activations", a->gradients + a->activations, b->gradients + b->activations, peak);
  expect_near("optimizer", a->optimizer, b->optimizer, peak);
  expect_near("data", a->data, b->data, peak);
}

static void test_images(void **state) {
  (void)state;
  static const char *const models[] = {"resnet8", "mobilenet"};
  for (int m = 0; m < 2; m++) {
    job j = {.vision = {.model = models[m], .data_folder = "synthetic", .batch_size = 64, .n_steps = N_STEPS}};
    const outcome plain = run(&j, true, N_STEPS), unplanned = run(&j, false, N_STEPS);
    expect_as_planned(&plain);
    assert_string_equal(plain.hash, unplanned.hash);
    assert_int_equal(plain.plan.n_samples, 64);
    assert_int_equal(plain.plan.height, 32);
    j.vision.checkpointing = true;
    const outcome blocks = run(&j, true, N_STEPS);
    expect_as_planned(&blocks);
    assert_string_equal(plain.hash, blocks.hash);
    assert_true(blocks.measured.peak_bytes < plain.measured.peak_bytes);
    j.leaves = 4;
    const outcome leaves = run(&j, true, N_STEPS);
    expect_as_planned(&leaves);
    j.vision.checkpointing = false;
    const outcome kept = run(&j, true, N_STEPS);
    expect_as_planned(&kept);
    assert_string_equal(leaves.hash, kept.hash);
  }
}

/* The options tell the same as jobs that are made so. */
static void test_options(void **state) {
  (void)state;
  iso_context *ctx = open_context(0, 0);
  const iso_vision_options o = {.model = "resnet8", .data_folder = "synthetic", .batch_size = 64, .n_steps = 1};
  iso_trainer *t = iso_trainer_new(ctx, &o);
  iso_memory_plan now, p;
  assert_int_equal(iso_trainer_plan_memory(t, NULL, &now), ISO_OK);
  assert_int_equal(now.limit_bytes, 0);
  const iso_memory_plan_options checkpointed = {.checkpointing = 1}, leaves = {.leaves = 4}, half = {.batch_size = 32};
  assert_int_equal(iso_trainer_plan_memory(t, &checkpointed, &p), ISO_OK);
  assert_true(p.peak_bytes < now.peak_bytes);
  assert_int_equal(iso_trainer_plan_memory(t, &leaves, &p), ISO_OK);
  assert_true(p.peak_bytes < now.peak_bytes);
  assert_int_equal(iso_trainer_plan_memory(t, &half, &p), ISO_OK);
  assert_true(p.peak_bytes < now.peak_bytes);
  assert_int_equal(p.n_samples, 32);
  assert_int_equal(iso_trainer_plan_memory(t, NULL, &p), ISO_OK);
  assert_int_equal(p.peak_bytes, now.peak_bytes); /* and nothing of them stayed */
  assert_int_equal(iso_trainer_plan_memory(t, &(iso_memory_plan_options){.leaves = 3}, &p), ISO_INVALID_ARGUMENT);
  iso_clear_error(ctx);
  assert_int_equal(iso_trainer_plan_memory(t, &(iso_memory_plan_options){.batch_size = 65}, &p), ISO_INVALID_ARGUMENT);
  iso_clear_error(ctx);
  iso_trainer_free(t);
  iso_context_free(ctx);
}

static long resident_kib(void) {
  long pages = 0, resident = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (f && fscanf(f, "%ld %ld", &pages, &resident) != 2) resident = 0;
  if (f) fclose(f);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Far beyond the limit: the plan says so, without the memory; the step is refused, and names the owners. */
static void test_too_large(void **state) {
  (void)state;
  iso_context *ctx = open_context(0, (size_t)600 << 20);
  iso_trainer *t = iso_trainer_new(
      ctx, &(iso_vision_options){.model = "resnet18", .data_folder = "synthetic", .batch_size = 512, .n_steps = 1});
  assert_non_null(t);
  iso_memory_plan p;
  const long before = resident_kib();
  assert_int_equal(iso_trainer_plan_memory(t, NULL, &p), ISO_OK);
  const long grown = resident_kib() - before;
  assert_true(p.peak_bytes > (size_t)1500 << 20);
  assert_true(p.limit_bytes == (size_t)600 << 20);
  if (grown > 100 << 10) fail_msg("planning took %ld MiB", grown >> 10);
  assert_int_equal(iso_trainer_step(t, NULL), ISO_MEMORY_LIMIT);
  assert_non_null(strstr(iso_error_message(ctx), "would exceed memory_limit, 629145600 bytes: weights 4"));
  assert_non_null(strstr(iso_error_message(ctx), "activations "));
  iso_clear_error(ctx);
  iso_trainer_free(t);
  iso_context_free(ctx);
}

/* Of texts the longest batch of all epochs is the one. */
static void test_texts(void **state) {
  (void)state;
  char path[512];
  const char *data = getenv("ISOBIT_TEST_DATA");
  snprintf(path, sizeof path, "%s/banking77/train.csv", data ? data : "../shared/data");
  if (access(path, R_OK)) {
    print_message("%s is not there\n", path);
    skip();
  }
  job j = {.text = {.model = "textclassifier", .data = path, .batch_size = 64, .n_epochs = 1, .n_steps = 141}};
  const outcome o = run(&j, true, 141);
  expect_as_planned(&o);
  assert_int_equal(o.plan.n_samples, 64);
  assert_true(o.plan.length >= 64);
  j.text.n_steps = 3;      /* what is not run does not count */
  j.text.clip_norm = 1e-3; /* gradients are scaled by copies: the peak, where batches are small beside weights */
  const outcome few = run(&j, true, 3);
  expect_as_planned(&few);
  assert_in_range(few.plan.batch, 0, 2);
  assert_true(few.plan.length < o.plan.length || few.plan.batch == o.plan.batch);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_images), cmocka_unit_test(test_options),
                                     cmocka_unit_test(test_too_large), cmocka_unit_test(test_texts)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
