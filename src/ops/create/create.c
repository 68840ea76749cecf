/* create.c: sequences, identity matrices and the like. Each element is a formula of its number, computed in f64 in the
 * default floating-point environment and cast once. */
#include <math.h>
#include "base/fenv.h"
#include "base/pool.h"
#include "numeric/dtype.h"
#include "ops/shape/view.h"

typedef struct line {
  double start, end, step, base;
  int64_t n;
} line;
typedef double formula(const line *l, int64_t i);

static double counted(const line *l, int64_t i) { return l->start + (double)i * l->step; }
static double spaced(const line *l, int64_t i) {
  if (l->n == 1) return l->start;
  return i < l->n / 2 ? l->start + (double)i * l->step : l->end - (double)(l->n - 1 - i) * l->step;
}
static double powers(const line *l, int64_t i) { return iso_f64_pow(l->base, spaced(l, i)); }

typedef struct fill {
  const line *l;
  formula *f;
  char *out;
  iso_dtype dtype;
} fill;
static void fill_range(void *arg, int64_t begin, int64_t end, int thread) {
  const fill *j = arg;
  const size_t item = iso_dtype_size(j->dtype);
  (void)thread;
  for (int64_t i = begin; i < end; i++) {
    const double value = j->f(j->l, i);
    iso__cast_element(&value, ISO_F64, j->out + (size_t)i * item, j->dtype);
  }
}

static iso_tensor *sequence(iso_context *ctx, iso_dtype dtype, const line *l, formula *f) {
  if (iso__failed(ctx)) return NULL;
  const iso__device *device = iso__host_enter(ctx);
  iso_tensor *t = iso_tensor_new(ctx, dtype, 1, &l->n);
  const iso__fenv saved = iso__fenv_enter();
  if (t)
    iso__parallel_range(ctx, l->n, 16384, 64, fill_range, &(fill){.l = l, .f = f, .out = iso__data(t), .dtype = dtype});
  iso__fenv_leave(saved);
  return iso__host_finish(ctx, device, t);
}

static bool are_finite(iso_context *ctx, const char *op, double a, double b, double c) {
  if (iso__failed(ctx)) return false;
  if (isfinite(a) && isfinite(b) && isfinite(c)) return true;
  ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "%g, %g and %g are not all finite", a, b, c);
  return false;
}

iso_tensor *iso_arange(iso_context *ctx, iso_dtype dtype, double start, double end, double step) {
  if (!are_finite(ctx, "arange", start, end, step)) return NULL;
  const iso__fenv saved = iso__fenv_enter();
  const double n = ceil(iso__fenv_pin(iso__fenv_pin(end - start) / step));
  iso__fenv_leave(saved);
  if (step == 0 || n < 0 || !(n < 0x1p46)) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "arange", "from %g to %g by steps of %g", start, end, step);
    return NULL;
  }
  return sequence(ctx, dtype, &(line){.start = start, .step = step, .n = (int64_t)n}, counted);
}

static iso_tensor *between(iso_context *ctx, const char *op, iso_dtype dtype, double start, double end, int64_t n,
                           double base, formula *f) {
  if (!are_finite(ctx, op, start, end, base)) return NULL;
  if (n < 0) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "%lld elements", (long long)n);
    return NULL;
  }
  const iso__fenv saved = iso__fenv_enter();
  const double step = n > 1 ? iso__fenv_pin(iso__fenv_pin(end - start) / (double)(n - 1)) : 0;
  iso__fenv_leave(saved);
  return sequence(ctx, dtype, &(line){.start = start, .end = end, .step = step, .base = base, .n = n}, f);
}
iso_tensor *iso_linspace(iso_context *ctx, iso_dtype dtype, double start, double end, int64_t n) {
  return between(ctx, "linspace", dtype, start, end, n, 0, spaced);
}
iso_tensor *iso_logspace(iso_context *ctx, iso_dtype dtype, double start, double end, int64_t n, double base) {
  return between(ctx, "logspace", dtype, start, end, n, base, powers);
}

