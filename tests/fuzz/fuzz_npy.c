/* fuzz_npy.c: .npy files. */
#include "fuzz/fuzz.h"

static const char *const dicts[] = {
    "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }     \n",
    "{'descr': '>f8', 'fortran_order': True, 'shape': (3,), }\n",
    "{'descr': '|b1', 'fortran_order': True, 'shape': (2, 2, 6), }\n",
    "{\"shape\": (), 'fortran_order': False, 'descr': '<i8'}\n",
};

size_t fuzz_seed(size_t index, uint8_t out[FUZZ_SEED_BYTES]) {
  if (index >= 3 * (sizeof dicts / sizeof *dicts)) return 0;
  const char *dict = dicts[index / 3];
  const int version = (int)(index % 3) + 1;
  const size_t n = strlen(dict), n_prefix = version == 1 ? 10 : 12;
  static const size_t n_data[] = {24, 24, 24, 8};
  memset(out, 0, FUZZ_SEED_BYTES);
  memcpy(out, "\x93NUMPY", 6);
  out[6] = (uint8_t)version, out[8] = (uint8_t)n;
  memcpy(out + n_prefix, dict, n);
  return n_prefix + n + n_data[index / 3];
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
  fuzz_tensor(iso__npy_parse, bytes, n);
  return 0;
}
