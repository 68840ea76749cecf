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
  if (p->each) {
    const int64_t *index = a->index + b->outer * p->n * ld + b->column;
    for (int64_t k = 0; k < p->n; k++)
      for (int64_t i = 0; i < m; i++) {
        const uint64_t d = (uint64_t)(index[k * ld + i] - b->row);
        if (d >= (uint64_t)b->rows) continue;
        const int64_t at = (int64_t)d * m + i;
        s.acc[at] = T(take)(fn, s.acc[at], x[k * ld + i]);
        T(joined)(fn, &s, at, 1, ++s.count[at]);
      }
  } else if (m == 1 && !p->sources && !p->has_scale) {
    for (int64_t k = 0; k < p->n; k++) {
      const uint64_t d = (uint64_t)(a->index[k] - b->row);
      if (d >= (uint64_t)b->rows) continue;
      s.acc[d] = T(take)(fn, s.acc[d], x[k * ld]);
      T(joined)(fn, &s, (int64_t)d, 1, ++s.count[d]);
    }
  } else {
    for (int64_t k = 0; k < p->n; k++) {
      const uint64_t d = (uint64_t)(a->index[k] - b->row);
      if (d >= (uint64_t)b->rows) continue;
      TYPE *restrict acc = s.acc + (int64_t)d * m;
      const TYPE *row = x + (p->sources ? a->source[k] : k) * ld;
      if (p->has_scale)
        for (int64_t i = 0; i < m; i++) acc[i] = FUSE(scale[k], row[i], acc[i]);
      else
        for (int64_t i = 0; i < m; i++) acc[i] = T(take)(fn, acc[i], row[i]);
      T(joined)(fn, &s, (int64_t)d * m, m, ++s.count[d]);
    }
  }

  const iso__scatter_base how = (iso__scatter_base)p->base;
  const iso__scatter_fn last = (iso__scatter_fn)p->fn; /* of a mean only the end is another than a sum's */
  for (int64_t d = 0; d < b->rows; d++) {
    const int64_t to = ((b->outer * p->extent + b->row + d) * ld) + b->column;
    const TYPE *base = how ? (const TYPE *)a->base + to : NULL;
    TYPE *y = (TYPE *)a->y + to, *acc = s.acc + d * m;
    if (joins)
      for (int64_t i = 0; i < m; i++) acc[i] = T(take)(fn, s.total[d * m + i], T(take)(fn, s.panel[d * m + i], acc[i]));
    for (int64_t i = 0; i < m; i++)
      y[i] = T(finish)(last, how, base ? base[i] : 0, acc[i], s.count[p->each ? d * m + i : d]);
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
