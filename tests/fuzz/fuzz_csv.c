/* fuzz_csv.c: CSV files of texts. */
#include "fuzz/fuzz_text.h"

static const char *const seeds[] = {
    "text,label\none,a\n\"two, \"\"quoted\"\"\r\nlines\",b\r\n,a\n",
    "\xef\xbb\xbfid,category,text\r1,a,x\r2,b,\"\"\r",
    "a,b\nb,a\n\n\n\"\",\"\"",
};

size_t fuzz_seed(size_t index, uint8_t out[FUZZ_SEED_BYTES]) {
  return fuzz_text_seed(seeds, sizeof seeds / sizeof *seeds, index, out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
  fuzz_rows("csv", bytes, n);
  return 0;
}
