/* order_body.h: the orders of summation, once for binary32 and binary64 (real_f32.h): the specification itself. */

/* A tree whose terms come one by one waits as full subtrees, a binary counter: bit b of the number of terms says that
 * one of 2^b terms waits. What is left at the end joins from the last one up, where an odd one passes unchanged. */
static ISO__HD void NAMED(tree_push)(REAL *waiting, size_t n, REAL v) {
  size_t level = 0;
  for (; n >> level & 1; level++) v = waiting[level] + v;
  waiting[level] = v;
}
static ISO__HD REAL NAMED(tree_end)(const REAL *waiting, size_t n) {
  if (n == 0) return 0;
  size_t level = 0;
  while (!(n >> level & 1)) level++;
  REAL sum = waiting[level];
  for (level++; level < 64; level++)
    if (n >> level & 1) sum = waiting[level] + sum;
  return sum;
}
ISO__SHARED REAL NAMED(iso__tree)(const REAL *v, size_t n) {
  REAL waiting[64];
  for (size_t i = 0; i < n; i++) NAMED(tree_push)(waiting, i, v[i]);
  return NAMED(tree_end)(waiting, n);
}

ISO__SHARED REAL NAMED(iso__fold)(const REAL *chunks, size_t n) {
  REAL total = 0;
  for (size_t j = 0; j < n; j += ISO__PANEL / ISO__CHUNK) {
    REAL panel = 0;
    for (size_t c = j; c < n && c < j + ISO__PANEL / ISO__CHUNK; c++) panel = panel + chunks[c];
    total = total + panel;
  }
  return total;
}

/* ordered */
ISO__SHARED void NAMED(iso__ordered_skip)(struct NAMED(iso__ordered) * s, size_t n) {
  while (n) {
    const size_t room = ISO__CHUNK - s->k % ISO__CHUNK, step = n < room ? n : room;
    s->k += step, n -= step;
    if (s->k % ISO__CHUNK == 0) s->panel = s->panel + s->acc, s->acc = 0;
    if (s->k % ISO__PANEL == 0) s->total = s->total + s->panel, s->panel = 0;
  }
}
ISO__SHARED void NAMED(iso__ordered_fma)(struct NAMED(iso__ordered) * s, REAL a, REAL b) {
  s->acc = EXACT(fma)(a, b, s->acc);
  NAMED(iso__ordered_skip)(s, 1);
}
ISO__SHARED void NAMED(iso__ordered_add)(struct NAMED(iso__ordered) * s, REAL a) {
  s->acc = s->acc + a;
  NAMED(iso__ordered_skip)(s, 1);
}
ISO__SHARED REAL NAMED(iso__ordered_end)(const struct NAMED(iso__ordered) * s) {
  /* An empty chunk or panel is +0 and changes nothing, since no partial sum is −0 once something was added to +0. */
  return s->total + (s->panel + s->acc);
}
ISO__SHARED REAL NAMED(iso__ordered_dot)(const REAL *a, ptrdiff_t stride_a, const REAL *b, ptrdiff_t stride_b,
                                         size_t n) {
  struct NAMED(iso__ordered) s = {0};
  for (ptrdiff_t k = 0; k < (ptrdiff_t)n; k++) NAMED(iso__ordered_fma)(&s, a[k * stride_a], b[k * stride_b]);
  return NAMED(iso__ordered_end)(&s);
}
ISO__SHARED REAL NAMED(iso__ordered_sum)(const REAL *a, ptrdiff_t stride, size_t n) {
  struct NAMED(iso__ordered) s = {0};
  for (ptrdiff_t k = 0; k < (ptrdiff_t)n; k++) NAMED(iso__ordered_add)(&s, a[k * stride]);
  return NAMED(iso__ordered_end)(&s);
}

