/* functions.h: what map's reference and engines share. */
#ifndef ISO_KERNELS_MAP_FUNCTIONS_H
#define ISO_KERNELS_MAP_FUNCTIONS_H
#include <stdlib.h>
#include "kernels/map/map.h"
#include "numeric/dtype.h"

/* pow_scalar squares for whole exponents up to this, in both directions; others go through pow. */
#define ISO__MAP_LARGEST_INTEGER_POWER 64

/* Scalars are rounded to the dtype once, then widened like the operands. */
static inline ISO__HD float iso__map_scalar_f32(double scalar, iso_dtype dtype) {
  double narrow; /* large enough for any dtype */
  float wide;
  if (dtype == ISO_F32) return (float)scalar;
  iso__cast_element(&scalar, ISO_F64, &narrow, dtype);
  iso__cast_element(&narrow, dtype, &wide, ISO_F32);
  return wide;
}

/* Offsets of row number `row` (of dimension `last`) in every operand. */
static inline ISO__HD void iso__map_row_offsets(const iso_map_problem *p, int last, int64_t row, int64_t offsets[4]) {
  offsets[0] = offsets[1] = offsets[2] = offsets[3] = 0;
  for (int d = last - 1; d >= 0 && row; d--) {
    const int64_t digit = row % p->shape[d];
    row /= p->shape[d];
    for (int o = 0; o < 4; o++) offsets[o] += digit * p->strides[o][d];
  }
}

/* n contiguous elements from one dtype to another, as iso__cast. */
void iso__map_cast(const void *from, iso_dtype from_dtype, void *to, iso_dtype to_dtype, size_t n);
/* Nanoseconds of arithmetic an element with 16 lanes. */
double iso__map_arithmetic_ns(iso__map_fn fn);
/* Elements below which a second thread costs more than it saves. */
int64_t iso__map_grain(iso__map_fn fn);
#endif
