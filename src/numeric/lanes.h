/* Rows by lanes, over vec.h: element i of a row panel of 4096 belongs to lane i mod 64, every lane ascends from +0,
 * panel = tree over the lanes, row = tree over the panels + 0.0f. `iso__lanes_*` in order.h is the specification.
 *
 * A row reduction is a step function, which adds VF_LANES terms to their lanes, and lanes_row(), which calls it for a
 * whole row. The step gets the row's index of its first term and how many terms are left; it loads with lanes_load,
 * and its result is ignored in lanes beyond the row's end, so it needs no mask of its own. Kernels that keep several
 * sums at once use struct lanes and struct lanes_panels themselves. */
#ifndef ISO__NUMERIC_LANES_H
#define ISO__NUMERIC_LANES_H

#include "order.h"
#include "vec.h"

enum { LANES_VECTORS = ISO__LANES / VF_LANES };
struct lanes {
  vf v[LANES_VECTORS]; /* lane l is element l mod VF_LANES of vector l / VF_LANES */
};

VEC_FN void lanes_clear(struct lanes *s) {
#pragma GCC unroll 64
  for (int i = 0; i < LANES_VECTORS; i++) s->v[i] = vf_zero();
}

#if defined(__AVX512F__)
/* Level 1 and 2 add neighbours within 128 bits; after level 2 of four vectors, lane 4q+r holds quad q of vector r. */
VEC_FN __m512 lanes_level1(__m512 a, __m512 b) { /* a01 b01 a23 b23 | … */
  return _mm512_add_ps(_mm512_mask_blend_ps(0xAAAA, a, b), _mm512_permute_ps(_mm512_mask_blend_ps(0x5555, a, b), 0xB1));
}
VEC_FN __m512 lanes_level2(__m512 a, __m512 b) {
  return _mm512_add_ps(_mm512_mask_blend_ps(0xCCCC, a, b), _mm512_shuffle_ps(a, b, 0x4E));
}
VEC_FN float lanes_tree(const struct lanes *s) {
  const __m512 q = lanes_level2(lanes_level1(s->v[0], s->v[1]), lanes_level1(s->v[2], s->v[3]));
  /* 128-bit lane q holds the sums of lanes 4q … 4q+3 of the four vectors: add neighbouring quads, then their pairs. */
  const __m256 o = _mm256_add_ps(_mm256_permute2f128_ps(_mm512_castps512_ps256(q), _mm512_extractf32x8_ps(q, 1), 0x20),
                                 _mm256_permute2f128_ps(_mm512_castps512_ps256(q), _mm512_extractf32x8_ps(q, 1), 0x31));
  __m128 r = _mm_add_ps(_mm256_castps256_ps128(o), _mm256_extractf128_ps(o, 1)); /* one sum of 16 per vector */
  r = _mm_add_ps(r, _mm_movehdup_ps(r));
  return _mm_cvtss_f32(_mm_add_ss(r, _mm_movehl_ps(r, r)));
}
#elif defined(__AVX2__)
/* One level of the tree on two vectors: one shuffle each, the rest blends. (Addition commutes bit for bit.) */
VEC_FN __m256 lanes_level1(__m256 a, __m256 b) { /* a01 b01 a23 b23 | a45 b45 a67 b67 */
  return _mm256_add_ps(_mm256_blend_ps(a, b, 0xAA), _mm256_permute_ps(_mm256_blend_ps(a, b, 0x55), 0xB1));
}
VEC_FN __m256 lanes_level2(__m256 a, __m256 b) {
  return _mm256_add_ps(_mm256_blend_ps(a, b, 0xCC), _mm256_shuffle_ps(a, b, 0x4E));
}
VEC_FN float lanes_tree(const struct lanes *s) {
  const __m256 a = lanes_level2(lanes_level1(s->v[0], s->v[1]), lanes_level1(s->v[2], s->v[3]));
  const __m256 b = lanes_level2(lanes_level1(s->v[4], s->v[5]), lanes_level1(s->v[6], s->v[7]));
  const __m256 o = _mm256_add_ps(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31)); /* eights */
  const __m256 p = _mm256_add_ps(o, _mm256_movehdup_ps(o));                                               /* sixteens */
  __m128 lo = _mm256_castps256_ps128(p), hi = _mm256_extractf128_ps(p, 1);
  lo = _mm_add_ss(lo, _mm_movehl_ps(lo, lo)), hi = _mm_add_ss(hi, _mm_movehl_ps(hi, hi));
  return _mm_cvtss_f32(_mm_add_ss(lo, hi));
}
#else
VEC_FN float lanes_tree(const struct lanes *s) { return iso__tree_f32(s->v, ISO__LANES); }
#endif

