/* loss.c: cross entropy of logits and integer classes, mean squared error (NUMERICS §5).
 *
 * Cross entropy's node has two results: the loss and the log-softmax y it is made of. y is saved with its history, so
 * that the gradient (exp(y) − [target])·scale can be differentiated again. */
#include "kernels/loss/loss.h"
#include "kernels/reduce/reduce.h"
#include "ops/ops.h"

static bool check(iso_context *ctx, const iso_tensor *x, const iso_tensor *target, const iso_tensor *weights) {
  const iso__view *vx = &x->view, *vt = &target->view;
  char tx[128], tt[128];
  iso__shape_text(vx->n_dims, vx->shape, tx, sizeof tx);
  iso__shape_text(vt->n_dims, vt->shape, tt, sizeof tt);
  if (vt->dtype != ISO_I64)
    ISO__FAIL(ctx, ISO_DTYPE_MISMATCH, "cross_entropy", "target is %s: i64 is needed", iso_dtype_name(vt->dtype));
  else if (vx->n_dims != 2 || vt->n_dims != 1 || vx->shape[0] != vt->shape[0])
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "cross_entropy", "logits are %s and target %s: (N,classes) and (N) are needed",
              tx, tt);
  else if (weights && (weights->view.n_dims != 1 || weights->view.shape[0] != vx->shape[1]))
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "cross_entropy", "weights have %lld elements for %lld classes",
              (long long)iso__view_numel(&weights->view), (long long)vx->shape[1]);
  return !iso__failed(ctx);
}

static bool check_range(iso_context *ctx, const iso_tensor *target, int64_t n_classes) {
  const int64_t *t = iso__data(target);
  for (int64_t i = 0; i < target->view.shape[0]; i++)
    if (t[i] < 0 || t[i] >= n_classes) {
      ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "cross_entropy", "target[%lld] is %lld: classes run from 0 to %lld",
                (long long)i, (long long)t[i], (long long)n_classes - 1);
      return false;
    }
  return true;
}

/* lanes(v) of a contiguous vector, divided by n if `mean`. */
static iso_tensor *total(iso_context *ctx, const iso_tensor *v, bool mean) {
  iso_tensor *sum = v ? iso_tensor_new(ctx, v->view.dtype, 0, NULL) : NULL;
  iso_reduce_problem p;
  ISO__PROBLEM_INIT(p, ISO__OP_REDUCE_ROWS, v ? v->view.dtype : ISO_F32);
  p.outer = p.inner = 1;
  p.n = v ? v->view.shape[0] : 0;
  p.fn = mean ? ISO__REDUCE_MEAN : ISO__REDUCE_SUM;
  if (!sum || iso__execute(ctx, &p.head, &(iso_reduce_args){.x = iso__data(v), .y = iso__data(sum)}) == ISO_OK)
    return sum;
  iso_release(sum);
  return NULL;
}

/* Σ w_t over the rows, by lanes. */
static iso_tensor *weight_count(iso_context *ctx, const iso_tensor *target, const iso_tensor *weights) {
  iso_tensor *picked = iso_tensor_new(ctx, weights->view.dtype, 1, target->view.shape);
  if (!picked) return NULL;
  const int64_t *t = iso__data(target);
  const size_t size = iso_dtype_size(weights->view.dtype);
  const char *from = iso__data(weights);
  char *to = iso__data(picked);
  for (int64_t i = 0; i < target->view.shape[0]; i++) memcpy(to + (size_t)i * size, from + (size_t)t[i] * size, size);
  return iso__drop(total(ctx, picked, false), picked);
}

static iso_tensor *map2(iso_context *ctx, iso__map_fn fn, const iso_tensor *a, const iso_tensor *b) {
  return a && b ? iso__map(ctx, "cross_entropy", fn, 2, ISO__TENSORS(a, b), NULL, NULL) : NULL;
}

