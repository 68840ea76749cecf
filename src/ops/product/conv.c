/* conv.c: convolution, transposed convolution and their gradients, operators closed under differentiation.
 *
 * With fwd(x,w), data(dy,w) and weights(x,dy) the kernels' three directions: each is linear in both arguments, and the
 * gradient of any of them for an argument is one of the other two. A transposed convolution is data(x,w) of the
 * convolution that it mirrors, with an epilogue of its own. One to three dimensions are one code. Everything is
 * channels-last; operands in another order are copied, except where a kernel reads x channels-first as fast. */
#include "ops/product/conv.h"

static iso_conv_problem of_direction(const iso__conv_geometry *g, iso__op op) {
  iso_conv_problem p = g->problem;
  p.head.op = (uint16_t)op;
  p.activation = ISO__ACTIVATION_NONE;
  return p;
}

/* In which storage x (of fwd and weights) goes to the kernels is decided here alone. NULL: as it is. */
static iso_tensor *x_copy(iso_context *ctx, iso_conv_problem *p, const iso_tensor *x) {
  p->x_first = !iso__failed(ctx) && !iso__view_is_channels_last(&x->view) && iso__view_is_contiguous(&x->view) &&
               iso__conv_prefers_first(&p->head, iso_policy_current(ctx));
  return p->x_first ? NULL : iso__channels_last_copy(ctx, x);
}

/* Takes `copy`, if there is one, in the place of t. */
static const iso_tensor *or_copy(const iso_tensor *t, const iso_tensor *copy) { return copy ? copy : t; }

/* ---- the three directions ---- */

/* y = activation(fwd(x,w) + bias + residual) with the geometry's activation. */
static iso_tensor *fwd(iso_context *ctx, const iso__conv_geometry *g, const iso_tensor *x, const iso_tensor *w,
                       const iso_tensor *bias, const iso_tensor *residual) {
  if (!iso__takes(ctx, "conv", 2, ISO__TENSORS(x, w))) return NULL;
  iso_conv_problem p = g->problem;
  p.has_bias = bias != NULL;
  p.has_residual = residual != NULL;
  iso_tensor *copies[] = {x_copy(ctx, &p, x), iso__channels_last_copy(ctx, w),
                          bias ? iso__contiguous_copy(ctx, bias) : NULL,
                          residual ? iso__channels_last_copy(ctx, residual) : NULL};
  x = or_copy(x, copies[0]), w = or_copy(w, copies[1]);
  bias = or_copy(bias, copies[2]), residual = or_copy(residual, copies[3]);
  int64_t shape[5];
  iso__conv_y_shape(g, shape);
  iso_tensor *y = iso__failed(ctx) ? NULL : iso_tensor_new_channels_last(ctx, x->view.dtype, g->n_axes + 2, shape);
  const iso_conv_args args = {.x = iso__data(x),
                              .w = iso__data(w),
                              .bias = iso__data(bias),
                              .residual = iso__data(residual),
                              .y = iso__data(y)};
  y = iso__finish(ctx, y, y ? iso__execute_with(ctx, &p.head, &args, w) : ISO_OUT_OF_MEMORY, ISO__RULE_CONV,
                  &(iso__finish_options){.inputs = ISO__TENSORS(x, w, bias, residual),
                                         .n_inputs = 4,
                                         .saved = ISO__TENSORS(iso__saves_for(w) ? x : NULL,
                                                               iso__saves_for(x) ? w : NULL, p.activation ? y : NULL),
                                         .n_saved = 3,
                                         .attrs = g,
                                         .attr_bytes = sizeof *g});
  for (int i = 0; i < 4; i++) iso_release(copies[i]);
  return y;
}

/* data(dy,w) without recording; dy and w are channels-last. */
static iso_tensor *run_data(iso_context *ctx, const iso__conv_geometry *g, const iso_tensor *dy, const iso_tensor *w) {
  const iso_conv_problem p = of_direction(g, ISO__OP_CONV_BWD_DATA);
  int64_t shape[5];
  iso__conv_x_shape(g, shape);
  iso_tensor *dx = iso__failed(ctx) ? NULL : iso_tensor_new_channels_last(ctx, dy->view.dtype, g->n_axes + 2, shape);
  const iso_conv_args args = {.dy = iso__data(dy), .w = iso__data(w), .dx = iso__data(dx)};
  return dx && iso__execute_with(ctx, &p.head, &args, w) != ISO_OK ? iso__drop(NULL, dx) : dx;
}

static const iso_tensor *const *saved_pair(const iso_tensor *pair[2], const iso_tensor *a, const iso_tensor *b) {
  pair[0] = iso__saves_for(b) ? a : NULL, pair[1] = iso__saves_for(a) ? b : NULL;
  return pair;
}

