/* fuzz.h: what a fuzz target is: libFuzzer's entry, and seeds for the driver that needs no libFuzzer (standalone.c). */
#ifndef ISO_TESTS_FUZZ_H
#define ISO_TESTS_FUZZ_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "io/formats.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

/* Valid input number `index` into out; 0 where there are no more. */
enum { FUZZ_SEED_BYTES = 8192 };
size_t fuzz_seed(size_t index, uint8_t out[FUZZ_SEED_BYTES]);

#define FUZZ_CHECK(condition)                                                                                          \
  ((condition) ? (void)0 : (fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition), abort()))

/* One context for all inputs; none may need more than 64 MiB. */
static inline iso_context *fuzz_context(void) {
  static iso_context *ctx;
  if (!ctx) {
    FUZZ_CHECK(iso__context_new(NULL, NULL, 1, ISO_ISA_SCALAR, &ctx) == ISO_OK);
    iso__heap_set_limit(ctx->heap, 64 << 20);
  }
  return ctx;
}

/* The end of each input: a result exactly without an error, only a file's errors, a message, nothing left behind. */
static inline void fuzz_judge(iso_context *ctx, bool has_result, size_t live_before) {
  const iso_status code = iso_error_code(ctx);
  FUZZ_CHECK(has_result == (code == ISO_OK));
  FUZZ_CHECK(code == ISO_OK || code == ISO_CORRUPT || code == ISO_UNSUPPORTED);
  FUZZ_CHECK(code == ISO_OK || strlen(iso_error_message(ctx)) > 10);
  FUZZ_CHECK(iso_memory_get_info(ctx).live_bytes == live_before);
  iso_clear_error(ctx);
}

/* Reads all of a tensor. */
static inline void fuzz_touch(const iso_tensor *t) {
  char hex[33];
  FUZZ_CHECK(iso_tensor_hash(t, hex) == ISO_OK);
}

static inline void fuzz_tensor(iso_tensor *parse(iso_context *, const char *, const void *, size_t),
                               const uint8_t *bytes, size_t n) {
  iso_context *ctx = fuzz_context();
  const size_t live = iso_memory_get_info(ctx).live_bytes;
  iso_tensor *t = parse(ctx, "input", bytes, n);
  if (t) fuzz_touch(t);
  const bool has_result = t != NULL;
  iso_release(t);
  fuzz_judge(ctx, has_result, live);
}

static inline void fuzz_dict(iso_tensor_dict *parse(iso_context *, const char *, const void *, size_t),
                             const uint8_t *bytes, size_t n) {
  iso_context *ctx = fuzz_context();
  const size_t live = iso_memory_get_info(ctx).live_bytes;
  iso_tensor_dict *dict = parse(ctx, "input", bytes, n);
  for (size_t i = 0; dict && i < dict->n_tensors; i++) {
    fuzz_touch(dict->tensors[i].tensor);
    FUZZ_CHECK(iso_tensor_dict_find(dict, dict->tensors[i].name) == dict->tensors[i].tensor);
  }
  const bool has_result = dict != NULL;
  iso_tensor_dict_free(dict);
  fuzz_judge(ctx, has_result, live);
}

#endif
