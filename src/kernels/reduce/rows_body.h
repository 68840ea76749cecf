/* rows_body.h: rows of one precision (real_f32.h, real_f64.h) over four functions of at most one panel, which the
 * including file has: panel_sum, panel_product, block_extremum, first_equal.
 *
 * Where rows are fewer than threads, a row's panels are shared out: their values wait in an array on the caller's
 * stack, a wave of them at a time, and join the tree in order. */

struct NAMED(panels) {
  REAL waiting[48];
  size_t n; /* panels so far */
};
VEC_FN REAL NAMED(join)(take how, REAL a, REAL b) { return how == TAKE_MULTIPLY ? a * b : a + b; }
/* The tree as panels come: full subtrees wait, as in a binary counter. */
VEC_FN void NAMED(panels_push)(struct NAMED(panels) * p, take how, REAL value) {
  int top = __builtin_popcountll(p->n);
  for (size_t bits = p->n++; bits & 1; bits >>= 1) value = NAMED(join)(how, p->waiting[--top], value);
  p->waiting[top] = value;
}
VEC_FN REAL NAMED(panels_end)(const struct NAMED(panels) * p, take how) {
  int top = __builtin_popcountll(p->n);
  REAL value = p->waiting[--top];
  while (top) value = NAMED(join)(how, p->waiting[--top], value);
  return how == TAKE_MULTIPLY ? value : value + 0;
}
VEC_FN REAL NAMED(panel_value)(take how, const REAL *x, int64_t n, REAL statistic) {
  return how == TAKE_MULTIPLY ? NAMED(panel_product)(x, n) : NAMED(panel_sum)(how, x, n, statistic);
}
VEC_FN REAL NAMED(row_total)(take how, const REAL *x, int64_t n, REAL statistic) {
  if (n == 0) return how == TAKE_MULTIPLY ? 1 : 0;
  if (n <= ISO__ROW_PANEL) {
    const REAL value = NAMED(panel_value)(how, x, n, statistic);
    return how == TAKE_MULTIPLY ? value : value + 0;
  }
  struct NAMED(panels) panels = {.n = 0};
  for (int64_t i = 0; i < n; i += ISO__ROW_PANEL) NAMED(panels_push)
  (&panels, how, NAMED(panel_value)(how, x + i, n - i < ISO__ROW_PANEL ? n - i : ISO__ROW_PANEL, statistic));
  return NAMED(panels_end)(&panels, how);
}

/* ---- one row, many threads ---- */

typedef struct NAMED(wave) {
  const REAL *x;
  int64_t n; /* elements from x to the row's end */
  take how;
  REAL statistic, value[WAVE_PANELS];
} NAMED(wave);
#define NAMED_CASE(how)                                                                                                \
  case how: value = NAMED(panel_value)(how, x, n, w->statistic); break
static void NAMED(run_panels)(void *arg, int64_t begin, int64_t end, int thread) {
  NAMED(wave) *w = arg;
  (void)thread;
  for (int64_t i = begin; i < end; i++) {
    const REAL *x = w->x + i * ISO__ROW_PANEL;
    const int64_t left = w->n - i * ISO__ROW_PANEL, n = left < ISO__ROW_PANEL ? left : ISO__ROW_PANEL;
    REAL value;
    switch (w->how) {
      NAMED_CASE(TAKE_SQUARE);
      NAMED_CASE(TAKE_NUMBER);
      NAMED_CASE(TAKE_ABS);
      NAMED_CASE(TAKE_DEVIATION);
      NAMED_CASE(TAKE_EXP);
      NAMED_CASE(TAKE_MULTIPLY);
    default: value = NAMED(panel_value)(TAKE_ADD, x, n, 0); break;
    }
    w->value[i] = value;
  }
}
#undef NAMED_CASE
static REAL NAMED(shared_total)(iso_context *ctx, take how, const REAL *x, int64_t n, REAL statistic) {
  NAMED(wave) w;
  struct NAMED(panels) panels = {.n = 0};
  w.how = how, w.statistic = statistic;
  for (int64_t i = 0; i < n; i += WAVE_PANELS * ISO__ROW_PANEL) {
    w.x = x + i, w.n = n - i;
    int64_t n_panels = (w.n + ISO__ROW_PANEL - 1) / ISO__ROW_PANEL;
    if (n_panels > WAVE_PANELS) n_panels = WAVE_PANELS;
    iso__parallel_range(ctx, n_panels, GRAIN_PANELS, 1, NAMED(run_panels), &w);
    for (int64_t k = 0; k < n_panels; k++) NAMED(panels_push)(&panels, how, w.value[k]);
  }
  return NAMED(panels_end)(&panels, how);
}

