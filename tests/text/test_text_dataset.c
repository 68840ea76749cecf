/* test_text_dataset.c: what CSV, TSV and JSONL give, what they are refused for, and that every refusal names its row.
 */
#include <zlib.h>
#include "text/text_test.h"

typedef struct accepted {
  const char *format, *content;
  int n;
  const char *rows[4][2];
} accepted;

static const accepted good[] = {
    {"csv", "text,label\nhello,a\nworld,b\n", 2, {{"hello", "a"}, {"world", "b"}}},
    {"csv", "\xef\xbb\xbftext,category\r\n\"a, \"\"b\"\"\r\nc\",x\r\n,y", 2, {{"a, \"b\"\r\nc", "x"}, {"", "y"}}},
    {"csv", "id,intent,text\r1,a,one\r2,b,two\r", 2, {{"one", "a"}, {"two", "b"}}},
    {"csv", "\n\ntext,class\n\n\nhe said \"no\",a\n\"\",b\n\n", 2, {{"he said \"no\"", "a"}, {"", "b"}}},
    {"csv", "\"text\",\"label\"\n\"x\",\"a\"\n\"y\",\"b\"", 2, {{"x", "a"}, {"y", "b"}}},
    {"tsv", "Play\tadd \"this\r song\nStop\tenough\r\n", 2, {{"add \"this\r song", "Play"}, {"enough", "Stop"}}},
    {"tsv", "n\ttext\tlabel\n1\tx, y\ta\n2\t\tb\n", 2, {{"x, y", "a"}, {"", "b"}}},
    {"jsonl",
     "{\"text\": \"a\\u00e9\\n\", \"label\": 3, \"other\": [1, {}]}\n\n{\"label\": \"x\", \"text\": \"\"}\r\n",
     2,
     {{"a\xc3\xa9\n", "3"}, {"", "x"}}},
    {"jsonl",
     "\xef\xbb\xbf  {\"intent\": \"p\", \"text\": \"1\"}\n \t\r\n{\"intent\": \"q\", \"text\": \"2\"}",
     2,
     {{"1", "p"}, {"2", "q"}}},
};

static void test_accepted(void **state) {
  (void)state;
  iso_context *ctx = new_context();
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    iso_text_dataset *set = parse_text(ctx, good[i].format, good[i].content);
    expect_ok(ctx);
    assert_int_equal(iso_text_dataset_get_info(set).n_samples, good[i].n);
    for (int r = 0; r < good[i].n; r++) expect_row(set, r, good[i].rows[r][0], good[i].rows[r][1]);
    iso_text_dataset_free(set);
  }
  iso__context_free(ctx);
}

