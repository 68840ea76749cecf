/* lines_impl.h: complex FFTs of one length over vectors, one lane a channel (docs/numerics-fft.md has the expressions).
 *
 * Stockham's form of decimation in frequency: a pass reads elements a sub-length apart and writes its outputs in order,
 * so nothing is permuted and lanes never meet. Two passes a line; the first reads where the data are, the last writes
 * where they go. Everything is inlined for its length, so that loops have constant bounds. */
#ifndef ISO_KERNELS_CONV_FFT_LINES_IMPL_H
#define ISO_KERNELS_CONV_FFT_LINES_IMPL_H
#include "kernels/conv/fft/fft.h"
#include "kernels/conv/fft/twiddles.h"
#include "kernels/gemm/tile_vec.h"
#include "numeric/vec.h"

enum { LANES = VF_LANES, UNIT = 2 * VF_LANES };

typedef struct complex {
  vf re, im;
} complex;

/* Where a line's real and imaginary parts begin, `step` floats apart. Exchanging them at both ends of a forward
 * transform makes it the inverse. */
typedef struct line {
  float *re, *im;
  int64_t step;
} line;
VEC_FN line line_at(float *units, int64_t step) { return (line){units, units + LANES, step}; }
VEC_FN line line_swapped(float *units, int64_t step) { return (line){units + LANES, units, step}; }
/* Only to be read. */
VEC_FN line line_of(const float *units, int64_t step) { return line_at((float *)(uintptr_t)units, step); }

VEC_FN complex line_load(const line *l, int64_t i) {
  return (complex){vf_load(l->re + i * l->step), vf_load(l->im + i * l->step)};
}
VEC_FN void line_store(const line *l, int64_t i, complex z) {
  vf_store(l->re + i * l->step, z.re);
  vf_store(l->im + i * l->step, z.im);
}

VEC_FN complex c_add(complex a, complex b) { return (complex){vf_add(a.re, b.re), vf_add(a.im, b.im)}; }
VEC_FN complex c_sub(complex a, complex b) { return (complex){vf_sub(a.re, b.re), vf_sub(a.im, b.im)}; }
VEC_FN complex c_add_i(complex a, complex b) { return (complex){vf_sub(a.re, b.im), vf_add(a.im, b.re)}; }
VEC_FN complex c_sub_i(complex a, complex b) { return (complex){vf_add(a.re, b.im), vf_sub(a.im, b.re)}; }

VEC_FN complex c_zero(void) { return (complex){vf_zero(), vf_zero()}; }
/* h·b + a and a − h·b, part by part */
VEC_FN complex c_fma(vf h, complex b, complex a) { return (complex){vf_fma(h, b.re, a.re), vf_fma(h, b.im, a.im)}; }
VEC_FN complex c_fnma(vf h, complex b, complex a) { return (complex){vf_fnma(h, b.re, a.re), vf_fnma(h, b.im, a.im)}; }
/* a − i·h·b and a + i·h·b */
VEC_FN complex c_fma_i(vf h, complex b, complex a) { return (complex){vf_fma(h, b.im, a.re), vf_fnma(h, b.re, a.im)}; }
VEC_FN complex c_fnma_i(vf h, complex b, complex a) { return (complex){vf_fnma(h, b.im, a.re), vf_fma(h, b.re, a.im)}; }

VEC_FN complex c_twiddle(complex z, int turn, int n) {
  const int k = turn * (ISO__FFT_CIRCLE / n);
  const vf c = vf_set1(iso__fft_cosine[k]), s = vf_set1(iso__fft_cosine[k + ISO__FFT_CIRCLE / 4 * 3]);
  return (complex){vf_fma(c, z.re, vf_mul(s, z.im)), vf_fms(c, z.im, vf_mul(s, z.re))};
}

/* ---- butterflies: see reference.c, whose operations they repeat ---- */

