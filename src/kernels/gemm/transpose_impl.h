/* transpose_impl.h: WIDTH lines × WIDTH terms read as columns: r[q] = x[0·ld + q], x[1·ld + q], …
 *
 * Whole squares are gathered in quarters of 16 bytes (loads that merge, which other ports can do), so that only two of
 * four stages are shuffles; partial ones are loaded with masks and pass through all stages. */
#ifndef ISO_KERNELS_GEMM_TRANSPOSE_IMPL_H
#define ISO_KERNELS_GEMM_TRANSPOSE_IMPL_H
#include "kernels/gemm/tile_vec.h"

#if WIDTH == 16
#  define vec_unpack_low _mm512_unpacklo_ps
#  define vec_unpack_high _mm512_unpackhi_ps
#  define vec_shuffle _mm512_shuffle_ps
#else
#  define vec_unpack_low _mm256_unpacklo_ps
#  define vec_unpack_high _mm256_unpackhi_ps
#  define vec_shuffle _mm256_shuffle_ps
#endif

/* Where lines begin; those beyond the last are the last. */
typedef struct line_set {
  const float *at[WIDTH];
} line_set;
INLINE line_set lines_of(const float *x, int64_t ld, int n) {
  line_set l;
  UNROLL_16
  for (int i = 0; i < WIDTH; i++) l.at[i] = x + (i < n ? i : n - 1) * ld;
  return l;
}

/* Four terms, from term q on, of lines i, i + 4, …, one in each lane. */
INLINE vec load_quarters(const line_set *l, int64_t q, int i) {
#define LINE(j) _mm_loadu_ps(l->at[i + (j)] + q)
#if WIDTH == 16
  vec v = _mm512_castps128_ps512(LINE(0));
  v = _mm512_mask_broadcast_f32x4(v, 0x00f0, LINE(4));
  v = _mm512_mask_broadcast_f32x4(v, 0x0f00, LINE(8));
  return _mm512_mask_broadcast_f32x4(v, 0xf000, LINE(12));
#else
  return _mm256_insertf128_ps(_mm256_castps128_ps256(LINE(0)), LINE(4), 1);
#endif
#undef LINE
}

/* 4 × 4 within every lane. */
INLINE void transpose_lanes(vec *r, vec a, vec b, vec c, vec d) {
  const vec ab = vec_unpack_low(a, b), AB = vec_unpack_high(a, b), cd = vec_unpack_low(c, d),
            CD = vec_unpack_high(c, d);
  r[0] = vec_shuffle(ab, cd, 0x44);
  r[1] = vec_shuffle(ab, cd, 0xEE);
  r[2] = vec_shuffle(AB, CD, 0x44);
  r[3] = vec_shuffle(AB, CD, 0xEE);
}

/* Terms p … p + WIDTH − 1 of all lines. */
INLINE void load_transposed_lines(vec *r, const line_set *l, int64_t p) {
  UNROLL_16
  for (int q = 0; q < WIDTH; q += 4)
    transpose_lanes(r + q, load_quarters(l, p + q, 0), load_quarters(l, p + q, 1), load_quarters(l, p + q, 2),
                    load_quarters(l, p + q, 3));
}

/* n ≥ 1 lines; columns n … are copies of the last. */
INLINE void load_transposed(vec *r, const float *x, int64_t ld, int n) {
  const line_set l = lines_of(x, ld, n);
  load_transposed_lines(r, &l, 0);
}

/* The first n lines and the first `terms` terms; the rest zeros, not read. */
INLINE void load_transposed_part(vec *r, const float *x, int64_t ld, int n, int terms) {
  _Alignas(64) float square[WIDTH * WIDTH];
  const vec_mask mask = vec_mask_first(terms);
  for (int i = 0; i < WIDTH; i++) vec_store(square + i * WIDTH, i < n ? vec_load_masked(x + i * ld, mask) : vec_zero());
  load_transposed(r, square, WIDTH, WIDTH);
}
#endif
