/* take.h: what a sum does with a term, and the steps from totals to results that rows and columns share; included by
 * the two *_impl.h, once per instruction set. */
#ifndef ISO_KERNELS_REDUCE_TAKE_H
#define ISO_KERNELS_REDUCE_TAKE_H
#include "kernels/reduce/reduce.h"
#include "numeric/math_f32.h"
#include "numeric/math_f64.h"
#include "numeric/vec.h"

typedef enum take {
  TAKE_ADD,
  TAKE_SQUARE, /* fma(x, x, sum) */
  TAKE_NUMBER, /* a NaN is +0 */
  TAKE_ABS,
  TAKE_DEVIATION, /* fma(d, d, sum), d = x − statistic */
  TAKE_EXP,       /* exp(x − statistic) */
  TAKE_MULTIPLY
} take;

VEC_FN take take_of(iso__reduce_fn fn) { /* in the first look, for VAR and STD */
  switch (fn) {
  case ISO__REDUCE_SUM_SQUARES: return TAKE_SQUARE;
  case ISO__REDUCE_NANSUM: return TAKE_NUMBER;
  case ISO__REDUCE_SUM_ABS: return TAKE_ABS;
  case ISO__REDUCE_LOGSUMEXP: return TAKE_EXP;
  case ISO__REDUCE_PROD: return TAKE_MULTIPLY;
  default: return TAKE_ADD;
  }
}

VEC_FN vf take_vector(take how, vf sum, vf x, vf statistic) {
  switch (how) {
  case TAKE_SQUARE: return vf_fma(x, x, sum);
  case TAKE_NUMBER: return vf_add(sum, vf_select(vf_isnan(x), vf_zero(), x));
  case TAKE_ABS: return vf_add(sum, vf_abs(x));
  case TAKE_DEVIATION: x = vf_sub(x, statistic); return vf_fma(x, x, sum);
  case TAKE_EXP: return vf_add(sum, v_exp(vf_sub(x, statistic)));
  case TAKE_MULTIPLY: return vf_mul(sum, x);
  default: return vf_add(sum, x);
  }
}
VEC_FN double take_double(take how, double sum, double x, double statistic) {
  switch (how) {
  case TAKE_SQUARE: return fma(x, x, sum);
  case TAKE_NUMBER: return sum + (x != x ? 0 : x);
  case TAKE_ABS: return sum + fabs(x);
  case TAKE_DEVIATION: x = x - statistic; return fma(x, x, sum);
  case TAKE_EXP: return sum + iso__exp_f64(x - statistic);
  case TAKE_MULTIPLY: return sum * x;
  default: return sum + x;
  }
}

VEC_FN float log_f32(float x) {
  float lane[VF_LANES];
  vf_store(lane, v_log(vf_set1(x)));
  return lane[0];
}
VEC_FN double log_f64(double x) { return iso__log_f64(x); }

VEC_FN bool is_infinite(double x) { return x == (double)INFINITY || x == -(double)INFINITY; }
#endif
