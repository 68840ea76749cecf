/* tokenizer_test.h: tokenizers from strings, and what they make of one text. */
#ifndef ISO_TESTS_TOKENIZER_TEST_H
#define ISO_TESTS_TOKENIZER_TEST_H
#include "io/io_test.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

static inline iso_tokenizer *from_vocabulary(iso_context *ctx, const char *lines, const char *config) {
  return iso__tokenizer_parse_vocabulary(ctx, "vocab.txt", lines, strlen(lines), "tokenizer_config.json", config,
                                         config ? strlen(config) : 0, false);
}
static inline iso_tokenizer *from_json(iso_context *ctx, const char *json) {
  return iso__tokenizer_parse_json(ctx, "tokenizer.json", json, strlen(json));
}

/* A text as "token[begin,end) token[begin,end) …"; false: an error, which the context keeps. */
static inline bool describe(iso_context *ctx, const iso_tokenizer *t, const void *bytes, size_t n,
                            iso_encode_options options, char *out, size_t n_out) {
  iso_encodings e;
  size_t at = 0;
  options.offsets = true;
  if (iso_tokenizer_encode(ctx, t, 1, &(iso_text){bytes, n}, &options, &e) != ISO_OK) return false;
  out[0] = 0;
  for (int64_t i = 0; i < e.begin[1] && at + 1 < n_out; i++)
    at += (size_t)snprintf(out + at, n_out - at, "%s%s[%lld,%lld)", i ? " " : "", iso_tokenizer_token(t, e.ids[i]),
                           (long long)e.offsets[i][0], (long long)e.offsets[i][1]);
  iso_encodings_free(ctx, &e);
  return true;
}

static inline void expect_tokens(iso_context *ctx, const iso_tokenizer *t, const char *text, const char *expected) {
  char out[4000];
  const bool ok = describe(ctx, t, text, strlen(text), (iso_encode_options){.no_special = true}, out, sizeof out);
  if (!ok) fail_msg("'%s': %s", text, iso_error_message(ctx));
  if (strcmp(out, expected) != 0) fail_msg("'%s' gives\n  %s, expected\n  %s", text, out, expected);
}
#endif
