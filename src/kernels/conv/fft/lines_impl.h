/* lines_impl.h: complex FFTs of one length over vectors, one lane a channel (docs/numerics-fft.md has the expressions).
 *
 * Stockham's form of decimation in frequency: a pass reads elements a sub-length apart and writes its outputs in order,
 * so nothing is permuted and lanes never meet. Two or three passes a line; the first reads where the data are, the last
 * writes where they go. Everything is inlined for its length, so that loops have constant bounds. */
#ifndef ISO_KERNELS_CONV_FFT_LINES_IMPL_H
#define ISO_KERNELS_CONV_FFT_LINES_IMPL_H
#include "kernels/conv/fft/fft.h"
#include "kernels/conv/fft/twiddles.h"
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

VEC_FN complex c_twiddle(complex z, int turn, int n) {
  const int k = turn * (ISO__FFT_CIRCLE / n);
  const vf c = vf_set1(iso__fft_cosine[k]), s = vf_set1(iso__fft_cosine[k + ISO__FFT_CIRCLE / 4 * 3]);
  return (complex){vf_fma(c, z.re, vf_mul(s, z.im)), vf_fms(c, z.im, vf_mul(s, z.re))};
}

/* Butterfly p of transforms of length `rest`, for the q-th of `done` interleaved ones. */
VEC_FN void pass_4(int rest, int done, int p, int q, const line *in, const line *out) {
  const int length = rest / 4;
  const complex a = line_load(in, q + done * p), b = line_load(in, q + done * (p + length)),
                c = line_load(in, q + done * (p + 2 * length)), d = line_load(in, q + done * (p + 3 * length));
  const complex s02 = c_add(a, c), d02 = c_sub(a, c), s13 = c_add(b, d), d13 = c_sub(b, d);
  const complex y0 = c_add(s02, s13), y1 = c_sub_i(d02, d13), y2 = c_sub(s02, s13), y3 = c_add_i(d02, d13);
  line_store(out, q + done * 4 * p, y0);
  line_store(out, q + done * (4 * p + 1), p ? c_twiddle(y1, p, rest) : y1);
  line_store(out, q + done * (4 * p + 2), p ? c_twiddle(y2, 2 * p, rest) : y2);
  line_store(out, q + done * (4 * p + 3), p ? c_twiddle(y3, 3 * p, rest) : y3);
}
VEC_FN void pass_3(int done, int q, const line *in, const line *out) {
  const complex a = line_load(in, q), b = line_load(in, q + done), c = line_load(in, q + 2 * done);
  const complex t = c_add(b, c), d = c_sub(b, c);
  const vf half = vf_set1(-0.5f), s = vf_set1(ISO__FFT_SIN_60);
  const complex m = {vf_fma(half, t.re, a.re), vf_fma(half, t.im, a.im)};
  line_store(out, q, c_add(a, t));
  line_store(out, q + done, (complex){vf_fma(s, d.im, m.re), vf_fnma(s, d.re, m.im)});
  line_store(out, q + 2 * done, (complex){vf_fnma(s, d.im, m.re), vf_fma(s, d.re, m.im)});
}
VEC_FN void pass_2(int rest, int done, int p, int q, const line *in, const line *out) {
  const complex a = line_load(in, q + done * p), b = line_load(in, q + done * (p + rest / 2)), y1 = c_sub(a, b);
  line_store(out, q + done * 2 * p, c_add(a, b));
  line_store(out, q + done * (2 * p + 1), p ? c_twiddle(y1, p, rest) : y1);
}

/* One pass; the first butterfly of each has no twiddles. */
VEC_FN void pass(int radix, int rest, int done, const line *in, const line *out) {
  const int length = rest / radix;
  if (radix == 3)
    for (int q = 0; q < done; q++) pass_3(done, q, in, out);
  else if (radix == 2)
    for (int p = 0; p < length; p++)
      for (int q = 0; q < done; q++) pass_2(rest, done, p, q, in, out);
  else {
    for (int q = 0; q < done; q++) pass_4(rest, done, 0, q, in, out);
    for (int p = 1; p < length; p++)
      for (int q = 0; q < done; q++) pass_4(rest, done, p, q, in, out);
  }
}

VEC_FN void passes(int n, const line *in, const line *out) {
  _Alignas(64) float first[ISO__FFT_MAX * UNIT], second[ISO__FFT_MAX * UNIT];
  const line one = line_at(first, UNIT), two = line_at(second, UNIT);
  pass(4, n, 1, in, &one);
  if (n == 16) {
    pass(4, 4, 4, &one, out);
  } else if (n == 24) {
    pass(2, 6, 4, &one, &two);
    pass(3, 3, 8, &two, out);
  } else if (n == 32) {
    pass(4, 8, 4, &one, &two);
    pass(2, 2, 16, &two, out);
  } else {
    pass(4, n / 4, 4, &one, &two);
    pass(n / 16, n / 16, 16, &two, out);
  }
}

/* The whole line `out`, which may be the same. */
#define LINE(N)                                                                                                        \
  static __attribute__((noinline)) void fft_##N(line in, line out) { passes(N, &in, &out); }
ISO__FFT_SIZES(LINE)
VEC_FN void fft(int n, line in, line out) {
#define LINE_CASE(N)                                                                                                   \
case N: fft_##N(in, out); break;
  switch (n) { ISO__FFT_SIZES(LINE_CASE) }
}
#endif
