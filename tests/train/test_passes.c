/* test_passes.c: 8 leaves as 8 passes of one, 4 of two, 2 of four or one of eight: the same bits, for any number of
 * threads, with and without checkpointing; errors in a pass are the step's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <isobit/isobit.h>

enum { N_STEPS = 3, N_LEAVES = 8 };
static char data_file[] = "/tmp/isobit-passes-XXXXXX.csv";

static int write_texts(void **state) {
  (void)state;
  const int fd = mkstemps(data_file, 4);
  FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
  if (!f) return -1;
  fputs("text,label\n", f);
  unsigned seed = 1;
  for (int i = 0; i < 200; i++) {
    seed = seed * 1664525u + 1013904223u;
    fprintf(f, "word%d", i % 3);
    for (unsigned k = 0; k < (seed >> 8 & 15); k++) fprintf(f, " w%u", (seed >> (k & 7) & 31));
    fprintf(f, ",class%d\n", i % 3);
  }
  return fclose(f);
}
static int remove_texts(void **state) {
  (void)state;
  return unlink(data_file);
}

typedef struct setup {
  const char *model; /* NULL: texts */
  int pass_leaves, threads;
  bool checkpointing;
  int64_t batch_size;
} setup;

static iso_trainer *open_trainer(iso_context *ctx, const setup *s) {
  const iso_vision_options vision = {.model = s->model,
                                     .data_folder = "synthetic",
                                     .batch_size = s->batch_size,
                                     .pass_leaves = s->pass_leaves,
                                     .checkpointing = s->checkpointing,
                                     .n_steps = N_STEPS};
  const iso_text_options text = {
      .data = data_file, .batch_size = s->batch_size, .pass_leaves = s->pass_leaves, .n_steps = N_STEPS};
  return s->model ? iso_trainer_new(ctx, &vision) : iso_trainer_new_text(ctx, &text);
}

static iso_context *open_context(int n_threads, size_t limit) {
  iso_policy policy;
  iso_context *ctx;
  assert_int_equal(iso_policy_preset("default", &policy), ISO_OK);
  policy.leaves = N_LEAVES;
  policy.memory_limit = limit;
  assert_int_equal(iso_context_new(&(iso_context_options){.n_threads = n_threads, .policy = &policy}, &ctx), ISO_OK);
  return ctx;
}

typedef struct outcome {
  char hash[33];
  double loss;
} outcome;

static outcome run(const setup *s) {
  outcome o;
  iso_context *ctx = open_context(s->threads ? s->threads : 1, 0);
  iso_trainer *t = open_trainer(ctx, s);
  if (!t) fail_msg("%s", iso_error_message(ctx));
  for (int i = 0; i < N_STEPS; i++) {
    iso_step_info info;
    if (iso_trainer_step(t, &info)) fail_msg("%s", iso_error_message(ctx));
    o.loss = info.loss;
  }
  assert_int_equal(iso_trainer_weights_hash(t, o.hash), ISO_OK);
  iso_trainer_free(t);
  iso_context_free(ctx);
  return o;
}

static void compare(const setup *s) {
  const outcome one = run(s);
  for (int n = 2; n <= 16; n *= 2) { /* 16: more than there are */
    setup passes = *s;
    passes.pass_leaves = n, passes.threads = n == 4 ? 3 : 2;
    const outcome other = run(&passes);
    assert_string_equal(one.hash, other.hash);
    assert_true(one.loss == other.loss);
  }
}

static void test_images(void **state) {
  (void)state;
  compare(&(setup){.model = "resnet8", .batch_size = 37});
  compare(&(setup){.model = "cnn", .batch_size = 5}); /* three leaves are empty */
}

static void test_checkpointed(void **state) {
  (void)state;
  const outcome kept = run(&(setup){.model = "resnet8", .batch_size = 32}),
                both = run(&(setup){
                    .model = "resnet8", .batch_size = 32, .pass_leaves = 4, .threads = 2, .checkpointing = true});
  assert_string_equal(kept.hash, both.hash);
}

static void test_texts(void **state) {
  (void)state;
  compare(&(setup){.batch_size = 24});
}

/* Without the memory for several leaves: the step's error, with the owners; the trainer lives. */
static void test_without_memory(void **state) {
  (void)state;
  iso_context *ctx = open_context(2, (size_t)60 << 20);
  iso_trainer *t = open_trainer(ctx, &(setup){.model = "resnet8", .batch_size = 512, .pass_leaves = 8});
  if (!t) fail_msg("%s", iso_error_message(ctx));
  assert_int_equal(iso_trainer_step(t, NULL), ISO_MEMORY_LIMIT);
  assert_non_null(strstr(iso_error_message(ctx), "activations "));
  iso_clear_error(ctx);
  assert_int_equal(iso_tape_length(ctx), 0);
  iso_trainer_free(t);
  iso_context_free(ctx);
}

static void test_refused(void **state) {
  (void)state;
  iso_context *ctx = open_context(1, 0);
  assert_null(open_trainer(ctx, &(setup){.model = "cnn", .batch_size = 8, .pass_leaves = 3}));
  assert_int_equal(iso_error_code(ctx), ISO_INVALID_ARGUMENT);
  assert_non_null(strstr(iso_error_message(ctx), "pass_leaves is 3"));
  iso_context_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_images), cmocka_unit_test(test_checkpointed),
                                     cmocka_unit_test(test_texts), cmocka_unit_test(test_without_memory),
                                     cmocka_unit_test(test_refused)};
  return cmocka_run_group_tests(tests, write_texts, remove_texts);
}
