/* test_tokenizer_files.c: vocab.txt, tokenizer_config.json, tokenizer.json: what is read, and what is refused by name.
 */
#include "text/tokenizer_test.h"

#define SPECIAL "[PAD]\n[UNK]\n[CLS]\n[SEP]\n"

static void test_vocabularies(void **state) {
  (void)state;
  iso_context *ctx = new_context();
  iso_tokenizer *t = from_vocabulary(ctx, SPECIAL "\n  \r\nab \t\r\nB\n\n\r\n\n", NULL);
  expect_ok(ctx);
  assert_int_equal(iso_tokenizer_size(t), 8); /* empty lines keep their ids, but for those at the end */
  assert_int_equal(iso_tokenizer_id(t, "ab"), 6);
  expect_tokens(ctx, t, "AB b", "ab[0,2) [UNK][3,4)");
  iso_tokenizer_free(t);
  t = from_vocabulary(ctx, SPECIAL "b\nB\n\xc3\xa9", "{\"do_lower_case\": false, \"more\": [1]}");
  expect_tokens(ctx, t, "b B \xc3\xa9", "b[0,1) B[2,3) \xc3\xa9[4,5)");
  iso_tokenizer_free(t);
  t = from_vocabulary(ctx, SPECIAL "b\nB\n\xc3\xa9\ne", "{\"strip_accents\": false, \"tokenize_chinese_chars\": null}");
  expect_tokens(ctx, t, "B \xc3\x89", "b[0,1) \xc3\xa9[2,3)");
  iso_tokenizer_free(t);
  t = from_vocabulary(
      ctx, "<p>\n<u>\n<c>\n<s>\n\xe4\xb8\xad\xe6\x96\x87",
      "{\"tokenize_chinese_chars\": false, \"unk_token\": \"<u>\", \"cls_token\": {\"content\": \"<c>\"}, "
      "\"sep_token\": \"<s>\", \"pad_token\": \"<p>\", \"mask_token\": \"<m>\"}");
  expect_ok(ctx);
  expect_tokens(ctx, t, "\xe4\xb8\xad\xe6\x96\x87 <s>x", "\xe4\xb8\xad\xe6\x96\x87[0,2) <s>[3,6) <u>[6,7)");
  iso_tokenizer_free(t);
  iso__context_free(ctx);
}

static void test_bad_vocabularies(void **state) {
  (void)state;
  static const struct bad {
    const char *lines, *config;
    iso_status code;
    const char *part;
  } cases[] = {
      {"", NULL, ISO_CORRUPT, "vocab.txt: the vocabulary is empty"},
      {"\n\n", NULL, ISO_CORRUPT, "the vocabulary is empty"},
      {SPECIAL "foo\nbar\nfoo\n", NULL, ISO_CORRUPT, "token 'foo' is there twice: lines 5 and 7"},
      {SPECIAL "foo\nfoo \n", NULL, ISO_CORRUPT, "token 'foo' is there twice: lines 5 and 6"},
      {"[PAD]\n[CLS]\n[SEP]\na\n", NULL, ISO_CORRUPT, "lacks the special token '[UNK]'"},
      {"[PAD]\n[UNK]\n[SEP]\na\n", NULL, ISO_CORRUPT, "lacks the special token '[CLS]'"},
      {"[PAD]\n[UNK]\n[CLS]\na\n", NULL, ISO_CORRUPT, "lacks the special token '[SEP]'"},
      {"[UNK]\n[CLS]\n[SEP]\na\n", NULL, ISO_CORRUPT, "lacks the special token '[PAD]'"},
      {SPECIAL "a\xff\n", NULL, ISO_CORRUPT, "line 5, 'a?', is no UTF-8"},
      {SPECIAL, "{\"unk_token\": \"<unk>\"}", ISO_CORRUPT, "lacks the special token '<unk>'"},
      {SPECIAL, "{\"unk_token\": 3}", ISO_CORRUPT, "tokenizer_config.json: unk_token is a whole number, expected text"},
      {SPECIAL, "{\"cls_token\": {\"text\": 3}}", ISO_CORRUPT, "cls_token.content is missing, expected text"},
      {SPECIAL, "{\"do_lower_case\": 1}", ISO_CORRUPT, "do_lower_case is a whole number, expected true or false"},
      {SPECIAL, "{", ISO_CORRUPT, "tokenizer_config.json: line 1"},
      {SPECIAL, "[]", ISO_CORRUPT, "the JSON is no object"},
  };
  iso_context *ctx = new_context();
  const size_t live = iso_memory_get_info(ctx).live_bytes;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_null(from_vocabulary(ctx, cases[i].lines, cases[i].config));
    expect_error(ctx, cases[i].code, cases[i].part);
    assert_int_equal(iso_memory_get_info(ctx).live_bytes, live);
  }
  static const char binary[] = SPECIAL "a\0b\n";
  assert_null(iso__tokenizer_parse_vocabulary(ctx, "v", binary, sizeof binary - 1, "", NULL, 0, false));
  expect_error(ctx, ISO_CORRUPT, "line 5, 'a?b', contains a NUL byte");
  char *longest = malloc(3000);
  assert_non_null(longest);
  memcpy(longest, SPECIAL, sizeof SPECIAL - 1);
  memset(longest + sizeof SPECIAL - 1, 'x', 2000), longest[sizeof SPECIAL - 1 + 2000] = 0;
  assert_null(from_vocabulary(ctx, longest, NULL));
  expect_error(ctx, ISO_UNSUPPORTED, "has 2000 bytes, supported are 1024");
  free(longest);
  iso__context_free(ctx);
}

