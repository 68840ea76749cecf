/* Bulk fills from Philox, at the including file's width: whole groups of PHILOX_WORDS words are stored at once, the
 * ends of a range pass through a buffer. */
#include "math_f32.h"
#include "philox.h"

/* Turns word vectors (w[j]: word j of each block) into results in element order. */
typedef void philox_finish(vi w[4], const void *args);

VEC_FN void fill(const iso_philox *at, uint64_t begin, uint64_t end, int32_t *out, philox_finish *finish,
                 const void *args) {
  if (begin == end) return;
  for (uint64_t e = begin & ~(uint64_t)3; e < end; e += PHILOX_WORDS) {
    vi w[4];
    philox_blocks(at, (uint32_t)(e >> 2), w);
    finish(w, args);
    if (e >= begin && end - e >= PHILOX_WORDS) {
      for (int j = 0; j < 4; j++) vi_store(out + (e - begin) + j * VF_LANES, w[j]);
    } else {
      int32_t buffer[PHILOX_WORDS];
      for (int j = 0; j < 4; j++) vi_store(buffer + j * VF_LANES, w[j]);
      const uint64_t from = e < begin ? begin : e, to = end - e < PHILOX_WORDS ? end : e + PHILOX_WORDS;
      memcpy(out + (from - begin), buffer + (from - e), (to - from) * sizeof *buffer);
    }
  }
}

VEC_FN void finish_words(vi w[4], const void *args) {
  (void)args;
  vi_interleave4(w);
}
static void fill_words(const iso_philox *at, uint64_t begin, uint64_t end, uint32_t *out) {
  fill(at, begin, end, (int32_t *)out, finish_words, NULL);
}

struct affine {
  float scale, offset;
};
VEC_FN void finish_affine(vi w[4], const void *args) {
  const struct affine *a = args;
  for (int j = 0; j < 4; j++) w[j] = vf_bits(vf_fma(vf_set1(a->scale), vf_from_bits(w[j]), vf_set1(a->offset)));
}
VEC_FN void finish_uniform(vi w[4], const void *args) {
  for (int j = 0; j < 4; j++) w[j] = vf_bits(philox_unit(w[j]));
  vi_interleave4(w);
  finish_affine(w, args);
}
static void fill_uniform(const iso_philox *at, uint64_t begin, uint64_t end, float a, float b, float *out) {
  fill(at, begin, end, (int32_t *)(void *)out, finish_uniform, &(struct affine){.scale = b - a, .offset = a});
}

/* Box and Muller: words (w0, w1) give elements 4j, 4j+1; (w2, w3) give 4j+2, 4j+3. (w >> 8) + 1 is at most 2^24, so the
 * logarithm is of (0, 1] and the square root of no negative number. */
VEC_FN void normal_pair(vi *a, vi *b) {
  const vf v = vf_mul(vf_from_vi(vi_add(vi_srl(*a, 8), vi_set1(1))), vf_set1(0x1p-24f));
  const vf r = vf_sqrt(vf_mul(vf_set1(-2.0f), v_log(v))), u = philox_unit(*b), turn = vf_add(u, u);
  *a = vf_bits(vf_mul(r, v_cospi(turn)));
  *b = vf_bits(vf_mul(r, v_sinpi(turn)));
}
VEC_FN void finish_normal(vi w[4], const void *args) {
  normal_pair(&w[0], &w[1]);
  normal_pair(&w[2], &w[3]);
  vi_interleave4(w);
  finish_affine(w, args);
}
static void fill_normal(const iso_philox *at, uint64_t begin, uint64_t end, float mean, float std, float *out) {
  fill(at, begin, end, (int32_t *)(void *)out, finish_normal, &(struct affine){.scale = std, .offset = mean});
}
