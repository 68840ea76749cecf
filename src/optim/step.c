/* step.c: one update of every parameter, and clipping by the global norm (NUMERICS §5), in the default floating-point
 * environment. */
#include <math.h>
#include "base/fenv.h"
#include "device/trace.h"
#include "kernels/reduce/reduce.h"
#include "ops/ops.h"
#include "optim/optimizer.h"

static bool same_order(const iso__view *a, const iso__view *b) {
  for (int d = 0; d < a->n_dims; d++)
    if (a->shape[d] > 1 && a->strides[d] != b->strides[d]) return false;
  return true;
}

/* The gradient in the parameter's memory order; *copy is to be released. */
static const iso_tensor *gradient_of(iso_optimizer *o, size_t i, iso_tensor **copy) {
  const iso_tensor *p = o->parameters[i], *grad = iso__leaf_gradient(p);
  *copy = NULL;
  if (!grad || same_order(&grad->view, &p->view)) return grad;
  *copy = iso__tensor_new_like(o->ctx, &p->view, p->view.dtype);
  if (*copy) iso__view_copy(o->ctx, &(*copy)->view, &grad->view);
  return *copy;
}

/* A graph would repeat the numbers of the step that it was recorded in. */
static bool can_begin(iso_optimizer *o, const char *op) {
  if (iso__failed(o->ctx)) return false;
  for (size_t i = 0; i < o->n; i++)
    if (!iso__leaf_gradient_is_valid(o->parameters[i])) {
      ISO__FAIL(o->ctx, ISO_STATE, op, "backward failed and left gradients incomplete: zero them first");
      return false;
    }
  if (o->ctx->is_capturing)
    ISO__FAIL(o->ctx, ISO_STATE, op, "its numbers change from step to step: it is called beside the capture");
  return !iso__failed(o->ctx);
}

/* Those whose weights decay, and, under matrices_only, the others. */
static bool is_in_group(const iso_optimizer *o, size_t i, int group) {
  return (o->matrices_only && o->parameters[i]->view.n_dims < 2) == (group == 1);
}

static void update_each(iso_optimizer *o, int group) {
  int64_t *steps = iso__data(o->steps);
  for (size_t i = 0; i < o->n && !iso__failed(o->ctx); i++) {
    iso_tensor *copy;
    const iso_tensor *grad = is_in_group(o, i, group) ? gradient_of(o, i, &copy) : NULL;
    if (!grad) continue;
    const int64_t t = steps[i] + 1;
    if (iso__optimizer_update(o, i, grad, t) == ISO_OK) steps[i] = t;
    iso_tensor_touch(o->parameters[i]);
    iso_release(copy);
  }
}

/* On a device: all parameters of a group that have a gradient into o->list; false if they don't share every scalar.
 * *first is one of the *n. */
static bool gather(iso_optimizer *o, int group, size_t *n, size_t *first) {
  const int64_t *steps = iso__data(o->steps);
  const double *products = iso__data(o->mu_products);
  *n = 0;
  for (size_t i = 0; i < o->n; i++) {
    const iso_tensor *p = o->parameters[i], *grad = iso__leaf_gradient(p);
    if (!grad || !is_in_group(o, i, group)) continue;
    if (*n == 0) *first = i;
    if (p->view.dtype != ISO_F32 || p->view.storage->device != o->ctx->device ||
        grad->view.storage->device != o->ctx->device || !same_order(&grad->view, &p->view) ||
        steps[i] != steps[*first] || (products && products[i] != products[*first]))
      return false;
    o->list[(*n)++] = iso__optimizer_tensor(o, i, grad);
  }
  return true;
}

static void update_together(iso_optimizer *o, int group, size_t n, size_t first) {
  int64_t *steps = iso__data(o->steps);
  double *products = iso__data(o->mu_products), product = products ? products[first] : 1;
  const int64_t t = steps[first] + 1;
  if (iso__optimizer_update_list(o, n, iso__optimizer_decay(o, first), t, &product) != ISO_OK) return;
  for (size_t i = 0; i < o->n; i++) {
    if (!iso__leaf_gradient(o->parameters[i]) || !is_in_group(o, i, group)) continue;
    steps[i] = t;
    if (products) products[i] = product;
    iso_tensor_touch(o->parameters[i]);
  }
}

