/* roi.c: regions of interest. roi_align is linear in x: its gradient's gradient is itself. roi_pool's kernel finds
 * where the largest elements are; iso_take picks them and has the gradient. */
#include <math.h>
#include "base/fenv.h"
#include "kernels/roi/roi.h"
#include "ops/ops.h"

static const double largest_coordinate = 0x1p20;

/* What both directions need to know. */
typedef struct attributes {
  iso_roi_problem p;
  double scale;
} attributes;

static bool check_rois(iso_context *ctx, const char *op, const iso_tensor *rois, int64_t n_images, double scale) {
  for (int64_t i = 0; i < iso__view_numel(&rois->view); i++) {
    const double v = iso__real_at(iso__data(rois), rois->view.dtype, i);
    if (i % 5 == 0 && !(v >= 0 && v < (double)n_images && v == trunc(v)))
      ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "rois[%lld] names image %g: they run from 0 to %lld", (long long)(i / 5),
                v, (long long)n_images - 1);
    else if (i % 5 && !(fabs(iso__fenv_mul(v, scale)) <= largest_coordinate && fabs(v) <= largest_coordinate))
      ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "rois[%lld] has the coordinate %g: sizes up to 2^20 are possible",
                (long long)(i / 5), v);
    if (iso__failed(ctx)) return false;
  }
  return true;
}

static bool check(iso_context *ctx, const char *op, const iso_tensor *x, const iso_tensor *rois,
                  const iso_roi_options *o) {
  if (!iso__takes(ctx, op, 2, ISO__TENSORS(x, rois)) || !iso__takes_floats(ctx, op, 2, ISO__TENSORS(x, rois)))
    return false;
  char text[128];
  if (x->view.n_dims != 4 || x->view.shape[2] < 1 || x->view.shape[3] < 1)
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op, "x is %s: (N,C,H,W) with pixels is needed",
              iso__shape_text(x->view.n_dims, x->view.shape, text, sizeof text));
  else if (rois->view.n_dims != 2 || rois->view.shape[1] != 5)
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op, "rois are %s: (k,5) is needed",
              iso__shape_text(rois->view.n_dims, rois->view.shape, text, sizeof text));
  else if (!o || o->out_h < 1 || o->out_w < 1 || o->out_h > 1 << 20 || o->out_w > 1 << 20)
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "a region of %lld × %lld bins%s", o ? (long long)o->out_h : 0LL,
              o ? (long long)o->out_w : 0LL, o ? "" : ": the options are NULL");
  else if (o->samples < 0 || o->samples > 1 << 16)
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "%lld samples a side", (long long)o->samples);
  else if (!(o->scale >= 0 && o->scale <= 1e6)) ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "the scale is %g", o->scale);
  return !iso__failed(ctx);
}

static attributes describe(const iso_tensor *x, const iso_tensor *rois, const iso_roi_options *o) {
  attributes a = {.scale = o->scale == 0 ? 1 : o->scale};
  ISO__PROBLEM_INIT(a.p, ISO__OP_ROI_ALIGN_FWD, x->view.dtype);
  a.p.n = x->view.shape[0], a.p.c = x->view.shape[1], a.p.h = x->view.shape[2], a.p.w = x->view.shape[3];
  a.p.k = rois->view.shape[0], a.p.out_h = o->out_h, a.p.out_w = o->out_w;
  a.p.samples = o->samples;
  a.p.aligned = o->aligned;
  return a;
}

/* roi_align or, backward, its adjoint: x, in any storage, is dy then. rois contiguous and checked. The result is
 * channels-last. */
