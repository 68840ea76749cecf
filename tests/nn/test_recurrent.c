/* test_recurrent.c: LSTM and GRU on real nets (Silero VAD's LSTM, g2p_en's GRU, against their golden outputs), and what
 * is promised of them: the same bits on any threads and instruction set, in any batch, whatever padding holds. */
#include <isobit/isobit.h>
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* isa NULL: the best there is. */
static iso_context *open_context(int n_threads, const char *isa) {
  iso_context *ctx;
  iso_policy policy;
  assert_int_equal(iso_policy_preset("reproducible", &policy), ISO_OK);
  assert_int_equal(iso_context_new(&(iso_context_options){.n_threads = n_threads, .isa = isa, .policy = &policy}, &ctx),
                   ISO_OK);
  iso_scope_push(ctx);
  return ctx;
}
static void close_context(iso_context *ctx) {
  if (iso_error_code(ctx)) fail_msg("%s", iso_error_message(ctx));
  iso_scope_pop(ctx);
  iso_context_free(ctx);
}
static void expect_error(iso_context *ctx, iso_status code, const char *words) {
  assert_int_equal(iso_error_code(ctx), code);
  if (!strstr(iso_error_message(ctx), words)) fail_msg("'%s' does not say '%s'", iso_error_message(ctx), words);
  iso_clear_error(ctx);
}
static bool same_bits(const iso_tensor *a, const iso_tensor *b) {
  char x[33], y[33];
  assert_int_equal(iso_tensor_hash(a, x), ISO_OK);
  assert_int_equal(iso_tensor_hash(b, y), ISO_OK);
  return strcmp(x, y) == 0;
}

/* Where the file is; NULL (and the test is skipped by name) without it. */
static const char *data_file(const char *name) {
  static char path[4096];
  const char *folder = getenv("ISOBIT_TEST_DATA");
  snprintf(path, sizeof path, "%s/%s", folder ? folder : "../shared/data", name);
  FILE *f = fopen(path, "rb");
  if (!f) return print_message("skipped: %s is not there\n", path), NULL;
  fclose(f);
  return path;
}

/* ---- Silero VAD: 16 kHz in chunks of 512 samples, each with the 64 before it → probability of speech ---- */

enum { CHUNK = 512, BEFORE = 64, TAIL = 64, WINDOW = BEFORE + CHUNK };

typedef struct vad {
  iso_context *ctx;
  iso_tensor_dict *weights;
  iso_dtype dtype;
} vad;

static iso_tensor *weight(const vad *v, const char *layer, const char *kind) {
  char name[64];
  snprintf(name, sizeof name, "%s.%s", layer, kind);
  iso_tensor *t = iso_tensor_dict_find(v->weights, name);
  if (!t) fail_msg("there is no %s", name);
  return iso_cast(v->ctx, t, v->dtype);
}
static iso_recurrent_weights lstm_weights(const vad *v) {
  return (iso_recurrent_weights){weight(v, "lstm_cell", "weight_ih"), weight(v, "lstm_cell", "weight_hh"),
                                 weight(v, "lstm_cell", "bias_ih"), weight(v, "lstm_cell", "bias_hh")};
}

/* Samples of a 16-bit mono RIFF file, from 44 bytes of header on, as (chunks,1,576). */
static iso_tensor *read_chunks(iso_context *ctx, const char *path) {
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  fseek(f, 0, SEEK_END);
  const int64_t n = (ftell(f) - 44) / 2, n_chunks = n / CHUNK;
  int16_t *samples = malloc((size_t)n * 2);
  float *x = calloc((size_t)(n_chunks * WINDOW), sizeof *x);
  fseek(f, 44, SEEK_SET);
  assert_int_equal(fread(samples, 2, (size_t)n, f), n);
  fclose(f);
  for (int64_t c = 0; c < n_chunks; c++)
    for (int64_t i = 0; i < WINDOW; i++) {
      const int64_t at = c * CHUNK + i - BEFORE;
      x[c * WINDOW + i] = at < 0 ? 0 : (float)samples[at] / 32768;
    }
  iso_tensor *t = iso_tensor_copy_from(ctx, ISO_F32, 3, ISO_DIMS(n_chunks, 1, WINDOW), x);
  free(samples), free(x);
  return t;
}

