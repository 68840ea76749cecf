/* divide.cuh: quotients of 31-bit numbers by numbers that a launch knows: a product and a shift. */
#ifndef ISO_KERNELS_CUDA_DIVIDE_CUH
#define ISO_KERNELS_CUDA_DIVIDE_CUH
#include <stdint.h>

/* n/by = n·m/2^(31 + l) with 2^l ≥ by, m = ⌊2^(31 + l)/by⌋ + 1: what m has too much adds less than 2^−l ≤ 1/by. */
struct divider {
  uint32_t by, m;
  int shift;
};
static inline divider divide_by(int64_t by) {
  divider d = {(uint32_t)by, 0, 0};
  if (by <= 1) return d;
  while ((int64_t)1 << (d.shift + 1) < by) d.shift++;
  d.m = (uint32_t)(((uint64_t)1 << (32 + d.shift)) / (uint64_t)by + 1);
  return d;
}
static __device__ __forceinline__ uint32_t quotient(const divider &d, uint32_t n) { return d.by <= 1 ? n : __umulhi(n, d.m) >> d.shift; }
/* n becomes the quotient; returns the rest. */
static __device__ __forceinline__ uint32_t take_digit(const divider &d, uint32_t *n) {
  const uint32_t all = *n;
  *n = quotient(d, all);
  return all - *n * d.by;
}
#endif
