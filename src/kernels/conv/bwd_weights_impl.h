/* bwd_weights_impl.h: packing for one instruction set; included by bwd_weights_avx2.c and bwd_weights_avx512.c. */
#include "kernels/conv/bwd_weights.h"
#include "kernels/conv/transpose8.h"
#include "numeric/vec.h"

static void pack_columns(const iso__conv_run *runs, int n_runs, int64_t step, int n_columns, int strip, float *b) {
  const bool full = n_columns == 2 * VF_LANES;
  for (int i = 0; i < n_runs; i++) {
    const float *x = runs[i].x;
    const int n = runs[i].n;
    if (!x) {
      for (int at = 0; at < n * strip; at += VF_LANES) vf_store(b + at, vf_zero());
      b += n * strip;
    } else if (full) {
      for (int pos = 0; pos < n; pos++, x += step, b += 2 * VF_LANES) {
        vf_store(b, vf_load(x));
        vf_store(b + VF_LANES, vf_load(x + VF_LANES));
      }
    } else {
      for (int pos = 0; pos < n; pos++, x += step, b += strip)
        for (int at = 0; at < strip; at += VF_LANES)
          vf_store(b + at, at < n_columns ? vf_load_n(x + at, (size_t)(n_columns - at)) : vf_zero());
    }
  }
}

/* Eight columns of n positions, `step` floats apart. */
static void pack_eight(const float *x, int64_t step, int64_t plane, int n, int strip, float *b) {
  int pos = 0;
  for (; step == 1 && pos + 8 <= n; pos += 8) {
    __m256 r[8];
    for (int j = 0; j < 8; j++) r[j] = _mm256_loadu_ps(x + j * plane + pos);
    transpose8(r);
    for (int j = 0; j < 8; j++) _mm256_storeu_ps(b + (pos + j) * strip, r[j]);
  }
  for (; pos < n; pos++)
    for (int j = 0; j < 8; j++) b[pos * strip + j] = x[j * plane + pos * step];
}

static void pack_columns_first(const iso__conv_run *runs, int n_runs, int64_t step, int64_t plane, int n_columns,
                               int strip, float *b) {
  for (int i = 0; i < n_runs; i++) {
    const float *x = runs[i].x;
    const int n = runs[i].n, whole = x ? n_columns / 8 * 8 : 0;
    for (int j = 0; j < whole; j += 8) pack_eight(x + j * plane, step, plane, n, strip, b + j);
    for (int pos = 0; pos < n; pos++)
      for (int j = whole; j < strip; j++) b[pos * strip + j] = x && j < n_columns ? x[j * plane + pos * step] : 0;
    b += n * strip;
  }
}

/* `rows` channels of n positions. Whole vectors are stored, so that a row's store ends in the next row, which follows;
 * only the last row keeps within the strip. `last`: nothing may be read behind the channels either. */
static void pack_tile(const float *dy, int64_t pitch, int64_t rows, int64_t n, bool ends, bool last, float *a) {
  const size_t valid = (size_t)rows;
  const int64_t whole = last ? 0 : ends ? n - 1 : n;
  int64_t pos = 0;
  for (; pos < whole; pos++, dy += pitch, a += rows) vf_store(a, vf_load(dy));
  for (; pos < n; pos++, dy += pitch, a += rows) vf_store_n(a, vf_load_n(dy, valid), valid);
}

/* A few positions at a time, so that dy is read along its rows. */
static void pack_tall(const float *dy, int64_t pitch, int64_t n_channels, int64_t n_terms, float *a) {
  enum { POSITIONS = 16 };
  const int64_t n_tiles = iso__tile_count(n_channels, MAX_ROWS);
  for (int64_t at = 0; at < n_terms; at += POSITIONS)
    for (int64_t tile = 0; tile < n_tiles; tile++) {
      const int64_t i = iso__tile_begin(n_channels, n_tiles, tile),
                    rows = iso__tile_begin(n_channels, n_tiles, tile + 1) - i;
      const bool ends = at + POSITIONS >= n_terms;
      pack_tile(dy + at * pitch + i, pitch, rows, ends ? n_terms - at : POSITIONS, ends, i + VF_LANES > n_channels,
                a + i * n_terms + at * rows);
    }
}

static bool pack_rows(const iso__conv_run *runs, int n_runs, const float *dy, int64_t pitch, int n, int64_t a_step,
                      float *a) {
  vf sum = vf_zero(); /* of 0·value: 0 while the values passed over are finite */
  for (int i = 0; i < n_runs; i++) {
    const float *from = dy + runs[i].pos * pitch;
    for (int pos = 0; pos < runs[i].n; pos++, from += pitch) {
      int at = 0;
      if (!runs[i].x) {
        for (; at + VF_LANES <= n; at += VF_LANES) sum = vf_fma(vf_load(from + at), vf_zero(), sum);
        if (at < n) sum = vf_fma(vf_load_n(from + at, (size_t)(n - at)), vf_zero(), sum);
        continue;
      }
      for (; at + VF_LANES <= n; at += VF_LANES) vf_store(a + at, vf_load(from + at));
      if (at < n) vf_store_n(a + at, vf_load_n(from + at, (size_t)(n - at)), (size_t)(n - at));
      a += a_step;
    }
  }
  return !vm_any(vf_isnan(sum));
}