/* ---- tokenizer.json ---- */

#define VOCAB "\"[PAD]\":0,\"[UNK]\":1,\"[CLS]\":2,\"[SEP]\":3,\"a\":4,\"##a\":5"
#define MODEL                                                                                                          \
  "\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\",\"continuing_subword_prefix\":\"##\","                    \
  "\"max_input_chars_per_word\":100,\"vocab\":{" VOCAB "}}"
#define NORMALIZER                                                                                                     \
  "\"normalizer\":{\"type\":\"BertNormalizer\",\"clean_text\":true,\"handle_chinese_chars\":true,"                     \
  "\"strip_accents\":null,\"lowercase\":true}"
#define PRE "\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"}"
#define PARTS MODEL "," NORMALIZER "," PRE
#define ADDED(id, content)                                                                                             \
  "{\"id\":" id ",\"content\":\"" content                                                                              \
  "\",\"single_word\":false,\"lstrip\":false,\"rstrip\":false,\"normalized\":true,\"special\":false}"

static void test_json(void **state) {
  (void)state;
  iso_context *ctx = new_context();
  char out[200];
  iso_tokenizer *t = from_json(ctx, "{" PARTS "}");
  expect_ok(ctx);
  expect_tokens(ctx, t, "AA [SEP]", "a[0,1) ##a[1,2) [UNK][3,4) [UNK][4,7) [UNK][7,8)"); /* nothing is added */
  assert_int_equal(iso_tokenizer_padding(t), 0);
  assert_true(describe(ctx, t, "a", 1, (iso_encode_options){0}, out, sizeof out));
  assert_string_equal(out, "a[0,1)");
  iso_tokenizer_free(t);
  t = from_json(ctx, "{" PARTS
                     ",\"post_processor\":{\"type\":\"BertProcessing\",\"sep\":[\"[SEP]\",3],\"cls\":[\"[CLS]\",2]},"
                     "\"padding\":{\"pad_token\":\"a\",\"length\":9},\"truncation\":{\"max_length\":1},\"decoder\":7,"
                     "\"added_tokens\":[" ADDED("6", "A\xc3\x89") "," ADDED("4", "a") "]}");
  expect_ok(ctx);
  assert_int_equal(iso_tokenizer_padding(t), 4);
  assert_int_equal(iso_tokenizer_size(t), 7);
  assert_int_equal(iso_tokenizer_id(t, "A\xc3\x89"), 6);
  assert_string_equal(iso_tokenizer_token(t, 6), "A\xc3\x89");
  assert_true(describe(ctx, t, "xaea", 4, (iso_encode_options){0}, out, sizeof out));
  assert_string_equal(out, "[CLS][0,0) [UNK][0,1) A\xc3\x89[1,3) a[3,4) [SEP][0,0)");
  iso_tokenizer_free(t);
  iso__context_free(ctx);
}

