/* reduce.c: what every reduction does with its axes, and the launch.
 *
 * NUMERICS §3: if the reduced axes are the innermost ones, each result is a row (lanes over the reduced elements in
 * logical order); otherwise a column (ordered, k row-major over the reduced axes). The axes decide, so a copy into the
 * kernel's layout never changes bits; it is made only where no order of the kept axes around the reduced ones is
 * contiguous. The channel sums of a channels-last image are columns of (N·H·W, C), read in place. */
#include "ops/reduce/reduce.h"

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
    if (x->view.n_dims == 0 && (axes[i] == 0 || axes[i] == -1)) continue; /* of one element, as if of one axis */
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

bool iso__reduce_is_half(const iso_context *ctx, const iso_tensor *x) {
  return !iso__failed(ctx) && x && ISO__DTYPE_BIT(x->view.dtype) & ISO__HALF_DTYPES;
}
iso_tensor *iso__reduce_half(iso_context *ctx, iso__reduction *reduction, const iso_tensor *x, int n_axes,
                             const int *axes, bool keep_dims) {
  iso__enter(ctx);
  iso_tensor *wide = iso_cast(ctx, x, ISO_F32), *y = wide ? reduction(ctx, wide, n_axes, axes, keep_dims) : NULL;
  return iso__leave(ctx, y ? iso_cast(ctx, y, x->view.dtype) : NULL);
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

/* A contiguous x of (kept …, reduced …, kept …, reduced …): the kernel reads that as it is, as columns cut into
 * `tail`s. *split: how many kept axes come first. False: it is another pattern. */
static bool is_cut(const iso__view *x, const iso__axes *axes, int *split, int64_t *tail) {
  int part = 0; /* of the four */
  int64_t cut = 1;
  *split = 0;
  if (!iso__view_is_contiguous(x)) return false;
  for (int d = 0; d < x->n_dims; d++) {
    if (axes->reduced[d] != (part % 2 == 1) && x->shape[d] != 1) part++;
    else if (part == 0 && axes->reduced[d]) part = 1; /* an extent of 1 begins the reduced ones as well */
    if (part > 3) return false;
    if (part == 0) ++*split;
    if (part == 3) cut *= x->shape[d];
  }
  if (cut < 2) return false;
  *tail = cut;
  return true;
}

/* What the kernel reads: x itself where some order of its axes is contiguous or it is cut, else a contiguous copy.
 * *split kept axes come before the reduced ones. */
static iso_tensor *arrange(iso_context *ctx, const iso_tensor *x, const iso__axes *axes, bool takes_tail, int *split,
                           int64_t *tail) {
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
  if (takes_tail && !rows && is_cut(v, axes, split, tail)) return iso__tensor_from_view(ctx, v);
  *split = rows ? n_kept : before;
  axis_order(v, axes, *split, order);
  if (!iso__view_permute(ctx, v, order, &permuted)) return NULL;
  iso_tensor *copy = iso_tensor_new(ctx, v->dtype, permuted.n_dims, permuted.shape);
  if (copy) iso__view_copy(ctx, &copy->view, &permuted);
  return copy;
}

static iso_tensor *result_new(iso_context *ctx, iso_dtype dtype, const iso__view *x, const iso__axes *axes) {
  int64_t shape[ISO_MAX_DIMS];
  int n = 0;
  for (int d = 0; d < x->n_dims; d++)
    if (!axes->reduced[d]) shape[n++] = x->shape[d];
    else if (axes->keep_dims) shape[n++] = 1;
  return iso_tensor_new(ctx, dtype, n, shape);
}

iso_tensor *iso__reduce_two(iso_context *ctx, iso__reduce_fn fn, const iso_tensor *x, const iso__axes *axes,
                            double divisor, iso_tensor **second) {
  const iso_dtype dtype = x->view.dtype;
  const bool rows = is_innermost(&x->view, axes);
  int split;
  iso_reduce_problem p;
  ISO__PROBLEM_INIT(p, rows ? ISO__OP_REDUCE_ROWS : ISO__OP_REDUCE_COLUMNS, dtype);
  p.fn = (uint16_t)fn;
  iso_tensor *source = arrange(ctx, x, axes, iso__reduce_takes_tail(&p), &split, &p.tail), *y = NULL, *also = NULL;
  if (second) *second = NULL;
  if (!source) return NULL;
  p.outer = p.inner = 1;
  p.n = axes->n;
  for (int d = 0, kept = 0; d < x->view.n_dims; d++)
    if (!axes->reduced[d]) *(kept++ < split ? &p.outer : &p.inner) *= x->view.shape[d];
  y = result_new(ctx, iso__reduce_result(fn, dtype), &x->view, axes);
  if (second) also = result_new(ctx, iso__reduce_is_spread(fn) ? dtype : ISO_I64, &x->view, axes);
  const iso_reduce_args args = {
      .x = iso__data(source), .y = iso__data(y), .mean = iso__data(also), .index = iso__data(also), .divisor = divisor};
  if (!y || (second && !also) || iso__execute(ctx, &p.head, &args) != ISO_OK)
    iso_release(also), iso_release(y), also = y = NULL;
  if (second) *second = also;
  return iso__drop(y, source);
}
iso_tensor *iso__reduce(iso_context *ctx, iso__reduce_fn fn, const iso_tensor *x, const iso__axes *axes) {
  return iso__reduce_two(ctx, fn, x, axes, 0, NULL);
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

int iso__axes_list(const iso__axes *axes, const iso__view *x, int *list) {
  int n = 0;
  for (int d = 0; d < x->n_dims; d++)
    if (axes->reduced[d]) list[n++] = d;
  return n;
}
iso_tensor *iso__reduced_keep(iso_context *ctx, const iso_tensor *t, const iso__view *x, const iso__axes *axes) {
  int64_t shape[ISO_MAX_DIMS];
  for (int d = 0; d < x->n_dims; d++) shape[d] = axes->reduced[d] ? 1 : x->shape[d];
  return iso_reshape(ctx, t, x->n_dims, shape);
}
iso_tensor *iso__reduced_expand(iso_context *ctx, const iso_tensor *t, const iso__view *x, const iso__axes *axes) {
  return iso_expand(ctx, iso__reduced_keep(ctx, t, x, axes), x->n_dims, x->shape);
}
