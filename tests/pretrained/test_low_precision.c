/* test_low_precision.c: MiniLM in bf16 and f16: its embeddings point where f32's do, its gradients have the dtype of
 * its weights and their direction, a text's bits do not depend on its neighbours, and backward needs less memory. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>
#include <isobit/isobit.h>

static char folder[4096];
static bool has_model(void) {
  struct stat info;
  const char *given = getenv("ISOBIT_MINILM");
  snprintf(folder, sizeof folder, "%s/model.safetensors", given ? given : ".models/minilm");
  if (stat(folder, &info)) {
    print_message("[  SKIPPED ] all-MiniLM-L6-v2 is not there: scripts/fetch-minilm\n");
    return false;
  }
  *strrchr(folder, '/') = 0;
  return true;
}

static iso_context *ctx;
static iso_module *model;
static void open_model(void) {
  iso_policy policy;
  assert_int_equal(iso_policy_preset("reproducible", &policy), ISO_OK);
  assert_int_equal(iso_context_new(&(iso_context_options){.n_threads = 2, .policy = &policy}, &ctx), ISO_OK);
  model = iso_pretrained_open(ctx, folder, NULL);
  if (!model) fail_msg("%s", iso_error_message(ctx));
  iso_module_train(model, false);
}
static void close_model(void) {
  iso_module_free(model);
  iso_context_free(ctx);
}

enum { WIDTH = 384, MOST = 16, LONGEST = 64 };
/* The golden texts' ids, padded with `padding` to `length` (0: as long as the longest); returns how many there are. */
static int64_t read_texts(int64_t length, int64_t padding, iso_tensor **ids, iso_tensor **lengths) {
  char line[512];
  int64_t data[MOST][LONGEST], count[MOST], n = 0;
  iso_tokenizer *t = iso_tokenizer_open(ctx, folder, NULL);
  FILE *f = fopen("tests/pretrained/golden/texts.txt", "r");
  assert_true(f && t);
  for (; n < MOST && fgets(line, sizeof line, f); n++) {
    iso_encodings e;
    line[strcspn(line, "\n")] = 0;
    const iso_text text = {line, strlen(line)};
    assert_int_equal(
        iso_tokenizer_encode(ctx, t, 1, &text, &(iso_encode_options){.max_length = LONGEST, .truncate = true}, &e),
        ISO_OK);
    count[n] = e.begin[1];
    for (int64_t k = 0; k < LONGEST; k++) data[n][k] = k < count[n] ? e.ids[k] : padding;
    iso_encodings_free(ctx, &e);
  }
  fclose(f);
  iso_tokenizer_free(t);
  iso_tensor *all = iso_tensor_copy_from(ctx, ISO_I64, 2, ISO_DIMS(n, LONGEST), data);
  *ids = length ? iso_slice(ctx, all, 1, 0, length, 1) : all;
  *lengths = iso_tensor_copy_from(ctx, ISO_I64, 1, ISO_DIMS(n), count);
  return n;
}

static iso_tensor *embed(iso_dtype dtype, iso_tensor *ids, const iso_tensor *lengths) {
  assert_int_equal(iso_autocast_push(ctx, &(iso_autocast_options){.dtype = dtype}), ISO_OK);
  iso_tensor *y = iso_module_forward_sequence(model, ids, lengths);
  iso_autocast_pop(ctx);
  if (!y) fail_msg("%s", iso_error_message(ctx));
  return iso_cast(ctx, y, ISO_F32);
}

static double cosine(const float *a, const float *b, int64_t n) {
  double ab = 0, aa = 0, bb = 0;
  for (int64_t i = 0; i < n; i++)
    ab += (double)a[i] * (double)b[i], aa += (double)a[i] * (double)a[i], bb += (double)b[i] * (double)b[i];
  return ab / sqrt(aa * bb);
}

