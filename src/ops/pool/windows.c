/* windows.c: max and average pooling, by windows or adaptive, and their gradients.
 *
 * Both are linear once max pooling's winners are known: it keeps them as one byte an output (the kernel position), or
 * as positions in the plane where the caller wants those, where a kernel has more than 255 positions and where windows
 * differ in size. The gradient of max's gradient picks those elements again. */
#include "base/fenv.h"
#include "ops/pool/pool.h"

static iso_pool_problem of_direction(const iso__pooling *g, iso__op op) {
  iso_pool_problem p = g->problem;
  p.head.op = (uint16_t)op;
  return p;
}
static iso_tensor *input_new(iso_context *ctx, const iso__pooling *g, iso_dtype dtype) {
  const iso_pool_axis *a = g->problem.axis;
  return iso__planes_new(ctx, &g->form, dtype, (const int64_t[]){a[0].in, a[1].in, a[2].in});
}
static iso_tensor *output_new(iso_context *ctx, const iso__pooling *g, iso_dtype dtype) {
  const iso_pool_problem *p = &g->problem;
  return iso__planes_new(ctx, &g->form, dtype,
                         (const int64_t[]){iso__pool_out(p, 0), iso__pool_out(p, 1), iso__pool_out(p, 2)});
}

/* ---- average ---- */

iso_tensor *iso__avg_pool(iso_context *ctx, const iso_tensor *x, const iso__pooling *g) {
  if (iso__failed(ctx) || !x) return NULL;
  const iso_pool_problem p = of_direction(g, ISO__OP_AVG_POOL_FWD);
  iso_tensor *copy = iso__planes_copy(ctx, &g->form, x);
  if (copy) x = copy;
  iso_tensor *y = iso__failed(ctx) ? NULL : output_new(ctx, g, x->view.dtype);
  const iso_pool_args args = {.x = iso__data(x), .y = iso__data(y)};
  y = iso__finish(
      ctx, y, y ? iso__execute(ctx, &p.head, &args) : ISO_OUT_OF_MEMORY, ISO__RULE_AVG_POOL,
      &(iso__finish_options){.inputs = ISO__TENSORS(x), .n_inputs = 1, .attrs = g, .attr_bytes = sizeof *g});
  return iso__drop(y, copy);
}

/* The gradient operators: dy (and the winners) → dx. */
static iso_tensor *bwd(iso_context *ctx, const iso__pooling *g, iso__op op, iso__rule_id rule, const iso_tensor *dy,
                       const iso_tensor *index) {
  if (iso__failed(ctx) || !dy) return NULL;
  const iso_pool_problem p = of_direction(g, op);
  iso_tensor *copy = iso__planes_copy(ctx, &g->form, dy);
  if (copy) dy = copy;
  iso_tensor *dx = iso__failed(ctx) ? NULL : input_new(ctx, g, dy->view.dtype);
  const iso_pool_args args = {.dy = iso__data(dy), .dx = iso__data(dx), .index = iso__data(index)};
  dx = iso__finish(ctx, dx, dx ? iso__execute(ctx, &p.head, &args) : ISO_OUT_OF_MEMORY, rule,
                   &(iso__finish_options){.inputs = ISO__TENSORS(dy),
                                          .n_inputs = 1,
                                          .saved = ISO__TENSORS(index),
                                          .n_saved = 1,
                                          .attrs = g,
                                          .attr_bytes = sizeof *g});
  return iso__drop(dx, copy);
}
void iso__avg_pool_gradient(iso__gradient *g) {
  g->dx[0] = bwd(g->ctx, iso__attrs(g), ISO__OP_AVG_POOL_BWD, ISO__RULE_AVG_POOL_BWD, g->dy[0], NULL);
}
void iso__avg_pool_bwd_gradient(iso__gradient *g) { g->dx[0] = iso__avg_pool(g->ctx, g->dy[0], iso__attrs(g)); }

/* ---- maximum ---- */

iso_tensor *iso__max_pool(iso_context *ctx, const iso_tensor *x, iso__pooling *g, iso_tensor **indices) {
  if (iso__failed(ctx) || !x) return NULL;
  const iso_pool_problem p = of_direction(g, ISO__OP_MAX_POOL_FWD);
  iso_tensor *copy = iso__planes_copy(ctx, &g->form, x);
  if (copy) x = copy;
  iso_tensor *index = iso__failed(ctx) ? NULL : output_new(ctx, g, p.wide ? ISO_I64 : ISO_U8);
  iso_tensor *y = index ? output_new(ctx, g, x->view.dtype) : NULL;
  const iso_pool_args args = {.x = iso__data(x), .y = iso__data(y), .index = iso__data(index)};
  y = iso__finish(ctx, y, y ? iso__execute(ctx, &p.head, &args) : ISO_OUT_OF_MEMORY,
                  p.wide ? ISO__RULE_MAX_POOL_INDEXED : ISO__RULE_MAX_POOL,
                  &(iso__finish_options){.inputs = ISO__TENSORS(x),
                                         .n_inputs = 1,
                                         .saved = ISO__TENSORS(index),
                                         .n_saved = 1,
                                         .attrs = g,
                                         .attr_bytes = sizeof *g});
  if (indices && y) *indices = index;
  else iso_release(index);
  return iso__drop(y, copy);
}

