/* row_norm.c: layer, RMS, group and instance normalisation: one kernel family over (samples, positions, channels), and
 * the shapes that bring each of them there (NUMERICS §5). */
#include "kernels/row_norm/row_norm.h"
#include "numeric/order.h"
#include "ops/ops.h"

typedef struct attributes {
  iso_row_norm_problem problem;
  double eps;
} attributes;

static int64_t product(const int64_t *extents, int n) {
  int64_t all = 1;
  for (int i = 0; i < n; i++) all *= extents[i];
  return all;
}

/* gamma and beta, if given, hold one value for each of the last n_axes axes' elements (group: of the channels). */
static bool check_parameter(iso_context *ctx, const char *op, const iso_tensor *t, const char *name,
                            const int64_t *shape, int n_axes) {
  if (!t || (t->view.n_dims == n_axes && !memcmp(t->view.shape, shape, (size_t)n_axes * sizeof *shape))) return true;
  char is[128], wanted[128];
  ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op, "%s is %s where %s is needed", name,
            iso__shape_text(t->view.n_dims, t->view.shape, is, sizeof is),
            iso__shape_text(n_axes, shape, wanted, sizeof wanted));
  return false;
}

/* x contiguous in the order of the problem; y has its shape. */
static iso_tensor *normalise(iso_context *ctx, const iso_tensor *x, const iso_tensor *gamma, const iso_tensor *beta,
                             const attributes *a) {
  if (!x) return NULL;
  const iso_row_norm_problem *p = &a->problem;
  const int64_t rows = p->samples * p->groups;
  iso_tensor *y = iso_tensor_new(ctx, x->view.dtype, x->view.n_dims, x->view.shape);
  iso_tensor *mean = p->rms ? NULL : iso_tensor_new(ctx, x->view.dtype, 1, &rows);
  iso_tensor *rstd = iso_tensor_new(ctx, x->view.dtype, 1, &rows);
  const iso_row_norm_args args = {.x = iso__data(x),
                                  .gamma = iso__data(gamma),
                                  .beta = iso__data(beta),
                                  .y = iso__data(y),
                                  .mean = iso__data(mean),
                                  .rstd = iso__data(rstd),
                                  .eps = a->eps};
  y = iso__finish(ctx, y, iso__failed(ctx) ? ISO_OUT_OF_MEMORY : iso__execute(ctx, &p->head, &args), ISO__RULE_ROW_NORM,
                  &(iso__finish_options){.inputs = ISO__TENSORS(x, gamma, beta),
                                         .n_inputs = 3,
                                         .saved = ISO__TENSORS(x, gamma, mean, rstd),
                                         .n_saved = 4,
                                         .attrs = a,
                                         .attr_bytes = sizeof *a});
  iso_release(mean);
  iso_release(rstd);
  return y;
}

static attributes attributes_of(const iso_tensor *x, const iso_tensor *gamma, const iso_tensor *beta, double eps) {
  attributes a = {.eps = eps != 0 ? eps : 1e-5};
  ISO__PROBLEM_INIT(a.problem, ISO__OP_ROW_NORM_FWD, x->view.dtype);
  a.problem.positions = a.problem.groups = 1;
  a.problem.has_gamma = gamma != NULL, a.problem.has_beta = beta != NULL;
  return a;
}

/* ---- layer and RMS: the last axes ---- */

static iso_tensor *over_last_axes(iso_context *ctx, const char *op, const iso_tensor *x, int n_axes,
                                  const iso_tensor *gamma, const iso_tensor *beta, double eps, bool rms) {
  if (!iso__takes_floats(ctx, op, 3, ISO__TENSORS(x, gamma, beta))) return NULL;
  const int n_dims = x->view.n_dims;
  if (n_axes < 1 || n_axes > n_dims) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "n_axes is %d; x has %d dimensions", n_axes, n_dims);
    return NULL;
  }
  const int64_t *last = x->view.shape + n_dims - n_axes;
  if (!check_parameter(ctx, op, gamma, "gamma", last, n_axes) || !check_parameter(ctx, op, beta, "beta", last, n_axes))
    return NULL;
  attributes a = attributes_of(x, gamma, beta, eps);
  a.problem.samples = product(x->view.shape, n_dims - n_axes);
  a.problem.channels = product(last, n_axes);
  a.problem.rms = rms;
  iso_tensor *copies[] = {iso__contiguous_copy(ctx, x), gamma ? iso__contiguous_copy(ctx, gamma) : NULL,
                          beta ? iso__contiguous_copy(ctx, beta) : NULL};
  iso_tensor *y = iso__failed(ctx) ? NULL
                                   : normalise(ctx, copies[0] ? copies[0] : x, copies[1] ? copies[1] : gamma,
                                               copies[2] ? copies[2] : beta, &a);
  for (int i = 0; i < 3; i++) iso_release(copies[i]);
  return y;
}

