/* order_body.h: the orders of summation, once for binary32 and binary64 (real_f32.h): the specification itself. */

REAL NAMED(iso__tree)(const REAL *v, size_t n) {
  if (n == 0) return 0;
  if (n == 1) return v[0];
  size_t left = 1; /* the largest power of two below n: the left subtree is full */
  while (left < n - left) left *= 2;
  return NAMED(iso__tree)(v, left) + NAMED(iso__tree)(v + left, n - left);
}

REAL NAMED(iso__fold)(const REAL *chunks, size_t n) {
  REAL total = 0;
  for (size_t j = 0; j < n; j += ISO__PANEL / ISO__CHUNK) {
    REAL panel = 0;
    for (size_t c = j; c < n && c < j + ISO__PANEL / ISO__CHUNK; c++) panel = panel + chunks[c];
    total = total + panel;
  }
  return total;
}

/* ordered */
void NAMED(iso__ordered_skip)(struct NAMED(iso__ordered) * s, size_t n) {
  while (n) {
    const size_t room = ISO__CHUNK - s->k % ISO__CHUNK, step = n < room ? n : room;
    s->k += step, n -= step;
    if (s->k % ISO__CHUNK == 0) s->panel = s->panel + s->acc, s->acc = 0;
    if (s->k % ISO__PANEL == 0) s->total = s->total + s->panel, s->panel = 0;
  }
}
void NAMED(iso__ordered_fma)(struct NAMED(iso__ordered) * s, REAL a, REAL b) {
  s->acc = EXACT(fma)(a, b, s->acc);
  NAMED(iso__ordered_skip)(s, 1);
}
void NAMED(iso__ordered_add)(struct NAMED(iso__ordered) * s, REAL a) {
  s->acc = s->acc + a;
  NAMED(iso__ordered_skip)(s, 1);
}
REAL NAMED(iso__ordered_end)(const struct NAMED(iso__ordered) * s) {
  /* An empty chunk or panel is +0 and changes nothing, since no partial sum is −0 once something was added to +0. */
  return s->total + (s->panel + s->acc);
}
REAL NAMED(iso__ordered_dot)(const REAL *a, ptrdiff_t stride_a, const REAL *b, ptrdiff_t stride_b, size_t n) {
  struct NAMED(iso__ordered) s = {0};
  for (ptrdiff_t k = 0; k < (ptrdiff_t)n; k++) NAMED(iso__ordered_fma)(&s, a[k * stride_a], b[k * stride_b]);
  return NAMED(iso__ordered_end)(&s);
}
REAL NAMED(iso__ordered_sum)(const REAL *a, ptrdiff_t stride, size_t n) {
  struct NAMED(iso__ordered) s = {0};
  for (ptrdiff_t k = 0; k < (ptrdiff_t)n; k++) NAMED(iso__ordered_add)(&s, a[k * stride]);
  return NAMED(iso__ordered_end)(&s);
}

/* lanes */
static void NAMED(lanes_close_panel)(struct NAMED(iso__lanes) * s) {
  REAL sum = NAMED(iso__tree)(s->lane, ISO__LANES);
  size_t level = 0;
  for (; s->n_panels >> level & 1; level++) sum = s->waiting[level] + sum;
  s->waiting[level] = sum;
  s->n_panels++;
  for (int l = 0; l < ISO__LANES; l++) s->lane[l] = 0;
}
static void NAMED(lanes_next)(struct NAMED(iso__lanes) * s) {
  if (++s->i % ISO__ROW_PANEL == 0) NAMED(lanes_close_panel)(s);
}
void NAMED(iso__lanes_fma)(struct NAMED(iso__lanes) * s, REAL a, REAL b) {
  REAL *lane = &s->lane[s->i % ISO__LANES];
  *lane = EXACT(fma)(a, b, *lane);
  NAMED(lanes_next)(s);
}
void NAMED(iso__lanes_add)(struct NAMED(iso__lanes) * s, REAL a) {
  REAL *lane = &s->lane[s->i % ISO__LANES];
  *lane = *lane + a;
  NAMED(lanes_next)(s);
}
REAL NAMED(iso__lanes_end)(struct NAMED(iso__lanes) * s) {
  if (s->i % ISO__ROW_PANEL) NAMED(lanes_close_panel)(s);
  size_t level = 0;
  while (level < 64 && !(s->n_panels >> level & 1)) level++;
  if (level == 64) return 0;
  REAL sum = s->waiting[level];
  for (level++; level < 64; level++)
    if (s->n_panels >> level & 1) sum = s->waiting[level] + sum;
  return sum + 0;
}
REAL NAMED(iso__lanes_dot)(const REAL *a, ptrdiff_t stride_a, const REAL *b, ptrdiff_t stride_b, size_t n) {
  struct NAMED(iso__lanes) s = {0};
  for (ptrdiff_t i = 0; i < (ptrdiff_t)n; i++) NAMED(iso__lanes_fma)(&s, a[i * stride_a], b[i * stride_b]);
  return NAMED(iso__lanes_end)(&s);
}
REAL NAMED(iso__lanes_sum)(const REAL *a, ptrdiff_t stride, size_t n) {
  struct NAMED(iso__lanes) s = {0};
  for (ptrdiff_t i = 0; i < (ptrdiff_t)n; i++) NAMED(iso__lanes_add)(&s, a[i * stride]);
  return NAMED(iso__lanes_end)(&s);
}

/* moments */
struct NAMED(chunk_moments) {
  REAL n, sum, mean, m2;
};
static struct NAMED(chunk_moments)
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
static void NAMED(fold_next)(REAL *panel, REAL *total, size_t j, REAL value) {
  *panel = *panel + value;
  if (j % (ISO__PANEL / ISO__CHUNK) == ISO__PANEL / ISO__CHUNK - 1) *total = *total + *panel, *panel = 0;
}
struct NAMED(iso__moments) NAMED(iso__moments)(REAL (*at)(const void *args, size_t i), const void *args, size_t n) {
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
void NAMED(iso__scan_sum)(const REAL *x, ptrdiff_t stride_x, REAL *y, ptrdiff_t stride_y, size_t n) {
  REAL carry = 0, run = 0;
  for (ptrdiff_t i = 0; i < (ptrdiff_t)n; i++) {
    if (i && i % ISO__PANEL == 0) carry = carry + run, run = 0;
    run = run + x[i * stride_x];
    y[i * stride_y] = carry + run;
  }
}
void NAMED(iso__scan_product)(const REAL *x, ptrdiff_t stride_x, REAL *y, ptrdiff_t stride_y, size_t n) {
  REAL carry = 1, run = 1;
  for (ptrdiff_t i = 0; i < (ptrdiff_t)n; i++) {
    if (i && i % ISO__PANEL == 0) carry = carry * run, run = 1;
    run = run * x[i * stride_x];
    y[i * stride_y] = carry * run;
  }
}
