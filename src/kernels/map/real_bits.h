/* real_bits.h: the functions of list.h that are defined by a number's bits, for both precisions. A NaN's sign is not
 * seen. */
#ifndef ISO_KERNELS_MAP_REAL_BITS_H
#define ISO_KERNELS_MAP_REAL_BITS_H
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "numeric/hd.h"

static inline ISO__HD bool sign_bit_f32(float x) { return x == x && copysignf(1, x) < 0; }
static inline ISO__HD bool sign_bit_f64(double x) { return x == x && copysign(1, x) < 0; }
/* The sign of a NaN is +. */
static inline ISO__HD float with_sign_f32(float x, float sign) { return copysignf(x, sign == sign ? sign : 1); }
static inline ISO__HD double with_sign_f64(double x, double sign) { return copysign(x, sign == sign ? sign : 1); }

/* The neighbour of x in the direction of y. */
static inline ISO__HD float next_f32(float x, float y) {
  uint32_t bits;
  if (x != x || y != y) return x + y;
  if (x == y) return y;
  if (x == 0) return copysignf(0x1p-149f, y);
  memcpy(&bits, &x, sizeof bits);
  bits += (x < y) == (x > 0) ? 1u : 0u - 1u;
  memcpy(&x, &bits, sizeof x);
  return x;
}
static inline ISO__HD double next_f64(double x, double y) {
  uint64_t bits;
  if (x != x || y != y) return x + y;
  if (x == y) return y;
  if (x == 0) return copysign(0x1p-1074, y);
  memcpy(&bits, &x, sizeof bits);
  bits += (x < y) == (x > 0) ? 1u : UINT64_C(0) - 1;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* x = mantissa·2^exponent, ½ ≤ |mantissa| < 1. Zeros, infinities and NaN are their own mantissas, with exponent 0. */
static inline ISO__HD float exponent_f32(float x) {
  uint32_t bits;
  if (x == 0 || !(fabsf(x) < INFINITY)) return 0;
  const bool tiny = fabsf(x) < 0x1p-126f;
  if (tiny) x = x * 0x1p24f;
  memcpy(&bits, &x, sizeof bits);
  return (float)((int32_t)(bits >> 23 & 0xff) - 126 - (tiny ? 24 : 0));
}
static inline ISO__HD double exponent_f64(double x) {
  uint64_t bits;
  if (x == 0 || !(fabs(x) < (double)INFINITY)) return 0;
  const bool tiny = fabs(x) < 0x1p-1022;
  if (tiny) x = x * 0x1p54;
  memcpy(&bits, &x, sizeof bits);
  return (double)((int64_t)(bits >> 52 & 0x7ff) - 1022 - (tiny ? 54 : 0));
}
static inline ISO__HD float mantissa_f32(float x) {
  uint32_t bits;
  if (x == 0 || !(fabsf(x) < INFINITY)) return x;
  if (fabsf(x) < 0x1p-126f) x = x * 0x1p24f;
  memcpy(&bits, &x, sizeof bits);
  bits = (bits & ~(UINT32_C(0xff) << 23)) | UINT32_C(126) << 23;
  memcpy(&x, &bits, sizeof x);
  return x;
}
static inline ISO__HD double mantissa_f64(double x) {
  uint64_t bits;
  if (x == 0 || !(fabs(x) < (double)INFINITY)) return x;
  if (fabs(x) < 0x1p-1022) x = x * 0x1p54;
  memcpy(&bits, &x, sizeof bits);
  bits = (bits & ~(UINT64_C(0x7ff) << 52)) | UINT64_C(1022) << 52;
  memcpy(&x, &bits, sizeof x);
  return x;
}
#endif
