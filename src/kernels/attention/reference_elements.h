/* Attention of one output element, once per precision; see reference.c. */

/* o's column alone, and L, of which there is one where v has no columns, too. */
static ISO__HD REAL NAMED(forward)(const iso_attention_problem *p, const iso_attention_args *a, const struct place *at,
                                   REAL *lse) {
  const int64_t n = iso__attention_keys(p, a, at->b, at->row);
  struct NAMED(row) row = {.m = -(REAL)INFINITY};
  REAL o = 0;
  for (int64_t j0 = 0; j0 < n; j0 += ISO__KEY_BLOCK) {
    const int n_block = n - j0 < ISO__KEY_BLOCK ? (int)(n - j0) : ISO__KEY_BLOCK;
    if (!NAMED(row_block)(p, a, at->b, at->h, at->row, j0, n_block, &row)) continue;
    o = o * row.c;
    for (int j = 0; j < n_block; j++) {
      const REAL kept = row.present[j] ? NAMED(keeps)(p, a, at->b, at->h, at->row, j0 + j) : 0;
      const int64_t v = iso__attention_at(&p->v, at->b, at->h / p->group, j0 + j) + at->column;
      if (kept == 0 || p->f == 0) continue;
      o = EXACT(fma)(p->dropout ? row.p[j] * kept : row.p[j], NAMED(load)(a->v, (iso_dtype)p->head.dtype, v), o);
    }
  }
  *lse = NAMED(row_lse)(&row);
  return row.m == -(REAL)INFINITY ? 0 : o * (1 / row.l) + 0;
}

/* dq = ordered(ds·k)·scale over keys. */
static ISO__HD REAL NAMED(gradient_q)(const iso_attention_problem *p, const iso_attention_args *a,
                                      const struct place *at) {
  struct NAMED(iso__ordered) sum = {.k = 0};
  const REAL d = NAMED(row_d)(p, a, at->b, at->h, at->row);
  REAL weight, ds, kept;
  for (int64_t j = 0; j < p->s; j++) {
    const int64_t k = iso__attention_at(&p->k, at->b, at->h / p->group, j) + at->column;
    if (!NAMED(pair)(p, a, at->b, at->h, at->row, j, d, &weight, &ds, &kept)) NAMED(iso__ordered_skip)(&sum, 1);
    else NAMED(iso__ordered_fma)(&sum, ds, NAMED(load)(a->k, (iso_dtype)p->head.dtype, k));
  }
  return NAMED(iso__ordered_end)(&sum) * (REAL)a->scale;
}

/* dk = ordered(ds·q)·scale, dv = ordered(p·dy), over (query, head of the group); at->h is a head of k and v. */
static ISO__HD REAL NAMED(gradient_kv)(const iso_attention_problem *p, const iso_attention_args *a,
                                       const struct place *at, bool of_v) {
  struct NAMED(iso__ordered) sum = {.k = 0};
  const iso_dtype dtype = (iso_dtype)p->head.dtype;
  for (int64_t r = 0; r < p->l * p->group; r++) {
    const int64_t i = r / p->group, h = at->h * p->group + r % p->group;
    REAL weight, ds, kept;
    if (!NAMED(pair)(p, a, at->b, h, i, at->row, NAMED(row_d)(p, a, at->b, h, i), &weight, &ds, &kept) ||
        (of_v && kept == 0))
      NAMED(iso__ordered_skip)(&sum, 1);
    else if (of_v) NAMED(iso__ordered_fma)
    (&sum, p->dropout ? weight * kept : weight,
     NAMED(load)(a->dy, dtype, iso__attention_at(&p->dy, at->b, h, i) + at->column));
    else NAMED(iso__ordered_fma)(&sum, ds,
                                 NAMED(load)(a->q, dtype, iso__attention_at(&p->q, at->b, h, i) + at->column));
  }
  return of_v ? NAMED(iso__ordered_end)(&sum) : NAMED(iso__ordered_end)(&sum) * (REAL)a->scale;
}

static ISO__HD REAL NAMED(gradient_s)(const iso_attention_problem *p, const iso_attention_args *a,
                                      const struct place *at) {
  REAL weight, ds, kept;
  const REAL d = NAMED(row_d)(p, a, at->b, at->h, at->row);
  return NAMED(pair)(p, a, at->b, at->h, at->row, at->column, d, &weight, &ds, &kept) ? ds : 0;
}

static ISO__HD void NAMED(element)(const iso_attention_problem *p, const iso_attention_args *a, enum result what,
                                   const struct place *at, void *value) {
  REAL lse, y;
  switch (what) {
  case RESULT_O: y = NAMED(forward)(p, a, at, &lse); break;
  case RESULT_LSE: NAMED(forward)(p, a, at, &lse), memcpy(value, &lse, sizeof lse); return;
  case RESULT_DQ: y = NAMED(gradient_q)(p, a, at); break;
  case RESULT_DK: y = NAMED(gradient_kv)(p, a, at, false); break;
  case RESULT_DV: y = NAMED(gradient_kv)(p, a, at, true); break;
  default: y = NAMED(gradient_s)(p, a, at);
  }
  NAMED(store)(value, (iso_dtype)p->head.dtype, y);
}
