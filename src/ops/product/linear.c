/* linear.c: x·wᵀ + bias, with relu on top if asked: one product with an epilogue, each step with its own rounding. f16
 * and bf16: one rounding of the whole; on a device by the kernels of f32, which are the fast ones there. */
#include "ops/autocast.h"
#include "ops/product/linear.h"

static bool check(iso_context *ctx, const iso_tensor *x, const iso_tensor *w, const iso_tensor *bias) {
  if (!iso__takes(ctx, "linear", 2, ISO__TENSORS(x, w)) ||
      !iso__takes_dtypes(ctx, "linear", ISO__REAL_DTYPES, 3, ISO__TENSORS(x, w, bias)))
    return false;
  const iso__view *vx = &x->view, *vw = &w->view;
  char tx[128], tw[128];
  iso__shape_text(vx->n_dims, vx->shape, tx, sizeof tx);
  iso__shape_text(vw->n_dims, vw->shape, tw, sizeof tw);
  if (vx->n_dims < 1 || vw->n_dims != 2)
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "linear", "x is %s and w %s: x needs a dimension and w two", tx, tw);
  else if (vx->shape[vx->n_dims - 1] != vw->shape[1])
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "linear", "x is %s but w (out,in) is %s: %lld features where %lld are expected",
              tx, tw, (long long)vx->shape[vx->n_dims - 1], (long long)vw->shape[1]);
  else if (bias && (bias->view.n_dims != 1 || bias->view.shape[0] != vw->shape[0]))
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "linear", "bias has %lld elements but w (out,in) is %s",
              (long long)iso__view_numel(&bias->view), tw);
  return !iso__failed(ctx);
}

static int64_t max1(int64_t n) { return n > 1 ? n : 1; }

/* x (rows,in), w (out,in), bias: contiguous. */
static iso_status multiply(iso_context *ctx, const iso_tensor *x, const iso_tensor *w, const iso_tensor *bias,
                           const iso_tensor *residual, iso__activation activation, iso_tensor *y) {
  iso_gemm_problem p;
  ISO__PROBLEM_INIT(p, ISO__OP_GEMM, x->view.dtype);
  p.n = w->view.shape[0], p.k = w->view.shape[1], p.batch = 1, p.m = 1;
  for (int d = 0; d < x->view.n_dims - 1; d++) p.m *= x->view.shape[d];
  p.lda = p.ldb = max1(p.k), p.ldc = max1(p.n);
  p.trans_b = 1;
  p.has_bias = bias != NULL, p.has_residual = residual != NULL;
  p.activation = (uint8_t)activation;
  const iso_gemm_args args = {.a = iso__data(x),
                              .b = iso__data(w),
                              .c = iso__data(y),
                              .bias = iso__data(bias),
                              .residual = iso__data(residual)};
  return iso__execute_with(ctx, &p.head, &args, w);
}

static iso_tensor *new_result(iso_context *ctx, const iso_tensor *x, const iso_tensor *w) {
  int64_t shape[ISO_MAX_DIMS];
  memcpy(shape, x->view.shape, sizeof shape);
  shape[x->view.n_dims - 1] = w->view.shape[0];
  return iso_tensor_new(ctx, x->view.dtype, x->view.n_dims, shape);
}

iso_tensor *iso_linear(iso_context *ctx, const iso_tensor *x, const iso_tensor *w, const iso_tensor *bias, bool relu) {
  ISO__AUTOCAST(ctx, "linear", iso_linear(ctx, x, w, bias, relu), &x, &w, &bias);
  if (!check(ctx, x, w, bias)) return NULL;
  if (iso__is_half(x->view.dtype) && !iso__is_on_cpu(ctx)) {
    if (relu) return iso__then_relu(ctx, iso_linear(ctx, x, w, bias, false));
    ISO__HALVES(ctx, iso_linear(ctx, x, w, bias, false), &x, &w, &bias);
  }
  iso_tensor *x_copy = iso__contiguous_copy(ctx, x), *w_copy = iso__contiguous_copy(ctx, w);
  iso_tensor *bias_copy = bias ? iso__contiguous_copy(ctx, bias) : NULL;
  if (x_copy) x = x_copy;
  if (w_copy) w = w_copy;
  if (bias_copy) bias = bias_copy;
  const iso__activation activation = relu ? ISO__ACTIVATION_RELU : ISO__ACTIVATION_NONE;
  iso_tensor *y = iso__failed(ctx) ? NULL : new_result(ctx, x, w);
  y = iso__finish(ctx, y, y ? multiply(ctx, x, w, bias, NULL, activation, y) : ISO_OUT_OF_MEMORY, ISO__RULE_LINEAR,
                  &(iso__finish_options){.inputs = ISO__TENSORS(x, w, bias),
                                         .n_inputs = 3,
                                         .saved = ISO__TENSORS(iso__saves_for(w) ? x : NULL,
                                                               iso__saves_for(x) ? w : NULL, relu ? y : NULL),
                                         .n_saved = 3,
                                         .attrs = &relu,
                                         .attr_bytes = sizeof relu});
  iso_release(x_copy);
  iso_release(w_copy);
  iso_release(bias_copy);
  return y;
}

