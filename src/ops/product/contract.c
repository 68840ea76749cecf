/* contract.c: products over chosen axes: dot, vecdot, inner, tensordot; and those over none: outer and kron. Sums are
 * matmul's, whose operands these bring into rows and columns. */
#include "ops/ops.h"

static bool takes_two(iso_context *ctx, const char *op, const iso_tensor *a, const iso_tensor *b) {
  return iso__takes(ctx, op, 2, ISO__TENSORS(a, b)) &&
         iso__takes_dtypes(ctx, op, ISO__REAL_DTYPES, 2, ISO__TENSORS(a, b));
}

static iso_tensor *mismatch(iso_context *ctx, const char *op, const iso_tensor *a, const iso_tensor *b,
                            const char *why) {
  char ta[128], tb[128];
  ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op, "a is %s and b %s: %s",
            iso__shape_text(a->view.n_dims, a->view.shape, ta, sizeof ta),
            iso__shape_text(b->view.n_dims, b->view.shape, tb, sizeof tb), why);
  return NULL;
}

iso_tensor *iso_dot(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  ISO__AUTOCAST(ctx, "dot", iso_dot(ctx, a, b), &a, &b);
  if (!takes_two(ctx, "dot", a, b)) return NULL;
  if (a->view.n_dims != 1 || b->view.n_dims != 1) return mismatch(ctx, "dot", a, b, "both need one dimension");
  return iso_matmul(ctx, a, b);
}

iso_tensor *iso_vecdot(iso_context *ctx, const iso_tensor *a, const iso_tensor *b, int axis) {
  ISO__AUTOCAST(ctx, "vecdot", iso_vecdot(ctx, a, b, axis), &a, &b);
  if (!takes_two(ctx, "vecdot", a, b)) return NULL;
  iso_tensor *products = iso_mul(ctx, a, b);
  return iso__drop(iso_sum(ctx, products, 1, &axis, false), products);
}

iso_tensor *iso_outer(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  if (!takes_two(ctx, "outer", a, b)) return NULL;
  if (a->view.n_dims != 1 || b->view.n_dims != 1) return mismatch(ctx, "outer", a, b, "both need one dimension");
  iso_tensor *column = iso_unsqueeze(ctx, a, 1);
  return iso__drop(iso_mul(ctx, column, b), column);
}

/* ---- contraction of n pairs of axes ---- */
typedef struct side {
  int n_free, n_summed;
  int order[ISO_MAX_DIMS];     /* free axes, then the summed ones in their pairs' order; of b the other way round */
  int64_t shape[ISO_MAX_DIMS]; /* of the free axes */
  int64_t free_size, sum_size;
} side;

/* false where an axis is out of range (the error is kept) or named twice. */
static bool side_of(iso_context *ctx, const char *op, const iso_tensor *t, int n, const int *axes, side *s) {
  int summed[ISO_MAX_DIMS];
  unsigned seen = 0;
  *s = (side){.n_summed = n, .free_size = 1, .sum_size = 1};
  for (int i = 0; i < n; i++) {
    const int axis = iso__axis(ctx, op, t, axes[i]);
    if (axis < 0) return false;
    if (seen >> axis & 1u) {
      ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "axis %d is named twice", axis);
      return false;
    }
    seen |= 1u << axis;
    summed[i] = axis;
    s->sum_size *= t->view.shape[axis];
  }
  for (int d = 0; d < t->view.n_dims; d++)
    if (!(seen >> d & 1u)) {
      s->free_size *= t->view.shape[d];
      s->shape[s->n_free] = t->view.shape[d];
      s->order[s->n_free++] = d;
    }
  memcpy(s->order + s->n_free, summed, sizeof(int) * (size_t)n);
  return true;
}

/* t as a matrix (free,summed). */
static iso_tensor *as_matrix(iso_context *ctx, const iso_tensor *t, const side *s) {
  iso_tensor *ordered = iso_permute(ctx, t, s->order);
  return iso__drop(iso_reshape(ctx, ordered, 2, (const int64_t[]){s->free_size, s->sum_size}), ordered);
}

