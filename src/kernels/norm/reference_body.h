/* Batch normalisation of one output element, once per precision; see reference.c. REAL is the type, NAMED(f) the name
 * of f in it, EXACT(f) the C library's exact function f. */

typedef struct NAMED(column) {
  const REAL *x;
  int64_t step;
} NAMED(column);
static ISO__HD REAL NAMED(column_at)(const void *args, size_t i) {
  const NAMED(column) *column = (const NAMED(column) *)args;
  return column->x[(int64_t)i * column->step];
}

static ISO__HD REAL NAMED(rstd)(const iso_batch_norm_args *a, int64_t channel) {
  return 1 / EXACT(sqrt)(((const REAL *)a->var)[channel] + (REAL)a->eps);
}
static ISO__HD REAL NAMED(normalised)(const iso_batch_norm_args *a, int64_t index, int64_t channel) {
  const REAL d = ((const REAL *)a->x)[index] - ((const REAL *)a->mean)[channel];
  return d * NAMED(rstd)(a, channel);
}
static ISO__HD REAL NAMED(affine)(const iso_batch_norm_args *a, int64_t index, int64_t channel) {
  return EXACT(fma)(NAMED(normalised)(a, index, channel), ((const REAL *)a->gamma)[channel],
                    ((const REAL *)a->beta)[channel]);
}
/* dy after relu's gradient */
static ISO__HD REAL NAMED(gradient)(const iso_batch_norm_problem *p, const iso_batch_norm_args *a, int64_t index) {
  const REAL dy = ((const REAL *)a->dy)[index];
  if (!p->activation) return dy;
  const REAL y = p->recomputes ? NAMED(affine)(a, index, index % p->c) : ((const REAL *)a->y_saved)[index];
  return y > 0 ? dy : y != y ? y : 0;
}

static ISO__HD REAL NAMED(stats)(const iso_batch_norm_problem *p, const iso_batch_norm_args *a, int operand,
                                 int64_t channel) {
  const NAMED(column) column = {(const REAL *)a->x + channel, p->c};
  const struct NAMED(iso__moments) moments = NAMED(iso__moments)(NAMED(column_at), &column, (size_t)p->rows);
  return operand == 1 ? moments.mean : moments.m2 / (REAL)(operand == 2 ? p->rows : p->rows - 1);
}

static ISO__HD REAL NAMED(fwd)(const iso_batch_norm_problem *p, const iso_batch_norm_args *a, int64_t index) {
  const int64_t channel = index % p->c;
  REAL y = NAMED(affine)(a, index, channel);
  if (p->has_residual) y = y + ((const REAL *)a->residual)[index];
  if (p->activation) y = y > 0 ? y : y != y ? y : 0;
  return y;
}

static ISO__HD REAL NAMED(bwd_reduce)(const iso_batch_norm_problem *p, const iso_batch_norm_args *a, bool gamma,
                                      int64_t channel) {
  struct NAMED(iso__ordered) sum = {0};
  for (int64_t k = 0; k < p->rows; k++) {
    const int64_t index = k * p->c + channel;
    const REAL dy = NAMED(gradient)(p, a, index);
    if (gamma) NAMED(iso__ordered_fma)(&sum, dy, NAMED(normalised)(a, index, channel));
    else NAMED(iso__ordered_add)(&sum, dy);
  }
  return NAMED(iso__ordered_end)(&sum);
}

static ISO__HD REAL NAMED(bwd_data)(const iso_batch_norm_problem *p, const iso_batch_norm_args *a, int64_t index) {
  const int64_t channel = index % p->c;
  const REAL factor = ((const REAL *)a->gamma)[channel] * NAMED(rstd)(a, channel), dy = NAMED(gradient)(p, a, index);
  if (!p->training) return dy * factor;
  const REAL n = (REAL)p->rows;
  const REAL from_var = ((const REAL *)a->dgamma)[channel] / n, from_mean = ((const REAL *)a->dbeta)[channel] / n;
  return factor * EXACT(fma)(-NAMED(normalised)(a, index, channel), from_var, dy - from_mean);
}

static ISO__HD REAL NAMED(element)(const iso_batch_norm_problem *p, const iso_batch_norm_args *a, int operand,
                                   int64_t index) {
  /* bwd_reduce's outputs follow x, mean, var, dy and perhaps y_saved or gamma and beta */
  const int first = 4 + (p->recomputes ? 2 : p->activation);
  switch (p->head.op) {
  case ISO__OP_BATCH_NORM_STATS: return NAMED(stats)(p, a, operand, index);
  case ISO__OP_BATCH_NORM_FWD: return NAMED(fwd)(p, a, index);
  case ISO__OP_BATCH_NORM_BWD_REDUCE:
    return operand == first + 2 ? NAMED(gradient)(p, a, index) : NAMED(bwd_reduce)(p, a, operand == first, index);
  default: return NAMED(bwd_data)(p, a, index);
  }
}