iso_tensor *iso_layer_norm(iso_context *ctx, const iso_tensor *x, int n_axes, const iso_tensor *gamma,
                           const iso_tensor *beta, double eps) {
  ISO__AUTOCAST(ctx, "layer_norm", iso_layer_norm(ctx, x, n_axes, gamma, beta, eps), &x, &gamma, &beta);
  return over_last_axes(ctx, "layer_norm", x, n_axes, gamma, beta, eps, false);
}
iso_tensor *iso_rms_norm(iso_context *ctx, const iso_tensor *x, int n_axes, const iso_tensor *gamma, double eps) {
  ISO__AUTOCAST(ctx, "rms_norm", iso_rms_norm(ctx, x, n_axes, gamma, eps), &x, &gamma);
  return over_last_axes(ctx, "rms_norm", x, n_axes, gamma, NULL, eps, true);
}

/* ---- group and instance: (N,C,…), channels brought innermost, which channels-last images are already ---- */

static iso_tensor *over_groups(iso_context *ctx, const char *op, const iso_tensor *x, int64_t groups,
                               const iso_tensor *gamma, const iso_tensor *beta, double eps) {
  const int n_dims = x->view.n_dims;
  const int64_t channels = x->view.shape[1];
  if (groups < 1 || channels % groups) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "%lld groups do not divide %lld channels", (long long)groups,
              (long long)channels);
    return NULL;
  }
  if (!check_parameter(ctx, op, gamma, "gamma", &channels, 1) || !check_parameter(ctx, op, beta, "beta", &channels, 1))
    return NULL;
  attributes a = attributes_of(x, gamma, beta, eps);
  a.problem.positions = product(x->view.shape + 2, n_dims - 2);
  a.problem.samples = a.problem.positions ? x->view.shape[0] : 0;
  if (!a.problem.positions) a.problem.positions = 1; /* nothing at all: no samples */
  a.problem.channels = channels, a.problem.groups = groups;
  int inwards[ISO_MAX_DIMS] = {0}, back[ISO_MAX_DIMS] = {0, n_dims - 1};
  for (int d = 1; d < n_dims; d++) inwards[d] = d + 1 < n_dims ? d + 1 : 1;
  for (int d = 2; d < n_dims; d++) back[d] = d - 1;
  iso_tensor *moved = iso_permute(ctx, x, inwards),
             *dense = moved ? iso__drop(iso_contiguous(ctx, moved), moved) : NULL;
  iso_tensor *g = gamma ? iso_contiguous(ctx, gamma) : NULL, *b = beta ? iso_contiguous(ctx, beta) : NULL;
  iso_tensor *y = iso__drop(iso__failed(ctx) ? NULL : normalise(ctx, dense, g, b, &a), dense);
  iso_release(g);
  iso_release(b);
  return y ? iso__drop(iso_permute(ctx, y, back), y) : NULL;
}

iso_tensor *iso_group_norm(iso_context *ctx, const iso_tensor *x, int64_t groups, const iso_tensor *gamma,
                           const iso_tensor *beta, double eps) {
  ISO__AUTOCAST(ctx, "group_norm", iso_group_norm(ctx, x, groups, gamma, beta, eps), &x, &gamma, &beta);
  if (!iso__takes_floats(ctx, "group_norm", 3, ISO__TENSORS(x, gamma, beta))) return NULL;
  if (x->view.n_dims >= 2) return over_groups(ctx, "group_norm", x, groups, gamma, beta, eps);
  ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "group_norm", "x has %d dimensions: (N,C,…) is needed", x->view.n_dims);
  return NULL;
}
iso_tensor *iso_instance_norm(iso_context *ctx, const iso_tensor *x, const iso_tensor *gamma, const iso_tensor *beta,
                              double eps) {
  ISO__AUTOCAST(ctx, "instance_norm", iso_instance_norm(ctx, x, gamma, beta, eps), &x, &gamma, &beta);
  if (!iso__takes_floats(ctx, "instance_norm", 3, ISO__TENSORS(x, gamma, beta))) return NULL;
  const int64_t channels = x->view.n_dims >= 3 ? x->view.shape[1] : 0;
  if (x->view.n_dims >= 3) return over_groups(ctx, "instance_norm", x, channels ? channels : 1, gamma, beta, eps);
  ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "instance_norm", "x has %d dimensions: (N,C,L,…) is needed", x->view.n_dims);
  return NULL;
}

