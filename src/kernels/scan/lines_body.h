/* lines_body.h: one element type TYPE of lines_impl.h, its functions named NAME(f); SUMS where it is an integer. */
#ifdef SUMS
#  define IS_NAN(v) false
#else
#  define IS_NAN(v) ((v) != (v))
#endif

#ifdef SUMS
VEC_FN void NAME(sums)(bool multiply, const TYPE *restrict x, int64_t *restrict y, int64_t step, int64_t n, int64_t m) {
  for (int64_t j = 0; j < m; j++) y[j] = (int64_t)x[j];
  for (int64_t k = 1; k < n; k++)
    for (int64_t j = 0; j < m; j++) {
      const uint64_t before = (uint64_t)y[(k - 1) * step + j], v = (uint64_t)x[k * step + j];
      y[k * step + j] = (int64_t)(multiply ? before * v : before + v);
    }
}
#endif

/* m columns. NaNs win: neither comparison holds with one, so a number never replaces it. */
VEC_FN void NAME(extrema)(bool largest, const iso_scan_problem *p, const TYPE *restrict x, TYPE *restrict y,
                          int64_t *restrict index, int64_t m) {
  const int64_t step = p->reverse ? -p->inner : p->inner;
  for (int64_t j = 0; j < m; j++) {
    TYPE best = x[j];
    int64_t at = p->reverse ? p->n - 1 : 0;
    for (int64_t k = 0; k < p->n; k++) {
      const TYPE v = x[k * step + j];
      if (IS_NAN(v) || (largest ? v >= best : v <= best)) best = v, at = p->reverse ? p->n - 1 - k : k;
      y[k * step + j] = best, index[k * step + j] = at;
    }
  }
}

static void NAME(lines)(const iso_scan_problem *p, const iso_scan_args *a, int64_t first, int64_t m) {
  const TYPE *x = (const TYPE *)a->x + first;
  const int64_t step = p->reverse ? -p->inner : p->inner;
  (void)step;
  switch ((iso__scan_fn)p->fn) {
  case ISO__SCAN_MAX: NAME(extrema)(true, p, x, (TYPE *)a->y + first, (int64_t *)a->index + first, m); break;
  case ISO__SCAN_MIN: NAME(extrema)(false, p, x, (TYPE *)a->y + first, (int64_t *)a->index + first, m); break;
#ifdef SUMS
  case ISO__SCAN_SUM: NAME(sums)(false, x, (int64_t *)a->y + first, step, p->n, m); break;
  case ISO__SCAN_PROD: NAME(sums)(true, x, (int64_t *)a->y + first, step, p->n, m); break;
#endif
  default: break;
  }
}

#undef TYPE
#undef NAME
#undef SUMS
#undef IS_NAN