VEC_FN void radix_3(complex a0, complex a1, complex a2, complex *y) {
  const complex t = c_add(a1, a2), d = c_sub(a1, a2), m = c_fma(vf_set1(-0.5f), t, a0);
  const vf s = vf_set1(ISO__FFT_SIN_60);
  y[0] = c_add(a0, t), y[1] = c_fma_i(s, d, m), y[2] = c_fnma_i(s, d, m);
}

VEC_FN void radix_4(complex a0, complex a1, complex a2, complex a3, complex *y) {
  const complex s02 = c_add(a0, a2), d02 = c_sub(a0, a2), s13 = c_add(a1, a3), d13 = c_sub(a1, a3);
  y[0] = c_add(s02, s13), y[1] = c_sub_i(d02, d13), y[2] = c_sub(s02, s13), y[3] = c_add_i(d02, d13);
}

VEC_FN void radix_6(const complex *a, complex *y) {
  complex s[3], d[3];
  radix_3(c_add(a[0], a[3]), c_add(a[2], a[5]), c_add(a[4], a[1]), s);
  radix_3(c_sub(a[0], a[3]), c_sub(a[2], a[5]), c_sub(a[4], a[1]), d);
  y[0] = s[0], y[4] = s[1], y[2] = s[2];
  y[3] = d[0], y[1] = d[1], y[5] = d[2];
}

VEC_FN void radix_8(const complex *a, complex *y) {
  complex even[4];
  radix_4(c_add(a[0], a[4]), c_add(a[1], a[5]), c_add(a[2], a[6]), c_add(a[3], a[7]), even);
  y[0] = even[0], y[2] = even[1], y[4] = even[2], y[6] = even[3];
  const complex d0 = c_sub(a[0], a[4]), d1 = c_sub(a[1], a[5]), d2 = c_sub(a[2], a[6]), d3 = c_sub(a[3], a[7]);
  const complex e = c_sub_i(d0, d2), f = c_add_i(d0, d2);
  const complex u = {vf_add(d1.re, d1.im), vf_sub(d1.im, d1.re)}, v = {vf_sub(d3.im, d3.re), vf_add(d3.re, d3.im)};
  const complex p = {vf_add(u.re, v.re), vf_sub(u.im, v.im)}, q = {vf_sub(u.re, v.re), vf_add(u.im, v.im)};
  const vf h = vf_set1(ISO__FFT_SIN_45);
  y[1] = c_fma(h, p, e), y[3] = c_fma_i(h, q, f), y[5] = c_fnma(h, p, e), y[7] = c_fnma_i(h, q, f);
}

VEC_FN void butterfly(int radix, const complex *a, complex *y) {
  if (radix == 3) radix_3(a[0], a[1], a[2], y);
  else if (radix == 4) radix_4(a[0], a[1], a[2], a[3], y);
  else if (radix == 6) radix_6(a, y);
  else radix_8(a, y);
}

/* ---- the two passes ---- */

VEC_FN complex unit_load(const float *re, const float *im, int64_t at) {
  return (complex){vf_load(re + at), vf_load(im + at)};
}

/* Of the inputs only the first live·second are there, the rest are +0: adding those zeros is kept where it could turn
 * −0 into +0, which the compiler knows. */
VEC_FN void first_butterfly(int n, int live, int p, const float *re, const float *im, int64_t stride, float *to) {
  const int first = n / iso__fft_second_radix(n);
  complex a[8], y[8];
  UNROLL_16
  for (int m = 0; m < first; m++) a[m] = m < live ? unit_load(re, im, m * stride) : c_zero();
  butterfly(first, a, y);
  UNROLL_16
  for (int m = 0; m < first; m++) {
    const complex z = p && m ? c_twiddle(y[m], p * m, n) : y[m];
    vf_store(to + m * UNIT, z.re), vf_store(to + m * UNIT + LANES, z.im);
  }
}
VEC_FN void first_pass(int n, int live, const float *re, const float *im, int64_t step, float *to) {
  const int second = iso__fft_second_radix(n), first = n / second;
  const int64_t stride = second * step;
  first_butterfly(n, live, 0, re, im, stride, to);
  for (int p = 1; p < second; p++) {
    re += step, im += step, to += first * UNIT;
    first_butterfly(n, live, p, re, im, stride, to);
  }
}

