/* sum.c: sums and means, also without NaNs, and the sums that undo broadcasting. */
#include "ops/reduce/reduce.h"

enum { SUMMED_DTYPES = ISO__FLOAT_DTYPES | ISO__WHOLE_DTYPES };

static iso_tensor *reduce(iso_context *ctx, const char *op, iso__reduce_fn fn, iso__rule_id rule, const iso_tensor *x,
                          int n_axes, const int *axes, bool keep_dims, bool save_x) {
  iso__axes a;
  return iso__axes_read(ctx, op, x, n_axes, axes, keep_dims, &a)
             ? iso__reduce_finish(ctx, fn, rule, x, &a, save_x, false)
             : NULL;
}

iso_tensor *iso_sum(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims) {
  ISO__AUTOCAST(ctx, "sum", iso_sum(ctx, x, n_axes, axes, keep_dims), &x);
  if (iso__reduce_is_half(ctx, x)) return iso__reduce_half(ctx, iso_sum, x, n_axes, axes, keep_dims);
  if (!iso__takes_dtypes(ctx, "sum", SUMMED_DTYPES, 1, ISO__TENSORS(x))) return NULL;
  return reduce(ctx, "sum", ISO__REDUCE_SUM, ISO__RULE_SUM, x, n_axes, axes, keep_dims, false);
}
iso_tensor *iso_sum_all(iso_context *ctx, const iso_tensor *x) { return iso_sum(ctx, x, 0, NULL, false); }
void iso__sum_gradient(iso__gradient *g) {
  g->dx[0] = iso__reduced_expand(g->ctx, g->dy[0], iso__input_view(g, 0), iso__attrs(g));
}

iso_tensor *iso_mean(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims) {
  ISO__AUTOCAST(ctx, "mean", iso_mean(ctx, x, n_axes, axes, keep_dims), &x);
  if (iso__reduce_is_half(ctx, x)) return iso__reduce_half(ctx, iso_mean, x, n_axes, axes, keep_dims);
  if (!iso__takes_floats(ctx, "mean", 1, ISO__TENSORS(x))) return NULL;
  return reduce(ctx, "mean", ISO__REDUCE_MEAN, ISO__RULE_MEAN, x, n_axes, axes, keep_dims, false);
}
iso_tensor *iso_mean_all(iso_context *ctx, const iso_tensor *x) { return iso_mean(ctx, x, 0, NULL, false); }
void iso__mean_gradient(iso__gradient *g) {
  const iso__axes *axes = iso__attrs(g);
  iso_tensor *share = iso_div_scalar(g->ctx, g->dy[0], (double)axes->n);
  g->dx[0] = iso__reduced_expand(g->ctx, share, iso__input_view(g, 0), axes);
}

iso_tensor *iso_nansum(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims) {
  ISO__AUTOCAST(ctx, "nansum", iso_nansum(ctx, x, n_axes, axes, keep_dims), &x);
  if (iso__reduce_is_half(ctx, x)) return iso__reduce_half(ctx, iso_nansum, x, n_axes, axes, keep_dims);
  if (!iso__takes_dtypes(ctx, "nansum", SUMMED_DTYPES, 1, ISO__TENSORS(x))) return NULL;
  if (iso__reduce_is_whole(x->view.dtype)) return iso_sum(ctx, x, n_axes, axes, keep_dims);
  return reduce(ctx, "nansum", ISO__REDUCE_NANSUM, ISO__RULE_NANSUM, x, n_axes, axes, keep_dims, true);
}
void iso__nansum_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  iso_tensor *dy = iso__reduced_expand(ctx, g->dy[0], iso__input_view(g, 0), iso__attrs(g));
  g->dx[0] = iso_masked_fill(ctx, dy, iso_isnan(ctx, iso__saved(g, 0)), 0);
}

