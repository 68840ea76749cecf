/* cross_entropy.c: cross entropy of logits and integer classes or probabilities, and of log-probabilities (NUMERICS
 * §5).
 *
 * Rows of logits against integer classes are one node of the tape with two results: the loss and the log-softmax y it
 * is made of. y is saved with its history, so that the gradient (exp(y) − [target])·scale can be differentiated again.
 * Smoothed labels and probabilities are written in operators. */
#include "base/fenv.h"
#include "kernels/loss/loss.h"
#include "kernels/reduce/reduce.h"
#include "ops/loss/loss.h"

typedef struct attributes {
  double count;
  uint8_t reduction, ignores;
} attributes;

/* lanes(v) of a contiguous vector, divided by n if `mean`. */
static iso_tensor *total(iso_context *ctx, const iso_tensor *v, bool mean) {
  iso_tensor *sum = v ? iso_tensor_new(ctx, v->view.dtype, 0, NULL) : NULL;
  iso_reduce_problem p;
  ISO__PROBLEM_INIT(p, ISO__OP_REDUCE_ROWS, v ? v->view.dtype : ISO_F32);
  p.outer = p.inner = 1;
  p.n = v ? iso__view_numel(&v->view) : 0;
  p.fn = mean ? ISO__REDUCE_MEAN : ISO__REDUCE_SUM;
  if (!sum || iso__execute(ctx, &p.head, &(iso_reduce_args){.x = iso__data(v), .y = iso__data(sum)}) == ISO_OK)
    return sum;
  iso_release(sum);
  return NULL;
}

/* What MEAN divides by: the count, else Σ w_t over the targets that count, by lanes. */
static iso_tensor *divisor(iso_context *ctx, const iso_tensor *targets, const iso_tensor *weights, iso_dtype dtype,
                           int64_t classes, const attributes *a) {
  if (a->count != 0) return iso__scalar(ctx, dtype, a->count);
  if (!weights && !a->ignores) return iso__scalar(ctx, dtype, (double)iso__view_numel(&targets->view));
  iso_tensor *w = iso__class_weights(ctx, targets, weights, dtype, classes, 1);
  return iso__drop(total(ctx, w, false), w);
}

/* ---- rows of logits ---- */

static iso_tensor *divided(iso_context *ctx, iso_tensor *sum, iso_tensor *n) {
  iso_tensor *y = sum && n ? iso__map(ctx, "cross_entropy", ISO__MAP_DIV, 2, ISO__TENSORS(sum, n), NULL, NULL) : NULL;
  iso_release(n);
  return iso__drop(y, sum);
}

/* x (rows,classes), targets (rows), weights contiguous and checked. Writes y; returns the loss, not recorded. */
static iso_tensor *forward(iso_context *ctx, const iso_tensor *x, const iso_tensor *targets, const iso_tensor *weights,
                           const attributes *a, iso_tensor *y) {
  iso_tensor *row_loss = iso_tensor_new(ctx, x->view.dtype, 1, x->view.shape), *loss = NULL;
  if (!row_loss) return NULL;
  iso_cross_entropy_problem p;
  ISO__PROBLEM_INIT(p, ISO__OP_CROSS_ENTROPY_FWD, x->view.dtype);
  p.rows = x->view.shape[0], p.n = x->view.shape[1];
  p.has_weights = weights != NULL, p.ignores = a->ignores;
  const iso_cross_entropy_args args = {.x = iso__data(x),
                                       .weights = iso__data(weights),
                                       .target = iso__data(targets),
                                       .y = iso__data(y),
                                       .row_loss = iso__data(row_loss)};
  const bool of_rows = a->count == (double)p.rows || (a->count == 0 && !weights && !a->ignores);
  if (iso__execute(ctx, &p.head, &args) == ISO_OK) {
    if (a->reduction == ISO_REDUCTION_NONE) return row_loss;
    loss = total(ctx, row_loss, a->reduction == ISO_REDUCTION_MEAN && of_rows); /* sum/(float)n: the same division */
    if (a->reduction == ISO_REDUCTION_MEAN && !of_rows)
      loss = divided(ctx, loss, divisor(ctx, targets, weights, x->view.dtype, p.n, a));
  }
  return iso__drop(loss, row_loss);
}