/* ---- extrema ---- */

VEC_FN bool NAMED(is_better)(bool largest, REAL x, REAL best) {
  return best == best && (x != x || (largest ? x > best : x < best));
}
/* The extremum of n ≥ 1 elements, and, where `at` is given, its position. */
VEC_FN REAL NAMED(row_extremum)(bool largest, bool magnitude, const REAL *x, int64_t n, int64_t *at) {
  REAL best = 0;
  int64_t block = 0;
  for (int64_t i = 0; i < n; i += ISO__ROW_PANEL) {
    const REAL v = NAMED(block_extremum)(largest, magnitude, x + i, n - i < ISO__ROW_PANEL ? n - i : ISO__ROW_PANEL);
    if (i == 0 || NAMED(is_better)(largest, v, best)) best = v, block = i;
  }
  if (at) *at = block + NAMED(first_equal)(x + block, n - block, best);
  return best + 0;
}

typedef struct NAMED(search) {
  const REAL *x;
  int64_t n, segment; /* elements, and of one segment */
  iso__reduce_fn fn;
  REAL value[MAX_SEGMENTS];
} NAMED(search);
VEC_FN REAL NAMED(extremum_of)(iso__reduce_fn fn, const REAL *x, int64_t n, int64_t *at) {
  switch (fn) {
  case ISO__REDUCE_MAX: return NAMED(row_extremum)(true, false, x, n, NULL);
  case ISO__REDUCE_MIN: return NAMED(row_extremum)(false, false, x, n, NULL);
  case ISO__REDUCE_MAX_ABS: return NAMED(row_extremum)(true, true, x, n, NULL);
  case ISO__REDUCE_MIN_ABS: return NAMED(row_extremum)(false, true, x, n, NULL);
  case ISO__REDUCE_MAX_AT:
  case ISO__REDUCE_ARGMAX: return NAMED(row_extremum)(true, false, x, n, at);
  default: return NAMED(row_extremum)(false, false, x, n, at);
  }
}
static void NAMED(run_segments)(void *arg, int64_t begin, int64_t end, int thread) {
  NAMED(search) *s = arg;
  (void)thread;
  for (int64_t i = begin; i < end; i++) {
    const int64_t first = i * s->segment, n = s->n - first < s->segment ? s->n - first : s->segment;
    s->value[i] = NAMED(extremum_of)(s->fn, s->x + first, n, NULL);
  }
}
static REAL NAMED(shared_extremum)(iso_context *ctx, iso__reduce_fn fn, const REAL *x, int64_t n, int64_t *at) {
  NAMED(search) s = {.x = x, .n = n, .fn = fn, .segment = (n + MAX_SEGMENTS - 1) / MAX_SEGMENTS};
  if (iso__reduce_has_index(fn)) s.fn = iso__reduce_is_largest(fn) ? ISO__REDUCE_MAX : ISO__REDUCE_MIN;
  if (s.segment < ISO__ROW_PANEL) s.segment = ISO__ROW_PANEL;
  const int64_t n_segments = (n + s.segment - 1) / s.segment;
  iso__parallel_range(ctx, n_segments, 1, 1, NAMED(run_segments), &s);
  int64_t best = 0;
  for (int64_t i = 1; i < n_segments; i++)
    if (NAMED(is_better)(iso__reduce_is_largest(fn), s.value[i], s.value[best])) best = i;
  if (at) *at = best * s.segment + NAMED(first_equal)(x + best * s.segment, n - best * s.segment, s.value[best]);
  return s.value[best];
}

