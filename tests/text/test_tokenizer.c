/* test_tokenizer.c: encoding: rules by hand, specials and limits, threads, huge and broken texts, failing memory. */
#include <isobit/ops.h>
#include "text/tokenizer_test.h"

#define LINES "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##a\nab\n##b\n.\ne\n\xc3\xa9\n\xe4\xb8\xad\nun\n##aff\n##able\n"

static void test_rules(void **state) {
  (void)state;
  iso_context *ctx = new_context();
  iso_tokenizer *t = from_vocabulary(ctx, LINES, NULL);
  expect_ok(ctx);
  expect_tokens(ctx, t, "", "");
  expect_tokens(ctx, t, " \t\n\xe3\x80\x80", "");
  expect_tokens(ctx, t, "Unaffable a.", "un[0,2) ##aff[2,5) ##able[5,9) a[10,11) .[11,12)");
  expect_tokens(ctx, t, "abba", "ab[0,2) ##b[2,3) ##a[3,4)");
  expect_tokens(ctx, t, "abx ab", "[UNK][0,3) ab[4,6)");
  expect_tokens(ctx, t,
                "\xc3\x89 e\xcc\x81"
                "a",
                "e[0,1) e[2,3) ##a[4,5)");
  expect_tokens(ctx, t,
                "a\xe4\xb8\xad"
                "a",
                "a[0,1) \xe4\xb8\xad[1,2) a[2,3)");
  expect_tokens(ctx, t,
                "a\x01\xc2\xad"
                "b",
                "ab[0,4)");
  expect_tokens(ctx, t, "x [MASK]. [mask]", "[UNK][0,1) [MASK][2,8) .[8,9) [UNK][10,11) [UNK][11,15) [UNK][15,16)");
  char longest[203];
  memset(longest, 'a', sizeof longest), longest[100] = ' ', longest[202] = 0;
  iso_encodings e;
  assert_int_equal(iso_tokenizer_encode(ctx, t, 1, &(iso_text){longest, 202}, NULL, &e), ISO_OK);
  assert_int_equal(e.begin[1], 2 + 100 + 1); /* a word of 100 characters is cut, one of 101 is not known */
  assert_null(e.offsets);
  iso_encodings_free(ctx, &e);
  iso_tokenizer_free(t);
  iso__context_free(ctx);
}

static void test_specials_and_limits(void **state) {
  (void)state;
  iso_context *ctx = new_context();
  char out[400];
  iso_tokenizer *t = from_vocabulary(ctx, LINES, NULL);
  assert_true(describe(ctx, t, "a ab", 4, (iso_encode_options){0}, out, sizeof out));
  assert_string_equal(out, "[CLS][0,0) a[0,1) ab[2,4) [SEP][0,0)");
  assert_true(describe(ctx, t, "a ab", 4, (iso_encode_options){.max_length = 4}, out, sizeof out));
  assert_true(describe(ctx, t, "a ab", 4, (iso_encode_options){.max_length = 3, .truncate = true}, out, sizeof out));
  assert_string_equal(out, "[CLS][0,0) a[0,1) [SEP][0,0)");
  assert_true(describe(ctx, t, "a ab", 4, (iso_encode_options){.max_length = 2, .truncate = true}, out, sizeof out));
  assert_string_equal(out, "[CLS][0,0) [SEP][0,0)");
  assert_true(describe(ctx, t, "a ab", 4, (iso_encode_options){.max_length = 1, .truncate = true, .no_special = true},
                       out, sizeof out));
  assert_string_equal(out, "a[0,1)");
  assert_false(describe(ctx, t, "a ab", 4, (iso_encode_options){.max_length = 1, .truncate = true}, out, sizeof out));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "the special tokens alone are 2");
  const iso_text texts[] = {{"a", 1}, {"a ab", 4}, {"a a a a", 7}};
  iso_encodings e;
  assert_int_equal(iso_tokenizer_encode(ctx, t, 3, texts, &(iso_encode_options){.max_length = 3}, &e),
                   ISO_INVALID_ARGUMENT);
  assert_null(e.begin);
  expect_error(ctx, ISO_INVALID_ARGUMENT, "text 1 (from 0) has 4 tokens, the limit max_length is 3");
  iso_tokenizer_free(t);
  iso__context_free(ctx);
}