static iso_tensor *align(iso_context *ctx, const iso_tensor *x, const iso_tensor *rois, attributes a, bool backward) {
  if (iso__failed(ctx) || !x || !rois) return NULL;
  const int64_t regions[] = {a.p.k, a.p.c, a.p.out_h, a.p.out_w}, images[] = {a.p.n, a.p.c, a.p.h, a.p.w};
  a.p.head.op = backward ? ISO__OP_ROI_ALIGN_BWD : ISO__OP_ROI_ALIGN_FWD;
  iso_tensor *copy = iso__channels_last_copy(ctx, x);
  iso_tensor *y = iso_tensor_new_channels_last(ctx, x->view.dtype, 4, backward ? images : regions);
  const void *from = iso__data(copy ? copy : x);
  iso_roi_args args = {.rois = iso__data(rois), .scale = a.scale};
  if (backward) args.dy = from, args.dx = iso__data(y);
  else args.x = from, args.y = iso__data(y);
  const iso_status status = iso__failed(ctx) ? iso_error_code(ctx) : iso__execute(ctx, &a.p.head, &args);
  y = iso__finish(ctx, y, status, backward ? ISO__RULE_ROI_ALIGN_BWD : ISO__RULE_ROI_ALIGN,
                  &(iso__finish_options){
                      .inputs = &x, .n_inputs = 1, .saved = &rois, .n_saved = 1, .attrs = &a, .attr_bytes = sizeof a});
  return iso__drop(y, copy);
}

void iso__roi_align_gradient(iso__gradient *g) {
  g->dx[0] = align(g->ctx, g->dy[0], iso__saved(g, 0), *(const attributes *)iso__attrs(g), true);
}
void iso__roi_align_bwd_gradient(iso__gradient *g) {
  g->dx[0] = align(g->ctx, g->dy[0], iso__saved(g, 0), *(const attributes *)iso__attrs(g), false);
}

/* rois contiguous and checked; NULL with the error kept. */
static iso_tensor *take_rois(iso_context *ctx, const char *op, const iso_tensor *rois, const attributes *a) {
  iso_no_grad_push(ctx);
  iso_tensor *dense = iso_contiguous(ctx, rois);
  iso_no_grad_pop(ctx);
  return dense && check_rois(ctx, op, dense, a->p.n, a->scale) ? dense : iso__drop(NULL, dense);
}

iso_tensor *iso_roi_align(iso_context *ctx, const iso_tensor *x, const iso_tensor *rois,
                          const iso_roi_options *options) {
  if (!check(ctx, "roi_align", x, rois, options)) return NULL;
  const attributes a = describe(x, rois, options);
  iso_tensor *dense = take_rois(ctx, "roi_align", rois, &a), *y = dense ? align(ctx, x, dense, a, false) : NULL;
  if (y && !iso__view_is_channels_last(&x->view)) y = iso__drop(iso_contiguous(ctx, y), y);
  return iso__drop(y, dense);
}

/* ---- roi_pool ---- */

/* Positions in x, −1 where a bin is empty. */
static iso_tensor *largest(iso_context *ctx, const iso_tensor *x, const iso_tensor *rois, attributes a) {
  const int64_t shape[] = {a.p.k, a.p.c, a.p.out_h, a.p.out_w};
  a.p.head.op = ISO__OP_ROI_POOL;
  iso_tensor *copy = iso__channels_last_copy(ctx, x), *index = iso_tensor_new_channels_last(ctx, ISO_I64, 4, shape);
  const iso_roi_args args = {
      .x = iso__data(copy ? copy : x), .rois = iso__data(rois), .index = iso__data(index), .scale = a.scale};
  if (!iso__failed(ctx)) iso__execute(ctx, &a.p.head, &args);
  return iso__failed(ctx) ? iso__drop(iso__drop(NULL, index), copy) : iso__drop(index, copy);
}

iso_tensor *iso_roi_pool(iso_context *ctx, const iso_tensor *x, const iso_tensor *rois,
                         const iso_roi_options *options) {
  if (!check(ctx, "roi_pool", x, rois, options)) return NULL;
  const attributes a = describe(x, rois, options);
  iso_tensor *dense = take_rois(ctx, "roi_pool", rois, &a), *index = dense ? largest(ctx, x, dense, a) : NULL;
  iso_tensor *zero = index ? iso__scalar(ctx, ISO_I64, 0) : NULL, *empty = iso_lt(ctx, index, zero);
  iso_tensor *taken = iso_take(ctx, x, index), *y = taken && empty ? iso_masked_fill(ctx, taken, empty, 0) : NULL;
  if (y && iso__view_is_channels_last(&x->view) && !iso__view_is_contiguous(&x->view))
    y = iso__drop(iso_channels_last(ctx, y), y);
  iso_release(dense), iso_release(index), iso_release(zero), iso_release(empty), iso_release(taken);
  return y;
}
