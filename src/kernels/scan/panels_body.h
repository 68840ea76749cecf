/* panels_body.h: scans of one precision (real_f32.h, real_f64.h) over two functions that the including file has:
 * run_chains (up to CHAINS panels, each by itself), add_carry (y = carry ∘ y) and column_step (one row of columns). */

typedef struct NAMED(rows) {
  const iso_scan_problem *p;
  const REAL *x;
  REAL *y;
  int64_t n_panels;        /* of a row */
  int64_t row, panel;      /* a wave's row and first panel */
  REAL total[WAVE_PANELS]; /* of a wave's panels, then what comes before them */
} NAMED(rows);

static NAMED(chain) NAMED(chain_at)(const NAMED(rows) * s, int64_t row, int64_t panel) {
  const int64_t n = s->p->n, begin = panel * ISO__PANEL, left = n - begin;
  const int64_t at = row * n + (s->p->reverse ? n - 1 - begin : begin);
  return (NAMED(chain)){.x = s->x + at, .y = s->y + at, .n = left < ISO__PANEL ? left : ISO__PANEL};
}
static void NAMED(fold_in)(const NAMED(rows) * s, REAL carry, const NAMED(chain) * c) {
  NAMED(add_carry)((iso__scan_fn)s->p->fn, carry, s->p->reverse ? c->y - (c->n - 1) : c->y, c->n);
}

/* ---- threads share rows: panels are numbered through all of them, CHAINS a turn, carries join while y is in L1 ----
 */

static void NAMED(run_rows)(void *arg, int64_t begin, int64_t end, int thread) {
  const NAMED(rows) *s = arg;
  const iso__scan_fn fn = (iso__scan_fn)s->p->fn;
  NAMED(chain) c[CHAINS];
  REAL carry = neutral_of(fn);
  (void)thread;
  for (int64_t q = begin * s->n_panels; q < end * s->n_panels; q += CHAINS) {
    const int64_t left = end * s->n_panels - q;
    const int m = (int)(left < CHAINS ? left : CHAINS);
    for (int i = 0; i < m; i++) c[i] = NAMED(chain_at)(s, (q + i) / s->n_panels, (q + i) % s->n_panels);
    NAMED(run_chains)(fn, s->p->reverse, c, m);
    for (int i = 0; i < m; i++) {
      if ((q + i) % s->n_panels == 0) carry = neutral_of(fn);
      else NAMED(fold_in)(s, carry, &c[i]);
      carry = NAMED(combine)(fn, carry, c[i].total);
    }
  }
}

/* ---- threads share the panels of a row, a wave of them at a time, which stays in the cache for its carries ---- */

static void NAMED(run_panels)(void *arg, int64_t begin, int64_t end, int thread) {
  NAMED(rows) *s = arg;
  NAMED(chain) c[CHAINS];
  (void)thread;
  for (int64_t q = begin; q < end; q += CHAINS) {
    const int m = (int)(end - q < CHAINS ? end - q : CHAINS);
    for (int i = 0; i < m; i++) c[i] = NAMED(chain_at)(s, s->row, s->panel + q + i);
    NAMED(run_chains)((iso__scan_fn)s->p->fn, s->p->reverse, c, m);
    for (int i = 0; i < m; i++) s->total[q + i] = c[i].total;
  }
}
static void NAMED(run_carries)(void *arg, int64_t begin, int64_t end, int thread) {
  const NAMED(rows) *s = arg;
  (void)thread;
  for (int64_t q = begin; q < end; q++) {
    if (s->panel + q == 0) continue;
    const NAMED(chain) c = NAMED(chain_at)(s, s->row, s->panel + q);
    NAMED(fold_in)(s, s->total[q], &c);
  }
}
static void NAMED(share_row)(iso_context *ctx, NAMED(rows) * s) {
  const iso__scan_fn fn = (iso__scan_fn)s->p->fn;
  REAL carry = neutral_of(fn);
  for (s->panel = 0; s->panel < s->n_panels; s->panel += WAVE_PANELS) {
    const int64_t left = s->n_panels - s->panel, m = left < WAVE_PANELS ? left : WAVE_PANELS;
    iso__parallel_range(ctx, m, GRAIN_PANELS, CHAINS, NAMED(run_panels), s);
    for (int64_t i = 0; i < m; i++) {
      const REAL total = s->total[i];
      s->total[i] = carry, carry = NAMED(combine)(fn, carry, total);
    }
    iso__parallel_range(ctx, m, GRAIN_PANELS, CHAINS, NAMED(run_carries), s);
  }
}

/* ---- inner > 1: columns side by side ---- */

VEC_FN void NAMED(columns_as)(iso__scan_fn fn, const iso_scan_problem *p, const REAL *restrict x, REAL *restrict y,
                              int64_t m) {
  REAL run[COLUMN_BLOCK], carry[COLUMN_BLOCK];
  const int64_t step = p->reverse ? -p->inner : p->inner;
  for (int64_t j = 0; j < m; j++) run[j] = carry[j] = neutral_of(fn);
  for (int64_t k = 0; k < p->n; k++, x += step, y += step) {
    if (k && k % ISO__PANEL == 0)
      for (int64_t j = 0; j < m; j++) carry[j] = NAMED(combine)(fn, carry[j], run[j]), run[j] = neutral_of(fn);
    NAMED(column_step)(fn, run, carry, x, y, m);
  }
}
/* Columns are numbered through all outer indices. */
static void NAMED(run_columns)(void *arg, int64_t begin, int64_t end, int thread) {
  const NAMED(rows) *s = arg;
  const iso_scan_problem *p = s->p;
  (void)thread;
  for (int64_t c = begin; c < end;) {
    const int64_t first = c % p->inner, left = p->inner - first;
    int64_t m = end - c < left ? end - c : left;
    if (m > COLUMN_BLOCK) m = COLUMN_BLOCK;
    const int64_t at = (c / p->inner * p->n + (p->reverse ? p->n - 1 : 0)) * p->inner + first;
    switch ((iso__scan_fn)p->fn) {
    case ISO__SCAN_SUM: NAMED(columns_as)(ISO__SCAN_SUM, p, s->x + at, s->y + at, m); break;
    case ISO__SCAN_PROD: NAMED(columns_as)(ISO__SCAN_PROD, p, s->x + at, s->y + at, m); break;
    default: NAMED(columns_as)(ISO__SCAN_LOGSUMEXP, p, s->x + at, s->y + at, m); break;
    }
    c += m;
  }
}

static void NAMED(run)(const iso__call *call) {
  const iso_scan_problem *p = (const iso_scan_problem *)call->problem;
  const iso_scan_args *a = call->args;
  NAMED(rows) s = {.p = p, .x = a->x, .y = a->y, .n_panels = (p->n + ISO__PANEL - 1) / ISO__PANEL};
  const int64_t work = p->fn == ISO__SCAN_LOGSUMEXP ? 8 : 1, grain = GRAIN_ELEMENTS / (p->n * work + 1);
  if (p->outer == 0 || p->n == 0 || p->inner == 0) return;
  if (p->inner > 1) {
    iso__parallel_range(call->ctx, p->outer * p->inner, grain > 16 ? grain : 16, 16, NAMED(run_columns), &s);
  } else if (p->outer < call->ctx->n_threads && s.n_panels >= 2 * GRAIN_PANELS) {
    for (s.row = 0; s.row < p->outer; s.row++) NAMED(share_row)(call->ctx, &s);
  } else {
    iso__parallel_range(call->ctx, p->outer, grain + 1, CHAINS, NAMED(run_rows), &s);
  }
}
