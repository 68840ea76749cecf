/* test_text.c: a text job's bits depend on nothing but model, data, options, seed and step count. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <isobit/isobit.h>

enum { N_STEPS = 6, N_ROWS = 120 };
static char folder[] = "/tmp/isobit-text-XXXXXX", train_file[64], test_file[64];

/* Three classes with words of their own among words of all, of many lengths. */
static void write_rows(const char *path, int n, unsigned seed) {
  static const char *const own[3][3] = {
      {"card", "arrive", "Karte"}, {"rate", "exchange", "café"}, {"pin", "blocked", "naïve"}};
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fputs("text,label\n", f);
  for (int i = 0; i < n; i++) {
    seed = seed * 1664525u + 1013904223u;
    const int class = i % 3;
    fprintf(f, "%s %s", own[class][seed >> 20 & 1 ? 0 : 1], own[class][2]);
    for (unsigned k = 0; k < (seed >> 8 & 15); k++) fprintf(f, " w%u", (seed >> (k & 7) & 31));
    if (i % 9 == 0) fprintf(f, " once%d", i);
    fprintf(f, ",class%d\n", class);
  }
  assert_int_equal(fclose(f), 0);
}

static int make_files(void **state) {
  (void)state;
  if (!mkdtemp(folder)) return -1;
  snprintf(train_file, sizeof train_file, "%s/train.csv", folder);
  snprintf(test_file, sizeof test_file, "%s/test.csv", folder);
  write_rows(train_file, N_ROWS, 1), write_rows(test_file, 30, 2);
  return 0;
}
static int remove_files(void **state) {
  (void)state;
  char path[128];
  snprintf(path, sizeof path, "%s/checkpoint.safetensors", folder);
  unlink(path), unlink(train_file), unlink(test_file);
  return rmdir(folder);
}

typedef struct setup {
  int threads, workers, leaves;
  iso_text_options options;
} setup;

static iso_context *open_context(const setup *s) {
  iso_policy policy;
  iso_context *ctx;
  assert_int_equal(iso_policy_preset("default", &policy), ISO_OK);
  policy.seed = 3;
  if (s->leaves) policy.leaves = s->leaves;
  assert_int_equal(iso_context_new(&(iso_context_options){.n_threads = s->threads, .policy = &policy}, &ctx), ISO_OK);
  return ctx;
}

static iso_text_options filled(const setup *s) {
  iso_text_options o = s->options;
  if (!o.data) o.data = train_file, o.test = test_file;
  o.n_workers = s->workers;
  if (!o.n_steps) o.n_steps = N_STEPS;
  return o;
}

static iso_trainer *open_trainer(iso_context *ctx, const setup *s) {
  const iso_text_options o = filled(s);
  iso_trainer *t = iso_trainer_new_text(ctx, &o);
  if (!t) fail_msg("%s", iso_error_message(ctx));
  return t;
}

static void steps(iso_context *ctx, iso_trainer *t, uint64_t until) {
  while (iso_trainer_next_step(t) < until)
    if (iso_trainer_step(t, NULL)) fail_msg("%s", iso_error_message(ctx));
}

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

static const char *const models[] = {"textclassifier", "textcnn", "lstm"};
enum { N_MODELS = sizeof models / sizeof *models };

static void test_threads_and_workers(void **state) {
  (void)state;
  for (int m = 0; m < N_MODELS; m++) {
    const iso_text_options o = {.model = models[m], .width = 24, .label_smoothing = 0.1};
    const setup base = {.threads = 1, .options = o};
    assert_same_as(&base, &(setup){.threads = 2, .options = o}, models[m]);
    assert_same_as(&base, &(setup){.threads = 3, .workers = 2, .options = o}, models[m]);
  }
}