/* x, target, weights contiguous and checked. Writes y; returns the loss, not recorded. */
static iso_tensor *forward(iso_context *ctx, const iso_tensor *x, const iso_tensor *target, const iso_tensor *weights,
                           double count, iso_tensor *y) {
  iso_tensor *row_loss = iso_tensor_new(ctx, x->view.dtype, 1, x->view.shape);
  if (!row_loss) return NULL;
  iso_cross_entropy_problem p;
  ISO__PROBLEM_INIT(p, ISO__OP_CROSS_ENTROPY_FWD, x->view.dtype);
  p.rows = x->view.shape[0], p.n = x->view.shape[1];
  p.has_weights = weights != NULL;
  const iso_cross_entropy_args args = {.x = iso__data(x),
                                       .weights = iso__data(weights),
                                       .target = iso__data(target),
                                       .y = iso__data(y),
                                       .row_loss = iso__data(row_loss)};
  iso_tensor *loss = NULL;
  if (iso__execute(ctx, &p.head, &args) == ISO_OK) {
    if (!weights && (count == 0 || count == (double)p.rows)) {
      loss = total(ctx, row_loss, true); /* mean is sum/(float)n: the same division */
    } else {
      iso_tensor *sum = total(ctx, row_loss, false);
      iso_tensor *n =
          weights && count == 0 ? weight_count(ctx, target, weights) : iso__scalar(ctx, x->view.dtype, count);
      loss = map2(ctx, ISO__MAP_DIV, sum, n);
      iso_release(n);
      iso_release(sum);
    }
  }
  return iso__drop(loss, row_loss);
}

iso_tensor *iso_cross_entropy(iso_context *ctx, const iso_tensor *logits, const iso_tensor *target,
                              const iso_cross_entropy_options *options) {
  const iso_tensor *weights = options ? options->weights : NULL;
  double count = options ? options->count : 0;
  if (!iso__takes(ctx, "cross_entropy", 2, ISO__TENSORS(logits, target)) ||
      !iso__takes_floats(ctx, "cross_entropy", 2, ISO__TENSORS(logits, weights)) ||
      !check(ctx, logits, target, weights))
    return NULL;
  iso_tensor *copies[] = {iso__contiguous_copy(ctx, logits), iso__contiguous_copy(ctx, target),
                          weights ? iso__contiguous_copy(ctx, weights) : NULL};
  if (copies[0]) logits = copies[0];
  if (copies[1]) target = copies[1];
  if (copies[2]) weights = copies[2];
  iso_tensor *y = NULL, *loss = NULL;
  if (!iso__failed(ctx) && check_range(ctx, target, logits->view.shape[1]))
    y = iso_tensor_new(ctx, logits->view.dtype, 2, logits->view.shape);
  if (y) loss = forward(ctx, logits, target, weights, count, y);
  if (loss && count == 0 && !weights) count = (double)target->view.shape[0];
  if (loss && iso__is_recorded(ctx, 1, &logits) &&
      !iso__record(ctx, &(iso__recording){.rule = &iso__rules[ISO__RULE_CROSS_ENTROPY],
                                          .inputs = &logits,
                                          .n_inputs = 1,
                                          .outputs = (iso_tensor *const[]){loss, y},
                                          .n_outputs = 2,
                                          .saved = ISO__TENSORS(y, target, weights),
                                          .n_saved = 3,
                                          .attrs = &count,
                                          .attr_bytes = sizeof count})) {
    iso_release(loss);
    loss = NULL;
  }
  iso_release(y);
  for (int i = 0; i < 3; i++) iso_release(copies[i]);
  return loss;
}

/* w_t·[j = t_i] as a tensor. */
static iso_tensor *one_hot(iso_context *ctx, const iso__view *form, const iso_tensor *target,
                           const iso_tensor *weights) {
  iso_tensor *hot = iso_tensor_zeros(ctx, form->dtype, 2, form->shape);
  iso_tensor *one = iso_tensor_full(ctx, form->dtype, 1, &form->shape[1], 1.0);
  if (!hot || !one) return NULL;
  const int64_t *t = iso__data(target);
  const size_t size = iso_dtype_size(form->dtype);
  const char *from = iso__data(weights ? weights : one);
  char *to = iso__data(hot);
  for (int64_t i = 0; i < form->shape[0]; i++)
    memcpy(to + (size_t)(i * form->shape[1] + t[i]) * size, from + (size_t)t[i] * size, size);
  return hot;
}

