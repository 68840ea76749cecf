/* Philox4x32-10 over vec.h: VF_LANES blocks at once, for kernels that use random words where they are made (dropout)
 * and for the bulk fills. Ten rounds of two 32×32→64-bit products; the key grows by two constants each round. */
#ifndef ISO__NUMERIC_PHILOX_H
#define ISO__NUMERIC_PHILOX_H

#include "isobit/numeric.h"
#include "unroll.h"
#include "vec.h"

#define PHILOX_M0 0xD2511F53u
#define PHILOX_M1 0xCD9E8D57u
#define PHILOX_W0 0x9E3779B9u
#define PHILOX_W1 0xBB67AE85u

/* One block, and the block and the word of a place. */
static inline ISO__HD void philox_block(const uint32_t key[2], const uint32_t counter[4], uint32_t words[4]) {
  uint32_t k0 = key[0], k1 = key[1], c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
  for (int round = 0; round < 10; round++, k0 += PHILOX_W0, k1 += PHILOX_W1) {
    const uint64_t p0 = (uint64_t)PHILOX_M0 * c0, p1 = (uint64_t)PHILOX_M1 * c2;
    c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, c1 = (uint32_t)p1;
    c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1, c3 = (uint32_t)p0;
  }
  words[0] = c0, words[1] = c1, words[2] = c2, words[3] = c3;
}
static inline ISO__HD void philox_block_at(const iso_philox *at, uint32_t block, uint32_t words[4]) {
  const uint32_t key[2] = {(uint32_t)at->seed, (uint32_t)(at->seed >> 32) ^ at->stream};
  const uint32_t counter[4] = {block, at->site, at->leaf, at->step};
  philox_block(key, counter, words);
}
static inline ISO__HD uint32_t philox_word(const iso_philox *at, uint64_t element) {
  uint32_t words[4];
  philox_block_at(at, (uint32_t)(element >> 2), words);
  return words[element & 3];
}

/* philox_elements makes PHILOX_WORDS words in PHILOX_VECTORS vectors. */
#if defined(__AVX2__)
enum { PHILOX_GROUPS = 4, PHILOX_VECTORS = 2 * PHILOX_GROUPS };
#else
enum { PHILOX_VECTORS = 4 };
#endif
enum { PHILOX_WORDS = (int)PHILOX_VECTORS * (int)VF_LANES };

#if defined(__AVX2__)
/* A group of blocks, one in each 64-bit lane, whose four words are the lanes' low halves: a round's two products are
 * then one instruction each, with high and low word where the next round wants them. What the upper halves hold is
 * never read. Lanes are numbered so that one level of unpacking brings the words to element order. */
#  if defined(__AVX512F__)
VEC_FN vi philox_lanes(void) { return _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7); }
VEC_FN vi philox_product(vi a, vi b) { return _mm512_mul_epu32(a, b); }
VEC_FN vi philox_high(vi a) { return _mm512_srli_epi64(a, 32); }
VEC_FN vi philox_xor3(vi a, vi b, vi c) { return _mm512_ternarylogic_epi32(a, b, c, 0x96); }
/* Lower half: a's upper half, b and c; upper half: a's lower half. */
VEC_FN vi philox_swap_xor3(vi a, vi b, vi c) {
  return _mm512_mask_ternarylogic_epi32(_mm512_shuffle_epi32(a, 0xB1), 0x5555, b, c, 0x96);
}
VEC_FN vi philox_raise(vi a) { return _mm512_slli_epi64(a, 32); }
VEC_FN vi philox_blend(vi low, vi high) { return _mm512_mask_blend_epi32(0xAAAA, low, high); }
VEC_FN void philox_unpack(vi w[2]) {
  const vi a = w[0], b = w[1];
  w[0] = _mm512_unpacklo_epi64(a, b), w[1] = _mm512_unpackhi_epi64(a, b);
}
#  else
VEC_FN vi philox_lanes(void) { return _mm256_setr_epi64x(0, 2, 1, 3); }
VEC_FN vi philox_product(vi a, vi b) { return _mm256_mul_epu32(a, b); }
VEC_FN vi philox_high(vi a) { return _mm256_srli_epi64(a, 32); }
VEC_FN vi philox_xor3(vi a, vi b, vi c) { return _mm256_xor_si256(_mm256_xor_si256(b, c), a); }
VEC_FN vi philox_swap_xor3(vi a, vi b, vi c) {
  const vi swapped = _mm256_shuffle_epi32(a, 0xB1);
  return _mm256_blend_epi32(swapped, philox_xor3(swapped, b, c), 0x55);
}
VEC_FN vi philox_raise(vi a) { return _mm256_slli_epi64(a, 32); }
VEC_FN vi philox_blend(vi low, vi high) { return _mm256_blend_epi32(low, high, 0xAA); }
VEC_FN void philox_unpack(vi w[2]) {
  const vi a = w[0], b = w[1];
  w[0] = _mm256_unpacklo_epi64(a, b), w[1] = _mm256_unpackhi_epi64(a, b);
}
#  endif
VEC_FN vi philox_set1(uint32_t a) { return vi_set1((int32_t)a); }

