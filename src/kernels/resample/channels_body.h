/* One row of the result, once per precision; see channels_impl.h. */

/* Where a sum has more than one chunk. */
static void NAMED(block_chunked)(const NAMED(element) * e, int64_t n, REAL *out) {
  REAL chunk[BLOCK] = {0}, panel[BLOCK] = {0}, total[BLOCK] = {0};
  int64_t k = 0;
  for (int32_t t = 0; t < e->n[0]; t++)
    for (int32_t h = 0; h < e->n[1]; h++) {
      const REAL both = e->weight[0][t] * e->weight[1][h];
      const REAL *x = e->in + (e->begin[0] + t) * e->plane + (e->begin[1] + h) * e->row + e->begin[2] * e->c;
      for (int32_t v = 0; v < e->n[2]; v++, x += e->c) {
        const REAL w = both * e->weight[2][v];
        for (int64_t l = 0; l < n; l++) chunk[l] = EXACT(fma)(w, x[l], chunk[l]);
        k++;
        for (int64_t l = 0; l < n && k % ISO__CHUNK == 0; l++) panel[l] = panel[l] + chunk[l], chunk[l] = 0;
        for (int64_t l = 0; l < n && k % ISO__PANEL == 0; l++) total[l] = total[l] + panel[l], panel[l] = 0;
      }
    }
  for (int64_t l = 0; l < n; l++) out[l] = total[l] + (panel[l] + chunk[l]);
}

static void NAMED(list)(const job *j, int axis, int64_t at, NAMED(element) * e) {
  const iso__taps *taps = &j->taps[axis];
  e->begin[axis] = taps->begin[at], e->n[axis] = taps->offset[at + 1] - taps->offset[at];
  e->weight[axis] = (const REAL *)taps->weight + taps->offset[at];
}
static void NAMED(row)(const job *j, int64_t row) {
  const int64_t c = j->p->c, image = row / j->to[1] / j->to[0];
  NAMED(element) e = {.c = c, .row = j->from[2] * c, .plane = j->from[1] * j->from[2] * c};
  const REAL *in = (const REAL *)j->a->in + image * j->from[0] * e.plane;
  REAL *out = (REAL *)j->a->out + row * j->to[2] * c;
  NAMED(list)(j, 0, row / j->to[1] % j->to[0], &e);
  NAMED(list)(j, 1, row % j->to[1], &e);
  for (int64_t column = 0; column < j->to[2]; column++, out += c) {
    NAMED(list)(j, 2, column, &e);
    if (iso__resample_copies(j->p)) {
      const int64_t at = e.begin[0] * e.plane + e.begin[1] * e.row + e.begin[2] * c;
      memcpy(out, in + at, (size_t)c * sizeof *out);
      continue;
    }
    const bool chunked = (int64_t)e.n[0] * e.n[1] * e.n[2] > ISO__CHUNK;
    for (int64_t first = 0; first < c; first += BLOCK) {
      const int64_t n = iso__min(BLOCK, c - first);
      e.in = in + first;
      if (chunked) NAMED(block_chunked)(&e, n, out + first);
      else NAMED(block)(&e, n, out + first);
    }
  }
}
