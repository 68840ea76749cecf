/* fuzz_jsonl.c: JSONL files of texts. */
#include "fuzz/fuzz_text.h"

static const char *const seeds[] = {
    "{\"text\": \"one\", \"label\": \"a\"}\n\n{\"label\": 3, \"text\": \"\\u00e9\\n\\u0000\"}\n",
    "{\"1\": \"x\", \"class\": \"b\", \"text\": \"\", \"more\": [1, 2.5e3, {\"k\": null}]}\r\n",
};

size_t fuzz_seed(size_t index, uint8_t out[FUZZ_SEED_BYTES]) {
  return fuzz_text_seed(seeds, sizeof seeds / sizeof *seeds, index, out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
  fuzz_rows("jsonl", bytes, n);
  return 0;
}