static iso_tensor *finish_pair(iso_context *ctx, iso_tensor *y, iso__rule_id rule, const iso__conv_geometry *g,
                               const iso_tensor *a, const iso_tensor *b) {
  const iso_tensor *pair[2];
  return iso__finish(ctx, y, ISO_OK, rule,
                     &(iso__finish_options){.inputs = ISO__TENSORS(a, b),
                                            .n_inputs = 2,
                                            .saved = saved_pair(pair, a, b),
                                            .n_saved = 2,
                                            .attrs = g,
                                            .attr_bytes = sizeof *g});
}

static iso_tensor *data(iso_context *ctx, const iso__conv_geometry *g, const iso_tensor *dy, const iso_tensor *w) {
  if (!iso__takes(ctx, "conv_bwd_data", 2, ISO__TENSORS(dy, w))) return NULL;
  iso_tensor *copies[] = {iso__channels_last_copy(ctx, dy), iso__channels_last_copy(ctx, w)};
  dy = or_copy(dy, copies[0]), w = or_copy(w, copies[1]);
  iso_tensor *dx = finish_pair(ctx, run_data(ctx, g, dy, w), ISO__RULE_CONV_BWD_DATA, g, dy, w);
  for (int i = 0; i < 2; i++) iso_release(copies[i]);
  return dx;
}

static iso_tensor *weights(iso_context *ctx, const iso__conv_geometry *g, const iso_tensor *x, const iso_tensor *dy) {
  if (!iso__takes(ctx, "conv_bwd_weights", 2, ISO__TENSORS(x, dy))) return NULL;
  iso_conv_problem p = of_direction(g, ISO__OP_CONV_BWD_WEIGHTS);
  iso_tensor *copies[] = {x_copy(ctx, &p, x), iso__channels_last_copy(ctx, dy)};
  x = or_copy(x, copies[0]), dy = or_copy(dy, copies[1]);
  int64_t shape[5];
  iso__conv_w_shape(g, shape);
  iso_tensor *dw = iso__failed(ctx) ? NULL : iso_tensor_new_channels_last(ctx, x->view.dtype, g->n_axes + 2, shape);
  const iso_conv_args args = {.x = iso__data(x), .dy = iso__data(dy), .dw = iso__data(dw)};
  if (dw && iso__execute(ctx, &p.head, &args) != ISO_OK) dw = iso__drop(NULL, dw);
  dw = finish_pair(ctx, dw, ISO__RULE_CONV_BWD_WEIGHTS, g, x, dy);
  for (int i = 0; i < 2; i++) iso_release(copies[i]);
  return dw;
}

/* ---- transposed ---- */

/* y + bias + residual, then the activation, into y. */
static void epilogue(iso_context *ctx, const iso__conv_geometry *g, iso_tensor *y, const iso_tensor *bias,
                     const iso_tensor *residual) {
  const bool relu = g->problem.activation == ISO__ACTIVATION_RELU;
  iso_tensor *column = NULL; /* bias as (C,1,…) */
  if (bias) {
    iso__view v = bias->view;
    v.n_dims = g->n_axes + 1;
    for (int d = 1; d < v.n_dims; d++) v.shape[d] = v.strides[d] = 1;
    column = iso__tensor_from_view(ctx, &v);
  }
  const iso__map_fn last = relu ? ISO__MAP_ADD_RELU : ISO__MAP_ADD;
  if (column) iso__map(ctx, "conv_transpose", residual ? ISO__MAP_ADD : last, 2, ISO__TENSORS(y, column), NULL, y);
  if (residual) iso__map(ctx, "conv_transpose", last, 2, ISO__TENSORS(y, residual), NULL, y);
  if (relu && !bias && !residual) iso__map(ctx, "conv_transpose", ISO__MAP_RELU, 1, ISO__TENSORS(y), NULL, y);
  iso_release(column);
}

static iso_tensor *transposed(iso_context *ctx, const iso__conv_geometry *g, const iso_tensor *x, const iso_tensor *w,
                              const iso_tensor *bias, const iso_tensor *residual) {
  iso_tensor *copies[] = {iso__channels_last_copy(ctx, x), iso__channels_last_copy(ctx, w)};
  x = or_copy(x, copies[0]), w = or_copy(w, copies[1]);
  iso_tensor *y = run_data(ctx, g, x, w);
  if (y) epilogue(ctx, g, y, bias, residual);
  y = iso__finish(
      ctx, y, ctx->error.code, ISO__RULE_CONV_TRANSPOSE,
      &(iso__finish_options){.inputs = ISO__TENSORS(x, w, bias, residual),
                             .n_inputs = 4,
                             .saved = ISO__TENSORS(iso__saves_for(w) ? x : NULL, iso__saves_for(x) ? w : NULL,
                                                   g->problem.activation ? y : NULL),
                             .n_saved = 3,
                             .attrs = g,
                             .attr_bytes = sizeof *g});
  for (int i = 0; i < 2; i++) iso_release(copies[i]);
  return y;
}