static void test_embeddings(void **state) {
  (void)state;
  if (!has_model()) skip();
  open_model();
  iso_tensor *ids, *lengths;
  const int64_t n = read_texts(0, 0, &ids, &lengths);
  static const iso_dtype dtypes[] = {ISO_F32, ISO_BF16, ISO_F16};
  static float values[3][MOST][WIDTH];
  iso_no_grad_push(ctx);
  for (int k = 0; k < 3; k++)
    assert_int_equal(iso_tensor_copy_to(embed(dtypes[k], ids, lengths), values[k], sizeof(float) * WIDTH * (size_t)n),
                     ISO_OK);
  for (int k = 1; k < 3; k++) {
    double far = 0;
    for (int64_t i = 0; i < n; i++) far = fmax(far, 1 - cosine(values[0][i], values[k][i], WIDTH));
    print_message("%s: cosine distance of %d texts at most %.2e\n", iso_dtype_name(dtypes[k]), (int)n, far);
    assert_true(far > 0 && far < (k == 1 ? 1e-3 : 1e-5));
  }
  /* The same text alone, and with other ids in the padding. */
  for (int k = 1; k < 3; k++) {
    iso_tensor *other_ids, *other_lengths;
    static float other[MOST][WIDTH], alone[WIDTH];
    read_texts(0, 1000, &other_ids, &other_lengths);
    assert_int_equal(
        iso_tensor_copy_to(embed(dtypes[k], other_ids, other_lengths), other, sizeof(float) * WIDTH * (size_t)n),
        ISO_OK);
    assert_memory_equal(other, values[k], sizeof(float) * WIDTH * (size_t)n);
    iso_tensor *one = iso_slice(ctx, ids, 0, 2, 3, 1), *its_length = iso_slice(ctx, lengths, 0, 2, 3, 1);
    assert_int_equal(iso_tensor_copy_to(embed(dtypes[k], one, its_length), alone, sizeof alone), ISO_OK);
    assert_memory_equal(alone, values[k][2], sizeof alone);
  }
  iso_no_grad_pop(ctx);
  close_model();
}

/* Gradients of Σ (i mod 7)·y_i², and the bytes that were held at most. */
static size_t gradients(iso_dtype dtype, const char *const *names, int n_names, float **out) {
  open_model();
  iso_tensor *few, *their_lengths;
  read_texts(0, 0, &few, &their_lengths);
  enum { COPIES = 6 };
  const iso_tensor *many[2][COPIES];
  for (int i = 0; i < COPIES; i++) many[0][i] = few, many[1][i] = their_lengths;
  iso_tensor *ids = iso_cat(ctx, COPIES, many[0], 0), *lengths = iso_cat(ctx, COPIES, many[1], 0);
  const size_t before = iso_memory_get_info(ctx).live_bytes;
  iso_scope_push(ctx);
  float factors[WIDTH];
  for (int i = 0; i < WIDTH; i++) factors[i] = (float)(i % 7);
  iso_tensor *w = iso_tensor_copy_from(ctx, ISO_F32, 1, ISO_DIMS(WIDTH), factors), *y = embed(dtype, ids, lengths);
  iso_tensor *loss = iso_sum_all(ctx, iso_mul(ctx, iso_square(ctx, y), w));
  const size_t held = iso_memory_get_info(ctx).live_bytes - before;
  assert_int_equal(iso_backward(loss), ISO_OK);
  for (int i = 0; i < n_names; i++) {
    const iso_tensor *grad = iso_grad(iso_module_find_tensor(model, names[i]));
    assert_true(grad && iso_tensor_dtype(grad) == ISO_F32);
    const size_t n_bytes = (size_t)iso_tensor_numel(grad) * sizeof(float);
    assert_non_null(out[i] = malloc(n_bytes));
    assert_int_equal(iso_tensor_copy_to(grad, out[i], n_bytes), ISO_OK);
  }
  iso_scope_pop(ctx);
  close_model();
  return held;
}

static void test_gradients(void **state) {
  (void)state;
  if (!has_model()) skip();
  enum { N = 3 };
  static const char *const names[N] = {"encoder.layer.0.attention.self.query.weight",
                                       "encoder.layer.3.output.dense.weight", "embeddings.word_embeddings.weight"};
  static const int64_t sizes[N] = {384 * 384, 384 * 1536, 30522 * 384};
  float *grads[3][N];
  size_t held[3];
  static const iso_dtype dtypes[] = {ISO_F32, ISO_BF16, ISO_F16};
  for (int k = 0; k < 3; k++) held[k] = gradients(dtypes[k], names, N, grads[k]);
  for (int k = 1; k < 3; k++) {
    print_message("%s: backward needs %.1f MiB, in f32 %.1f (%.3f)\n", iso_dtype_name(dtypes[k]),
                  (double)held[k] / 0x1p20, (double)held[0] / 0x1p20, (double)held[k] / (double)held[0]);
    assert_true((double)held[k] < 0.75 * (double)held[0]);
    for (int i = 0; i < N; i++) {
      const double c = cosine(grads[0][i], grads[k][i], sizes[i]);
      print_message("  gradient of %s: cosine %.6f\n", names[i], c);
      assert_true(c > (k == 1 ? 0.99 : 0.9995));
    }
  }
  for (int k = 0; k < 3; k++)
    for (int i = 0; i < N; i++) free(grads[k][i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_embeddings), cmocka_unit_test(test_gradients)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
