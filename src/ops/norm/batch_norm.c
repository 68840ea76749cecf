/* batch_norm.c: batch normalisation over (rows, channels), with an optional residual and relu on top (NUMERICS §5).
 *
 * Training: mean and variance by `moments`; the running statistics are updated in place (under leaves: when the step
 * ends, leaf by leaf). Ioffe and Szegedy, "Batch normalization", 2015. */
#include <math.h>
#include "kernels/gemm/gemm.h"
#include "kernels/norm/norm.h"
#include "ops/ops.h"

typedef struct attributes {
  iso_batch_norm_problem problem;
  double eps;
} attributes;

static bool check(iso_context *ctx, const iso_tensor *x, const iso_tensor *const per_channel[4],
                  const iso_tensor *residual) {
  static const char *const names[] = {"gamma", "beta", "running_mean", "running_var"};
  char tx[128], tr[128];
  iso__shape_text(x->view.n_dims, x->view.shape, tx, sizeof tx);
  if (x->view.n_dims != 2 && !iso__has_channels(x->view.n_dims)) {
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "batch_norm", "x is %s: (N,C), (N,C,L), (N,C,H,W) or (N,C,D,H,W) is needed", tx);
    return false;
  }
  for (int i = 0; i < 4; i++)
    if (per_channel[i] && (per_channel[i]->view.n_dims != 1 || per_channel[i]->view.shape[0] != x->view.shape[1])) {
      ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "batch_norm", "x is %s but %s has %lld elements, not %lld", tx, names[i],
                (long long)iso__view_numel(&per_channel[i]->view), (long long)x->view.shape[1]);
      return false;
    }
  if (residual && !iso__same_shape(&residual->view, &x->view)) {
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "batch_norm", "x is %s but residual %s", tx,
              iso__shape_text(residual->view.n_dims, residual->view.shape, tr, sizeof tr));
    return false;
  }
  return true;
}

/* running = fma(momentum, stat − running, running) */
static void update_one(iso_context *ctx, iso_tensor *running, iso_tensor *stat, double momentum) {
  const double scalars[3] = {momentum};
  iso_tensor *change = NULL;
  if (fabsf((float)momentum) < 0.5f) { /* where lerp computes just that, in one pass */
    iso__map(ctx, "batch_norm", ISO__MAP_LERP_SCALAR, 2, ISO__TENSORS(running, stat), scalars, running);
  } else {
    change = iso__map(ctx, "batch_norm", ISO__MAP_SUB, 2, ISO__TENSORS(stat, running), NULL, NULL);
    if (change) iso__map(ctx, "batch_norm", ISO__MAP_FMA_SCALAR, 2, ISO__TENSORS(change, running), scalars, running);
  }
  iso_tensor_touch(running);
  iso_release(change);
}
static void update_running(iso_context *ctx, iso_tensor *const *tensors, double momentum) {
  update_one(ctx, tensors[0], tensors[2], momentum);
  update_one(ctx, tensors[1], tensors[3], momentum);
}

static bool batch_statistics(iso_context *ctx, const iso_batch_norm_problem *shape, const iso_tensor *x,
                             iso_tensor **mean, iso_tensor **var, iso_tensor **unbiased) {
  if (shape->rows < 2) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "batch_norm", "training with %s value a channel: its variance is undefined",
              shape->rows ? "one" : "no");
    return false;
  }
  *mean = iso_tensor_new(ctx, x->view.dtype, 1, &shape->c);
  *var = *mean ? iso_tensor_new(ctx, x->view.dtype, 1, &shape->c) : NULL;
  *unbiased = *var ? iso_tensor_new(ctx, x->view.dtype, 1, &shape->c) : NULL;
  if (!*unbiased) return false;
  iso_batch_norm_problem p = *shape;
  p.head.op = ISO__OP_BATCH_NORM_STATS;
  p.activation = p.has_residual = p.training = p.recomputes = 0;
  const iso_batch_norm_args args = {
      .x = iso__data(x), .mean = iso__data(*mean), .var = iso__data(*var), .unbiased = iso__data(*unbiased)};
  return iso__execute(ctx, &p.head, &args) == ISO_OK;
}

