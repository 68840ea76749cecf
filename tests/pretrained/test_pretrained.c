/* test_pretrained.c: models in Hugging Face's form: MiniLM's embeddings and gradients against sentence-transformers'
 * and PyTorch's; saving and opening again; folders that are wrong. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include <isobit/isobit.h>

static char folder[64];

static iso_context *open_context(void) {
  iso_policy policy;
  iso_context *ctx;
  assert_int_equal(iso_policy_preset("reproducible", &policy), ISO_OK);
  assert_int_equal(iso_context_new(&(iso_context_options){.n_threads = 2, .policy = &policy}, &ctx), ISO_OK);
  return ctx;
}
static void expect_error(iso_context *ctx, iso_status code, const char *words) {
  if (iso_error_code(ctx) != code || !strstr(iso_error_message(ctx), words))
    fail_msg("'%s' is not %s and does not say '%s'", iso_error_message(ctx), iso_status_name(code), words);
  iso_clear_error(ctx);
}
static void expect_fine(iso_context *ctx) {
  if (iso_error_code(ctx)) fail_msg("%s", iso_error_message(ctx));
}

/* ---- MiniLM ---- */

static const char *minilm(void) {
  static char path[4096];
  struct stat info;
  const char *given = getenv("ISOBIT_MINILM");
  snprintf(path, sizeof path, "%s/model.safetensors", given ? given : ".models/minilm");
  if (stat(path, &info)) return NULL;
  *strrchr(path, '/') = 0;
  return path;
}

enum { MOST = 16 };
/* The golden texts as ids and lengths. */
static int64_t read_texts(iso_context *ctx, const char *model, iso_tensor **ids, iso_tensor **lengths) {
  static char lines[MOST][512];
  iso_text texts[MOST];
  iso_encodings e;
  int64_t n = 0, longest = 0, count[MOST];
  FILE *f = fopen("tests/pretrained/golden/texts.txt", "r");
  assert_non_null(f);
  for (; n < MOST && fgets(lines[n], sizeof lines[n], f); n++) {
    lines[n][strcspn(lines[n], "\n")] = 0;
    texts[n] = (iso_text){lines[n], strlen(lines[n])};
  }
  fclose(f);
  iso_tokenizer *t = iso_tokenizer_open(ctx, model, NULL);
  assert_int_equal(iso_tokenizer_encode(ctx, t, n, texts, NULL, &e), ISO_OK);
  for (int64_t i = 0; i < n; i++) {
    count[i] = e.begin[i + 1] - e.begin[i];
    if (count[i] > longest) longest = count[i];
  }
  int64_t *data = calloc((size_t)(n * longest), sizeof *data);
  for (int64_t i = 0; i < n; i++)
    for (int64_t k = 0; k < count[i]; k++) data[i * longest + k] = e.ids[e.begin[i] + k];
  *ids = iso_tensor_copy_from(ctx, ISO_I64, 2, ISO_DIMS(n, longest), data);
  *lengths = iso_tensor_copy_from(ctx, ISO_I64, 1, ISO_DIMS(n), count);
  free(data);
  iso_encodings_free(ctx, &e);
  iso_tokenizer_free(t);
  return n;
}

/* The largest difference of the first n elements, relative to the largest element of b. */
static double distance(const iso_tensor *a, const iso_tensor *b, size_t n, bool relative) {
  float *x = malloc((size_t)iso_tensor_numel(a) * sizeof *x), *y = malloc((size_t)iso_tensor_numel(b) * sizeof *y);
  double worst = 0, largest = 0;
  assert_int_equal(iso_tensor_copy_to(a, x, (size_t)iso_tensor_numel(a) * sizeof *x), ISO_OK);
  assert_int_equal(iso_tensor_copy_to(b, y, (size_t)iso_tensor_numel(b) * sizeof *y), ISO_OK);
  for (size_t i = 0; i < n; i++)
    worst = fmax(worst, fabs((double)x[i] - (double)y[i])), largest = fmax(largest, fabs((double)y[i]));
  free(x), free(y);
  return relative ? worst / largest : worst;
}

