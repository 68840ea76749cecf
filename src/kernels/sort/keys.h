/* keys.h: every element as an unsigned integer in the order of sort.h: NaN largest, −0 equal to +0. */
#ifndef ISO_KERNELS_SORT_KEYS_H
#define ISO_KERNELS_SORT_KEYS_H
#include "kernels/sort/sort.h"

/* Negative numbers reversed, the others above them; no NaN is below the key of one. */
static inline uint32_t iso__key_f32(uint32_t bits) {
  const uint32_t magnitude = bits & 0x7fffffffu;
  const uint32_t key = bits ^ ((uint32_t) - (int32_t)(bits >> 31) | 0x80000000u);
  return magnitude > 0x7f800000u ? UINT32_MAX : magnitude == 0 ? 0x80000000u : key;
}
static inline uint64_t iso__key_f64(uint64_t bits) {
  const uint64_t magnitude = bits & INT64_MAX;
  const uint64_t key = bits ^ ((uint64_t) - (int64_t)(bits >> 63) | (uint64_t)1 << 63);
  return magnitude > 0x7ff0000000000000u ? UINT64_MAX : magnitude == 0 ? (uint64_t)1 << 63 : key;
}

/* Of element i, widened: keys of one dtype compare among themselves. */
static inline uint64_t iso__key_at(const void *x, iso_dtype dtype, int64_t i) {
  const char *at = (const char *)x + i * (int64_t)iso_dtype_size(dtype);
  uint32_t w;
  uint64_t d;
  switch (dtype) {
  case ISO_F32: return memcpy(&w, at, sizeof w), iso__key_f32(w);
  case ISO_F64: return memcpy(&d, at, sizeof d), iso__key_f64(d);
  case ISO_I32: return memcpy(&w, at, sizeof w), w ^ 0x80000000u;
  case ISO_I64: return memcpy(&d, at, sizeof d), d ^ (uint64_t)1 << 63;
  default: return *(const unsigned char *)at;
  }
}
#endif
