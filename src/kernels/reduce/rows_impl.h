/* rows_impl.h: reductions of contiguous rows; included once per instruction set, which names its exports by ISA(name).
 *
 * Sums go by 64 lanes that stay in registers (numeric/lanes.h); in f64 they are an array, whose loops the compiler
 * turns into vectors. Products use the same lanes with × and 1. Extrema need no order: vectors of running extrema, then
 * one; an index is found by a second look for the first equal element of the block that had it. Variance and
 * log-sum-exp look twice at a row, which is still in the cache. */
#include "base/pool.h"
#include "kernels/reduce/reduce.h"
#include "kernels/reduce/take.h"
#include "numeric/lanes.h"

enum { ROW_GRAIN_ELEMENTS = 32768, WAVE_PANELS = 512, GRAIN_PANELS = 8, MAX_SEGMENTS = 64 };

/* ---- f32 ---- */

struct take_args {
  const float *x;
  take how;
  float statistic;
};
VEC_FN vf step(vf lane, const void *args, size_t i, size_t n) {
  const struct take_args *a = args;
  return take_vector(a->how, lane, lanes_load(a->x + i, n), vf_set1(a->statistic));
}
VEC_FN float panel_sum_f32(take how, const float *x, int64_t n, float statistic) {
  return lanes_panel(step, &(struct take_args){.x = x, .how = how, .statistic = statistic}, 0, (size_t)n);
}

VEC_FN float panel_product_f32(const float *x, int64_t n) {
  float lane[ISO__LANES];
  vf v[LANES_VECTORS];
  int64_t i = 0;
  for (int k = 0; k < LANES_VECTORS; k++) v[k] = vf_set1(1);
  for (; i + ISO__LANES <= n; i += ISO__LANES)
    for (int k = 0; k < LANES_VECTORS; k++) v[k] = vf_mul(v[k], vf_load(x + i + k * VF_LANES));
  for (int k = 0; k < LANES_VECTORS; k++) vf_store(lane + k * VF_LANES, v[k]);
  for (int l = 0; i < n; i++, l++) lane[l] = lane[l] * x[i];
  for (int m = ISO__LANES / 2; m; m /= 2)
    for (int l = 0; l < m; l++) lane[l] = lane[2 * l] * lane[2 * l + 1];
  return lane[0];
}

VEC_FN vf extremum(bool largest, vf a, vf b) { return largest ? vf_max_nan(a, b) : vf_min_nan(a, b); }
VEC_FN vf load_magnitude(bool magnitude, const float *x) { return magnitude ? vf_abs(vf_load(x)) : vf_load(x); }

/* Any NaN wins; among equals it doesn't matter which, but for zeros, which the caller makes +0. n ≥ 1. */
VEC_FN float block_extremum_f32(bool largest, bool magnitude, const float *x, int64_t n) {
  float lane[VF_LANES], y = magnitude ? fabsf(x[0]) : x[0];
  int64_t i = 0;
  if (n >= 4 * VF_LANES) {
    vf v[4];
    for (int k = 0; k < 4; k++) v[k] = load_magnitude(magnitude, x + k * VF_LANES);
    for (i = 4 * VF_LANES; i + 4 * VF_LANES <= n; i += 4 * VF_LANES)
      for (int k = 0; k < 4; k++) v[k] = extremum(largest, v[k], load_magnitude(magnitude, x + i + k * VF_LANES));
    vf_store(lane, extremum(largest, extremum(largest, v[0], v[1]), extremum(largest, v[2], v[3])));
    y = lane[0];
    for (int l = 1; l < VF_LANES; l++) y = y != y ? y : (largest ? y > lane[l] : y < lane[l]) ? y : lane[l];
  }
  for (; i < n; i++) {
    const float v = magnitude ? fabsf(x[i]) : x[i];
    y = y != y ? y : (largest ? y > v : y < v) ? y : v;
  }
  return y;
}