static void test_bad_json(void **state) {
  (void)state;
  static const struct bad {
    const char *json;
    iso_status code;
    const char *part;
  } cases[] = {
      {"", ISO_CORRUPT, "tokenizer.json: line 1"},
      {"[1]", ISO_CORRUPT, "the JSON is no object"},
      {"{}", ISO_CORRUPT, "model is missing, expected an object"},
      {"{\"model\":{\"type\":\"BPE\"}}", ISO_UNSUPPORTED, "model.type is 'BPE', supported is WordPiece"},
      {"{\"model\":{\"unk_token\":\"u\"}}", ISO_CORRUPT, "model.continuing_subword_prefix is missing"},
      {"{" PARTS ",\"version\":\"2.0\"}", ISO_UNSUPPORTED, "version is '2.0', supported is 1.0"},
      {"{" PARTS ",\"extra\":1}", ISO_UNSUPPORTED, "extra is a field that is not known here"},
      {"{" MODEL "," PRE ",\"normalizer\":null}", ISO_CORRUPT, "normalizer is null, expected an object"},
      {"{" MODEL "," PRE ",\"normalizer\":{\"type\":\"NFC\"}}", ISO_UNSUPPORTED, "normalizer.type is 'NFC'"},
      {"{" MODEL "," PRE ",\"normalizer\":{\"type\":\"BertNormalizer\"}}", ISO_CORRUPT,
       "normalizer.clean_text is missing"},
      {"{" MODEL "," NORMALIZER ",\"pre_tokenizer\":{\"type\":\"Whitespace\"}}", ISO_UNSUPPORTED,
       "pre_tokenizer.type is 'Whitespace', supported is BertPreTokenizer"},
      {"{" PARTS ",\"post_processor\":{\"type\":\"RobertaProcessing\"}}", ISO_UNSUPPORTED,
       "post_processor.type is 'RobertaProcessing'"},
      {"{" PARTS ",\"post_processor\":{\"type\":\"BertProcessing\",\"sep\":[\"x\",99],\"cls\":[\"y\",2]}}", ISO_CORRUPT,
       "has the id 99, which no token has"},
      {"{" PARTS ",\"post_processor\":{\"type\":\"BertProcessing\",\"sep\":3}}", ISO_CORRUPT,
       "post_processor.cls is not [token, id]"},
      {"{" PARTS ",\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[]}}", ISO_UNSUPPORTED,
       "post_processor.single does not contain the text"},
      {"{" PARTS ",\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"Sequence\":{\"id\":\"B\"}}]}}",
       ISO_UNSUPPORTED, "post_processor.single[0].Sequence.id is not the text (A)"},
      {"{" PARTS ",\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"x\"}}],"
       "\"special_tokens\":{}}}",
       ISO_CORRUPT, "post_processor.special_tokens.x is missing"},
      {"{" PARTS ",\"added_tokens\":[" ADDED("7", "new") "]}", ISO_CORRUPT,
       "added_tokens give 'new' the id 7, expected 6"},
      {"{" PARTS ",\"added_tokens\":[" ADDED("5", "a") "]}", ISO_CORRUPT,
       "added token 'a' has the id 5, in the vocabulary 4"},
      {"{" PARTS ",\"added_tokens\":[" ADDED("4", "a") "," ADDED("4", "a") "]}", ISO_CORRUPT,
       "which another one has, too"},
      {"{" PARTS ",\"added_tokens\":[" ADDED("6", "X") "," ADDED("7", "x") "]}", ISO_CORRUPT,
       "is the same as another one once normalised"},
      {"{" PARTS ",\"added_tokens\":[" ADDED("6", "\\u0301") "]}", ISO_CORRUPT, "is empty once normalised"},
      {"{" PARTS ",\"added_tokens\":[" ADDED("6", "") "]}", ISO_CORRUPT, "the added token with the id 6 is empty"},
      {"{" PARTS ",\"added_tokens\":[3]}", ISO_CORRUPT, "added_tokens[0] is a whole number, expected an object"},
      {"{" PARTS ",\"padding\":{\"pad_token\":\"none\"}}", ISO_CORRUPT, "lacks the padding token, 'none'"},
      {"{" NORMALIZER "," PRE ",\"model\":{\"unk_token\":\"<unk>\",\"continuing_subword_prefix\":\"\","
       "\"max_input_chars_per_word\":1,\"vocab\":{\"a\":0}}}",
       ISO_CORRUPT, "lacks the token for unknown words, '<unk>'"},
      {"{" NORMALIZER "," PRE ",\"model\":{\"unk_token\":\"a\",\"continuing_subword_prefix\":\"\","
       "\"max_input_chars_per_word\":1,\"vocab\":{\"a\":0,\"b\":0}}}",
       ISO_CORRUPT, "tokens 'a' and 'b' both have the id 0"},
      {"{" NORMALIZER "," PRE ",\"model\":{\"unk_token\":\"a\",\"continuing_subword_prefix\":\"\","
       "\"max_input_chars_per_word\":1,\"vocab\":{\"a\":0,\"a\":1}}}",
       ISO_CORRUPT, "duplicate object key"},
      {"{" NORMALIZER "," PRE ",\"model\":{\"unk_token\":\"a\",\"continuing_subword_prefix\":\"\","
       "\"max_input_chars_per_word\":1,\"vocab\":{\"a\":4294967295}}}",
       ISO_UNSUPPORTED, "token 'a' has the id 4294967295, supported are 0 to 4194303"},
      {"{" NORMALIZER "," PRE ",\"model\":{\"unk_token\":\"a\",\"continuing_subword_prefix\":\"\","
       "\"max_input_chars_per_word\":-1,\"vocab\":{}}}",
       ISO_CORRUPT, "model.max_input_chars_per_word is negative"},
  };
  iso_context *ctx = new_context();
  const size_t live = iso_memory_get_info(ctx).live_bytes;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_null(from_json(ctx, cases[i].json));
    expect_error(ctx, cases[i].code, cases[i].part);
    assert_int_equal(iso_memory_get_info(ctx).live_bytes, live);
  }
  char deep[100001];
  memset(deep, '[', 100000), deep[100000] = 0;
  assert_null(from_json(ctx, deep));
  expect_error(ctx, ISO_CORRUPT, "maximum parsing depth reached");
  iso__context_free(ctx);
}

