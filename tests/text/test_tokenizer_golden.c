/* test_tokenizer_golden.c: ids and offsets are those of Hugging Face `tokenizers`, as tests/text/make_golden.py wrote
 * them down: hostile texts one by one, and every code point by digests. */
#include <jansson.h>
#include "text/tokenizer_test.h"

#define GOLDEN "tests/text/golden/"

static iso_tokenizer *open_golden(iso_context *ctx, const char *name) {
  char path[200];
  snprintf(path, sizeof path, GOLDEN "%s.json", name);
  iso_tokenizer *t = iso_tokenizer_open(ctx, path, NULL);
  expect_ok(ctx);
  return t;
}

static void compare_case(const json_t *line, const iso_encodings *e, const char *name, int number) {
  const json_t *ids = json_object_get(line, "i"), *offsets = json_object_get(line, "o");
  const size_t n = (size_t)(e->begin[number + 1] - e->begin[number]);
  if (json_array_size(ids) != n)
    fail_msg("%s, line %d: %zu tokens, expected %zu", name, number + 1, n, json_array_size(ids));
  for (size_t i = 0; i < n; i++) {
    const int64_t at = e->begin[number] + (int64_t)i, id = json_integer_value(json_array_get(ids, i));
    const int64_t begin = json_integer_value(json_array_get(offsets, 2 * i));
    const int64_t end = json_integer_value(json_array_get(offsets, 2 * i + 1));
    if (e->ids[at] != id || e->offsets[at][0] != begin || e->offsets[at][1] != end)
      fail_msg("%s, line %d, token %zu: id %d of %lld to %lld, expected %lld of %lld to %lld", name, number + 1, i,
               e->ids[at], (long long)e->offsets[at][0], (long long)e->offsets[at][1], (long long)id, (long long)begin,
               (long long)end);
  }
}

enum { MOST_CASES = 256 };

static void compare_cases(iso_context *ctx, const char *name) {
  char path[200];
  size_t n_bytes, n = 0;
  iso_text texts[MOST_CASES];
  json_t *lines[MOST_CASES];
  iso_encodings e;
  iso_tokenizer *t = open_golden(ctx, name);
  snprintf(path, sizeof path, GOLDEN "%s.cases", name);
  uint8_t *file = get_file(path, &n_bytes);
  for (uint8_t *at = file, *end; at < file + n_bytes; at = end + 1) {
    end = memchr(at, '\n', (size_t)(file + n_bytes - at));
    assert_non_null(end);
    assert_true(n < MOST_CASES);
    lines[n] = json_loadb((char *)at, (size_t)(end - at), JSON_ALLOW_NUL, NULL);
    const json_t *text = json_object_get(lines[n], "t");
    texts[n++] = (iso_text){json_string_value(text), json_string_length(text)};
  }
  assert_true(n > 100);
  assert_int_equal(iso_tokenizer_encode(ctx, t, (int64_t)n, texts, &(iso_encode_options){.offsets = true}, &e), ISO_OK);
  for (size_t i = 0; i < n; i++) compare_case(lines[i], &e, name, (int)i);
  assert_int_equal(e.n_invalid, 0);
  iso_encodings_free(ctx, &e);
  for (size_t i = 0; i < n; i++) json_decref(lines[i]);
  free(file);
  iso_tokenizer_free(t);
}

static void test_texts(void **state) {
  (void)state;
  iso_context *ctx = new_context();
  const size_t live = iso_memory_get_info(ctx).live_bytes;
  static const char *const names[] = {"lower", "cased", "raw", "added"};
  for (size_t i = 0; i < 4; i++) compare_cases(ctx, names[i]);
  assert_int_equal(iso_memory_get_info(ctx).live_bytes, live);
  iso__context_free(ctx);
}

/* ---- every code point ---- */

enum { BLOCK = 4096, N_BLOCKS = 0x110000 / BLOCK };

static uint64_t digest(iso_context *ctx, const iso_tokenizer *t, uint32_t first) {
  static char bytes[BLOCK][6];
  static iso_text texts[BLOCK];
  int64_t n = 0;
  for (uint32_t c = first; c < first + BLOCK; c++) {
    if (c >= 0xD800 && c < 0xE000) continue;
    size_t n_bytes = 0;
    bytes[n][n_bytes++] = 'a';
    n_bytes += iso__utf8_put(c, (uint8_t *)bytes[n] + 1);
    bytes[n][n_bytes++] = 'a';
    texts[n] = (iso_text){bytes[n], n_bytes};
    n++;
  }
  iso_encodings e;
  assert_int_equal(iso_tokenizer_encode(ctx, t, n, texts, &(iso_encode_options){.offsets = true}, &e), ISO_OK);
  uint64_t h = 0xCBF29CE484222325u;
  for (int64_t i = 0; i < n; i++) {
    for (int64_t k = e.begin[i]; k < e.begin[i + 1]; k++) h = (h ^ (uint64_t)e.ids[k]) * 0x100000001B3u;
    for (int64_t k = 2 * e.begin[i]; k < 2 * e.begin[i + 1]; k++)
      h = (h ^ (uint64_t)e.offsets[k / 2][k % 2]) * 0x100000001B3u;
  }
  iso_encodings_free(ctx, &e);
  return h;
}

static void test_code_points(void **state) {
  (void)state;
  iso_context *ctx = new_context();
  size_t n_bytes;
  char *file = (char *)get_file(GOLDEN "all.digests", &n_bytes), *at = file, *rest;
  int n_names = 0;
  file[n_bytes] = 0;
  for (char *name; (name = strtok_r(at, " \n", &rest)); at = NULL, n_names++) {
    iso_tokenizer *t = open_golden(ctx, name);
    for (uint32_t k = 0; k < N_BLOCKS; k++) {
      const char *expected = strtok_r(NULL, " \n", &rest);
      char hex[20];
      snprintf(hex, sizeof hex, "%016llx", (unsigned long long)digest(ctx, t, k * BLOCK));
      if (!expected || strcmp(hex, expected) != 0) fail_msg("%s: code points from U+%04X on differ", name, k * BLOCK);
    }
    iso_tokenizer_free(t);
  }
  assert_int_equal(n_names, 4);
  free(file);
  iso__context_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_texts), cmocka_unit_test(test_code_points)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