/* Only the first `wanted` groups of n/second outputs are wanted. */
VEC_FN void second_pass(int n, int wanted, const float *from, float *re, float *im, int64_t step) {
  const int second = iso__fft_second_radix(n), first = n / second;
  const int64_t stride = first * step;
  for (int q = 0; q < first; q++, re += step, im += step, from += UNIT) {
    complex a[8], y[8];
    UNROLL_16
    for (int m = 0; m < second; m++) a[m] = unit_load(from, from + LANES, m * first * UNIT);
    butterfly(second, a, y);
    UNROLL_16
    for (int m = 0; m < wanted; m++) vf_store(re + m * stride, y[m].re), vf_store(im + m * stride, y[m].im);
  }
}

/* Parameters one by one: a line handed on through memory would be written in halves and read whole, a stall each time.
 */
#define FIRST_PASS(N, LIVE)                                                                                            \
  static void first_##N##_##LIVE(const float *re, const float *im, int64_t step, float *to) {                          \
    first_pass(N, LIVE, re, im, step, to);                                                                             \
  }
#define SECOND_PASS(N, WANTED)                                                                                         \
  static void second_##N##_##WANTED(const float *from, float *re, float *im, int64_t step) {                           \
    second_pass(N, WANTED, from, re, im, step);                                                                        \
  }
#define FIRST_ENTRY(N, LIVE) [LIVE] = first_##N##_##LIVE,
#define SECOND_ENTRY(N, WANTED) [WANTED] = second_##N##_##WANTED,
/* Which of its groups of inputs and outputs each length has. */
#define PARTS_16(X) X(16, 1) X(16, 2) X(16, 3) X(16, 4)
#define PARTS_24(X) X(24, 1) X(24, 2) X(24, 3)
#define PARTS_32(X) X(32, 1) X(32, 2) X(32, 3) X(32, 4)
#define PARTS_48(X) X(48, 1) X(48, 2) X(48, 3) X(48, 4) X(48, 5) X(48, 6)
#define PARTS_64(X) X(64, 1) X(64, 2) X(64, 3) X(64, 4) X(64, 5) X(64, 6) X(64, 7) X(64, 8)
#define EIGHT_PARTS(X, N) X(N, 1) X(N, 2) X(N, 3) X(N, 4) X(N, 5) X(N, 6) X(N, 7) X(N, 8)
#define OUT_PARTS_16(X) PARTS_16(X)
#define OUT_PARTS_24(X) EIGHT_PARTS(X, 24)
#define OUT_PARTS_32(X) EIGHT_PARTS(X, 32)
#define OUT_PARTS_48(X) EIGHT_PARTS(X, 48)
#define OUT_PARTS_64(X) EIGHT_PARTS(X, 64)

/* The first n_out outputs of a line whose inputs from n_in on are +0; `out` may be `in`. */
#define LINE(N)                                                                                                        \
  PARTS_##N(FIRST_PASS) OUT_PARTS_##N(SECOND_PASS) static void (*const firsts_##N[])(                                  \
      const float *, const float *, int64_t, float *) = {PARTS_##N(FIRST_ENTRY)};                                      \
  static void (*const seconds_##N[])(const float *, float *, float *, int64_t) = {OUT_PARTS_##N(SECOND_ENTRY)};
ISO__FFT_SIZES(LINE)
VEC_FN void fft(int n, int n_in, int n_out, line in, line out) {
  _Alignas(64) float between[ISO__FFT_MAX * UNIT];
  const int radix = iso__fft_second_radix(n), live = (n_in + radix - 1) / radix,
            wanted = (n_out + n / radix - 1) / (n / radix);
#define LINE_CASE(N)                                                                                                   \
case N:                                                                                                                \
  firsts_##N[live](in.re, in.im, in.step, between);                                                                    \
  seconds_##N[wanted](between, out.re, out.im, out.step);                                                              \
  break;
  switch (n) { ISO__FFT_SIZES(LINE_CASE) }
}
#endif
