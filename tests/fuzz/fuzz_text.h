/* fuzz_text.h: files of rows, of one format, as any choice of columns. */
#ifndef ISO_TESTS_FUZZ_TEXT_H
#define ISO_TESTS_FUZZ_TEXT_H
#include "base/hash.h"
#include "fuzz/fuzz.h"
#include "text/dataset.h"

static inline void fuzz_rows_once(const iso_text_file_options *o, const uint8_t *bytes, size_t n) {
  iso_context *ctx = fuzz_context();
  const size_t live = iso_memory_get_info(ctx).live_bytes;
  char *copy = malloc(n ? n : 1); /* it ends where the input ends, and may be changed */
  FUZZ_CHECK(copy != NULL);
  memcpy(copy, bytes, n);
  iso_text_dataset *set = iso__text_parse(ctx, "input", copy, n, o);
  free(copy);
  const iso_text_dataset_info info = iso_text_dataset_get_info(set);
  FUZZ_CHECK(!set || info.n_samples > 0);
  size_t n_bytes = 0;
  for (int64_t i = 0; i < info.n_samples; i++) {
    const iso_text text = iso_text_dataset_text(set, i);
    n_bytes += text.n_bytes;
    FUZZ_CHECK(iso__hash64(text.bytes, text.n_bytes) == iso__hash64(text.bytes, text.n_bytes)); /* reads all */
    const int label = iso_text_dataset_label(set, i);
    FUZZ_CHECK(o->no_labels ? label == -1 : label >= 0 && label < info.n_classes);
    FUZZ_CHECK(o->no_labels || strlen(iso_text_dataset_class_name(set, label)) > 0);
  }
  FUZZ_CHECK(n_bytes <= n); /* texts are parts of the file, unquoted */
  const bool has_result = set != NULL;
  iso_text_dataset_free(set);
  fuzz_judge(ctx, has_result, live);
}

static inline void fuzz_rows(const char *format, const uint8_t *bytes, size_t n) {
  static const char *const known[] = {"a", "b"};
  fuzz_rows_once(&(iso_text_file_options){.format = format, .one_class = true}, bytes, n);
  fuzz_rows_once(&(iso_text_file_options){.format = format, .no_labels = true, .text_column = "1"}, bytes, n);
  fuzz_rows_once(&(iso_text_file_options){.format = format, .n_classes = 2, .classes = known, .limit = 2}, bytes, n);
}

static inline size_t fuzz_text_seed(const char *const *seeds, size_t n_seeds, size_t index,
                                    uint8_t out[FUZZ_SEED_BYTES]) {
  if (index >= n_seeds) return 0;
  const size_t n = strlen(seeds[index]);
  memcpy(out, seeds[index], n);
  return n;
}
#endif