static iso_tensor *of_rows(iso_context *ctx, const iso_tensor *x, const iso_tensor *targets, const iso_tensor *weights,
                           const attributes *a) {
  if (!iso__takes(ctx, "cross_entropy", 2, ISO__TENSORS(x, targets))) return NULL;
  iso_tensor *copies[] = {iso__contiguous_copy(ctx, x), weights ? iso__contiguous_copy(ctx, weights) : NULL};
  if (copies[0]) x = copies[0];
  if (copies[1]) weights = copies[1];
  iso_tensor *y = iso__failed(ctx) ? NULL : iso_tensor_new(ctx, x->view.dtype, 2, x->view.shape);
  iso_tensor *loss = y ? forward(ctx, x, targets, weights, a, y) : NULL;
  if (loss && iso__is_recorded(ctx, 1, &x) &&
      !iso__record(ctx, &(iso__recording){.rule = &iso__rules[ISO__RULE_CROSS_ENTROPY],
                                          .inputs = &x,
                                          .n_inputs = 1,
                                          .outputs = (iso_tensor *const[]){loss, y},
                                          .n_outputs = 2,
                                          .saved = ISO__TENSORS(y, targets, weights),
                                          .n_saved = 3,
                                          .attrs = a,
                                          .attr_bytes = sizeof *a}))
    iso_release(loss), loss = NULL;
  iso_release(y);
  for (int i = 0; i < 2; i++) iso_release(copies[i]);
  return loss;
}

/* (exp(y)·w_t − w_t·[target])·scale, in operators. */
static iso_tensor *differentiable(iso_context *ctx, const iso_tensor *y, const iso_tensor *targets,
                                  const iso_tensor *weights, const iso_tensor *scale) {
  iso_tensor *w = iso__class_weights(ctx, targets, weights, y->view.dtype, y->view.shape[1], 1);
  iso_tensor *p = iso_exp(ctx, y), *d = iso_sub(ctx, p, iso__class_one_hot(ctx, y, targets));
  if (scale && scale->view.n_dims) scale = iso_unsqueeze(ctx, scale, 1);
  return iso_mul(ctx, iso_mul(ctx, d, iso_unsqueeze(ctx, w, 1)), scale);
}

static iso_tensor *kernel_gradient(iso_context *ctx, const iso_tensor *y, const iso_tensor *targets,
                                   const iso_tensor *weights, const iso_tensor *scale, bool ignores) {
  iso_tensor *dx = iso_tensor_new(ctx, y->view.dtype, 2, y->view.shape);
  if (!dx) return NULL;
  iso_cross_entropy_problem p;
  ISO__PROBLEM_INIT(p, ISO__OP_CROSS_ENTROPY_BWD, y->view.dtype);
  p.rows = y->view.shape[0], p.n = y->view.shape[1];
  p.has_weights = weights != NULL, p.ignores = ignores, p.row_scale = scale->view.n_dims > 0;
  const iso_cross_entropy_args args = {.y_saved = iso__data(y),
                                       .weights = iso__data(weights),
                                       .scale = iso__data(scale),
                                       .target = iso__data(targets),
                                       .dx = iso__data(dx)};
  return iso__execute(ctx, &p.head, &args) == ISO_OK ? dx : NULL;
}

void iso__cross_entropy_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  const attributes *a = iso__attrs(g);
  iso_tensor *y = iso__saved(g, 0), *targets = iso__saved(g, 1), *weights = iso__saved(g, 2);
  if (iso__failed(ctx)) return;
  if (g->dy[0]) {
    iso_tensor *scale = a->reduction == ISO_REDUCTION_NONE ? iso_contiguous(ctx, g->dy[0]) : g->dy[0];
    if (a->reduction == ISO_REDUCTION_MEAN)
      scale = iso_div(ctx, scale, divisor(ctx, targets, weights, y->view.dtype, y->view.shape[1], a));
    if (!scale) return;
    g->dx[0] = iso__creates_graph(g) ? differentiable(ctx, y, targets, weights, scale)
                                     : kernel_gradient(ctx, y, targets, weights, scale, a->ignores);
  }
  if (g->dy[1]) { /* through y: log-softmax's own gradient, dy − exp(y)·Σ dy */
    iso_tensor *sum = iso_sum(ctx, g->dy[1], 1, (const int[]){1}, true);
    iso_tensor *dx = iso_sub(ctx, g->dy[1], iso_mul(ctx, iso_exp(ctx, y), sum));
    g->dx[0] = g->dx[0] ? iso_add(ctx, g->dx[0], dx) : dx;
  }
}

