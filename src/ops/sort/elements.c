/* elements.c: NaNs and equality of elements of any dtype. */
#include "ops/sort/sort.h"

int64_t iso__first_nan(const void *x, iso_dtype dtype, int64_t n) {
  const float *f = x;
  const double *d = x;
  const uint16_t *h = x;
  const unsigned infinity = dtype == ISO_F16 ? 0x7c00 : 0x7f80;
  if (dtype == ISO_F32) {
    for (int64_t i = 0; i < n; i++)
      if (f[i] != f[i]) return i;
  } else if (dtype == ISO_F64) {
    for (int64_t i = 0; i < n; i++)
      if (d[i] != d[i]) return i;
  } else if (iso__is_half(dtype)) {
    for (int64_t i = 0; i < n; i++)
      if ((h[i] & 0x7fffu) > infinity) return i;
  }
  return -1;
}

/* Whether elements i and j are equal: −0 equals +0, a NaN nothing. */
bool iso__elements_equal(const void *x, iso_dtype dtype, int64_t i, int64_t j) {
  const size_t item = iso_dtype_size(dtype);
  const char *a = (const char *)x + (size_t)i * item, *b = (const char *)x + (size_t)j * item;
  float f[2];
  double d[2];
  uint16_t h[2];
  switch (dtype) {
  case ISO_F32: return memcpy(&f[0], a, item), memcpy(&f[1], b, item), f[0] == f[1];
  case ISO_F64: return memcpy(&d[0], a, item), memcpy(&d[1], b, item), d[0] == d[1];
  case ISO_F16:
  case ISO_BF16:
    memcpy(&h[0], a, item), memcpy(&h[1], b, item);
    if (((h[0] | h[1]) & 0x7fffu) == 0) return true;
    return h[0] == h[1] && (h[0] & 0x7fffu) <= (dtype == ISO_F16 ? 0x7c00u : 0x7f80u);
  default: return memcmp(a, b, item) == 0;
  }
}
