/* grid_sample.c: sampling at the places of a grid, and the grids of affine maps. */
#include "base/fenv.h"
#include "kernels/grid/grid.h"
#include "ops/pool/pool.h"

static bool problem_of(iso_context *ctx, const iso_tensor *x, const iso_tensor *grid, const iso_grid_sample_options *o,
                       iso_grid_problem *p) {
  const iso__view *v = &x->view, *g = &grid->view;
  ISO__PROBLEM_INIT(*p, ISO__OP_GRID_SAMPLE_FWD, v->dtype);
  bool fits = (v->n_dims == 4 || v->n_dims == 5) && g->n_dims == v->n_dims && g->shape[0] == v->shape[0] &&
              g->shape[g->n_dims - 1] == v->n_dims - 2;
  char a[128], b[128];
  if (!fits) {
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "grid_sample",
              "x is %s and grid %s: (N,C,H,W) and (N,P,Q,2), or (N,C,D,H,W) "
              "and (N,O,P,Q,3), are needed",
              iso__shape_text(v->n_dims, v->shape, a, sizeof a), iso__shape_text(g->n_dims, g->shape, b, sizeof b));
    return false;
  }
  if ((unsigned)o->mode > ISO_GRID_BICUBIC || (unsigned)o->padding > ISO_GRID_REFLECTION) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "grid_sample", "mode %d, padding %d: there is no such", (int)o->mode,
              (int)o->padding);
    return false;
  }
  static const uint8_t modes[] = {[ISO_GRID_BILINEAR] = ISO__GRID_LINEAR,
                                  [ISO_GRID_NEAREST] = ISO__GRID_NEAREST,
                                  [ISO_GRID_BICUBIC] = ISO__GRID_CUBIC};
  static const uint8_t paddings[] = {[ISO_GRID_ZEROS] = ISO__GRID_ZEROS,
                                     [ISO_GRID_BORDER] = ISO__GRID_BORDER,
                                     [ISO_GRID_REFLECTION] = ISO__GRID_REFLECTION};
  p->n = v->shape[0], p->c = v->shape[1], p->points = 1;
  iso__planes_extent(x, p->extent);
  for (int d = 1; d < g->n_dims - 1; d++) p->points *= g->shape[d];
  p->dims = (uint8_t)(v->n_dims - 2);
  p->mode = modes[o->mode], p->padding = paddings[o->padding], p->corners = o->align_corners;
  const char *wrong = iso__grid_wrong(p);
  if (wrong)
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "grid_sample", "%s: x is %s and grid %s", wrong,
              iso__shape_text(v->n_dims, v->shape, a, sizeof a), iso__shape_text(g->n_dims, g->shape, b, sizeof b));
  return !wrong;
}

iso_tensor *iso_grid_sample(iso_context *ctx, const iso_tensor *x, const iso_tensor *grid,
                            const iso_grid_sample_options *options) {
  static const iso_grid_sample_options usual;
  iso_grid_problem p;
  if (!iso__takes(ctx, "grid_sample", 2, ISO__TENSORS(x, grid)) ||
      !iso__takes_floats(ctx, "grid_sample", 2, ISO__TENSORS(x, grid)) ||
      !problem_of(ctx, x, grid, options ? options : &usual, &p))
    return NULL;
  iso_tensor *copies[] = {iso__channels_last_copy(ctx, x), iso__contiguous_copy(ctx, grid)};
  if (copies[0]) x = copies[0];
  if (copies[1]) grid = copies[1];
  int64_t shape[5] = {p.n, p.c};
  for (int d = 2; d < x->view.n_dims; d++) shape[d] = grid->view.shape[d - 1];
  iso_tensor *y = iso__failed(ctx) ? NULL : iso_tensor_new_channels_last(ctx, x->view.dtype, x->view.n_dims, shape);
  const iso_grid_args args = {.x = iso__data(x), .grid = iso__data(grid), .y = iso__data(y)};
  y = iso__finish(ctx, y, y ? iso__execute(ctx, &p.head, &args) : ISO_OUT_OF_MEMORY, ISO__RULE_GRID_SAMPLE,
                  &(iso__finish_options){.inputs = ISO__TENSORS(x, grid),
                                         .n_inputs = 2,
                                         .saved = ISO__TENSORS(iso__saves_for(grid) ? x : NULL, grid),
                                         .n_saved = 2,
                                         .attrs = &p,
                                         .attr_bytes = sizeof p});
  iso_release(copies[1]);
  return iso__drop(y, copies[0]);
}

