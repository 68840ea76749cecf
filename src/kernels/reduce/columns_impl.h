/* columns_impl.h: reductions over the middle of (outer, n, inner); included once per instruction set, which names its
 * exports by ISA(name).
 *
 * Sums in class `ordered`: accumulators of up to 1024 columns stay in L1 and take 8 rows a visit, so memory is read in
 * long pieces; after 256 rows a chunk joins its panel, after four chunks the panel joins the total. Threads share out
 * columns; where there are few columns and many rows (a bias gradient), chunks instead: their sums wait in slots, 64
 * chunks at a time, so the workspace doesn't grow with n. Columns that are cut are first turned, a chunk at a time, in
 * a buffer that stays in L1. In f64 the same loops are the compiler's to vectorise. */
#include "base/pool.h"
#include "kernels/conv/transpose8.h"
#include "kernels/reduce/columns.h"
#include "kernels/reduce/take.h"
#include "numeric/order.h"
#include "numeric/vec.h"

enum {
  VISIT_ROWS = 8,
  COLUMN_GRAIN_ELEMENTS = 32768,
  CACHED_ELEMENTS = 131072,
  CACHED_COLUMNS = 128,
  TAIL_COLUMNS = 32
};

/* ---- f32 ---- */

/* sums (m) take `rows` rows of x, which are `ld` elements apart. */
VEC_FN void take_rows_as(take how, float *sums, const float *x, int64_t ld, int64_t rows, int64_t m,
                         const float *statistic) {
  const bool uses = how == TAKE_DEVIATION || how == TAKE_EXP;
  int64_t k = 0;
  for (; k < rows; k += VISIT_ROWS) {
    const float *row = x + k * ld;
    const int64_t visit = rows - k < VISIT_ROWS ? rows - k : VISIT_ROWS;
    int64_t j = 0;
    for (; j + 2 * VF_LANES <= m; j += 2 * VF_LANES) {
      vf a = vf_load(sums + j), b = vf_load(sums + j + VF_LANES);
      const vf s = uses ? vf_load(statistic + j) : vf_zero(), t = uses ? vf_load(statistic + j + VF_LANES) : vf_zero();
      if (visit == VISIT_ROWS) {
#pragma GCC unroll 8
        for (int q = 0; q < VISIT_ROWS; q++)
          a = take_vector(how, a, vf_load(row + q * ld + j), s),
          b = take_vector(how, b, vf_load(row + q * ld + j + VF_LANES), t);
      } else {
        for (int64_t q = 0; q < visit; q++)
          a = take_vector(how, a, vf_load(row + q * ld + j), s),
          b = take_vector(how, b, vf_load(row + q * ld + j + VF_LANES), t);
      }
      vf_store(sums + j, a), vf_store(sums + j + VF_LANES, b);
    }
    for (; j < m; j += VF_LANES) {
      const size_t left = (size_t)(m - j);
      vf a = vf_load_n(sums + j, left);
      const vf s = uses ? vf_load_n(statistic + j, left) : vf_zero();
      for (int64_t q = 0; q < visit; q++) a = take_vector(how, a, vf_load_n(row + q * ld + j, left), s);
      vf_store_n(sums + j, a, left);
    }
  }
}
static void take_rows_f32(take how, float *sums, const float *x, int64_t ld, int64_t rows, int64_t m,
                          const float *statistic) {
  switch (how) {
  case TAKE_SQUARE: take_rows_as(TAKE_SQUARE, sums, x, ld, rows, m, statistic); break;
  case TAKE_NUMBER: take_rows_as(TAKE_NUMBER, sums, x, ld, rows, m, statistic); break;
  case TAKE_ABS: take_rows_as(TAKE_ABS, sums, x, ld, rows, m, statistic); break;
  case TAKE_DEVIATION: take_rows_as(TAKE_DEVIATION, sums, x, ld, rows, m, statistic); break;
  case TAKE_EXP: take_rows_as(TAKE_EXP, sums, x, ld, rows, m, statistic); break;
  case TAKE_MULTIPLY: take_rows_as(TAKE_MULTIPLY, sums, x, ld, rows, m, statistic); break;
  default: take_rows_as(TAKE_ADD, sums, x, ld, rows, m, statistic); break;
  }
}

