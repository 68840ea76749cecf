/* columns_body.h: columns of one precision (real_f32.h, real_f64.h) over two functions that the including file has:
 * take_rows (accumulators take rows of terms) and extremum_block. */

typedef struct NAMED(columns) {
  const iso_reduce_problem *p;
  const iso_reduce_args *a;
  REAL *slots;           /* chunk sums of one wave, (chunk, column) */
  const REAL *statistic; /* of the columns of a wave */
  take how;
  int64_t chunk, column, m; /* first chunk of the wave, first column, columns */
} NAMED(columns);

static void NAMED(fill)(REAL *v, int64_t m, REAL value) {
  for (int64_t j = 0; j < m; j++) v[j] = value;
}
/* v = v + w or v · w, and w starts again. */
static void NAMED(join)(take how, REAL *v, REAL *w, int64_t m) {
  if (how == TAKE_MULTIPLY)
    for (int64_t j = 0; j < m; j++) v[j] = v[j] * w[j], w[j] = 1;
  else
    for (int64_t j = 0; j < m; j++) v[j] = v[j] + w[j], w[j] = 0;
}
static void NAMED(divide)(REAL *y, const REAL *total, REAL divisor, int64_t m) {
  for (int64_t j = 0; j < m; j++) y[j] = total[j] / divisor;
}
static void NAMED(root)(REAL *y, int64_t m) {
  for (int64_t j = 0; j < m; j++) y[j] = EXACT(sqrt)(y[j]);
}

/* ---- threads share columns ---- */

/* Rows k … k + rows − 1 of m ≤ TAIL_COLUMNS cut columns side by side, as columns that are whole lie. */
static void NAMED(gather)(const iso_reduce_problem *p, const REAL *x, int64_t k, int64_t rows, int64_t m,
                          REAL *buffer) {
  for (int64_t r = 0, length; r < rows; r += length) {
    const int64_t left = p->tail - (k + r) % p->tail;
    length = rows - r < left ? rows - r : left;
    NAMED(transpose)(x + iso__reduce_offset(p, k + r, 0), p->tail, buffer + r * m, m, length);
  }
}
/* A column without neighbours: its whole chunks are turned to lie side by side, TAIL_COLUMNS at a time. */
static REAL NAMED(lone_total)(const iso_reduce_problem *p, take how, const REAL *x, const REAL *statistic) {
  REAL buffer[ISO__CHUNK * TAIL_COLUMNS], statistics[TAIL_COLUMNS], sums[TAIL_COLUMNS];
  const REAL start = how == TAKE_MULTIPLY;
  REAL panel = start, total = start;
  NAMED(fill)(statistics, TAIL_COLUMNS, statistic ? *statistic : 0);
  for (int64_t k = 0, m; k < p->n; k += m * ISO__CHUNK) {
    const int64_t whole = (p->n - k) / ISO__CHUNK;
    m = whole > TAIL_COLUMNS ? TAIL_COLUMNS : whole > 0 ? whole : 1;
    NAMED(fill)(sums, m, start);
    if (whole > 0) NAMED(transpose)(x + k, ISO__CHUNK, buffer, m, ISO__CHUNK);
    if (whole > 0) NAMED(take_rows)(how, sums, buffer, m, ISO__CHUNK, m, statistics);
    else NAMED(take_rows)(how, sums, x + k, 1, p->n - k, 1, statistic);
    for (int64_t c = 0; c < m; c++) {
      NAMED(join)(how, &panel, sums + c, 1);
      if ((k / ISO__CHUNK + c + 1) % (ISO__PANEL / ISO__CHUNK) == 0) NAMED(join)(how, &total, &panel, 1);
    }
  }
  NAMED(join)(how, &total, &panel, 1); /* the last panel, or the neutral element */
  return total;
}

