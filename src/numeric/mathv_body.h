/* The shared functions over arrays, at the including file's width: the table's rows, and one loop each. */
#include "math_f32.h"

typedef vf mathv_function(vf x);

VEC_FN void mathv_map(const float *x, float *y, size_t n, mathv_function *f) {
  size_t i = 0;
  for (; n - i >= VF_LANES; i += VF_LANES) vf_store(y + i, f(vf_load(x + i)));
  if (i < n) vf_store_n(y + i, f(vf_load_n(x + i, n - i)), n - i);
}

#define MATHV_DEFINE(name)                                                                                             \
  static void mathv_##name(const float *x, float *y, size_t n) { mathv_map(x, y, n, v_##name); }
ISO__MATH_LIST(MATHV_DEFINE)
#undef MATHV_DEFINE

#define MATHV_DEFINE(name)                                                                                             \
  static void mathv_##name(const float *x, const float *y, float *z, size_t n) {                                       \
    size_t i = 0;                                                                                                      \
    for (; n - i >= VF_LANES; i += VF_LANES) vf_store(z + i, v_##name(vf_load(x + i), vf_load(y + i)));                \
    if (i < n) vf_store_n(z + i, v_##name(vf_load_n(x + i, n - i), vf_load_n(y + i, n - i)), n - i);                   \
  }
ISO__MATH2_LIST(MATHV_DEFINE)
#undef MATHV_DEFINE
