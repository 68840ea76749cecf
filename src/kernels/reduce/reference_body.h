/* Reductions in plain C, once per precision; see reference.c. REAL is the type, NAMED(f) the name of f in it.
 */

/* Product by lanes: 64 ascending products from 1 a row panel, their tree, and the tree of the panels' products. */
static REAL NAMED(tree_product)(const REAL *v, int64_t n) {
  if (n == 1) return v[0];
  int64_t left = 1; /* the largest power of two below n */
  while (left < n - left) left *= 2;
  return NAMED(tree_product)(v, left) * NAMED(tree_product)(v + left, n - left);
}
static REAL NAMED(panel_product)(const REAL *x, int64_t n) {
  REAL lane[ISO__LANES];
  for (int l = 0; l < ISO__LANES; l++) lane[l] = 1;
  for (int64_t i = 0; i < n; i++) lane[i % ISO__LANES] = lane[i % ISO__LANES] * x[i];
  return NAMED(tree_product)(lane, ISO__LANES);
}
/* The tree over `panels` panels that begin at x; only the last of the row is shorter. */
static REAL NAMED(row_product)(const REAL *x, int64_t n) {
  const int64_t panels = (n + ISO__ROW_PANEL - 1) / ISO__ROW_PANEL;
  if (panels <= 1) return NAMED(panel_product)(x, n);
  int64_t left = 1;
  while (left < panels - left) left *= 2;
  return NAMED(row_product)(x, left * ISO__ROW_PANEL) *
         NAMED(row_product)(x + left * ISO__ROW_PANEL, n - left * ISO__ROW_PANEL);
}
/* `ordered` with × for +, from 1. */
static REAL NAMED(ordered_product)(const REAL *x, int64_t step, int64_t n) {
  REAL total = 1;
  for (int64_t p = 0; p < n; p += ISO__PANEL) {
    REAL panel = 1;
    for (int64_t c = p; c < n && c < p + ISO__PANEL; c += ISO__CHUNK) {
      REAL chunk = 1;
      for (int64_t k = c; k < n && k < c + ISO__CHUNK; k++) chunk = chunk * x[k * step];
      panel = panel * chunk;
    }
    total = total * panel;
  }
  return total;
}

static REAL NAMED(reduce_row)(iso__reduce_fn fn, const REAL *x, int64_t n) {
  switch (fn) {
  case ISO__REDUCE_SUM: return NAMED(iso__lanes_sum)(x, 1, (size_t)n);
  case ISO__REDUCE_MEAN: return NAMED(iso__lanes_sum)(x, 1, (size_t)n) / (REAL)n;
  case ISO__REDUCE_SUM_SQUARES: return NAMED(iso__lanes_dot)(x, 1, x, 1, (size_t)n);
  default: return NAMED(row_product)(x, n);
  }
}
static REAL NAMED(reduce_column)(iso__reduce_fn fn, const REAL *x, int64_t step, int64_t n) {
  switch (fn) {
  case ISO__REDUCE_SUM: return NAMED(iso__ordered_sum)(x, step, (size_t)n);
  case ISO__REDUCE_MEAN: return NAMED(iso__ordered_sum)(x, step, (size_t)n) / (REAL)n;
  case ISO__REDUCE_SUM_SQUARES: return NAMED(iso__ordered_dot)(x, step, x, step, (size_t)n);
  default: return NAMED(ordered_product)(x, step, n);
  }
}

/* Position of the extremum: the first NaN, else the lowest index of equals. */
static int64_t NAMED(extremum_index)(bool largest, const REAL *x, int64_t step, int64_t n) {
  int64_t best = 0;
  for (int64_t k = 0; k < n; k++) {
    const REAL v = x[k * step], b = x[best * step];
    if (v != v) return k;
    if (largest ? v > b : v < b) best = k;
  }
  return best;
}

static void NAMED(element)(const iso_reduce_problem *p, const REAL *x, int64_t index, void *value) {
  const iso__reduce_fn fn = (iso__reduce_fn)p->fn;
  const REAL *column = x + index / p->inner * p->n * p->inner + index % p->inner;
  REAL y;
  if (fn >= ISO__REDUCE_MAX) {
    const int64_t at = NAMED(extremum_index)(fn == ISO__REDUCE_MAX || fn == ISO__REDUCE_ARGMAX, column, p->inner, p->n);
    if (fn >= ISO__REDUCE_ARGMAX) {
      memcpy(value, &at, sizeof at);
      return;
    }
    y = column[at * p->inner] + 0; /* a zero is +0 */
  } else {
    y = p->head.op == ISO__OP_REDUCE_ROWS ? NAMED(reduce_row)(fn, column, p->n)
                                          : NAMED(reduce_column)(fn, column, p->inner, p->n);
  }
  memcpy(value, &y, sizeof y);
}
