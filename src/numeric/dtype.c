/* Element types: facts, comparison and casts.
 *
 * A cast reads its element into a number that holds every dtype's values exactly (a double or an int64) and writes
 * that number, rounding once. The pairs that matter in bulk have loops of their own, in cast_body.h. */
#include "dtype.h"
#include "base/fenv.h"
#include "bulk.h"
#include "half.h"

#include <math.h>

static const struct {
  const char *name;
  unsigned char size;
  bool is_float;
} facts[ISO_DTYPE_COUNT] = {
    [ISO_F32] = {"f32", 4, true},   [ISO_F64] = {"f64", 8, true},    [ISO_F16] = {"f16", 2, true},
    [ISO_BF16] = {"bf16", 2, true}, [ISO_I64] = {"i64", 8, false},   [ISO_I32] = {"i32", 4, false},
    [ISO_U8] = {"u8", 1, false},    [ISO_BOOL] = {"bool", 1, false},
};
static bool known(iso_dtype dtype) { return (unsigned)dtype < ISO_DTYPE_COUNT; }

size_t iso_dtype_size(iso_dtype dtype) { return known(dtype) ? facts[dtype].size : 0; }
const char *iso_dtype_name(iso_dtype dtype) { return known(dtype) ? facts[dtype].name : "?"; }
bool iso_dtype_is_float(iso_dtype dtype) { return known(dtype) && facts[dtype].is_float; }
bool iso_dtype_parse(const char *name, iso_dtype *dtype) {
  for (int d = 0; d < ISO_DTYPE_COUNT; d++)
    if (!strcmp(name, facts[d].name)) return *dtype = (iso_dtype)d, true;
  return false;
}

/* Two of them compute; the others only move bits, whatever the floating-point mode. */
uint16_t iso_f16_from_f32(float x) {
  const iso__fenv saved = iso__fenv_enter();
  const volatile uint16_t y = iso__f16_from_f32(iso__fenv_pin_f32(x));
  iso__fenv_leave(saved);
  return y;
}
uint16_t iso_f16_from_f64(double x) { return iso__f16_from_f64(x); }
float iso_f32_from_f16(uint16_t x) {
  const iso__fenv saved = iso__fenv_enter();
  const float y = iso__fenv_pin_f32(iso__f32_from_f16(x));
  iso__fenv_leave(saved);
  return y;
}
uint16_t iso_bf16_from_f32(float x) { return iso__bf16_from_f32(x); }
uint16_t iso_bf16_from_f64(double x) { return iso__bf16_from_f64(x); }
float iso_f32_from_bf16(uint16_t x) { return iso__f32_from_bf16(x); }

/* Whether element i is a NaN, by its bits: exponent all ones and something below. */
static bool is_nan(const unsigned char *element, iso_dtype dtype) {
  uint16_t h;
  uint32_t f;
  uint64_t d;
  switch (dtype) {
  case ISO_F16: return memcpy(&h, element, sizeof h), (h & 0x7fff) > 0x7c00;
  case ISO_BF16: return memcpy(&h, element, sizeof h), (h & 0x7fff) > 0x7f80;
  case ISO_F32: return memcpy(&f, element, sizeof f), (f & 0x7fffffffu) > 0x7f800000u;
  case ISO_F64: return memcpy(&d, element, sizeof d), (d & INT64_MAX) > UINT64_C(0x7ff0000000000000);
  default: return false;
  }
}
bool iso_same_bits(const void *a, const void *b, size_t n, iso_dtype dtype) {
  const size_t size = iso_dtype_size(dtype);
  const unsigned char *x = a, *y = b;
  enum { BLOCK = 1024 };
  for (size_t i = 0; i < n; i += BLOCK) {
    const size_t end = n - i < BLOCK ? n : i + BLOCK;
    if (!memcmp(x + i * size, y + i * size, (end - i) * size)) continue;
    for (size_t j = i * size; j < end * size; j += size)
      if (memcmp(x + j, y + j, size) && !(is_nan(x + j, dtype) && is_nan(y + j, dtype))) return false;
  }
  return true;
}

/* What an element holds: a real number as a double, or an integer. */
struct number {
  bool is_integer;
  double real;
  int64_t integer;
};

static struct number read_number(const void *from, iso_dtype dtype) {
  struct number x = {.is_integer = !facts[dtype].is_float};
  uint16_t h;
  float f;
  int32_t i;
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
static double sticky_f64(int64_t i) {
  uint64_t m = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
  if (m > UINT64_C(1) << 53) m = (m & ~UINT64_C(0x7ff)) | (uint64_t)((m & 0x7ff) != 0) << 11;
  return i < 0 ? -(double)m : (double)m;
}

/* Truncated into [low, high]; NaN gives 0. The bounds are exact or powers of two, so comparing in double is exact. */
static int64_t saturate(double x, int64_t low, int64_t high) {
  if (x != x) return 0;
  if (x <= (double)low) return low;
  if (x >= (double)high) return high;
  return (int64_t)x;
}

static void write_number(struct number x, void *to, iso_dtype dtype) {
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
  case ISO_F16: h = iso__f16_from_f64(x.is_integer ? sticky_f64(x.integer) : x.real), memcpy(to, &h, sizeof h); break;
  case ISO_BF16: h = iso__bf16_from_f64(x.is_integer ? sticky_f64(x.integer) : x.real), memcpy(to, &h, sizeof h); break;
  case ISO_I64:
    if (!x.is_integer) x.integer = saturate(x.real, INT64_MIN, INT64_MAX);
    memcpy(to, &x.integer, sizeof x.integer);
    break;
  case ISO_I32:
    i = (int32_t)(uint32_t)(x.is_integer ? x.integer : saturate(x.real, INT32_MIN, INT32_MAX));
    memcpy(to, &i, sizeof i);
    break;
  case ISO_U8: *(unsigned char *)to = (unsigned char)(x.is_integer ? x.integer : saturate(x.real, 0, 255)); break;
  case ISO_BOOL: *(unsigned char *)to = x.is_integer ? x.integer != 0 : x.real != 0.0; break;
  }
}

void iso__cast_element(const void *from, iso_dtype from_dtype, void *to, iso_dtype to_dtype) {
  if (from_dtype == to_dtype) memcpy(to, from, facts[to_dtype].size);
  else write_number(read_number(from, from_dtype), to, to_dtype);
}

void iso__cast(const void *from, iso_dtype from_dtype, void *to, iso_dtype to_dtype, size_t n) {
  if (!n) return;
  const size_t step_from = facts[from_dtype].size, step_to = facts[to_dtype].size;
  if (from_dtype == to_dtype) {
    memmove(to, from, n * step_to);
    return;
  }
  const struct iso__bulk *bulk = iso__bulk();
  if (from_dtype == ISO_F32 && bulk->cast_from_f32[to_dtype]) bulk->cast_from_f32[to_dtype](from, to, n);
  else if (to_dtype == ISO_F32 && bulk->cast_to_f32[from_dtype]) bulk->cast_to_f32[from_dtype](from, to, n);
  else
    for (size_t i = 0; i < n; i++)
      write_number(read_number((const char *)from + i * step_from, from_dtype), (char *)to + i * step_to, to_dtype);
}