static void test_embeddings_are_sentence_transformers(void **state) {
  (void)state;
  const char *path = minilm();
  if (!path) {
    print_message("[  SKIPPED ] all-MiniLM-L6-v2 is not there: scripts/fetch-minilm\n");
    skip();
  }
  iso_context *ctx = open_context();
  iso_tensor *ids, *lengths;
  iso_module *m = iso_pretrained_open(ctx, path, NULL);
  expect_fine(ctx);
  iso_module_train(m, false);
  const int64_t n = read_texts(ctx, path, &ids, &lengths);
  iso_tensor *golden = iso_npy_read(ctx, "tests/pretrained/golden/minilm_embeddings.npy");
  iso_tensor *y = iso_module_forward_sequence(m, ids, lengths);
  expect_fine(ctx);
  assert_true(distance(y, golden, (size_t)(n * 384), false) < 2e-6);
  /* Σ (i mod 7)·y_i² */
  float weights[384];
  for (int i = 0; i < 384; i++) weights[i] = (float)(i % 7);
  iso_tensor *w = iso_tensor_copy_from(ctx, ISO_F32, 1, ISO_DIMS(384), weights);
  iso_tensor *loss = iso_sum(ctx, iso_mul(ctx, iso_square(ctx, y), w), 0, NULL, false);
  assert_int_equal(iso_backward(loss), ISO_OK);
  iso_tensor_dict *gradients = iso_npz_read(ctx, "tests/pretrained/golden/minilm_gradients.npz");
  expect_fine(ctx);
  assert_int_equal(gradients->n_tensors, 6);
  for (size_t i = 0; i < gradients->n_tensors; i++) {
    const iso_named_tensor *g = &gradients->tensors[i];
    const double d =
        distance(iso_grad(iso_module_find_tensor(m, g->name)), g->tensor, (size_t)iso_tensor_numel(g->tensor), true);
    if (d > 2e-4) fail_msg("the gradient of %s is %g away", g->name, d);
  }
  iso_tensor_dict_free(gradients);
  iso_module_free(m);
  iso_context_free(ctx);
}

/* ---- a small model on disk ---- */

static iso_module *small(iso_context *ctx, int64_t classes, bool pooler) {
  return iso_bert_new(ctx, &(iso_bert_config){.vocabulary = 20,
                                              .width = 8,
                                              .layers = 2,
                                              .heads = 2,
                                              .positions = 6,
                                              .classes = classes,
                                              .pooler = pooler,
                                              .activation = ISO_FEEDFORWARD_RELU,
                                              .pooling = ISO_POOLING_MAX,
                                              .normalize = classes == 0,
                                              .dropout = -1});
}

static void in_folder(const char *name, char path[256]) { snprintf(path, 256, "%s/%s", folder, name); }
static void write_text(const char *name, const char *text) {
  char path[256];
  in_folder(name, path);
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
}
static void remove_all(void) {
  static const char *const names[] = {"config.json", "model.safetensors", "modules.json", "1_Pooling/config.json",
                                      "vocab.txt"};
  char path[256];
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) in_folder(names[i], path), remove(path);
  in_folder("1_Pooling", path), rmdir(path), rmdir(folder);
}
static int make_folder(void **state) {
  (void)state;
  strcpy(folder, "/tmp/isobit-pretrained-XXXXXX");
  return mkdtemp(folder) ? 0 : -1;
}
static int drop_folder(void **state) {
  (void)state;
  remove_all();
  return 0;
}

static void run(iso_context *ctx, iso_module *m, char hash[33]) {
  const int64_t ids[] = {2, 5, 7, 3, 9, 3}, lengths[] = {3, 2};
  iso_module_train(m, false);
  iso_tensor *y = iso_module_forward_sequence(m, iso_tensor_copy_from(ctx, ISO_I64, 2, ISO_DIMS(2, 3), ids),
                                              iso_tensor_copy_from(ctx, ISO_I64, 1, ISO_DIMS(2), lengths));
  expect_fine(ctx);
  assert_int_equal(iso_tensor_hash(y, hash), ISO_OK);
}