/* ---- losses of samples, in operators ---- */

/* losses: the targets' shape, 0 for ignored ones. */
static iso_tensor *reduced(iso_context *ctx, iso_tensor *losses, const iso_tensor *targets, const iso_tensor *weights,
                           int64_t classes, const attributes *a) {
  if (!losses || a->reduction == ISO_REDUCTION_NONE) return losses;
  iso_tensor *sum = iso_sum_all(ctx, losses);
  if (a->reduction == ISO_REDUCTION_SUM) return sum;
  return iso_div(ctx, sum, divisor(ctx, targets, weights, losses->view.dtype, classes, a));
}

/* −w_t·log_p[t], then the sum or mean. */
static iso_tensor *picked(iso_context *ctx, const iso_tensor *log_p, const iso_tensor *targets,
                          const iso_tensor *weights, int64_t classes) {
  iso_tensor *picked = iso__class_pick(ctx, log_p, targets);
  return iso_mul(ctx, picked,
                 iso__class_weights(ctx, targets, weights, log_p ? log_p->view.dtype : ISO_F32, classes, -1));
}

static iso_tensor *smoothed(iso_context *ctx, const iso_tensor *x, const iso_tensor *targets, const iso_tensor *weights,
                            double smoothing, const attributes *a) {
  const int64_t classes = x->view.shape[1];
  iso_tensor *y = iso_log_softmax(ctx, x, 1), *sharp = picked(ctx, y, targets, weights, classes);
  iso_tensor *all = iso_sum(ctx, weights ? iso_mul(ctx, y, weights) : y, 1, (const int[]){1}, false);
  iso_tensor *counts =
      iso__class_weights(ctx, targets, NULL, x->view.dtype, classes, iso__fenv_div(-smoothing, (double)classes));
  iso_tensor *of_target = iso_mul_scalar(ctx, sharp, iso__fenv_sub(1, smoothing));
  iso_tensor *losses = iso_add(ctx, of_target, iso_mul(ctx, all, counts));
  return reduced(ctx, losses, targets, weights, classes, a);
}

static iso_tensor *of_probabilities(iso_context *ctx, const iso_tensor *x, const iso_tensor *target,
                                    const iso_cross_entropy_options *o) {
  const int axis = x->view.n_dims > 1;
  const double classes = (double)x->view.shape[axis], s = o->label_smoothing;
  const iso_tensor *t =
      s ? iso_add_scalar(ctx, iso_mul_scalar(ctx, target, iso__fenv_sub(1, s)), iso__fenv_div(s, classes)) : target;
  iso_tensor *terms = iso_mul(ctx, iso_log_softmax(ctx, x, axis), t);
  if (o->weights) {
    int64_t shape[ISO_MAX_DIMS] = {-1, 1, 1, 1, 1, 1, 1, 1};
    terms = iso_mul(ctx, terms, iso_reshape(ctx, o->weights, x->view.n_dims - axis, shape));
  }
  iso_tensor *losses = iso_neg(ctx, iso_sum(ctx, terms, 1, &axis, false));
  return iso__loss_reduce(ctx, losses, &(iso_loss_options){.reduction = o->reduction, .count = o->count});
}

/* ---- entries ---- */

static bool check_options(iso_context *ctx, const char *op, const iso_cross_entropy_options *o, const iso_tensor *x) {
  const int64_t classes = x->view.shape[x->view.n_dims > 1];
  if (!(o->label_smoothing >= 0 && o->label_smoothing <= 1))
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "label_smoothing is %g: 0 ≤ s ≤ 1 is needed", o->label_smoothing);
  else if (o->weights && (o->weights->view.n_dims != 1 || o->weights->view.shape[0] != classes))
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op, "weights have %lld elements for %lld classes",
              (long long)iso__view_numel(&o->weights->view), (long long)classes);
  return !iso__failed(ctx);
}