static void *parse_json(iso_context *ctx, const char *name, const void *bytes, size_t n) {
  return iso__tokenizer_parse_json(ctx, name, bytes, n);
}
static void end_tokenizer(void *t) { iso_tokenizer_free(t); }

static void test_cut_and_flipped(void **state) {
  (void)state;
  const parser p = {parse_json, end_tokenizer};
  static const char json[] = "{" PARTS ",\"added_tokens\":[" ADDED("6", "new") "]}";
  iso_context *ctx = new_context();
  for (size_t n = 0; n < sizeof json - 1; n++) {
    assert_int_not_equal(parse_once(ctx, &p, (const uint8_t *)json, n), ISO_OK);
    iso_clear_error(ctx);
  }
  uint8_t bytes[sizeof json];
  for (size_t bit = 0; bit < 8 * (sizeof json - 1); bit++) {
    memcpy(bytes, json, sizeof json);
    bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    parse_once(ctx, &p, bytes, sizeof json - 1);
    iso_clear_error(ctx);
  }
  iso__context_free(ctx);
}

/* ---- paths ---- */

static void test_paths(void **state) {
  (void)state;
  static const char json[] = "{" PARTS "}", lines[] = SPECIAL "A\n", config[] = "{\"do_lower_case\": false}";
  char folder[256], vocabulary[600], tokenizer[600], settings[600];
  make_folder(folder);
  join(vocabulary, folder, "vocab.txt"), join(tokenizer, folder, "tokenizer.json");
  join(settings, folder, "tokenizer_config.json");
  iso_context *ctx = new_context();
  const size_t live = iso_memory_get_info(ctx).live_bytes;
  assert_null(iso_tokenizer_open(ctx, folder, NULL));
  expect_error(ctx, ISO_NOT_FOUND, "holds neither tokenizer.json nor vocab.txt");
  assert_null(iso_tokenizer_open(ctx, vocabulary, NULL));
  expect_error(ctx, ISO_NOT_FOUND, "vocab.txt: cannot open");
  assert_null(iso_tokenizer_open(ctx, NULL, NULL));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "the path is NULL");
  put_file(vocabulary, lines, sizeof lines - 1);
  iso_tokenizer *t = iso_tokenizer_open(ctx, folder, NULL);
  expect_tokens(ctx, t, "A", "[UNK][0,1)"); /* lowered */
  iso_tokenizer_free(t);
  t = iso_tokenizer_open(ctx, folder, &(iso_tokenizer_options){.cased = true});
  expect_tokens(ctx, t, "A", "A[0,1)");
  iso_tokenizer_free(t);
  put_file(settings, config, sizeof config - 1);
  t = iso_tokenizer_open(ctx, vocabulary, NULL);
  expect_tokens(ctx, t, "A", "A[0,1)");
  iso_tokenizer_free(t);
  put_file(tokenizer, json, sizeof json - 1);
  t = iso_tokenizer_open(ctx, folder, NULL);
  expect_tokens(ctx, t, "A", "a[0,1)");
  iso_tokenizer_free(t);
  assert_int_equal(iso_memory_get_info(ctx).live_bytes, live);
  iso__context_free(ctx);
  remove_folder(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_vocabularies), cmocka_unit_test(test_bad_vocabularies), cmocka_unit_test(test_json),
      cmocka_unit_test(test_bad_json),     cmocka_unit_test(test_cut_and_flipped),  cmocka_unit_test(test_paths)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
