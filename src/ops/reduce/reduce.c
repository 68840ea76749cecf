/* reduce.c: reductions over any axes: sum, mean, var, sum of squares, prod.
 *
 * NUMERICS §3: if the reduced axes are the innermost ones, each result is a row (lanes over the reduced elements in
 * logical order); otherwise a column (ordered, k row-major over the reduced axes). The axes decide, so a copy into the
 * kernel's layout never changes bits; it is made only where no order of the kept axes around the reduced ones is
 * contiguous. The channel sums of a channels-last image are columns of (N·H·W, C), read in place. */
#include "ops/reduce/reduce.h"
#include "base/fenv.h"

bool iso__axes_read(iso_context *ctx, const char *op, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims,
                    iso__axes *out) {
  *out = (iso__axes){.keep_dims = keep_dims, .n = 1};
  if (n_axes < 0 || n_axes > ISO_MAX_DIMS) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "%d axes; 0 to %d are possible", n_axes, ISO_MAX_DIMS);
    return false;
  }
  if (n_axes > 0 && !axes) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "%d axes are wanted but the list is NULL", n_axes);
    return false;
  }
  for (int i = 0; i < n_axes; i++) {
    const int axis = iso__axis(ctx, op, x, axes[i]);
    if (axis < 0) return false;
    if (out->reduced[axis]) {
      ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "axis %d is named twice", axes[i]);
      return false;
    }
    out->reduced[axis] = true;
  }
  for (int d = 0; d < x->view.n_dims; d++) {
    if (n_axes == 0) out->reduced[d] = true;
    if (out->reduced[d]) out->n *= x->view.shape[d];
  }
  return true;
}

static bool is_innermost(const iso__view *x, const iso__axes *axes) {
  bool seen = false;
  for (int d = 0; d < x->n_dims; d++) {
    if (seen && !axes->reduced[d]) return false;
    seen |= axes->reduced[d];
  }
  return true;
}

/* Axes in the order: the first `split` kept ones, the reduced ones, the other kept ones. */
static void axis_order(const iso__view *x, const iso__axes *axes, int split, int *order) {
  int n = 0, kept = 0;
  for (int d = 0; d < x->n_dims; d++)
    if (!axes->reduced[d] && kept++ < split) order[n++] = d;
  for (int d = 0; d < x->n_dims; d++)
    if (axes->reduced[d]) order[n++] = d;
  kept = 0;
  for (int d = 0; d < x->n_dims; d++)
    if (!axes->reduced[d] && kept++ >= split) order[n++] = d;
}

/* Chooses the split whose view is contiguous, or makes a contiguous copy; *split says how the elements lie. */
static iso_tensor *arrange(iso_context *ctx, const iso_tensor *x, const iso__axes *axes, int *split) {
  const iso__view *v = &x->view;
  int order[ISO_MAX_DIMS], n_kept = 0, before = 0;
  for (int d = 0; d < v->n_dims; d++) n_kept += !axes->reduced[d];
  while (before < v->n_dims && !axes->reduced[before]) before++;
  const bool rows = is_innermost(v, axes);
  iso__view permuted;
  for (int i = 0; i <= n_kept; i++) {
    *split = rows ? n_kept : i;
    axis_order(v, axes, *split, order);
    if (!iso__view_permute(ctx, v, order, &permuted)) return NULL;
    if (iso__view_is_contiguous(&permuted)) return iso__tensor_from_view(ctx, &permuted);
    if (rows) break;
  }
  *split = rows ? n_kept : before;
  axis_order(v, axes, *split, order);
  if (!iso__view_permute(ctx, v, order, &permuted)) return NULL;
  iso_tensor *copy = iso_tensor_new(ctx, v->dtype, permuted.n_dims, permuted.shape);
  if (copy) iso__view_copy(ctx, &copy->view, &permuted);
  return copy;
}

static iso_tensor *result_new(iso_context *ctx, iso__reduce_fn fn, const iso__view *x, const iso__axes *axes) {
  int64_t shape[ISO_MAX_DIMS];
  int n = 0;
  for (int d = 0; d < x->n_dims; d++)
    if (!axes->reduced[d]) shape[n++] = x->shape[d];
    else if (axes->keep_dims) shape[n++] = 1;
  return iso_tensor_new(ctx, fn == ISO__REDUCE_ARGMAX || fn == ISO__REDUCE_ARGMIN ? ISO_I64 : x->dtype, n, shape);
}