/* ---- gradients ---- */

/* The gradient before the activation; those of bias and residual, which are the same for both kinds. */
static iso_tensor *before_activation(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  const iso__conv_geometry *geometry = iso__attrs(g);
  iso_tensor *dz = geometry->problem.activation == ISO__ACTIVATION_RELU
                       ? iso__relu_bwd(ctx, iso__saved(g, 2), g->dy[0], iso__reusable_dy(g))
                       : iso_channels_last(ctx, g->dy[0]);
  if (iso__needs(g, 2)) g->dx[2] = iso_sum(ctx, dz, geometry->n_axes + 1, (const int[]){0, 2, 3, 4}, false);
  if (iso__needs(g, 3)) g->dx[3] = dz;
  return dz;
}

void iso__conv_gradient(iso__gradient *g) {
  const iso__conv_geometry *geometry = iso__attrs(g);
  iso_tensor *dz = before_activation(g);
  if (iso__needs(g, 0)) g->dx[0] = data(g->ctx, geometry, dz, iso__saved(g, 1));
  if (iso__needs(g, 1)) g->dx[1] = weights(g->ctx, geometry, iso__saved(g, 0), dz);
}

/* The geometry of a gradient's own operators: no activation. */
static iso__conv_geometry linear(const iso__gradient *g) {
  iso__conv_geometry geometry = *(const iso__conv_geometry *)iso__attrs(g);
  geometry.problem.activation = ISO__ACTIVATION_NONE;
  return geometry;
}

/* data(x,w): fwd(dz,w) for x, weights(dz,x) for w */
void iso__conv_transpose_gradient(iso__gradient *g) {
  const iso__conv_geometry geometry = linear(g);
  iso_tensor *dz = before_activation(g);
  if (iso__needs(g, 0)) g->dx[0] = fwd(g->ctx, &geometry, dz, iso__saved(g, 1), NULL, NULL);
  if (iso__needs(g, 1)) g->dx[1] = weights(g->ctx, &geometry, dz, iso__saved(g, 0));
}

/* data(dy,w) for an incoming u (x's shape): fwd(u,w) for dy, weights(u,dy) for w */
void iso__conv_bwd_data_gradient(iso__gradient *g) {
  const iso__conv_geometry geometry = linear(g);
  if (iso__needs(g, 0)) g->dx[0] = fwd(g->ctx, &geometry, g->dy[0], iso__saved(g, 1), NULL, NULL);
  if (iso__needs(g, 1)) g->dx[1] = weights(g->ctx, &geometry, g->dy[0], iso__saved(g, 0));
}

/* weights(x,dy) for an incoming u (w's shape): data(dy,u) for x, fwd(x,u) for dy */
void iso__conv_bwd_weights_gradient(iso__gradient *g) {
  const iso__conv_geometry geometry = linear(g);
  if (iso__needs(g, 0)) g->dx[0] = data(g->ctx, &geometry, iso__saved(g, 1), g->dy[0]);
  if (iso__needs(g, 1)) g->dx[1] = fwd(g->ctx, &geometry, iso__saved(g, 0), g->dy[0], NULL, NULL);
}

/* ---- the public six ---- */

static int64_t or_one(int64_t n) { return n ? n : 1; }

static iso__conv_request request_1d(const iso_conv1d_options *options) {
  static const iso_conv1d_options none;
  const iso_conv1d_options *o = options ? options : &none;
  return (iso__conv_request){.n_axes = 1,
                             .axis = {{.stride = or_one(o->stride),
                                       .dilation = or_one(o->dilation),
                                       .before = iso__conv_side(o->pad, o->pad_left),
                                       .after = iso__conv_side(o->pad, o->pad_right),
                                       .output_pad = o->output_pad}},
                             .groups = or_one(o->groups),
                             .residual = o->residual,
                             .relu = o->relu};
}