/* (chunks,1,576) → (chunks,128): magnitudes of 4 frames, four convolutions of which two halve the time. */
static iso_tensor *encode(const vad *v, const iso_tensor *chunks) {
  static const int64_t strides[] = {1, 2, 2, 1};
  iso_context *ctx = v->ctx;
  iso_tensor *x = iso_pad(ctx, chunks, 2, ISO_DIMS(0, TAIL), ISO_PAD_REFLECT, 0);
  x = iso_conv1d(ctx, x, weight(v, "stft_conv", "weight"), NULL, &(iso_conv1d_options){.stride = 128});
  iso_tensor *re = iso_slice(ctx, x, 1, 0, 129, 1), *im = iso_slice(ctx, x, 1, 129, 258, 1);
  x = iso_sqrt(ctx, iso_add(ctx, iso_square(ctx, re), iso_square(ctx, im)));
  for (int i = 0; i < 4; i++) {
    char name[24];
    snprintf(name, sizeof name, "conv%d", i + 1);
    x = iso_conv1d(ctx, x, weight(v, name, "weight"), weight(v, name, "bias"),
                   &(iso_conv1d_options){.stride = strides[i], .pad = 1, .relu = true});
  }
  return iso_squeeze(ctx, x, 2);
}
/* h (n,128) → (n) */
static iso_tensor *decode(const vad *v, const iso_tensor *h) {
  iso_context *ctx = v->ctx;
  iso_tensor *x = iso_unsqueeze(ctx, iso_relu(ctx, h), 2);
  x = iso_conv1d(ctx, x, weight(v, "final_conv", "weight"), weight(v, "final_conv", "bias"), NULL);
  return iso_flatten(ctx, iso_sigmoid(ctx, x), 0, -1);
}

static void check_vad(iso_dtype dtype, double tolerance) {
  iso_context *ctx = open_context(2, NULL);
  vad v = {.ctx = ctx, .dtype = dtype};
  const char *path = data_file("silero_vad/test.wav");
  if (!path) skip();
  iso_no_grad_push(ctx);
  iso_tensor *chunks = iso_cast(ctx, read_chunks(ctx, path), dtype);
  v.weights = iso_safetensors_read(ctx, data_file("silero_vad/silero_vad_16k.safetensors"));
  iso_tensor *golden = iso_npy_read(ctx, data_file("silero_vad/golden_prob_f64.npy"));
  assert_non_null(v.weights);
  const int64_t n = iso_tensor_shape(chunks)[0];
  assert_int_equal(n, iso_tensor_numel(golden));
  iso_tensor *features = encode(&v, chunks); /* (n,128): one sequence */
  const iso_recurrent_weights w = lstm_weights(&v);
  iso_tensor *h = iso_lstm(ctx, iso_unsqueeze(ctx, features, 0), &w, NULL, NULL, NULL);
  iso_tensor *p = decode(&v, iso_select(ctx, h, 0, 0));
  double *got = malloc((size_t)n * sizeof *got), *want = malloc((size_t)n * sizeof *want), worst = 0;
  assert_int_equal(iso_tensor_copy_to(iso_cast(ctx, p, ISO_F64), got, (size_t)n * sizeof *got), ISO_OK);
  assert_int_equal(iso_tensor_copy_to(golden, want, (size_t)n * sizeof *want), ISO_OK);
  for (int64_t i = 0; i < n; i++) worst = fmax(worst, fabs(got[i] - want[i]));
  print_message("%s: %lld chunks, largest difference from the golden probabilities %.2g\n", iso_dtype_name(dtype),
                (long long)n, worst);
  assert_true(worst <= tolerance);
  free(got), free(want);
  /* A stream, chunk by chunk through the cell: the same bits. */
  iso_tensor *state = iso_tensor_zeros(ctx, dtype, 2, ISO_DIMS(1, 128)), *c = iso_clone(ctx, state);
  for (int64_t i = 0; i < 40; i++) {
    iso_tensor *x = encode(&v, iso_slice(ctx, chunks, 0, i, i + 1, 1));
    state = iso_lstm_cell(ctx, x, state, c, &w, &c);
    assert_true(same_bits(iso_select(ctx, decode(&v, state), 0, 0), iso_select(ctx, p, 0, (int)i)));
  }
  iso_tensor_dict_free(v.weights);
  iso_no_grad_pop(ctx);
  close_context(ctx);
}
static void test_silero_vad(void **state) {
  (void)state;
  check_vad(ISO_F32, 1e-6);
}
static void test_silero_vad_f64(void **state) {
  (void)state;
  check_vad(ISO_F64, 1e-13);
}