static void test_saved_and_opened_again(void **state) {
  (void)state;
  static const char *const names[] = {"no", "yes", "with \"quotes\" and ü"};
  for (int kind = 0; kind < 3; kind++) {
    iso_context *ctx = open_context();
    char before[33], after[33];
    iso_module *m = small(ctx, kind ? 3 : 0, kind == 2);
    run(ctx, m, before);
    assert_int_equal(iso_pretrained_save(m, folder, &(iso_pretrained_save_options){.classes = kind ? names : NULL}),
                     ISO_OK);
    iso_module *again = iso_pretrained_open(ctx, folder, &(iso_pretrained_options){.classes = kind ? 3 : 0});
    expect_fine(ctx);
    run(ctx, again, after);
    assert_string_equal(before, after);
    const iso_bert_config *c = iso_bert_get_config(again);
    assert_true(c->pooler == (kind == 2) && c->activation == ISO_FEEDFORWARD_RELU && c->dropout == 0);
    iso_module_free(m), iso_module_free(again);
    iso_context_free(ctx);
    char path[256];
    in_folder("1_Pooling/config.json", path), remove(path), in_folder("modules.json", path), remove(path);
  }
}

/* ---- what is wrong ---- */

static void refused(iso_context *ctx, iso_status code, const char *words) {
  assert_null(iso_pretrained_open(ctx, folder, NULL));
  expect_error(ctx, code, words);
}

static void test_weights_that_do_not_fit(void **state) {
  (void)state;
  iso_context *ctx = open_context();
  char path[256];
  iso_module *m = small(ctx, 0, false);
  assert_int_equal(iso_pretrained_save(m, folder, NULL), ISO_OK);
  size_t n;
  const iso_named_tensor *list = iso_module_tensors(m, &n);
  iso_named_tensor *changed = calloc(n + 1, sizeof *changed);
  memcpy(changed, list, n * sizeof *changed);
  in_folder("model.safetensors", path);
  /* One is missing, one has another shape, one is whole numbers, one is a stranger. */
  changed[0].name = "embeddings.word_embeddings.other";
  for (size_t i = 0; i < n; i++) {
    if (!strcmp(list[i].name, "encoder.layer.1.output.dense.weight"))
      changed[i].tensor = iso_tensor_full(ctx, ISO_F32, 2, ISO_DIMS(8, 31), 1);
    if (!strcmp(list[i].name, "encoder.layer.0.output.dense.bias"))
      changed[i].tensor = iso_tensor_full(ctx, ISO_I64, 1, ISO_DIMS(8), 1);
  }
  assert_int_equal(iso_safetensors_write(ctx, path, changed, n, NULL, 0), ISO_OK);
  refused(ctx, ISO_CORRUPT, "4 tensors do not fit");
  refused(ctx, ISO_CORRUPT, "embeddings.word_embeddings.weight is missing");
  refused(ctx, ISO_CORRUPT, "encoder.layer.1.output.dense.weight is (8,31), the configuration says (8,32)");
  /* NaN */
  memcpy(changed, list, n * sizeof *changed);
  changed[3].tensor =
      iso_tensor_full(ctx, ISO_F32, iso_tensor_n_dims(list[3].tensor), iso_tensor_shape(list[3].tensor), NAN);
  assert_int_equal(iso_safetensors_write(ctx, path, changed, n, NULL, 0), ISO_OK);
  refused(ctx, ISO_CORRUPT, "has NaN or infinite weights");
  iso_module *odd = iso_pretrained_open(ctx, folder, &(iso_pretrained_options){.allow_nonfinite = true});
  expect_fine(ctx);
  iso_module_free(odd);
  /* Halves, under a prefix, with a head that is not used. */
  char names[64][96];
  assert_true(n < 60);
  for (size_t i = 0; i < n; i++) {
    snprintf(names[i], sizeof names[i], "bert.%s", list[i].name);
    changed[i] =
        (iso_named_tensor){.name = names[i], .tensor = iso_cast(ctx, list[i].tensor, i % 2 ? ISO_F16 : ISO_BF16)};
  }
  changed[n] =
      (iso_named_tensor){.name = "cls.predictions.bias", .tensor = iso_tensor_full(ctx, ISO_F32, 1, ISO_DIMS(20), 1)};
  assert_int_equal(iso_safetensors_write(ctx, path, changed, n + 1, NULL, 0), ISO_OK);
  odd = iso_pretrained_open(ctx, folder, NULL);
  expect_fine(ctx);
  iso_module_free(odd);
  /* Cut. */
  assert_int_equal(truncate(path, 1000), 0);
  refused(ctx, ISO_CORRUPT, "model.safetensors");
  free(changed);
  iso_module_free(m);
  iso_context_free(ctx);
}