/* buffer (n,m) = x (m,n), whose rows are `ld` elements apart. */
static void transpose_f32(const float *x, int64_t ld, float *buffer, int64_t m, int64_t n) {
  const int64_t whole = n / 8 * 8;
  int64_t c = 0;
  for (; c + 8 <= m; c += 8) {
    for (int64_t i = 0; i < whole; i += 8) {
      __m256 r[8];
      for (int q = 0; q < 8; q++) r[q] = _mm256_loadu_ps(x + (c + q) * ld + i);
      transpose8(r);
      for (int q = 0; q < 8; q++) _mm256_storeu_ps(buffer + (i + q) * m + c, r[q]);
    }
    for (int64_t i = whole; i < n; i++)
      for (int q = 0; q < 8; q++) buffer[i * m + c + q] = x[(c + q) * ld + i];
  }
  for (; c < m; c++)
    for (int64_t i = 0; i < n; i++) buffer[i * m + c] = x[c * ld + i];
}

VEC_FN vm wins(bool largest, vf x, vf best) {
  return vm_or(largest ? vf_gt(x, best) : vf_lt(x, best), vm_and(vf_isnan(x), vm_not(vf_isnan(best))));
}
/* One vector of columns: `visit` rows, `ld` elements apart, the first of which is row k. */
VEC_FN void extremum_visit(bool largest, bool magnitude, bool index, const float *row, int64_t ld, int64_t k,
                           int64_t visit, float *best, int32_t *where, size_t left) {
  const bool whole = left >= VF_LANES;
  vf b = whole ? vf_load(best) : vf_load_n(best, left);
  vi w = index ? vi_load(where) : vi_set1(0);
  for (int64_t q = 0; q < visit; q++) {
    vf now = whole ? vf_load(row + q * ld) : vf_load_n(row + q * ld, left);
    if (magnitude) now = vf_abs(now);
    const vm better = wins(largest, now, b);
    b = vf_select(better, now, b);
    if (index) w = vi_select(better, vi_set1((int32_t)(k + q)), w);
  }
  if (whole) vf_store(best, b);
  else vf_store_n(best, b, left);
  if (index) vi_store(where, w);
}
/* Extrema and positions of all m ≤ COLUMN_BLOCK columns wait in L1 and take 8 rows a visit, so rows are read whole. */
VEC_FN void extremum_block_as(bool largest, bool magnitude, bool index, const iso_reduce_problem *p, const float *x,
                              float *y, int64_t *at, int64_t m) {
  float best[COLUMN_BLOCK];
  int32_t where[COLUMN_BLOCK + VF_LANES];
  for (int64_t j = 0; j < m; j++) best[j] = magnitude ? fabsf(x[j]) : x[j];
  if (index) memset(where, 0, sizeof where);
  for (int64_t k = 1; k < p->n; k += VISIT_ROWS) {
    const float *row = x + k * p->inner;
    const int64_t left = p->n - k, visit = left < VISIT_ROWS ? left : VISIT_ROWS;
    int64_t j = 0;
    for (; j + VF_LANES <= m && visit == VISIT_ROWS; j += VF_LANES)
      extremum_visit(largest, magnitude, index, row + j, p->inner, k, VISIT_ROWS, best + j, where + j, VF_LANES);
    for (; j < m; j += VF_LANES)
      extremum_visit(largest, magnitude, index, row + j, p->inner, k, visit, best + j, where + j, (size_t)(m - j));
  }
  for (int64_t j = 0; y && j < m; j++) y[j] = best[j] + 0.0f;
  for (int64_t j = 0; index && j < m; j++) at[j] = where[j];
}
/* Of m columns from x: the extrema into y and their positions into `at`, either of which may be NULL. */
static void extremum_block_f32(const iso_reduce_problem *p, iso__reduce_fn fn, const float *x, float *y, int64_t *at,
                               int64_t m) {
  switch (fn) {
  case ISO__REDUCE_MAX: extremum_block_as(true, false, false, p, x, y, at, m); break;
  case ISO__REDUCE_MIN: extremum_block_as(false, false, false, p, x, y, at, m); break;
  case ISO__REDUCE_MAX_ABS: extremum_block_as(true, true, false, p, x, y, at, m); break;
  case ISO__REDUCE_MIN_ABS: extremum_block_as(false, true, false, p, x, y, at, m); break;
  case ISO__REDUCE_MAX_AT:
  case ISO__REDUCE_ARGMAX: extremum_block_as(true, false, true, p, x, y, at, m); break;
  default: extremum_block_as(false, false, true, p, x, y, at, m); break;
  }
}