/* lanes */
static ISO__HD ISO__APART void NAMED(lanes_close_panel)(struct NAMED(iso__lanes) * s) {
  NAMED(tree_push)(s->waiting, s->n_panels++, NAMED(iso__tree)(s->lane, ISO__LANES));
  for (int l = 0; l < ISO__LANES; l++) s->lane[l] = 0;
}
static ISO__HD void NAMED(lanes_next)(struct NAMED(iso__lanes) * s) {
  if (++s->i % ISO__ROW_PANEL == 0) NAMED(lanes_close_panel)(s);
}
ISO__SHARED void NAMED(iso__lanes_fma)(struct NAMED(iso__lanes) * s, REAL a, REAL b) {
  REAL *lane = &s->lane[s->i % ISO__LANES];
  *lane = EXACT(fma)(a, b, *lane);
  NAMED(lanes_next)(s);
}
ISO__SHARED void NAMED(iso__lanes_add)(struct NAMED(iso__lanes) * s, REAL a) {
  REAL *lane = &s->lane[s->i % ISO__LANES];
  *lane = *lane + a;
  NAMED(lanes_next)(s);
}
ISO__SHARED ISO__APART REAL NAMED(iso__lanes_end)(struct NAMED(iso__lanes) * s) {
  if (s->i % ISO__ROW_PANEL) NAMED(lanes_close_panel)(s);
  return NAMED(tree_end)(s->waiting, s->n_panels) + 0;
}
ISO__SHARED REAL NAMED(iso__lanes_dot)(const REAL *a, ptrdiff_t stride_a, const REAL *b, ptrdiff_t stride_b, size_t n) {
  struct NAMED(iso__lanes) s = {0};
  for (ptrdiff_t i = 0; i < (ptrdiff_t)n; i++) NAMED(iso__lanes_fma)(&s, a[i * stride_a], b[i * stride_b]);
  return NAMED(iso__lanes_end)(&s);
}
ISO__SHARED REAL NAMED(iso__lanes_sum)(const REAL *a, ptrdiff_t stride, size_t n) {
  struct NAMED(iso__lanes) s = {0};
  for (ptrdiff_t i = 0; i < (ptrdiff_t)n; i++) NAMED(iso__lanes_add)(&s, a[i * stride]);
  return NAMED(iso__lanes_end)(&s);
}

/* moments */
struct NAMED(chunk_moments) {
  REAL n, sum, mean, m2;
};
static ISO__HD struct NAMED(chunk_moments)
    NAMED(chunk_at)(REAL (*at)(const void *, size_t), const void *args, size_t begin, size_t n) {
  const size_t end = n - begin < ISO__CHUNK ? n : begin + ISO__CHUNK;
  struct NAMED(chunk_moments) c = {.n = (REAL)(end - begin)};
  for (size_t i = begin; i < end; i++) c.sum = c.sum + at(args, i);
  c.mean = c.sum / c.n;
  for (size_t i = begin; i < end; i++) {
    const REAL d = at(args, i) - c.mean;
    c.m2 = EXACT(fma)(d, d, c.m2);
  }
  return c;
}
/* Adds chunk j's value to a fold that is under way. */
static ISO__HD void NAMED(fold_next)(REAL *panel, REAL *total, size_t j, REAL value) {
  *panel = *panel + value;
  if (j % (ISO__PANEL / ISO__CHUNK) == ISO__PANEL / ISO__CHUNK - 1) *total = *total + *panel, *panel = 0;
}
ISO__SHARED struct NAMED(iso__moments)
    NAMED(iso__moments)(REAL (*at)(const void *args, size_t i), const void *args, size_t n) {
  REAL panel = 0, total = 0;
  for (size_t i = 0; i < n; i += ISO__CHUNK)
    NAMED(fold_next)(&panel, &total, i / ISO__CHUNK, NAMED(chunk_at)(at, args, i, n).sum);
  const REAL mean = (total + panel) / (REAL)n;
  panel = total = 0;
  for (size_t i = 0; i < n; i += ISO__CHUNK) {
    const struct NAMED(chunk_moments) c = NAMED(chunk_at)(at, args, i, n);
    const REAL e = c.mean - mean;
    NAMED(fold_next)(&panel, &total, i / ISO__CHUNK, EXACT(fma)(c.n * e, e, c.m2));
  }
  return (struct NAMED(iso__moments)){.mean = mean, .m2 = total + panel};
}

/* scan */
ISO__SHARED void NAMED(iso__scan_sum)(const REAL *x, ptrdiff_t stride_x, REAL *y, ptrdiff_t stride_y, size_t n) {
  REAL carry = 0, run = 0;
  for (ptrdiff_t i = 0; i < (ptrdiff_t)n; i++) {
    if (i && i % ISO__PANEL == 0) carry = carry + run, run = 0;
    run = run + x[i * stride_x];
    y[i * stride_y] = carry + run;
  }
}
ISO__SHARED void NAMED(iso__scan_product)(const REAL *x, ptrdiff_t stride_x, REAL *y, ptrdiff_t stride_y, size_t n) {
  REAL carry = 1, run = 1;
  for (ptrdiff_t i = 0; i < (ptrdiff_t)n; i++) {
    if (i && i % ISO__PANEL == 0) carry = carry * run, run = 1;
    run = run * x[i * stride_x];
    y[i * stride_y] = carry * run;
  }
}