static iso_tensor *contract(iso_context *ctx, const char *op, const iso_tensor *a, const iso_tensor *b, const side *sa,
                            const side *sb) {
  int64_t shape[2 * ISO_MAX_DIMS];
  const int n_dims = sa->n_free + sb->n_free;
  if (n_dims > ISO_MAX_DIMS) return mismatch(ctx, op, a, b, "the result would have more than 8 dimensions");
  memcpy(shape, sa->shape, sizeof(int64_t) * (size_t)sa->n_free);
  memcpy(shape + sa->n_free, sb->shape, sizeof(int64_t) * (size_t)sb->n_free);
  iso_tensor *rows = as_matrix(ctx, a, sa), *columns = as_matrix(ctx, b, sb);
  iso_tensor *transposed = iso_transpose(ctx, columns, 0, 1);
  iso_tensor *product = iso_matmul(ctx, rows, transposed);
  iso_tensor *y = iso_reshape(ctx, product, n_dims, shape);
  iso_release(rows);
  iso_release(columns);
  iso_release(transposed);
  return iso__drop(y, product);
}

iso_tensor *iso_tensordot(iso_context *ctx, const iso_tensor *a, const iso_tensor *b, int n_axes, const int *axes_a,
                          const int *axes_b) {
  ISO__AUTOCAST(ctx, "tensordot", iso_tensordot(ctx, a, b, n_axes, axes_a, axes_b), &a, &b);
  static const char op[] = "tensordot";
  side sa, sb;
  if (!takes_two(ctx, op, a, b)) return NULL;
  if (n_axes < 0 || n_axes > a->view.n_dims || n_axes > b->view.n_dims || (n_axes && (!axes_a || !axes_b)))
    return mismatch(ctx, op, a, b, "more pairs of axes than axes, or none given");
  if (!side_of(ctx, op, a, n_axes, axes_a, &sa) || !side_of(ctx, op, b, n_axes, axes_b, &sb)) return NULL;
  for (int i = 0; i < n_axes; i++)
    if (a->view.shape[sa.order[sa.n_free + i]] != b->view.shape[sb.order[sb.n_free + i]])
      return mismatch(ctx, op, a, b, "the extents of a pair of axes differ");
  return contract(ctx, op, a, b, &sa, &sb);
}

iso_tensor *iso_inner(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  ISO__AUTOCAST(ctx, "inner", iso_inner(ctx, a, b), &a, &b);
  static const char op[] = "inner";
  const int last = -1;
  side sa, sb;
  if (!takes_two(ctx, op, a, b)) return NULL;
  if (a->view.n_dims == 0 || b->view.n_dims == 0) return iso_mul(ctx, a, b);
  if (a->view.shape[a->view.n_dims - 1] != b->view.shape[b->view.n_dims - 1])
    return mismatch(ctx, op, a, b, "the last extents differ");
  if (!side_of(ctx, op, a, 1, &last, &sa) || !side_of(ctx, op, b, 1, &last, &sb)) return NULL;
  return contract(ctx, op, a, b, &sa, &sb);
}

/* ---- kron: a block a_i·b for every element of a ---- */
/* t's extents, missing leading ones as 1, each beside a 1: after it (first of a pair) or before. */
static iso_tensor *spread(iso_context *ctx, const iso_tensor *t, int n, bool first) {
  int64_t shape[ISO_MAX_DIMS];
  for (int i = 0; i < n; i++) {
    const int d = i - (n - t->view.n_dims);
    const int64_t extent = d < 0 ? 1 : t->view.shape[d];
    shape[2 * i] = first ? extent : 1;
    shape[2 * i + 1] = first ? 1 : extent;
  }
  return iso_reshape(ctx, t, 2 * n, shape);
}

iso_tensor *iso_kron(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  if (!takes_two(ctx, "kron", a, b)) return NULL;
  const int n = a->view.n_dims > b->view.n_dims ? a->view.n_dims : b->view.n_dims;
  if (2 * n > ISO_MAX_DIMS) return mismatch(ctx, "kron", a, b, "at most four dimensions are taken");
  iso_tensor *blocks = spread(ctx, a, n, true), *inside = spread(ctx, b, n, false);
  iso_tensor *products = iso_mul(ctx, blocks, inside), *y = NULL;
  if (products) {
    int64_t shape[ISO_MAX_DIMS];
    for (int i = 0; i < n; i++) shape[i] = products->view.shape[2 * i] * products->view.shape[2 * i + 1];
    y = iso_reshape(ctx, products, n, shape);
  }
  iso_release(blocks);
  iso_release(inside);
  return iso__drop(y, products);
}
