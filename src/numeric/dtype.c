/* Element types: facts, comparison and casts.
 *
 * A cast reads its element into a number (number.h) and writes that, rounding once. The pairs that matter in bulk have
 * loops of their own, in cast_body.h. */
#include "dtype.h"
#include "base/fenv.h"
#include "bulk.h"
#include "half.h"
#include "number.h"

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
      iso__number_write(iso__number_read((const char *)from + i * step_from, from_dtype), (char *)to + i * step_to,
                        to_dtype);
}
