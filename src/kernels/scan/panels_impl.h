/* panels_impl.h: scans in panels, class `scan`; included once per instruction set, which names its exports by
 * ISA(name).
 *
 * A panel is one chain of dependent operations, so eight of them run side by side, of one row or of eight: an 8×8 tile
 * is transposed, eight additions advance all chains, and the tile is transposed back. Their carries join in a second
 * pass while y is in the cache. Log-sum-exps fill whole vectors with chains, by way of a buffer, since there a step is
 * fifty instructions. In f64 four chains interleave in scalar registers. */
#include <immintrin.h>
#include "base/pool.h"
#include "kernels/scan/combine.h"
#include "numeric/order.h"

enum {
  CHAINS = 16,
  TILE = 8,
  WAVE_PANELS = 256,
  GRAIN_PANELS = 16,
  GRAIN_ELEMENTS = 32768,
  COLUMN_BLOCK = 512,
  BUFFER_STEPS = 64
};

/* One panel: its first element; the others follow, or go before it in a reversed scan. */
#define CHAIN(real, name)                                                                                              \
  typedef struct name {                                                                                                \
    const real *x;                                                                                                     \
    real *y;                                                                                                           \
    int64_t n;                                                                                                         \
    real total;                                                                                                        \
  } name
CHAIN(float, chain_f32);
CHAIN(double, chain_f64);

/* ---- f32: sums and products, eight chains a tile ---- */

/* Rows and columns change places; the loads have merged halves, so only two of three stages are shuffles. */
VEC_FN void tile_load(__m256 *r, const float *const *x, int64_t at) {
#define HALVES(q, offset)                                                                                              \
  _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(x[q] + at + (offset))),                                     \
                       _mm_loadu_ps(x[q + 4] + at + (offset)), 1)
  for (int h = 0; h < 2; h++) {
    const __m256 a = HALVES(0, 4 * h), b = HALVES(1, 4 * h), c = HALVES(2, 4 * h), d = HALVES(3, 4 * h);
    const __m256 e = _mm256_unpacklo_ps(a, b), f = _mm256_unpackhi_ps(a, b);
    const __m256 g = _mm256_unpacklo_ps(c, d), i = _mm256_unpackhi_ps(c, d);
    r[4 * h] = _mm256_shuffle_ps(e, g, 0x44), r[4 * h + 1] = _mm256_shuffle_ps(e, g, 0xEE);
    r[4 * h + 2] = _mm256_shuffle_ps(f, i, 0x44), r[4 * h + 3] = _mm256_shuffle_ps(f, i, 0xEE);
  }
#undef HALVES
}
VEC_FN void tile_store(const __m256 *r, float *const *y, int64_t at) {
  for (int h = 0; h < 2; h++) {
    const __m256 *t = r + 4 * h;
    const __m256 e = _mm256_unpacklo_ps(t[0], t[1]), f = _mm256_unpackhi_ps(t[0], t[1]);
    const __m256 g = _mm256_unpacklo_ps(t[2], t[3]), i = _mm256_unpackhi_ps(t[2], t[3]);
    const __m256 rows[4] = {_mm256_shuffle_ps(e, g, 0x44), _mm256_shuffle_ps(e, g, 0xEE), _mm256_shuffle_ps(f, i, 0x44),
                            _mm256_shuffle_ps(f, i, 0xEE)};
    for (int q = 0; q < 4; q++) {
      _mm_storeu_ps(y[q] + at + 4 * h, _mm256_castps256_ps128(rows[q]));
      _mm_storeu_ps(y[q + 4] + at + 4 * h, _mm256_extractf128_ps(rows[q], 1));
    }
  }
}

