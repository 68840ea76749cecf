/* diagonal.c: diagonals as views, matrices made of them, triangles. */
#include "ops/shape/view.h"

typedef struct place {
  int64_t offset;
  int a, b;
} place;

static bool show(iso_context *ctx, const iso__view *whole, const void *attrs, iso__view *part) {
  const place *p = attrs;
  const int64_t rows = whole->shape[p->a], columns = whole->shape[p->b];
  const int64_t down = p->offset < 0 ? -p->offset : 0, right = p->offset > 0 ? p->offset : 0;
  int64_t length = rows - down < columns - right ? rows - down : columns - right;
  (void)ctx;
  *part = *whole;
  part->n_dims = 0;
  for (int d = 0; d < whole->n_dims; d++) {
    if (d == p->a || d == p->b) continue;
    part->shape[part->n_dims] = whole->shape[d];
    part->strides[part->n_dims++] = whole->strides[d];
  }
  if (length > 0) part->offset += down * whole->strides[p->a] + right * whole->strides[p->b];
  else length = 0;
  part->shape[part->n_dims] = length;
  part->strides[part->n_dims++] = whole->strides[p->a] + whole->strides[p->b];
  return true;
}

/* The two axes, counted from the front among n_dims; false with an error kept. */
static bool read_axes(iso_context *ctx, const char *op, int n_dims, place *p) {
  const int a = p->a, b = p->b;
  if (p->a < 0) p->a += n_dims;
  if (p->b < 0) p->b += n_dims;
  if (p->a >= 0 && p->b >= 0 && p->a < n_dims && p->b < n_dims && p->a != p->b && p->offset > -INT64_MAX) return true;
  ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "axes %d and %d, offset %lld, of a tensor with %d dimensions", a, b,
            (long long)p->offset, n_dims);
  return false;
}

iso_tensor *iso_diagonal(iso_context *ctx, const iso_tensor *x, int64_t offset, int axis_a, int axis_b) {
  if (!iso__takes(ctx, "diagonal", 1, &x)) return NULL;
  place p;
  memset(&p, 0, sizeof p);
  p.offset = offset, p.a = axis_a, p.b = axis_b;
  iso__view v;
  if (!read_axes(ctx, "diagonal", x->view.n_dims, &p) || !show(ctx, &x->view, &p, &v)) return NULL;
  return iso__record_view(ctx, x, &v, ISO__RULE_DIAGONAL, &p, sizeof p);
}
void iso__diagonal_gradient(iso__gradient *g) {
  g->dx[0] = iso__view_bwd(g->ctx, g->dy[0], iso__input_view(g, 0), show, ISO__RULE_DIAGONAL_BWD, iso__attrs(g),
                           sizeof(place));
}
void iso__diagonal_bwd_gradient(iso__gradient *g) {
  const place *p = iso__attrs(g);
  g->dx[0] = iso_diagonal(g->ctx, g->dy[0], p->offset, p->a, p->b);
}

iso_tensor *iso_diagonal_scatter(iso_context *ctx, const iso_tensor *x, const iso_tensor *part, int64_t offset,
                                 int axis_a, int axis_b) {
  if (!iso__takes(ctx, "diagonal_scatter", 2, ISO__TENSORS(x, part))) return NULL;
  place p;
  memset(&p, 0, sizeof p);
  p.offset = offset, p.a = axis_a, p.b = axis_b;
  if (!read_axes(ctx, "diagonal_scatter", x->view.n_dims, &p)) return NULL;
  return iso__replace(ctx, "diagonal_scatter", x, part, show, ISO__RULE_DIAGONAL_SCATTER, &p, sizeof p);
}
void iso__diagonal_scatter_gradient(iso__gradient *g) {
  const place *p = iso__attrs(g);
  const iso__view *part = iso__input_view(g, 1);
  if (iso__needs(g, 0)) {
    iso_tensor *none = iso_tensor_zeros(g->ctx, part->dtype, part->n_dims, part->shape);
    g->dx[0] = iso_diagonal_scatter(g->ctx, g->dy[0], none, p->offset, p->a, p->b);
  }
  if (iso__needs(g, 1)) g->dx[1] = iso_diagonal(g->ctx, g->dy[0], p->offset, p->a, p->b);
}

iso_tensor *iso_diag_embed(iso_context *ctx, const iso_tensor *x, int64_t offset, int axis_a, int axis_b) {
  if (!iso__takes(ctx, "diag_embed", 1, &x)) return NULL;
  const int n_dims = x->view.n_dims + 1;
  place p;
  memset(&p, 0, sizeof p);
  p.offset = offset, p.a = axis_a, p.b = axis_b;
  if (x->view.n_dims < 1 || n_dims > ISO_MAX_DIMS) {
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "diag_embed", "x has %d dimensions; 1 to %d are possible", x->view.n_dims,
              ISO_MAX_DIMS - 1);
    return NULL;
  }
  if (!read_axes(ctx, "diag_embed", n_dims, &p)) return NULL;
  iso__view form = x->view;
  form.n_dims = n_dims;
  int64_t extent;
  if (__builtin_add_overflow(x->view.shape[n_dims - 2], offset < 0 ? -offset : offset, &extent)) extent = INT64_MAX;
  for (int d = 0, from = 0; d < n_dims; d++) form.shape[d] = d == p.a || d == p.b ? extent : x->view.shape[from++];
  return iso__view_bwd(ctx, x, &form, show, ISO__RULE_DIAGONAL_BWD, &p, sizeof p);
}

iso_tensor *iso_diag(iso_context *ctx, const iso_tensor *x, int64_t offset) {
  if (!iso__takes(ctx, "diag", 1, &x)) return NULL;
  if (x->view.n_dims == 1) return iso_diag_embed(ctx, x, offset, 0, 1);
  if (x->view.n_dims == 2) return iso_diagonal(ctx, x, offset, 0, 1);
  ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "diag", "x has %d dimensions: a vector or a matrix is needed", x->view.n_dims);
  return NULL;
}

/* ---- triangles: where a mask of one matrix is 0, so is the result, whatever stood there ---- */

static iso_tensor *triangle(iso_context *ctx, const char *op, const iso_tensor *x, int64_t diagonal, bool lower) {
  if (!iso__takes(ctx, op, 1, &x)) return NULL;
  const iso__view *v = &x->view;
  if (v->n_dims < 2) {
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op, "x has %d dimensions: at least 2 are needed", v->n_dims);
    return NULL;
  }
  const int64_t rows = v->shape[v->n_dims - 2], columns = v->shape[v->n_dims - 1];
  iso_tensor *mask = iso_tensor_new(ctx, ISO_BOOL, 2, ISO_DIMS(rows, columns)), *zero = iso__scalar(ctx, v->dtype, 0);
  if (mask && zero) {
    unsigned char *m = iso__data(mask);
    for (int64_t r = 0; r < rows; r++) {
      const int64_t split = iso__triangle_split(r, columns, diagonal, lower);
      memset(m + r * columns, lower, (size_t)split);
      memset(m + r * columns + split, !lower, (size_t)(columns - split));
    }
  }
  iso_tensor *y = iso_where(ctx, mask, x, zero);
  iso_release(zero);
  return iso__drop(y, mask);
}
iso_tensor *iso_tril(iso_context *ctx, const iso_tensor *x, int64_t diagonal) {
  return triangle(ctx, "tril", x, diagonal, true);
}
iso_tensor *iso_triu(iso_context *ctx, const iso_tensor *x, int64_t diagonal) {
  return triangle(ctx, "triu", x, diagonal, false);
}