void iso__grid_sample_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  iso_grid_problem p = *(const iso_grid_problem *)iso__attrs(g);
  const iso__view *x = iso__input_view(g, 0);
  iso_tensor *grid = iso__saved(g, 1), *copy = iso__channels_last_copy(ctx, g->dy[0]);
  iso_grid_args args = {.grid = iso__data(grid), .dy = iso__data(copy ? copy : g->dy[0])};
  if (iso__needs(g, 0) && !iso__failed(ctx)) {
    iso_tensor *dx = iso_tensor_new_channels_last(ctx, x->dtype, x->n_dims, x->shape);
    p.head.op = ISO__OP_GRID_SAMPLE_BWD_INPUT;
    args.dx = iso__data(dx);
    g->dx[0] = dx && iso__execute(ctx, &p.head, &args) == ISO_OK ? dx : iso__drop(NULL, dx);
  }
  if (iso__needs(g, 1) && !iso__failed(ctx)) {
    const iso__view *v = iso__input_view(g, 1);
    iso_tensor *dgrid = iso_tensor_new(ctx, v->dtype, v->n_dims, v->shape), *saved = iso__saved(g, 0);
    p.head.op = ISO__OP_GRID_SAMPLE_BWD_GRID;
    args.x = iso__data(saved), args.dgrid = iso__data(dgrid);
    g->dx[1] = dgrid && saved && iso__execute(ctx, &p.head, &args) == ISO_OK ? dgrid : iso__drop(NULL, dgrid);
  }
  iso_release(copy);
}

/* ---- affine grids ---- */

/* Coordinate i of n, −1 … 1. */
static double coordinate(int64_t i, int64_t n, bool corners) {
  if (corners) return n > 1 ? iso__fenv_pin((double)(2 * i - (n - 1))) / (double)(n - 1) : 0;
  return iso__fenv_pin((double)(2 * i + 1 - n)) / (double)n;
}
/* (positions, axes + 1): column, row[, depth], 1 of every place, row-major. */
static iso_tensor *places_of(iso_context *ctx, iso_dtype dtype, int n_axes, const int64_t *extent, bool corners) {
  int64_t n = 1;
  for (int d = 0; d < n_axes; d++) n *= extent[d];
  iso_tensor *t = iso_tensor_new(ctx, dtype, 2, (const int64_t[]){n, n_axes + 1});
  void *data = iso__data(t);
  const iso__fenv saved = iso__fenv_enter(); /* the caller's rounding has no say */
  for (int64_t i = 0; t && i < n; i++) {
    int64_t rest = i;
    for (int a = 0; a <= n_axes; a++) {
      const int d = n_axes - 1 - a; /* the last axis comes first; then 1 */
      const double v = a == n_axes ? 1 : coordinate(rest % extent[d], extent[d], corners);
      if (a < n_axes) rest /= extent[d];
      if (dtype == ISO_F64) ((double *)data)[i * (n_axes + 1) + a] = v;
      else ((float *)data)[i * (n_axes + 1) + a] = (float)v;
    }
  }
  iso__fenv_leave(saved);
  return t;
}

iso_tensor *iso_affine_grid(iso_context *ctx, const iso_tensor *theta, int n_dims, const int64_t *size,
                            bool align_corners) {
  if (!size || !iso__takes_floats(ctx, "affine_grid", 1, ISO__TENSORS(theta))) return NULL;
  const iso__view *v = &theta->view;
  const int n_axes = n_dims - 2;
  int64_t numel;
  char text[128];
  const bool fits = (n_dims == 4 || n_dims == 5) && v->n_dims == 3 && v->shape[0] == size[0] && v->shape[1] == n_axes &&
                    v->shape[2] == n_axes + 1;
  if (!fits)
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "affine_grid",
              "theta is %s: (N,2,3) with a size (N,C,H,W), or (N,3,4) with (N,C,D,H,W), is needed",
              iso__shape_text(v->n_dims, v->shape, text, sizeof text));
  if (!fits || !iso__shape_check(ctx, "affine_grid", v->dtype, n_dims, size, &numel)) return NULL;
  int64_t shape[5] = {size[0]};
  memcpy(shape + 1, size + 2, (size_t)n_axes * sizeof *shape);
  shape[n_axes + 1] = n_axes;
  iso_tensor *places = places_of(ctx, v->dtype, n_axes, size + 2, align_corners);
  iso_tensor *turned = iso_transpose(ctx, theta, 1, 2), *product = iso_matmul(ctx, places, turned);
  iso_tensor *grid = product ? iso_reshape(ctx, product, n_axes + 2, shape) : NULL;
  iso_release(places), iso_release(turned), iso_release(product);
  return grid;
}
