/* typed.c: pointwise functions over f64, integers and bool: one loop a function and dtype, made of the very expressions
 * that are the reference, so that bits are equal by construction. Elementary functions of f64 are the scalar ones of
 * numeric/; all else is left to the compiler's vectors. */
#include <math.h>
#include "base/pool.h"
#include "kernels/map/functions.h"
#include "kernels/map/integer_functions.h"
#include "kernels/map/real_bits.h"
#include "kernels/map/real_functions.h"
#include "numeric/math_f64.h"
#include "numeric/real_f64.h"
#include "kernels/map/reference_body.h"

enum {
#define CONSTANTS(id, name, n, kind)                                                                                   \
  n_inputs_##id = n, is_truth_##id = ISO__MAP_##kind == ISO__MAP_TRUTH,                                                \
  is_choice_##id = ISO__MAP_##kind == ISO__MAP_CHOICE,
  ISO__MAP_LIST(CONSTANTS)
#undef CONSTANTS
};

typedef struct scalars {
  double real[3];
  int64_t integer[3];
} scalars;
typedef void row_fn(void *out, const void *const in[3], const int64_t step[4], int64_t n, const scalars *s);

#define STORE_TRUTH(v) ((uint8_t)((v) != 0))

#define TYPE double
#define WORK double
#define TYPED(f) f##_double
#define STORE(v) (v)
#define SCALARS real
#define FUNCTIONS ISO__MAP_REAL_FUNCTIONS
#include "kernels/map/typed_body.h"

#define TYPE int64_t
#define WORK int64_t
#define TYPED(f) f##_i64
#define STORE(v) (v)
#define SCALARS integer
#define FUNCTIONS ISO__MAP_INTEGER_FUNCTIONS
#include "kernels/map/typed_body.h"

#define TYPE int32_t
#define WORK int64_t
#define TYPED(f) f##_i32
#define STORE(v) ((int32_t)(uint32_t)(v))
#define SCALARS integer
#define FUNCTIONS ISO__MAP_INTEGER_FUNCTIONS
#include "kernels/map/typed_body.h"

#define TYPE uint8_t
#define WORK int64_t
#define TYPED(f) f##_u8
#define STORE(v) ((uint8_t)(v))
#define SCALARS integer
#define FUNCTIONS ISO__MAP_INTEGER_FUNCTIONS
#include "kernels/map/typed_body.h"

#define TYPE uint8_t
#define WORK int64_t
#define TYPED(f) f##_bool
#define STORE(v) STORE_TRUTH(v)
#define SCALARS integer
#define FUNCTIONS ISO__MAP_INTEGER_FUNCTIONS
#include "kernels/map/typed_body.h"

static row_fn *const *const rows_of[ISO_DTYPE_COUNT] = {
    [ISO_F64] = rows_double, [ISO_I64] = rows_i64, [ISO_I32] = rows_i32, [ISO_U8] = rows_u8, [ISO_BOOL] = rows_bool};

static row_fn *row_of(const iso__problem *problem) {
  return rows_of[problem->dtype][((const iso_map_problem *)problem)->fn];
}

const char *iso__map_typed_applicable(const iso__problem *problem) {
  return row_of(problem) ? NULL : "integers have no such function: it is computed in f64";
}

/* ---- walking the problem: rows of the last dimension, or blocks of long rows ---- */

enum { BLOCK = 8192 };

typedef struct job {
  const iso_map_problem *p;
  const iso_map_args *args;
  row_fn *row;
  scalars s;
  int n_inputs, last;
  int64_t n_blocks; /* a row */
  int64_t item[4];  /* bytes: out, in0, in1, in2 */
} job;

static void run_units(void *arg, int64_t begin, int64_t end, int thread) {
  const job *j = arg;
  const iso_map_problem *p = j->p;
  (void)thread;
  int64_t step[4];
  for (int o = 0; o < 4; o++) step[o] = p->strides[o][j->last];
  for (int64_t unit = begin; unit < end; unit++) {
    int64_t offsets[4];
    const int64_t first = unit % j->n_blocks * BLOCK, left = p->shape[j->last] - first;
    iso__map_row_offsets(p, j->last, unit / j->n_blocks, offsets);
    for (int o = 0; o < 4; o++) offsets[o] = (offsets[o] + first * step[o]) * j->item[o];
    const void *in[3] = {NULL, NULL, NULL};
    for (int k = 0; k < j->n_inputs; k++) in[k] = (const char *)j->args->in[k] + offsets[k + 1];
    j->row((char *)j->args->out + offsets[0], in, step, left < BLOCK || j->n_blocks == 1 ? left : BLOCK, &j->s);
  }
}

void iso__map_typed_run(const iso__call *call) {
  const iso_map_problem *p = (const iso_map_problem *)call->problem;
  const iso__map_fn fn = (iso__map_fn)p->fn;
  job j = {.p = p,
           .args = call->args,
           .row = row_of(call->problem),
           .n_inputs = iso__map_n_inputs(fn),
           .last = p->n_dims - 1,
           .n_blocks = 1};
  int64_t rows = 1;
  for (int d = 0; d < j.last; d++) rows *= p->shape[d];
  const int64_t n = p->shape[j.last];
  if (rows == 0 || n == 0) return;
  for (int k = 0; k < 3; k++) {
    j.s.real[k] = j.args->scalar[k];
    iso__cast_element(&j.args->scalar[k], ISO_F64, &j.s.integer[k], ISO_I64);
  }
  for (int o = 0; o <= j.n_inputs; o++)
    j.item[o] = (int64_t)iso_dtype_size(iso__map_operand_dtype(fn, (iso_dtype)p->head.dtype, o));
  if (n > 2 * BLOCK) j.n_blocks = (n + BLOCK - 1) / BLOCK;
  const int64_t unit = j.n_blocks > 1 ? BLOCK : n;
  iso__parallel_range(call->ctx, rows * j.n_blocks, (iso__map_grain(fn) / 4 + unit - 1) / unit, 1, run_units, &j);
}