iso_tensor *iso_eye(iso_context *ctx, iso_dtype dtype, int64_t rows, int64_t columns) {
  if (iso__failed(ctx)) return NULL;
  const iso__device *device = iso__host_enter(ctx);
  iso_tensor *t = iso_tensor_zeros(ctx, dtype, 2, ISO_DIMS(rows, columns));
  const size_t item = iso_dtype_size(dtype);
  const double one = 1;
  for (int64_t i = 0; t && i < rows && i < columns; i++)
    iso__cast_element(&one, ISO_F64, (char *)iso__data(t) + (size_t)(i * columns + i) * item, dtype);
  return iso__host_finish(ctx, device, t);
}

iso_tensor *iso_empty_like(iso_context *ctx, const iso_tensor *x) {
  return iso__takes(ctx, "empty_like", 1, &x) ? iso__tensor_new_like(ctx, &x->view, x->view.dtype) : NULL;
}
iso_tensor *iso_full_like(iso_context *ctx, const iso_tensor *x, double value) {
  if (!iso__takes(ctx, "full_like", 1, &x)) return NULL;
  iso_tensor *y = iso__tensor_new_like(ctx, &x->view, x->view.dtype), *one = iso__scalar(ctx, x->view.dtype, value);
  iso__view v;
  if (y && one && iso__view_expand(ctx, &one->view, y->view.n_dims, y->view.shape, &v))
    iso__view_copy(ctx, &y->view, &v);
  iso_release(one);
  return iso__failed(ctx) ? iso__drop(NULL, y) : y;
}

/* ---- triangles ---- */

/* Columns [first, end) of a row. */
typedef struct part {
  int64_t first, end;
} part;
static part row_part(int64_t row, int64_t columns, int64_t diagonal, bool lower) {
  const int64_t split = iso__triangle_split(row, columns, diagonal, lower);
  return lower ? (part){0, split} : (part){split, columns};
}

static iso_tensor *triangle(iso_context *ctx, const char *op, int64_t rows, int64_t columns, int64_t diagonal,
                            bool lower) {
  const int64_t most = INT64_C(1) << 31;
  if (iso__failed(ctx)) return NULL;
  if (rows < 0 || columns < 0 || rows > most || columns > most) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "%lld rows and %lld columns", (long long)rows, (long long)columns);
    return NULL;
  }
  diagonal = diagonal < -most ? -most : diagonal > most ? most : diagonal; /* all or nothing, as beyond */
  /* Rows without an element are not visited. */
  const int64_t begin = lower && diagonal < 0 ? -diagonal : 0;
  int64_t n = 0, at = 0, end = columns == 0 ? 0 : rows;
  if (!lower && end > columns - diagonal) end = columns - diagonal;
  for (int64_t r = begin; r < end; r++) {
    const part p = row_part(r, columns, diagonal, lower);
    n += p.end - p.first;
  }
  const iso__device *device = iso__host_enter(ctx);
  iso_tensor *t = iso_tensor_new(ctx, ISO_I64, 2, ISO_DIMS(2, n));
  int64_t *out = iso__data(t);
  for (int64_t r = begin; r < end && t; r++) {
    const part p = row_part(r, columns, diagonal, lower);
    for (int64_t c = p.first; c < p.end; c++, at++) out[at] = r, out[n + at] = c;
  }
  return iso__host_finish(ctx, device, t);
}
iso_tensor *iso_tril_indices(iso_context *ctx, int64_t rows, int64_t columns, int64_t diagonal) {
  return triangle(ctx, "tril_indices", rows, columns, diagonal, true);
}
iso_tensor *iso_triu_indices(iso_context *ctx, int64_t rows, int64_t columns, int64_t diagonal) {
  return triangle(ctx, "triu_indices", rows, columns, diagonal, false);
}