static void test_configurations_that_are_refused(void **state) {
  (void)state;
  iso_context *ctx = open_context();
  iso_module *m = small(ctx, 0, false);
  assert_int_equal(iso_pretrained_save(m, folder, NULL), ISO_OK);
  iso_module_free(m);
#define BERT                                                                                                           \
  "\"model_type\":\"bert\",\"vocab_size\":20,\"hidden_size\":8,\"num_hidden_layers\":2,\"num_attention_heads\":2,"     \
  "\"intermediate_size\":32,\"max_position_embeddings\":6"
  static const struct {
    const char *text, *words;
    iso_status code;
  } cases[] = {{"{\"model_type\":\"gpt2\"}", "gpt2", ISO_UNSUPPORTED},
               {"{}", "model_type", ISO_CORRUPT},
               {"{" BERT ",\"hidden_act\":\"swish\"}", "swish", ISO_UNSUPPORTED},
               {"{" BERT ",\"position_embedding_type\":\"relative_key\"}", "relative_key", ISO_UNSUPPORTED},
               {"{" BERT ",\"is_decoder\":true}", "is_decoder", ISO_UNSUPPORTED},
               {"{" BERT ",\"layer_norm_eps\":0}", "layer_norm_eps", ISO_CORRUPT},
               {"{" BERT ",\"hidden_dropout_prob\":1.5}", "hidden_dropout_prob", ISO_CORRUPT},
               {"{" BERT ",\"type_vocab_size\":0}", "type_vocab_size", ISO_CORRUPT},
               {"{\"model_type\":\"bert\",\"vocab_size\":99999999999}", "vocab_size", ISO_CORRUPT},
               {"{\"model_type\":\"bert\",\"vocab_size\":\"many\"}", "vocab_size", ISO_CORRUPT},
               {"{" BERT ",\"model_type\":\"bert\"}", "config.json", ISO_CORRUPT},
               {"not JSON", "config.json", ISO_CORRUPT},
               {"", "config.json", ISO_CORRUPT}};
#undef BERT
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    write_text("config.json", cases[i].text);
    refused(ctx, cases[i].code, cases[i].words);
  }
  assert_null(iso_pretrained_open(ctx, "/nowhere/at/all", NULL));
  expect_error(ctx, ISO_NOT_FOUND, "/nowhere/at/all");
  assert_null(iso_pretrained_open(ctx, "", NULL));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "empty");
  iso_module *other = iso_model_new(ctx, "mlp", NULL);
  assert_int_equal(iso_pretrained_save(other, folder, NULL), ISO_UNSUPPORTED);
  expect_error(ctx, ISO_UNSUPPORTED, "Sequential");
  iso_module_free(other);
  iso_context_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_embeddings_are_sentence_transformers),
      cmocka_unit_test_setup_teardown(test_saved_and_opened_again, make_folder, drop_folder),
      cmocka_unit_test_setup_teardown(test_weights_that_do_not_fit, make_folder, drop_folder),
      cmocka_unit_test_setup_teardown(test_configurations_that_are_refused, make_folder, drop_folder)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