static const struct {
  const char *format, *content, *part;
} bad[] = {
    {"csv", "", "holds no rows"},
    {"csv", "text,label\n\n", "holds no rows"},
    {"csv", "text,label\na,x\nb,y\nc\n", "row 3 (line 4) has 1 fields, the first row has 2"},
    {"csv", "text,label\n\"a\nb\",x\n\nd,y,z\n", "row 2 (line 5) has 3 fields, the first row has 2"},
    {"csv", "text,label\na,x\nb,\"y\nc,z\n", "row 2 (line 3), field 2: a quote is never closed"},
    {"csv", "\"text,label\na,x\n", "the first row (line 1), field 1: a quote is never closed"},
    {"csv", "text,label\n\"a\"b,x\n", "row 1 (line 2), field 1: more follows its closing quote"},
    {"csv", "text,label\na,x\nb,\n", "row 2 (line 3): the label is empty"},
    {"csv", "text,label\na,x\nb,\xff\n", "row 2 (line 3): label '?' is not UTF-8"},
    {"csv", "text,label\na,x\nb,\xed\xa0\x80\n", "row 2 (line 3): label '\?\?\?' is not UTF-8"},
    {"csv", "text,label\na,x\nb,x\n", "every row has the label 'x'"},
    {"csv", "words,label\na,x\n", "no column is called 'text'; the first row (line 1) has 'words', 'label'"},
    {"csv", "text,target\na,x\n", "no column is called 'label', 'category', 'intent' or 'class'; the first row"},
    {"csv", "\xff\xfet\0e\0x\0t\0", "UTF-16"},
    {"tsv", "a\tx\nb\n", "row 2 (line 2) has 1 fields, the first row has 2"},
    {"tsv", "a\tb\tc\n", "no column is called 'text'"},
    {"tsv", "lonely\n", "no column is called 'text'"},
    {"jsonl", "{\"text\": \"a\", \"label\": \"x\"}\n\n{\"text\": 3, \"label\": \"x\"}\n",
     "row 2 (line 3): field 'text' is an integer, expected a string"},
    {"jsonl", "{\"label\": \"x\"}\n", "row 1 (line 1): field 'text' is missing"},
    {"jsonl", "{\"text\": \"a\"}\n", "row 1 (line 1): no field is called 'label'"},
    {"jsonl", "{\"text\": \"a\", \"label\": 1.5}\n", "row 1 (line 1): field 'label' is a real number"},
    {"jsonl", "{\"text\": \"a\", \"label\": null}\n", "row 1 (line 1): field 'label' is null"},
    {"jsonl", "{\"text\": \"a\", \"label\": \"x\\u0000y\"}\n", "row 1 (line 1): label 'x?y' is not UTF-8 without NUL"},
    {"jsonl", "{\"text\": \"a\", \"label\": 1}\n[1]\n", "row 2 (line 2): is no JSON object"},
    {"jsonl", "{\"text\": \"a\", \"label\": 1}\n{\"text\": \"b\"", "row 2 (line 2): byte"},
    {"jsonl", "{\"text\": \"a\", \"text\": \"b\", \"label\": 1}\n", "row 1 (line 1): byte"},
    {"jsonl", "{\"text\": \"\xff\", \"label\": 1}\n", "row 1 (line 1): byte"},
    {"jsonl", "{\"text\": \"\\ud800\", \"label\": 1}\n", "row 1 (line 1): byte"},
};

static void test_refused(void **state) {
  (void)state;
  iso_context *ctx = new_context();
  const size_t live = iso_memory_get_info(ctx).live_bytes;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_null(parse_text(ctx, bad[i].format, bad[i].content));
    const iso_status code = iso_error_code(ctx);
    assert_true(code == ISO_CORRUPT || code == ISO_UNSUPPORTED);
    expect_error(ctx, code, bad[i].part);
  }
  assert_int_equal(iso_memory_get_info(ctx).live_bytes, live);
  iso__context_free(ctx);
}

/* By name, by number, and the ways in which they are wrong. */
static void test_columns(void **state) {
  (void)state;
  static const struct {
    const char *text, *label;
    bool no_labels;
    const char *content, *first, *class_name, *error; /* the first row's text and label, or the error */
  } cases[] = {
      {"b", "c", false, "a,b,c\n1,2,3\n4,5,6\n", "2", "3", NULL},
      {"2", "3", false, "a,b,c\n1,2,3\n4,5,6\n", "b", "c", NULL},
      {"b", "3", false, "a,b,c\n1,2,3\n4,5,6\n", "2", "3", NULL},
      {"b", NULL, false, "label,b,c\n1,2,3\n4,5,6\n", "2", "1", NULL},
      {"2", NULL, false, "label,b,c\n1,2,3\n4,5,6\n", "2", "1", NULL},
      {NULL, "1", false, "c,text\n1,2\n4,5\n", "2", "1", NULL},
      {"1", NULL, true, "only,x\n1,2\n", "only", NULL, NULL},
      {NULL, NULL, true, "text\n1\n", "1", NULL, NULL},
      {"d", "c", false, "a,b,c\n1,2,3\n", NULL, NULL,
       "no column is called 'd'; the first row (line 1) has 'a', 'b', 'c'"},
      {"1", "4", false, "a,b,c\n1,2,3\n", NULL, NULL, "no column is number 4"},
      {"0", "1", false, "a,b,c\n1,2,3\n", NULL, NULL, "no column is number 0"},
      {"99999999999999999999", "1", false, "a,b,c\n1,2,3\n", NULL, NULL, "no column is number 9999"},
  };
  iso_context *ctx = new_context();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const iso_text_file_options o = {
        .format = "csv", .text_column = cases[i].text, .label_column = cases[i].label, .no_labels = cases[i].no_labels};
    iso_text_dataset *set = parse_bytes(ctx, &o, cases[i].content, strlen(cases[i].content));
    if (cases[i].error) {
      assert_null(set);
      expect_error(ctx, ISO_CORRUPT, cases[i].error);
      continue;
    }
    expect_ok(ctx);
    expect_row(set, 0, cases[i].first, cases[i].class_name);
    iso_text_dataset_free(set);
  }
  const iso_text_file_options bare = {.format = "tsv", .no_labels = true};
  iso_text_dataset *set = parse_bytes(ctx, &bare, "one\ntwo\n", 8);
  expect_row(set, 1, "two", NULL);
  assert_int_equal(iso_text_dataset_line(set, 1), 2);
  iso_text_dataset_free(set);
  iso__context_free(ctx);
}