static bool is_plain(const iso_tensor *t) {
  return !t || (t->view.dtype == ISO_F32 && iso__view_is_contiguous(&t->view));
}

iso_tensor *iso__linear_fused(iso_context *ctx, const iso_tensor *x, const iso_tensor *w, const iso_tensor *bias,
                              const iso_tensor *residual, iso__activation activation) {
  if (!x || !w || iso__failed(ctx) || !iso__is_on_cpu(ctx) || iso__autocast_is_on(ctx) || !is_plain(x) ||
      !is_plain(w) || !is_plain(bias) || !is_plain(residual) ||
      iso__is_recorded(ctx, 4, ISO__TENSORS(x, w, bias, residual)) || !check(ctx, x, w, bias))
    return NULL;
  iso_tensor *y = new_result(ctx, x, w);
  const bool fits = y && (!residual || iso__same_shape(&residual->view, &y->view));
  if (fits && multiply(ctx, x, w, bias, residual, activation, y) == ISO_OK) return y;
  iso_release(y);
  return NULL;
}

/* Rows of all leading dimensions: k of the sums for w and bias (NUMERICS §4). */
static iso_tensor *as_rows(iso_context *ctx, iso_tensor *t, int64_t columns) {
  if (!t || t->view.n_dims == 2) return t;
  int64_t rows = 1;
  for (int d = 0; d < t->view.n_dims - 1; d++) rows *= t->view.shape[d];
  return iso_reshape(ctx, t, 2, (const int64_t[]){rows, columns});
}

/* dz·w, added to what x's gradient has so far as the product's residual: a pass over memory less than a sum behind it,
 * and since each step rounds by itself, the same bits. False: not for these. */
static bool add_to_sum(iso__gradient *g, const iso_tensor *dz, const iso_tensor *w) {
  const iso__view *vw = &w->view;
  if (dz->view.dtype != ISO_F32 || vw->dtype != ISO_F32 || !iso__is_on_cpu(g->ctx) ||
      !iso__view_is_contiguous(&dz->view) || !iso__view_is_contiguous(vw))
    return false;
  iso_tensor *sum = iso__sum_so_far(g, 0);
  if (!sum || sum->view.dtype != ISO_F32) return false;
  iso_gemm_problem p;
  ISO__PROBLEM_INIT(p, ISO__OP_GEMM, ISO_F32);
  p.n = vw->shape[1], p.k = vw->shape[0], p.batch = 1, p.m = 1;
  for (int d = 0; d < dz->view.n_dims - 1; d++) p.m *= dz->view.shape[d];
  p.lda = max1(p.k), p.ldb = p.ldc = max1(p.n);
  p.has_residual = 1;
  iso__execute(
      g->ctx, &p.head,
      &(iso_gemm_args){.a = iso__data(dz), .b = iso__data(w), .c = iso__data(sum), .residual = iso__data(sum)});
  return true;
}

static void gradient_of_x(iso__gradient *g, const iso_tensor *dz) {
  iso_tensor *w = iso__saved(g, 1);
  if (dz && w && !add_to_sum(g, dz, w)) g->dx[0] = iso_matmul(g->ctx, dz, w);
}

void iso__linear_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  iso_tensor *dz = g->dy[0];
  if (*(const bool *)iso__attrs(g)) dz = iso__relu_bwd(ctx, iso__saved(g, 2), dz, iso__reusable_dy(g));
  const iso__view *w = iso__input_view(g, 1);
  if (iso__needs(g, 0)) gradient_of_x(g, dz);
  if (!iso__needs(g, 1) && !iso__needs(g, 2)) return;
  iso_tensor *rows = as_rows(ctx, dz, w->shape[0]);
  if (iso__needs(g, 1)) {
    iso_tensor *columns = iso_transpose(ctx, rows, 0, 1);
    g->dx[1] = iso_matmul(ctx, columns, as_rows(ctx, iso__saved(g, 0), w->shape[1]));
  }
  if (iso__needs(g, 2)) g->dx[2] = iso_sum(ctx, rows, 1, (const int[]){0}, false);
}