/* Rows of channels in memory: contiguous (N,C), else channels-last. */
static iso_tensor *rows_copy(iso_context *ctx, const iso_tensor *t) {
  return t->view.n_dims > 2 ? iso__channels_last_copy(ctx, t) : iso__contiguous_copy(ctx, t);
}

static iso_tensor *normalise(iso_context *ctx, const iso_tensor *x, const iso_tensor *gamma, const iso_tensor *beta,
                             iso_tensor *mean, iso_tensor *var, const iso_tensor *residual, const attributes *a) {
  iso_tensor *y = iso__tensor_new_like(ctx, &x->view, x->view.dtype);
  const iso_batch_norm_args args = {.x = iso__data(x),
                                    .gamma = iso__data(gamma),
                                    .beta = iso__data(beta),
                                    .residual = iso__data(residual),
                                    .mean = iso__data(mean),
                                    .var = iso__data(var),
                                    .y = iso__data(y),
                                    .eps = a->eps};
  iso_batch_norm_problem p = a->problem;
  p.training = p.recomputes = 0; /* forward is the same either way: one plan */
  return iso__finish(
      ctx, y, y ? iso__execute(ctx, &p.head, &args) : ISO_OUT_OF_MEMORY, ISO__RULE_BATCH_NORM,
      &(iso__finish_options){.inputs = ISO__TENSORS(x, gamma, beta, residual),
                             .n_inputs = 4,
                             .saved = ISO__TENSORS(x, gamma, mean, var, a->problem.recomputes ? beta : NULL,
                                                   a->problem.activation && !a->problem.recomputes ? y : NULL),
                             .n_saved = 6,
                             .attrs = a,
                             .attr_bytes = sizeof *a});
}

iso_tensor *iso_batch_norm(iso_context *ctx, const iso_tensor *x, const iso_tensor *gamma, const iso_tensor *beta,
                           iso_tensor *running_mean, iso_tensor *running_var, const iso_batch_norm_options *options) {
  static const iso_batch_norm_options none;
  iso_batch_norm_options plain = options ? *options : none; /* of halves */
  ISO__AUTOCAST(ctx, "batch_norm", iso_batch_norm(ctx, x, gamma, beta, running_mean, running_var, &plain), &x, &gamma,
                &beta, &plain.residual);
  if (!iso__failed(ctx) && x && iso__is_half(x->view.dtype)) {
    plain.relu = false;
    if (options && options->relu)
      return iso__then_relu(ctx, iso_batch_norm(ctx, x, gamma, beta, running_mean, running_var, &plain));
    ISO__HALVES(ctx, iso_batch_norm(ctx, x, gamma, beta, running_mean, running_var, &plain), &x, &gamma, &beta,
                &plain.residual);
  }
  const iso_batch_norm_options *o = options ? options : &none;
  const iso_tensor *const per_channel[4] = {gamma, beta, running_mean, running_var}, *residual = o->residual;
  if (!iso__takes(ctx, "batch_norm", 1, &x) ||
      !iso__takes_floats(ctx, "batch_norm", 6, ISO__TENSORS(x, gamma, beta, running_mean, running_var, residual)) ||
      !check(ctx, x, per_channel, residual))
    return NULL;
  if ((!running_mean || !running_var) && (!o->training || running_mean || running_var)) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "batch_norm",
              "evaluation needs running_mean and running_var, training both or none");
    return NULL;
  }
  attributes a = {.eps = o->eps != 0 ? o->eps : 1e-5};
  ISO__PROBLEM_INIT(a.problem, ISO__OP_BATCH_NORM_FWD, x->view.dtype);
  a.problem.c = x->view.shape[1];
  a.problem.rows = x->view.shape[0];
  for (int d = 2; d < x->view.n_dims; d++) a.problem.rows *= x->view.shape[d];
  a.problem.activation = o->relu ? ISO__ACTIVATION_RELU : ISO__ACTIVATION_NONE;
  a.problem.has_residual = residual != NULL;
  a.problem.training = o->training;
  a.problem.recomputes = o->training && o->relu && !residual;
  const iso_dtype dtype = x->view.dtype;
  iso_tensor *copies[] = {rows_copy(ctx, x), residual ? rows_copy(ctx, residual) : NULL,
                          gamma ? iso__contiguous_copy(ctx, gamma) : iso_tensor_full(ctx, dtype, 1, &a.problem.c, 1),
                          beta ? iso__contiguous_copy(ctx, beta) : iso_tensor_zeros(ctx, dtype, 1, &a.problem.c)};
  if (copies[0]) x = copies[0];
  if (copies[1]) residual = copies[1];
  if (copies[2]) gamma = copies[2];
  if (copies[3]) beta = copies[3];
  iso_tensor *mean = NULL, *var = NULL, *unbiased = NULL, *y = NULL;
  if (!o->training) mean = iso_contiguous(ctx, running_mean), var = iso_contiguous(ctx, running_var);
  if (!iso__failed(ctx) && (!o->training || batch_statistics(ctx, &a.problem, x, &mean, &var, &unbiased)))
    y = normalise(ctx, x, gamma, beta, mean, var, residual, &a);
  if (running_mean && o->training && y)
    iso__defer(ctx, &(iso__deferred){.apply = update_running,
                                     .tensors = {running_mean, running_var, mean, unbiased},
                                     .scalar = o->momentum != 0 ? o->momentum : 0.1});
  iso_release(mean);
  iso_release(var);
  iso_release(unbiased);
  for (int i = 0; i < 4; i++) iso_release(copies[i]);
  if (!iso__failed(ctx)) return y;
  iso_release(y);
  return NULL;
}

