/* igemm_impl.h: micro-tiles and weight packing of the implicit product for one instruction set.
 *
 * Included by igemm_avx2.c (6×16) and igemm_avx512.c (12×32) with MR defined. A is read in place, one broadcast for
 * each row and k from that row's own pointer: channels-last makes k contiguous, so packing A would only add a
 * transposition. B strips are packed once a call. The chain of a chunk stays in registers; chunk and panel sums wait in
 * 2 × MR × NR floats of stack, in L1. */
#include "kernels/conv/igemm.h"
#include "numeric/vec.h"
#include <immintrin.h>

enum { NV = 2, NR = NV * VF_LANES };
#if defined(__clang__)
#  define UNROLL _Pragma("clang loop unroll(full)")
#else
#  define UNROLL _Pragma("GCC unroll 16")
#endif

/* v = fold so far; bias, residual and activation; store. Rows and columns beyond the matrix are neither read nor
 * written. */
VEC_FN void tile_finish(const iso__conv_tile *t, vf *v, const int i, const int nv) {
  if (i >= t->n_rows) return;
  UNROLL for (int j = 0; j < nv; j++) {
    const int at = j * VF_LANES, left = t->n_columns - at;
    const size_t n = left >= VF_LANES ? VF_LANES : left > 0 ? (size_t)left : 0;
    float *y = t->y + t->out_offset[i] + at;
    if (n == VF_LANES) {
      if (t->bias) v[j] = vf_add(v[j], vf_load(t->bias + at));
      if (t->residual) v[j] = vf_add(v[j], vf_load(t->residual + t->out_offset[i] + at));
      if (t->relu) v[j] = vf_max(vf_zero(), v[j]); /* NaN stays: the second operand; no sum here is −0 */
      vf_store(y, v[j]);
    } else if (n) {
      if (t->bias) v[j] = vf_add(v[j], vf_load_n(t->bias + at, n));
      if (t->residual) v[j] = vf_add(v[j], vf_load_n(t->residual + t->out_offset[i] + at, n));
      if (t->relu) v[j] = vf_max(vf_zero(), v[j]);
      vf_store_n(y, v[j], n);
    }
  }
}

/* `strided`: neighbouring k of A and B are a_step and b_step floats apart; else 1 and the strip's width. */
VEC_FN void tile(const iso__conv_tile *t, const int mr, const int nv, const bool strided) {
  const int64_t a_step = strided ? t->a_step : 1, b_step = strided ? t->b_step : nv * VF_LANES;
  float *panel = t->sums, *total = t->sums + MR * NR;
  bool in_panel = false, in_total = false;
  vf acc[MR][NV];
  UNROLL for (int i = 0; i < mr; i++) UNROLL for (int j = 0; j < nv; j++) acc[i][j] = vf_zero();
  for (int64_t s = 0; s < t->n_segments; s++) {
    const iso__conv_segment *g = &t->segments[s];
    const float *source = t->source + g->offset, *a[MR], *b = t->b + g->k * b_step;
    UNROLL for (int i = 0; i < mr; i++) a[i] = source + t->row_offset[i];
    const int64_t end = g->n * a_step;
    for (int64_t k = 0; k < end; k += a_step, b += b_step) {
      vf bv[NV];
      UNROLL for (int j = 0; j < nv; j++) bv[j] = vf_load(b + j * VF_LANES);
      UNROLL for (int i = 0; i < mr; i++) {
        const vf av = vf_set1(a[i][k]);
        UNROLL for (int j = 0; j < nv; j++) acc[i][j] = vf_fma(av, bv[j], acc[i][j]);
      }
    }
    if (s + 1 == t->n_segments || g->fold == ISO__FOLD_NONE) continue;
    UNROLL for (int i = 0; i < mr; i++) UNROLL for (int j = 0; j < nv; j++) {
      float *at = panel + (i * nv + j) * VF_LANES;
      vf_store(at, vf_add(in_panel ? vf_load(at) : vf_zero(), acc[i][j]));
      acc[i][j] = vf_zero();
    }
    in_panel = true;
    if (g->fold != ISO__FOLD_PANEL) continue;
    for (int i = 0; i < mr * nv * VF_LANES; i += VF_LANES)
      vf_store(total + i, vf_add(in_total ? vf_load(total + i) : vf_zero(), vf_load(panel + i)));
    in_panel = false;
    in_total = true;
  }
  UNROLL for (int i = 0; i < mr; i++) {
    UNROLL for (int j = 0; j < nv; j++) {
      const int at = (i * nv + j) * VF_LANES;
      acc[i][j] = vf_add(in_panel ? vf_load(panel + at) : vf_zero(), acc[i][j]);
      if (in_total) acc[i][j] = vf_add(vf_load(total + at), acc[i][j]);
    }
    tile_finish(t, acc[i], i, nv);
  }
}