/* ---- rows begin … end − 1; `shared`: not NULL where a row's panels are shared out ---- */

#define EACH_ROW(...)                                                                                                  \
  for (int64_t r = begin; r < end; r++, x += n) { __VA_ARGS__; }                                                       \
  break
#define TOTAL(how, statistic)                                                                                          \
  (shared ? NAMED(shared_total)(shared, how, x, n, statistic) : NAMED(row_total)(how, x, n, statistic))
#define EXTREMUM(fn, at) (shared ? NAMED(shared_extremum)(shared, fn, x, n, at) : NAMED(extremum_of)(fn, x, n, at))

static void NAMED(run_rows)(const iso_reduce_problem *p, const iso_reduce_args *a, int64_t begin, int64_t end,
                            iso_context *shared) {
  const int64_t n = p->n;
  const REAL *x = (const REAL *)a->x + begin * n;
  REAL *y = a->y, *mean = a->mean;
  int64_t *at = iso__reduce_is_index((iso__reduce_fn)p->fn) ? a->y : a->index;
  const REAL divisor = (REAL)a->divisor;
  REAL m;
  switch ((iso__reduce_fn)p->fn) {
  case ISO__REDUCE_SUM: EACH_ROW(y[r] = TOTAL(TAKE_ADD, 0));
  case ISO__REDUCE_MEAN: EACH_ROW(y[r] = TOTAL(TAKE_ADD, 0) / (REAL)n);
  case ISO__REDUCE_SUM_SQUARES: EACH_ROW(y[r] = TOTAL(TAKE_SQUARE, 0));
  case ISO__REDUCE_PROD: EACH_ROW(y[r] = TOTAL(TAKE_MULTIPLY, 0));
  case ISO__REDUCE_NANSUM: EACH_ROW(y[r] = TOTAL(TAKE_NUMBER, 0));
  case ISO__REDUCE_SUM_ABS: EACH_ROW(y[r] = TOTAL(TAKE_ABS, 0));
  case ISO__REDUCE_VAR:
    EACH_ROW(mean[r] = TOTAL(TAKE_ADD, 0) / (REAL)n, y[r] = TOTAL(TAKE_DEVIATION, mean[r]) / divisor);
  case ISO__REDUCE_STD:
    EACH_ROW(mean[r] = TOTAL(TAKE_ADD, 0) / (REAL)n, y[r] = EXACT(sqrt)(TOTAL(TAKE_DEVIATION, mean[r]) / divisor));
  case ISO__REDUCE_LOGSUMEXP:
    EACH_ROW(m = n ? EXTREMUM(ISO__REDUCE_MAX, NULL) : 0; m = is_infinite((double)m) ? 0 : m;
             y[r] = NAMED(log)(TOTAL(TAKE_EXP, m)) + m);
  case ISO__REDUCE_MAX: EACH_ROW(y[r] = EXTREMUM(ISO__REDUCE_MAX, NULL));
  case ISO__REDUCE_MIN: EACH_ROW(y[r] = EXTREMUM(ISO__REDUCE_MIN, NULL));
  case ISO__REDUCE_MAX_ABS: EACH_ROW(y[r] = EXTREMUM(ISO__REDUCE_MAX_ABS, NULL));
  case ISO__REDUCE_MIN_ABS: EACH_ROW(y[r] = EXTREMUM(ISO__REDUCE_MIN_ABS, NULL));
  case ISO__REDUCE_MAX_AT: EACH_ROW(y[r] = EXTREMUM(ISO__REDUCE_MAX_AT, &at[r]));
  case ISO__REDUCE_MIN_AT: EACH_ROW(y[r] = EXTREMUM(ISO__REDUCE_MIN_AT, &at[r]));
  case ISO__REDUCE_ARGMAX: EACH_ROW((void)EXTREMUM(ISO__REDUCE_ARGMAX, &at[r]));
  default: EACH_ROW((void)EXTREMUM(ISO__REDUCE_ARGMIN, &at[r]));
  }
}
#undef EACH_ROW
#undef TOTAL
#undef EXTREMUM
