/* text_test.h: sets of texts from strings. */
#ifndef ISO_TESTS_TEXT_TEST_H
#define ISO_TESTS_TEXT_TEST_H
#include "io/io_test.h"
#include "text/dataset.h"

/* A file's content, in memory that ends where it ends; NULL: the context has the error. */
static inline iso_text_dataset *parse_bytes(iso_context *ctx, const iso_text_file_options *o, const void *bytes,
                                            size_t n) {
  char *copy = malloc(n ? n : 1);
  assert_non_null(copy);
  memcpy(copy, bytes, n);
  iso_text_dataset *set = iso__text_parse(ctx, "test", copy, n, o);
  free(copy);
  return set;
}

static inline iso_text_dataset *parse_text(iso_context *ctx, const char *format, const char *content) {
  return parse_bytes(ctx, &(iso_text_file_options){.format = format}, content, strlen(content));
}

static inline void expect_row(const iso_text_dataset *set, int64_t i, const char *text, const char *label) {
  const iso_text got = iso_text_dataset_text(set, i);
  if (got.n_bytes != strlen(text) || memcmp(got.bytes, text, got.n_bytes) != 0)
    fail_msg("row %d is '%.*s', expected '%s'", (int)i, (int)got.n_bytes, got.bytes, text);
  const char *name = iso_text_dataset_class_name(set, iso_text_dataset_label(set, i));
  if (label) assert_string_equal(name, label);
  else assert_null(name);
}

#endif
