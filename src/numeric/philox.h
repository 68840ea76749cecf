/* Philox4x32-10 over vec.h: VF_LANES blocks at once, for kernels that use random words where they are made (dropout)
 * and for the bulk fills. Ten rounds of two 32×32→64-bit products; the key grows by two constants each round. */
#ifndef ISO__NUMERIC_PHILOX_H
#define ISO__NUMERIC_PHILOX_H

#include "isobit/numeric.h"
#include "vec.h"

#define PHILOX_M0 0xD2511F53u
#define PHILOX_M1 0xCD9E8D57u
#define PHILOX_W0 0x9E3779B9u
#define PHILOX_W1 0xBB67AE85u

enum { PHILOX_WORDS = 4 * VF_LANES }; /* words that philox_blocks makes */

#if defined(__AVX2__)
/* The even 32-bit lanes of a vector as 64-bit ones: a round's two products are then one instruction each, with high
 * word and low word where the next round wants them. What lies in the odd lanes is never read. */
struct philox_half {
  vi c0, c1, c2, c3;
};
#  if defined(__AVX512F__)
VEC_FN vi philox_product(vi a, vi b) { return _mm512_mul_epu32(a, b); }
VEC_FN vi philox_high(vi a) { return _mm512_srli_epi64(a, 32); }
VEC_FN vi philox_xor3(vi a, vi b, vi c) { return _mm512_ternarylogic_epi32(a, b, c, 0x96); }
VEC_FN vi philox_join(vi even, vi odd) { return _mm512_mask_blend_epi32(0xAAAA, even, _mm512_slli_epi64(odd, 32)); }
#  else
VEC_FN vi philox_product(vi a, vi b) { return _mm256_mul_epu32(a, b); }
VEC_FN vi philox_high(vi a) { return _mm256_srli_epi64(a, 32); }
VEC_FN vi philox_xor3(vi a, vi b, vi c) { return _mm256_xor_si256(_mm256_xor_si256(a, b), c); }
VEC_FN vi philox_join(vi even, vi odd) { return _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xAA); }
#  endif
VEC_FN void philox_round(struct philox_half *h, uint32_t k0, uint32_t k1) {
  const vi p0 = philox_product(h->c0, vi_set1((int32_t)PHILOX_M0));
  const vi p1 = philox_product(h->c2, vi_set1((int32_t)PHILOX_M1));
  h->c0 = philox_xor3(philox_high(p1), h->c1, vi_set1((int32_t)k0)), h->c1 = p1;
  h->c2 = philox_xor3(philox_high(p0), h->c3, vi_set1((int32_t)k1)), h->c3 = p0;
}
#endif

/* Blocks first_block … first_block + VF_LANES − 1: w[j] holds word j of each. vi_interleave4 brings them to element
 * order, element 4·first_block first. */
VEC_FN void philox_blocks(const iso_philox *at, uint32_t first_block, vi w[4]) {
  uint32_t k0 = (uint32_t)at->seed, k1 = (uint32_t)(at->seed >> 32) ^ at->stream;
  vi c0 = vi_add(vi_set1((int32_t)first_block), vi_iota()), c1 = vi_set1((int32_t)at->site);
  vi c2 = vi_set1((int32_t)at->leaf), c3 = vi_set1((int32_t)at->step);
#if defined(__AVX2__)
  struct philox_half even = {c0, c1, c2, c3}, odd = {philox_high(c0), c1, c2, c3};
#  pragma GCC unroll 10
  for (int round = 0; round < 10; round++) {
    philox_round(&even, k0, k1), philox_round(&odd, k0, k1);
    k0 += PHILOX_W0, k1 += PHILOX_W1;
  }
  w[0] = philox_join(even.c0, odd.c0), w[1] = philox_join(even.c1, odd.c1);
  w[2] = philox_join(even.c2, odd.c2), w[3] = philox_join(even.c3, odd.c3);
#else
  const vi m0 = vi_set1((int32_t)PHILOX_M0), m1 = vi_set1((int32_t)PHILOX_M1);
  for (int round = 0; round < 10; round++) {
    const vi hi0 = vi_mul_hi_u32(c0, m0), lo0 = vi_mul(c0, m0);
    const vi hi1 = vi_mul_hi_u32(c2, m1), lo1 = vi_mul(c2, m1);
    c0 = vi_xor(vi_xor(hi1, c1), vi_set1((int32_t)k0)), c1 = lo1;
    c2 = vi_xor(vi_xor(hi0, c3), vi_set1((int32_t)k1)), c3 = lo0;
    k0 += PHILOX_W0, k1 += PHILOX_W1;
  }
  w[0] = c0, w[1] = c1, w[2] = c2, w[3] = c3;
#endif
}

/* u = (w >> 8)·2^−24, exact, in [0, 1) */
VEC_FN vf philox_unit(vi w) { return vf_mul(vf_from_vi(vi_srl(w, 8)), vf_set1(0x1p-24f)); }

/* Dropout's threshold rint(p·2^24): an element is kept where (word >> 8) ≥ threshold. p in [0, 1]. */
static inline int32_t philox_drop_threshold(double p) { return (int32_t)rint(p * 0x1p24); }
VEC_FN vm philox_keep(vi w, int32_t threshold) { return vi_gt(vi_srl(w, 8), vi_set1(threshold - 1)); }

#endif