/* The totals of m columns that begin at x. */
static void NAMED(total_block)(const iso_reduce_problem *p, take how, const REAL *x, const REAL *statistic, REAL *total,
                               int64_t m) {
  if (p->inner == 1) {
    *total = NAMED(lone_total)(p, how, x, statistic);
    return;
  }
  REAL chunk[COLUMN_BLOCK], panel[COLUMN_BLOCK], buffer[ISO__CHUNK * TAIL_COLUMNS];
  const REAL start = how == TAKE_MULTIPLY;
  NAMED(fill)(chunk, m, start), NAMED(fill)(panel, m, start), NAMED(fill)(total, m, start);
  for (int64_t k = 0; k < p->n; k += ISO__CHUNK) {
    const int64_t rows = p->n - k < ISO__CHUNK ? p->n - k : ISO__CHUNK;
    if (p->tail) NAMED(gather)(p, x, k, rows, m, buffer);
    if (p->tail) NAMED(take_rows)(how, chunk, buffer, m, rows, m, statistic);
    else NAMED(take_rows)(how, chunk, x + k * p->inner, p->inner, rows, m, statistic);
    NAMED(join)(how, panel, chunk, m);
    if (k + rows == p->n || (k + rows) % ISO__PANEL == 0) NAMED(join)(how, total, panel, m);
  }
}

/* Columns c … c + m − 1, which begin at x. */
static void NAMED(sum_block)(const iso_reduce_problem *p, const iso_reduce_args *a, const REAL *x, int64_t c,
                             int64_t m) {
  REAL total[COLUMN_BLOCK], shift[COLUMN_BLOCK];
  REAL *y = (REAL *)a->y + c, *mean = (REAL *)a->mean + c;
  const iso__reduce_fn fn = (iso__reduce_fn)p->fn;
  if (iso__reduce_is_spread(fn)) {
    NAMED(total_block)(p, TAKE_ADD, x, NULL, total, m);
    NAMED(divide)(mean, total, (REAL)p->n, m);
    NAMED(total_block)(p, TAKE_DEVIATION, x, mean, total, m);
    NAMED(divide)(y, total, (REAL)a->divisor, m);
    if (fn == ISO__REDUCE_STD) NAMED(root)(y, m);
  } else if (fn == ISO__REDUCE_LOGSUMEXP) {
    NAMED(fill)(shift, m, 0);
    if (p->n) NAMED(extremum_block)(p, ISO__REDUCE_MAX, x, shift, NULL, m);
    for (int64_t j = 0; j < m; j++) shift[j] = is_infinite((double)shift[j]) ? 0 : shift[j];
    NAMED(total_block)(p, TAKE_EXP, x, shift, total, m);
    for (int64_t j = 0; j < m; j++) y[j] = NAMED(log)(total[j]) + shift[j];
  } else {
    NAMED(total_block)(p, take_of(fn), x, NULL, total, m);
    if (fn == ISO__REDUCE_MEAN) NAMED(divide)(y, total, (REAL)p->n, m);
    else memcpy(y, total, (size_t)m * sizeof *y);
  }
}

/* Columns are numbered through all outer indices. What looks twice takes so few columns that they stay in the cache,
 * unless those would be too few for reading memory in long pieces. */
static void NAMED(run_columns)(void *arg, int64_t begin, int64_t end, int thread) {
  const NAMED(columns) *j = arg;
  const iso_reduce_problem *p = j->p;
  const iso_reduce_args *a = j->a;
  const iso__reduce_fn fn = (iso__reduce_fn)p->fn;
  int64_t block = p->tail ? TAIL_COLUMNS : COLUMN_BLOCK;
  (void)thread;
  if ((iso__reduce_is_spread(fn) || fn == ISO__REDUCE_LOGSUMEXP) && !p->tail &&
      CACHED_COLUMNS * p->n <= CACHED_ELEMENTS)
    while (block * p->n > CACHED_ELEMENTS) block /= 2;
  for (int64_t c = begin; c < end;) {
    const int64_t first = c % p->inner, left = p->inner - first;
    int64_t m = end - c < left ? end - c : left;
    if (m > block) m = block;
    const REAL *x = (const REAL *)a->x + c / p->inner * p->n * p->inner + iso__reduce_offset(p, 0, first);
    if (!iso__reduce_is_extremum(fn)) NAMED(sum_block)(p, a, x, c, m);
    else if (iso__reduce_is_index(fn)) NAMED(extremum_block)(p, fn, x, NULL, (int64_t *)a->y + c, m);
    else NAMED(extremum_block)
    (p, fn, x, (REAL *)a->y + c, iso__reduce_has_index(fn) ? (int64_t *)a->index + c : NULL, m);
    c += m;
  }
}

