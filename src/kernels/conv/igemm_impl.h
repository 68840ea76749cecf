/* igemm_impl.h: micro-tiles and weight packing of the implicit product for one instruction set.
 *
 * Included by igemm_avx2.c (6×16) and igemm_avx512.c (12×32) with MR defined. A is read in place, one broadcast for
 * each row and k from that row's own pointer: channels-last makes k contiguous, so packing A would only add a
 * transposition. B strips are packed once a call. The chain of a chunk stays in registers; panel and total sums wait in
 * 2 × MR × NR floats of the thread's workspace, in L1. */
#include "kernels/conv/igemm.h"
#include "kernels/conv/transpose8.h"
#include "numeric/unroll.h"
#include "numeric/vec.h"
#include <immintrin.h>

enum { NV = 2, NR = NV * VF_LANES, AHEAD = 16, LINE_FLOATS = 16 };

/* A store needs its line first: called while the products before it run. */
VEC_FN void prefetch_rows(const float *y, const int64_t *offset, const int mr, const int nv) {
  UNROLL_16 for (int i = 0; i < mr; i++) {
    __builtin_prefetch(y + offset[i], 1, 3);
    if (nv * VF_LANES > 16) __builtin_prefetch(y + offset[i] + 16, 1, 3);
  }
}

VEC_FN vf activate(vf v, const bool relu) {
  return relu ? vf_max(vf_zero(), v) : v; /* NaN stays: the second operand; no sum here is −0 */
}

/* The last, narrower columns: none beyond them is read or written. */
VEC_FN void finish_part(const iso__conv_tile *t, const vf *v, const int i, const int nv) {
  UNROLL_16 for (int j = 0; j < nv; j++) {
    const int at = j * VF_LANES, left = t->n_columns - at;
    const size_t n = left >= VF_LANES ? VF_LANES : left > 0 ? (size_t)left : 0;
    vf x = v[j];
    if (!n) continue;
    if (t->bias) x = vf_add(x, vf_load_n(t->bias + at, n));
    if (t->residual) x = vf_add(x, vf_load_n(t->residual + t->out_offset[i] + at, n));
    vf_store_n(t->y + t->out_offset[i] + at, activate(x, t->relu), n);
  }
}

/* Bias, residual and activation after the fold; rows beyond the matrix are not written. */
VEC_FN void finish(const iso__conv_tile *t, vf v[MR][NV], const int mr, const int nv) {
  if (t->n_columns < nv * VF_LANES) {
    UNROLL_16 for (int i = 0; i < mr; i++) if (i < t->n_rows) finish_part(t, v[i], i, nv);
    return;
  }
  if (t->bias) UNROLL_16 for (int j = 0; j < nv; j++) {
      const vf bias = vf_load(t->bias + j * VF_LANES);
      UNROLL_16 for (int i = 0; i < mr; i++) v[i][j] = vf_add(v[i][j], bias);
    }
  if (t->residual) UNROLL_16 for (int i = 0; i < mr; i++) {
      const float *residual = t->residual + t->out_offset[i < t->n_rows ? i : 0];
      UNROLL_16 for (int j = 0; j < nv; j++) v[i][j] = vf_add(v[i][j], vf_load(residual + j * VF_LANES));
    }
  if (t->relu)
    UNROLL_16 for (int i = 0; i < mr; i++) UNROLL_16 for (int j = 0; j < nv; j++) v[i][j] = activate(v[i][j], true);
  UNROLL_16 for (int i = 0; i < mr; i++) if (i < t->n_rows) UNROLL_16 for (int j = 0; j < nv; j++)
      vf_store(t->y + t->out_offset[i] + j * VF_LANES, v[i][j]);
}