/* ---- g2p_en: letters → phonemes, a GRU that reads and one that writes ---- */

static const char *const phonemes[] = {
    "<pad>", "<unk>", "<s>", "</s>", "AA0", "AA1", "AA2", "AE0", "AE1", "AE2", "AH0", "AH1", "AH2", "AO0", "AO1",
    "AO2",   "AW0",   "AW1", "AW2",  "AY0", "AY1", "AY2", "B",   "CH",  "D",   "DH",  "EH0", "EH1", "EH2", "ER0",
    "ER1",   "ER2",   "EY0", "EY1",  "EY2", "F",   "G",   "HH",  "IH0", "IH1", "IH2", "IY0", "IY1", "IY2", "JH",
    "K",     "L",     "M",   "N",    "NG",  "OW0", "OW1", "OW2", "OY0", "OY1", "OY2", "P",   "R",   "S",   "SH",
    "T",     "TH",    "UH0", "UH1",  "UH2", "UW",  "UW0", "UW1", "UW2", "V",   "W",   "Y",   "Z",   "ZH"};
enum { BEGIN = 2, END = 3, END_LETTER = 2, FIRST_LETTER = 3, MOST_PHONEMES = 20, MOST_WORDS = 16, MOST_LETTERS = 24 };

static iso_recurrent_weights gru_weights(const iso_tensor_dict *d, const char *side) {
  iso_recurrent_weights w;
  const iso_tensor **const slots[] = {&w.w_ih, &w.w_hh, &w.b_ih, &w.b_hh};
  static const char *const kinds[] = {"w_ih", "w_hh", "b_ih", "b_hh"};
  for (int i = 0; i < 4; i++) {
    char name[32];
    snprintf(name, sizeof name, "%s_%s", side, kinds[i]);
    *slots[i] = iso_tensor_dict_find(d, name);
    assert_non_null(*slots[i]);
  }
  return w;
}

/* All words in one padded batch; -1 beyond each one's end. */
static void spell(iso_context *ctx, const iso_tensor_dict *d, int64_t n, const char *const *words,
                  int64_t out[][MOST_PHONEMES]) {
  int64_t ids[MOST_WORDS * MOST_LETTERS] = {0}, lengths[MOST_WORDS];
  for (int64_t i = 0; i < n; i++) {
    lengths[i] = (int64_t)strlen(words[i]) + 1;
    for (int64_t k = 0; k + 1 < lengths[i]; k++) ids[i * MOST_LETTERS + k] = FIRST_LETTER + words[i][k] - 'a';
    ids[i * MOST_LETTERS + lengths[i] - 1] = END_LETTER;
  }
  iso_tensor *letters = iso_tensor_copy_from(ctx, ISO_I64, 2, ISO_DIMS(n, MOST_LETTERS), ids), *h;
  iso_tensor *x = iso_embedding(ctx, letters, iso_tensor_dict_find(d, "enc_emb"), NULL);
  const iso_recurrent_weights reads = gru_weights(d, "enc"), writes = gru_weights(d, "dec");
  iso_tensor *n_letters = iso_tensor_copy_from(ctx, ISO_I64, 1, ISO_DIMS(n), lengths);
  assert_non_null(iso_gru(ctx, x, &reads, &(iso_recurrent_options){.lengths = n_letters}, &h));
  h = iso_select(ctx, h, 0, 0);
  iso_tensor *last = iso_tensor_full(ctx, ISO_I64, 1, ISO_DIMS(n), BEGIN);
  bool ended[MOST_WORDS] = {false};
  for (int step = 0; step < MOST_PHONEMES; step++) {
    int64_t picked[MOST_WORDS];
    x = iso_embedding(ctx, last, iso_tensor_dict_find(d, "dec_emb"), NULL);
    h = iso_gru_cell(ctx, x, h, &writes);
    iso_tensor *scores = iso_linear(ctx, h, iso_tensor_dict_find(d, "fc_w"), iso_tensor_dict_find(d, "fc_b"), false);
    last = iso_argmax(ctx, scores, 1, false);
    assert_int_equal(iso_tensor_copy_to(last, picked, (size_t)n * sizeof *picked), ISO_OK);
    for (int64_t i = 0; i < n; i++) {
      ended[i] = ended[i] || picked[i] == END;
      out[i][step] = ended[i] ? -1 : picked[i];
    }
  }
}