/* Steps begin … end − 1 of eight chains that all have them; run (8) goes on. */
VEC_FN void tiles(bool multiply, bool reverse, const float *const *x, float *const *y, int64_t begin, int64_t end,
                  float *run) {
  __m256 r[TILE], sums = _mm256_loadu_ps(run);
  for (int64_t i = begin; i + TILE <= end; i += TILE) {
    const int64_t at = reverse ? -(i + TILE - 1) : i;
    tile_load(r, x, at);
    for (int k = 0; k < TILE; k++) {
      const int j = reverse ? TILE - 1 - k : k;
      r[j] = sums = multiply ? _mm256_mul_ps(sums, r[j]) : _mm256_add_ps(sums, r[j]);
    }
    tile_store(r, y, at);
  }
  _mm256_storeu_ps(run, sums);
}
/* At most eight chains. The shortest end first; in the places of those that ended another one runs twice. */
VEC_FN void tile_chains(bool multiply, bool reverse, chain_f32 *c, int m) {
  float run[TILE];
  int64_t done = 0;
  for (int q = 0; q < TILE; q++) run[q] = multiply;
  for (;;) {
    const float *x[TILE];
    float *y[TILE], lane[TILE];
    int64_t end = INT64_MAX;
    int alive = -1;
    for (int q = 0; q < m; q++)
      if (c[q].n > done) alive = q, end = c[q].n < end ? c[q].n : end;
    if (alive < 0) return;
    for (int q = 0; q < TILE; q++) {
      const int from = q < m && c[q].n > done ? q : alive;
      x[q] = c[from].x, y[q] = c[from].y, lane[q] = run[from];
    }
    tiles(multiply, reverse, x, y, done, end, lane);
    for (int q = 0; q < m; q++) {
      if (c[q].n <= done) continue;
      run[q] = lane[q];
      for (int64_t i = done + (end - done) / TILE * TILE; i < end; i++) {
        const int64_t at = reverse ? -i : i;
        run[q] = multiply ? run[q] * c[q].x[at] : run[q] + c[q].x[at];
        c[q].y[at] = run[q];
      }
      c[q].total = run[q];
    }
    done = end;
  }
}

/* ---- f32: log-sum-exps, a chain a lane ---- */

VEC_FN void log_chains(bool reverse, chain_f32 *c, int m) {
  float buffer[BUFFER_STEPS * VF_LANES];
  vf run = vf_set1(neutral_of(ISO__SCAN_LOGSUMEXP));
  int64_t longest = 0;
  for (int q = 0; q < m; q++) longest = c[q].n > longest ? c[q].n : longest;
  for (int64_t i = 0; i < longest; i += BUFFER_STEPS) {
    const int64_t steps = longest - i < BUFFER_STEPS ? longest - i : BUFFER_STEPS;
    for (int64_t s = 0; s < steps * VF_LANES; s++) buffer[s] = neutral_of(ISO__SCAN_LOGSUMEXP);
    for (int q = 0; q < m; q++)
      for (int64_t s = 0; s < steps && i + s < c[q].n; s++)
        buffer[s * VF_LANES + q] = c[q].x[reverse ? -(i + s) : i + s];
    for (int64_t s = 0; s < steps; s++) {
      run = combine_vector(ISO__SCAN_LOGSUMEXP, run, vf_load(buffer + s * VF_LANES));
      vf_store(buffer + s * VF_LANES, run);
    }
    for (int q = 0; q < m; q++)
      for (int64_t s = 0; s < steps && i + s < c[q].n; s++)
        c[q].total = c[q].y[reverse ? -(i + s) : i + s] = buffer[s * VF_LANES + q];
  }
}

static void run_chains_f32(iso__scan_fn fn, bool reverse, chain_f32 *c, int m) {
  const int width = fn == ISO__SCAN_LOGSUMEXP ? VF_LANES : TILE;
  for (int q = 0; q < m; q += width) {
    const int k = m - q < width ? m - q : width;
    switch (2 * (int)fn + reverse) {
    case 2 * ISO__SCAN_SUM: tile_chains(false, false, c + q, k); break;
    case 2 * ISO__SCAN_SUM + 1: tile_chains(false, true, c + q, k); break;
    case 2 * ISO__SCAN_PROD: tile_chains(true, false, c + q, k); break;
    case 2 * ISO__SCAN_PROD + 1: tile_chains(true, true, c + q, k); break;
    default: log_chains(reverse, c + q, k); break;
    }
  }
}

