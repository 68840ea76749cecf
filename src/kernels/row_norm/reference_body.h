/* Row normalisation of one output element, once per precision; see reference.c. REAL is the type, NAMED(f) the name of
 * f in it, EXACT(f) the C library's exact function f. */

/* One row: element i of it lies at `first` + position·channels + channel of the group. */
typedef struct NAMED(row) {
  const iso_row_norm_problem *p;
  int64_t index, first, n, width; /* width: channels of a group */
} NAMED(row);

static ISO__HD NAMED(row) NAMED(row_at)(const iso_row_norm_problem *p, int64_t index) {
  const int64_t width = p->channels / p->groups;
  return (NAMED(row)){.p = p,
                      .index = index,
                      .first = index / p->groups * p->positions * p->channels + index % p->groups * width,
                      .n = p->positions * width,
                      .width = width};
}
static ISO__HD int64_t NAMED(place)(const NAMED(row) * row, int64_t i) {
  return row->first + i / row->width * row->p->channels + i % row->width;
}

static ISO__HD REAL NAMED(mean)(const NAMED(row) * row, const REAL *x) {
  struct NAMED(iso__lanes) sum = {.i = 0};
  for (int64_t i = 0; i < row->n; i++) NAMED(iso__lanes_add)(&sum, x[NAMED(place)(row, i)]);
  return NAMED(iso__lanes_end)(&sum) / (REAL)row->n;
}
static ISO__HD REAL NAMED(rstd)(const NAMED(row) * row, const REAL *x, REAL mean, REAL eps) {
  struct NAMED(iso__lanes) sum = {.i = 0};
  for (int64_t i = 0; i < row->n; i++) {
    const REAL d = row->p->rms ? x[NAMED(place)(row, i)] : x[NAMED(place)(row, i)] - mean;
    NAMED(iso__lanes_fma)(&sum, d, d);
  }
  return 1 / EXACT(sqrt)(NAMED(iso__lanes_end)(&sum) / (REAL)row->n + eps);
}

static ISO__HD REAL NAMED(normalised)(const iso_row_norm_problem *p, REAL x, REAL mean, REAL rstd) {
  return (p->rms ? x : x - mean) * rstd;
}

static ISO__HD REAL NAMED(fwd)(const iso_row_norm_problem *p, const iso_row_norm_args *a, int64_t index) {
  const REAL *x = (const REAL *)a->x;
  const int64_t channel = index % p->channels, width = p->channels / p->groups;
  const NAMED(row) row = NAMED(row_at)(p, index / p->channels / p->positions * p->groups + channel / width);
  const REAL mean = p->rms ? 0 : NAMED(mean)(&row, x);
  const REAL h = NAMED(normalised)(p, x[index], mean, NAMED(rstd)(&row, x, mean, (REAL)a->eps));
  if (p->has_gamma && p->has_beta)
    return EXACT(fma)(h, ((const REAL *)a->gamma)[channel], ((const REAL *)a->beta)[channel]);
  if (p->has_gamma) return h * ((const REAL *)a->gamma)[channel];
  return p->has_beta ? h + ((const REAL *)a->beta)[channel] : h;
}

/* h and g = dy·γ at a place. */
static ISO__HD REAL NAMED(h_at)(const iso_row_norm_problem *p, const iso_row_norm_args *a, int64_t row, int64_t place) {
  return NAMED(normalised)(p, ((const REAL *)a->x)[place], p->rms ? 0 : ((const REAL *)a->mean)[row],
                           ((const REAL *)a->rstd)[row]);
}
static ISO__HD REAL NAMED(g_at)(const iso_row_norm_problem *p, const iso_row_norm_args *a, int64_t place) {
  const REAL dy = ((const REAL *)a->dy)[place];
  return p->has_gamma ? dy * ((const REAL *)a->gamma)[place % p->channels] : dy;
}

static ISO__HD REAL NAMED(bwd_data)(const iso_row_norm_problem *p, const iso_row_norm_args *a, int64_t index) {
  const int64_t width = p->channels / p->groups;
  const NAMED(row) row = NAMED(row_at)(p, index / p->channels / p->positions * p->groups + index % p->channels / width);
  struct NAMED(iso__lanes) sum_gh = {.i = 0}, sum_g = {.i = 0};
  for (int64_t i = 0; i < row.n; i++) {
    const int64_t place = NAMED(place)(&row, i);
    const REAL g = NAMED(g_at)(p, a, place);
    NAMED(iso__lanes_fma)(&sum_gh, g, NAMED(h_at)(p, a, row.index, place));
    NAMED(iso__lanes_add)(&sum_g, g);
  }
  const REAL n = (REAL)row.n, g = NAMED(g_at)(p, a, index), h = NAMED(h_at)(p, a, row.index, index);
  const REAL gh = NAMED(iso__lanes_end)(&sum_gh) / n;
  return ((const REAL *)a->rstd)[row.index] * EXACT(fma)(-h, gh, p->rms ? g : g - NAMED(iso__lanes_end)(&sum_g) / n);
}

static ISO__HD REAL NAMED(bwd_weights)(const iso_row_norm_problem *p, const iso_row_norm_args *a, bool gamma,
                                       int64_t channel) {
  struct NAMED(iso__ordered) sum = {0};
  for (int64_t k = 0; k < p->samples * p->positions; k++) {
    const int64_t place = k * p->channels + channel;
    const int64_t row = k / p->positions * p->groups + channel / (p->channels / p->groups);
    const REAL dy = ((const REAL *)a->dy)[place];
    if (gamma) NAMED(iso__ordered_fma)(&sum, dy, NAMED(h_at)(p, a, row, place));
    else NAMED(iso__ordered_add)(&sum, dy);
  }
  return NAMED(iso__ordered_end)(&sum);
}

static ISO__HD REAL NAMED(element)(const iso_row_norm_problem *p, const iso_row_norm_args *a, int operand,
                                   int64_t index) {
  if (p->head.op == ISO__OP_ROW_NORM_BWD_DATA) return NAMED(bwd_data)(p, a, index);
  if (p->head.op == ISO__OP_ROW_NORM_BWD_WEIGHTS) /* x, mean, rstd, dy, then the outputs */
    return NAMED(bwd_weights)(p, a, p->has_gamma && operand == 4 - p->rms, index);
  if (p->head.op == ISO__OP_ROW_NORM_BWD) { /* x, mean, rstd, dy, gamma, then dx, dgamma, dbeta */
    const int dx = 5 - p->rms;
    return operand == dx ? NAMED(bwd_data)(p, a, index) : NAMED(bwd_weights)(p, a, operand == dx + 1, index);
  }
  const int y = 1 + p->has_gamma + p->has_beta;
  if (operand == y) return NAMED(fwd)(p, a, index);
  const NAMED(row) row = NAMED(row_at)(p, index);
  const REAL mean = p->rms ? 0 : NAMED(mean)(&row, (const REAL *)a->x);
  return !p->rms && operand == y + 1 ? mean : NAMED(rstd)(&row, (const REAL *)a->x, mean, (REAL)a->eps);
}
