/* fuzz_npz.c: zip archives of npy files. */
#include "fuzz/fuzz.h"
#include "io/archive.h"

size_t fuzz_seed(size_t index, uint8_t out[FUZZ_SEED_BYTES]) {
  static const float values[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  uint8_t npy[256];
  zip_maker zip = {.bytes = out};
  if (index >= 6) return 0;
  for (size_t i = 0; i < index % 3; i++)
    zip_add(&zip, i ? "b.npy" : "a.npy", index < 3 ? 0 : 8, npy, make_npy(npy, values, 12 - 9 * i));
  return zip_end(&zip, index == 5 ? "PK" : "");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
  fuzz_dict(iso__npz_parse, bytes, n);
  return 0;
}