static iso__conv_request request_2d(const iso_conv2d_options *options) {
  static const iso_conv2d_options none;
  const iso_conv2d_options *o = options ? options : &none;
  return (iso__conv_request){.n_axes = 2,
                             .axis = {{.stride = or_one(o->stride_h),
                                       .dilation = or_one(o->dilation_h),
                                       .before = iso__conv_side(o->pad_h, o->pad_top),
                                       .after = iso__conv_side(o->pad_h, o->pad_bottom),
                                       .output_pad = o->output_pad_h},
                                      {.stride = or_one(o->stride_w),
                                       .dilation = or_one(o->dilation_w),
                                       .before = iso__conv_side(o->pad_w, o->pad_left),
                                       .after = iso__conv_side(o->pad_w, o->pad_right),
                                       .output_pad = o->output_pad_w}},
                             .groups = or_one(o->groups),
                             .residual = o->residual,
                             .relu = o->relu};
}

static iso__conv_request request_3d(const iso_conv3d_options *options) {
  static const iso_conv3d_options none;
  const iso_conv3d_options *o = options ? options : &none;
  return (iso__conv_request){.n_axes = 3,
                             .axis = {{.stride = or_one(o->stride_d),
                                       .dilation = or_one(o->dilation_d),
                                       .before = iso__conv_side(o->pad_d, o->pad_front),
                                       .after = iso__conv_side(o->pad_d, o->pad_back),
                                       .output_pad = o->output_pad_d},
                                      {.stride = or_one(o->stride_h),
                                       .dilation = or_one(o->dilation_h),
                                       .before = iso__conv_side(o->pad_h, o->pad_top),
                                       .after = iso__conv_side(o->pad_h, o->pad_bottom),
                                       .output_pad = o->output_pad_h},
                                      {.stride = or_one(o->stride_w),
                                       .dilation = or_one(o->dilation_w),
                                       .before = iso__conv_side(o->pad_w, o->pad_left),
                                       .after = iso__conv_side(o->pad_w, o->pad_right),
                                       .output_pad = o->output_pad_w}},
                             .groups = or_one(o->groups),
                             .residual = o->residual,
                             .relu = o->relu};
}

static iso_tensor *compute(iso_context *ctx, const char *op, bool is_transposed, iso__conv_request r,
                           const iso_tensor *x, const iso_tensor *w, const iso_tensor *bias) {
  ISO__AUTOCAST(ctx, op, compute(ctx, op, is_transposed, r, x, w, bias), &x, &w, &bias, &r.residual);
  iso__conv_geometry g;
  r.op = op, r.transposed = is_transposed, r.x = x, r.w = w, r.bias = bias;
  if (!iso__takes(ctx, op, 2, ISO__TENSORS(x, w)) ||
      !iso__takes_dtypes(ctx, op, ISO__REAL_DTYPES, 4, ISO__TENSORS(x, w, bias, r.residual)) ||
      !iso__conv_infer(ctx, &r, &g))
    return NULL;
  if (iso__is_half(x->view.dtype)) {
    const bool relu = r.relu;
    r.relu = false;
    if (relu) return iso__then_relu(ctx, compute(ctx, op, is_transposed, r, x, w, bias));
    ISO__HALVES(ctx, compute(ctx, op, is_transposed, r, x, w, bias), &x, &w, &bias, &r.residual);
  }
  return (is_transposed ? transposed : fwd)(ctx, &g, x, w, bias, r.residual);
}

iso_tensor *iso_conv1d(iso_context *ctx, const iso_tensor *x, const iso_tensor *w, const iso_tensor *bias,
                       const iso_conv1d_options *options) {
  return compute(ctx, "conv1d", false, request_1d(options), x, w, bias);
}
iso_tensor *iso_conv_transpose1d(iso_context *ctx, const iso_tensor *x, const iso_tensor *w, const iso_tensor *bias,
                                 const iso_conv1d_options *options) {
  return compute(ctx, "conv_transpose1d", true, request_1d(options), x, w, bias);
}
iso_tensor *iso_conv2d(iso_context *ctx, const iso_tensor *x, const iso_tensor *w, const iso_tensor *bias,
                       const iso_conv2d_options *options) {
  return compute(ctx, "conv2d", false, request_2d(options), x, w, bias);
}
iso_tensor *iso_conv_transpose2d(iso_context *ctx, const iso_tensor *x, const iso_tensor *w, const iso_tensor *bias,
                                 const iso_conv2d_options *options) {
  return compute(ctx, "conv_transpose2d", true, request_2d(options), x, w, bias);
}
iso_tensor *iso_conv3d(iso_context *ctx, const iso_tensor *x, const iso_tensor *w, const iso_tensor *bias,
                       const iso_conv3d_options *options) {
  return compute(ctx, "conv3d", false, request_3d(options), x, w, bias);
}
iso_tensor *iso_conv_transpose3d(iso_context *ctx, const iso_tensor *x, const iso_tensor *w, const iso_tensor *bias,
                                 const iso_conv3d_options *options) {
  return compute(ctx, "conv_transpose3d", true, request_3d(options), x, w, bias);
}