iso_tensor *iso__reduce(iso_context *ctx, iso__reduce_fn fn, const iso_tensor *x, const iso__axes *axes) {
  int split;
  iso_tensor *source = arrange(ctx, x, axes, &split);
  if (!source) return NULL;
  iso_tensor *y = result_new(ctx, fn, &x->view, axes);
  const bool rows = is_innermost(&x->view, axes);
  iso_reduce_problem p;
  ISO__PROBLEM_INIT(p, rows ? ISO__OP_REDUCE_ROWS : ISO__OP_REDUCE_COLUMNS, x->view.dtype);
  p.fn = (uint16_t)fn;
  p.outer = p.inner = 1;
  p.n = axes->n;
  for (int d = 0, kept = 0; d < x->view.n_dims; d++)
    if (!axes->reduced[d]) *(kept++ < split ? &p.outer : &p.inner) *= x->view.shape[d];
  if (y && iso__execute(ctx, &p.head, &(iso_reduce_args){.x = iso__data(source), .y = iso__data(y)}) != ISO_OK)
    iso_release(y), y = NULL;
  return iso__drop(y, source);
}

iso_tensor *iso__reduce_finish(iso_context *ctx, iso__reduce_fn fn, iso__rule_id rule, const iso_tensor *x,
                               const iso__axes *axes, bool save_x, bool save_y) {
  iso_tensor *y = iso__reduce(ctx, fn, x, axes);
  return iso__finish(ctx, y, ISO_OK, rule,
                     &(iso__finish_options){.inputs = ISO__TENSORS(x),
                                            .n_inputs = 1,
                                            .saved = ISO__TENSORS(save_x ? x : NULL, save_y ? y : NULL),
                                            .n_saved = 2,
                                            .attrs = axes,
                                            .attr_bytes = sizeof *axes});
}

iso_tensor *iso__reduced_keep(iso_context *ctx, const iso_tensor *t, const iso__view *x, const iso__axes *axes) {
  int64_t shape[ISO_MAX_DIMS];
  for (int d = 0; d < x->n_dims; d++) shape[d] = axes->reduced[d] ? 1 : x->shape[d];
  return iso_reshape(ctx, t, x->n_dims, shape);
}
iso_tensor *iso__reduced_expand(iso_context *ctx, const iso_tensor *t, const iso__view *x, const iso__axes *axes) {
  return iso_expand(ctx, iso__reduced_keep(ctx, t, x, axes), x->n_dims, x->shape);
}

/* ---- sum and mean ---- */

static iso_tensor *reduce(iso_context *ctx, const char *op, iso__reduce_fn fn, iso__rule_id rule, const iso_tensor *x,
                          int n_axes, const int *axes, bool keep_dims, bool save_x) {
  iso__axes a;
  if (!iso__takes_floats(ctx, op, 1, ISO__TENSORS(x)) || !iso__axes_read(ctx, op, x, n_axes, axes, keep_dims, &a))
    return NULL;
  return iso__reduce_finish(ctx, fn, rule, x, &a, save_x, false);
}

iso_tensor *iso_sum(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims) {
  return reduce(ctx, "sum", ISO__REDUCE_SUM, ISO__RULE_SUM, x, n_axes, axes, keep_dims, false);
}
iso_tensor *iso_sum_all(iso_context *ctx, const iso_tensor *x) { return iso_sum(ctx, x, 0, NULL, false); }
void iso__sum_gradient(iso__gradient *g) {
  g->dx[0] = iso__reduced_expand(g->ctx, g->dy[0], iso__input_view(g, 0), iso__attrs(g));
}

iso_tensor *iso_mean(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims) {
  return reduce(ctx, "mean", ISO__REDUCE_MEAN, ISO__RULE_MEAN, x, n_axes, axes, keep_dims, false);
}
iso_tensor *iso_mean_all(iso_context *ctx, const iso_tensor *x) { return iso_mean(ctx, x, 0, NULL, false); }
void iso__mean_gradient(iso__gradient *g) {
  const iso__axes *axes = iso__attrs(g);
  iso_tensor *share = iso_div_scalar(g->ctx, g->dy[0], (double)axes->n);
  g->dx[0] = iso__reduced_expand(g->ctx, share, iso__input_view(g, 0), axes);
}