/* `gathered`: the table has every k's offset; else those of a segment are neighbours. */
VEC_FN void tile(const iso__conv_tile *t, const int mr, const int nv, const bool gathered) {
  float *panel = t->sums, *total = t->sums + MR * NR;
  bool in_panel = false, in_total = false;
  vf acc[MR][NV];
  prefetch_rows(t->y, t->next_offset, mr, nv);
  UNROLL_16 for (int i = 0; i < mr; i++) UNROLL_16 for (int j = 0; j < nv; j++) acc[i][j] = vf_zero();
  for (int64_t s = 0; s < t->n_segments; s++) {
    const iso__conv_segment *g = &t->segments[s];
    const float *source = t->source + (gathered ? 0 : g->offset), *a[MR], *b = t->b + g->k * (nv * VF_LANES);
    const int32_t *table = gathered ? t->table + g->k : NULL;
    UNROLL_16 for (int i = 0; i < mr; i++) a[i] = source + t->row_offset[i];
    for (int64_t k = 0; k < g->n; k++, b += nv * VF_LANES) {
      const int64_t at = gathered ? table[k] : k;
      vf bv[NV];
      UNROLL_16 for (int j = 0; j < nv; j++) bv[j] = vf_load(b + j * VF_LANES);
      UNROLL_16 for (int j = 0; j < nv * VF_LANES; j += LINE_FLOATS)
          __builtin_prefetch(b + AHEAD * nv * VF_LANES + j, 0, 3);
      UNROLL_16 for (int i = 0; i < mr; i++) {
        const vf av = vf_set1(a[i][at]);
        UNROLL_16 for (int j = 0; j < nv; j++) acc[i][j] = vf_fma(av, bv[j], acc[i][j]);
      }
    }
    if (s + 1 == t->n_segments || g->fold == ISO__FOLD_NONE) continue;
    UNROLL_16 for (int i = 0; i < mr; i++) UNROLL_16 for (int j = 0; j < nv; j++) {
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
  if (in_panel) {
    UNROLL_16 for (int i = 0; i < mr; i++) UNROLL_16 for (int j = 0; j < nv; j++) acc[i][j] =
        vf_add(vf_load(panel + (i * nv + j) * VF_LANES), acc[i][j]);
  } else {
    UNROLL_16 for (int i = 0; i < mr; i++) UNROLL_16 for (int j = 0; j < nv; j++) acc[i][j] =
        vf_add(vf_zero(), acc[i][j]);
  }
  if (in_total)
    UNROLL_16 for (int i = 0; i < mr; i++) UNROLL_16 for (int j = 0; j < nv; j++) acc[i][j] =
        vf_add(vf_load(total + (i * nv + j) * VF_LANES), acc[i][j]);
  finish(t, acc, mr, nv);
}

#define TILE(height, nv)                                                                                               \
  static void tile_##height##_##nv(const iso__conv_tile *t) { tile(t, MR / 3 * height, nv, false); }                   \
  static void gathered_##height##_##nv(const iso__conv_tile *t) { tile(t, MR / 3 * height, nv, true); }
TILE(3, 2)
TILE(2, 2)
TILE(1, 2)
TILE(3, 1)
TILE(2, 1)
TILE(1, 1)

/* ---- packing B ---- */

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

/* w of the tap that is number `tap` of the product. */
static const float *tap_of(const iso__conv_product *g, const float *w, int64_t tap) {
  const iso_conv_problem *p = g->problem;
  const int64_t t = g->plane.first_tap + tap / g->col.n_taps / g->row.n_taps * g->plane.tap_stride;
  const int64_t r = g->row.first_tap + tap / g->col.n_taps % g->row.n_taps * g->row.tap_stride;
  const int64_t s = g->col.first_tap + tap % g->col.n_taps * g->col.tap_stride;
  return w + ((t * p->r + r) * p->s + s) * g->width;
}

/* n channels of one tap, `ld` apart: whole vectors and the rest of a strip. */
static vf pack_tap(const float *from, int64_t ld, int n_columns, int strip, int64_t n, vf sum, float *b) {
  const size_t rest = (size_t)(n_columns % VF_LANES);
  for (int64_t i = 0; i < n; i++, from += ld, b += strip)
    for (int j = 0; j < strip; j += VF_LANES) {
      const int left = n_columns - j;
      const vf v = left >= VF_LANES ? vf_load(from + j) : left > 0 ? vf_load_n(from + j, rest) : vf_zero();
      sum = vf_fma(v, vf_zero(), sum);
      vf_store(b + j, v);
    }
  return sum;
}

/* bwd_data: B[(tap plane, row, column, channel)][j] = w[channel][tap plane][row][column][column + j]. */
static bool pack_copying(const iso__conv_product *g, const float *w, int n_columns, int strip, int64_t k0, int64_t k1,
                         float *b) {
  const iso_conv_problem *p = g->problem;
  const int64_t ld = p->t * p->r * p->s * g->width;
  vf sum = vf_zero();
  for (int64_t k = k0, end; k < k1; b += (end - k) * strip, k = end) {
    const int64_t tap = k / g->depth, channel = k % g->depth;
    end = k1 < (tap + 1) * g->depth ? k1 : (tap + 1) * g->depth;
    sum = pack_tap(tap_of(g, w, tap) + channel * ld, ld, n_columns, strip, end - k, sum, b);
  }
  return !vm_any(vf_isnan(sum));
}

static bool pack(const iso__conv_product *g, const float *w, int64_t column, int n_columns, int strip, int64_t k0,
                 int64_t k1, float *b) {
  if (g->transposed) return pack_copying(g, w + column, n_columns, strip, k0, k1, b);
  const int64_t ld = iso__conv_k(g);
  return pack_transposing(w + column * ld + k0, ld, n_columns, strip, k1 - k0, b);
}

static void copy_strip(const float *from, int64_t pitch, int strip, int64_t n, float *to) {
  if (strip == NR) {
    for (int64_t i = 0; i < n; i++, from += pitch, to += NR)
      UNROLL_16 for (int j = 0; j < NR; j += VF_LANES) vf_store(to + j, vf_load(from + j));
  } else {
    for (int64_t i = 0; i < n; i++, from += pitch, to += VF_LANES) vf_store(to, vf_load(from));
  }
}

/* ---- channels-first images ---- */

static void interleave(const float *from, int64_t plane, int64_t n_channels, int64_t n, float *to) {
  int64_t c = 0;
  for (; c + 8 <= n_channels; c += 8) {
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
      __m256 r[8];
      for (int j = 0; j < 8; j++) r[j] = _mm256_loadu_ps(from + (c + j) * plane + i);
      transpose8(r);
      for (int j = 0; j < 8; j++) _mm256_storeu_ps(to + (i + j) * n_channels + c, r[j]);
    }
    for (; i < n; i++)
      for (int j = 0; j < 8; j++) to[i * n_channels + c + j] = from[(c + j) * plane + i];
  }
  if (n_channels == 3) { /* colours */
    const float *g = from + plane, *b = g + plane;
    for (int64_t i = 0; i < n; i++) to[3 * i] = from[i], to[3 * i + 1] = g[i], to[3 * i + 2] = b[i];
    return;
  }
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = c; j < n_channels; j++) to[i * n_channels + j] = from[j * plane + i];
}