static void test_look_up(void **state) {
  (void)state;
  iso_context *ctx = new_context();
  iso_tokenizer *t = from_vocabulary(ctx, LINES, NULL);
  assert_int_equal(iso_tokenizer_size(t), 16);
  assert_int_equal(iso_tokenizer_id(t, "##able"), 15);
  assert_int_equal(iso_tokenizer_id(t, "##ab"), -1);
  assert_int_equal(iso_tokenizer_id(t, "[MASK]"), 4);
  assert_int_equal(iso_tokenizer_id(t, ""), -1);
  assert_string_equal(iso_tokenizer_token(t, 11), "\xc3\xa9");
  assert_null(iso_tokenizer_token(t, 16));
  assert_null(iso_tokenizer_token(t, -1));
  assert_int_equal(iso_tokenizer_padding(t), 0);
  assert_int_equal(strlen(iso_tokenizer_hash(t)), 32);
  iso_tokenizer *other = from_vocabulary(ctx, LINES "x\n", NULL),
                *cased = from_vocabulary(ctx, LINES, "{\"do_lower_case\":false}");
  assert_string_not_equal(iso_tokenizer_hash(t), iso_tokenizer_hash(other));
  assert_string_not_equal(iso_tokenizer_hash(t), iso_tokenizer_hash(cased));
  iso__tokenizer_retain(t);
  iso_tokenizer_free(t);
  expect_tokens(ctx, t, "a", "a[0,1)");
  iso_tokenizer_free(cased);
  iso_tokenizer_free(other);
  iso_tokenizer_free(t);
  iso_tokenizer_free(NULL);
  iso__context_free(ctx);
}

/* Python's errors="replace": one U+FFFD for each maximal subpart, and code points counted with them. */
static void test_invalid_bytes(void **state) {
  (void)state;
  static const struct broken {
    const char *bytes;
    int n_invalid;
    const char *tokens;
  } cases[] = {{"a\xff"
                "b a",
                1, "ab[0,3) a[4,5)"},
               {"\xed\xa0\x80 a", 3, "a[4,5)"},
               {"\xf0\x9f\x98 a", 1, "a[2,3)"},
               {"\xe4\xb8", 1, ""},
               {"\xc0\x80"
                "a",
                2, "a[2,3)"},
               {"\xf4\x90\x80\x80"
                "a",
                4, "a[4,5)"},
               {"\xe4\xb8\xad\x80"
                "a",
                1, "\xe4\xb8\xad[0,1) a[2,3)"}};
  iso_context *ctx = new_context();
  iso_tokenizer *t = from_vocabulary(ctx, LINES, NULL);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    iso_encodings e;
    expect_tokens(ctx, t, cases[i].bytes, cases[i].tokens);
    const iso_text texts[2] = {{cases[i].bytes, strlen(cases[i].bytes)}, {cases[i].bytes, strlen(cases[i].bytes)}};
    assert_int_equal(iso_tokenizer_encode(ctx, t, 2, texts, NULL, &e), ISO_OK);
    assert_int_equal(e.n_invalid, 2 * cases[i].n_invalid);
    iso_encodings_free(ctx, &e);
  }
  iso_tokenizer_free(t);
  iso__context_free(ctx);
}

/* ---- many, and large ---- */

enum { N_TEXTS = 3000 };

static void fill_texts(iso_text texts[N_TEXTS], char *bytes, size_t n_bytes) {
  static const char *const parts[] = {"ab",       "a.", " ",     "\xe4\xb8\xad", "Unaffable",
                                      "\xc3\x89", "x",  "[SEP]", "\xff",         "\xcc\x81"};
  uint32_t random = 1;
  size_t at = 0;
  for (int i = 0; i < N_TEXTS; i++) {
    texts[i].bytes = bytes + at;
    for (random = random * 1664525u + 1013904223u; (random >> 16) % 17 && at + 16 < n_bytes;
         random = random * 1664525u + 1013904223u) {
      const char *part = parts[(random >> 24) % 10];
      memcpy(bytes + at, part, strlen(part));
      at += strlen(part);
    }
    texts[i].n_bytes = (size_t)(bytes + at - texts[i].bytes);
  }
}

static void test_any_number_of_threads(void **state) {
  (void)state;
  static iso_text texts[N_TEXTS];
  static char bytes[400000];
  iso_encodings e[3];
  iso_context *contexts[3];
  fill_texts(texts, bytes, sizeof bytes);
  static const int n_threads[] = {1, 2, 5};
  for (int k = 0; k < 3; k++) {
    assert_int_equal(iso_context_new(&(iso_context_options){.n_threads = n_threads[k]}, &contexts[k]), ISO_OK);
    iso_tokenizer *t = from_vocabulary(contexts[k], LINES, NULL);
    assert_int_equal(
        iso_tokenizer_encode(contexts[k], t, N_TEXTS, texts, &(iso_encode_options){.offsets = true}, &e[k]), ISO_OK);
    iso_tokenizer_free(t);
    const size_t n = (size_t)e[0].begin[N_TEXTS];
    assert_true(n > 20000);
    assert_memory_equal(e[k].begin, e[0].begin, (N_TEXTS + 1) * sizeof *e[0].begin);
    assert_memory_equal(e[k].ids, e[0].ids, n * sizeof *e[0].ids);
    assert_memory_equal(e[k].offsets, e[0].offsets, n * sizeof *e[0].offsets);
    assert_int_equal(e[k].n_invalid, e[0].n_invalid);
  }
  for (int k = 0; k < 3; k++) iso_encodings_free(contexts[k], &e[k]), iso_context_free(contexts[k]);
}