/* Names in byte order, whole numbers ascending, whatever row comes first. */
static void test_classes(void **state) {
  (void)state;
  iso_context *ctx = new_context();
  iso_text_dataset *set = parse_text(ctx, "csv", "text,label\na,10\nb,9\nc,-1\nd,10\n");
  static const char *const numbers[] = {"-1", "9", "10"};
  for (int k = 0; k < 3; k++) assert_string_equal(iso_text_dataset_class_name(set, k), numbers[k]);
  assert_int_equal(iso_text_dataset_label(set, 3), 2);
  iso_text_dataset_free(set);
  set = parse_text(ctx, "csv", "text,label\na,b\nb,10\nc,9\nd,B\n");
  static const char *const names[] = {"10", "9", "B", "b"};
  for (int k = 0; k < 4; k++) assert_string_equal(iso_text_dataset_class_name(set, k), names[k]);
  assert_null(iso_text_dataset_class_name(set, 4));
  iso_text_dataset_free(set);
  /* those of another file: their order stays, and nothing else may come */
  iso_text_file_options o = {.format = "csv", .n_classes = 3, .classes = (const char *const[]){"z", "x", "y"}};
  set = parse_bytes(ctx, &o, "text,label\na,x\nb,x\n", 19);
  assert_int_equal(iso_text_dataset_label(set, 0), 1);
  assert_int_equal(iso_text_dataset_get_info(set).n_classes, 3);
  iso_text_dataset_free(set);
  assert_null(parse_bytes(ctx, &o, "text,label\na,x\nb,w\n", 19));
  expect_error(ctx, ISO_CORRUPT, "row 2 (line 3): label 'w' is unknown; the 3 known ones are z, x, y");
  o.classes = (const char *const[]){"z", "x", "z"};
  assert_null(parse_bytes(ctx, &o, "text,label\na,x\n", 15));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "class 'z' is there twice");
  o.classes = (const char *const[]){"z", "", "y"};
  assert_null(parse_bytes(ctx, &o, "text,label\na,x\n", 15));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "class 1 has no name");
  o = (iso_text_file_options){.format = "csv", .one_class = true};
  set = parse_bytes(ctx, &o, "text,label\na,x\nb,x\n", 19);
  expect_ok(ctx);
  iso_text_dataset_free(set);
  iso__context_free(ctx);
}

/* Many labels, too many to name: the message still ends. */
static void test_many_classes(void **state) {
  (void)state;
  enum { N = 3000 };
  iso_context *ctx = new_context();
  static char names[N][24];
  static const char *labels[N];
  static iso_text texts[N];
  for (int i = 0; i < N; i++) {
    snprintf(names[i], sizeof names[i], "class-%d", i * 7919 % N);
    labels[i] = names[i], texts[i] = (iso_text){names[i], strlen(names[i])};
  }
  iso_text_dataset *set = iso_text_dataset_from_memory(ctx, N, texts, labels, NULL);
  assert_int_equal(iso_text_dataset_get_info(set).n_classes, N);
  for (int i = 0; i < N; i++) expect_row(set, i, names[i], names[i]);
  for (int k = 1; k < N; k++)
    assert_true(strcmp(iso_text_dataset_class_name(set, k - 1), iso_text_dataset_class_name(set, k)) < 0);
  const iso_text_file_options o = {.n_classes = N - 1, .classes = labels};
  assert_null(iso_text_dataset_from_memory(ctx, N, texts, labels, &o));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "text 3000: label 'class-");
  assert_null(iso_text_dataset_from_memory(ctx, N, texts, labels, &o));
  expect_error(ctx, ISO_INVALID_ARGUMENT, " more");
  iso_text_dataset_free(set);
  iso__context_free(ctx);
}