static void test_g2p(void **state) {
  (void)state;
  const char *path = data_file("g2p_en/golden_phonemes.json");
  if (!path) skip();
  iso_context *ctx = open_context(2, NULL);
  json_t *golden = json_load_file(path, 0, NULL), *spelling;
  iso_tensor_dict *d = iso_npz_read(ctx, data_file("g2p_en/checkpoint20.npz"));
  assert_non_null(golden);
  assert_non_null(d);
  const char *words[MOST_WORDS], *word;
  int64_t n = 0, out[MOST_WORDS][MOST_PHONEMES];
  json_object_foreach(golden, word, spelling) words[n++] = word;
  assert_in_range(n, 1, MOST_WORDS);
  spell(ctx, d, n, words, out);
  for (int64_t i = 0; i < n; i++) {
    spelling = json_object_get(golden, words[i]);
    const int length = (int)json_array_size(spelling);
    for (int k = 0; k < length; k++) {
      assert_true(out[i][k] >= 0);
      assert_string_equal(phonemes[out[i][k]], json_string_value(json_array_get(spelling, (size_t)k)));
    }
    if (length < MOST_PHONEMES) assert_int_equal(out[i][length], -1);
  }
  json_decref(golden);
  iso_tensor_dict_free(d);
  close_context(ctx);
}

/* ---- bits ---- */

enum { BATCH = 9, TIME = 7, IN = 5, HIDDEN = 37 };
static const int64_t ragged[BATCH] = {7, 1, 4, 0, 6, 7, 2, 3, 5};

/* A bidirectional net of two layers on samples [begin, end) of one batch, padded to `time` with `filler`; everything
 * that training sees as one hash, and *y. */
static iso_module *make_net(iso_context *ctx, bool is_lstm, double dropout) {
  const iso_recurrent_config c = {.in = IN, .hidden = HIDDEN, .layers = 2, .bidirectional = true, .dropout = dropout};
  iso_init_restart(ctx);
  return is_lstm ? iso_lstm_module(ctx, &c) : iso_gru_module(ctx, &c);
}
static iso_tensor *padded(iso_context *ctx, int64_t begin, int64_t end, int64_t time, float filler) {
  const iso_philox at = {.seed = 5, .stream = ISO_PHILOX_USER};
  float *x = malloc((size_t)((end - begin) * time * IN) * sizeof *x);
  for (int64_t b = begin; b < end; b++)
    for (int64_t t = 0; t < time; t++)
      for (int64_t i = 0; i < IN; i++) {
        const uint64_t place = (uint64_t)((b * TIME + t) * IN + i);
        x[((b - begin) * time + t) * IN + i] =
            t < ragged[b] ? (float)(int32_t)iso_philox_word(&at, place) * 0x1p-30f : filler;
      }
  iso_tensor *t = iso_tensor_copy_from(ctx, ISO_F32, 3, ISO_DIMS(end - begin, time, IN), x);
  free(x);
  return t;
}
static iso_tensor *lengths_of(iso_context *ctx, int64_t begin, int64_t end) {
  return iso_tensor_copy_from(ctx, ISO_I64, 1, ISO_DIMS(end - begin), ragged + begin);
}

