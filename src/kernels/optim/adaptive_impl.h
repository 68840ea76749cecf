/* adaptive_impl.h: the steps of RMSprop, Adagrad, Adadelta, Adamax, NAdam and RAdam: reference_body.h's in vectors of n
 * parameters from i on; included by step_impl.h. */

VEC_FN vf mean(vf old, vf x, float b, float one_minus_b) {
  return vf_fma(vf_set1(one_minus_b), x, vf_mul(vf_set1(b), old));
}

VEC_FN void rmsprop(const job *j, int64_t i, size_t n) {
  const vf p = vf_load_n(j->p + i, n), g = gradient(j, i, n, p);
  const vf v = mean(vf_load_n(j->v + i, n), vf_mul(g, g), j->b2, j->one_minus_b2);
  vf variance = v;
  if (j->o->centered) {
    const vf m = mean(vf_load_n(j->m + i, n), g, j->b1, j->one_minus_b1);
    vf_store_n(j->m + i, m, n);
    variance = vf_fnma(m, m, v);
    variance = vf_select(vf_lt(variance, vf_zero()), vf_zero(), variance);
  }
  vf step = vf_div(g, vf_add(vf_sqrt(variance), vf_set1(j->eps)));
  if (j->o->momentum) {
    step = vf_fma(vf_set1(j->momentum), vf_load_n(j->u + i, n), step);
    vf_store_n(j->u + i, step, n);
  }
  vf_store_n(j->v + i, v, n);
  vf_store_n(j->p + i, vf_fma(vf_set1(-j->lr), step, p), n);
}

VEC_FN void adagrad(const job *j, int64_t i, size_t n) {
  const vf p = vf_load_n(j->p + i, n), g = gradient(j, i, n, p), v = vf_fma(g, g, vf_load_n(j->v + i, n));
  const vf step = vf_div(g, vf_add(vf_sqrt(v), vf_set1(j->eps)));
  vf_store_n(j->v + i, v, n);
  vf_store_n(j->p + i, vf_fma(vf_set1(j->minus_lr_over_bc1), step, p), n);
}

VEC_FN void adadelta(const job *j, int64_t i, size_t n) {
  const vf p = vf_load_n(j->p + i, n), g = gradient(j, i, n, p), eps = vf_set1(j->eps), u = vf_load_n(j->u + i, n);
  const vf v = mean(vf_load_n(j->v + i, n), vf_mul(g, g), j->b2, j->one_minus_b2);
  const vf step = vf_mul(vf_div(vf_sqrt(vf_add(u, eps)), vf_sqrt(vf_add(v, eps))), g);
  vf_store_n(j->v + i, v, n);
  vf_store_n(j->u + i, mean(u, vf_mul(step, step), j->b2, j->one_minus_b2), n);
  vf_store_n(j->p + i, vf_fma(vf_set1(-j->lr), step, p), n);
}

VEC_FN void adamax(const job *j, int64_t i, size_t n) {
  const vf p = vf_load_n(j->p + i, n), g = gradient(j, i, n, p);
  const vf m = mean(vf_load_n(j->m + i, n), g, j->b1, j->one_minus_b1);
  const vf old = vf_mul(vf_set1(j->b2), vf_load_n(j->v + i, n));
  const vf v = vf_max_nan(old, vf_add(vf_abs(g), vf_set1(j->eps)));
  vf_store_n(j->m + i, m, n);
  vf_store_n(j->v + i, v, n);
  vf_store_n(j->p + i, vf_fma(vf_set1(j->minus_lr_over_bc1), vf_div(m, v), p), n);
}

/* Adam's moments and decay. */
struct moments {
  vf m, v, p;
};
VEC_FN struct moments moments(const job *j, int64_t i, size_t n, vf p, vf g) {
  const struct moments s = {.m = mean(vf_load_n(j->m + i, n), g, j->b1, j->one_minus_b1),
                            .v = mean(vf_load_n(j->v + i, n), vf_mul(g, g), j->b2, j->one_minus_b2),
                            .p = j->o->decoupled ? vf_mul(p, vf_set1(j->decay)) : p};
  vf_store_n(j->m + i, s.m, n);
  vf_store_n(j->v + i, s.v, n);
  return s;
}
VEC_FN void nadam(const job *j, int64_t i, size_t n) {
  const vf p = vf_load_n(j->p + i, n), g = gradient(j, i, n, p);
  const struct moments s = moments(j, i, n, p, g);
  const vf size = vf_fma(vf_sqrt(s.v), vf_set1(j->inv_sqrt_bc2), vf_set1(j->eps));
  const vf by_gradient = vf_fma(vf_set1(j->minus_gradient_rate), vf_div(g, size), s.p);
  vf_store_n(j->p + i, vf_fma(vf_set1(j->minus_lr_over_bc1), vf_div(s.m, size), by_gradient), n);
}
VEC_FN void radam(const job *j, int64_t i, size_t n) {
  const vf p = vf_load_n(j->p + i, n);
  const struct moments s = moments(j, i, n, p, gradient(j, i, n, p));
  const vf step = j->o->rectified ? vf_div(s.m, vf_add(vf_sqrt(s.v), vf_set1(j->eps))) : s.m;
  vf_store_n(j->p + i, vf_fma(vf_set1(j->minus_lr_over_bc1), step, s.p), n);
}