void iso__max_pool_gradient(iso__gradient *g) {
  g->dx[0] = bwd(g->ctx, iso__attrs(g), ISO__OP_MAX_POOL_BWD, ISO__RULE_MAX_POOL_BWD, g->dy[0], iso__saved(g, 0));
}
void iso__max_pool_bwd_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  const iso__pooling *a = iso__attrs(g);
  const iso_pool_problem p = of_direction(a, ISO__OP_MAX_POOL_PICK);
  iso_tensor *index = iso__saved(g, 0), *copy = iso__planes_copy(ctx, &a->form, g->dy[0]);
  const iso_tensor *u = copy ? copy : g->dy[0];
  iso_tensor *y = iso__failed(ctx) ? NULL : output_new(ctx, a, u->view.dtype);
  const iso_pool_args args = {.x = iso__data(u), .y = iso__data(y), .index = iso__data(index)};
  g->dx[0] = iso__finish(ctx, y, y ? iso__execute(ctx, &p.head, &args) : ISO_OUT_OF_MEMORY, ISO__RULE_MAX_POOL_PICK,
                         &(iso__finish_options){.inputs = ISO__TENSORS(u),
                                                .n_inputs = 1,
                                                .saved = ISO__TENSORS(index),
                                                .n_saved = 1,
                                                .attrs = a,
                                                .attr_bytes = sizeof *a});
}
void iso__max_pool_pick_gradient(iso__gradient *g) { iso__max_pool_gradient(g); }

void iso__max_pool_indexed_gradient(iso__gradient *g) {
  const iso__pooling *a = iso__attrs(g);
  iso__unpooling u = {.form = a->form};
  for (int d = 0; d < 3; d++) u.places[d] = a->problem.axis[d].in, u.picks[d] = iso__pool_out(&a->problem, d);
  g->dx[0] = iso__unpool(g->ctx, ISO__OP_UNPOOL_ADD, ISO__RULE_UNPOOL_ADD, &u, g->dy[0], iso__saved(g, 0));
}

/* ---- from options to a pooling ---- */

/* Options of any number of axes, depth first; what an operator has no use for stays 0. */
typedef struct request {
  const char *op;
  int n_axes;
  bool max, adaptive;
  int64_t kernel[3], stride[3], pad[3], dilation[3], out[3];
  bool count_padding, ceil_mode;
  int64_t divisor;
} request;

static int64_t or_else(int64_t n, int64_t usual) { return n ? n : usual; }

static bool pooling_of(iso_context *ctx, const request *r, const iso_tensor *x, bool wide, iso__pooling *g) {
  memset(g, 0, sizeof *g);
  ISO__PROBLEM_INIT(g->problem, r->max ? ISO__OP_MAX_POOL_FWD : ISO__OP_AVG_POOL_FWD, x->view.dtype);
  iso_pool_problem *p = &g->problem;
  int64_t extent[3];
  iso__planes_extent(x, extent);
  for (int d = 0; d < 3; d++) {
    iso_pool_axis *a = &p->axis[d];
    *a = (iso_pool_axis){.in = extent[d], .kernel = 1, .stride = 1, .dilation = 1};
    if (d < 3 - r->n_axes) continue;
    if (r->adaptive) {
      a->out = r->out[d] == -1 ? extent[d] : r->out[d];
      if (r->out[d] == 0) a->out = -1; /* no windows: refused as negative numbers are */
    } else {
      a->kernel = r->kernel[d], a->stride = or_else(r->stride[d], r->kernel[d]);
      a->pad = r->pad[d], a->dilation = or_else(r->dilation[d], 1);
    }
  }
  p->count_padding = !r->max && r->count_padding;
  p->divisor = r->max ? 0 : r->divisor;
  p->ceil_ = !r->adaptive && r->ceil_mode;
  g->form = iso__planes_of(x);
  p->n = g->form.n, p->c = g->form.c;
  p->wide = r->max;
  const char *wrong = iso__pool_wrong(p);
  if (wrong) {
    char text[128];
    const bool shape = strstr(wrong, "fit") || strstr(wrong, "position") || strstr(wrong, "too many");
    if (r->adaptive)
      return ISO__FAIL(ctx, shape ? ISO_SHAPE_MISMATCH : ISO_INVALID_ARGUMENT, r->op,
                       "%s: x is %s, output (%lld,%lld,%lld)", wrong,
                       iso__shape_text(x->view.n_dims, x->view.shape, text, sizeof text), (long long)r->out[0],
                       (long long)r->out[1], (long long)r->out[2]),
             false;
    ISO__FAIL(ctx, shape ? ISO_SHAPE_MISMATCH : ISO_INVALID_ARGUMENT, r->op,
              "%s: x is %s, kernel (%lld,%lld,%lld), stride (%lld,%lld,%lld), padding (%lld,%lld,%lld), dilation "
              "(%lld,%lld,%lld)",
              wrong, iso__shape_text(x->view.n_dims, x->view.shape, text, sizeof text), (long long)p->axis[0].kernel,
              (long long)p->axis[1].kernel, (long long)p->axis[2].kernel, (long long)p->axis[0].stride,
              (long long)p->axis[1].stride, (long long)p->axis[2].stride, (long long)p->axis[0].pad,
              (long long)p->axis[1].pad, (long long)p->axis[2].pad, (long long)p->axis[0].dilation,
              (long long)p->axis[1].dilation, (long long)p->axis[2].dilation);
    return false;
  }
  p->wide = r->max && (wide || r->adaptive || iso__pool_window_volume(p) > 255);
  /* Planes of one channel are for windows of one chunk; larger ones go through vectors of channels. */
  if (iso__pool_window_volume(p) > 256 && p->c > 1) g->form.planar = false;
  p->n = iso__planes_n(&g->form), p->c = iso__planes_c(&g->form);
  return true;
}