/* Result, x's gradient and the parameters' in one vector. */
static iso_tensor *everything(iso_context *ctx, bool is_lstm, double dropout) {
  iso_module *net = make_net(ctx, is_lstm, dropout);
  iso_tensor *x = iso_requires_grad(padded(ctx, 0, BATCH, TIME, NAN), true);
  iso_tensor *y = iso_module_forward_sequence(net, x, lengths_of(ctx, 0, BATCH)), *parts[40];
  assert_int_equal(iso_backward(iso_mean_all(ctx, iso_square(ctx, y))), ISO_OK);
  size_t n;
  int n_parts = 2;
  const iso_named_tensor *list = iso_module_tensors(net, &n);
  parts[0] = iso_flatten(ctx, iso_detach(ctx, y), 0, -1), parts[1] = iso_flatten(ctx, iso_grad(x), 0, -1);
  for (size_t i = 0; i < n; i++) parts[n_parts++] = iso_flatten(ctx, iso_grad(list[i].tensor), 0, -1);
  iso_tensor *all = iso_cat(ctx, n_parts, (const iso_tensor *const *)parts, 0);
  iso_module_free(net);
  return all;
}

static void test_threads_and_isas(void **state) {
  (void)state;
  for (int is_lstm = 0; is_lstm < 2; is_lstm++) {
    char expected[33] = "", got[33];
    for (int isa = ISO_ISA_SCALAR; isa <= ISO_ISA_AVX512; isa++)
      for (int threads = 1; threads <= 4; threads *= 2) {
        iso_context *ctx = open_context(threads, NULL);
        if (isa > (int)iso_context_isa(ctx)) {
          print_message("skipped: no instruction set %s here\n", iso_isa_name((iso_isa)isa));
          close_context(ctx);
          continue;
        }
        close_context(ctx);
        ctx = open_context(threads, iso_isa_name((iso_isa)isa));
        iso_tensor *all = everything(ctx, is_lstm, 0.25);
        assert_int_equal(iso_tensor_hash(all, got), ISO_OK);
        if (!*expected) strcpy(expected, got);
        assert_string_equal(got, expected);
        close_context(ctx);
      }
  }
}

static void test_neighbours_and_padding(void **state) {
  (void)state;
  iso_context *ctx = open_context(2, NULL);
  for (int is_lstm = 0; is_lstm < 2; is_lstm++) {
    iso_module *net = make_net(ctx, is_lstm, 0);
    iso_tensor *x = iso_requires_grad(padded(ctx, 0, BATCH, TIME, 0), true);
    iso_tensor *y = iso_module_forward_sequence(net, x, lengths_of(ctx, 0, BATCH));
    assert_int_equal(iso_backward(iso_sum_all(ctx, iso_square(ctx, y))), ISO_OK);
    for (int64_t b = 0; b < BATCH; b++) { /* alone, with more padding of NaN; and cut to its length */
      iso_tensor *own = iso_requires_grad(padded(ctx, b, b + 1, TIME + 3, NAN), true);
      iso_tensor *alone = iso_module_forward_sequence(net, own, lengths_of(ctx, b, b + 1));
      assert_int_equal(iso_backward(iso_sum_all(ctx, iso_square(ctx, alone))), ISO_OK);
      iso_tensor *there = iso_slice(ctx, iso_slice(ctx, y, 0, b, b + 1, 1), 1, 0, ragged[b], 1);
      assert_true(same_bits(there, iso_slice(ctx, alone, 1, 0, ragged[b], 1)));
      assert_true(same_bits(iso_slice(ctx, iso_slice(ctx, iso_grad(x), 0, b, b + 1, 1), 1, 0, ragged[b], 1),
                            iso_slice(ctx, iso_grad(own), 1, 0, ragged[b], 1)));
      iso_tensor *rest = iso_slice(ctx, alone, 1, ragged[b], TIME + 3, 1);
      assert_true(same_bits(rest, iso_tensor_zeros(ctx, ISO_F32, 3, iso_tensor_shape(rest))));
      if (!ragged[b]) continue;
      iso_tensor *whole = iso_module_forward(net, padded(ctx, b, b + 1, ragged[b], NAN));
      assert_true(same_bits(there, whole));
    }
    iso_module_free(net);
  }
  close_context(ctx);
}

