/* f16 (IEEE binary16) and bf16 (the upper half of a binary32) to and from f32 and f64, in integer operations that give
 * F16C's bits: nearest even, subnormals kept. A NaN becomes 0x7fc0 or 0x7e00 when stored; loads keep its payload. */
#ifndef ISO__NUMERIC_HALF_H
#define ISO__NUMERIC_HALF_H

#include <stdint.h>
#include <string.h>
#include "hd.h"

static inline ISO__HD uint32_t iso__f32_bits(float x) {
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}
static inline ISO__HD float iso__f32_from_bits(uint32_t u) {
  float x;
  memcpy(&x, &u, sizeof x);
  return x;
}
static inline ISO__HD uint64_t iso__f64_bits(double x) {
  uint64_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}
static inline ISO__HD double iso__f64_from_bits(uint64_t u) {
  double x;
  memcpy(&x, &u, sizeof x);
  return x;
}

static inline ISO__HD float iso__f32_from_bf16(uint16_t h) { return iso__f32_from_bits((uint32_t)h << 16); }
static inline ISO__HD uint16_t iso__bf16_from_f32(float x) {
  const uint32_t u = iso__f32_bits(x);
  if (x != x) return 0x7fc0;
  return (uint16_t)((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}

static inline ISO__HD float iso__f32_from_f16(uint16_t h) {
  const uint32_t sign = (uint32_t)(h & 0x8000) << 16, magnitude = h & 0x7fff;
  if (magnitude >= 0x7c00) {
    const uint32_t quiet = magnitude > 0x7c00 ? 0x400000u : 0u;
    return iso__f32_from_bits(sign | 0x7f800000u | quiet | (magnitude & 0x3ff) << 13);
  }
  /* The exponent's bias grows by 112; multiplying by 2^112 does that exactly, subnormals included. */
  const float x = iso__f32_from_bits(magnitude << 13) * 0x1p112f;
  return iso__f32_from_bits(sign | iso__f32_bits(x));
}

/* Rounds a double, which is wide enough to hold the exact value in question, to a binary format with `p` significant
 * bits, least exponent `least` and the exponent field that `bias` shifts: the result's magnitude bits, infinity from
 * `infinity` on. Used for f16 and bf16, whose casts from f64 must round once. */
static inline ISO__HD uint16_t iso__half_from_f64(double x, int p, int bias, uint16_t infinity, uint16_t nan) {
  const uint64_t u = iso__f64_bits(x), magnitude = u & INT64_MAX;
  const uint16_t sign = (uint16_t)(u >> 63 << 15);
  if (magnitude > 0x7ff0000000000000u) return nan;
  const int exponent = (int)(magnitude >> 52) - 1023;
  if (exponent > bias) return (uint16_t)(sign | infinity);
  if (exponent < -bias - p) return sign; /* below half of the least subnormal */
  const uint64_t significand = (magnitude & 0xfffffffffffffu) | 0x10000000000000u;
  const int low = exponent < 1 - bias ? 1 - bias - exponent : 0, drop = 53 - p + low;
  uint64_t kept = significand >> drop;
  const uint64_t rest = significand & ((1ull << drop) - 1), half = 1ull << (drop - 1);
  kept += rest > half || (rest == half && (kept & 1));
  /* A carry out of the significand runs into the exponent, up to infinity, as it should. */
  if (low) return (uint16_t)(sign | kept);
  return (uint16_t)(sign | (((uint64_t)(exponent + bias) << (p - 1)) + (kept - (1ull << (p - 1)))));
}
static inline ISO__HD uint16_t iso__f16_from_f64(double x) { return iso__half_from_f64(x, 11, 15, 0x7c00, 0x7e00); }
static inline ISO__HD uint16_t iso__bf16_from_f64(double x) { return iso__half_from_f64(x, 8, 127, 0x7f80, 0x7fc0); }
static inline ISO__HD uint16_t iso__f16_from_f32(float x) { return iso__f16_from_f64((double)x); }

#endif
