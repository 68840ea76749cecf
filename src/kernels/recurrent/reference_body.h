/* Recurrences of whole samples, once per precision; see reference.c. REAL is the type, NAMED(f) the name of f in it,
 * EXACT(f) the C library's exact function f, MATH(f) the shared elementary one. */

typedef struct NAMED(sample) {
  const iso_recurrent_problem *p;
  const iso_recurrent_args *a;
  int64_t index, length;
} NAMED(sample);

/* The sample's vector of `n` at step s in (time,batch,n). */
static REAL *NAMED(at)(const NAMED(sample) * q, const void *data, int64_t n, int64_t s) {
  return (REAL *)data + iso__recurrent_row(q->p, q->index, q->length, s) * n;
}
static REAL *NAMED(state)(const NAMED(sample) * q, const void *data) { return (REAL *)data + q->index * q->p->hidden; }
static void NAMED(clear)(const NAMED(sample) * q, void *data, int64_t n) {
  if (!data) return;
  for (int64_t t = q->length; t < q->p->time; t++)
    for (int64_t j = 0; j < n; j++) ((REAL *)data)[(t * q->p->batch + q->index) * n + j] = 0;
}

/* ---- forward ---- */

/* u of a gate's unit j */
static REAL NAMED(recurrent)(const NAMED(sample) * q, const REAL *h, int64_t gate, int64_t j) {
  const int64_t n = q->p->hidden, row = gate * n + j;
  const REAL sum = NAMED(iso__ordered_dot)((const REAL *)q->a->u + row * n, 1, h, 1, (size_t)n);
  return q->p->has_bias ? sum + ((const REAL *)q->a->bias)[row] : sum;
}

static REAL NAMED(lstm)(const NAMED(sample) * q, int64_t s, const REAL *h, REAL *c, int64_t j) {
  const int64_t n = q->p->hidden;
  const REAL *x = NAMED(at)(q, q->a->x, 4 * n, s);
  const REAL i = MATH(sigmoid)(x[j] + NAMED(recurrent)(q, h, 0, j));
  const REAL f = MATH(sigmoid)(x[n + j] + NAMED(recurrent)(q, h, 1, j));
  const REAL g = MATH(tanh)(x[2 * n + j] + NAMED(recurrent)(q, h, 2, j));
  const REAL o = MATH(sigmoid)(x[3 * n + j] + NAMED(recurrent)(q, h, 3, j));
  c[j] = EXACT(fma)(f, c[j], i * g);
  if (q->p->saves) {
    REAL *gates = NAMED(at)(q, q->a->gates, 4 * n, s);
    gates[j] = i, gates[n + j] = f, gates[2 * n + j] = g, gates[3 * n + j] = o;
    NAMED(at)(q, q->a->cells, n, s)[j] = c[j];
  }
  return o * MATH(tanh)(c[j]);
}
static REAL NAMED(gru)(const NAMED(sample) * q, int64_t s, const REAL *h, int64_t j) {
  const int64_t n = q->p->hidden;
  const REAL *x = NAMED(at)(q, q->a->x, 3 * n, s);
  const REAL r = MATH(sigmoid)(x[j] + NAMED(recurrent)(q, h, 0, j));
  const REAL z = MATH(sigmoid)(x[n + j] + NAMED(recurrent)(q, h, 1, j));
  const REAL u = NAMED(recurrent)(q, h, 2, j), v = MATH(tanh)(EXACT(fma)(r, u, x[2 * n + j]));
  if (q->p->saves) {
    REAL *gates = NAMED(at)(q, q->a->gates, 4 * n, s);
    gates[j] = r, gates[n + j] = z, gates[2 * n + j] = v, gates[3 * n + j] = u;
  }
  return EXACT(fma)(z, h[j] - v, v);
}
static REAL NAMED(plain)(const NAMED(sample) * q, int64_t s, const REAL *h, int64_t j) {
  const REAL v = NAMED(at)(q, q->a->x, q->p->hidden, s)[j] + NAMED(recurrent)(q, h, 0, j);
  if (q->p->cell == ISO__CELL_TANH) return MATH(tanh)(v);
  return v > 0 ? v : v != v ? v : 0;
}

static void NAMED(forward)(const NAMED(sample) * q) {
  const int64_t n = q->p->hidden, n_bytes = n * (int64_t)sizeof(REAL);
  const bool is_lstm = q->p->cell == ISO__CELL_LSTM;
  const REAL *h = NAMED(state)(q, q->a->h0);
  REAL *c = is_lstm ? NAMED(state)(q, q->a->cn) : NULL;
  if (is_lstm) memcpy(c, NAMED(state)(q, q->a->c0), (size_t)n_bytes);
  for (int64_t s = 0; s < q->length; s++) {
    REAL *y = NAMED(at)(q, q->a->y, n, s);
    for (int64_t j = 0; j < n; j++)
      y[j] = is_lstm                       ? NAMED(lstm)(q, s, h, c, j)
             : q->p->cell == ISO__CELL_GRU ? NAMED(gru)(q, s, h, j)
                                           : NAMED(plain)(q, s, h, j);
    h = y;
  }
  memcpy(NAMED(state)(q, q->a->hn), h, (size_t)n_bytes);
  NAMED(clear)(q, q->a->y, n);
  NAMED(clear)(q, q->a->gates, iso__cell_saved(q->p->cell) * n);
  NAMED(clear)(q, q->a->cells, n);
}