/* Random rows of awkward characters, written as CSV in every way that RFC 4180 allows, come back as they were. */
static void test_round_trip(void **state) {
  (void)state;
  enum { N = 400, MAX = 40 };
  static const char characters[] = "ab,,\"\"\r\n\t \xc3\xa9\0";
  static char file[N * MAX * 5], texts[N][MAX];
  static size_t n_texts[N];
  iso_context *ctx = new_context();
  uint64_t seed = 5;
  for (int round = 0; round < 20; round++) {
    size_t at = (size_t)sprintf(file, "id,\"text\",label%s", round % 2 ? "\r\n" : "\n");
    for (int i = 0; i < N; i++) {
      bool quoted = (seed = seed * UINT64_C(6364136223846793005) + 1) >> 63;
      n_texts[i] = (size_t)(seed >> 40) % MAX;
      at += (size_t)sprintf(file + at, "%d,", i);
      for (size_t c = 0; c < n_texts[i]; c++) {
        texts[i][c] = characters[(seed = seed * UINT64_C(6364136223846793005) + 1442695) % UINT64_C(1000003) %
                                 (sizeof characters - 1)];
        quoted = quoted || (texts[i][c] != '\0' && strchr(",\"\r\n", texts[i][c]));
      }
      if (quoted) file[at++] = '"';
      for (size_t c = 0; c < n_texts[i]; c++) {
        if (texts[i][c] == '"') file[at++] = '"';
        file[at++] = texts[i][c];
      }
      if (quoted) file[at++] = '"';
      at += (size_t)sprintf(file + at, ",%d%s", i % 3, round % 2 ? "\r\n" : i + 1 < N ? "\n" : "");
    }
    iso_text_dataset *set = parse_bytes(ctx, &(iso_text_file_options){.format = "csv"}, file, at);
    expect_ok(ctx);
    assert_int_equal(iso_text_dataset_get_info(set).n_samples, N);
    for (int i = 0; i < N; i++) {
      const iso_text got = iso_text_dataset_text(set, i);
      assert_int_equal(got.n_bytes, n_texts[i]);
      assert_memory_equal(got.bytes, texts[i], n_texts[i]);
      assert_int_equal(iso_text_dataset_label(set, i), i % 3);
    }
    iso_text_dataset_free(set);
  }
  iso__context_free(ctx);
}

/* The hash is over rows: the same from another format, another one for any change. */
static void test_hash(void **state) {
  (void)state;
  iso_context *ctx = new_context();
  static const struct {
    const char *format, *content;
    bool same;
  } cases[] = {{"csv", "text,label\nab,x\nc,y\n", true},
               {"csv", "label,text\r\nx,\"ab\"\r\ny,c", true},
               {"tsv", "x\tab\ny\tc\n", true},
               {"csv", "text,label\na,x\nbc,y\n", false},
               {"csv", "text,label\nab,y\nc,x\n", false},
               {"csv", "text,label\nc,y\nab,x\n", false},
               {"csv", "text,label\nab,x\nc,z\n", false},
               {"jsonl", "{\"text\":\"ab\",\"label\":\"x\"}\n{\"text\":\"c\",\"label\":\"y\"}", true}};
  char first[33] = "";
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    iso_text_dataset *set = parse_text(ctx, cases[i].format, cases[i].content);
    expect_ok(ctx);
    const iso_text_dataset_info info = iso_text_dataset_get_info(set);
    if (i == 0) memcpy(first, info.hash, sizeof first);
    assert_int_equal(strcmp(info.hash, first) == 0, cases[i].same);
    iso_text_dataset_free(set);
  }
  iso__context_free(ctx);
}

