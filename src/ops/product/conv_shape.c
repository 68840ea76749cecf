/* conv_shape.c: the shape rule of convolutions, plain and transposed, of one to three dimensions.
 *
 * One and two dimensions are three with the missing axes of extent, kernel and stride 1. A transposed convolution is
 * described by the convolution that it mirrors: that one's input is our result, its output our x. Every number is
 * bounded here, so that no product of sizes in the kernels can overflow. */
#include "ops/product/conv.h"

#define MAX_EXTENT ((int64_t)INT32_MAX)
#define MAX_ELEMENTS ((int64_t)1 << 46)
#define LL(x) ((long long)(x))

/* The problem's fields of one axis. */
typedef struct fields {
  int64_t *extent, *kernel, *stride, *dilation, *before, *after;
} fields;
static fields fields_of(iso_conv_problem *p, int axis) {
  switch (axis) {
  case 0: return (fields){&p->d, &p->t, &p->stride_d, &p->dilation_d, &p->pad_front, &p->pad_back};
  case 1: return (fields){&p->h, &p->r, &p->stride_h, &p->dilation_h, &p->pad_top, &p->pad_bottom};
  default: return (fields){&p->w, &p->s, &p->stride_w, &p->dilation_w, &p->pad_left, &p->pad_right};
  }
}

static void shape_of(int n_axes, int64_t outer, int64_t channels, const int64_t extents[3], int64_t *shape) {
  shape[0] = outer, shape[1] = channels;
  for (int i = 0; i < n_axes; i++) shape[2 + i] = extents[3 - n_axes + i];
}
void iso__conv_x_shape(const iso__conv_geometry *g, int64_t *shape) {
  const iso_conv_problem *p = &g->problem;
  shape_of(g->n_axes, p->n, p->c, (const int64_t[]){p->d, p->h, p->w}, shape);
}
void iso__conv_y_shape(const iso__conv_geometry *g, int64_t *shape) {
  const iso_conv_problem *p = &g->problem;
  shape_of(g->n_axes, p->n, p->k, (const int64_t[]){iso__conv_out_d(p), iso__conv_out_h(p), iso__conv_out_w(p)}, shape);
}
void iso__conv_w_shape(const iso__conv_geometry *g, int64_t *shape) {
  const iso_conv_problem *p = &g->problem;
  shape_of(g->n_axes, p->k, p->c / p->groups, (const int64_t[]){p->t, p->r, p->s}, shape);
}

/* ---- what errors say ---- */

typedef struct text {
  char s[128];
} text;
static text shape_text(const iso_tensor *t) {
  text out;
  iso__shape_text(t->view.n_dims, t->view.shape, out.s, sizeof out.s);
  return out;
}
/* One attribute of every axis: "(2,1)". */
static text axes_text(const iso__conv_request *r, size_t field) {
  int64_t values[3];
  text out;
  for (int i = 0; i < r->n_axes; i++) memcpy(&values[i], (const char *)&r->axis[i] + field, sizeof values[i]);
  iso__shape_text(r->n_axes, values, out.s, sizeof out.s);
  return out;
}
#define AXES(field) axes_text(r, offsetof(iso__conv_request_axis, field)).s

/* ---- checks, in the order in which they rely on one another ---- */

static bool check_ranks(iso_context *ctx, const iso__conv_request *r) {
  const int n = r->n_axes + 2;
  if (r->x->view.n_dims == n && r->w->view.n_dims == n) return true;
  ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, r->op, "x is %s and w %s: both need %d dimensions", shape_text(r->x).s,
            shape_text(r->w).s, n);
  return false;
}

static bool is_between(int64_t value, int64_t least) { return value >= least && value <= MAX_EXTENT; }

static bool check_options(iso_context *ctx, const iso__conv_request *r) {
  bool good = is_between(r->groups, 1), pads_output = true;
  for (int i = 0; i < r->n_axes; i++) {
    const iso__conv_request_axis *a = &r->axis[i];
    good = good && is_between(a->stride, 1) && is_between(a->dilation, 1) && is_between(a->before, 0) &&
           is_between(a->after, 0);
    pads_output = pads_output && a->output_pad >= 0 && a->output_pad < (r->transposed ? a->stride + a->after : 1);
  }
  if (!good)
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, r->op,
              "stride %s, dilation %s, padding %s before and %s after, groups %lld: not a convolution", AXES(stride),
              AXES(dilation), AXES(before), AXES(after), LL(r->groups));
  else if (!pads_output)
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, r->op,
              "output padding %s with stride %s and padding %s after: 0 or more and less than their sum, 0 if not "
              "transposed",
              AXES(output_pad), AXES(stride), AXES(after));
  return !iso__failed(ctx);
}

/* x (n, channels, …), w (first, second, …): plain (K,C/groups), transposed (C,K/groups). */
static bool check_channels(iso_context *ctx, const iso__conv_request *r) {
  const int64_t c = r->x->view.shape[1], first = r->w->view.shape[0], second = r->w->view.shape[1];
  const text tx = shape_text(r->x), tw = shape_text(r->w);
  if (c % r->groups || first % r->groups)
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, r->op, "x is %s and w %s: %lld groups do not divide %lld and %lld channels",
              tx.s, tw.s, LL(r->groups), LL(c), LL(first));
  else if (!r->transposed && second != c / r->groups)
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, r->op, "x %s has %lld channels a group but w %s expects %lld", tx.s,
              LL(c / r->groups), tw.s, LL(second));
  else if (r->transposed && first != c)
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, r->op, "x %s has %lld channels but w %s expects %lld", tx.s, LL(c), tw.s,
              LL(first));
  return !iso__failed(ctx);
}