/* The tree over panel sums as they come: full subtrees wait on a stack, as in a binary counter; what is left at the end
 * joins from the last one up, which is exactly where an odd one passes unchanged. */
struct lanes_panels {
  float waiting[48];
  size_t n; /* panels so far */
};
VEC_FN int lanes_waiting(size_t n) { return __builtin_popcountll(n); }
VEC_FN void lanes_panels_push(struct lanes_panels *p, float sum) {
  int top = lanes_waiting(p->n);
  for (size_t bits = p->n++; bits & 1; bits >>= 1) sum = p->waiting[--top] + sum;
  p->waiting[top] = sum;
}
VEC_FN float lanes_panels_end(const struct lanes_panels *p) {
  int top = lanes_waiting(p->n);
  if (!top) return 0.0f;
  float sum = p->waiting[--top];
  while (top) sum = p->waiting[--top] + sum;
  return sum + 0.0f;
}

/* Loads n of VF_LANES elements; with the constant VF_LANES a plain load. */
VEC_FN vf lanes_load(const float *p, size_t n) { return n >= VF_LANES ? vf_load(p) : vf_load_n(p, n); }

typedef vf lanes_step(vf lane, const void *args, size_t i, size_t n);

VEC_FN float lanes_panel(lanes_step *step, const void *args, size_t begin, size_t end) {
  struct lanes s;
  lanes_clear(&s);
  size_t i = begin;
  for (; end - i >= ISO__LANES; i += ISO__LANES)
#pragma GCC unroll 64
    for (int k = 0; k < LANES_VECTORS; k++) s.v[k] = step(s.v[k], args, i + (size_t)k * VF_LANES, VF_LANES);
  const size_t rest = end - i;
#pragma GCC unroll 64
  for (int k = 0; k < LANES_VECTORS; k++) {
    const size_t done = (size_t)k * VF_LANES;
    if (done >= rest) break;
    const size_t n = rest - done;
    if (n >= VF_LANES) s.v[k] = step(s.v[k], args, i + done, VF_LANES);
    else s.v[k] = vf_select(vm_first(n), step(s.v[k], args, i + done, n), s.v[k]);
  }
  return lanes_tree(&s);
}

VEC_FN float lanes_row(lanes_step *step, const void *args, size_t n) {
  if (n <= ISO__ROW_PANEL) return n ? lanes_panel(step, args, 0, n) + 0.0f : 0.0f;
  struct lanes_panels panels = {.n = 0};
  for (size_t i = 0; i < n; i += ISO__ROW_PANEL)
    lanes_panels_push(&panels, lanes_panel(step, args, i, n - i < ISO__ROW_PANEL ? n : i + ISO__ROW_PANEL));
  return lanes_panels_end(&panels);
}

/* The reductions that most kernels want. */
struct lanes_args {
  const float *x, *y;
  float mean;
};
VEC_FN vf lanes_step_sum(vf lane, const void *args, size_t i, size_t n) {
  const struct lanes_args *a = args;
  return vf_add(lane, lanes_load(a->x + i, n));
}
VEC_FN vf lanes_step_dot(vf lane, const void *args, size_t i, size_t n) {
  const struct lanes_args *a = args;
  return vf_fma(lanes_load(a->x + i, n), lanes_load(a->y + i, n), lane);
}
VEC_FN vf lanes_step_square_deviation(vf lane, const void *args, size_t i, size_t n) {
  const struct lanes_args *a = args;
  const vf d = vf_sub(lanes_load(a->x + i, n), vf_set1(a->mean));
  return vf_fma(d, d, lane);
}
VEC_FN float lanes_sum(const float *x, size_t n) { return lanes_row(lanes_step_sum, &(struct lanes_args){.x = x}, n); }
VEC_FN float lanes_dot(const float *x, const float *y, size_t n) {
  return lanes_row(lanes_step_dot, &(struct lanes_args){.x = x, .y = y}, n);
}
/* lanes(d·d), d = x − mean */
VEC_FN float lanes_square_deviation(const float *x, float mean, size_t n) {
  return lanes_row(lanes_step_square_deviation, &(struct lanes_args){.x = x, .mean = mean}, n);
}

#endif