static void test_ten_megabytes(void **state) {
  (void)state;
  enum { N = 10 << 20 };
  iso_context *ctx = new_context();
  iso_tokenizer *t = from_vocabulary(ctx, LINES, NULL);
  iso_encodings e;
  char *text = malloc(N);
  assert_non_null(text);
  for (size_t i = 0; i < N; i++) text[i] = "ab a. "[i % 6];
  assert_int_equal(iso_tokenizer_encode(ctx, t, 1, &(iso_text){text, N}, NULL, &e), ISO_OK);
  assert_int_equal(e.begin[1], 2 + 3 * (N / 6) + 2); /* the last two words are cut to "ab a" */
  iso_encodings_free(ctx, &e);
  memset(text, 'a', N); /* one word */
  assert_int_equal(iso_tokenizer_encode(ctx, t, 1, &(iso_text){text, N}, NULL, &e), ISO_OK);
  assert_int_equal(e.begin[1], 3);
  iso_encodings_free(ctx, &e);
  for (size_t i = 0; i + 1 < N; i += 2) text[i] = (char)0xCC, text[i + 1] = (char)0x81; /* one run of marks */
  assert_int_equal(iso_tokenizer_encode(ctx, t, 1, &(iso_text){text, N}, NULL, &e), ISO_OK);
  assert_int_equal(e.begin[1], 2);
  iso_encodings_free(ctx, &e);
  memset(text, 0xFF, N);
  assert_int_equal(iso_tokenizer_encode(ctx, t, 1, &(iso_text){text, N}, NULL, &e), ISO_OK);
  assert_int_equal(e.n_invalid, N);
  iso_encodings_free(ctx, &e);
  free(text);
  iso_tokenizer_free(t);
  iso__context_free(ctx);
}

static void test_failing_memory(void **state) {
  (void)state;
  iso_context *ctx = new_context();
  const iso_text texts[] = {{"ab \xff \xe1\xbc\x81\xe3\x80\xae\xcc\xa3", 11}, {"Unaffable", 9}};
  const size_t live = iso_memory_get_info(ctx).live_bytes;
  int n_failed = 0;
  for (uint64_t n = 1;; n++) {
    iso_memory_fail_at(ctx, n);
    iso_tokenizer *t = from_vocabulary(ctx, LINES, "{\"unk_token\":\"[UNK]\"}");
    iso_encodings e = {0};
    const bool ok = t && iso_tokenizer_encode(ctx, t, 2, texts, &(iso_encode_options){.offsets = true}, &e) == ISO_OK;
    iso_encodings_free(ctx, &e);
    iso_tokenizer_free(t);
    iso_memory_fail_at(ctx, 0);
    assert_int_equal(iso_memory_get_info(ctx).live_bytes, live);
    if (ok) break;
    n_failed++;
    expect_error(ctx, ISO_OUT_OF_MEMORY, "");
  }
  assert_true(n_failed > 15);
  iso__context_free(ctx);
}

static void test_bad_calls(void **state) {
  (void)state;
  iso_context *ctx = new_context();
  iso_tokenizer *t = from_vocabulary(ctx, LINES, NULL);
  iso_encodings e;
  assert_int_equal(iso_tokenizer_encode(ctx, NULL, 0, NULL, NULL, &e), ISO_INVALID_ARGUMENT);
  expect_error(ctx, ISO_INVALID_ARGUMENT, "the tokenizer is NULL");
  iso_tokenizer_encode(ctx, t, 1, NULL, NULL, &e);
  expect_error(ctx, ISO_INVALID_ARGUMENT, "texts are NULL");
  iso_tokenizer_encode(ctx, t, 1, &(iso_text){NULL, 3}, NULL, &e);
  expect_error(ctx, ISO_INVALID_ARGUMENT, "text 0 (from 0) is NULL");
  iso_tokenizer_encode(ctx, t, 1, &(iso_text){NULL, 0}, NULL, NULL);
  expect_error(ctx, ISO_INVALID_ARGUMENT, "out is NULL");
  assert_int_equal(iso_tokenizer_encode(ctx, t, 0, NULL, NULL, &e), ISO_OK);
  assert_int_equal(e.begin[0], 0);
  iso_encodings_free(ctx, &e);
  assert_int_equal(iso_tokenizer_encode(ctx, t, 1, &(iso_text){NULL, 0}, NULL, &e), ISO_OK);
  assert_int_equal(e.begin[1], 2);
  iso_encodings_free(ctx, &e);
  iso_tokenizer_free(t);
  iso__context_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rules),
      cmocka_unit_test(test_specials_and_limits),
      cmocka_unit_test(test_look_up),
      cmocka_unit_test(test_invalid_bytes),
      cmocka_unit_test(test_any_number_of_threads),
      cmocka_unit_test(test_ten_megabytes),
      cmocka_unit_test(test_failing_memory),
      cmocka_unit_test(test_bad_calls),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
