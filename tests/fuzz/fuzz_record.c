/* fuzz_record.c: the store's records, as they are and with a checksum that fits: a hostile writer can compute one. */
#include "fuzz/fuzz.h"
#include "base/hash.h"
#include "plan/store.h"

static const char head[] = "isobit plan 1\nproblem gemm f32 m8 n9 k10\ncpu x\nisa avx2\nthreads 2\n"
                           "engine cpu.a@1 class ordered\nengine cpu.b@2 class ordered\n";
enum { N_ENGINES = 2, N_HEAD = sizeof head - 1, CHECK_BYTES = 39 };

size_t fuzz_seed(size_t index, uint8_t out[FUZZ_SEED_BYTES]) {
  char text[ISO__RECORD_BYTES];
  if (index >= 3) return 0;
  memcpy(text, head, N_HEAD);
  const iso__record record = {.n_engines = N_ENGINES,
                              .chosen = index == 1,
                              .timing = {{12345, 67, 5}, {index == 2 ? 0 : 2345, 7, index == 2 ? 0 : 15}},
                              .n_samples = 20,
                              .n_rejected = (int)index,
                              .load_percent = 132};
  const size_t n = iso__record_end(text, N_HEAD, &record);
  memcpy(out, text, n);
  return n;
}

static void judge(const char *bytes, size_t n) {
  iso__record record;
  if (!iso__record_parse(bytes, n, head, N_HEAD, N_ENGINES, &record)) return;
  FUZZ_CHECK(iso__record_is_whole(bytes, n));
  FUZZ_CHECK(record.chosen >= 0 && record.chosen < N_ENGINES && record.timing[record.chosen].n_samples > 0);
  for (int i = 0; i < N_ENGINES; i++)
    FUZZ_CHECK(record.timing[i].ns >= 0 && record.timing[i].ns < 1e15 && record.timing[i].n_samples >= 0);
  FUZZ_CHECK(record.n_samples >= 0 && record.n_rejected >= 0 && record.load_percent >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
  judge((const char *)bytes, n);
  if (n < CHECK_BYTES) return 0;
  char *forged = malloc(n + 1), hex[33];
  FUZZ_CHECK(forged != NULL);
  memcpy(forged, bytes, n - CHECK_BYTES);
  iso__hash_format(iso__hash_bytes(bytes, n - CHECK_BYTES), hex);
  snprintf(forged + n - CHECK_BYTES, CHECK_BYTES + 1, "check %s\n", hex);
  judge(forged, n);
  free(forged);
  return 0;
}
