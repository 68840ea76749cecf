/* fuzz_vocab.c: vocab.txt, and tokenizer_config.json behind a byte 0x01. */
#include "fuzz/fuzz_tokenizer.h"

static const char *const seeds[] = {
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##a\nab\n##b\n.\n\xc3\xa9\n\xe4\xb8\xad\n",
    "[PAD]\r\n[UNK]\r\n[CLS]\r\n\r\n[SEP] \t\r\na\r\n",
    "<p>\n<u>\n<c>\n<s>\nA\n##a\n\x01{\"do_lower_case\":false,\"strip_accents\":true,\"tokenize_chinese_chars\":false,"
    "\"unk_token\":\"<u>\",\"cls_token\":{\"content\":\"<c>\"},\"sep_token\":\"<s>\",\"pad_token\":\"<p>\"}",
};

size_t fuzz_seed(size_t index, uint8_t out[FUZZ_SEED_BYTES]) {
  if (index >= sizeof seeds / sizeof *seeds) return 0;
  memcpy(out, seeds[index], strlen(seeds[index]));
  return strlen(seeds[index]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
  iso_context *ctx = fuzz_context();
  const size_t live = iso_memory_get_info(ctx).live_bytes;
  const uint8_t *config = n ? memchr(bytes, 1, n) : NULL;
  const size_t n_lines = config ? (size_t)(config - bytes) : n;
  iso_tokenizer *t = iso__tokenizer_parse_vocabulary(ctx, "vocab", bytes, n_lines, "config", config ? config + 1 : NULL,
                                                     config ? n - n_lines - 1 : 0, false);
  if (t) fuzz_encode(ctx, t, bytes, n);
  const bool has_result = t != NULL;
  iso_tokenizer_free(t);
  fuzz_judge(ctx, has_result, live);
  return 0;
}