/* ---- modules ---- */

static void test_module(void **state) {
  (void)state;
  iso_context *ctx = open_context(2, NULL);
  static const char *const names[] = {
      "weight_ih_l0",         "weight_hh_l0",       "bias_ih_l0",         "bias_hh_l0",   "weight_ih_l0_reverse",
      "weight_hh_l0_reverse", "bias_ih_l0_reverse", "bias_hh_l0_reverse", "weight_ih_l1", "weight_hh_l1"};
  iso_module *net = make_net(ctx, true, 0);
  size_t n;
  const iso_named_tensor *list = iso_module_tensors(net, &n);
  assert_int_equal(n, 16);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) assert_string_equal(list[i].name, names[i]);
  assert_int_equal(iso_tensor_shape(iso_module_find_tensor(net, "weight_ih_l1"))[1], 2 * HIDDEN);
  /* Two halves, the second from the first's states, of one direction are the whole. */
  iso_module *one = iso_gru_module(ctx, &(iso_recurrent_config){.in = IN, .hidden = HIDDEN});
  iso_tensor *x = iso_slice(ctx, padded(ctx, 0, 1, TIME, 0), 0, 0, 1, 1), *h;
  iso_tensor *y = iso_module_forward(one, x);
  iso_tensor *a = iso_recurrent_forward(one, iso_slice(ctx, x, 1, 0, 3, 1), NULL, &h, NULL);
  iso_tensor *b =
      iso_recurrent_forward(one, iso_slice(ctx, x, 1, 3, TIME, 1), &(iso_recurrent_options){.h0 = h}, NULL, NULL);
  assert_true(same_bits(y, iso_cat(ctx, 2, (const iso_tensor *const[]){a, b}, 1)));
  char text[256];
  iso_module_describe(one, text, sizeof text);
  assert_non_null(strstr(text, "GRU(5 → 37, 1 layer)"));
  assert_null(
      iso_recurrent_forward(iso_module_add_child(net, "l", iso_linear_module(ctx, 2, 2, true)), x, NULL, NULL, NULL));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "Linear is no LSTM");
  assert_null(iso_lstm_module(ctx, &(iso_recurrent_config){.in = 0, .hidden = 3}));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "in 0, hidden 3");
  iso_module_free(net);
  iso_module_free(one);
  close_context(ctx);
}

