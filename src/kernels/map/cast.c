/* cast.c: casts between dtypes that numeric/ has no vector loop for, one plain loop a pair: what a cast means is said
 * in numeric/dtype.c, and a test compares every pair with it. Halves go by f32. */
#if defined(__SSE2__)
#  include <emmintrin.h>
#endif
#include "kernels/map/functions.h"

/* Truncated and saturated; a NaN gives 0. The bounds are exact in double. */
static int64_t saturated_i64(double x) {
  return x != x ? 0 : x <= -0x1p63 ? INT64_MIN : x >= 0x1p63 ? INT64_MAX : (int64_t)x;
}
static int32_t saturated_i32(double x) {
  return x != x ? 0 : x <= -0x1p31 ? INT32_MIN : x >= 0x1p31 - 1 ? INT32_MAX : (int32_t)x;
}
/* The instruction gives the lowest number for whatever is out of range. */
static inline int64_t i64_of(double x) {
#if defined(__SSE2__)
  const int64_t y = _mm_cvttsd_si64(_mm_set_sd(x));
  if (y != INT64_MIN) return y;
#endif
  return saturated_i64(x);
}
static inline int32_t i32_of(double x) {
#if defined(__SSE2__)
  const int32_t y = _mm_cvttsd_si32(_mm_set_sd(x));
  if (y != INT32_MIN) return y;
#endif
  return saturated_i32(x);
}
static inline uint8_t u8_of(double x) { return x > 0 ? x < 255 ? (uint8_t)(int32_t)x : 255 : 0; }

#define EACH(name, from_type, to_type, value)                                                                          \
  static void name(const void *from, void *to, size_t n) {                                                             \
    const from_type *x = from;                                                                                         \
    to_type *y = to;                                                                                                   \
    for (size_t i = 0; i < n; i++) y[i] = value;                                                                       \
  }
EACH(f32_i64, float, int64_t, i64_of((double)x[i]))
EACH(f32_i32, float, int32_t, i32_of((double)x[i]))
EACH(f32_bool, float, uint8_t, x[i] != 0)
EACH(f64_i64, double, int64_t, i64_of(x[i]))
EACH(f64_i32, double, int32_t, i32_of(x[i]))
EACH(f64_u8, double, uint8_t, u8_of(x[i]))
EACH(f64_bool, double, uint8_t, x[i] != 0)
EACH(i64_f64, int64_t, double, (double)x[i])
EACH(i64_i32, int64_t, int32_t, (int32_t)(uint32_t)x[i])
EACH(i64_u8, int64_t, uint8_t, (uint8_t)x[i])
EACH(i64_bool, int64_t, uint8_t, x[i] != 0)
EACH(i32_f64, int32_t, double, (double)x[i])
EACH(i32_i64, int32_t, int64_t, x[i])
EACH(i32_u8, int32_t, uint8_t, (uint8_t)x[i])
EACH(i32_bool, int32_t, uint8_t, x[i] != 0)
EACH(u8_f64, uint8_t, double, (double)x[i])
EACH(u8_i64, uint8_t, int64_t, x[i])
EACH(u8_i32, uint8_t, int32_t, x[i])
EACH(u8_bool, uint8_t, uint8_t, x[i] != 0)
EACH(bool_f64, uint8_t, double, x[i] ? 1.0 : 0.0)
EACH(bool_i64, uint8_t, int64_t, x[i] != 0)
EACH(bool_i32, uint8_t, int32_t, x[i] != 0)
EACH(bool_u8, uint8_t, uint8_t, x[i] != 0)

typedef void cast_fn(const void *from, void *to, size_t n);
static cast_fn *const casts[ISO_DTYPE_COUNT][ISO_DTYPE_COUNT] = {
    [ISO_F32] = {[ISO_I64] = f32_i64, [ISO_I32] = f32_i32, [ISO_BOOL] = f32_bool},
    [ISO_F64] = {[ISO_I64] = f64_i64, [ISO_I32] = f64_i32, [ISO_U8] = f64_u8, [ISO_BOOL] = f64_bool},
    [ISO_I64] = {[ISO_F64] = i64_f64, [ISO_I32] = i64_i32, [ISO_U8] = i64_u8, [ISO_BOOL] = i64_bool},
    [ISO_I32] = {[ISO_F64] = i32_f64, [ISO_I64] = i32_i64, [ISO_U8] = i32_u8, [ISO_BOOL] = i32_bool},
    [ISO_U8] = {[ISO_F64] = u8_f64, [ISO_I64] = u8_i64, [ISO_I32] = u8_i32, [ISO_BOOL] = u8_bool},
    [ISO_BOOL] = {[ISO_F64] = bool_f64, [ISO_I64] = bool_i64, [ISO_I32] = bool_i32, [ISO_U8] = bool_u8}};

void iso__map_cast(const void *from, iso_dtype from_dtype, void *to, iso_dtype to_dtype, size_t n) {
  cast_fn *cast = casts[from_dtype][to_dtype];
  if (cast) cast(from, to, n);
  else iso__cast(from, from_dtype, to, to_dtype, n);
}