static void test_leaves(void **state) {
  (void)state;
  char one[33], four[33];
  const iso_text_options o = {.width = 24};
  assert_same_as(&(setup){.threads = 1, .leaves = 4, .options = o},
                 &(setup){.threads = 3, .leaves = 4, .workers = 1, .options = o}, "4 leaves");
  run(&(setup){.threads = 1, .options = o}, one), run(&(setup){.threads = 1, .leaves = 4, .options = o}, four);
  assert_string_not_equal(one, four); /* another tree: other bits, as documented */
}

static void test_resume_at_every_step(void **state) {
  (void)state;
  char expected[33], got[33];
  for (int m = 0; m < N_MODELS; m++) {
    const setup s = {.threads = 2, .options = {.model = models[m], .width = 16, .clip_norm = 1, .warmup_share = 0.3}};
    const setup other = {.threads = 1, .workers = 1, .options = s.options};
    run(&s, expected);
    for (uint64_t at = 0; at <= N_STEPS; at++) {
      iso_context *ctx = open_context(&s);
      iso_trainer *t = open_trainer(ctx, &s);
      steps(ctx, t, at);
      if (iso_trainer_save(t, folder)) fail_msg("%s", iso_error_message(ctx));
      iso_trainer_free(t);
      iso_context_free(ctx);
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
}

static void test_resume_refuses_another_run(void **state) {
  (void)state;
  static const struct other {
    iso_text_options options;
    const char *says;
  } others[] = {{{.lr = 0.5}, "lr"},
                {{.min_count = 1}, "tokenizer_hash"},
                {{.label_smoothing = 0.1}, "label_smoothing"},
                {{.max_length = 9, .truncate = true}, "max_length"},
                {{.bucket_batches = 1}, "bucket_batches"},
                {{.decay_all = true}, "decay_all"}};
  iso_context *ctx = open_context(&(setup){.threads = 1});
  iso_trainer *t = open_trainer(ctx, &(setup){0});
  assert_int_equal(iso_trainer_save(t, folder), ISO_OK);
  iso_trainer_free(t);
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    t = open_trainer(ctx, &(setup){.options = others[i].options});
    assert_int_equal(iso_trainer_resume(t, folder), ISO_INVALID_ARGUMENT);
    if (!strstr(iso_error_message(ctx), others[i].says))
      fail_msg("'%s' does not name %s", iso_error_message(ctx), others[i].says);
    iso_clear_error(ctx);
    iso_trainer_free(t);
  }
  t = iso_trainer_new(ctx, &(iso_vision_options){.model = "mlp", .data_folder = "synthetic"});
  assert_non_null(t);
  assert_int_not_equal(iso_trainer_resume(t, folder), ISO_OK); /* another task altogether */
  iso_trainer_free(t);
  iso_context_free(ctx);
}

/* It learns, and evaluation sees every test row once, in any order of batches. */
static void test_learns(void **state) {
  (void)state;
  iso_evaluation all, first;
  iso_context *ctx = open_context(&(setup){.threads = 2});
  iso_trainer *t = open_trainer(ctx, &(setup){.options = {.n_steps = 60, .lr = 0.05}});
  steps(ctx, t, 60);
  assert_int_equal(iso_trainer_evaluate(t, 0, &all), ISO_OK);
  assert_int_equal(all.n_samples, 30);
  assert_true(all.accuracy > 0.95);
  assert_int_equal(iso_trainer_evaluate(t, 7, &first), ISO_OK);
  assert_int_equal(first.n_samples, 7);
  assert_int_equal(iso_trainer_data_info(t, ISO_SPLIT_TEST).n_classes, 3);
  iso_trainer_free(t);
  iso_context_free(ctx);
}

/* Without a test file a share of each class is kept from training. */
static void test_held_out(void **state) {
  (void)state;
  iso_context *ctx = open_context(&(setup){.threads = 1});
  iso_trainer *t = open_trainer(ctx, &(setup){.options = {.data = train_file, .held_out = 0.25}});
  assert_int_equal(iso_trainer_data_info(t, ISO_SPLIT_TRAIN).n_samples, 90);
  assert_int_equal(iso_trainer_data_info(t, ISO_SPLIT_TEST).n_samples, 30);
  iso_trainer_free(t);
  iso_context_free(ctx);
}

static void test_out_of_memory_everywhere(void **state) {
  (void)state;
  uint64_t n_failed = 0;
  const bool slow = getenv("ISOBIT_TEST_SANITIZED") != NULL;
  for (uint64_t at = 1;; at += at < (slow ? 20 : 200) ? 1 : 1 + at / (slow ? 8 : 50)) {
    iso_context *ctx = open_context(&(setup){.threads = 1});
    const size_t live = iso_memory_get_info(ctx).live_bytes;
    const iso_text_options o = filled(&(setup){.options = {.width = 8, .n_steps = 2}});
    iso_memory_fail_at(ctx, at);
    iso_trainer *t = iso_trainer_new_text(ctx, &o);
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
  assert_true(n_failed > 30);
}

static void test_bad_options(void **state) {
  (void)state;
  static const struct bad {
    iso_text_options options;
    const char *says;
  } bads[] = {{{.model = "gpt"}, "gpt"},
              {{.batch_size = -3}, "-3"},
              {{.lr = -1}, "-1"},
              {{.optimizer = "lion"}, "lion"},
              {{.schedule = "wave"}, "wave"},
              {{.label_smoothing = 1.5}, "1.5"},
              {{.dropout = 1}, "dropout"},
              {{.warmup_share = 2}, "warmup_share"},
              {{.held_out = 1}, "held_out"},
              {{.width = -1}, "width"},
              {{.vocabulary = "/nowhere/vocab.txt"}, "/nowhere/vocab.txt"},
              {{.data = "/nowhere/rows.csv"}, "/nowhere/rows.csv"},
              {{.max_length = 4}, "row"}, /* longer texts are told with their row, not cut */
              {{.label_column = "topic"}, "topic"},
              {{.n_epochs = UINT64_MAX}, "18446744073709551615"}};
  for (size_t i = 0; i < sizeof bads / sizeof bads[0]; i++) {
    iso_context *ctx = open_context(&(setup){.threads = 1});
    iso_text_options o = bads[i].options;
    if (!o.data) o.data = train_file, o.test = test_file;
    assert_null(iso_trainer_new_text(ctx, &o));
    if (!strstr(iso_error_message(ctx), bads[i].says))
      fail_msg("'%s' does not name %s", iso_error_message(ctx), bads[i].says);
    iso_context_free(ctx);
  }
  iso_context *ctx = open_context(&(setup){.threads = 1});
  assert_null(iso_trainer_new_text(ctx, NULL)); /* no data */
  assert_int_equal(iso_error_code(ctx), ISO_INVALID_ARGUMENT);
  iso_context_free(ctx);
}

/* An unknown label of the test file is told before training, with its row. */
static void test_unknown_label(void **state) {
  (void)state;
  char path[96];
  snprintf(path, sizeof path, "%s/other.csv", folder);
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fputs("text,label\ncard,class0\nrate,class9\n", f);
  fclose(f);
  iso_context *ctx = open_context(&(setup){.threads = 1});
  assert_null(iso_trainer_new_text(ctx, &(iso_text_options){.data = train_file, .test = path}));
  assert_non_null(strstr(iso_error_message(ctx), "class9"));
  assert_non_null(strstr(iso_error_message(ctx), "row 2"));
  iso_context_free(ctx);
  unlink(path);
}

/* A checkpoint alone gives the trainer's evaluation, and a text's probabilities are the same in any company. */
static void test_predictor(void **state) {
  (void)state;
  enum { N = 7 };
  static const char *const lines[N] = {"card", "",      "rate exchange w3", "pin blocked", "w1 w2 w3 w4 w5 w6 w7 w8",
                                       "\xff", "arrive"};
  for (int m = 0; m < N_MODELS; m++) {
    iso_evaluation trained, predicted;
    iso_context *ctx = open_context(&(setup){.threads = 2});
    iso_trainer *t = open_trainer(ctx, &(setup){.options = {.model = models[m]}});
    steps(ctx, t, N_STEPS);
    assert_int_equal(iso_trainer_save(t, folder), ISO_OK);
    assert_int_equal(iso_trainer_evaluate(t, 0, &trained), ISO_OK);
    iso_trainer_free(t);
    iso_text_predictor *p = iso_text_predictor_open(ctx, folder, &(iso_text_predictor_options){.batch_size = 3});
    if (!p) fail_msg("%s", iso_error_message(ctx));
    assert_string_equal(iso_text_predictor_model(p), models[m]);
    assert_int_equal(iso_text_predictor_width(p), 3);
    assert_string_equal(iso_text_predictor_class_name(p, 2), "class2");
    assert_null(iso_text_predictor_class_name(p, 3));
    const char *const names[] = {"class0", "class1", "class2"};
    iso_text_dataset *set =
        iso_text_dataset_open(ctx, test_file, &(iso_text_file_options){.n_classes = 3, .classes = names});
    assert_int_equal(iso_text_predictor_evaluate(p, set, 0, &predicted), ISO_OK);
    assert_true(trained.loss == predicted.loss && trained.n_correct == predicted.n_correct);
    iso_text texts[N];
    float all[N][3], alone[3];
    for (int i = 0; i < N; i++) texts[i] = (iso_text){lines[i], strlen(lines[i])};
    assert_int_equal(iso_text_predictor_run(p, N, texts, all[0]), ISO_OK);
    for (int i = 0; i < N; i++) {
      assert_int_equal(iso_text_predictor_run(p, 1, &texts[i], alone), ISO_OK);
      assert_memory_equal(alone, all[i], sizeof alone);
    }
    iso_text_dataset_free(set);
    iso_text_predictor_free(p);
    p = iso_text_predictor_open(ctx, folder, &(iso_text_predictor_options){.embeds = true});
    assert_int_equal(p != NULL, m == 0); /* textcnn has no embeddings */
    iso_text_predictor_free(p);
    iso_context_free(ctx);
  }
}

/* A checkpoint whose weights are no numbers, or that is another job's. */
static void test_predictor_refuses(void **state) {
  (void)state;
  iso_context *ctx = open_context(&(setup){.threads = 1});
  iso_trainer *t = open_trainer(ctx, &(setup){0});
  size_t n;
  const iso_named_tensor *tensors = iso_module_tensors(iso_trainer_model(t), &n);
  ((float *)iso_tensor_data(tensors[n - 1].tensor))[1] = (float)(0.0 / 0.0);
  assert_int_equal(iso_trainer_save(t, folder), ISO_OK);
  assert_null(iso_text_predictor_open(ctx, folder, NULL));
  assert_non_null(strstr(iso_error_message(ctx), tensors[n - 1].name));
  iso_clear_error(ctx);
  iso_trainer_free(t);
  t = iso_trainer_new(ctx, &(iso_vision_options){.model = "mlp", .data_folder = "synthetic"});
  assert_int_equal(iso_trainer_save(t, folder), ISO_OK);
  assert_null(iso_text_predictor_open(ctx, folder, NULL));
  assert_non_null(strstr(iso_error_message(ctx), "no checkpoint of a text job"));
  iso_clear_error(ctx);
  assert_null(iso_text_predictor_open(ctx, "/nowhere", NULL));
  iso_trainer_free(t);
  iso_context_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_threads_and_workers),
                                     cmocka_unit_test(test_leaves),
                                     cmocka_unit_test(test_resume_at_every_step),
                                     cmocka_unit_test(test_resume_refuses_another_run),
                                     cmocka_unit_test(test_learns),
                                     cmocka_unit_test(test_held_out),
                                     cmocka_unit_test(test_out_of_memory_everywhere),
                                     cmocka_unit_test(test_bad_options),
                                     cmocka_unit_test(test_unknown_label),
                                     cmocka_unit_test(test_predictor),
                                     cmocka_unit_test(test_predictor_refuses)};
  return cmocka_run_group_tests_name("train_text", tests, make_files, remove_files);
}