/* Files: endings, gzip, what is missing, a limit. */
static void test_files(void **state) {
  (void)state;
  char folder[256], path[600];
  iso_context *ctx = new_context();
  make_folder(folder);
  static const char content[] = "text,label\none,a\ntwo,b\nthree,b\n";
  join(path, folder, "rows.csv.gz");
  gzFile gz = gzopen(path, "wb");
  assert_int_equal(gzwrite(gz, content, sizeof content - 1), sizeof content - 1);
  gzclose(gz);
  iso_text_dataset *zipped = iso_text_dataset_open(ctx, path, NULL);
  expect_ok(ctx);
  put_file(join(path, folder, "ROWS.CSV"), content, sizeof content - 1);
  iso_text_dataset *plain = iso_text_dataset_open(ctx, path, &(iso_text_file_options){.limit = 3});
  expect_ok(ctx);
  assert_string_equal(iso_text_dataset_get_info(zipped).hash, iso_text_dataset_get_info(plain).hash);
  iso_text_dataset *two = iso_text_dataset_open(ctx, path, &(iso_text_file_options){.limit = 2});
  assert_int_equal(iso_text_dataset_get_info(two).n_samples, 2);
  iso_text_dataset_free(zipped), iso_text_dataset_free(plain), iso_text_dataset_free(two);
  put_file(join(path, folder, "rows.txt"), content, sizeof content - 1);
  assert_null(iso_text_dataset_open(ctx, path, NULL));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "the name ends in no .csv, .tsv or .jsonl: give the format");
  assert_null(iso_text_dataset_open(ctx, path, &(iso_text_file_options){.format = "xlsx"}));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "format is 'xlsx'");
  assert_null(iso_text_dataset_open(ctx, path, &(iso_text_file_options){.format = "csv", .limit = -1}));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "limit is -1");
  assert_null(iso_text_dataset_open(ctx, join(path, folder, "none.csv"), NULL));
  expect_error(ctx, ISO_NOT_FOUND, "none.csv");
  assert_null(iso_text_dataset_open(ctx, NULL, NULL));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "the path is NULL");
  /* cut off in the middle of the gzip */
  size_t n;
  uint8_t *bytes = get_file(join(path, folder, "rows.csv.gz"), &n);
  put_file(path, bytes, n - 6);
  free(bytes);
  assert_null(iso_text_dataset_open(ctx, path, NULL));
  expect_error(ctx, ISO_CORRUPT, "cut off");
  remove_folder(folder);
  iso__context_free(ctx);
}

/* A field of 10 MB with a million quotes and lines in it. */
static void test_huge_field(void **state) {
  (void)state;
  enum { N = 10 << 20 };
  iso_context *ctx = new_context();
  char *file = malloc(N + 64);
  size_t at = (size_t)sprintf(file, "text,label\n\"");
  while (at < N) at += (size_t)sprintf(file + at, "some\n\"\"wo,rds");
  at += (size_t)sprintf(file + at, "\",a\nlast,b\nragged\n");
  assert_null(parse_bytes(ctx, &(iso_text_file_options){.format = "csv"}, file, at));
  int64_t n_lines = 0;
  for (size_t i = 0; i < at; i++) n_lines += file[i] == '\n';
  char part[64];
  snprintf(part, sizeof part, "row 3 (line %lld) has 1 fields", (long long)n_lines);
  expect_error(ctx, ISO_CORRUPT, part);
  iso_text_dataset *set = parse_bytes(ctx, &(iso_text_file_options){.format = "csv"}, file, at - 7);
  expect_ok(ctx);
  assert_true(iso_text_dataset_text(set, 0).n_bytes > 9 << 20);
  expect_row(set, 1, "last", "b");
  iso_text_dataset_free(set);
  free(file);
  iso__context_free(ctx);
}

static bool attempt_open(iso_context *ctx, void *arg) {
  iso_text_dataset *set = parse_text(ctx, arg, good[0].content);
  iso_text_dataset *half = iso_text_dataset_part(ctx, set, 0.5, 1, ISO_SPLIT_TEST);
  const bool ok = half != NULL;
  iso_text_dataset_free(half), iso_text_dataset_free(set);
  return ok;
}

static void test_without_memory(void **state) {
  (void)state;
  iso_context *ctx = new_context();
  char format[] = "csv";
  assert_true(fail_every_allocation(ctx, attempt_open, format) >= 10);
  iso__context_free(ctx);
}

