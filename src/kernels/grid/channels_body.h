/* Sampling over channels, once per precision; see channels_impl.h. */

static void NAMED(sample)(const job *j, int64_t point) {
  const iso_grid_problem *p = j->p;
  NAMED(site) s;
  NAMED(taps) t;
  NAMED(site_of)(p, (const REAL *)j->a->grid + point * p->dims, &s);
  NAMED(taps_of)(p, &s, false, &t);
  const REAL *x = (const REAL *)j->a->x + point / p->points * iso__grid_places(p) * p->c;
  NAMED(weigh)(&t, t.weight, x, p->c, p->c, (REAL *)j->a->y + point * p->c);
}

/* tree over 64 lanes of which the first n were used, the others +0: as wide as those. The final + 0 is the caller's. */
static inline REAL NAMED(tree_of)(const REAL *lane, int64_t n) {
  REAL a[32], b[16], c[8], d[4], e[2];
  if (n > 32) {
    for (int i = 0; i < 32; i++) a[i] = lane[2 * i] + lane[2 * i + 1];
    lane = a;
  }
  if (n > 16) {
    for (int i = 0; i < 16; i++) b[i] = lane[2 * i] + lane[2 * i + 1];
    lane = b;
  }
  if (n > 8) {
    for (int i = 0; i < 8; i++) c[i] = lane[2 * i] + lane[2 * i + 1];
    lane = c;
  }
  if (n > 4) {
    for (int i = 0; i < 4; i++) d[i] = lane[2 * i] + lane[2 * i + 1];
    lane = d;
  }
  if (n > 2) e[0] = lane[0] + lane[1], e[1] = lane[2] + lane[3], lane = e;
  return lane[0] + lane[1];
}

/* Channels of more than one row panel: the reference's own accumulator. */
static REAL NAMED(slope_of_many)(const NAMED(taps) * t, int axis, const REAL *x, const REAL *dy, int64_t c) {
  struct NAMED(iso__lanes) lanes = {0};
  for (int64_t i = 0; i < c; i++) {
    REAL d;
    NAMED(weigh)(t, t->slope[axis], x + i, c, 1, &d);
    NAMED(iso__lanes_fma)(&lanes, dy[i], d);
  }
  return NAMED(iso__lanes_end)(&lanes);
}
static void NAMED(slope)(const job *j, int64_t point) {
  const iso_grid_problem *p = j->p;
  NAMED(site) s;
  NAMED(taps) t;
  NAMED(site_of)(p, (const REAL *)j->a->grid + point * p->dims, &s);
  NAMED(taps_of)(p, &s, true, &t);
  const REAL *x = (const REAL *)j->a->x + point / p->points * iso__grid_places(p) * p->c;
  const REAL *dy = (const REAL *)j->a->dy + point * p->c;
  REAL lane[3][ISO__LANES], *dgrid = (REAL *)j->a->dgrid + point * p->dims;
  for (int a = 3 - p->dims; a < 3; a++)
    for (int l = 0; l < ISO__LANES; l++) lane[a][l] = 0;
  if (p->c > ISO__ROW_PANEL) {
    for (int i = 0; i < p->dims; i++) dgrid[i] = NAMED(slope_of_many)(&t, 2 - i, x, dy, p->c) * s.axis[2 - i].scale;
    return;
  }
  NAMED(slopes_add)(&t, 3 - p->dims, x, dy, p->c, lane);
  for (int i = 0; i < p->dims; i++)
    dgrid[i] = (NAMED(tree_of)(lane[2 - i], iso__min(p->c, ISO__LANES)) + 0) * s.axis[2 - i].scale;
}

/* ---- the input's gradient ---- */

typedef struct NAMED(slots) {
  uint8_t *count, *chunks;
  REAL *panel, *total;
  bool used;
} NAMED(slots);
static __attribute__((noinline)) void NAMED(chunk_end)(const job *j, NAMED(slots) * s, int64_t place, int64_t n,
                                                       REAL *dx) {
  REAL *panel = s->panel + place * n, *total = s->total + place * n;
  if (!s->used) memset(s->chunks, 0, (size_t)iso__grid_places(j->p));
  s->used = true;
  for (int64_t l = 0; l < n; l++) {
    if (s->chunks[place] == 0) panel[l] = total[l] = 0;
    panel[l] = panel[l] + dx[l], dx[l] = 0;
  }
  /* 4 chunks a panel; the count stays above 0 */
  s->chunks[place] = (uint8_t)(s->chunks[place] == 4 ? 1 : s->chunks[place] + 1);
  for (int64_t l = 0; l < n && s->chunks[place] == 4; l++) total[l] = total[l] + panel[l], panel[l] = 0;
}
static inline __attribute__((always_inline)) void NAMED(scatter_points)(const job *j, int64_t image, int64_t c,
                                                                        int64_t n, NAMED(slots) * slots, REAL *dx) {
  const iso_grid_problem *p = j->p;
  NAMED(taps) taps[VF_LANES];
  uint8_t *count = slots->count;
  const int64_t end = (image + 1) * p->points;
  for (int64_t point = image * p->points; point < end;) {
    const int64_t m = NAMED(take_taps)(p, (const REAL *)j->a->grid + point * p->dims, end - point, taps);
    for (const NAMED(taps) *t = taps; t < taps + m; t++, point++) {
      const REAL *restrict dy = (const REAL *)j->a->dy + point * p->c + c;
      for (int k = 0; k < t->n; k++) {
        const REAL weight = t->weight[k];
        REAL *restrict to = dx + t->place[k] * p->c;
        for (int64_t l = 0; l < n; l++) to[l] = EXACT(fma)(weight, dy[l], to[l]);
        if (++count[t->place[k]] == 0) NAMED(chunk_end)(j, slots, t->place[k], n, to);
      }
    }
  }
}
static void NAMED(scatter)(const job *j, int64_t image, int64_t c, int thread) {
  const iso_grid_problem *p = j->p;
  const int64_t places = iso__grid_places(p), n = iso__min(BLOCK, p->c - c);
  char *base = (char *)j->call->workspace + (size_t)thread * j->slots.thread_bytes;
  NAMED(slots)
  s = {.count = (uint8_t *)base,
       .chunks = (uint8_t *)base + j->slots.chunks_at,
       .panel = (REAL *)(void *)(base + j->slots.panel_at),
       .total = (REAL *)(void *)(base + j->slots.total_at)};
  REAL *dx = (REAL *)j->a->dx + image * places * p->c + c;
  memset(s.count, 0, (size_t)places);
  if (n == p->c) memset(dx, 0, (size_t)(places * n) * sizeof *dx);
  else
    for (int64_t i = 0; i < places; i++) memset(dx + i * p->c, 0, (size_t)n * sizeof *dx);
  if (n == BLOCK) NAMED(scatter_points)(j, image, c, BLOCK, &s, dx);
  else if (n == 1) NAMED(scatter_points)(j, image, c, 1, &s, dx);
  else if (n == 3) NAMED(scatter_points)(j, image, c, 3, &s, dx);
  else NAMED(scatter_points)(j, image, c, n, &s, dx);
  if (n == p->c && !s.used) {
    for (int64_t i = 0; i < places * n; i++) dx[i] = dx[i] + 0;
    return;
  }
  for (int64_t i = 0; i < places; i++) {
    const bool folds = s.used && s.chunks[i];
    for (int64_t l = 0; l < n; l++) {
      REAL *sum = &dx[i * p->c + l];
      *sum = folds ? s.total[i * n + l] + (s.panel[i * n + l] + *sum) : *sum + 0;
    }
  }
}
