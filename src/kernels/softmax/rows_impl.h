/* rows_impl.h: softmax and log-softmax of rows, over vec.h; included by the engines of softmax and loss.
 *
 * Rows of up to 64 elements are taken VF_LANES at a time and turned on their side: one lane a row, so maximum, exp, the
 * tree over the lanes (element j is lane j) and log are whole vectors without a horizontal step. Longer rows go one by
 * one; the output serves as the place for exp(x − m) until its sum is known. */
#ifndef ISO_KERNELS_SOFTMAX_ROWS_IMPL_H
#define ISO_KERNELS_SOFTMAX_ROWS_IMPL_H
#include "numeric/lanes.h"
#include "numeric/math_f32.h"

/* `rows` ≤ VF_LANES rows of 1 ≤ n ≤ 64 elements. */
VEC_FN void softmax_batch(const float *x, float *y, int64_t rows, int64_t n, bool log) {
  float side[ISO__LANES][VF_LANES];
  vf e[ISO__LANES];
  if (n < 1) return;
  for (int64_t r = 0; r < rows; r++)
    for (int64_t j = 0; j < n; j++) side[j][r] = x[r * n + j];
  for (int64_t r = rows; r < VF_LANES; r++)
    for (int64_t j = 0; j < n; j++) side[j][r] = 0;
  vf m = vf_load(side[0]);
  for (int64_t j = 1; j < n; j++) m = vf_max_nan(m, vf_load(side[j]));
  m = vf_add(m, vf_zero());
  for (int64_t j = 0; j < n; j++) {
    const vf d = vf_sub(vf_load(side[j]), m);
    e[j] = v_exp(d);
    vf_store(side[j], log ? d : e[j]);
  }
  /* Idle lanes are +0, whose addition changes nothing here. */
  for (int64_t step = 1; step < n; step *= 2)
    for (int64_t j = 0; j + step < n; j += 2 * step) e[j] = vf_add(e[j], e[j + step]);
  const vm nothing = vf_eq(m, vf_set1(-INFINITY));
  const vf last = log ? v_log(e[0]) : vf_div(vf_set1(1), e[0]);
  for (int64_t j = 0; j < n; j++) {
    const vf v = vf_load(side[j]);
    vf_store(side[j], vf_select(nothing, vf_zero(), log ? vf_sub(v, last) : vf_mul(v, last)));
  }
  for (int64_t r = 0; r < rows; r++)
    for (int64_t j = 0; j < n; j++) y[r * n + j] = side[j][r];
}

/* The largest of a row, NaNs passed over: a row that has one gets it back from its sum. A zero is +0. */
VEC_FN float softmax_row_max(const float *x, int64_t n) {
  vf m[4];
  float lane[VF_LANES], y = -INFINITY;
  int64_t i = 0;
  for (int k = 0; k < 4; k++) m[k] = vf_set1(-INFINITY);
  for (; i + 4 * VF_LANES <= n; i += 4 * VF_LANES)
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++) m[k] = vf_max(vf_load(x + i + k * VF_LANES), m[k]);
  for (; i + VF_LANES <= n; i += VF_LANES) m[0] = vf_max(vf_load(x + i), m[0]);
  vf_store(lane, vf_max(vf_max(m[0], m[1]), vf_max(m[2], m[3])));
  for (int l = 0; l < VF_LANES; l++) y = lane[l] > y ? lane[l] : y;
  for (; i < n; i++) y = x[i] > y ? x[i] : y;
  return y + 0.0f;
}
/* How far on the next row lies that is fetched while this one is computed: rows are short, so that without it memory
 * would rest meanwhile, and be waited for at each row's start. 0: there is none, or rows fill L1 by themselves. */
static inline int64_t softmax_ahead(int64_t n, bool more) { return more && n <= 2048 ? n : 0; }

/* exp(x − m) into y (NULL: nowhere), and its sum by lanes as it is made. */
typedef struct softmax_exp_args {
  const float *x;
  float *y, *store;
  int64_t ahead; /* the next row's distance */
  vf m;
} softmax_exp_args;
VEC_FN vf softmax_exp_step(vf lane, const void *args, size_t i, size_t n) {
  const softmax_exp_args *a = args;
  __builtin_prefetch(a->x + a->ahead + i, 0, 3);
  __builtin_prefetch(a->y + a->ahead + i, 1, 3);
  const vf e = v_exp_below_0(vf_sub(lanes_load(a->x + i, n), a->m));
  if (a->store) {
    if (n >= VF_LANES) vf_store(a->store + i, e);
    else vf_store_n(a->store + i, e, n);
  }
  return vf_add(lane, e);
}
VEC_FN bool softmax_row_has_nan(const float *x, int64_t n) {
  for (int64_t i = 0; i < n; i++)
    if (x[i] != x[i]) return true;
  return false;
}

VEC_FN void softmax_row(const float *x, float *y, int64_t n, bool log, int64_t ahead) {
  const float max = softmax_row_max(x, n);
  if (max == -INFINITY && !softmax_row_has_nan(x, n)) {
    memset(y, 0, (size_t)n * sizeof *y);
    return;
  }
  const vf m = vf_set1(max);
  const float s =
      lanes_row(softmax_exp_step, &(softmax_exp_args){.x = x, .y = y, .store = log ? NULL : y, .m = m, .ahead = ahead},
                (size_t)n);
  float last[VF_LANES];
  vf_store(last, log ? v_log(vf_set1(s)) : vf_div(vf_set1(1), vf_set1(s)));
  const vf l = vf_set1(last[0]);
#define LOG(i, left) vf_store_n(y + i, vf_sub(vf_sub(vf_load_n(x + i, left), m), l), left)
#define SCALE(i, left) vf_store_n(y + i, vf_mul(vf_load_n(y + i, left), l), left)
  if (log) VEC_EACH(n, LOG);
  else VEC_EACH(n, SCALE);
#undef LOG
#undef SCALE
}

VEC_FN void softmax_rows(const float *x, float *y, int64_t rows, int64_t n, bool log) {
  if (n > ISO__LANES)
    for (int64_t r = 0; r < rows; r++) softmax_row(x + r * n, y + r * n, n, log, softmax_ahead(n, r + 1 < rows));
  else
    for (int64_t r = 0; r < rows; r += VF_LANES)
      softmax_batch(x + r * n, y + r * n, rows - r < VF_LANES ? rows - r : VF_LANES, n, log);
}
#endif