/* Each class is cut in two, by the seed alone; the halves are the whole. */
static void test_part(void **state) {
  (void)state;
  enum { N = 500 };
  iso_context *ctx = new_context();
  static char names[N][32];
  static const char *labels[N];
  static iso_text texts[N];
  for (int i = 0; i < N; i++) {
    snprintf(names[i], sizeof names[i], "text %d", i);
    texts[i] = (iso_text){names[i], strlen(names[i])};
    labels[i] = i % 10 == 0 ? "rare" : "common";
  }
  iso_text_dataset *set = iso_text_dataset_from_memory(ctx, N, texts, labels, NULL);
  iso_text_dataset *train = iso_text_dataset_part(ctx, set, 0.2, 7, ISO_SPLIT_TRAIN);
  iso_text_dataset *test = iso_text_dataset_part(ctx, set, 0.2, 7, ISO_SPLIT_TEST);
  iso_text_dataset *again = iso_text_dataset_part(ctx, set, 0.2, 7, ISO_SPLIT_TEST);
  iso_text_dataset *other = iso_text_dataset_part(ctx, set, 0.2, 8, ISO_SPLIT_TEST);
  expect_ok(ctx);
  assert_int_equal(iso_text_dataset_get_info(train).n_samples, 400);
  assert_int_equal(iso_text_dataset_get_info(test).n_samples, 100);
  assert_int_equal(iso_text_dataset_get_info(test).n_classes, 2);
  assert_string_equal(iso_text_dataset_get_info(test).hash, iso_text_dataset_get_info(again).hash);
  assert_string_not_equal(iso_text_dataset_get_info(test).hash, iso_text_dataset_get_info(other).hash);
  int n_rare = 0;
  int64_t at[2] = {0, 0};
  for (int i = 0; i < N; i++) { /* in order, each row in one of them */
    const iso_text first = iso_text_dataset_text(test, at[1]);
    const bool held = first.n_bytes == texts[i].n_bytes && memcmp(first.bytes, names[i], first.n_bytes) == 0;
    expect_row(held ? test : train, at[held]++, names[i], labels[i]);
    n_rare += held && i % 10 == 0;
  }
  assert_int_equal(n_rare, 10);
  assert_null(iso_text_dataset_part(ctx, set, 1, 7, ISO_SPLIT_TEST));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "held_out is 1");
  assert_null(iso_text_dataset_part(ctx, set, 0.001, 7, ISO_SPLIT_TEST));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "this half gets none");
  iso_text_dataset_free(set), iso_text_dataset_free(train), iso_text_dataset_free(test);
  iso_text_dataset_free(again), iso_text_dataset_free(other);
  iso__context_free(ctx);
}

/* The public sets, whole. */
static void test_shared_data(void **state) {
  (void)state;
  char path[600];
  iso_context *ctx = new_context();
  iso_text_dataset *train = iso_text_dataset_open(ctx, shared_file(path, "banking77/train.csv"), NULL);
  expect_ok(ctx);
  assert_int_equal(iso_text_dataset_get_info(train).n_samples, 10003);
  assert_int_equal(iso_text_dataset_get_info(train).n_classes, 77);
  const char *classes[77];
  for (int k = 0; k < 77; k++) classes[k] = iso_text_dataset_class_name(train, k);
  iso_text_dataset *test = iso_text_dataset_open(ctx, shared_file(path, "banking77/test.csv"),
                                                 &(iso_text_file_options){.n_classes = 77, .classes = classes});
  expect_ok(ctx);
  assert_int_equal(iso_text_dataset_get_info(test).n_samples, 3080);
  int n[77] = {0};
  for (int i = 0; i < 3080; i++) n[iso_text_dataset_label(test, i)]++;
  for (int k = 0; k < 77; k++) assert_int_equal(n[k], 40);
  iso_text_dataset *snips = iso_text_dataset_open(ctx, shared_file(path, "snips/train.tsv"), NULL);
  expect_ok(ctx);
  assert_int_equal(iso_text_dataset_get_info(snips).n_samples, 13784);
  assert_int_equal(iso_text_dataset_get_info(snips).n_classes, 7);
  expect_row(snips, 0, "Add another song to the Cita Rom\xc3\xa1ntica playlist.", "AddToPlaylist");
  iso_text_dataset_free(train), iso_text_dataset_free(test), iso_text_dataset_free(snips);
  iso__context_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_accepted), cmocka_unit_test(test_refused),        cmocka_unit_test(test_columns),
      cmocka_unit_test(test_classes),  cmocka_unit_test(test_many_classes),   cmocka_unit_test(test_round_trip),
      cmocka_unit_test(test_hash),     cmocka_unit_test(test_files),          cmocka_unit_test(test_huge_field),
      cmocka_unit_test(test_part),     cmocka_unit_test(test_without_memory), cmocka_unit_test(test_shared_data),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
