/* softmax.c: softmax and log-softmax along any axis (brought innermost: lanes along it, wherever it lies). */
#include "kernels/softmax/softmax.h"
#include "ops/ops.h"

static iso_softmax_problem problem_of(const iso__view *v, iso__op op, bool log) {
  iso_softmax_problem p;
  ISO__PROBLEM_INIT(p, op, v->dtype);
  p.n = v->shape[v->n_dims - 1];
  p.rows = 1;
  for (int d = 0; d < v->n_dims - 1; d++) p.rows *= v->shape[d];
  p.log = log;
  return p;
}

/* Along the last axis of a contiguous x. */
static iso_tensor *innermost(iso_context *ctx, const iso_tensor *x, bool log) {
  if (!x) return NULL;
  iso_tensor *y = iso_tensor_new(ctx, x->view.dtype, x->view.n_dims, x->view.shape);
  const iso_softmax_problem p = problem_of(&x->view, ISO__OP_SOFTMAX_FWD, log);
  const iso_softmax_args args = {.x = iso__data(x), .y = iso__data(y)};
  return iso__finish(
      ctx, y, y ? iso__execute(ctx, &p.head, &args) : ISO_OUT_OF_MEMORY,
      log ? ISO__RULE_LOG_SOFTMAX : ISO__RULE_SOFTMAX,
      &(iso__finish_options){.inputs = ISO__TENSORS(x), .n_inputs = 1, .saved = ISO__TENSORS(y), .n_saved = 1});
}

static iso_tensor *along(iso_context *ctx, const char *op, const iso_tensor *x, int axis, bool log) {
  if (!iso__takes_floats(ctx, op, 1, ISO__TENSORS(x))) return NULL;
  if (x->view.n_dims == 0 && (axis == 0 || axis == -1)) { /* a number is a row of one */
    iso__enter(ctx);
    return iso__leave(ctx, iso_squeeze(ctx, along(ctx, op, iso_unsqueeze(ctx, x, 0), 0, log), 0));
  }
  const int a = iso__axis(ctx, op, x, axis), last = x->view.n_dims - 1;
  if (a < 0) return NULL;
  iso_tensor *moved = iso_transpose(ctx, x, a, last);
  iso_tensor *dense = moved ? iso__drop(iso_contiguous(ctx, moved), moved) : NULL;
  iso_tensor *y = iso__drop(innermost(ctx, dense, log), dense);
  if (a == last) return y;
  iso_tensor *back = y ? iso__drop(iso_transpose(ctx, y, a, last), y) : NULL;
  return back ? iso__drop(iso_contiguous(ctx, back), back) : NULL;
}

iso_tensor *iso_softmax(iso_context *ctx, const iso_tensor *x, int axis) {
  ISO__AUTOCAST(ctx, "softmax", iso_softmax(ctx, x, axis), &x);
  return along(ctx, "softmax", x, axis, false);
}
iso_tensor *iso_log_softmax(iso_context *ctx, const iso_tensor *x, int axis) {
  ISO__AUTOCAST(ctx, "log_softmax", iso_log_softmax(ctx, x, axis), &x);
  return along(ctx, "log_softmax", x, axis, true);
}

/* One kernel; under create_graph the same formula in operators: dx = y·(dy − Σ dy·y), or dy − exp(y)·Σ dy. */
static void gradient(iso__gradient *g, bool log) {
  iso_context *ctx = g->ctx;
  iso_tensor *y = iso__saved(g, 0), *dy = iso_contiguous(ctx, g->dy[0]);
  if (iso__failed(ctx)) return;
  if (iso__creates_graph(g)) {
    iso_tensor *sum = iso_sum(ctx, log ? dy : iso_mul(ctx, dy, y), 1, (const int[]){-1}, true);
    g->dx[0] = log ? iso_sub(ctx, dy, iso_mul(ctx, iso_exp(ctx, y), sum)) : iso_mul(ctx, y, iso_sub(ctx, dy, sum));
    return;
  }
  iso_tensor *dx = iso__tensor_new_like(ctx, &y->view, y->view.dtype);
  const iso_softmax_problem p = problem_of(&y->view, ISO__OP_SOFTMAX_BWD, log);
  const iso_softmax_args args = {.y_saved = iso__data(y), .dy = iso__data(dy), .dx = iso__data(dx)};
  if (dx && iso__execute(ctx, &p.head, &args) == ISO_OK) g->dx[0] = dx;
}
void iso__softmax_gradient(iso__gradient *g) { gradient(g, false); }
void iso__log_softmax_gradient(iso__gradient *g) { gradient(g, true); }