static void test_refusals(void **state) {
  (void)state;
  iso_context *ctx = open_context(1, NULL);
  iso_tensor *x = iso_tensor_zeros(ctx, ISO_F32, 3, ISO_DIMS(2, 3, 4)),
             *flat = iso_tensor_zeros(ctx, ISO_F32, 2, ISO_DIMS(2, 4));
  iso_tensor *w = iso_tensor_zeros(ctx, ISO_F32, 2, ISO_DIMS(20, 4)),
             *u = iso_tensor_zeros(ctx, ISO_F32, 2, ISO_DIMS(20, 5));
  const iso_recurrent_weights good = {.w_ih = w, .w_hh = u}, swapped = {.w_ih = u, .w_hh = w};
  assert_non_null(iso_lstm(ctx, x, &good, NULL, NULL, NULL));
  assert_null(iso_lstm(ctx, flat, &good, NULL, NULL, NULL));
  expect_error(ctx, ISO_SHAPE_MISMATCH, "x is (2,4)");
  assert_null(iso_lstm(ctx, x, &swapped, NULL, NULL, NULL));
  expect_error(ctx, ISO_SHAPE_MISMATCH, "w_ih of layer 0 is (20,5) where (16,4) is needed");
  assert_null(iso_gru(ctx, x, &good, NULL, NULL));
  expect_error(ctx, ISO_SHAPE_MISMATCH, "w_ih of layer 0 is (20,4) where (15,4) is needed");
  const int64_t bad[] = {4, -1};
  iso_tensor *lengths = iso_tensor_copy_from(ctx, ISO_I64, 1, ISO_DIMS(2), bad);
  assert_null(iso_lstm(ctx, x, &good, &(iso_recurrent_options){.lengths = lengths}, NULL, NULL));
  expect_error(ctx, iso_error_code(ctx), "lengths");
  assert_null(iso_lstm(ctx, x, &good, &(iso_recurrent_options){.h0 = flat}, NULL, NULL));
  expect_error(ctx, ISO_SHAPE_MISMATCH, "h0 is (2,4) where (1,2,5) is needed");
  assert_null(iso_lstm(ctx, x, &good, &(iso_recurrent_options){.dropout = 1.5}, NULL, NULL));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "dropout 1.5");
  assert_null(iso_lstm_cell(ctx, flat, flat, NULL, &good, NULL));
  iso_clear_error(ctx);
  /* Nothing at all is no error. */
  iso_tensor *none = iso_tensor_zeros(ctx, ISO_F32, 3, ISO_DIMS(2, 0, 4)), *h;
  assert_int_equal(iso_tensor_numel(iso_lstm(ctx, none, &good, NULL, &h, NULL)), 0);
  assert_int_equal(iso_tensor_numel(h), 10);
  close_context(ctx);
}

static void test_text_model(void **state) {
  (void)state;
  iso_context *ctx = open_context(2, NULL);
  iso_module *net = iso_text_model_new(
      ctx, "lstm", &(iso_text_model_config){.vocabulary = 11, .classes = 3, .width = 16, .dropout = 0.1});
  size_t n;
  const iso_named_tensor *list = iso_module_tensors(net, &n);
  iso_optimizer *adam = iso_adam_new(ctx, n, list, &(iso_adam_options){.lr = 0.02});
  int64_t ids[6 * 5] = {0}, lengths[6], labels[6]; /* the class is in the first token alone */
  for (int64_t b = 0; b < 6; b++) {
    labels[b] = b % 3, lengths[b] = 1 + b % 5;
    for (int64_t t = 0; t < lengths[b]; t++) ids[b * 5 + t] = t ? 4 + (b + t) % 7 : 1 + b % 3;
  }
  iso_tensor *x = iso_tensor_copy_from(ctx, ISO_I64, 2, ISO_DIMS(6, 5), ids);
  iso_tensor *l = iso_tensor_copy_from(ctx, ISO_I64, 1, ISO_DIMS(6), lengths);
  iso_tensor *y = iso_tensor_copy_from(ctx, ISO_I64, 1, ISO_DIMS(6), labels);
  float loss = 0;
  for (int step = 0; step < 60; step++) {
    iso_scope_push(ctx);
    iso_tensor *t = iso_cross_entropy(ctx, iso_module_forward_sequence(net, x, l), y, NULL);
    assert_int_equal(iso_tensor_copy_to(t, &loss, sizeof loss), ISO_OK);
    assert_int_equal(iso_backward(t), ISO_OK);
    assert_int_equal(iso_optimizer_step(adam), ISO_OK);
    iso_optimizer_zero_grad(adam);
    iso_scope_pop(ctx);
  }
  assert_true(loss < 0.1f);
  iso_optimizer_free(adam);
  iso_module_free(net);
  close_context(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_silero_vad),
                                     cmocka_unit_test(test_silero_vad_f64),
                                     cmocka_unit_test(test_g2p),
                                     cmocka_unit_test(test_threads_and_isas),
                                     cmocka_unit_test(test_neighbours_and_padding),
                                     cmocka_unit_test(test_module),
                                     cmocka_unit_test(test_refusals),
                                     cmocka_unit_test(test_text_model)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