static iso_tensor *pool(iso_context *ctx, const iso_tensor *x, const request *r, bool wants_indices,
                        iso_tensor **indices) {
  ISO__AUTOCAST(ctx, r->op, pool(ctx, x, r, wants_indices, indices), &x);
  ISO__HALVES(ctx, pool(ctx, x, r, wants_indices, indices), &x);
  bool batched = false;
  iso__pooling g;
  if (indices) *indices = NULL;
  if (wants_indices && !indices && !r->adaptive) return NULL;
  iso_tensor *image = iso__batch(ctx, r->op, x, r->n_axes, &batched), *y = NULL, *index = NULL;
  if (image && pooling_of(ctx, r, image, indices != NULL, &g))
    y = r->max ? iso__max_pool(ctx, image, &g, indices ? &index : NULL) : iso__avg_pool(ctx, image, &g);
  iso_release(image);
  y = iso__unbatch(ctx, y, batched);
  if (indices && index) *indices = iso__unbatch(ctx, index, batched);
  return y;
}

static request request1(const char *op, const iso_pool1d_options *o) {
  return (request){.op = op,
                   .n_axes = 1,
                   .kernel = {1, 1, o->kernel},
                   .stride = {1, 1, o->stride},
                   .pad = {0, 0, o->pad},
                   .dilation = {1, 1, o->dilation},
                   .count_padding = o->count_padding,
                   .ceil_mode = o->ceil_mode,
                   .divisor = o->divisor};
}
static request request2(const char *op, const iso_pool2d_options *o) {
  return (request){.op = op,
                   .n_axes = 2,
                   .kernel = {1, o->kernel_h, o->kernel_w},
                   .stride = {1, o->stride_h, o->stride_w},
                   .pad = {0, o->pad_h, o->pad_w},
                   .dilation = {1, o->dilation_h, o->dilation_w},
                   .count_padding = o->count_padding,
                   .ceil_mode = o->ceil_mode,
                   .divisor = o->divisor};
}
static request request3(const char *op, const iso_pool3d_options *o) {
  return (request){.op = op,
                   .n_axes = 3,
                   .kernel = {o->kernel_d, o->kernel_h, o->kernel_w},
                   .stride = {o->stride_d, o->stride_h, o->stride_w},
                   .pad = {o->pad_d, o->pad_h, o->pad_w},
                   .dilation = {o->dilation_d, o->dilation_h, o->dilation_w},
                   .count_padding = o->count_padding,
                   .ceil_mode = o->ceil_mode,
                   .divisor = o->divisor};
}

