/* fuzz_tokenizer_json.c: tokenizer.json. */
#include "fuzz/fuzz_tokenizer.h"

static const struct seed {
  const char *added, *rules;
} seeds[] = {
    {"", "\"clean_text\":true,\"handle_chinese_chars\":true,\"strip_accents\":null,\"lowercase\":true"},
    {"{\"id\":3,\"content\":\"[SEP]\",\"single_word\":false,\"lstrip\":true,\"rstrip\":true,\"normalized\":false,"
     "\"special\":true},{\"id\":13,\"content\":\"A\\u00c9\",\"single_word\":true,\"lstrip\":false,\"rstrip\":true,"
     "\"normalized\":true,\"special\":false}",
     "\"clean_text\":false,\"handle_chinese_chars\":false,\"strip_accents\":true,\"lowercase\":false"},
};

size_t fuzz_seed(size_t index, uint8_t out[FUZZ_SEED_BYTES]) {
  if (index >= sizeof seeds / sizeof *seeds) return 0;
  return (size_t)snprintf((char *)out, FUZZ_SEED_BYTES, FUZZ_TOKENIZER_JSON, seeds[index].added, seeds[index].rules);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
  iso_context *ctx = fuzz_context();
  const size_t live = iso_memory_get_info(ctx).live_bytes;
  iso_tokenizer *t = iso__tokenizer_parse_json(ctx, "input", bytes, n);
  if (t) fuzz_encode(ctx, t, bytes, n);
  const bool has_result = t != NULL;
  iso_tokenizer_free(t);
  fuzz_judge(ctx, has_result, live);
  return 0;
}