static bool is_bounded(const iso_tensor *t) {
  int64_t n = 1;
  for (int i = 0; i < t->view.n_dims; i++) {
    const int64_t extent = t->view.shape[i];
    if (extent > MAX_EXTENT || __builtin_mul_overflow(n, extent ? extent : 1, &n) || n > MAX_ELEMENTS) return false;
  }
  return true;
}
static bool check_sizes(iso_context *ctx, const iso__conv_request *r) {
  if (is_bounded(r->x) && is_bounded(r->w)) return true;
  ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, r->op, "x is %s and w %s: more than 2^31 − 1 positions or 2^46 elements",
            shape_text(r->x).s, shape_text(r->w).s);
  return false;
}

/* ---- extents ---- */

/* Fills one axis of the problem; false where the kernel does not fit or a size is out of bounds. in ≤ 2^31, so nothing
 * here overflows. */
static bool infer_axis(const iso__conv_request *r, int i, iso_conv_problem *p) {
  const iso__conv_request_axis *a = &r->axis[i];
  const int64_t in = r->x->view.shape[2 + i], kernel = r->w->view.shape[2 + i];
  const int64_t reach = a->dilation * (kernel - 1) + 1, pads = a->before + a->after;
  const int64_t whole = r->transposed ? (in - 1) * a->stride + reach + a->output_pad : in + pads; /* padded */
  const fields f = fields_of(p, 3 - r->n_axes + i);
  *f.extent = whole - pads;
  *f.kernel = kernel, *f.stride = a->stride, *f.dilation = a->dilation, *f.before = a->before, *f.after = a->after;
  /* The mirrored convolution would see one more position for every stride of output padding, so from there on output
   * padding is padding that is not cut off. */
  if (r->transposed && a->output_pad >= a->stride) *f.after = a->after > a->output_pad ? a->after - a->output_pad : 0;
  return kernel >= 1 && whole <= MAX_EXTENT && (r->transposed ? *f.extent >= 1 : reach <= whole);
}

static bool check_result(iso_context *ctx, const iso__conv_request *r, const iso__conv_geometry *g) {
  int64_t shape[5], n = 1;
  if (r->transposed) iso__conv_x_shape(g, shape);
  else iso__conv_y_shape(g, shape);
  for (int i = 0; i < r->n_axes + 2; i++)
    if (__builtin_mul_overflow(n, shape[i] ? shape[i] : 1, &n) || n > MAX_ELEMENTS) {
      text ty;
      iso__shape_text(r->n_axes + 2, shape, ty.s, sizeof ty.s);
      ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, r->op, "the result would be %s: more than 2^46 elements", ty.s);
      return false;
    }
  const int64_t channels = shape[1];
  if (r->bias && (r->bias->view.n_dims != 1 || r->bias->view.shape[0] != channels))
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, r->op, "bias is %s but the result has %lld channels", shape_text(r->bias).s,
              LL(channels));
  if (r->residual && (r->residual->view.n_dims != r->n_axes + 2 ||
                      memcmp(r->residual->view.shape, shape, sizeof *shape * (size_t)(r->n_axes + 2)) != 0)) {
    text ty;
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, r->op, "residual is %s but the result %s", shape_text(r->residual).s,
              iso__shape_text(r->n_axes + 2, shape, ty.s, sizeof ty.s));
  }
  return !iso__failed(ctx);
}

bool iso__conv_infer(iso_context *ctx, const iso__conv_request *r, iso__conv_geometry *g) {
  if (!check_ranks(ctx, r) || !check_options(ctx, r) || !check_channels(ctx, r) || !check_sizes(ctx, r)) return false;
  const int64_t *xs = r->x->view.shape, *ws = r->w->view.shape;
  memset(g, 0, sizeof *g); /* attributes are compared and hashed as bytes */
  g->n_axes = r->n_axes;
  iso_conv_problem *p = &g->problem;
  ISO__PROBLEM_INIT(*p, ISO__OP_CONV_FWD, r->x->view.dtype);
  p->n = xs[0], p->k = ws[0], p->groups = r->groups;
  p->c = r->transposed ? ws[1] * r->groups : xs[1];
  p->activation = r->relu ? ISO__ACTIVATION_RELU : ISO__ACTIVATION_NONE;
  bool fits = p->c <= MAX_EXTENT;
  for (int axis = 0; axis < 3 - r->n_axes; axis++) {
    const fields f = fields_of(p, axis);
    *f.extent = *f.kernel = *f.stride = *f.dilation = 1;
  }
  for (int i = 0; i < r->n_axes; i++) fits &= infer_axis(r, i, p);
  if (fits) return check_result(ctx, r, g);
  ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, r->op,
            "the kernel of w %s, stride %s, dilation %s, does not fit x %s, padding %s before and %s after",
            shape_text(r->w).s, AXES(stride), AXES(dilation), shape_text(r->x).s, AXES(before), AXES(after));
  return false;
}
