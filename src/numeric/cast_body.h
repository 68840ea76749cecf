/* The casts to and from f32 that move whole tensors, at the including file's width; dtype.h says what each gives. */
#include "vec.h"

VEC_FN vf cast_canonical(vf x) { return vf_select(vf_isnan(x), vf_set1(NAN), x); }

static void cast_bf16_f32(const void *from, void *to, size_t n) {
  const uint16_t *x = from;
  float *y = to;
  for (; n >= VF_LANES; x += VF_LANES, y += VF_LANES, n -= VF_LANES) vf_store(y, cast_canonical(vf_load_bf16(x)));
  if (n) vf_store_n(y, cast_canonical(vf_load_bf16_n(x, n)), n);
}
static void cast_f16_f32(const void *from, void *to, size_t n) {
  const uint16_t *x = from;
  float *y = to;
  for (; n >= VF_LANES; x += VF_LANES, y += VF_LANES, n -= VF_LANES) vf_store(y, cast_canonical(vf_load_f16(x)));
  if (n) vf_store_n(y, cast_canonical(vf_load_f16_n(x, n)), n);
}
static void cast_f32_bf16(const void *from, void *to, size_t n) {
  const float *x = from;
  uint16_t *y = to;
  for (; n >= VF_LANES; x += VF_LANES, y += VF_LANES, n -= VF_LANES) vf_store_bf16(y, vf_load(x));
  if (n) vf_store_bf16_n(y, vf_load_n(x, n), n);
}
static void cast_f32_f16(const void *from, void *to, size_t n) {
  const float *x = from;
  uint16_t *y = to;
  for (; n >= VF_LANES; x += VF_LANES, y += VF_LANES, n -= VF_LANES) vf_store_f16(y, vf_load(x));
  if (n) vf_store_f16_n(y, vf_load_n(x, n), n);
}

/* Conversions that compilers vectorise themselves. */
static void cast_u8_f32(const void *from, void *to, size_t n) {
  const unsigned char *x = from;
  float *y = to;
  for (size_t i = 0; i < n; i++) y[i] = (float)x[i];
}
static void cast_bool_f32(const void *from, void *to, size_t n) {
  const unsigned char *x = from;
  float *y = to;
  for (size_t i = 0; i < n; i++) y[i] = x[i] ? 1.0f : 0.0f;
}
static void cast_i32_f32(const void *from, void *to, size_t n) {
  const int32_t *x = from;
  float *y = to;
  for (size_t i = 0; i < n; i++) y[i] = (float)x[i];
}
static void cast_i64_f32(const void *from, void *to, size_t n) {
  const int64_t *x = from;
  float *y = to;
  for (size_t i = 0; i < n; i++) y[i] = (float)x[i];
}
static void cast_f64_f32(const void *from, void *to, size_t n) {
  const double *x = from;
  float *y = to;
  for (size_t i = 0; i < n; i++) y[i] = x[i] != x[i] ? NAN : (float)x[i];
}
static void cast_f32_f64(const void *from, void *to, size_t n) {
  const float *x = from;
  double *y = to;
  for (size_t i = 0; i < n; i++) y[i] = x[i] != x[i] ? (double)NAN : (double)x[i];
}
static void cast_f32_u8(const void *from, void *to, size_t n) {
  const float *x = from;
  unsigned char *y = to;
  for (size_t i = 0; i < n; i++) {
    const float low = x[i] > 0.0f ? x[i] : 0.0f, cut = low < 255.0f ? low : 255.0f;
    y[i] = (unsigned char)(int32_t)cut;
  }
}
