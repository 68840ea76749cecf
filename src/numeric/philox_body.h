/* Bulk fills from Philox, at the including file's width: whole groups of PHILOX_WORDS words are stored at once, the
 * ends of a range pass through a buffer. */
#include "math_f32.h"
#include "philox.h"

/* PHILOX_WORDS results from block on, in element order. */
typedef void philox_make(const struct philox_stream *s, uint32_t block, vi w[PHILOX_VECTORS], const void *args);

VEC_FN void fill(const iso_philox *at, uint64_t begin, uint64_t end, int32_t *out, philox_make *make,
                 const void *args) {
  if (begin == end) return;
  const struct philox_stream s = philox_begin(at);
  for (uint64_t e = begin & ~(uint64_t)3; e < end; e += PHILOX_WORDS) {
    vi w[PHILOX_VECTORS];
    make(&s, (uint32_t)(e >> 2), w, args);
    if (e >= begin && end - e >= PHILOX_WORDS) {
      for (int j = 0; j < PHILOX_VECTORS; j++) vi_store(out + (e - begin) + j * VF_LANES, w[j]);
    } else {
      int32_t buffer[PHILOX_WORDS];
      for (int j = 0; j < PHILOX_VECTORS; j++) vi_store(buffer + j * VF_LANES, w[j]);
      const uint64_t from = e < begin ? begin : e, to = end - e < PHILOX_WORDS ? end : e + PHILOX_WORDS;
      memcpy(out + (from - begin), buffer + (from - e), (to - from) * sizeof *buffer);
    }
  }
}

VEC_FN void make_words(const struct philox_stream *s, uint32_t block, vi w[PHILOX_VECTORS], const void *args) {
  (void)args;
  philox_elements(s, block, w);
}
static void fill_words(const iso_philox *at, uint64_t begin, uint64_t end, uint32_t *out) {
  fill(at, begin, end, (int32_t *)out, make_words, NULL);
}

struct affine {
  float scale, offset;
};
VEC_FN void scale(vi w[PHILOX_VECTORS], const struct affine *a) {
  for (int j = 0; j < PHILOX_VECTORS; j++)
    w[j] = vf_bits(vf_fma(vf_set1(a->scale), vf_from_bits(w[j]), vf_set1(a->offset)));
}
VEC_FN void make_uniform(const struct philox_stream *s, uint32_t block, vi w[PHILOX_VECTORS], const void *args) {
  philox_elements(s, block, w);
  for (int j = 0; j < PHILOX_VECTORS; j++) w[j] = vf_bits(philox_unit(w[j]));
  scale(w, args);
}
static void fill_uniform(const iso_philox *at, uint64_t begin, uint64_t end, float a, float b, float *out) {
  fill(at, begin, end, (int32_t *)(void *)out, make_uniform, &(struct affine){.scale = b - a, .offset = a});
}

/* Box and Muller: words (w0, w1) give elements 4j, 4j+1; (w2, w3) give 4j+2, 4j+3. (w >> 8) + 1 is at most 2^24, so the
 * logarithm is of (0, 1] and the square root of no negative number. */
VEC_FN void normal_pair(vi *a, vi *b) {
  const vf v = vf_mul(vf_from_vi(vi_add(vi_srl(*a, 8), vi_set1(1))), vf_set1(0x1p-24f));
  const vf r = vf_sqrt(vf_mul(vf_set1(-2.0f), v_log(v))), u = philox_unit(*b), turn = vf_add(u, u);
  *a = vf_bits(vf_mul(r, v_cospi(turn)));
  *b = vf_bits(vf_mul(r, v_sinpi(turn)));
}
VEC_FN void make_normal(const struct philox_stream *s, uint32_t block, vi w[PHILOX_VECTORS], const void *args) {
  philox_words(s, block, w);
  for (int j = 0; j < PHILOX_VECTORS; j += 2) normal_pair(&w[j], &w[j + 1]);
  philox_order(w);
  scale(w, args);
}
static void fill_normal(const iso_philox *at, uint64_t begin, uint64_t end, float mean, float std, float *out) {
  fill(at, begin, end, (int32_t *)(void *)out, make_normal, &(struct affine){.scale = std, .offset = mean});
}
