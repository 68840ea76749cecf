/* Destinations d0 … d1−1 of one task, once per type; see sorted_impl.h. */

static inline __attribute__((always_inline)) void T(finish_row)(iso__scatter_fn fn, iso__scatter_base how,
                                                                TYPE *restrict y, const TYPE *base, const TYPE *acc,
                                                                int64_t count, int64_t m) {
  if (how == ISO__SCATTER_NONE)
    for (int64_t i = 0; i < m; i++) y[i] = T(finish)(fn, ISO__SCATTER_NONE, 0, acc[i], count);
  else
    for (int64_t i = 0; i < m; i++) y[i] = T(finish)(fn, how, base[i], acc[i], count);
}
#define CASE(id)                                                                                                       \
  case ISO__SCATTER_##id: T(finish_row)(ISO__SCATTER_##id, how, y, base, acc, count, m); break
static void T(finish_rows)(iso__scatter_fn fn, iso__scatter_base how, TYPE *y, const TYPE *base, const TYPE *acc,
                           int64_t count, int64_t m) {
  switch (fn) {
    CASE(MEAN);
    CASE(MUL);
    CASE(AMAX);
    CASE(AMIN);
  default: T(finish_row)(ISO__SCATTER_ADD, how, y, base, acc, count, m); break;
  }
}
#undef CASE

static inline __attribute__((always_inline)) void T(single_as)(iso__scatter_fn fn, const job *j, int64_t d0,
                                                               int64_t d1) {
  const iso__scatter_base how = (iso__scatter_base)j->p->base;
  const TYPE *x = (const TYPE *)j->a->x + j->x_offset, *base = (const TYPE *)j->a->base;
  TYPE *y = (TYPE *)j->a->y + j->y_offset;
  if (base) base += j->y_offset;
  for (int64_t d = d0; d < d1; d++) {
    iso__row_list list = j->list;
    int64_t count;
    list.first = j->sort.starts[d], list.n = j->sort.starts[d + 1] - j->sort.starts[d];
    const TYPE sum = T(combine_one)(fn, x, &list, &count);
    y[d] = T(finish)(fn, how, how ? base[d] : 0, sum, count);
  }
}
/* One column. */
static void T(single)(const job *j, int64_t d0, int64_t d1) {
  switch ((iso__scatter_fn)j->p->fn) {
  case ISO__SCATTER_MEAN: T(single_as)(ISO__SCATTER_MEAN, j, d0, d1); break;
  case ISO__SCATTER_MUL: T(single_as)(ISO__SCATTER_MUL, j, d0, d1); break;
  case ISO__SCATTER_AMAX: T(single_as)(ISO__SCATTER_AMAX, j, d0, d1); break;
  case ISO__SCATTER_AMIN: T(single_as)(ISO__SCATTER_AMIN, j, d0, d1); break;
  default: T(single_as)(ISO__SCATTER_ADD, j, d0, d1); break;
  }
}

static void T(destinations)(const job *j, int64_t d0, int64_t d1, int64_t column, int64_t m) {
  const iso__scatter_fn fn = (iso__scatter_fn)j->p->fn;
  const iso__scatter_base how = (iso__scatter_base)j->p->base;
  const int64_t ld = j->inner;
  if (ld == 1) {
    T(single)(j, d0, d1);
    return;
  }
  TYPE acc[BLOCK_COLUMNS], panel[BLOCK_COLUMNS], total[BLOCK_COLUMNS];
  const TYPE *x = (const TYPE *)j->a->x + j->x_offset + column;
  const TYPE *base = how ? (const TYPE *)j->a->base + j->y_offset + column : NULL;
  TYPE *y = (TYPE *)j->a->y + j->y_offset + column;
  const uint32_t *starts = j->sort.starts;
  for (int64_t d = d0; d < d1; d++) {
    if (starts[d] == starts[d + 1] && how == ISO__SCATTER_NONE && m == ld) { /* a run of rows that nothing reaches */
      int64_t end = d + 1;
      while (end < d1 && starts[end] == starts[end + 1]) end++;
      if (j->streams) stream((float *)(void *)(y + d * ld), NULL, (end - d) * ld);
      else memset(y + d * ld, 0, (size_t)((end - d) * ld) * sizeof *y);
      d = end - 1;
      continue;
    }
    iso__row_list list = j->list;
    list.first = starts[d], list.n = starts[d + 1] - starts[d];
    const int64_t count = T(combine)(fn, x, ld, &list, acc, panel, total, m);
    if (j->streams) stream((float *)(void *)(y + d * ld), (const float *)(const void *)acc, m);
    else T(finish_rows)(fn, how, y + d * ld, how ? base + d * ld : NULL, acc, count, m);
  }
}
