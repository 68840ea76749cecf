/* rows_body.h: m columns of listed rows, combined in their order, once per type. acc, panel and total hold m elements
 * each; the result is in acc. `ordered`: 256 rows a chunk, four chunks a panel. */

/* Rows j … end−1 of the list into acc; four at a time, so that acc is loaded and stored a quarter as often. */
static inline __attribute__((always_inline)) int64_t T(take_rows)(iso__scatter_fn fn, TYPE *restrict acc, const TYPE *x,
                                                                  int64_t ld, const iso__row_list *l, int64_t j,
                                                                  int64_t end, int64_t m) {
  const TYPE *scale = l->scale;
  int64_t count = 0;
  while (j < end) {
    const int64_t k0 = iso__row_number(l, j), row0 = iso__row_at(l, k0);
    const TYPE *r0 = x + row0 * ld;
    if (scale) {
      const TYPE s = scale[k0];
      if (row0 != l->skip) {
        for (int64_t i = 0; i < m; i++) acc[i] = FUSE(s, r0[i], acc[i]);
        count++;
      }
      j++;
    } else if (l->skip < 0 && j + 4 <= end) {
      const TYPE *r1 = x + iso__row_at(l, iso__row_number(l, j + 1)) * ld;
      const TYPE *r2 = x + iso__row_at(l, iso__row_number(l, j + 2)) * ld;
      const TYPE *r3 = x + iso__row_at(l, iso__row_number(l, j + 3)) * ld;
      for (int64_t i = 0; i < m; i++)
        acc[i] = T(take)(fn, T(take)(fn, T(take)(fn, T(take)(fn, acc[i], r0[i]), r1[i]), r2[i]), r3[i]);
      j += 4, count += 4;
    } else {
      if (row0 != l->skip) {
        for (int64_t i = 0; i < m; i++) acc[i] = T(take)(fn, acc[i], r0[i]);
        count++;
      }
      j++;
    }
  }
  return count;
}

/* Returns how many rows were present. */
static inline __attribute__((always_inline)) int64_t T(combine_as)(iso__scatter_fn fn, const TYPE *x, int64_t ld,
                                                                   const iso__row_list *l, TYPE *acc, TYPE *panel,
                                                                   TYPE *total, int64_t m) {
  T(fill)(acc, T(start)(fn), m);
  if (l->n <= ISO__CHUNK) {
    const int64_t few = T(take_rows)(fn, acc, x, ld, l, 0, l->n, m);
    if (l->scale) /* of a fma, alone, −0 can be left: not where it joins its panel */
      for (int64_t i = 0; i < m; i++) acc[i] = POSITIVE_ZERO(acc[i]);
    return few;
  }
  int64_t count = 0;
  T(fill)(panel, T(start)(fn), m), T(fill)(total, T(start)(fn), m);
  for (int64_t j = 0; j < l->n; j += ISO__CHUNK) {
    const int64_t end = iso__min(j + ISO__CHUNK, l->n);
    count += T(take_rows)(fn, acc, x, ld, l, j, end, m);
    if (end % ISO__CHUNK == 0) T(join)(fn, panel, acc, m);
    if (end % ISO__PANEL == 0) T(join)(fn, total, panel, m);
  }
  for (int64_t i = 0; i < m; i++) acc[i] = T(take)(fn, total[i], T(take)(fn, panel[i], acc[i]));
  return count;
}
/* One column: in registers. */
static inline __attribute__((always_inline)) TYPE T(combine_one)(iso__scatter_fn fn, const TYPE *x,
                                                                 const iso__row_list *l, int64_t *count) {
  const TYPE *scale = l->scale;
  TYPE acc = T(start)(fn), panel = acc, total = acc;
  *count = 0;
  for (int64_t j = 0; j < l->n;) {
    const int64_t end = iso__min(j + ISO__CHUNK, l->n);
    for (; j < end; j++) {
      const int64_t k = iso__row_number(l, j), row = iso__row_at(l, k);
      if (row == l->skip) continue;
      acc = scale ? FUSE(scale[k], x[row], acc) : T(take)(fn, acc, x[row]);
      ++*count;
    }
    if (end % ISO__CHUNK == 0) panel = T(take)(fn, panel, acc), acc = T(start)(fn);
    if (end % ISO__PANEL == 0) total = T(take)(fn, total, panel), panel = T(start)(fn);
  }
  return T(take)(fn, total, T(take)(fn, panel, acc));
}
#define CASE(id)                                                                                                       \
  case ISO__SCATTER_##id: return T(combine_as)(ISO__SCATTER_##id, x, ld, l, acc, panel, total, m)
static int64_t T(combine)(iso__scatter_fn fn, const TYPE *x, int64_t ld, const iso__row_list *l, TYPE *acc, TYPE *panel,
                          TYPE *total, int64_t m) {
  switch (fn) {
    CASE(MUL);
    CASE(AMAX);
    CASE(AMIN);
  default: return T(combine_as)(ISO__SCATTER_ADD, x, ld, l, acc, panel, total, m);
  }
}
#undef CASE