/* What all blocks of a stream share, made once: keys on their way through the rounds, spread over vectors. In the first
 * two rounds all but one of a block's words are the same for every block, too. */
struct philox_stream {
  vi step, leaf, site[2], keys[8][2];
};
static inline ISO__HD struct philox_stream philox_begin(const iso_philox *at) {
  struct philox_stream s;
  uint32_t k0 = (uint32_t)at->seed, k1 = (uint32_t)(at->seed >> 32) ^ at->stream;
  const uint64_t leaf = (uint64_t)PHILOX_M1 * at->leaf;
  const uint64_t site = (uint64_t)PHILOX_M0 * ((uint32_t)(leaf >> 32) ^ at->site ^ k0);
  s.step = philox_set1(at->step ^ k1);
  k0 += PHILOX_W0, k1 += PHILOX_W1;
  s.leaf = philox_set1((uint32_t)leaf ^ k0);
  s.site[0] = philox_set1((uint32_t)(site >> 32) ^ k1), s.site[1] = philox_set1((uint32_t)site);
  for (int round = 0; round < 8; round++) {
    k0 += PHILOX_W0, k1 += PHILOX_W1;
    s.keys[round][0] = philox_set1(k0), s.keys[round][1] = philox_set1(k1);
  }
  return s;
}

/* Groups of VF_LANES/2 blocks, first_block the first's first: w[2g] holds words 0 and 1 of group g, w[2g+1] words 2 and
 * 3. They take turns, since a round waits longer than it works. */
VEC_FN void philox_groups(const struct philox_stream *s, uint32_t first_block, vi w[PHILOX_VECTORS]) {
  const vi m0 = philox_set1(PHILOX_M0), m1 = philox_set1(PHILOX_M1);
  vi c0[PHILOX_GROUPS], c1[PHILOX_GROUPS], c2[PHILOX_GROUPS], c3[PHILOX_GROUPS];
  UNROLL_4
  for (int g = 0; g < PHILOX_GROUPS; g++) {
    const vi block = vi_add(philox_lanes(), philox_set1(first_block + (uint32_t)g * (VF_LANES / 2)));
    const vi p0 = philox_product(block, m0), p1 = philox_product(vi_xor(philox_high(p0), s->step), m1);
    c0[g] = vi_xor(philox_high(p1), s->leaf), c1[g] = p1, c2[g] = vi_xor(p0, s->site[0]), c3[g] = s->site[1];
  }
  UNROLL_16
  for (int round = 0; round < 7; round++) UNROLL_4
  for (int g = 0; g < PHILOX_GROUPS; g++) {
    const vi p0 = philox_product(c0[g], m0), p1 = philox_product(c2[g], m1);
    c0[g] = philox_xor3(philox_high(p1), c1[g], s->keys[round][0]), c1[g] = p1;
    c2[g] = philox_xor3(philox_high(p0), c3[g], s->keys[round][1]), c3[g] = p0;
  }
  UNROLL_4
  for (int g = 0; g < PHILOX_GROUPS; g++) {
    const vi p0 = philox_product(c0[g], m0), p1 = philox_product(c2[g], m1);
    w[2 * g] = philox_swap_xor3(p1, c1[g], s->keys[7][0]);
    w[2 * g + 1] = philox_swap_xor3(p0, c3[g], s->keys[7][1]);
  }
}
/* Two groups' pairs of words (a0|a1), (b0|b1) in 64-bit lanes to (a0|b0), (a1|b1), and back. */
VEC_FN void philox_transpose(vi *a, vi *b) {
  const vi first = philox_blend(*a, philox_raise(*b));
  *b = philox_blend(philox_high(*a), *b), *a = first;
}