/* (exp(y)·w_t − w_t·[target])·scale, in operators. */
static iso_tensor *differentiable(iso_context *ctx, const iso_tensor *y, const iso_tensor *target,
                                  const iso_tensor *weights, const iso_tensor *scale) {
  iso_tensor *hot = one_hot(ctx, &y->view, target, weights);
  iso_tensor *p = iso_exp(ctx, y);
  if (weights) p = iso_mul(ctx, p, iso_sum(ctx, hot, 1, (const int[]){1}, true));
  return iso_mul(ctx, iso_sub(ctx, p, hot), scale);
}

static iso_tensor *kernel_gradient(iso_context *ctx, const iso_tensor *y, const iso_tensor *target,
                                   const iso_tensor *weights, const iso_tensor *scale) {
  iso_tensor *dx = iso_tensor_new(ctx, y->view.dtype, 2, y->view.shape);
  if (!dx) return NULL;
  iso_cross_entropy_problem p;
  ISO__PROBLEM_INIT(p, ISO__OP_CROSS_ENTROPY_BWD, y->view.dtype);
  p.rows = y->view.shape[0], p.n = y->view.shape[1];
  p.has_weights = weights != NULL;
  const iso_cross_entropy_args args = {.y_saved = iso__data(y),
                                       .weights = iso__data(weights),
                                       .scale = iso__data(scale),
                                       .target = iso__data(target),
                                       .dx = iso__data(dx)};
  return iso__execute(ctx, &p.head, &args) == ISO_OK ? dx : NULL;
}

void iso__cross_entropy_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  const double count = *(const double *)iso__attrs(g);
  iso_tensor *y = iso__saved(g, 0), *target = iso__saved(g, 1), *weights = iso__saved(g, 2);
  if (iso__failed(ctx)) return;
  if (g->dy[0]) {
    iso_tensor *n = count == 0 ? weight_count(ctx, target, weights) : iso__scalar(ctx, y->view.dtype, count);
    iso_tensor *scale = iso_div(ctx, g->dy[0], n);
    if (!scale) return;
    g->dx[0] = iso__creates_graph(g) ? differentiable(ctx, y, target, weights, scale)
                                     : kernel_gradient(ctx, y, target, weights, scale);
  }
  if (g->dy[1]) { /* through y: log-softmax's own gradient, dy − exp(y)·Σ dy */
    iso_tensor *sum = iso_sum(ctx, g->dy[1], 1, (const int[]){1}, true);
    iso_tensor *dx = iso_sub(ctx, g->dy[1], iso_mul(ctx, iso_exp(ctx, y), sum));
    g->dx[0] = g->dx[0] ? iso_add(ctx, g->dx[0], dx) : dx;
  }
}

iso_tensor *iso_mse_loss(iso_context *ctx, const iso_tensor *a, const iso_tensor *b, double count) {
  if (iso__failed(ctx) || !a || !b) return NULL;
  if (!iso__same_shape(&a->view, &b->view)) {
    char ta[128], tb[128];
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "mse_loss", "a is %s but b is %s",
              iso__shape_text(a->view.n_dims, a->view.shape, ta, sizeof ta),
              iso__shape_text(b->view.n_dims, b->view.shape, tb, sizeof tb));
    return NULL;
  }
  iso_tensor *d = iso_sub(ctx, a, b);
  iso_tensor *sum = d ? iso__drop(iso__sum_squares(ctx, d, 0, NULL, false), d) : NULL;
  const double n = count != 0 ? count : (double)iso__view_numel(&a->view);
  return sum ? iso__drop(iso_div_scalar(ctx, sum, n), sum) : NULL;
}