VEC_FN void add_carry_as(iso__scan_fn fn, float carry, float *y, int64_t n) {
  const vf c = vf_set1(carry);
  int64_t i = 0;
  for (; i + VF_LANES <= n; i += VF_LANES) vf_store(y + i, combine_vector(fn, c, vf_load(y + i)));
  if (i < n) vf_store_n(y + i, combine_vector(fn, c, vf_load_n(y + i, (size_t)(n - i))), (size_t)(n - i));
}
static void add_carry_f32(iso__scan_fn fn, float carry, float *y, int64_t n) {
  switch (fn) {
  case ISO__SCAN_SUM: add_carry_as(ISO__SCAN_SUM, carry, y, n); break;
  case ISO__SCAN_PROD: add_carry_as(ISO__SCAN_PROD, carry, y, n); break;
  default: add_carry_as(ISO__SCAN_LOGSUMEXP, carry, y, n); break;
  }
}
VEC_FN void column_step_f32(iso__scan_fn fn, float *run, const float *carry, const float *x, float *y, int64_t m) {
  int64_t j = 0;
  for (; j + VF_LANES <= m; j += VF_LANES) {
    const vf r = combine_vector(fn, vf_load(run + j), vf_load(x + j));
    vf_store(run + j, r), vf_store(y + j, combine_vector(fn, vf_load(carry + j), r));
  }
  if (j < m) {
    const size_t left = (size_t)(m - j);
    const vf r = combine_vector(fn, vf_load_n(run + j, left), vf_load_n(x + j, left));
    vf_store_n(run + j, r, left), vf_store_n(y + j, combine_vector(fn, vf_load_n(carry + j, left), r), left);
  }
}

/* ---- f64 ---- */

VEC_FN void four_chains(iso__scan_fn fn, int64_t step, chain_f64 *c) {
  const double *x0 = c[0].x, *x1 = c[1].x, *x2 = c[2].x, *x3 = c[3].x;
  double *y0 = c[0].y, *y1 = c[1].y, *y2 = c[2].y, *y3 = c[3].y;
  double r0 = (double)neutral_of(fn), r1 = r0, r2 = r0, r3 = r0;
  for (int64_t i = 0, at = 0; i < c[0].n; i++, at += step) {
    y0[at] = r0 = combine_f64(fn, r0, x0[at]);
    y1[at] = r1 = combine_f64(fn, r1, x1[at]);
    y2[at] = r2 = combine_f64(fn, r2, x2[at]);
    y3[at] = r3 = combine_f64(fn, r3, x3[at]);
  }
  c[0].total = r0, c[1].total = r1, c[2].total = r2, c[3].total = r3;
}
VEC_FN void chains_as(iso__scan_fn fn, bool reverse, chain_f64 *c, int m) {
  const int64_t step = reverse ? -1 : 1;
  for (int q = 0; q < m;) {
    if (m - q >= 4 && c[q].n == c[q + 1].n && c[q].n == c[q + 2].n && c[q].n == c[q + 3].n) {
      four_chains(fn, step, c + q);
      q += 4;
      continue;
    }
    double run = (double)neutral_of(fn);
    for (int64_t i = 0; i < c[q].n; i++) c[q].y[i * step] = run = combine_f64(fn, run, c[q].x[i * step]);
    c[q++].total = run;
  }
}
static void run_chains_f64(iso__scan_fn fn, bool reverse, chain_f64 *c, int m) {
  switch (fn) {
  case ISO__SCAN_SUM: chains_as(ISO__SCAN_SUM, reverse, c, m); break;
  case ISO__SCAN_PROD: chains_as(ISO__SCAN_PROD, reverse, c, m); break;
  default: chains_as(ISO__SCAN_LOGSUMEXP, reverse, c, m); break;
  }
}
static void add_carry_f64(iso__scan_fn fn, double carry, double *y, int64_t n) {
  if (fn == ISO__SCAN_SUM)
    for (int64_t i = 0; i < n; i++) y[i] = carry + y[i];
  else if (fn == ISO__SCAN_PROD)
    for (int64_t i = 0; i < n; i++) y[i] = carry * y[i];
  else
    for (int64_t i = 0; i < n; i++) y[i] = combine_f64(fn, carry, y[i]);
}
VEC_FN void column_step_f64(iso__scan_fn fn, double *restrict run, const double *restrict carry,
                            const double *restrict x, double *restrict y, int64_t m) {
  for (int64_t j = 0; j < m; j++) run[j] = combine_f64(fn, run[j], x[j]), y[j] = combine_f64(fn, carry[j], run[j]);
}

#include "numeric/real_f32.h"
#include "kernels/scan/panels_body.h"
#include "numeric/real_f64.h"
#include "kernels/scan/panels_body.h"

void ISA(iso__scan_panels_run)(const iso__call *call) {
  if (call->problem->dtype == ISO_F64) run_f64(call);
  else run_f32(call);
}
