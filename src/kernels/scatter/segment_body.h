/* Segments of one task, once per type; see segment_impl.h. */

/* The k whose element is chosen: the first NaN, else the lowest of equals. */
static void T(choose)(const iso_segment_problem *p, const TYPE *x, const iso__row_list *l, int64_t *at, TYPE *best,
                      int64_t m) {
  const bool least = p->fn == ISO__SCATTER_AMIN;
  for (int64_t i = 0; i < m; i++) at[i] = -1, best[i] = 0;
  for (int64_t j = 0; j < l->n; j++) {
    const int64_t k = iso__row_number(l, j), row = iso__row_at(l, k);
    if (row == l->skip) continue;
    const TYPE *v = x + row * p->inner;
    for (int64_t i = 0; i < m; i++) {
      const bool wins = at[i] < 0 || (!IS_NAN(best[i]) && (IS_NAN(v[i]) || (least ? v[i] < best[i] : v[i] > best[i])));
      at[i] = wins ? k : at[i], best[i] = wins ? v[i] : best[i];
    }
  }
}

static void T(segments)(const job *j, int64_t begin, int64_t end, int64_t column, int64_t m) {
  const iso_segment_problem *p = j->p;
  const iso_segment_args *a = j->a;
  const iso__scatter_fn fn = (iso__scatter_fn)p->fn;
  TYPE acc[BLOCK_COLUMNS], panel[BLOCK_COLUMNS], total[BLOCK_COLUMNS];
  const TYPE *x = (const TYPE *)a->x + column;
  for (int64_t s = begin; s < end; s++) {
    iso__row_list list = {.source = p->has_index ? a->index : NULL,
                          .scale = p->has_scale ? a->scale : NULL,
                          .first = iso__segment_begin(p, a, s),
                          .n = iso__max(0, iso__segment_end(p, a, s) - iso__segment_begin(p, a, s)),
                          .skip = p->skip - 1};
    TYPE *y = (TYPE *)a->y + s * p->inner + column;
    int64_t count;
    if (p->inner == 1 && fn == ISO__SCATTER_ADD) y[0] = T(combine_one)(ISO__SCATTER_ADD, x, &list, &count);
    else {
      count = T(combine)(fn, x, p->inner, &list, acc, panel, total, m);
      for (int64_t i = 0; i < m; i++) y[i] = T(divided)(fn, acc[i], count);
    }
    if (count == 0 && p->empty_zero) memset(y, 0, (size_t)m * sizeof *y);
    if (p->has_count && column == 0) ((TYPE *)a->count)[s] = (TYPE)iso__max(1, count);
    if (p->has_at) T(choose)(p, x, &list, a->at + s * p->inner + column, acc, m);
  }
}
