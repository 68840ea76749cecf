/* fuzz_gzip.c: the stream reader. An input is read as gzip and as bare deflate; and as plain bytes it must come back
 * equal from its own compression, whatever the sizes of the reads. */
#include "fuzz/fuzz.h"
#include "io/archive.h"

size_t fuzz_seed(size_t index, uint8_t out[FUZZ_SEED_BYTES]) {
  uint8_t plain[600];
  if (index >= 4) return 0;
  for (size_t i = 0; i < sizeof plain; i++) plain[i] = (uint8_t)(index & 1 ? i * i >> 3 : i / 40);
  size_t n = compress_bytes(plain, sizeof plain, index < 2 ? 31 : -15, out, 2000);
  if (index == 1) n += compress_bytes(plain, 50, 31, out + n, 2000);
  return n;
}

/* Reads until an error, in steps that grow; what was claimed as the bound holds. */
static void read_as(iso__stream_kind kind, const uint8_t *bytes, size_t n) {
  uint8_t block[4096];
  iso_context *ctx = fuzz_context();
  const size_t live = iso_memory_get_info(ctx).live_bytes;
  const iso__source source = iso__source_memory("input", bytes, n);
  iso__stream stream;
  FUZZ_CHECK(iso__stream_open(ctx, &source, 0, n, kind, &stream));
  const uint64_t bound = iso__stream_bound(&stream);
  uint64_t n_read = 0, step = 1;
  while (n_read < 1 << 20 && iso__stream_read(&stream, block, step, "data")) {
    n_read += step;
    step = step % sizeof block * 3 % sizeof block + 1;
  }
  FUZZ_CHECK(n_read <= bound);
  iso__stream_close(&stream);
  fuzz_judge(ctx, iso_error_code(ctx) == ISO_OK, live);
}

static void compress_and_read(const uint8_t *bytes, size_t n) {
  const size_t room = n + n / 100 + 256;
  uint8_t *packed = malloc(room), *back = malloc(n + 1);
  FUZZ_CHECK(packed && back);
  const size_t n_packed = compress_bytes(bytes, n, 31, packed, room);
  iso_context *ctx = fuzz_context();
  const size_t live = iso_memory_get_info(ctx).live_bytes;
  const iso__source source = iso__source_memory("input", packed, n_packed);
  iso__stream stream;
  FUZZ_CHECK(iso__stream_open_any(ctx, &source, &stream));
  FUZZ_CHECK(iso__stream_bound(&stream) >= n);
  for (size_t at = 0, step; at < n; at += step) {
    step = at % 61 + 1 < n - at ? at % 61 + 1 : n - at;
    FUZZ_CHECK(iso__stream_read(&stream, back + at, step, "data"));
  }
  FUZZ_CHECK(iso__stream_finish(&stream));
  FUZZ_CHECK(memcmp(back, bytes, n) == 0);
  iso__stream_close(&stream);
  fuzz_judge(ctx, true, live);
  free(packed);
  free(back);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
  read_as(ISO__STREAM_GZIP, bytes, n);
  read_as(ISO__STREAM_DEFLATE, bytes, n);
  if (n > 0) compress_and_read(bytes, n);
  return 0;
}
