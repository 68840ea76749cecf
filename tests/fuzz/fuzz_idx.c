/* fuzz_idx.c: idx files as they lie; fuzz_gzip.c has the compressed ones. */
#include "fuzz/fuzz.h"

size_t fuzz_seed(size_t index, uint8_t out[FUZZ_SEED_BYTES]) {
  static const uint8_t headers[][16] = {{0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4},
                                        {0, 0, 8, 1, 0, 0, 0, 5},
                                        {0, 0, 12, 2, 0, 0, 0, 2, 0, 0, 0, 3},
                                        {0, 0, 13, 1, 0, 0, 0, 1},
                                        {0, 0, 14, 1, 0, 0, 0, 0}};
  static const size_t n_header[] = {16, 8, 12, 8, 8}, n_data[] = {24, 5, 24, 4, 0};
  if (index >= 5) return 0;
  memset(out, 7, FUZZ_SEED_BYTES);
  memcpy(out, headers[index], n_header[index]);
  return n_header[index] + n_data[index];
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
  fuzz_tensor(iso__idx_parse, bytes, n);
  return 0;
}
