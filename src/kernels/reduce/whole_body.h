/* whole_body.h: one element type TYPE of whole_impl.h, its functions named NAME(f); TRUTHS_ONLY for floats. */

/* How many of n elements are not 0; stops after a block when `until` says that it is enough. */
static int64_t NAME(count)(iso__reduce_fn until, const TYPE *x, int64_t n) {
  int64_t count = 0;
  for (int64_t i = 0; i < n; i += WHOLE_BLOCK) {
    const int m = (int)(n - i < WHOLE_BLOCK ? n - i : WHOLE_BLOCK);
    int block = 0;
    for (int k = 0; k < m; k++) block += x[i + k] != 0;
    count += block;
    if ((until == ISO__REDUCE_ANY && block) || (until == ISO__REDUCE_ALL && block < m)) return count;
  }
  return count;
}

#ifndef TRUTHS_ONLY
static int64_t NAME(sum)(const TYPE *x, int64_t n) {
  uint64_t sum = 0;
  for (int64_t i = 0; i < n; i++) sum += (uint64_t)x[i];
  return (int64_t)sum;
}
static int64_t NAME(product)(const TYPE *x, int64_t n) {
  uint64_t product = 1;
  for (int64_t i = 0; i < n; i++) product *= (uint64_t)x[i];
  return (int64_t)product;
}
static part NAME(extremum)(bool largest, bool index, const TYPE *x, int64_t n) {
  TYPE best = x[0];
  int64_t block = 0;
  for (int64_t i = 0; i < n; i += WHOLE_BLOCK) {
    const int64_t m = n - i < WHOLE_BLOCK ? n - i : WHOLE_BLOCK;
    TYPE v = x[i];
    if (largest)
      for (int64_t k = 1; k < m; k++) v = x[i + k] > v ? x[i + k] : v;
    else
      for (int64_t k = 1; k < m; k++) v = x[i + k] < v ? x[i + k] : v;
    if (largest ? v > best : v < best) best = v, block = i;
  }
  int64_t at = block;
  while (index && x[at] != best) at++;
  return (part){.best = (int64_t)best, .at = at};
}
#endif

static part NAME(part_of)(const iso_reduce_problem *p, const TYPE *x, int64_t n) {
  const iso__reduce_fn fn = (iso__reduce_fn)p->fn;
  if (iso__reduce_is_truth(fn)) {
    const int64_t count = NAME(count)(fn, x, n);
    return (part){.sum = fn == ISO__REDUCE_ANY ? count > 0 : fn == ISO__REDUCE_ALL ? count == n : count};
  }
#ifndef TRUTHS_ONLY
  if (fn == ISO__REDUCE_SUM) return (part){.sum = NAME(sum)(x, n)};
  if (fn == ISO__REDUCE_PROD) return (part){.sum = NAME(product)(x, n)};
  return NAME(extremum)(iso__reduce_is_largest(fn), iso__reduce_has_index(fn), x, n);
#else
  return (part){0};
#endif
}

/* m columns from x: sums, products and counts into `sum`, extrema into `best` and `at`. */
static void NAME(columns)(const iso_reduce_problem *p, const TYPE *x, int64_t m, int64_t *sum, int64_t *best,
                          int64_t *at) {
  const iso__reduce_fn fn = (iso__reduce_fn)p->fn;
  if (iso__reduce_is_extremum(fn)) {
#ifndef TRUTHS_ONLY
    const bool largest = iso__reduce_is_largest(fn);
    for (int64_t j = 0; j < m; j++) best[j] = (int64_t)x[j], at[j] = 0;
    for (int64_t k = 1; k < p->n; k++)
      for (int64_t j = 0; j < m; j++) {
        const int64_t v = (int64_t)x[k * p->inner + j];
        const bool better = largest ? v > best[j] : v < best[j];
        best[j] = better ? v : best[j], at[j] = better ? k : at[j];
      }
#else
    (void)best, (void)at;
#endif
    return;
  }
  for (int64_t j = 0; j < m; j++) sum[j] = fn == ISO__REDUCE_PROD;
  for (int64_t k = 0; k < p->n; k++) {
    const TYPE *row = x + k * p->inner;
    if (iso__reduce_is_truth(fn))
      for (int64_t j = 0; j < m; j++) sum[j] += row[j] != 0;
#ifndef TRUTHS_ONLY
    else if (fn == ISO__REDUCE_PROD)
      for (int64_t j = 0; j < m; j++) sum[j] = (int64_t)((uint64_t)sum[j] * (uint64_t)row[j]);
    else
      for (int64_t j = 0; j < m; j++) sum[j] = (int64_t)((uint64_t)sum[j] + (uint64_t)row[j]);
#endif
  }
}

#undef TYPE
#undef NAME
#undef TRUTHS_ONLY