#define TILE(height, nv)                                                                                               \
  static void tile_##height##_##nv(const iso__conv_tile *t) { tile(t, MR / 3 * height, nv, false); }                   \
  static void strided_##height##_##nv(const iso__conv_tile *t) { tile(t, MR / 3 * height, nv, true); }
TILE(3, 2)
TILE(2, 2)
TILE(1, 2)
TILE(3, 1)
TILE(2, 1)
TILE(1, 1)

/* ---- packing B ---- */

static inline void transpose8(__m256 *r) {
  __m256 t[8], u[8];
  UNROLL for (int i = 0; i < 4; i++) {
    t[2 * i] = _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]);
    t[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]);
  }
  UNROLL for (int h = 0; h < 2; h++) {
    u[4 * h + 0] = _mm256_shuffle_ps(t[4 * h], t[4 * h + 2], 0x44);
    u[4 * h + 1] = _mm256_shuffle_ps(t[4 * h], t[4 * h + 2], 0xEE);
    u[4 * h + 2] = _mm256_shuffle_ps(t[4 * h + 1], t[4 * h + 3], 0x44);
    u[4 * h + 3] = _mm256_shuffle_ps(t[4 * h + 1], t[4 * h + 3], 0xEE);
  }
  UNROLL for (int i = 0; i < 4; i++) {
    r[i] = _mm256_permute2f128_ps(u[i], u[i + 4], 0x20);
    r[i + 4] = _mm256_permute2f128_ps(u[i], u[i + 4], 0x31);
  }
}

/* Forward: B[k][j] = w[column + j][k]. A sum of 0·value stays 0 while values are finite. */
static bool pack_transposing(const float *w, int64_t ld, int n_columns, int strip, int64_t n, float *b) {
  __m256 sum = _mm256_setzero_ps();
  const __m256 zero = _mm256_setzero_ps();
  float rest = 0;
  for (int j = 0; j < strip; j += 8) {
    const int columns = n_columns - j < 8 ? n_columns - j : 8;
    int64_t k = 0;
    for (; k + 8 <= n; k += 8) {
      __m256 r[8];
      for (int i = 0; i < 8; i++) {
        r[i] = i < columns ? _mm256_loadu_ps(w + (j + i) * ld + k) : zero;
        sum = _mm256_fmadd_ps(r[i], zero, sum);
      }
      transpose8(r);
      for (int i = 0; i < 8; i++) _mm256_store_ps(b + (k + i) * strip + j, r[i]);
    }
    for (; k < n; k++)
      for (int i = 0; i < 8; i++) {
        const float v = i < columns ? w[(j + i) * ld + k] : 0;
        b[k * strip + j + i] = v;
        rest += 0 * v;
      }
  }
  const __m256 bad = _mm256_cmp_ps(sum, zero, _CMP_NEQ_UQ);
  return _mm256_testz_ps(bad, bad) && rest == 0;
}

/* bwd_data: B[(tap row, tap column, channel)][j] = w[channel][tap row][tap column][column + j]. */
static bool pack_copying(const iso__conv_product *g, const float *w, int n_columns, int strip, int64_t k0, int64_t k1,
                         float *b) {
  const iso_conv_problem *p = g->problem;
  const int64_t ld = p->r * p->s * g->width;
  vf sum = vf_zero();
  int64_t channel = k0 % g->depth, tap = k0 / g->depth;
  for (int64_t k = k0; k < k1; k++, b += strip) {
    const int64_t r = g->row.first_tap + tap / g->col.n_taps * g->row.tap_stride;
    const int64_t s = g->col.first_tap + tap % g->col.n_taps * g->col.tap_stride;
    const float *from = w + channel * ld + (r * p->s + s) * g->width;
    for (int j = 0; j < strip; j += VF_LANES) {
      const int left = n_columns - j;
      const vf v = left >= VF_LANES ? vf_load(from + j) : left > 0 ? vf_load_n(from + j, (size_t)left) : vf_zero();
      sum = vf_fma(v, vf_zero(), sum);
      vf_store(b + j, v);
    }
    if (++channel == g->depth) channel = 0, tap++;
  }
  return !vm_any(vf_isnan(sum));
}

static bool pack(const iso__conv_product *g, const float *w, int64_t column, int n_columns, int strip, int64_t k0,
                 int64_t k1, float *b) {
  if (g->transposed) return pack_copying(g, w + column, n_columns, strip, k0, k1, b);
  const int64_t ld = iso__conv_k(g);
  return pack_transposing(w + column * ld + k0, ld, n_columns, strip, k1 - k0, b);
}