/* x's classes brought innermost: (rows,classes). */
static iso_tensor *as_rows(iso_context *ctx, const iso_tensor *x, const iso__class_form *f) {
  int inwards[ISO_MAX_DIMS] = {0}, n_dims = x->view.n_dims;
  const int64_t shape[] = {f->n * f->inner, f->classes};
  for (int d = 1; d < n_dims; d++) inwards[d] = d + 1 < n_dims ? d + 1 : 1;
  return iso_reshape(ctx, n_dims > 2 ? iso_permute(ctx, x, inwards) : x, 2, shape);
}

iso_tensor *iso_cross_entropy(iso_context *ctx, const iso_tensor *logits, const iso_tensor *target,
                              const iso_cross_entropy_options *options) {
  ISO__AUTOCAST(ctx, "cross_entropy", iso_cross_entropy(ctx, logits, target, options), &logits, &target);
  const iso_cross_entropy_options none = {0}, *o = options ? options : &none;
  if (!iso__takes(ctx, "cross_entropy", 2, ISO__TENSORS(logits, target)) ||
      !iso__takes_floats(ctx, "cross_entropy", 2, ISO__TENSORS(logits, o->weights)))
    return NULL;
  const bool probabilities = target->view.dtype == logits->view.dtype && logits->view.n_dims;
  iso__class_form f = {0};
  if (probabilities ? !iso__loss_shapes(ctx, "cross_entropy", logits, target, "target")
                    : !iso__class_form_of(ctx, "cross_entropy", logits, target, &f))
    return NULL;
  if (!check_options(ctx, "cross_entropy", o, logits)) return NULL;
  const attributes a = {.count = o->count, .reduction = (uint8_t)o->reduction, .ignores = o->ignores};
  iso__enter(ctx);
  if (probabilities) return iso__leave(ctx, of_probabilities(ctx, logits, target, o));
  iso_tensor *t = iso__class_targets(ctx, "cross_entropy", target, f.classes, o->ignores ? &o->ignore_index : NULL);
  const iso_tensor *flat = t && t->view.n_dims != 1 ? iso_reshape(ctx, t, 1, (const int64_t[]){-1}) : t;
  const iso_tensor *x = logits->view.n_dims == 2 ? logits : as_rows(ctx, logits, &f);
  iso_tensor *loss = !x || !flat               ? NULL
                     : o->label_smoothing != 0 ? smoothed(ctx, x, flat, o->weights, o->label_smoothing, &a)
                                               : of_rows(ctx, x, flat, o->weights, &a);
  if (o->reduction == ISO_REDUCTION_NONE && target->view.n_dims != 1)
    loss = iso_reshape(ctx, loss, target->view.n_dims, target->view.shape);
  return iso__leave(ctx, loss);
}

iso_tensor *iso_nll_loss(iso_context *ctx, const iso_tensor *log_p, const iso_tensor *target,
                         const iso_cross_entropy_options *options) {
  ISO__AUTOCAST(ctx, "nll_loss", iso_nll_loss(ctx, log_p, target, options), &log_p, &target);
  const iso_cross_entropy_options none = {0}, *o = options ? options : &none;
  iso__class_form f;
  if (!iso__takes(ctx, "nll_loss", 2, ISO__TENSORS(log_p, target)) ||
      !iso__takes_floats(ctx, "nll_loss", 2, ISO__TENSORS(log_p, o->weights)) ||
      !iso__class_form_of(ctx, "nll_loss", log_p, target, &f) || !check_options(ctx, "nll_loss", o, log_p))
    return NULL;
  if (o->label_smoothing != 0) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "nll_loss", "label_smoothing is an option of cross_entropy");
    return NULL;
  }
  const attributes a = {.count = o->count, .reduction = (uint8_t)o->reduction, .ignores = o->ignores};
  iso__enter(ctx);
  iso_tensor *t = iso__class_targets(ctx, "nll_loss", target, f.classes, o->ignores ? &o->ignore_index : NULL);
  iso_tensor *losses = t ? picked(ctx, log_p, t, o->weights, f.classes) : NULL;
  return iso__leave(ctx, reduced(ctx, losses, t, o->weights, f.classes, &a));
}
