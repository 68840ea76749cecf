/* fuzz_tsv.c: TSV files of texts. */
#include "fuzz/fuzz_text.h"

static const char *const seeds[] = {
    "a\tone\nb\ttwo \"x\" \r\n",
    "text\tid\tlabel\nx\t1\ta\n\t2\tb\r\n",
    "alone\n\nlines\n",
};

size_t fuzz_seed(size_t index, uint8_t out[FUZZ_SEED_BYTES]) {
  return fuzz_text_seed(seeds, sizeof seeds / sizeof *seeds, index, out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
  fuzz_rows("tsv", bytes, n);
  return 0;
}
