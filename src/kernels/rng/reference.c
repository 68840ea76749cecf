/* reference.c: class `philox`: dropout and random fills, one element from its number, as NUMERICS §7 says.
 *
 * f32 takes one word an element, f64 fills two (53 bits); normals are Box and Muller's pairs: elements 4j, 4j+1 from
 * words 0 and 1 of a block, 4j+2, 4j+3 from words 2 and 3 (f64: elements 2j, 2j+1 from draws 2j, 2j+1). A Bernoulli
 * element is 1 where its word's upper 24 bits lie below rint(a·2^24), in every dtype. */
#include <math.h>
#include "kernels/rng/rng.h"
#include "numeric/math_f32.h"
#include "numeric/math_f64.h"
#include "numeric/philox.h"

static ISO__HD uint32_t upper(const iso_philox *at, uint64_t element) { return philox_word(at, element) >> 8; }
static ISO__HD uint64_t upper_53(const iso_philox *at, uint64_t draw) {
  return ((uint64_t)philox_word(at, 2 * draw + 1) << 32 | philox_word(at, 2 * draw)) >> 11;
}

static ISO__HD float fill_f32(const iso_rng_args *a, const iso_philox *at, iso__distribution distribution, uint64_t i) {
  if (distribution == ISO__BERNOULLI) return upper(at, i) < rint(a->a * 0x1p24);
  if (distribution == ISO__UNIFORM) return fmaf((float)a->b - (float)a->a, (float)upper(at, i) * 0x1p-24f, (float)a->a);
  const float v = (float)(upper(at, i & ~UINT64_C(1)) + 1) * 0x1p-24f, u = (float)upper(at, i | 1) * 0x1p-24f;
  const float r = sqrtf(-2.0f * v_log(v));
  return fmaf((float)a->b, r * (i & 1 ? v_sinpi(2 * u) : v_cospi(2 * u)), (float)a->a);
}
static ISO__HD double fill_f64(const iso_rng_args *a, const iso_philox *at, iso__distribution distribution,
                               uint64_t i) {
  if (distribution == ISO__BERNOULLI) return upper(at, i) < rint(a->a * 0x1p24);
  if (distribution == ISO__UNIFORM) return fma(a->b - a->a, (double)upper_53(at, i) * 0x1p-53, a->a);
  const double v = (double)(upper_53(at, i & ~UINT64_C(1)) + 1) * 0x1p-53, u = (double)upper_53(at, i | 1) * 0x1p-53;
  const double r = sqrt(-2.0 * iso__log_f64(v));
  return fma(a->b, r * (i & 1 ? iso__sinpi_f64(2 * u) : iso__cospi_f64(2 * u)), a->a);
}

static ISO__HD bool keeps(const iso_rng_problem *p, const iso_rng_args *a, int64_t i) {
  if (p->bits == ISO__BITS_READ) return ((const uint8_t *)a->bits)[i / 8] >> i % 8 & 1;
  const iso_philox at = iso__rng_place(a);
  return upper(&at, (uint64_t)i) >= rint(a->a * 0x1p24);
}
ISO__HD bool iso__dropout_element(const iso__problem *problem, const void *args, int operand, int64_t index,
                                  void *value) {
  const iso_rng_args *a = (const iso_rng_args *)args;
  const iso_rng_problem *p = (const iso_rng_problem *)problem;
  if (p->bits == ISO__BITS_WRITTEN && operand == 2) { /* x, y, bits */
    uint8_t byte = 0;
    for (int64_t i = 8 * index; i < 8 * index + 8 && i < p->n; i++) byte |= (uint8_t)(keeps(p, a, i) << i % 8);
    memcpy(value, &byte, sizeof byte);
    return true;
  }
  const bool kept = keeps(p, a, index);
  if (problem->dtype == ISO_F64) {
    const double y = kept ? ((const double *)a->x)[index] * (1 / (1 - a->a)) : 0;
    memcpy(value, &y, sizeof y);
  } else {
    const float y = kept ? ((const float *)a->x)[index] * (float)(1 / (1 - a->a)) : 0;
    memcpy(value, &y, sizeof y);
  }
  return true;
}

ISO__HD bool iso__random_fill_element(const iso__problem *problem, const void *args, int operand, int64_t index,
                                      void *value) {
  const iso__distribution distribution = (iso__distribution)((const iso_rng_problem *)problem)->distribution;
  const iso_philox at = iso__rng_place((const iso_rng_args *)args);
  (void)operand;
  if (problem->dtype == ISO_F64) {
    const double y = fill_f64((const iso_rng_args *)args, &at, distribution, (uint64_t)index);
    memcpy(value, &y, sizeof y);
  } else {
    const float y = fill_f32((const iso_rng_args *)args, &at, distribution, (uint64_t)index);
    memcpy(value, &y, sizeof y);
  }
  return true;
}
