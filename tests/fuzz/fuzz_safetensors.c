/* fuzz_safetensors.c: safetensors files. A mutated header rarely keeps its length, so each input is also read with the
 * length that its text has: what the JSON says is then always reached. */
#include "fuzz/fuzz.h"

static const char *const headers[] = {
    "{}",
    "{\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]}}",
    ("{\"__metadata__\":{\"k\":\"v\",\"x\":\"\"},\"b\":{\"dtype\":\"BOOL\",\"shape\":[4],\"data_offsets\":[20,24]},"
     "\"a\":{\"dtype\":\"BF16\",\"shape\":[5,2,1],\"data_offsets\":[0,20]},\"c\":{\"dtype\":\"I64\",\"shape\":[0],"
     "\"data_offsets\":[24,24]}}   "),
    "{\"x\":{\"shape\":[],\"dtype\":\"F64\",\"data_offsets\":[0,8]},\"y\":{\"data_offsets\":[8,24],\"dtype\":\"U8\","
    "\"shape\":[16]}}",
};

static size_t data_bytes(const char *header) { return header[1] == '}' ? 0 : 24; }

size_t fuzz_seed(size_t index, uint8_t out[FUZZ_SEED_BYTES]) {
  if (index >= sizeof headers / sizeof *headers) return 0;
  const size_t n = strlen(headers[index]);
  memset(out, 0, FUZZ_SEED_BYTES);
  out[0] = (uint8_t)n, out[1] = (uint8_t)(n >> 8);
  memcpy(out + 8, headers[index], n);
  return 8 + n + data_bytes(headers[index]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
  fuzz_dict(iso__safetensors_parse, bytes, n);
  size_t end = n;
  while (end > 8 && bytes[end - 1] != '}') end--;
  if (end <= 8) return 0;
  uint8_t *copy = malloc(n);
  FUZZ_CHECK(copy != NULL);
  memcpy(copy, bytes, n);
  for (int i = 0; i < 8; i++) copy[i] = (uint8_t)((uint64_t)(end - 8) >> 8 * i);
  fuzz_dict(iso__safetensors_parse, copy, n);
  free(copy);
  return 0;
}
