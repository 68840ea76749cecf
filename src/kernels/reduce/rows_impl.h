/* rows_impl.h: reductions of contiguous rows; included once per instruction set, which names its exports by ISA(name).
 *
 * Sums go by 64 lanes that stay in registers (numeric/lanes.h). Products use the same lanes with × and 1. Extrema need
 * no order: vectors of running extrema, then one; an index is found by a second look for the first equal element. */
#include "base/pool.h"
#include "kernels/reduce/reduce.h"
#include "numeric/lanes.h"

enum { ROW_GRAIN_ELEMENTS = 32768 };

static float tree_product(const float *v, int64_t n) {
  if (n == 1) return v[0];
  int64_t left = 1;
  while (left < n - left) left *= 2;
  return tree_product(v, left) * tree_product(v + left, n - left);
}

static float panel_product(const float *x, int64_t n) {
  float lane[ISO__LANES];
  vf v[LANES_VECTORS];
  int64_t i = 0;
  for (int k = 0; k < LANES_VECTORS; k++) v[k] = vf_set1(1);
  for (; i + ISO__LANES <= n; i += ISO__LANES)
    for (int k = 0; k < LANES_VECTORS; k++) v[k] = vf_mul(v[k], vf_load(x + i + k * VF_LANES));
  for (int k = 0; k < LANES_VECTORS; k++) vf_store(lane + k * VF_LANES, v[k]);
  for (int l = 0; i < n; i++, l++) lane[l] = lane[l] * x[i];
  return tree_product(lane, ISO__LANES);
}

static float row_product(const float *x, int64_t n) {
  const int64_t panels = (n + ISO__ROW_PANEL - 1) / ISO__ROW_PANEL;
  if (panels <= 1) return panel_product(x, n);
  int64_t left = 1;
  while (left < panels - left) left *= 2;
  return row_product(x, left * ISO__ROW_PANEL) * row_product(x + left * ISO__ROW_PANEL, n - left * ISO__ROW_PANEL);
}

VEC_FN vf extremum(bool largest, vf a, vf b) { return largest ? vf_max_nan(a, b) : vf_min_nan(a, b); }

/* Any NaN wins; among equals it doesn't matter which, but for zeros, which the caller makes +0. n ≥ 1. */
VEC_FN float row_extremum(bool largest, const float *x, int64_t n) {
  float lane[VF_LANES], y = x[0];
  int64_t i = 0;
  if (n >= 2 * VF_LANES) {
    vf a = vf_load(x), b = vf_load(x + VF_LANES);
    for (i = 2 * VF_LANES; i + 2 * VF_LANES <= n; i += 2 * VF_LANES) {
      a = extremum(largest, a, vf_load(x + i));
      b = extremum(largest, b, vf_load(x + i + VF_LANES));
    }
    vf_store(lane, extremum(largest, a, b));
    y = lane[0];
    for (int l = 1; l < VF_LANES; l++) y = y != y ? y : (largest ? y > lane[l] : y < lane[l]) ? y : lane[l];
  }
  for (; i < n; i++) y = y != y ? y : (largest ? y > x[i] : y < x[i]) ? y : x[i];
  return y;
}

static int64_t first_equal(const float *x, int64_t n, float y) {
  int64_t i = 0;
  const vf wanted = vf_set1(y);
  for (; i + VF_LANES <= n; i += VF_LANES) {
    const vf v = vf_load(x + i);
    const uint32_t hits = vm_bits(y != y ? vf_isnan(v) : vf_eq(v, wanted));
    if (hits) return i + __builtin_ctz(hits);
  }
  for (; y != y ? x[i] == x[i] : x[i] != y; i++) {}
  return i;
}

typedef struct job {
  const iso_reduce_problem *p;
  const float *x;
  void *y;
} job;

static void run_rows(void *arg, int64_t begin, int64_t end, int thread) {
  const job *j = arg;
  const int64_t n = j->p->n;
  const float *x = j->x + begin * n;
  float *y = (float *)j->y + begin;
  int64_t *at = (int64_t *)j->y + begin;
  (void)thread;
  switch ((iso__reduce_fn)j->p->fn) {
  case ISO__REDUCE_SUM:
    for (int64_t r = begin; r < end; r++, x += n) *y++ = lanes_sum(x, (size_t)n);
    break;
  case ISO__REDUCE_MEAN:
    for (int64_t r = begin; r < end; r++, x += n) *y++ = lanes_sum(x, (size_t)n) / (float)n;
    break;
  case ISO__REDUCE_SUM_SQUARES:
    for (int64_t r = begin; r < end; r++, x += n) *y++ = lanes_dot(x, x, (size_t)n);
    break;
  case ISO__REDUCE_PROD:
    for (int64_t r = begin; r < end; r++, x += n) *y++ = row_product(x, n);
    break;
  case ISO__REDUCE_MAX:
    for (int64_t r = begin; r < end; r++, x += n) *y++ = row_extremum(true, x, n) + 0.0f;
    break;
  case ISO__REDUCE_MIN:
    for (int64_t r = begin; r < end; r++, x += n) *y++ = row_extremum(false, x, n) + 0.0f;
    break;
  case ISO__REDUCE_ARGMAX:
    for (int64_t r = begin; r < end; r++, x += n) *at++ = first_equal(x, n, row_extremum(true, x, n));
    break;
  default:
    for (int64_t r = begin; r < end; r++, x += n) *at++ = first_equal(x, n, row_extremum(false, x, n));
    break;
  }
}

void ISA(iso__reduce_rows_run)(const iso__call *call) {
  const iso_reduce_problem *p = (const iso_reduce_problem *)call->problem;
  const iso_reduce_args *args = call->args;
  job j = {.p = p, .x = args->x, .y = args->y};
  const int64_t per_row = p->n > 64 ? p->n : 64;
  iso__parallel_range(call->ctx, p->outer, (ROW_GRAIN_ELEMENTS + per_row - 1) / per_row, 1, run_rows, &j);
}
