/* line.cuh: transforms of N complex numbers in a thread's registers, the expressions of the classes fft.N (reference.c,
 * docs/numerics-fft.md). */
#ifndef ISO_KERNELS_CONV_FFT_CUDA_LINE_CUH
#define ISO_KERNELS_CONV_FFT_CUDA_LINE_CUH
#include <cuda_runtime.h>
#include <utility>
#include "kernels/conv/fft/twiddles.h"

namespace {

struct alignas(8) complex {
  float re, im;
};

__device__ __forceinline__ float fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }
__device__ __forceinline__ complex add(complex a, complex b) { return {a.re + b.re, a.im + b.im}; }
__device__ __forceinline__ complex sub(complex a, complex b) { return {a.re - b.re, a.im - b.im}; }
/* a + i·b and a − i·b */
__device__ __forceinline__ complex add_i(complex a, complex b) { return {a.re - b.im, a.im + b.re}; }
__device__ __forceinline__ complex sub_i(complex a, complex b) { return {a.re + b.im, a.im - b.re}; }
__device__ __forceinline__ complex swap(complex a) { return {a.im, a.re}; }

constexpr float cosines[2 * ISO__FFT_CIRCLE] = {ISO__FFT_COSINES, ISO__FFT_COSINES};

/* z·exp(−2πi·turn/n); no operation where the turn is 0. The constants are the compiler's: a table that is indexed in
 * unrolled loops costs it minutes. */
template <int n, int turn> __device__ __forceinline__ complex twiddle(complex z) {
  constexpr int k = turn * (ISO__FFT_CIRCLE / n);
  constexpr float c = cosines[k], s = cosines[k + ISO__FFT_CIRCLE / 4 * 3];
  if constexpr (turn == 0) return z;
  else return {fused(c, z.re, s * z.im), fused(c, z.im, -(s * z.re))};
}

__device__ __forceinline__ void radix_3(complex a0, complex a1, complex a2, complex *y) {
  const complex t = add(a1, a2), d = sub(a1, a2), m = {fused(-0.5f, t.re, a0.re), fused(-0.5f, t.im, a0.im)};
  const float s = ISO__FFT_SIN_60;
  y[0] = add(a0, t);
  y[1] = {fused(s, d.im, m.re), fused(-s, d.re, m.im)};
  y[2] = {fused(-s, d.im, m.re), fused(s, d.re, m.im)};
}
__device__ __forceinline__ void radix_4(complex a0, complex a1, complex a2, complex a3, complex *y) {
  const complex s02 = add(a0, a2), d02 = sub(a0, a2), s13 = add(a1, a3), d13 = sub(a1, a3);
  y[0] = add(s02, s13), y[1] = sub_i(d02, d13), y[2] = sub(s02, s13), y[3] = add_i(d02, d13);
}
__device__ __forceinline__ void radix_6(const complex *a, complex *y) {
  complex s[3], d[3];
  radix_3(add(a[0], a[3]), add(a[2], a[5]), add(a[4], a[1]), s);
  radix_3(sub(a[0], a[3]), sub(a[2], a[5]), sub(a[4], a[1]), d);
  y[0] = s[0], y[4] = s[1], y[2] = s[2];
  y[3] = d[0], y[1] = d[1], y[5] = d[2];
}
__device__ __forceinline__ void radix_8(const complex *a, complex *y) {
  complex even[4];
  radix_4(add(a[0], a[4]), add(a[1], a[5]), add(a[2], a[6]), add(a[3], a[7]), even);
  const complex d0 = sub(a[0], a[4]), d1 = sub(a[1], a[5]), d2 = sub(a[2], a[6]), d3 = sub(a[3], a[7]);
  const complex e = sub_i(d0, d2), f = add_i(d0, d2);
  const complex u = {d1.re + d1.im, d1.im - d1.re}, v = {d3.im - d3.re, d3.re + d3.im};
  const complex p = {u.re + v.re, u.im - v.im}, q = {u.re - v.re, u.im + v.im};
  const float h = ISO__FFT_SIN_45;
  y[0] = even[0], y[2] = even[1], y[4] = even[2], y[6] = even[3];
  y[1] = {fused(h, p.re, e.re), fused(h, p.im, e.im)};
  y[3] = {fused(h, q.im, f.re), fused(-h, q.re, f.im)};
  y[5] = {fused(-h, p.re, e.re), fused(-h, p.im, e.im)};
  y[7] = {fused(-h, q.im, f.re), fused(h, q.re, f.im)};
}
template <int radix> __device__ __forceinline__ void butterfly(const complex *a, complex *y) {
  if constexpr (radix == 3) radix_3(a[0], a[1], a[2], y);
  else if constexpr (radix == 4) radix_4(a[0], a[1], a[2], a[3], y);
  else if constexpr (radix == 6) radix_6(a, y);
  else radix_8(a, y);
}

template <int n, int p, int... m>
__device__ __forceinline__ void twiddles(const complex *y, complex *next, std::integer_sequence<int, m...>) {
  ((next[m] = twiddle<n, p * m>(y[m])), ...);
}
template <int n, int first, int second, int... p>
__device__ __forceinline__ void first_pass(const complex *z, complex *next, std::integer_sequence<int, p...>) {
  const auto one = [&](auto at) {
    constexpr int q = decltype(at)::value;
    complex a[first], y[first];
#pragma unroll
    for (int m = 0; m < first; m++) a[m] = z[q + second * m];
    butterfly<first>(a, y);
    twiddles<n, q>(y, next + first * q, std::make_integer_sequence<int, first>());
  };
  (one(std::integral_constant<int, p>()), ...);
}

/* Two passes, outputs in order. */
template <int n> __device__ __forceinline__ void fft(complex *z) {
  constexpr int second = n == 16 ? 4 : 8, first = n / second;
  complex next[n];
  first_pass<n, first, second>(z, next, std::make_integer_sequence<int, second>());
#pragma unroll
  for (int q = 0; q < first; q++) {
    complex a[second], y[second];
#pragma unroll
    for (int m = 0; m < second; m++) a[m] = next[q + first * m];
    butterfly<second>(a, y);
#pragma unroll
    for (int m = 0; m < second; m++) z[q + first * m] = y[m];
  }
}

/* F, or by `backward` the inverse line G: parts exchanged before and after. */
template <int n> __device__ __forceinline__ void line(complex *z, bool backward) {
#pragma unroll
  for (int i = 0; i < n; i++)
    if (backward) z[i] = swap(z[i]);
  fft<n>(z);
#pragma unroll
  for (int i = 0; i < n; i++)
    if (backward) z[i] = swap(z[i]);
}

} // namespace
#endif
