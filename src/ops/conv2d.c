/* conv2d.c: 2-D convolution and its two gradients, three operators closed under differentiation.
 *
 * With fwd(x,w), data(dy,w) and weights(x,dy) the kernels' three directions: each is linear in both arguments, and the
 * gradient of any of them for an argument is one of the other two. Everything is channels-last; images and weights in
 * another order are copied. */
#include "kernels/conv/conv.h"
#include "kernels/gemm/gemm.h"
#include "ops/ops.h"

/* The problem itself is the node's attribute: geometry, and forward's epilogue. */
static iso_conv_problem of_direction(const iso_conv_problem *geometry, iso__op op) {
  iso_conv_problem p = *geometry;
  p.head.op = (uint16_t)op;
  p.has_bias = p.has_residual = p.activation = 0;
  return p;
}

/* ---- shape rule ---- */

static int64_t or_one(int64_t n) { return n ? n : 1; }

static bool geometry_of(iso_context *ctx, const iso_tensor *x, const iso_tensor *w, const iso_conv2d_options *o,
                        iso_conv_problem *p) {
  ISO__PROBLEM_INIT(*p, ISO__OP_CONV_FWD, x->view.dtype);
  char tx[128], tw[128];
  iso__shape_text(x->view.n_dims, x->view.shape, tx, sizeof tx);
  iso__shape_text(w->view.n_dims, w->view.shape, tw, sizeof tw);
  if (x->view.n_dims != 4 || w->view.n_dims != 4) {
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "conv2d", "x is %s and w %s: both need four dimensions", tx, tw);
    return false;
  }
  const int64_t *xs = x->view.shape, *ws = w->view.shape;
  p->n = xs[0], p->c = xs[1], p->h = xs[2], p->w = xs[3];
  p->k = ws[0], p->r = ws[2], p->s = ws[3];
  p->stride_h = or_one(o->stride_h), p->stride_w = or_one(o->stride_w);
  p->dilation_h = or_one(o->dilation_h), p->dilation_w = or_one(o->dilation_w);
  p->groups = or_one(o->groups);
  p->d = p->t = p->stride_d = p->dilation_d = 1;
  p->pad_top = p->pad_bottom = o->pad_h, p->pad_left = p->pad_right = o->pad_w;
  const int64_t most = (int64_t)1 << 31;
  if (p->stride_h < 1 || p->stride_w < 1 || p->dilation_h < 1 || p->dilation_w < 1 || p->groups < 1 || o->pad_h < 0 ||
      o->pad_w < 0 || p->stride_h > most || p->stride_w > most || p->dilation_h > most || p->dilation_w > most ||
      o->pad_h > most || o->pad_w > most)
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "conv2d",
              "stride (%lld,%lld), padding (%lld,%lld), dilation (%lld,%lld), groups %lld: not a convolution",
              (long long)p->stride_h, (long long)p->stride_w, (long long)o->pad_h, (long long)o->pad_w,
              (long long)p->dilation_h, (long long)p->dilation_w, (long long)p->groups);
  else if (p->c % p->groups || p->k % p->groups)
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "conv2d", "x is %s and w %s: %lld groups do not divide %lld and %lld channels",
              tx, tw, (long long)p->groups, (long long)p->c, (long long)p->k);
  else if (ws[1] != p->c / p->groups)
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "conv2d", "x %s has %lld channels a group but w %s expects %lld", tx,
              (long long)(p->c / p->groups), tw, (long long)ws[1]);
  else if (p->r < 1 || p->s < 1 || p->h + 2 * o->pad_h < p->dilation_h * (p->r - 1) + 1 ||
           p->w + 2 * o->pad_w < p->dilation_w * (p->s - 1) + 1)
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "conv2d",
              "the kernel of w %s, dilated (%lld,%lld), does not fit into x %s padded (%lld,%lld)", tw,
              (long long)p->dilation_h, (long long)p->dilation_w, tx, (long long)o->pad_h, (long long)o->pad_w);
  return !iso__failed(ctx);
}