/* The sums give dγ and dβ, and mask dy for the residual; dx reads them, except that running statistics are constants.
 */
void iso__batch_norm_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  const attributes *a = iso__attrs(g);
  iso_tensor *x = iso__saved(g, 0), *gamma = iso__saved(g, 1), *mean = iso__saved(g, 2), *var = iso__saved(g, 3);
  iso_tensor *beta = a->problem.recomputes ? iso__saved(g, 4) : NULL;
  iso_tensor *y = a->problem.activation && !a->problem.recomputes ? iso__saved(g, 5) : NULL;
  if (iso__failed(ctx)) return;
  iso_tensor *dy = g->dy[0], *copy = rows_copy(ctx, dy);
  if (copy) dy = copy;
  const bool keeps_dz = iso__needs(g, 3);
  iso_tensor *dgamma = iso_tensor_new(ctx, x->view.dtype, 1, &a->problem.c);
  iso_tensor *dbeta = iso_tensor_new(ctx, x->view.dtype, 1, &a->problem.c);
  iso_tensor *dz = keeps_dz ? iso__tensor_new_like(ctx, &x->view, x->view.dtype) : NULL;
  if (iso__failed(ctx)) return;
  iso_batch_norm_args args = {.x = iso__data(x),
                              .gamma = iso__data(gamma),
                              .beta = iso__data(beta),
                              .mean = iso__data(mean),
                              .var = iso__data(var),
                              .dy = iso__data(dy),
                              .y_saved = iso__data(y),
                              .dgamma = iso__data(dgamma),
                              .dbeta = iso__data(dbeta),
                              .dz = iso__data(dz),
                              .eps = a->eps};
  iso_batch_norm_problem p = a->problem;
  p.head.op = ISO__OP_BATCH_NORM_BWD_REDUCE;
  p.has_residual = keeps_dz;
  p.training = 0;
  if (iso__execute(ctx, &p.head, &args) != ISO_OK) return;
  if (iso__needs(g, 0)) {
    p.head.op = ISO__OP_BATCH_NORM_BWD_DATA;
    p.training = a->problem.training;
    if (keeps_dz) p.has_residual = p.activation = 0, args.dy = iso__data(dz), args.y_saved = NULL, args.dz = NULL;
    iso_tensor *dx = iso__tensor_new_like(ctx, &x->view, x->view.dtype);
    args.dx = iso__data(dx);
    if (dx && iso__execute(ctx, &p.head, &args) == ISO_OK) g->dx[0] = dx;
  }
  g->dx[1] = dgamma;
  g->dx[2] = dbeta;
  g->dx[3] = dz;
}
