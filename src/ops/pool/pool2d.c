/* pool2d.c: max and average pooling of channels-last images.
 *
 * Both are linear once max pooling's winners are known: it keeps them as one byte an output (kernel position r·S + s),
 * and the gradient of its gradient picks those positions again. */
#include "kernels/pool/pool.h"
#include "ops/ops.h"

static int64_t or_else(int64_t n, int64_t usual) { return n ? n : usual; }

static bool geometry_of(iso_context *ctx, const char *op, const iso_tensor *x, const iso_pool2d_options *o, bool max,
                        iso_pool_problem *p) {
  ISO__PROBLEM_INIT(*p, max ? ISO__OP_MAX_POOL_FWD : ISO__OP_AVG_POOL_FWD, x->view.dtype);
  char text[128];
  iso__shape_text(x->view.n_dims, x->view.shape, text, sizeof text);
  if (x->view.n_dims != 4) {
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op, "x is %s: four dimensions are needed", text);
    return false;
  }
  const int64_t *s = x->view.shape;
  p->n = s[0], p->c = s[1], p->h = s[2], p->w = s[3];
  p->kernel_h = o->kernel_h, p->kernel_w = o->kernel_w;
  p->stride_h = or_else(o->stride_h, o->kernel_h), p->stride_w = or_else(o->stride_w, o->kernel_w);
  p->pad_h = o->pad_h, p->pad_w = o->pad_w;
  const int64_t most = (int64_t)1 << 31; /* so that sums and products of two stay in range */
  p->count_padding = !max && o->count_padding;
  if (p->kernel_h < 1 || p->kernel_w < 1 || p->stride_h < 1 || p->stride_w < 1 || p->pad_h < 0 || p->pad_w < 0 ||
      p->pad_h > p->kernel_h / 2 || p->pad_w > p->kernel_w / 2 || p->kernel_h > most || p->kernel_w > most ||
      p->stride_h > most || p->stride_w > most)
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op,
              "kernel (%lld,%lld), stride (%lld,%lld), padding (%lld,%lld): padding is at most half the kernel",
              (long long)p->kernel_h, (long long)p->kernel_w, (long long)p->stride_h, (long long)p->stride_w,
              (long long)p->pad_h, (long long)p->pad_w);
  else if (p->kernel_h > p->h + 2 * p->pad_h || p->kernel_w > p->w + 2 * p->pad_w)
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op, "the kernel (%lld,%lld) does not fit into x %s padded (%lld,%lld)",
              (long long)p->kernel_h, (long long)p->kernel_w, text, (long long)p->pad_h, (long long)p->pad_w);
  else if (max && p->kernel_h * p->kernel_w > 255)
    ISO__FAIL(ctx, ISO_UNSUPPORTED, op, "a kernel of %lld positions: at most 255",
              (long long)(p->kernel_h * p->kernel_w));
  return !iso__failed(ctx);
}

static iso_tensor *image_new(iso_context *ctx, iso_dtype dtype, const iso_pool_problem *p, bool output) {
  const int64_t in[4] = {p->n, p->c, p->h, p->w};
  const int64_t out[4] = {p->n, p->c, iso__pool_out_h(p), iso__pool_out_w(p)};
  return iso_tensor_new_channels_last(ctx, dtype, 4, output ? out : in);
}

static iso_pool_problem of_direction(const iso_pool_problem *geometry, iso__op op) {
  iso_pool_problem p = *geometry;
  p.head.op = (uint16_t)op;
  return p;
}

/* The gradient operators: dy (and the winners) → dx. */
static iso_tensor *bwd(iso_context *ctx, const iso_pool_problem *geometry, iso__op op, iso__rule_id rule,
                       const iso_tensor *dy, const iso_tensor *index) {
  if (iso__failed(ctx) || !dy) return NULL;
  const iso_pool_problem p = of_direction(geometry, op);
  iso_tensor *copy = iso__channels_last_copy(ctx, dy);
  if (copy) dy = copy;
  iso_tensor *dx = iso__failed(ctx) ? NULL : image_new(ctx, dy->view.dtype, &p, false);
  const iso_pool_args args = {.dy = iso__data(dy), .dx = iso__data(dx), .index = iso__data(index)};
  dx = iso__finish(ctx, dx, dx ? iso__execute(ctx, &p.head, &args) : ISO_OUT_OF_MEMORY, rule,
                   &(iso__finish_options){.inputs = ISO__TENSORS(dy),
                                          .n_inputs = 1,
                                          .saved = ISO__TENSORS(index),
                                          .n_saved = 1,
                                          .attrs = geometry,
                                          .attr_bytes = sizeof *geometry});
  return iso__drop(dx, copy);
}

/* ---- average ---- */

static iso_tensor *average(iso_context *ctx, const iso_tensor *x, const iso_pool_problem *geometry) {
  const iso_pool_problem p = of_direction(geometry, ISO__OP_AVG_POOL_FWD);
  iso_tensor *copy = iso__channels_last_copy(ctx, x);
  if (copy) x = copy;
  iso_tensor *y = iso__failed(ctx) ? NULL : image_new(ctx, x->view.dtype, &p, true);
  const iso_pool_args args = {.x = iso__data(x), .y = iso__data(y)};
  y = iso__finish(
      ctx, y, y ? iso__execute(ctx, &p.head, &args) : ISO_OUT_OF_MEMORY, ISO__RULE_AVG_POOL2D,
      &(iso__finish_options){.inputs = ISO__TENSORS(x), .n_inputs = 1, .attrs = &p, .attr_bytes = sizeof p});
  return iso__drop(y, copy);
}

