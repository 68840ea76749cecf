/* number.h: one element of any dtype as a number that holds every dtype's values exactly (a double or an int64), and
 * back, rounding once; dtype.h says what each cast gives. */
#ifndef ISO__NUMERIC_NUMBER_H
#define ISO__NUMERIC_NUMBER_H
#include <isobit/numeric.h>
#include <math.h>
#include "half.h"
#include "hd.h"

#ifndef __cplusplus
_Static_assert(ISO_F32 < ISO_I64 && ISO_F64 < ISO_I64 && ISO_F16 < ISO_I64 && ISO_BF16 < ISO_I64, "floats come first");
#endif

/* What an element holds: a real number as a double, or an integer. */
struct iso__number {
  bool is_integer;
  double real;
  int64_t integer;
};

static inline ISO__HD struct iso__number iso__number_read(const void *from, iso_dtype dtype) {
  struct iso__number x = {0};
  uint16_t h;
  float f;
  int32_t i;
  x.is_integer = dtype >= ISO_I64;
  switch (dtype) {
  case ISO_F32: memcpy(&f, from, sizeof f), x.real = (double)f; break;
  case ISO_F64: memcpy(&x.real, from, sizeof x.real); break;
  case ISO_F16: memcpy(&h, from, sizeof h), x.real = (double)iso__f32_from_f16(h); break;
  case ISO_BF16: memcpy(&h, from, sizeof h), x.real = (double)iso__f32_from_bf16(h); break;
  case ISO_I64: memcpy(&x.integer, from, sizeof x.integer); break;
  case ISO_I32: memcpy(&i, from, sizeof i), x.integer = i; break;
  case ISO_U8: x.integer = *(const unsigned char *)from; break;
  case ISO_BOOL: x.integer = *(const unsigned char *)from != 0; break;
  }
  return x;
}

/* An integer as a double that rounds to any narrower float as the integer itself would: beyond 2^53 the lowest kept bit
 * collects what is cut off ("round to odd"). */
static inline ISO__HD double iso__sticky_f64(int64_t i) {
  uint64_t m = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
  if (m > UINT64_C(1) << 53) m = (m & ~UINT64_C(0x7ff)) | (uint64_t)((m & 0x7ff) != 0) << 11;
  return i < 0 ? -(double)m : (double)m;
}

/* Truncated into [low, high]; NaN gives 0. The bounds are exact or powers of two, so comparing in double is exact. */
static inline ISO__HD int64_t iso__saturate(double x, int64_t low, int64_t high) {
  if (x != x) return 0;
  if (x <= (double)low) return low;
  if (x >= (double)high) return high;
  return (int64_t)x;
}

static inline ISO__HD void iso__number_write(struct iso__number x, void *to, iso_dtype dtype) {
  uint16_t h;
  float f;
  int32_t i;
  const bool nan = !x.is_integer && x.real != x.real;
  switch (dtype) {
  case ISO_F32:
    f = nan ? NAN : x.is_integer ? (float)x.integer : (float)x.real;
    memcpy(to, &f, sizeof f);
    break;
  case ISO_F64:
    if (x.is_integer) x.real = (double)x.integer;
    if (nan) x.real = (double)NAN;
    memcpy(to, &x.real, sizeof x.real);
    break;
  case ISO_F16:
    h = iso__f16_from_f64(x.is_integer ? iso__sticky_f64(x.integer) : x.real), memcpy(to, &h, sizeof h);
    break;
  case ISO_BF16:
    h = iso__bf16_from_f64(x.is_integer ? iso__sticky_f64(x.integer) : x.real), memcpy(to, &h, sizeof h);
    break;
  case ISO_I64:
    if (!x.is_integer) x.integer = iso__saturate(x.real, INT64_MIN, INT64_MAX);
    memcpy(to, &x.integer, sizeof x.integer);
    break;
  case ISO_I32:
    i = (int32_t)(uint32_t)(x.is_integer ? x.integer : iso__saturate(x.real, INT32_MIN, INT32_MAX));
    memcpy(to, &i, sizeof i);
    break;
  case ISO_U8: *(unsigned char *)to = (unsigned char)(x.is_integer ? x.integer : iso__saturate(x.real, 0, 255)); break;
  case ISO_BOOL: *(unsigned char *)to = x.is_integer ? x.integer != 0 : x.real != 0.0; break;
  }
}

#endif
