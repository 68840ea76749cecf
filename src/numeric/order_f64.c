/* The orders of summation in binary64: order_f32.c with every operation in double. */
#include "order.h"

#include <math.h>

double iso__tree_f64(const double *v, size_t n) {
  if (n == 0) return 0.0;
  if (n == 1) return v[0];
  size_t left = 1; /* the largest power of two below n: the left subtree is full */
  while (left < n - left) left *= 2;
  return iso__tree_f64(v, left) + iso__tree_f64(v + left, n - left);
}

double iso__fold_f64(const double *chunks, size_t n) {
  double total = 0.0;
  for (size_t j = 0; j < n; j += ISO__PANEL / ISO__CHUNK) {
    double panel = 0.0;
    for (size_t c = j; c < n && c < j + ISO__PANEL / ISO__CHUNK; c++) panel = panel + chunks[c];
    total = total + panel;
  }
  return total;
}

/* ordered */
void iso__ordered_skip_f64(struct iso__ordered_f64 *s, size_t n) {
  while (n) {
    const size_t room = ISO__CHUNK - s->k % ISO__CHUNK, step = n < room ? n : room;
    s->k += step, n -= step;
    if (s->k % ISO__CHUNK == 0) s->panel = s->panel + s->acc, s->acc = 0.0;
    if (s->k % ISO__PANEL == 0) s->total = s->total + s->panel, s->panel = 0.0;
  }
}
void iso__ordered_fma_f64(struct iso__ordered_f64 *s, double a, double b) {
  s->acc = fma(a, b, s->acc);
  iso__ordered_skip_f64(s, 1);
}
void iso__ordered_add_f64(struct iso__ordered_f64 *s, double a) {
  s->acc = s->acc + a;
  iso__ordered_skip_f64(s, 1);
}
double iso__ordered_end_f64(const struct iso__ordered_f64 *s) {
  /* An empty chunk or panel is +0 and changes nothing, since no partial sum is −0 once something was added to +0. */
  return s->total + (s->panel + s->acc);
}
double iso__ordered_dot_f64(const double *a, ptrdiff_t stride_a, const double *b, ptrdiff_t stride_b, size_t n) {
  struct iso__ordered_f64 s = {0};
  for (ptrdiff_t k = 0; k < (ptrdiff_t)n; k++) iso__ordered_fma_f64(&s, a[k * stride_a], b[k * stride_b]);
  return iso__ordered_end_f64(&s);
}
double iso__ordered_sum_f64(const double *a, ptrdiff_t stride, size_t n) {
  struct iso__ordered_f64 s = {0};
  for (ptrdiff_t k = 0; k < (ptrdiff_t)n; k++) iso__ordered_add_f64(&s, a[k * stride]);
  return iso__ordered_end_f64(&s);
}

/* lanes */
static void lanes_close_panel(struct iso__lanes_f64 *s) {
  double sum = iso__tree_f64(s->lane, ISO__LANES);
  size_t level = 0;
  for (; s->n_panels >> level & 1; level++) sum = s->waiting[level] + sum;
  s->waiting[level] = sum;
  s->n_panels++;
  for (int l = 0; l < ISO__LANES; l++) s->lane[l] = 0.0;
}
static void lanes_next(struct iso__lanes_f64 *s) {
  if (++s->i % ISO__ROW_PANEL == 0) lanes_close_panel(s);
}
void iso__lanes_fma_f64(struct iso__lanes_f64 *s, double a, double b) {
  double *lane = &s->lane[s->i % ISO__LANES];
  *lane = fma(a, b, *lane);
  lanes_next(s);
}
void iso__lanes_add_f64(struct iso__lanes_f64 *s, double a) {
  double *lane = &s->lane[s->i % ISO__LANES];
  *lane = *lane + a;
  lanes_next(s);
}
double iso__lanes_end_f64(struct iso__lanes_f64 *s) {
  if (s->i % ISO__ROW_PANEL) lanes_close_panel(s);
  size_t level = 0;
  while (level < 64 && !(s->n_panels >> level & 1)) level++;
  if (level == 64) return 0.0;
  double sum = s->waiting[level];
  for (level++; level < 64; level++)
    if (s->n_panels >> level & 1) sum = s->waiting[level] + sum;
  return sum + 0.0;
}
double iso__lanes_dot_f64(const double *a, ptrdiff_t stride_a, const double *b, ptrdiff_t stride_b, size_t n) {
  struct iso__lanes_f64 s = {0};
  for (ptrdiff_t i = 0; i < (ptrdiff_t)n; i++) iso__lanes_fma_f64(&s, a[i * stride_a], b[i * stride_b]);
  return iso__lanes_end_f64(&s);
}
double iso__lanes_sum_f64(const double *a, ptrdiff_t stride, size_t n) {
  struct iso__lanes_f64 s = {0};
  for (ptrdiff_t i = 0; i < (ptrdiff_t)n; i++) iso__lanes_add_f64(&s, a[i * stride]);
  return iso__lanes_end_f64(&s);
}

/* moments */
struct chunk_moments {
  double n, sum, mean, m2;
};
static struct chunk_moments chunk_at(double (*at)(const void *, size_t), const void *args, size_t begin, size_t n) {
  const size_t end = n - begin < ISO__CHUNK ? n : begin + ISO__CHUNK;
  struct chunk_moments c = {.n = (double)(end - begin)};
  for (size_t i = begin; i < end; i++) c.sum = c.sum + at(args, i);
  c.mean = c.sum / c.n;
  for (size_t i = begin; i < end; i++) {
    const double d = at(args, i) - c.mean;
    c.m2 = fma(d, d, c.m2);
  }
  return c;
}
/* Adds chunk j's value to a fold that is under way. */
static void fold_next(double *panel, double *total, size_t j, double value) {
  *panel = *panel + value;
  if (j % (ISO__PANEL / ISO__CHUNK) == ISO__PANEL / ISO__CHUNK - 1) *total = *total + *panel, *panel = 0.0;
}
struct iso__moments_f64 iso__moments_f64(double (*at)(const void *args, size_t i), const void *args, size_t n) {
  double panel = 0.0, total = 0.0;
  for (size_t i = 0; i < n; i += ISO__CHUNK) fold_next(&panel, &total, i / ISO__CHUNK, chunk_at(at, args, i, n).sum);
  const double mean = (total + panel) / (double)n;
  panel = total = 0.0;
  for (size_t i = 0; i < n; i += ISO__CHUNK) {
    const struct chunk_moments c = chunk_at(at, args, i, n);
    const double e = c.mean - mean;
    fold_next(&panel, &total, i / ISO__CHUNK, fma(c.n * e, e, c.m2));
  }
  return (struct iso__moments_f64){.mean = mean, .m2 = total + panel};
}

/* scan */
void iso__scan_sum_f64(const double *x, ptrdiff_t stride_x, double *y, ptrdiff_t stride_y, size_t n) {
  double carry = 0.0, run = 0.0;
  for (ptrdiff_t i = 0; i < (ptrdiff_t)n; i++) {
    if (i && i % ISO__PANEL == 0) carry = carry + run, run = 0.0;
    run = run + x[i * stride_x];
    y[i * stride_y] = carry + run;
  }
}
void iso__scan_product_f64(const double *x, ptrdiff_t stride_x, double *y, ptrdiff_t stride_y, size_t n) {
  double carry = 1.0, run = 1.0;
  for (ptrdiff_t i = 0; i < (ptrdiff_t)n; i++) {
    if (i && i % ISO__PANEL == 0) carry = carry * run, run = 1.0;
    run = run * x[i * stride_x];
    y[i * stride_y] = carry * run;
  }
}
