/* One block of destinations and columns, once per type; see direct_impl.h. */

typedef struct T(state) {
  TYPE *acc, *panel, *total;
  uint32_t *count; /* of a row; where every element has its own index, of an element */
} T(state);

/* `count` contributions are in: chunks and panels that are full join. */
static inline __attribute__((always_inline)) void T(joined)(iso__scatter_fn fn, const T(state) * s, int64_t at,
                                                            int64_t m, uint32_t count) {
  if (count % ISO__CHUNK) return;
  T(join)(fn, s->panel + at, s->acc + at, m);
  if (count % ISO__PANEL == 0) T(join)(fn, s->total + at, s->panel + at, m);
}

/* As above, of one element: rare, and apart from the loop that it would slow down. */
static __attribute__((noinline)) void T(join_one)(iso__scatter_fn fn, const T(state) * s, int64_t at, uint32_t count) {
  T(joined)(fn, s, at, 1, count);
}

/* Contributions k0 … of one column, n of them, whose destinations are d and whose values x. */
static inline __attribute__((always_inline)) void T(take_batch)(iso__scatter_fn fn, const T(state) * s,
                                                                const uint32_t *d, const TYPE *x, int64_t n) {
  TYPE *acc = s->acc;
  uint32_t *count = s->count;
  for (int64_t k = 0; k < n; k++) {
    const uint32_t to = d[k];
    acc[to] = T(take)(fn, acc[to], x[k]);
    if (++count[to] % ISO__CHUNK == 0) T(join_one)(fn, s, to, count[to]);
  }
}
/* One column that every source has an index for: where the block is only some of the destinations, a batch of what
 * arrives there is picked first, without a branch that would be guessed wrong for every second source. */
static inline __attribute__((always_inline)) void T(column_as)(iso__scatter_fn fn, const iso_scatter_problem *p,
                                                               const block *b, const T(state) * s, const TYPE *x,
                                                               const int64_t *index, int64_t index_step) {
  const int64_t ld = p->inner;
  const uint64_t first = (uint64_t)b->row, rows = (uint64_t)b->rows;
  uint32_t d[BATCH];
  TYPE v[BATCH];
  for (int64_t begin = 0; begin < p->n; begin += BATCH) {
    const int64_t end = iso__min(begin + BATCH, p->n);
    int64_t m = 0;
    if (b->rows == p->extent && ld == 1) {
      for (int64_t k = begin; k < end; k++) d[m++] = (uint32_t)index[k]; /* its step is 1 */
      T(take_batch)(fn, s, d, x + begin, m);
      continue;
    }
    for (int64_t k = begin; k < end; k++) {
      const uint64_t to = (uint64_t)index[k * index_step] - first;
      d[m] = (uint32_t)to, v[m] = x[k * ld];
      m += to < rows;
    }
    T(take_batch)(fn, s, d, v, m);
  }
}

/* n results of accumulators of which every `per_count` share one count. Only means, and what stays the base where
 * nothing arrives, need counts. */
static inline __attribute__((always_inline)) void T(finish_span)(iso__scatter_fn fn, iso__scatter_fn last, const job *j,
                                                                 TYPE *y, const TYPE *base, const TYPE *acc,
                                                                 const uint32_t *count, int64_t per_count, int64_t n) {
  const iso__scatter_base how = (iso__scatter_base)j->p->base;
  if (how == ISO__SCATTER_INCLUDED && last != ISO__SCATTER_MEAN)
    for (int64_t i = 0; i < n; i++) y[i] = T(finish)(fn, ISO__SCATTER_INCLUDED, base[i], acc[i], 0);
  else if (how == ISO__SCATTER_NONE && last == ISO__SCATTER_ADD)
    for (int64_t i = 0; i < n; i++) y[i] = acc[i]; /* +0 where nothing arrived */
  else
    for (int64_t i = 0, at = 0; i < n; at++)
      for (int64_t end = i + per_count; i < end; i++)
        y[i] = T(finish)(last, how, base ? base[i] : 0, acc[i], count[at]);
}

