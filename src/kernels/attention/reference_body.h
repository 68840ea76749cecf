/* reference_body.h: attention in plain C, once per precision: what reference.c and rows.c are written with. A `row` is
 * a query of a head; `load` widens f16 and bf16 exactly. */
#include "kernels/attention/attention.h"

static ISO__HD REAL NAMED(load)(const void *data, iso_dtype dtype, int64_t i) {
  switch (dtype) {
  case ISO_F64: return (REAL)((const double *)data)[i];
  case ISO_F16: return (REAL)iso__f32_from_f16(((const uint16_t *)data)[i]);
  case ISO_BF16: return (REAL)iso__f32_from_bf16(((const uint16_t *)data)[i]);
  default: return (REAL)((const float *)data)[i];
  }
}
static ISO__HD void NAMED(store)(void *to, iso_dtype dtype, REAL value) {
  uint16_t h;
  switch (dtype) {
  case ISO_F16: h = iso__f16_from_f32((float)value), memcpy(to, &h, sizeof h); break;
  case ISO_BF16: h = iso__bf16_from_f32((float)value), memcpy(to, &h, sizeof h); break;
  default: memcpy(to, &value, sizeof value);
  }
}

/* ordered(x·y) of n columns. */
static ISO__HD REAL NAMED(dot)(const void *x, int64_t at_x, const void *y, int64_t at_y, iso_dtype dtype, int64_t n) {
  struct NAMED(iso__ordered) sum = {.k = 0};
  for (int64_t c = 0; c < n; c++)
    NAMED(iso__ordered_fma)(&sum, NAMED(load)(x, dtype, at_x + c), NAMED(load)(y, dtype, at_y + c));
  return NAMED(iso__ordered_end)(&sum);
}

/* s = ordered(q·k)·scale, + mask; false where key j, one of the first iso__attention_keys, is absent. */
static ISO__HD bool NAMED(score)(const iso_attention_problem *p, const iso_attention_args *a, int64_t b, int64_t h,
                                 int64_t i, int64_t j, REAL *s) {
  const iso_dtype dtype = (iso_dtype)p->head.dtype;
  if (p->mask == ISO__MASK_BOOL && !((const uint8_t *)a->mask)[iso__attention_mask_at(p, b, h, i, j)]) return false;
  *s = NAMED(dot)(a->q, iso__attention_at(&p->q, b, h, i), a->k, iso__attention_at(&p->k, b, h / p->group, j), dtype,
                  p->e) *
       (REAL)a->scale;
  if (p->mask == ISO__MASK_ADDED) *s = *s + NAMED(load)(a->mask, dtype, iso__attention_mask_at(p, b, h, i, j));
  return *s != -(REAL)INFINITY;
}

/* What a weight is multiplied by under dropout: 1/(1 − p), or 0 for one that is dropped and then absent from the sums
 * over v and dy. Without dropout it is 1, and no multiplication takes place. */
static ISO__HD REAL NAMED(keeps)(const iso_attention_problem *p, const iso_attention_args *a, int64_t b, int64_t h,
                                 int64_t i, int64_t j) {
  if (!p->dropout) return 1;
  const iso_philox at = iso__attention_noise(a);
  const uint64_t element = (uint64_t)(((b * p->heads + h) * p->l + i) * p->s + j);
  return philox_word(&at, element) >> 8 >= rint(a->p * 0x1p24) ? (REAL)(1 / (1 - a->p)) : 0;
}

/* The greater of m and x: a NaN in either is the result; +0 is greater than −0. */
static ISO__HD REAL NAMED(greater)(REAL m, REAL x) { return (m == m && !(x <= m) ? x : m) + 0; }

/* A row under way: m the greatest score so far, l the sum of exp(s − m); of the present block the weights. */
struct NAMED(row) {
  REAL m, l, c; /* c = exp(m before the block − m), what sums so far are multiplied by */
  bool present[ISO__KEY_BLOCK];
  REAL p[ISO__KEY_BLOCK];
};
/* The block of keys from j0 on, `n` of them seen; false if none is present, and then nothing has changed. */
static ISO__HD bool NAMED(row_block)(const iso_attention_problem *p, const iso_attention_args *a, int64_t b, int64_t h,
                                     int64_t i, int64_t j0, int n, struct NAMED(row) * row) {
  struct NAMED(iso__lanes) sum = {.i = 0};
  REAL next = row->m;
  bool any = false;
  for (int j = 0; j < n; j++) {
    row->present[j] = NAMED(score)(p, a, b, h, i, j0 + j, &row->p[j]);
    if (row->present[j]) any = true, next = NAMED(greater)(next, row->p[j]);
  }
  if (!any) return false;
  for (int j = 0; j < n; j++) {
    row->p[j] = row->present[j] ? MATH(exp)(row->p[j] - next) : 0;
    NAMED(iso__lanes_add)(&sum, row->p[j]);
  }
  row->c = MATH(exp)(row->m - next);
  row->l = EXACT(fma)(row->l, row->c, NAMED(iso__lanes_end)(&sum));
  row->m = next;
  return true;
}
/* L; −inf of a row that attends to nothing. */
static ISO__HD REAL NAMED(row_lse)(const struct NAMED(row) * row) {
  return row->m == -(REAL)INFINITY ? row->m : row->m + MATH(log)(row->l);
}

/* Backward, of query i and key j: false where the key is absent; else p and ds. D is ordered(dy·o) of the row. */
static ISO__HD bool NAMED(pair)(const iso_attention_problem *p, const iso_attention_args *a, int64_t b, int64_t h,
                                int64_t i, int64_t j, REAL d, REAL *weight, REAL *ds, REAL *kept) {
  const REAL lse =
      NAMED(load)(a->lse_saved, p->head.dtype == ISO_F64 ? ISO_F64 : ISO_F32, (b * p->heads + h) * p->l + i);
  REAL s, dp = 0;
  if (lse == -(REAL)INFINITY || j >= iso__attention_keys(p, a, b, i) || !NAMED(score)(p, a, b, h, i, j, &s))
    return false;
  *weight = MATH(exp)(s - lse);
  *kept = NAMED(keeps)(p, a, b, h, i, j);
  if (*kept != 0) {
    dp = NAMED(dot)(a->dy, iso__attention_at(&p->dy, b, h, i), a->v, iso__attention_at(&p->v, b, h / p->group, j),
                    (iso_dtype)p->head.dtype, p->f);
    if (p->dropout) dp = dp * *kept;
  }
  *ds = *weight * (dp - d);
  return true;
}
static ISO__HD REAL NAMED(row_d)(const iso_attention_problem *p, const iso_attention_args *a, int64_t b, int64_t h,
                                 int64_t i) {
  return NAMED(dot)(a->dy, iso__attention_at(&p->dy, b, h, i), a->o_saved, iso__attention_at(&p->o, b, h, i),
                    (iso_dtype)p->head.dtype, p->f);
}
