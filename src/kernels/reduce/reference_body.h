/* Reductions of floats in plain C, once per precision; see reference.c. REAL is the type, NAMED(f) the name of f in it.
 */

/* ---- products ---- */

/* A tree of products whose terms come one by one, as order_body.h keeps its sums: bit b of the number of terms says
 * that a product of 2^b of them waits; at the end they join from the last one up. */
static ISO__HD void NAMED(tree_multiply)(REAL *waiting, int64_t n, REAL v) {
  int level = 0;
  for (; n >> level & 1; level++) v = waiting[level] * v;
  waiting[level] = v;
}
static ISO__HD REAL NAMED(tree_product)(const REAL *waiting, int64_t n) {
  int level = 0;
  while (!(n >> level & 1)) level++;
  REAL product = waiting[level];
  for (level++; n >> level; level++)
    if (n >> level & 1) product = waiting[level] * product;
  return product;
}
/* Product by lanes: 64 ascending products from 1 a row panel, their tree, and the tree of the panels' products. */
static ISO__HD ISO__APART REAL NAMED(panel_product)(const REAL *x, int64_t n) {
  REAL lane[ISO__LANES], waiting[8];
  for (int l = 0; l < ISO__LANES; l++) lane[l] = 1;
  for (int64_t i = 0; i < n; i++) lane[i % ISO__LANES] = lane[i % ISO__LANES] * x[i];
  for (int l = 0; l < ISO__LANES; l++) NAMED(tree_multiply)(waiting, l, lane[l]);
  return NAMED(tree_product)(waiting, ISO__LANES);
}
static ISO__HD REAL NAMED(row_product)(const REAL *x, int64_t n) {
  REAL waiting[48];
  int64_t panels = 0;
  do NAMED(tree_multiply)
  (waiting, panels, NAMED(panel_product)(x + panels * ISO__ROW_PANEL, n < ISO__ROW_PANEL ? n : ISO__ROW_PANEL));
  while (panels++, (n -= ISO__ROW_PANEL) > 0)
    ;
  return NAMED(tree_product)(waiting, panels);
}
/* `ordered` with × for +, from 1. */
static ISO__HD REAL NAMED(ordered_product)(const iso_reduce_problem *problem, const REAL *x) {
  const int64_t n = problem->n;
  REAL total = 1;
  for (int64_t p = 0; p < n; p += ISO__PANEL) {
    REAL panel = 1;
    for (int64_t c = p; c < n && c < p + ISO__PANEL; c += ISO__CHUNK) {
      REAL chunk = 1;
      for (int64_t k = c; k < n && k < c + ISO__CHUNK; k++) chunk = chunk * x[iso__reduce_offset(problem, k, 0)];
      panel = panel * chunk;
    }
    total = total * panel;
  }
  return total;
}

/* ---- extrema ---- */

/* Position of the extremum: the first NaN, else the lowest index of equals. */
static ISO__HD int64_t NAMED(extremum_index)(iso__reduce_fn fn, const REAL *x, int64_t step, int64_t n) {
  const bool largest = iso__reduce_is_largest(fn), magnitude = iso__reduce_is_magnitude(fn);
  int64_t best = 0;
  for (int64_t k = 0; k < n; k++) {
    const REAL v = magnitude ? EXACT(fabs)(x[k * step]) : x[k * step];
    const REAL b = magnitude ? EXACT(fabs)(x[best * step]) : x[best * step];
    if (v != v) return k;
    if (largest ? v > b : v < b) best = k;
  }
  return best;
}

/* ---- sums ---- */

/* Terms in ascending k, by lanes or ordered; `statistic`: the mean, or what LOGSUMEXP subtracts. */
static ISO__HD REAL NAMED(sum_terms)(const iso_reduce_problem *p, iso__reduce_fn fn, const REAL *x, REAL statistic) {
  struct NAMED(iso__lanes) row = {0};
  struct NAMED(iso__ordered) column = {0};
  const bool rows = p->head.op == ISO__OP_REDUCE_ROWS,
             squares = fn == ISO__REDUCE_SUM_SQUARES || iso__reduce_is_spread(fn);
  for (int64_t k = 0; k < p->n; k++) {
    REAL t = x[iso__reduce_offset(p, k, 0)];
    if (fn == ISO__REDUCE_NANSUM && t != t) t = 0;
    if (fn == ISO__REDUCE_SUM_ABS) t = EXACT(fabs)(t);
    if (iso__reduce_is_spread(fn)) t = t - statistic;
    if (fn == ISO__REDUCE_LOGSUMEXP) t = MATH(exp)(t - statistic);
    if (rows && squares) NAMED(iso__lanes_fma)(&row, t, t);
    else if (rows) NAMED(iso__lanes_add)(&row, t);
    else if (squares) NAMED(iso__ordered_fma)(&column, t, t);
    else NAMED(iso__ordered_add)(&column, t);
  }
  return rows ? NAMED(iso__lanes_end)(&row) : NAMED(iso__ordered_end)(&column);
}

static ISO__HD REAL NAMED(log_sum_exp)(const iso_reduce_problem *p, const REAL *x) {
  REAL m = -(REAL)INFINITY;
  if (p->n) m = x[NAMED(extremum_index)(ISO__REDUCE_MAX, x, p->inner, p->n) * p->inner];
  if (m == (REAL)INFINITY || m == -(REAL)INFINITY) m = 0;
  return MATH(log)(NAMED(sum_terms)(p, ISO__REDUCE_LOGSUMEXP, x, m)) + m;
}

static ISO__HD REAL NAMED(sum_value)(const iso_reduce_problem *p, const iso_reduce_args *a, bool mean_only,
                                     const REAL *x) {
  const iso__reduce_fn fn = (iso__reduce_fn)p->fn;
  if (fn == ISO__REDUCE_PROD)
    return p->head.op == ISO__OP_REDUCE_ROWS ? NAMED(row_product)(x, p->n) : NAMED(ordered_product)(p, x);
  if (fn == ISO__REDUCE_LOGSUMEXP) return NAMED(log_sum_exp)(p, x);
  if (fn != ISO__REDUCE_MEAN && !iso__reduce_is_spread(fn)) return NAMED(sum_terms)(p, fn, x, 0);
  const REAL mean = NAMED(sum_terms)(p, ISO__REDUCE_SUM, x, 0) / (REAL)p->n;
  if (fn == ISO__REDUCE_MEAN || mean_only) return mean;
  const REAL var = NAMED(sum_terms)(p, fn, x, mean) / (REAL)a->divisor;
  return fn == ISO__REDUCE_STD ? EXACT(sqrt)(var) : var;
}

static ISO__HD void NAMED(element)(const iso_reduce_problem *p, const iso_reduce_args *a, int operand, int64_t index,
                                   void *value) {
  const iso__reduce_fn fn = (iso__reduce_fn)p->fn;
  const REAL *x = (const REAL *)a->x + index / p->inner * p->n * p->inner + iso__reduce_offset(p, 0, index % p->inner);
  REAL y;
  if (iso__reduce_is_extremum(fn)) {
    const int64_t at = NAMED(extremum_index)(fn, x, p->inner, p->n);
    if (iso__reduce_is_index(fn) || operand == 2) {
      memcpy(value, &at, sizeof at);
      return;
    }
    y = x[at * p->inner];
    y = (iso__reduce_is_magnitude(fn) ? EXACT(fabs)(y) : y) + 0; /* a zero is +0 */
  } else {
    y = NAMED(sum_value)(p, a, operand == 2, x);
  }
  memcpy(value, &y, sizeof y);
}