/* ---- f64 ---- */

static void transpose_f64(const double *x, int64_t ld, double *buffer, int64_t m, int64_t n) {
  for (int64_t i = 0; i < n; i += 8)
    for (int64_t c = 0; c < m; c++)
      for (int64_t k = i; k < n && k < i + 8; k++) buffer[k * m + c] = x[c * ld + k];
}

VEC_FN void take_doubles_as(take how, double *sums, const double *x, int64_t ld, int64_t rows, int64_t m,
                            const double *statistic) {
  const bool uses = how == TAKE_DEVIATION || how == TAKE_EXP;
  int64_t k = 0;
  for (; k + 4 <= rows; k += 4) {
    const double *row = x + k * ld;
    for (int64_t j = 0; j < m; j++) {
      const double s = uses ? statistic[j] : 0;
      double sum = take_double(how, sums[j], row[j], s);
      sum = take_double(how, sum, row[ld + j], s);
      sum = take_double(how, sum, row[2 * ld + j], s);
      sums[j] = take_double(how, sum, row[3 * ld + j], s);
    }
  }
  for (; k < rows; k++)
    for (int64_t j = 0; j < m; j++) sums[j] = take_double(how, sums[j], x[k * ld + j], uses ? statistic[j] : 0);
}
static void take_rows_f64(take how, double *sums, const double *x, int64_t ld, int64_t rows, int64_t m,
                          const double *statistic) {
  switch (how) {
  case TAKE_SQUARE: take_doubles_as(TAKE_SQUARE, sums, x, ld, rows, m, statistic); break;
  case TAKE_NUMBER: take_doubles_as(TAKE_NUMBER, sums, x, ld, rows, m, statistic); break;
  case TAKE_ABS: take_doubles_as(TAKE_ABS, sums, x, ld, rows, m, statistic); break;
  case TAKE_DEVIATION: take_doubles_as(TAKE_DEVIATION, sums, x, ld, rows, m, statistic); break;
  case TAKE_EXP: take_doubles_as(TAKE_EXP, sums, x, ld, rows, m, statistic); break;
  case TAKE_MULTIPLY: take_doubles_as(TAKE_MULTIPLY, sums, x, ld, rows, m, statistic); break;
  default: take_doubles_as(TAKE_ADD, sums, x, ld, rows, m, statistic); break;
  }
}
static void extremum_block_f64(const iso_reduce_problem *p, iso__reduce_fn fn, const double *x, double *y, int64_t *at,
                               int64_t m) {
  const bool largest = iso__reduce_is_largest(fn), magnitude = iso__reduce_is_magnitude(fn);
  double best[COLUMN_BLOCK];
  int64_t where[COLUMN_BLOCK];
  for (int64_t j = 0; j < m; j++) best[j] = magnitude ? fabs(x[j]) : x[j], where[j] = 0;
  for (int64_t k = 1; k < p->n; k++) {
    const double *row = x + k * p->inner;
    for (int64_t j = 0; j < m; j++) {
      const double now = magnitude ? fabs(row[j]) : row[j];
      const bool better = (best[j] == best[j]) & ((now != now) | (largest ? now > best[j] : now < best[j]));
      best[j] = better ? now : best[j], where[j] = better ? k : where[j];
    }
  }
  for (int64_t j = 0; y && j < m; j++) y[j] = best[j] + 0;
  for (int64_t j = 0; at && j < m; j++) at[j] = where[j];
}

#include "numeric/real_f32.h"
#include "kernels/reduce/columns_body.h"
#include "numeric/real_f64.h"
#include "kernels/reduce/columns_body.h"

void ISA(iso__reduce_columns_run)(const iso__call *call) {
  if (call->problem->dtype == ISO_F64) run_f64(call);
  else run_f32(call);
}
