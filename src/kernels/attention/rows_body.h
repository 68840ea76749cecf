/* rows_body.h: attention row by row, once per precision; see rows.c. */

static void NAMED(store_row)(void *to, int64_t at, iso_dtype dtype, int64_t c, REAL value) {
  NAMED(store)((char *)to + (size_t)(at + c) * iso_dtype_size(dtype), dtype, value);
}

static void NAMED(forward_row)(const work *w, int64_t b, int64_t h, int64_t i, REAL *o) {
  const iso_attention_problem *p = w->p;
  const iso_attention_args *a = w->a;
  const iso_dtype dtype = (iso_dtype)p->head.dtype;
  const int64_t n = iso__attention_keys(p, a, b, i), at = iso__attention_at(&p->o, b, h, i);
  struct NAMED(row) row = {.m = -(REAL)INFINITY};
  for (int64_t c = 0; c < p->f; c++) o[c] = 0;
  for (int64_t j0 = 0; j0 < n; j0 += ISO__KEY_BLOCK) {
    const int n_block = n - j0 < ISO__KEY_BLOCK ? (int)(n - j0) : ISO__KEY_BLOCK;
    if (!NAMED(row_block)(p, a, b, h, i, j0, n_block, &row)) continue;
    for (int64_t c = 0; c < p->f; c++) o[c] = o[c] * row.c;
    for (int j = 0; j < n_block; j++) {
      const REAL kept = row.present[j] ? NAMED(keeps)(p, a, b, h, i, j0 + j) : 0;
      const int64_t v = iso__attention_at(&p->v, b, h / p->group, j0 + j);
      if (kept == 0) continue;
      const REAL weight = p->dropout ? row.p[j] * kept : row.p[j];
      for (int64_t c = 0; c < p->f; c++) o[c] = EXACT(fma)(weight, NAMED(load)(a->v, dtype, v + c), o[c]);
    }
  }
  ((REAL *)a->lse)[(b * p->heads + h) * p->l + i] = NAMED(row_lse)(&row);
  for (int64_t c = 0; c < p->f; c++)
    NAMED(store_row)(a->o, at, dtype, c, row.m == -(REAL)INFINITY ? 0 : o[c] * (1 / row.l) + 0);
}
static void NAMED(forward_rows)(void *arg, int64_t begin, int64_t end, int thread) {
  const work *w = arg;
  const iso_attention_problem *p = w->p;
  for (int64_t r = begin; r < end; r++) NAMED(forward_row)
  (w, r / (p->heads * p->l), r / p->l % p->heads, r % p->l,
   (REAL *)(void *)(w->workspace + (size_t)thread * w->thread_bytes));
}

static struct NAMED(iso__ordered) * NAMED(sums)(const work *w, int thread, int64_t n) {
  struct NAMED(iso__ordered) *sums = (void *)(w->workspace + (size_t)thread * w->thread_bytes);
  for (int64_t c = 0; c < n; c++) sums[c] = (struct NAMED(iso__ordered)){.k = 0};
  return sums;
}
/* sums[c] += weight·x[c]. */
static void NAMED(add_row)(struct NAMED(iso__ordered) * sums, REAL weight, const void *x, int64_t at, iso_dtype dtype,
                           int64_t n) {
  for (int64_t c = 0; c < n; c++) NAMED(iso__ordered_fma)(&sums[c], weight, NAMED(load)(x, dtype, at + c));
}
static void NAMED(skip_row)(struct NAMED(iso__ordered) * sums, int64_t n) {
  for (int64_t c = 0; c < n; c++) NAMED(iso__ordered_skip)(&sums[c], 1);
}

static void NAMED(gradient_q_row)(const work *w, int64_t b, int64_t h, int64_t i, struct NAMED(iso__ordered) * dq) {
  const iso_attention_problem *p = w->p;
  const iso_attention_args *a = w->a;
  const iso_dtype dtype = (iso_dtype)p->head.dtype;
  const REAL d = NAMED(row_d)(p, a, b, h, i);
  for (int64_t j = 0; j < p->s; j++) {
    REAL weight, ds, kept;
    const bool present = NAMED(pair)(p, a, b, h, i, j, d, &weight, &ds, &kept);
    if (present) NAMED(add_row)(dq, ds, a->k, iso__attention_at(&p->k, b, h / p->group, j), dtype, p->e);
    else NAMED(skip_row)(dq, p->e);
    if (p->ds) NAMED(store_row)(a->ds, ((b * p->heads + h) * p->l + i) * p->s, dtype, j, present ? ds : 0);
  }
  for (int64_t c = 0; c < p->e; c++) NAMED(store_row)
  (a->dq, iso__attention_at(&p->dq, b, h, i), dtype, c, NAMED(iso__ordered_end)(&dq[c]) * (REAL)a->scale);
}
static void NAMED(gradient_q_rows)(void *arg, int64_t begin, int64_t end, int thread) {
  const work *w = arg;
  const iso_attention_problem *p = w->p;
  for (int64_t r = begin; r < end; r++)
    NAMED(gradient_q_row)(w, r / (p->heads * p->l), r / p->l % p->heads, r % p->l, NAMED(sums)(w, thread, p->e));
}

static void NAMED(gradient_kv_row)(const work *w, int64_t b, int64_t shared, int64_t j,
                                   struct NAMED(iso__ordered) * dk) {
  const iso_attention_problem *p = w->p;
  const iso_attention_args *a = w->a;
  const iso_dtype dtype = (iso_dtype)p->head.dtype;
  struct NAMED(iso__ordered) *dv = dk + p->e;
  for (int64_t r = 0; r < p->l * p->group; r++) {
    const int64_t i = r / p->group, h = shared * p->group + r % p->group;
    REAL weight, ds, kept;
    const bool present = NAMED(pair)(p, a, b, h, i, j, NAMED(row_d)(p, a, b, h, i), &weight, &ds, &kept);
    if (present) NAMED(add_row)(dk, ds, a->q, iso__attention_at(&p->q, b, h, i), dtype, p->e);
    else NAMED(skip_row)(dk, p->e);
    if (present && kept != 0) NAMED(add_row)
    (dv, p->dropout ? weight * kept : weight, a->dy, iso__attention_at(&p->dy, b, h, i), dtype, p->f);
    else NAMED(skip_row)(dv, p->f); }
  for (int64_t c = 0; c < p->e; c++) NAMED(store_row)
  (a->dk, iso__attention_at(&p->dk, b, shared, j), dtype, c, NAMED(iso__ordered_end)(&dk[c]) * (REAL)a->scale);
  for (int64_t c = 0; c < p->f; c++)
    NAMED(store_row)(a->dv, iso__attention_at(&p->dv, b, shared, j), dtype, c, NAMED(iso__ordered_end)(&dv[c]));
}
static void NAMED(gradient_kv_rows)(void *arg, int64_t begin, int64_t end, int thread) {
  const work *w = arg;
  const iso_attention_problem *p = w->p;
  const int64_t shared = p->heads / p->group;
  for (int64_t r = begin; r < end; r++) NAMED(gradient_kv_row)
  (w, r / (shared * p->s), r / p->s % shared, r % p->s, NAMED(sums)(w, thread, p->e + p->f));
}