/* ---- threads share chunks ---- */

static void NAMED(run_chunks)(void *arg, int64_t begin, int64_t end, int thread) {
  const NAMED(columns) *j = arg;
  const iso_reduce_problem *p = j->p;
  (void)thread;
  for (int64_t c = begin; c < end; c++) {
    const int64_t k = (j->chunk + c) * ISO__CHUNK, rows = p->n - k < ISO__CHUNK ? p->n - k : ISO__CHUNK;
    REAL *slot = j->slots + c * j->m;
    NAMED(fill)(slot, j->m, j->how == TAKE_MULTIPLY);
    NAMED(take_rows)
    (j->how, slot, (const REAL *)j->a->x + k * p->inner + j->column, p->inner, rows, j->m, j->statistic);
  }
}

static void NAMED(total_waves)(iso_context *ctx, NAMED(columns) * j, take how, const REAL *statistic, REAL *total) {
  const int64_t n_chunks = (j->p->n + ISO__CHUNK - 1) / ISO__CHUNK;
  REAL panel[COLUMN_BLOCK];
  j->how = how, j->statistic = statistic;
  NAMED(fill)(panel, j->m, how == TAKE_MULTIPLY), NAMED(fill)(total, j->m, how == TAKE_MULTIPLY);
  for (j->chunk = 0; j->chunk < n_chunks; j->chunk += COLUMN_WAVE) {
    const int64_t wave = n_chunks - j->chunk < COLUMN_WAVE ? n_chunks - j->chunk : COLUMN_WAVE;
    const int64_t grain = COLUMN_GRAIN_ELEMENTS / (ISO__CHUNK * j->m);
    iso__parallel_range(ctx, wave, grain > 0 ? grain : 1, 1, NAMED(run_chunks), j);
    for (int64_t c = 0; c < wave; c++) {
      NAMED(join)(how, panel, j->slots + c * j->m, j->m);
      const int64_t next = j->chunk + c + 1;
      if (next == n_chunks || next % (ISO__PANEL / ISO__CHUNK) == 0) NAMED(join)(how, total, panel, j->m);
    }
  }
}

static void NAMED(run_waves)(iso_context *ctx, NAMED(columns) * j) {
  const iso_reduce_problem *p = j->p;
  const iso__reduce_fn fn = (iso__reduce_fn)p->fn;
  REAL total[COLUMN_BLOCK];
  for (j->column = 0; j->column < p->inner; j->column += j->m) {
    j->m = p->inner - j->column < COLUMN_BLOCK ? p->inner - j->column : COLUMN_BLOCK;
    REAL *y = (REAL *)j->a->y + j->column, *mean = (REAL *)j->a->mean + j->column;
    NAMED(total_waves)(ctx, j, take_of(fn), NULL, total);
    if (iso__reduce_is_spread(fn)) {
      NAMED(divide)(mean, total, (REAL)p->n, j->m);
      NAMED(total_waves)(ctx, j, TAKE_DEVIATION, mean, total);
      NAMED(divide)(y, total, (REAL)j->a->divisor, j->m);
      if (fn == ISO__REDUCE_STD) NAMED(root)(y, j->m);
    } else if (fn == ISO__REDUCE_MEAN) {
      NAMED(divide)(y, total, (REAL)p->n, j->m);
    } else {
      memcpy(y, total, (size_t)j->m * sizeof *y);
    }
  }
}

static void NAMED(run)(const iso__call *call) {
  const iso_reduce_problem *p = (const iso_reduce_problem *)call->problem;
  NAMED(columns) j = {.p = p, .a = call->args, .slots = call->workspace};
  if (p->outer == 0 || p->inner == 0) return;
  if (call->workspace) {
    NAMED(run_waves)(call->ctx, &j);
    return;
  }
  const int64_t grain = COLUMN_GRAIN_ELEMENTS / (p->n > 0 ? p->n : 1);
  const int64_t least = p->tail ? 8 : 64;
  iso__parallel_range(call->ctx, p->outer * p->inner, grain > least ? grain : least, 8, NAMED(run_columns), &j);
}
