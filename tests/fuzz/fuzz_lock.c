/* fuzz_lock.c: lockfiles. */
#include "fuzz/fuzz.h"
#include "plan/lock.h"

static const char *const seeds[] = {
    "isobit lock 1\n",
    "isobit lock 1\n# a remark\n\ngemm f32 m8 n9 k10 -> cpu.avx2.gemm_blocked@1 class ordered ws 1.2MiB\n",
    "isobit lock 1\nconv2d.fwd f32 n64 c64 h56 w56 k64 r3 s3 p1 -> cpu.avx512.conv_igemm@1 class ordered ws 384.5KiB\n"
    "map f32 fn=add 4x5 -> cpu.avx2.map@1 class map ws 0B\n"
    "softmax.fwd f32 rows1500 n12 log1 -> cpu.avx2.softmax@12 class lanes ws 0B",
    "isobit lock 1\nnonsense.fwd x -> y@1 class z ws w\nnonsense.fwd x -> y@2 class z ws w\n"};

size_t fuzz_seed(size_t index, uint8_t out[FUZZ_SEED_BYTES]) {
  if (index >= sizeof seeds / sizeof seeds[0]) return 0;
  memcpy(out, seeds[index], strlen(seeds[index]));
  return strlen(seeds[index]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
  iso_context *ctx = fuzz_context();
  const size_t live = iso_memory_get_info(ctx).live_bytes;
  iso__lock *lock = iso__lock_parse(ctx, "input", bytes, n);
  for (size_t i = 0; lock && i < lock->n_lines; i++) {
    const iso__lock_line *line = &lock->line[i], *first;
    FUZZ_CHECK(line->number > 1 && line->revision >= 0);
    FUZZ_CHECK(strlen(line->engine) && strlen(line->class_name) && strlen(line->workspace));
    FUZZ_CHECK(strlen(line->problem) + strlen(line->engine) < n);
    const size_t n_same = iso__lock_find(lock, line->problem, &first); /* found where it is printed as it is written */
    FUZZ_CHECK(first >= lock->line && first + n_same <= lock->line + lock->n_lines);
  }
  const bool has_result = lock != NULL;
  iso__lock_release(lock);
  fuzz_judge(ctx, has_result, live);
  return 0;
}