/* ---- backward ---- */

/* dx of unit j; dc is the cell's gradient, from the step after and to the one before. */
static void NAMED(lstm_gradient)(const NAMED(sample) * q, int64_t s, REAL dh, REAL *dc_state, int64_t j) {
  const int64_t n = q->p->hidden;
  const REAL *gates = NAMED(at)(q, q->a->gates_saved, 4 * n, s);
  const REAL i = gates[j], f = gates[n + j], g = gates[2 * n + j], o = gates[3 * n + j];
  const REAL c = s ? NAMED(at)(q, q->a->cells_saved, n, s - 1)[j] : NAMED(state)(q, q->a->c0)[j];
  const REAL t = MATH(tanh)(NAMED(at)(q, q->a->cells_saved, n, s)[j]);
  const REAL dc = EXACT(fma)(dh * o, EXACT(fma)(-t, t, 1), *dc_state);
  REAL *dx = NAMED(at)(q, q->a->dx, 4 * n, s);
  dx[j] = dc * g * (i * (1 - i));
  dx[n + j] = dc * c * (f * (1 - f));
  dx[2 * n + j] = dc * i * EXACT(fma)(-g, g, 1);
  dx[3 * n + j] = dh * t * (o * (1 - o));
  *dc_state = dc * f;
}
static void NAMED(gru_gradient)(const NAMED(sample) * q, int64_t s, REAL dh, int64_t j) {
  const int64_t n = q->p->hidden;
  const REAL *gates = NAMED(at)(q, q->a->gates_saved, 4 * n, s);
  const REAL r = gates[j], z = gates[n + j], v = gates[2 * n + j], u = gates[3 * n + j];
  const REAL h = s ? NAMED(at)(q, q->a->y_saved, n, s - 1)[j] : NAMED(state)(q, q->a->h0)[j];
  const REAL dn = dh * (1 - z) * EXACT(fma)(-v, v, 1);
  REAL *dx = NAMED(at)(q, q->a->dx, 3 * n, s), *dz = NAMED(at)(q, q->a->dz, 3 * n, s);
  dx[j] = dz[j] = dn * u * (r * (1 - r));
  dx[n + j] = dz[n + j] = dh * (h - v) * (z * (1 - z));
  dx[2 * n + j] = dn;
  dz[2 * n + j] = dn * r;
}
static void NAMED(plain_gradient)(const NAMED(sample) * q, int64_t s, REAL dh, int64_t j) {
  const REAL y = NAMED(at)(q, q->a->y_saved, q->p->hidden, s)[j];
  NAMED(at)
  (q, q->a->dx, q->p->hidden, s)[j] = q->p->cell == ISO__CELL_TANH ? dh * EXACT(fma)(-y, y, 1)
                                      : y > 0                      ? dh
                                      : y != y                     ? y
                                                                   : 0;
}

/* dh0 and dc0 hold the gradients that go from step to step. */
static void NAMED(backward)(const NAMED(sample) * q) {
  const iso_recurrent_problem *p = q->p;
  const int64_t n = p->hidden, k = iso__cell_gates(p->cell) * n;
  const bool is_lstm = p->cell == ISO__CELL_LSTM, is_gru = p->cell == ISO__CELL_GRU;
  REAL *dh0 = NAMED(state)(q, q->a->dh0), *dc0 = is_lstm ? NAMED(state)(q, q->a->dc0) : NULL;
  for (int64_t j = 0; j < n; j++) {
    dh0[j] = p->has_dhn ? NAMED(state)(q, q->a->dhn)[j] : 0;
    if (is_lstm) dc0[j] = p->has_dcn ? NAMED(state)(q, q->a->dcn)[j] : 0;
  }
  for (int64_t s = q->length - 1; s >= 0; s--) {
    const int64_t t = p->reverse ? q->length - 1 - s : s;
    for (int64_t j = 0; j < n; j++) {
      const REAL dh =
          p->has_dy ? ((const REAL *)q->a->dy)[t * p->dy_time + q->index * p->dy_batch + j] + dh0[j] : dh0[j];
      if (is_lstm) NAMED(lstm_gradient)(q, s, dh, &dc0[j], j);
      else if (is_gru) NAMED(gru_gradient)(q, s, dh, j);
      else NAMED(plain_gradient)(q, s, dh, j);
      if (is_gru) dh0[j] = dh * NAMED(at)(q, q->a->gates_saved, 4 * n, s)[n + j];
    }
    const REAL *dz = NAMED(at)(q, is_gru ? q->a->dz : q->a->dx, k, s);
    for (int64_t j = 0; j < n; j++) {
      const REAL sum = NAMED(iso__ordered_dot)(dz, 1, (const REAL *)q->a->u + j, n, (size_t)k);
      dh0[j] = is_gru ? sum + dh0[j] : sum;
    }
  }
  NAMED(clear)(q, q->a->dx, k);
  NAMED(clear)(q, q->a->dz, k);
}

static void NAMED(run)(const iso__call *call) {
  NAMED(sample) q = {.p = (const iso_recurrent_problem *)call->problem, .a = call->args};
  for (q.index = 0; q.index < q.p->batch; q.index++) {
    q.length = iso__recurrent_length(q.p, q.a, q.index);
    if (call->problem->op == ISO__OP_RECURRENT_FWD) NAMED(forward)(&q);
    else NAMED(backward)(&q);
  }
}