/* ---- gradients ---- */

/* Whether one kernel (three arrays moved, threads over chunks of rows) ends before the two that make the same bits
 * (five arrays, threads over rows and over channels): it does unless too few chunks leave threads idle. */
static bool whole_is_faster(int64_t rows, int64_t n_threads) {
  const int64_t chunks = (rows + ISO__CHUNK - 1) / ISO__CHUNK, chunk = rows < ISO__CHUNK ? rows : ISO__CHUNK;
  return 3 * ((chunks + n_threads - 1) / n_threads) * chunk * n_threads <= 5 * rows;
}

/* Layer and RMS norm with all their gradients wanted: one pass over x and dy. */
static bool whole_backward(iso__gradient *g, iso_row_norm_problem p, iso_row_norm_args *args) {
  if (p.positions != 1 || p.groups != 1 || !p.has_gamma || !iso__needs(g, 0) || !iso__needs(g, 1) ||
      !whole_is_faster(p.samples, iso_n_threads(g->ctx)))
    return false;
  const iso__view *x = iso__input_view(g, 0);
  p.head.op = ISO__OP_ROW_NORM_BWD;
  p.has_beta = p.has_beta && iso__needs(g, 2);
  iso_tensor *dx = iso__tensor_new_like(g->ctx, x, x->dtype);
  iso_tensor *dgamma = iso__tensor_new_like(g->ctx, iso__input_view(g, 1), x->dtype);
  iso_tensor *dbeta = p.has_beta ? iso__tensor_new_like(g->ctx, iso__input_view(g, 2), x->dtype) : NULL;
  args->dx = iso__data(dx), args->dgamma = iso__data(dgamma), args->dbeta = iso__data(dbeta);
  if (iso__failed(g->ctx) || iso__execute(g->ctx, &p.head, args) != ISO_OK) return true;
  g->dx[0] = dx, g->dx[1] = dgamma, g->dx[2] = dbeta;
  return true;
}

void iso__row_norm_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  const attributes *a = iso__attrs(g);
  iso_tensor *x = iso__saved(g, 0), *gamma = a->problem.has_gamma ? iso__saved(g, 1) : NULL;
  iso_tensor *mean = a->problem.rms ? NULL : iso__saved(g, 2), *rstd = iso__saved(g, 3);
  iso_tensor *dy = iso_contiguous(ctx, g->dy[0]);
  if (iso__failed(ctx)) return;
  iso_row_norm_args args = {.x = iso__data(x),
                            .gamma = iso__data(gamma),
                            .mean = iso__data(mean),
                            .rstd = iso__data(rstd),
                            .dy = iso__data(dy),
                            .eps = a->eps};
  iso_row_norm_problem p = a->problem;
  if (whole_backward(g, p, &args)) return;
  if (iso__needs(g, 0)) {
    p.head.op = ISO__OP_ROW_NORM_BWD_DATA;
    p.has_beta = 0;
    iso_tensor *dx = iso__tensor_new_like(ctx, &x->view, x->view.dtype);
    args.dx = iso__data(dx);
    if (dx && iso__execute(ctx, &p.head, &args) == ISO_OK) g->dx[0] = dx;
  }
  p.has_gamma = a->problem.has_gamma && iso__needs(g, 1), p.has_beta = a->problem.has_beta && iso__needs(g, 2);
  if (iso__failed(ctx) || (!p.has_gamma && !p.has_beta)) return;
  p.head.op = ISO__OP_ROW_NORM_BWD_WEIGHTS;
  iso_tensor *dgamma = p.has_gamma ? iso__tensor_new_like(ctx, iso__input_view(g, 1), x->view.dtype) : NULL;
  iso_tensor *dbeta = p.has_beta ? iso__tensor_new_like(ctx, iso__input_view(g, 2), x->view.dtype) : NULL;
  args.dgamma = iso__data(dgamma), args.dbeta = iso__data(dbeta);
  if (iso__failed(ctx) || iso__execute(ctx, &p.head, &args) != ISO_OK) return;
  g->dx[1] = dgamma, g->dx[2] = dbeta;
}