iso_tensor *iso_avg_pool2d(iso_context *ctx, const iso_tensor *x, const iso_pool2d_options *options) {
  iso_pool_problem p;
  if (!options || !iso__takes_floats(ctx, "avg_pool2d", 1, ISO__TENSORS(x)) ||
      !geometry_of(ctx, "avg_pool2d", x, options, false, &p))
    return NULL;
  return average(ctx, x, &p);
}

iso_tensor *iso_global_avg_pool2d(iso_context *ctx, const iso_tensor *x) {
  if (iso__failed(ctx) || !x) return NULL;
  const bool image = x->view.n_dims == 4;
  return iso_avg_pool2d(
      ctx, x,
      &(iso_pool2d_options){.kernel_h = image ? x->view.shape[2] : 1, .kernel_w = image ? x->view.shape[3] : 1});
}

void iso__avg_pool2d_gradient(iso__gradient *g) {
  g->dx[0] = bwd(g->ctx, iso__attrs(g), ISO__OP_AVG_POOL_BWD, ISO__RULE_AVG_POOL2D_BWD, g->dy[0], NULL);
}
void iso__avg_pool2d_bwd_gradient(iso__gradient *g) { g->dx[0] = average(g->ctx, g->dy[0], iso__attrs(g)); }

/* ---- maximum ---- */

iso_tensor *iso_max_pool2d(iso_context *ctx, const iso_tensor *x, const iso_pool2d_options *options) {
  iso_pool_problem p;
  if (!options || !iso__takes_floats(ctx, "max_pool2d", 1, ISO__TENSORS(x)) ||
      !geometry_of(ctx, "max_pool2d", x, options, true, &p))
    return NULL;
  iso_tensor *copy = iso__channels_last_copy(ctx, x);
  if (copy) x = copy;
  iso_tensor *index = iso__failed(ctx) ? NULL : image_new(ctx, ISO_U8, &p, true);
  iso_tensor *y = index ? image_new(ctx, x->view.dtype, &p, true) : NULL;
  const iso_pool_args args = {.x = iso__data(x), .y = iso__data(y), .index = iso__data(index)};
  y = iso__finish(ctx, y, y ? iso__execute(ctx, &p.head, &args) : ISO_OUT_OF_MEMORY, ISO__RULE_MAX_POOL2D,
                  &(iso__finish_options){.inputs = ISO__TENSORS(x),
                                         .n_inputs = 1,
                                         .saved = ISO__TENSORS(index),
                                         .n_saved = 1,
                                         .attrs = &p,
                                         .attr_bytes = sizeof p});
  iso_release(index);
  return iso__drop(y, copy);
}

void iso__max_pool2d_gradient(iso__gradient *g) {
  g->dx[0] = bwd(g->ctx, iso__attrs(g), ISO__OP_MAX_POOL_BWD, ISO__RULE_MAX_POOL2D_BWD, g->dy[0], iso__saved(g, 0));
}

/* x with zeros around it: (N,C,H+2·pad_h,W+2·pad_w). */
static iso_tensor *pad(iso_context *ctx, const iso_tensor *x, const iso_pool_problem *p) {
  if (!x) return NULL;
  iso__view wide = x->view;
  wide.shape[2] += 2 * p->pad_h;
  iso_tensor *tall =
      iso__slice_bwd(ctx, x, &wide, &(iso__slice){.axis = 2, .begin = p->pad_h, .end = p->pad_h + p->h, .step = 1});
  wide.shape[3] += 2 * p->pad_w;
  return iso__slice_bwd(ctx, tall, &wide,
                        &(iso__slice){.axis = 3, .begin = p->pad_w, .end = p->pad_w + p->w, .step = 1});
}

/* Picks u (x's shape) at the winners: for each kernel position, that strided slice of u where the position won. */
void iso__max_pool2d_bwd_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  const iso_pool_problem *p = iso__attrs(g);
  iso_tensor *u = p->pad_h || p->pad_w ? pad(ctx, g->dy[0], p) : g->dy[0];
  iso_tensor *index = iso_cast(ctx, iso__saved(g, 0), g->dy[0]->view.dtype);
  const int64_t rows = (iso__pool_out_h(p) - 1) * p->stride_h + 1, columns = (iso__pool_out_w(p) - 1) * p->stride_w + 1;
  iso_tensor *picked = NULL, *zero = iso__scalar(ctx, g->dy[0]->view.dtype, 0);
  for (int64_t r = 0; r < p->kernel_h; r++)
    for (int64_t s = 0; s < p->kernel_w; s++) {
      iso_tensor *here = iso_slice(ctx, iso_slice(ctx, u, 2, r, r + rows, p->stride_h), 3, s, s + columns, p->stride_w);
      iso_tensor *won = iso_eq(ctx, index, iso__scalar(ctx, g->dy[0]->view.dtype, (double)(r * p->kernel_w + s)));
      iso_tensor *part = iso_where(ctx, won, here, zero);
      picked = picked ? iso_add(ctx, picked, part) : part;
    }
  g->dx[0] = picked;
}
