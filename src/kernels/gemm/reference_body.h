/* One element of class `ordered`, as NUMERICS §2 and §4 say, for the precision of numeric/real_*.h; LOAD(x, i) is
 * element i of an operand, widened exactly. Included twice by reference.c. */

static ISO__HD REAL NAMED(activate)(uint8_t activation, REAL x) {
  switch (activation) {
  case ISO__ACTIVATION_RELU: return x > 0 ? x : x != x ? x : 0;
  case ISO__ACTIVATION_GELU: return MATH(gelu)(x);
  case ISO__ACTIVATION_GELU_TANH: return MATH(gelu_tanh)(x);
  case ISO__ACTIVATION_SILU: return MATH(silu)(x);
  default: return x;
  }
}

static ISO__HD REAL NAMED(element)(const iso_gemm_problem *p, const iso_gemm_args *args, int64_t item, int64_t i,
                                   int64_t j) {
  const int64_t a = item * p->batch_stride_a + i * (p->trans_a ? 1 : p->lda), a_step = p->trans_a ? p->lda : 1;
  const int64_t b = item * p->batch_stride_b + j * (p->trans_b ? p->ldb : 1), b_step = p->trans_b ? 1 : p->ldb;
  const int64_t c = item * p->batch_stride_c + i * p->ldc + j;
  struct NAMED(iso__ordered) sum = {0};
  for (int64_t k = 0; k < p->k; k++)
    NAMED(iso__ordered_fma)(&sum, LOAD(args->a, a + k * a_step), LOAD(args->b, b + k * b_step));
  REAL t = NAMED(iso__ordered_end)(&sum);
  if (p->has_alpha) t = (REAL)args->alpha * t;
  if (p->has_beta) {
    const REAL product = (REAL)args->beta * LOAD(args->c, c);
    t = t + product;
  }
  if (p->has_bias) t = t + LOAD(args->bias, j);
  if (p->has_residual) t = t + LOAD(args->residual, c);
  if (p->has_scale) t = t * (REAL)args->scale;
  return NAMED(activate)(p->activation, t);
}