static bool check_extras(iso_context *ctx, const iso_conv_problem *p, const iso_tensor *bias,
                         const iso_tensor *residual) {
  if (bias && (bias->view.n_dims != 1 || bias->view.shape[0] != p->k))
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "conv2d", "bias has %lld elements but w %lld output channels",
              (long long)iso__view_numel(&bias->view), (long long)p->k);
  const int64_t y[4] = {p->n, p->k, iso__conv_out_h(p), iso__conv_out_w(p)};
  if (residual && (residual->view.n_dims != 4 || memcmp(residual->view.shape, y, sizeof y) != 0)) {
    char tr[128], ty[128];
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "conv2d", "residual is %s but the result %s",
              iso__shape_text(residual->view.n_dims, residual->view.shape, tr, sizeof tr),
              iso__shape_text(4, y, ty, sizeof ty));
  }
  return !iso__failed(ctx);
}

/* ---- forward ---- */

iso_tensor *iso_conv2d(iso_context *ctx, const iso_tensor *x, const iso_tensor *w, const iso_tensor *bias,
                       const iso_conv2d_options *options) {
  static const iso_conv2d_options none;
  const iso_conv2d_options *o = options ? options : &none;
  const iso_tensor *residual = o->residual;
  iso_conv_problem p;
  if (!iso__takes(ctx, "conv2d", 2, ISO__TENSORS(x, w)) ||
      !iso__takes_floats(ctx, "conv2d", 4, ISO__TENSORS(x, w, bias, residual)) || !geometry_of(ctx, x, w, o, &p) ||
      !check_extras(ctx, &p, bias, residual))
    return NULL;
  iso_tensor *copies[] = {iso__channels_last_copy(ctx, x), iso__channels_last_copy(ctx, w),
                          bias ? iso__contiguous_copy(ctx, bias) : NULL,
                          residual ? iso__channels_last_copy(ctx, residual) : NULL};
  if (copies[0]) x = copies[0];
  if (copies[1]) w = copies[1];
  if (copies[2]) bias = copies[2];
  if (copies[3]) residual = copies[3];
  p.has_bias = bias != NULL;
  p.has_residual = residual != NULL;
  p.activation = o->relu ? ISO__ACTIVATION_RELU : ISO__ACTIVATION_NONE;
  const int64_t shape[4] = {p.n, p.k, iso__conv_out_h(&p), iso__conv_out_w(&p)};
  iso_tensor *y = iso__failed(ctx) ? NULL : iso_tensor_new_channels_last(ctx, x->view.dtype, 4, shape);
  const iso_conv_args args = {.x = iso__data(x),
                              .w = iso__data(w),
                              .bias = iso__data(bias),
                              .residual = iso__data(residual),
                              .y = iso__data(y)};
  y = iso__finish(ctx, y, y ? iso__execute_with(ctx, &p.head, &args, w) : ISO_OUT_OF_MEMORY, ISO__RULE_CONV2D,
                  &(iso__finish_options){.inputs = ISO__TENSORS(x, w, bias, residual),
                                         .n_inputs = 4,
                                         .saved = ISO__TENSORS(iso__saves_for(w) ? x : NULL,
                                                               iso__saves_for(x) ? w : NULL, o->relu ? y : NULL),
                                         .n_saved = 3,
                                         .attrs = &p,
                                         .attr_bytes = sizeof p});
  for (int i = 0; i < 4; i++) iso_release(copies[i]);
  return y;
}

/* ---- the two gradients: a, b are (dy, w) or (x, dy) ---- */