iso_tensor *iso_nanmean(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims) {
  ISO__AUTOCAST(ctx, "nanmean", iso_nanmean(ctx, x, n_axes, axes, keep_dims), &x);
  if (iso__reduce_is_half(ctx, x)) return iso__reduce_half(ctx, iso_nanmean, x, n_axes, axes, keep_dims);
  iso__axes a;
  if (!iso__takes_floats(ctx, "nanmean", 1, ISO__TENSORS(x)) ||
      !iso__axes_read(ctx, "nanmean", x, n_axes, axes, keep_dims, &a))
    return NULL;
  iso_tensor *sum = iso_nansum(ctx, x, n_axes, axes, keep_dims);
  iso_tensor *is_number = iso_eq(ctx, x, x);
  iso_tensor *count = is_number ? iso__reduce(ctx, ISO__REDUCE_COUNT, is_number, &a) : NULL;
  iso_tensor *n = iso_cast(ctx, count, x->view.dtype), *mean = iso_div(ctx, sum, n);
  iso_release(sum), iso_release(is_number), iso_release(count), iso_release(n);
  return mean;
}

iso_tensor *iso__sum_squares(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims) {
  if (!iso__takes_floats(ctx, "sum_squares", 1, ISO__TENSORS(x))) return NULL;
  return reduce(ctx, "sum_squares", ISO__REDUCE_SUM_SQUARES, ISO__RULE_SUM_SQUARES, x, n_axes, axes, keep_dims, true);
}
void iso__sum_squares_gradient(iso__gradient *g) {
  iso_tensor *dy = iso__reduced_expand(g->ctx, g->dy[0], iso__input_view(g, 0), iso__attrs(g));
  g->dx[0] = iso_mul(g->ctx, dy, iso_mul_scalar(g->ctx, iso__saved(g, 0), 2));
}

iso_tensor *iso_trace(iso_context *ctx, const iso_tensor *x) {
  if (!iso__takes_dtypes(ctx, "trace", SUMMED_DTYPES, 1, ISO__TENSORS(x))) return NULL;
  if (x->view.n_dims != 2) {
    char text[96];
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "trace", "x is %s, not a matrix",
              iso__shape_text(x->view.n_dims, x->view.shape, text, sizeof text));
    return NULL;
  }
  iso_tensor *diagonal = iso_diagonal(ctx, x, 0, 0, 1);
  return iso__drop(iso_sum_all(ctx, diagonal), diagonal);
}

/* ---- what undoes broadcasting ---- */

/* The axes of v along which a tensor of `form`'s shape was repeated, as a list. */
static int repeated_axes(const iso__view *v, const iso__view *form, int *axes) {
  const int lead = v->n_dims - form->n_dims;
  int n = 0;
  for (int d = 0; d < v->n_dims; d++)
    if (d < lead || (form->shape[d - lead] == 1 && v->shape[d] != 1)) axes[n++] = d;
  return n;
}

iso_tensor *iso__sum_to(iso_context *ctx, iso_tensor *dy, const iso__view *form) {
  int axes[ISO_MAX_DIMS];
  if (!dy || iso__same_shape(&dy->view, form)) return dy;
  const int n = repeated_axes(&dy->view, form, axes);
  if (n == 0) return iso_reshape(ctx, dy, form->n_dims, form->shape); /* only extents of 1 in front */
  return iso_reshape(ctx, iso_sum(ctx, dy, n, axes, true), form->n_dims, form->shape);
}

iso_tensor *iso_sum_to_size(iso_context *ctx, const iso_tensor *x, int n_dims, const int64_t *shape) {
  iso__view form = {.n_dims = n_dims};
  int axes[ISO_MAX_DIMS];
  int64_t n_elements;
  if (!iso__takes_dtypes(ctx, "sum_to_size", SUMMED_DTYPES, 1, ISO__TENSORS(x)) ||
      !iso__shape_check(ctx, "sum_to_size", x->view.dtype, n_dims, shape, &n_elements))
    return NULL;
  const int lead = x->view.n_dims - n_dims;
  for (int d = 0; d < n_dims; d++) form.shape[d] = shape[d];
  for (int d = 0; d < n_dims; d++)
    if (lead < 0 || (shape[d] != 1 && shape[d] != x->view.shape[d + lead])) {
      char from[96], to[96];
      ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "sum_to_size", "shape %s could not be broadcast to x, which is %s",
                iso__shape_text(n_dims, shape, to, sizeof to),
                iso__shape_text(x->view.n_dims, x->view.shape, from, sizeof from));
      return NULL;
    }
  const int n = repeated_axes(&x->view, &form, axes);
  iso_tensor *sum = n ? iso_sum(ctx, x, n, axes, true) : NULL;
  return n ? iso__drop(iso_reshape(ctx, sum, n_dims, shape), sum) : iso_reshape(ctx, x, n_dims, shape);
}