/* PHILOX_WORDS words in element order, element 4·first_block first. */
VEC_FN void philox_elements(const struct philox_stream *s, uint32_t first_block, vi w[PHILOX_VECTORS]) {
  philox_groups(s, first_block, w);
  UNROLL_4
  for (int g = 0; g < PHILOX_GROUPS; g++) philox_unpack(w + 2 * g);
}
/* The same words, w[4h + j]: word j of each of VF_LANES blocks, in an order of their own, out of which philox_order
 * brings them, or what was made of them, to element order. */
VEC_FN void philox_words(const struct philox_stream *s, uint32_t first_block, vi w[PHILOX_VECTORS]) {
  philox_groups(s, first_block, w);
  for (vi *q = w; q < w + PHILOX_VECTORS; q += 4) {
    const vi b = q[1];
    q[1] = q[2], q[2] = b;
    philox_transpose(&q[0], &q[1]), philox_transpose(&q[2], &q[3]);
  }
}
VEC_FN void philox_order(vi w[PHILOX_VECTORS]) {
  for (vi *q = w; q < w + PHILOX_VECTORS; q += 4) {
    philox_transpose(&q[0], &q[1]), philox_transpose(&q[2], &q[3]);
    const vi b = q[1];
    q[1] = q[2], q[2] = b;
    philox_unpack(q), philox_unpack(q + 2);
  }
}
#else
struct philox_stream {
  uint32_t key[2], site, leaf, step;
};
static inline ISO__HD struct philox_stream philox_begin(const iso_philox *at) {
  return (struct philox_stream){.key = {(uint32_t)at->seed, (uint32_t)(at->seed >> 32) ^ at->stream},
                                .site = at->site,
                                .leaf = at->leaf,
                                .step = at->step};
}
VEC_FN void philox_elements(const struct philox_stream *s, uint32_t first_block, vi w[PHILOX_VECTORS]) {
  const uint32_t counter[4] = {first_block, s->site, s->leaf, s->step};
  uint32_t words[4];
  philox_block(s->key, counter, words);
  for (int j = 0; j < 4; j++) w[j] = (vi)words[j];
}
VEC_FN void philox_words(const struct philox_stream *s, uint32_t first_block, vi w[PHILOX_VECTORS]) {
  philox_elements(s, first_block, w);
}
VEC_FN void philox_order(vi w[PHILOX_VECTORS]) { (void)w; }
#endif

/* u = (w >> 8)·2^−24, exact, in [0, 1) */
VEC_FN vf philox_unit(vi w) { return vf_mul(vf_from_vi(vi_srl(w, 8)), vf_set1(0x1p-24f)); }

/* Dropout's threshold rint(p·2^24): an element is kept where (word >> 8) ≥ threshold. p in [0, 1]. */
static inline ISO__HD int32_t philox_drop_threshold(double p) { return (int32_t)rint(p * 0x1p24); }
VEC_FN vm philox_keep(vi w, int32_t threshold) { return vi_gt(vi_srl(w, 8), vi_set1(threshold - 1)); }

#endif