static iso_tensor *max_pool(iso_context *ctx, const iso_tensor *x, request r, bool wants_indices,
                            iso_tensor **indices) {
  r.max = true;
  return pool(ctx, x, &r, wants_indices, indices);
}
#define WINDOWS(n)                                                                                                     \
  iso_tensor *iso_max_pool##n##d(iso_context *ctx, const iso_tensor *x, const iso_pool##n##d_options *options) {       \
    return options ? max_pool(ctx, x, request##n("max_pool" #n "d", options), false, NULL) : NULL;                     \
  }                                                                                                                    \
  iso_tensor *iso_max_pool##n##d_with_indices(iso_context *ctx, const iso_tensor *x,                                   \
                                              const iso_pool##n##d_options *options, iso_tensor **indices) {           \
    if (indices) *indices = NULL;                                                                                      \
    return options ? max_pool(ctx, x, request##n("max_pool" #n "d", options), true, indices) : NULL;                   \
  }                                                                                                                    \
  iso_tensor *iso_avg_pool##n##d(iso_context *ctx, const iso_tensor *x, const iso_pool##n##d_options *options) {       \
    if (!options) return NULL;                                                                                         \
    const request r = request##n("avg_pool" #n "d", options);                                                          \
    return pool(ctx, x, &r, false, NULL);                                                                              \
  }                                                                                                                    \
  iso_tensor *iso_lp_pool##n##d(iso_context *ctx, const iso_tensor *x, double p,                                       \
                                const iso_pool##n##d_options *options) {                                               \
    return options ? lp_pool(ctx, x, p, request##n("lp_pool" #n "d", options)) : NULL;                                 \
  }

/* The mean times the kernel's positions, as PyTorch has it, so that windows that reach beyond the input count as whole
 * ones. */
static iso_tensor *lp_pool(iso_context *ctx, const iso_tensor *x, double p, request r) {
  r.count_padding = false, r.divisor = 0;
  for (int d = 0; d < 3; d++) r.pad[d] = 0;
  const iso__fenv saved = iso__fenv_enter(); /* the caller's rounding has no say */
  const double root = iso__fenv_pin(1 / iso__fenv_pin(p));
  iso__fenv_leave(saved);
  iso_tensor *powers = iso_pow_scalar(ctx, x, p), *mean = powers ? pool(ctx, powers, &r, false, NULL) : NULL;
  iso_release(powers);
  if (!mean) return NULL;
  iso_tensor *sum = iso_mul_scalar(ctx, mean, (double)r.kernel[0] * (double)r.kernel[1] * (double)r.kernel[2]);
  iso_tensor *y = sum ? iso_pow_scalar(ctx, sum, root) : NULL;
  iso_release(mean);
  return iso__drop(y, sum);
}
WINDOWS(1)
WINDOWS(2)
WINDOWS(3)

iso_tensor *iso_global_avg_pool2d(iso_context *ctx, const iso_tensor *x) {
  if (iso__failed(ctx) || !x) return NULL;
  const int n = x->view.n_dims;
  const bool image = n == 3 || n == 4;
  const request r = {.op = "global_avg_pool2d",
                     .n_axes = 2,
                     .kernel = {1, image ? x->view.shape[n - 2] : 1, image ? x->view.shape[n - 1] : 1},
                     .stride = {1, 1, 1}};
  return pool(ctx, x, &r, false, NULL);
}

static request adaptive(const char *op, int n_axes, int64_t out_d, int64_t out_h, int64_t out_w) {
  return (request){.op = op, .n_axes = n_axes, .adaptive = true, .out = {out_d, out_h, out_w}};
}
iso_tensor *iso_adaptive_avg_pool1d(iso_context *ctx, const iso_tensor *x, int64_t out) {
  const request r = adaptive("adaptive_avg_pool1d", 1, 1, 1, out);
  return pool(ctx, x, &r, false, NULL);
}
iso_tensor *iso_adaptive_avg_pool2d(iso_context *ctx, const iso_tensor *x, int64_t out_h, int64_t out_w) {
  const request r = adaptive("adaptive_avg_pool2d", 2, 1, out_h, out_w);
  return pool(ctx, x, &r, false, NULL);
}
iso_tensor *iso_adaptive_avg_pool3d(iso_context *ctx, const iso_tensor *x, int64_t out_d, int64_t out_h,
                                    int64_t out_w) {
  const request r = adaptive("adaptive_avg_pool3d", 3, out_d, out_h, out_w);
  return pool(ctx, x, &r, false, NULL);
}
iso_tensor *iso_adaptive_max_pool1d(iso_context *ctx, const iso_tensor *x, int64_t out, iso_tensor **indices) {
  return max_pool(ctx, x, adaptive("adaptive_max_pool1d", 1, 1, 1, out), true, indices);
}
iso_tensor *iso_adaptive_max_pool2d(iso_context *ctx, const iso_tensor *x, int64_t out_h, int64_t out_w,
                                    iso_tensor **indices) {
  return max_pool(ctx, x, adaptive("adaptive_max_pool2d", 2, 1, out_h, out_w), true, indices);
}
iso_tensor *iso_adaptive_max_pool3d(iso_context *ctx, const iso_tensor *x, int64_t out_d, int64_t out_h, int64_t out_w,
                                    iso_tensor **indices) {
  return max_pool(ctx, x, adaptive("adaptive_max_pool3d", 3, out_d, out_h, out_w), true, indices);
}
