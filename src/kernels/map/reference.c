/* reference.c: classes `map` of pointwise functions and of casting copies: one output element from its index.
 *
 * f32 and f64 are computed in themselves; f16 and bf16 are widened, computed as f32 and rounded once. Integers: see
 * integer_functions.h; those that mean real numbers are computed in binary64 and cast back. */
#include <math.h>
#include "kernels/map/chain.h"
#include "kernels/map/functions.h"
#include "kernels/map/integer_functions.h"
#include "kernels/map/real_bits.h"
#include "kernels/map/real_functions.h"
#include "numeric/dtype.h"
#include "numeric/math_f64.h"
#include "numeric/math_f32.h"

#include "numeric/real_f32.h"
#include "kernels/map/reference_body.h"
#include "numeric/real_f64.h"
#include "kernels/map/reference_body.h"

/* Offsets of the inputs' elements for the element of `out` at `index` of its buffer; false for a hole. */
static ISO__HD bool locate(int n_dims, const int64_t *shape, const int64_t (*strides)[ISO__MAP_MAX_DIMS], int n_inputs,
                           int64_t index, int64_t *offsets) {
  /* Digits of the index to the base of the output's strides, the largest stride first. */
  bool used[ISO__MAP_MAX_DIMS] = {false};
  for (int k = 0; k < n_inputs; k++) offsets[k] = 0;
  for (int round = 0; round < n_dims; round++) {
    int d = -1;
    for (int i = 0; i < n_dims; i++)
      if (!used[i] && (d < 0 || llabs(strides[0][i]) > llabs(strides[0][d]))) d = i;
    used[d] = true;
    if (shape[d] == 1) continue;
    const int64_t step = llabs(strides[0][d]), digit = index / step;
    if (digit >= shape[d]) return false;
    index -= digit * step;
    for (int k = 0; k < n_inputs; k++)
      offsets[k] += (strides[0][d] < 0 ? shape[d] - 1 - digit : digit) * strides[k + 1][d];
  }
  return index == 0;
}

static ISO__HD int64_t map_i64(iso__map_fn fn, int64_t a, int64_t b, int64_t c, int64_t s0, int64_t s1, int64_t s2) {
  switch (fn) {
#define CASE(id, expression)                                                                                           \
  case ISO__MAP_##id: return expression;
    ISO__MAP_INTEGER_FUNCTIONS(CASE)
#undef CASE
  default: break;
  }
  const double real = map_f64(fn, (double)a, (double)b, (double)c, (double)s0, (double)s1, (double)s2);
  int64_t result;
  iso__cast_element(&real, ISO_F64, &result, ISO_I64);
  return result;
}

ISO__HD bool iso__map_element(const iso__problem *problem, const void *args, int operand, int64_t index, void *value) {
  const iso_map_problem *p = (const iso_map_problem *)problem;
  const iso_map_args *a = (const iso_map_args *)args;
  const iso__map_fn fn = (iso__map_fn)p->fn;
  const iso_dtype dtype = (iso_dtype)problem->dtype, to = iso__map_operand_dtype(fn, dtype, 0);
  const int n_inputs = iso__map_n_inputs(fn);
  int64_t offsets[3];
  (void)operand; /* `out` is the only output */
  if (!locate(p->n_dims, p->shape, p->strides, 3, index, offsets)) return false;
  const void *in[3] = {NULL, NULL, NULL};
  iso_dtype from[3];
  for (int k = 0; k < n_inputs; k++) {
    from[k] = iso__map_operand_dtype(fn, dtype, k + 1);
    in[k] = (const char *)a->in[k] + offsets[k] * (int64_t)iso__dtype_size(from[k]);
  }
  if (dtype == ISO_F64) {
    double x[3] = {0};
    for (int k = 0; k < n_inputs; k++) iso__cast_element(in[k], from[k], &x[k], ISO_F64);
    const double y = map_f64(fn, x[0], x[1], x[2], a->scalar[0], a->scalar[1], a->scalar[2]);
    iso__cast_element(&y, ISO_F64, value, to);
  } else if (iso__dtype_is_float(dtype)) {
    float x[3] = {0}, s[3];
    for (int k = 0; k < n_inputs; k++) iso__cast_element(in[k], from[k], &x[k], ISO_F32);
    for (int k = 0; k < 3; k++) s[k] = iso__map_scalar_f32(a->scalar[k], dtype);
    const float y = map_f32(fn, x[0], x[1], x[2], s[0], s[1], s[2]);
    iso__cast_element(&y, ISO_F32, value, to);
  } else {
    int64_t x[3] = {0}, s[3];
    for (int k = 0; k < n_inputs; k++) iso__cast_element(in[k], from[k], &x[k], ISO_I64);
    for (int k = 0; k < 3; k++) iso__cast_element(&a->scalar[k], ISO_F64, &s[k], ISO_I64);
    const int64_t y = map_i64(fn, x[0], x[1], x[2], s[0], s[1], s[2]);
    iso__cast_element(&y, ISO_I64, value, to);
  }
  return true;
}

ISO__HD bool iso__copy_element(const iso__problem *problem, const void *args, int operand, int64_t index, void *value) {
  const iso_map_problem *p = (const iso_map_problem *)problem;
  const iso_map_args *a = (const iso_map_args *)args;
  const iso_dtype from = (iso_dtype)p->from_dtype;
  int64_t offsets[3];
  (void)operand;
  if (!locate(p->n_dims, p->shape, p->strides, 3, index, offsets)) return false;
  const char *in = (const char *)a->in[0] + offsets[0] * (int64_t)iso__dtype_size(from);
  if (from == (iso_dtype)problem->dtype) memcpy(value, in, iso__dtype_size(from));
  else iso__cast_element(in, from, value, (iso_dtype)problem->dtype);
  return true;
}

#define CHAIN(name, real, map)                                                                                         \
  static ISO__HD real name(const iso_chain_problem *p, const iso_chain_args *a, const int64_t *offsets) {              \
    real value[ISO__CHAIN_INPUTS + ISO__CHAIN_STEPS] = {0};                                                            \
    for (int k = 0; k < p->n_inputs; k++) value[k] = ((const real *)a->in[k])[offsets[k]];                             \
    for (int k = 0; k < p->n_steps; k++) {                                                                             \
      const uint8_t *arg = p->arg[k];                                                                                  \
      const double *s = (const double *)a->scalar[k];                                                                  \
      value[ISO__CHAIN_INPUTS + k] =                                                                                   \
          map((iso__map_fn)p->fn[k], value[arg[0]], value[arg[1]], value[arg[2]], (real)s[0], (real)s[1], (real)s[2]); \
    }                                                                                                                  \
    return value[ISO__CHAIN_INPUTS + p->n_steps - 1];                                                                  \
  }
CHAIN(chain_f32, float, map_f32)
CHAIN(chain_f64, double, map_f64)

ISO__HD bool iso__chain_element(const iso__problem *problem, const void *args, int operand, int64_t index,
                                void *value) {
  const iso_chain_problem *p = (const iso_chain_problem *)problem;
  int64_t offsets[ISO__CHAIN_INPUTS];
  (void)operand; /* `out` is the only output */
  if (!locate(p->n_dims, p->shape, p->strides, p->n_inputs, index, offsets)) return false;
  if (problem->dtype == ISO_F64) *(double *)value = chain_f64(p, (const iso_chain_args *)args, offsets);
  else *(float *)value = chain_f32(p, (const iso_chain_args *)args, offsets);
  return true;
}