static void update_all(iso_optimizer *o) {
  const bool together = !iso__is_on_cpu(o->ctx) && !o->shares;
  for (int group = 0; group < 2 && !iso__failed(o->ctx); group++) {
    size_t n, first = 0;
    if (together && gather(o, group, &n, &first) && n != 1) {
      if (n) update_together(o, group, n, first);
    } else update_each(o, group);
  }
}

iso_status iso_optimizer_step(iso_optimizer *o) {
  if (!o) return ISO_INVALID_ARGUMENT;
  if (!can_begin(o, "iso_optimizer_step")) return o->ctx->error.code;
  const size_t span = iso__span_enter(o->ctx, "update", ISO_TRACE_UPDATE);
  const iso__fenv saved = iso__fenv_enter();
  iso_no_grad_push(o->ctx);
  update_all(o);
  iso_no_grad_pop(o->ctx);
  iso__fenv_leave(saved);
  if (!iso__failed(o->ctx)) iso_random_set_step(o->ctx, iso_random_step(o->ctx) + 1);
  iso__mark_leave(o->ctx, span);
  return o->ctx->error.code;
}

/* ---- clipping ---- */

/* lanes(g·g) in memory order, which for channels-last convolution weights is (out, kernel row, kernel column, in). */
static bool sum_of_squares(iso_optimizer *o, const iso_tensor *grad, double *out) {
  iso_reduce_problem p;
  ISO__PROBLEM_INIT(p, ISO__OP_REDUCE_ROWS, grad->view.dtype);
  p.outer = p.inner = 1;
  p.n = iso__view_numel(&grad->view);
  p.fn = ISO__REDUCE_SUM_SQUARES;
  iso_tensor *y = iso_tensor_new(o->ctx, grad->view.dtype, 0, NULL);
  if (!y) return false;
  iso__execute(o->ctx, &p.head, &(iso_reduce_args){.x = iso__data(grad), .y = iso__data(y)});
  const iso_status status = iso_tensor_item(y, out);
  iso_release(y);
  return status == ISO_OK;
}

/* The sum runs in f32 unless a parameter is f64; each addition rounds once. */
static bool norm_of(iso_optimizer *o, bool *in_f64, double *norm) {
  *in_f64 = false;
  for (size_t i = 0; i < o->n; i++) *in_f64 |= o->parameters[i]->view.dtype == ISO_F64;
  double total = 0;
  for (size_t i = 0; i < o->n; i++) {
    iso_tensor *copy;
    const iso_tensor *grad = gradient_of(o, i, &copy);
    double squares = 0;
    const bool ok = !grad || sum_of_squares(o, grad, &squares);
    iso_release(copy);
    if (!ok || iso__failed(o->ctx)) return false;
    total = *in_f64 ? total + squares : (double)((float)total + (float)squares);
  }
  *norm = *in_f64 ? sqrt(total) : (double)sqrtf((float)total);
  return true;
}

/* min(1, max_norm/(norm + 1e-6)); a NaN norm stays a NaN, so that it is seen. */
static double coefficient(double max_norm, double norm, bool in_f64) {
  const double c = in_f64 ? max_norm / (norm + 1e-6) : (double)((float)max_norm / ((float)norm + (float)1e-6));
  return c > 1 ? 1 : c;
}

iso_status iso_optimizer_clip_grad_norm(iso_optimizer *o, double max_norm, double *norm) {
  if (norm) *norm = 0;
  if (!o) return ISO_INVALID_ARGUMENT;
  iso_context *ctx = o->ctx;
  if (!can_begin(o, "iso_optimizer_clip_grad_norm")) return ctx->error.code;
  if (!(max_norm >= 0))
    return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "iso_optimizer_clip_grad_norm", "max_norm is %g", max_norm);
  const iso__fenv saved = iso__fenv_enter();
  iso_no_grad_push(ctx);
  bool in_f64;
  double before = 0;
  if (norm_of(o, &in_f64, &before)) {
    const double c = coefficient(max_norm, before, in_f64);
    for (size_t i = 0; i < o->n && c != 1 && !iso__failed(ctx); i++) {
      iso_tensor *grad = iso_grad(o->parameters[i]);
      if (!grad) continue;
      iso_tensor *clipped = iso_mul_scalar(ctx, grad, c);
      iso_release(grad);
      if (clipped) iso_grad_set(o->parameters[i], clipped);
      iso_release(clipped);
    }
  }
  iso_no_grad_pop(ctx);
  iso__fenv_leave(saved);
  if (norm) *norm = before;
  return ctx->error.code;
}
