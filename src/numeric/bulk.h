/* Array forms of this room's functions, compiled once per instruction set from the same source (*_body.h), and the
 * choice among them. Every table gives the same bits; which one runs is a matter of speed alone. */
#ifndef ISO__NUMERIC_BULK_H
#define ISO__NUMERIC_BULK_H

#include "isobit/numeric.h"

/* The functions of one variable of math_f32.h, in the order of the table's `math`. */
/* clang-format off */
#define ISO__MATH_LIST(X) \
  X(exp) X(exp2) X(expm1) X(log) X(log2) X(log10) X(log1p) X(tanh) \
  X(sigmoid) X(silu) X(silu_grad) X(softplus) X(erf) X(erfc) X(gelu) X(gelu_grad) \
  X(gelu_tanh) X(gelu_tanh_grad) X(rsqrt) X(sin) X(cos) X(tan) X(sinpi) X(cospi) \
  X(asin) X(acos) X(atan) X(sinh) X(cosh) X(asinh) X(acosh) X(atanh) \
  X(log_sigmoid) X(mish) X(mish_grad) X(lgamma) X(digamma) X(trigamma) X(erfinv) X(ndtri) \
  X(i0) X(i0e) X(i1) X(i1e)
/* Those of two. */
#define ISO__MATH2_LIST(X) X(pow) X(atan2) X(hypot) X(fmod) X(remainder) X(logaddexp)
/* clang-format on */
enum {
#define ISO__MATH_ENUM(name) ISO__MATH_##name,
  ISO__MATH_LIST(ISO__MATH_ENUM)
#undef ISO__MATH_ENUM
      ISO__MATH_COUNT
};
enum {
#define ISO__MATH_ENUM(name) ISO__MATH2_##name,
  ISO__MATH2_LIST(ISO__MATH_ENUM)
#undef ISO__MATH_ENUM
      ISO__MATH2_COUNT
};

struct iso__bulk {
  const char *isa;
  /* Philox fills of elements begin … end−1, which are within range. */
  void (*words)(const iso_philox *at, uint64_t begin, uint64_t end, uint32_t *out);
  void (*uniform)(const iso_philox *at, uint64_t begin, uint64_t end, float a, float b, float *out);
  void (*normal)(const iso_philox *at, uint64_t begin, uint64_t end, float mean, float std, float *out);
  /* Rows by lanes. */
  float (*lanes_sum)(const float *x, size_t n);
  float (*lanes_dot)(const float *x, const float *y, size_t n);
  float (*lanes_square_deviation)(const float *x, float mean, size_t n);
  /* y[i] = f(x[i]); x and y may be the same. */
  void (*math[ISO__MATH_COUNT])(const float *x, float *y, size_t n);
  void (*math2[ISO__MATH2_COUNT])(const float *x, const float *y, float *z, size_t n);
  /* Casts from and to f32, by the other dtype; NULL where there is no loop for it. */
  void (*cast_from_f32[ISO_DTYPE_COUNT])(const void *from, void *to, size_t n);
  void (*cast_to_f32[ISO_DTYPE_COUNT])(const void *from, void *to, size_t n);
};

extern const struct iso__bulk iso__bulk_scalar, iso__bulk_avx2, iso__bulk_avx512;

/* The tables that this CPU can run, narrowest first, into tables[0 … 2]; returns how many. */
int iso__bulk_available(const struct iso__bulk *tables[3]);
/* The widest of them. */
const struct iso__bulk *iso__bulk(void);

#endif