iso_tensor *iso__sum_squares(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims) {
  return reduce(ctx, "sum_squares", ISO__REDUCE_SUM_SQUARES, ISO__RULE_SUM_SQUARES, x, n_axes, axes, keep_dims, true);
}
void iso__sum_squares_gradient(iso__gradient *g) {
  iso_tensor *dy = iso__reduced_expand(g->ctx, g->dy[0], iso__input_view(g, 0), iso__attrs(g));
  g->dx[0] = iso_mul(g->ctx, dy, iso_mul_scalar(g->ctx, iso__saved(g, 0), 2));
}

/* A second pass over x − mean. */
iso_tensor *iso_var(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims,
                    double correction) {
  iso__axes a;
  if (!iso__takes_floats(ctx, "var", 1, ISO__TENSORS(x)) || !iso__axes_read(ctx, "var", x, n_axes, axes, keep_dims, &a))
    return NULL;
  iso_tensor *mean = iso_mean(ctx, x, n_axes, axes, true);
  iso_tensor *d = iso__drop(iso_sub(ctx, x, mean), mean);
  iso_tensor *squares = iso__drop(iso__sum_squares(ctx, d, n_axes, axes, keep_dims), d);
  const iso__fenv saved = iso__fenv_enter();
  const double divisor = iso__fenv_pin((double)a.n - iso__fenv_pin(correction));
  iso__fenv_leave(saved);
  return iso__drop(iso_div_scalar(ctx, squares, divisor), squares);
}

/* ---- broadcast gradients ---- */

iso_tensor *iso__sum_to(iso_context *ctx, iso_tensor *dy, const iso__view *form) {
  if (!dy || iso__same_shape(&dy->view, form)) return dy;
  const iso__view *v = &dy->view;
  const int lead = v->n_dims - form->n_dims;
  int axes[ISO_MAX_DIMS], n = 0;
  for (int d = 0; d < v->n_dims; d++)
    if (d < lead || (form->shape[d - lead] == 1 && v->shape[d] != 1)) axes[n++] = d;
  if (n == 0) return iso_reshape(ctx, dy, form->n_dims, form->shape); /* only extents of 1 in front */
  return iso_reshape(ctx, iso_sum(ctx, dy, n, axes, true), form->n_dims, form->shape);
}

/* ---- products: dx = dy·(product of the others) ---- */

iso_tensor *iso_prod(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims) {
  return reduce(ctx, "prod", ISO__REDUCE_PROD, ISO__RULE_PROD, x, n_axes, axes, keep_dims, true);
}
/* With p the product of the elements that are not zero: p/x without a zero, p at the only zero, else 0. */
void iso__prod_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  const iso__axes *axes = iso__attrs(g);
  const iso__view *form = iso__input_view(g, 0);
  int list[ISO_MAX_DIMS], n = 0;
  for (int d = 0; d < form->n_dims; d++)
    if (axes->reduced[d]) list[n++] = d;
  iso_tensor *x = iso__saved(g, 0);
  iso_tensor *zero = iso__scalar(ctx, form->dtype, 0), *one = iso__scalar(ctx, form->dtype, 1);
  iso_tensor *is_zero = iso_eq(ctx, x, zero);
  iso_tensor *n_zeros = iso_sum(ctx, iso_cast(ctx, is_zero, form->dtype), n, list, true);
  iso_tensor *filled = iso_where(ctx, is_zero, one, x);
  iso_tensor *p = iso_prod(ctx, filled, n, list, true);
  iso_tensor *only = iso_logical_and(ctx, is_zero, iso_eq(ctx, n_zeros, one));
  iso_tensor *others =
      iso_where(ctx, iso_eq(ctx, n_zeros, zero), iso_div(ctx, p, filled), iso_where(ctx, only, p, zero));
  g->dx[0] = iso_mul(ctx, iso__reduced_expand(ctx, g->dy[0], form, axes), others);
}
