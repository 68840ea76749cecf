/* fuzz_encode.c: texts of any bytes, by a tokenizer of every setting of the rules in turn. */
#include "fuzz/fuzz_tokenizer.h"

#define SEED(text)                                                                                                     \
  { text, sizeof text - 1 }
static const struct seed {
  const char *bytes;
  size_t n;
} seeds[] = {
    SEED("ab aab. [SEP]  A\xc3\x89x \xe4\xb8\xad\xe6\x96\x87 e\xcc\x81\xcc\xa3 \xed\x95\x9c\xea\xb8\x80"),
    SEED("\xf0\x9d\x85\x9e\xf0\x9d\x85\xa0\xe3\x80\xae\xcc\xa3\xe0\xaf\x8d \xc4\xb0\xc8\xba \xe2\x89\xae \xef\xac\x81"),
    SEED("aaaaaaaaaab\xff\xfe\xed\xa0\x80\xf4\x90\x80\x80\xc0\x80\x00 \t\r\n\xe2\x80\xa8\xe3\x80\x80"),
};

size_t fuzz_seed(size_t index, uint8_t out[FUZZ_SEED_BYTES]) {
  if (index >= sizeof seeds / sizeof *seeds) return 0;
  memcpy(out, seeds[index].bytes, seeds[index].n);
  return seeds[index].n;
}

static iso_tokenizer *make(iso_context *ctx, unsigned setting) {
  static const char *const words[] = {"false", "true"};
  static const char added[] =
      "{\"id\":3,\"content\":\"[SEP]\",\"single_word\":false,\"lstrip\":true,\"rstrip\":true,\"normalized\":false,"
      "\"special\":true},{\"id\":13,\"content\":\"A\\u00c9\",\"single_word\":true,\"lstrip\":true,\"rstrip\":true,"
      "\"normalized\":true,\"special\":false},{\"id\":14,\"content\":\" \",\"single_word\":false,\"lstrip\":true,"
      "\"rstrip\":false,\"normalized\":true,\"special\":false}";
  char rules[200], json[4096];
  snprintf(rules, sizeof rules, "\"clean_text\":%s,\"handle_chinese_chars\":%s,\"strip_accents\":%s,\"lowercase\":%s",
           words[setting & 1], words[setting >> 1 & 1], words[setting >> 2 & 1], words[setting >> 3 & 1]);
  const int n = snprintf(json, sizeof json, FUZZ_TOKENIZER_JSON, setting & 16 ? added : "", rules);
  iso_tokenizer *t = iso__tokenizer_parse_json(ctx, "rules", json, (size_t)n);
  FUZZ_CHECK(t != NULL);
  return t;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
  static iso_tokenizer *tokenizers[32];
  static unsigned next;
  iso_context *ctx = fuzz_context();
  iso_tokenizer **t = &tokenizers[next++ % 32];
  if (!*t) *t = make(ctx, (next - 1) % 32);
  const size_t live = iso_memory_get_info(ctx).live_bytes;
  fuzz_encode(ctx, *t, bytes, n);
  fuzz_judge(ctx, true, live);
  return 0;
}