static inline __attribute__((always_inline)) void T(block_as)(iso__scatter_fn fn, const job *j, const block *b) {
  const iso_scatter_problem *p = j->p;
  const iso_scatter_args *a = j->a;
  const int64_t m = b->columns, ld = p->inner;
  T(state) s;
  s.acc = (TYPE *)(void *)b->memory, s.panel = s.acc + b->rows * m, s.total = s.panel + b->rows * m;
  s.count = (uint32_t *)(((uintptr_t)(s.total + b->rows * m) + 3) & ~(uintptr_t)3); /* sums of bytes end anywhere */
  T(fill)(s.acc, T(start)(fn), b->rows * m);
  const bool joins = p->n >= ISO__CHUNK || p->has_scale; /* of a fma, alone, −0 can be left */
  if (joins) T(fill)(s.panel, T(start)(fn), 2 * b->rows * m);
  memset(s.count, 0, (size_t)(p->each ? b->rows * m : b->rows) * sizeof *s.count);

  const int64_t n_sources = p->sources ? p->sources : p->n;
  const TYPE *x = (const TYPE *)a->x + b->outer * n_sources * ld + b->column, *scale = a->scale;
  const int64_t *index = p->each ? a->index + b->outer * p->n * ld + b->column : a->index;
  if (m == 1 && !p->sources && !p->has_scale) {
    T(column_as)(fn, p, b, &s, x, index, p->each ? ld : 1);
  } else if (p->each) {
    for (int64_t k = 0; k < p->n; k++)
      for (int64_t i = 0; i < m; i++) {
        const uint64_t d = (uint64_t)(index[k * ld + i] - b->row);
        if (d >= (uint64_t)b->rows) continue;
        const int64_t at = (int64_t)d * m + i;
        s.acc[at] = T(take)(fn, s.acc[at], x[k * ld + i]);
        if (++s.count[at] % ISO__CHUNK == 0) T(join_one)(fn, &s, at, s.count[at]);
      }
  } else {
    for (int64_t k = 0; k < p->n; k++) {
      const uint64_t d = (uint64_t)(a->index[k] - b->row);
      if (d >= (uint64_t)b->rows) continue;
      TYPE *restrict acc = s.acc + (int64_t)d * m;
      const TYPE *row = x + iso__scatter_source(p, a, k) * ld;
      if (p->has_scale)
        for (int64_t i = 0; i < m; i++) acc[i] = FUSE(scale[k], row[i], acc[i]);
      else
        for (int64_t i = 0; i < m; i++) acc[i] = T(take)(fn, acc[i], row[i]);
      T(joined)(fn, &s, (int64_t)d * m, m, ++s.count[d]);
    }
  }

  if (joins)
    for (int64_t i = 0; i < b->rows * m; i++) s.acc[i] = T(take)(fn, s.total[i], T(take)(fn, s.panel[i], s.acc[i]));
  const iso__scatter_fn last = (iso__scatter_fn)p->fn; /* of a mean only the end is another than a sum's */
  const bool whole = m == ld;                          /* rows follow each other in y */
  const int64_t n_rows = whole ? 1 : b->rows, n = whole ? b->rows * m : m;
  for (int64_t d = 0; d < n_rows; d++) {
    const int64_t to = (b->outer * p->extent + b->row + d) * ld + b->column;
    T(finish_span)
    (fn, last, j, (TYPE *)a->y + to, p->base ? (const TYPE *)a->base + to : NULL, s.acc + d * m,
     s.count + (p->each ? d * m : d), p->each ? 1 : m, n);
  }
}
#define CASE(id)                                                                                                       \
  case ISO__SCATTER_##id: T(block_as)(ISO__SCATTER_##id, j, b); break
static void T(run_block)(const job *j, const block *b) {
  switch ((iso__scatter_fn)j->p->fn) {
    CASE(MUL);
    CASE(AMAX);
    CASE(AMIN);
  default: T(block_as)(ISO__SCATTER_ADD, j, b); break;
  }
}
#undef CASE
