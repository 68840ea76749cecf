/* Scatters and segments in plain C, once per type; see reference.c. */

/* `ordered` with any combination for +: chunks of 256, panels of four chunks. */
typedef struct T(sums) {
  TYPE acc, panel, total;
  int64_t rank;
} T(sums);
static ISO__HD T(sums) T(sums_start)(iso__scatter_fn fn) {
  const TYPE start = T(start)(fn);
  return (T(sums)){start, start, start, 0};
}
static ISO__HD void T(sums_next)(iso__scatter_fn fn, T(sums) * s) {
  s->rank++;
  if (s->rank % ISO__CHUNK == 0) s->panel = T(take)(fn, s->panel, s->acc), s->acc = T(start)(fn);
  if (s->rank % ISO__PANEL == 0) s->total = T(take)(fn, s->total, s->panel), s->panel = T(start)(fn);
}
static ISO__HD TYPE T(sums_end)(iso__scatter_fn fn, const T(sums) * s) {
  return T(take)(fn, s->total, T(take)(fn, s->panel, s->acc));
}

static ISO__HD TYPE T(scatter_at)(const iso_scatter_problem *p, const iso_scatter_args *a, int64_t at) {
  const iso__scatter_fn fn = (iso__scatter_fn)p->fn;
  const int64_t i = at % p->inner, d = at / p->inner % p->extent, o = at / p->inner / p->extent;
  const TYPE *x = (const TYPE *)a->x, *scale = (const TYPE *)a->scale;
  T(sums) s = T(sums_start)(fn);
  for (int64_t k = 0; k < p->n; k++) {
    if (a->index[p->each ? (o * p->n + k) * p->inner + i : k] != d) continue;
    const int64_t row = o * (p->sources ? p->sources : p->n) + iso__scatter_source(p, a, k);
    const TYPE v = x[row * p->inner + i];
    s.acc = p->has_scale ? FUSE(scale[k], v, s.acc) : T(take)(fn, s.acc, v);
    T(sums_next)(fn, &s);
  }
  const TYPE base = p->base ? ((const TYPE *)a->base)[at] : 0;
  return T(finish)(fn, (iso__scatter_base)p->base, base, T(sums_end)(fn, &s), s.rank);
}

static ISO__HD TYPE T(segment_at)(const iso_segment_problem *p, const iso_segment_args *a, int64_t s, int64_t i,
                                  int64_t *chosen) {
  const iso__scatter_fn fn = (iso__scatter_fn)p->fn;
  const TYPE *x = (const TYPE *)a->x, *scale = (const TYPE *)a->scale;
  T(sums) sums = T(sums_start)(fn);
  TYPE best = 0;
  int64_t count = 0;
  *chosen = -1;
  for (int64_t k = iso__segment_begin(p, a, s); k < iso__segment_end(p, a, s); k++, T(sums_next)(fn, &sums)) {
    const int64_t row = p->has_index ? a->index[k] : k;
    if (row == p->skip - 1) continue;
    const TYPE v = x[row * p->inner + i];
    sums.acc = p->has_scale ? FUSE(scale[k], v, sums.acc) : T(take)(fn, sums.acc, v);
    count++;
    if (*chosen < 0 || (!IS_NAN(best) && (IS_NAN(v) || (fn == ISO__SCATTER_AMIN ? v < best : v > best))))
      *chosen = k, best = v;
  }
  if (count == 0 && p->empty_zero) return 0;
  return T(divided)(fn, T(sums_end)(fn, &sums), count);
}

static ISO__HD void T(element)(const iso__problem *problem, const void *args, int64_t index, int output, void *value) {
  if (problem->op == ISO__OP_SCATTER) {
    const TYPE y = T(scatter_at)((const iso_scatter_problem *)problem, (const iso_scatter_args *)args, index);
    memcpy(value, &y, sizeof y);
    return;
  }
  const iso_segment_problem *p = (const iso_segment_problem *)problem;
  int64_t chosen;
  if (output > 0 && p->has_count) {
    const TYPE count = (TYPE)present(p, (const iso_segment_args *)args, index);
    memcpy(value, &count, sizeof count);
    return;
  }
  const TYPE y = T(segment_at)(p, (const iso_segment_args *)args, index / p->inner, index % p->inner, &chosen);
  if (output > 0) memcpy(value, &chosen, sizeof chosen);
  else memcpy(value, &y, sizeof y);
}