static iso_tensor *bwd(iso_context *ctx, const iso_conv_problem *geometry, iso__op op, const iso_tensor *a,
                       const iso_tensor *b) {
  if (!iso__takes(ctx, "conv2d", 2, ISO__TENSORS(a, b))) return NULL;
  const bool data = op == ISO__OP_CONV_BWD_DATA;
  const iso_conv_problem p = of_direction(geometry, op);
  iso_tensor *a_copy = iso__channels_last_copy(ctx, a), *b_copy = iso__channels_last_copy(ctx, b);
  if (a_copy) a = a_copy;
  if (b_copy) b = b_copy;
  const int64_t x_shape[4] = {p.n, p.c, p.h, p.w}, w_shape[4] = {p.k, p.c / p.groups, p.r, p.s};
  iso_tensor *result =
      iso__failed(ctx) ? NULL : iso_tensor_new_channels_last(ctx, a->view.dtype, 4, data ? x_shape : w_shape);
  const iso_conv_args args = data ? (iso_conv_args){.dy = iso__data(a), .w = iso__data(b), .dx = iso__data(result)}
                                  : (iso_conv_args){.x = iso__data(a), .dy = iso__data(b), .dw = iso__data(result)};
  result = iso__finish(
      ctx, result, result ? iso__execute_with(ctx, &p.head, &args, b) : ISO_OUT_OF_MEMORY,
      data ? ISO__RULE_CONV2D_BWD_DATA : ISO__RULE_CONV2D_BWD_WEIGHTS,
      &(iso__finish_options){.inputs = ISO__TENSORS(a, b),
                             .n_inputs = 2,
                             .saved = ISO__TENSORS(iso__saves_for(b) ? a : NULL, iso__saves_for(a) ? b : NULL),
                             .n_saved = 2,
                             .attrs = geometry,
                             .attr_bytes = sizeof *geometry});
  iso_release(a_copy);
  iso_release(b_copy);
  return result;
}

/* fwd again, with the recorded geometry and no epilogue. */
static iso_tensor *fwd(iso_context *ctx, const iso_conv_problem *p, const iso_tensor *x, const iso_tensor *w) {
  return iso_conv2d(ctx, x, w, NULL,
                    &(iso_conv2d_options){.stride_h = p->stride_h,
                                          .stride_w = p->stride_w,
                                          .pad_h = p->pad_top,
                                          .pad_w = p->pad_left,
                                          .dilation_h = p->dilation_h,
                                          .dilation_w = p->dilation_w,
                                          .groups = p->groups});
}

void iso__conv2d_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  const iso_conv_problem *p = iso__attrs(g);
  iso_tensor *dz = p->activation == ISO__ACTIVATION_RELU
                       ? iso__relu_bwd(ctx, iso__saved(g, 2), g->dy[0], iso__reusable_dy(g))
                       : iso_channels_last(ctx, g->dy[0]);
  if (iso__needs(g, 0)) g->dx[0] = bwd(ctx, p, ISO__OP_CONV_BWD_DATA, dz, iso__saved(g, 1));
  if (iso__needs(g, 1)) g->dx[1] = bwd(ctx, p, ISO__OP_CONV_BWD_WEIGHTS, iso__saved(g, 0), dz);
  if (iso__needs(g, 2)) g->dx[2] = iso_sum(ctx, dz, 3, (const int[]){0, 2, 3}, false);
  if (iso__needs(g, 3)) g->dx[3] = dz;
}

/* data(dy,w) for an incoming u (x's shape): fwd(u,w) for dy, weights(u,dy) for w */
void iso__conv2d_bwd_data_gradient(iso__gradient *g) {
  const iso_conv_problem *p = iso__attrs(g);
  if (iso__needs(g, 0)) g->dx[0] = fwd(g->ctx, p, g->dy[0], iso__saved(g, 1));
  if (iso__needs(g, 1)) g->dx[1] = bwd(g->ctx, p, ISO__OP_CONV_BWD_WEIGHTS, g->dy[0], iso__saved(g, 0));
}

/* weights(x,dy) for an incoming u (w's shape): data(dy,u) for x, fwd(x,u) for dy */
void iso__conv2d_bwd_weights_gradient(iso__gradient *g) {
  const iso_conv_problem *p = iso__attrs(g);
  if (iso__needs(g, 0)) g->dx[0] = bwd(g->ctx, p, ISO__OP_CONV_BWD_DATA, iso__saved(g, 1), g->dy[0]);
  if (iso__needs(g, 1)) g->dx[1] = fwd(g->ctx, p, iso__saved(g, 0), g->dy[0]);
}