VEC_FN int64_t first_equal_f32(const float *x, int64_t n, float y) {
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

/* ---- f64 ---- */

VEC_FN double panel_lanes(take how, const double *x, int64_t n, double statistic) {
  double lane[ISO__LANES];
  int64_t i = 0;
  for (int l = 0; l < ISO__LANES; l++) lane[l] = how == TAKE_MULTIPLY;
  for (; i + ISO__LANES <= n; i += ISO__LANES)
    for (int l = 0; l < ISO__LANES; l++) lane[l] = take_double(how, lane[l], x[i + l], statistic);
  for (int l = 0; i < n; i++, l++) lane[l] = take_double(how, lane[l], x[i], statistic);
  for (int m = ISO__LANES / 2; m; m /= 2)
    for (int l = 0; l < m; l++)
      lane[l] = how == TAKE_MULTIPLY ? lane[2 * l] * lane[2 * l + 1] : lane[2 * l] + lane[2 * l + 1];
  return lane[0];
}
VEC_FN double panel_sum_f64(take how, const double *x, int64_t n, double statistic) {
  return panel_lanes(how, x, n, statistic);
}
VEC_FN double panel_product_f64(const double *x, int64_t n) { return panel_lanes(TAKE_MULTIPLY, x, n, 0); }

VEC_FN double block_extremum_f64(bool largest, bool magnitude, const double *x, int64_t n) {
  enum { CHAINS = 32 };
  double lane[CHAINS];
  const int64_t m = n < CHAINS ? n : CHAINS;
  int64_t i = m;
  for (int64_t l = 0; l < m; l++) lane[l] = magnitude ? fabs(x[l]) : x[l];
  for (; i + CHAINS <= n; i += CHAINS)
    for (int l = 0; l < CHAINS; l++) {
      const double v = magnitude ? fabs(x[i + l]) : x[i + l], y = lane[l], better = (largest ? y > v : y < v) ? y : v;
      lane[l] = y != y ? y : better;
    }
  double y = lane[0];
  for (int64_t l = 1; l < m; l++) y = y != y ? y : (largest ? y > lane[l] : y < lane[l]) ? y : lane[l];
  for (; i < n; i++) {
    const double v = magnitude ? fabs(x[i]) : x[i];
    y = y != y ? y : (largest ? y > v : y < v) ? y : v;
  }
  return y;
}
VEC_FN int64_t first_equal_f64(const double *x, int64_t n, double y) {
  int64_t i = 0;
  for (; i < n - 1 && (y != y ? x[i] == x[i] : x[i] != y); i++) {}
  return i;
}

#include "numeric/real_f32.h"
#include "kernels/reduce/rows_body.h"
#include "numeric/real_f64.h"
#include "kernels/reduce/rows_body.h"

typedef struct job {
  const iso_reduce_problem *p;
  const iso_reduce_args *a;
} job;
static void run_range(void *arg, int64_t begin, int64_t end, int thread) {
  const job *j = arg;
  (void)thread;
  if (j->p->head.dtype == ISO_F64) run_rows_f64(j->p, j->a, begin, end, NULL);
  else run_rows_f32(j->p, j->a, begin, end, NULL);
}

void ISA(iso__reduce_rows_run)(const iso__call *call) {
  const iso_reduce_problem *p = (const iso_reduce_problem *)call->problem;
  const iso_reduce_args *a = call->args;
  const int64_t per_row = p->n > 64 ? p->n : 64;
  if (p->outer < call->ctx->n_threads && p->n >= 2 * GRAIN_PANELS * ISO__ROW_PANEL) {
    if (p->head.dtype == ISO_F64) run_rows_f64(p, a, 0, p->outer, call->ctx);
    else run_rows_f32(p, a, 0, p->outer, call->ctx);
    return;
  }
  iso__parallel_range(call->ctx, p->outer, (ROW_GRAIN_ELEMENTS + per_row - 1) / per_row, 1, run_range,
                      &(job){.p = p, .a = a});
}
