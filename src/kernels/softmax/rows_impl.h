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

/* amax of a row: any NaN gives NaN, a zero is +0. */
VEC_FN float softmax_row_max(const float *x, int64_t n) {
  vf m = vf_set1(x[0]);
  float lane[VF_LANES], y;
  int64_t i = 0;
  for (; i + VF_LANES <= n; i += VF_LANES) m = vf_max_nan(m, vf_load(x + i));
  vf_store(lane, m);
  y = lane[0];
  for (int l = 1; l < VF_LANES; l++) y = y != y || lane[l] <= y ? y : lane[l];
  for (; i < n; i++) y = y != y || x[i] <= y ? y : x[i];
  return y + 0.0f;
}

VEC_FN void softmax_row(const float *x, float *y, int64_t n, bool log) {
  const float max = softmax_row_max(x, n);
  const vf m = vf_set1(max);
  if (max == -INFINITY) {
    memset(y, 0, (size_t)n * sizeof *y);
    return;
  }
#define EXP(i, left) vf_store_n(y + i, v_exp(vf_sub(vf_load_n(x + i, left), m)), left)
  VEC_EACH(n, EXP);
  const float s = lanes_sum(y, (size_t)n);
  float last[VF_LANES];
  vf_store(last, log ? v_log(vf_set1(s)) : vf_div(vf_set1(1), vf_set1(s)));
  const vf l = vf_set1(last[0]);
#define LOG(i, left) vf_store_n(y + i, vf_sub(vf_sub(vf_load_n(x + i, left), m), l), left)
#define SCALE(i, left) vf_store_n(y + i, vf_mul(vf_load_n(y + i, left), l), left)
  if (log) VEC_EACH(n, LOG);
  else VEC_EACH(n, SCALE);
#undef EXP
#undef LOG
#undef SCALE
}

VEC_FN void softmax_rows(const float *x, float *y, int64_t rows, int64_t n, bool log) {
  if (n > ISO__LANES)
    for (int64_t r = 0; r < rows; r++) softmax_row(x + r * n, y + r * n, n, log);
  else
    for (int64_t r = 0; r < rows; r += VF_LANES)
      softmax_batch(x + r * n, y + r * n, rows - r < VF_LANES ? rows - r : VF_LANES, n, log);
}
#endif
