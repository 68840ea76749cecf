/* windows.c: overlapping windows of an axis as a view, their sum back into it, and the columns of a convolution.
 *
 * The adjoint of windows starts from +0 and adds them one after the other in ascending order of their number, in place:
 * one pass a tap of the window where there are fewer taps than windows, else one a window. Both take the contributions
 * of an element in the same order, so they give the same bits. */
#include "ops/shape/view.h"

typedef struct window {
  int64_t size, step, dilation, extent; /* extent: of the axis */
  int axis;
} window;

static int64_t reach(const window *w) { return (w->size - 1) * w->dilation + 1; }
static int64_t n_windows(const window *w) { return (w->extent - reach(w)) / w->step + 1; }

/* (…,extent,…) → (…,windows,…,size), the last axis new. */
static iso_tensor *windows(iso_context *ctx, const iso_tensor *x, const window *w) {
  iso__view v = x->view;
  v.shape[w->axis] = n_windows(w);
  v.shape[v.n_dims] = w->size, v.strides[v.n_dims++] = v.strides[w->axis] * w->dilation;
  v.strides[w->axis] *= w->step;
  return iso__record_view(ctx, x, &v, ISO__RULE_WINDOWS, w, sizeof *w);
}

/* y's elements that tap (or window) number i of t meets, and those of t: one of the two axes is left. */
static void add_one(iso_context *ctx, iso_tensor *y, const iso_tensor *t, const window *w, int64_t i, bool is_tap) {
  iso__view to = y->view, from = t->view;
  const int last = from.n_dims - 1;
  from.n_dims--;
  to.offset += i * (is_tap ? w->dilation : w->step) * to.strides[w->axis];
  to.shape[w->axis] = is_tap ? from.shape[w->axis] : w->size;
  to.strides[w->axis] *= is_tap ? w->step : w->dilation;
  from.offset += i * from.strides[is_tap ? last : w->axis];
  if (!is_tap) from.shape[w->axis] = w->size, from.strides[w->axis] = from.strides[last];
  iso_tensor *target = iso__tensor_from_view(ctx, &to), *part = iso__tensor_from_view(ctx, &from);
  if (target && part) iso__map(ctx, "unfold", ISO__MAP_ADD, 2, ISO__TENSORS(target, part), NULL, target);
  iso_release(part);
  iso_release(target);
}

static iso_tensor *windows_bwd(iso_context *ctx, const iso_tensor *t, const window *w) {
  if (iso__failed(ctx) || !t) return NULL;
  int64_t shape[ISO_MAX_DIMS];
  memcpy(shape, t->view.shape, sizeof shape);
  shape[w->axis] = w->extent;
  iso_tensor *y = iso_tensor_zeros(ctx, t->view.dtype, t->view.n_dims - 1, shape);
  const int64_t n = n_windows(w);
  const bool by_tap = w->size <= n;
  for (int64_t i = 0; y && i < (by_tap ? w->size : n) && !iso__failed(ctx); i++)
    add_one(ctx, y, t, w, by_tap ? w->size - 1 - i : i, by_tap);
  return iso__finish(
      ctx, y, ctx->error.code, ISO__RULE_WINDOWS_BWD,
      &(iso__finish_options){.inputs = ISO__TENSORS(t), .n_inputs = 1, .attrs = w, .attr_bytes = sizeof *w});
}
void iso__windows_gradient(iso__gradient *g) { g->dx[0] = windows_bwd(g->ctx, g->dy[0], iso__attrs(g)); }
void iso__windows_bwd_gradient(iso__gradient *g) { g->dx[0] = windows(g->ctx, g->dy[0], iso__attrs(g)); }

/* Extents of at most 2^31 − 1, so that their products fit. */
static bool check(iso_context *ctx, const char *op, const window *w) {
  if (w->size >= 1 && w->step >= 1 && w->dilation >= 1 && w->size <= INT32_MAX && w->step <= INT32_MAX &&
      w->dilation <= INT32_MAX && reach(w) <= w->extent)
    return true;
  ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "windows of %lld elements, %lld apart, dilation %lld, on an extent of %lld",
            (long long)w->size, (long long)w->step, (long long)w->dilation, (long long)w->extent);
  return false;
}

iso_tensor *iso_unfold(iso_context *ctx, const iso_tensor *x, int axis, int64_t size, int64_t step) {
  if (!iso__takes(ctx, "unfold", 1, &x)) return NULL;
  window w;
  memset(&w, 0, sizeof w);
  w.axis = iso__axis(ctx, "unfold", x, axis), w.size = size, w.step = step, w.dilation = 1;
  if (w.axis < 0) return NULL;
  if (x->view.n_dims == ISO_MAX_DIMS) {
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "unfold", "x has %d dimensions already", ISO_MAX_DIMS);
    return NULL;
  }
  w.extent = x->view.shape[w.axis];
  return check(ctx, "unfold", &w) ? windows(ctx, x, &w) : NULL;
}

/* ---- the windows of a convolution as columns, and back ---- */

/* The two windows of an image of height h and width w, padding included. */
typedef struct columns {
  window rows, columns; /* of (N,C,H,W), then of (N,C,P,W,kernel_h) */
  int64_t pads[4];
} columns;

static int64_t or_1(int64_t x) { return x ? x : 1; }

static bool read_options(iso_context *ctx, const char *op, int64_t height, int64_t width, const iso_im2col_options *o,
                         columns *c) {
  static const iso_im2col_options none;
  if (!o) o = &none;
  memset(c, 0, sizeof *c);
  if (o->pad_h < 0 || o->pad_w < 0 || o->pad_h > INT32_MAX || o->pad_w > INT32_MAX || height < 0 || width < 0 ||
      height > INT32_MAX || width > INT32_MAX) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "padding %lld and %lld of an image of %lld×%lld", (long long)o->pad_h,
              (long long)o->pad_w, (long long)height, (long long)width);
    return false;
  }
  c->rows.axis = 2, c->rows.size = or_1(o->kernel_h), c->rows.step = or_1(o->stride_h);
  c->rows.dilation = or_1(o->dilation_h), c->rows.extent = height + 2 * o->pad_h;
  c->columns.axis = 3, c->columns.size = or_1(o->kernel_w), c->columns.step = or_1(o->stride_w);
  c->columns.dilation = or_1(o->dilation_w), c->columns.extent = width + 2 * o->pad_w;
  c->pads[0] = c->pads[1] = o->pad_w, c->pads[2] = c->pads[3] = o->pad_h;
  return check(ctx, op, &c->rows) && check(ctx, op, &c->columns);
}

iso_tensor *iso_im2col(iso_context *ctx, const iso_tensor *x, const iso_im2col_options *options) {
  if (!iso__takes(ctx, "im2col", 1, &x)) return NULL;
  const int n_dims = x->view.n_dims;
  if (n_dims != 3 && n_dims != 4) {
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "im2col", "x has %d dimensions: (N,C,H,W) or (C,H,W) is needed", n_dims);
    return NULL;
  }
  columns c;
  const int64_t *s = x->view.shape + n_dims - 3;
  if (!read_options(ctx, "im2col", s[1], s[2], options, &c)) return NULL;
  const int64_t samples = n_dims == 4 ? x->view.shape[0] : 1, rows = s[0] * c.rows.size * c.columns.size,
                positions = n_windows(&c.rows) * n_windows(&c.columns);
  iso__enter(ctx);
  iso_tensor *image = iso_reshape(ctx, x, 4, ISO_DIMS(samples, s[0], s[1], s[2]));
  image = iso_pad(ctx, image, 4, c.pads, ISO_PAD_CONSTANT, 0);
  iso_tensor *down = image ? windows(ctx, image, &c.rows) : NULL,
             *across = down ? windows(ctx, down, &c.columns) : NULL;
  iso_tensor *turned = iso_permute(ctx, across, (const int[]){0, 1, 4, 5, 2, 3});
  iso_tensor *y = n_dims == 4 ? iso_reshape(ctx, turned, 3, ISO_DIMS(samples, rows, positions))
                              : iso_reshape(ctx, turned, 2, ISO_DIMS(rows, positions));
  return iso__leave(ctx, y);
}

iso_tensor *iso_col2im(iso_context *ctx, const iso_tensor *x, int64_t height, int64_t width,
                       const iso_im2col_options *options) {
  if (!iso__takes_floats(ctx, "col2im", 1, &x)) return NULL;
  columns c;
  if (!read_options(ctx, "col2im", height, width, options, &c)) return NULL;
  const int n_dims = x->view.n_dims;
  const int64_t taps = c.rows.size * c.columns.size, down = n_windows(&c.rows), across = n_windows(&c.columns);
  if ((n_dims != 2 && n_dims != 3) || x->view.shape[n_dims - 2] % taps || x->view.shape[n_dims - 1] != down * across) {
    char text[128];
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "col2im", "x is %s: (N,C·%lld,%lld) is needed",
              iso__shape_text(n_dims, x->view.shape, text, sizeof text), (long long)taps, (long long)(down * across));
    return NULL;
  }
  const int64_t samples = n_dims == 3 ? x->view.shape[0] : 1, channels = x->view.shape[n_dims - 2] / taps;
  iso__enter(ctx);
  iso_tensor *split = iso_reshape(ctx, x, 6, ISO_DIMS(samples, channels, c.rows.size, c.columns.size, down, across));
  iso_tensor *turned = iso_permute(ctx, split, (const int[]){0, 1, 4, 5, 2, 3});
  iso_tensor *image = windows_bwd(ctx, windows_bwd(ctx, turned, &c.columns), &c.rows);
  const int64_t crop[4] = {-c.pads[0], -c.pads[1], -c.pads[2], -c.pads[3]};
  iso_tensor *y = iso_pad(ctx, image, 4, crop, ISO_PAD_CONSTANT, 0);
  if (n_dims == 2) y = iso_reshape(ctx, y, 3, ISO_DIMS(channels, height, width));
  return iso__leave(ctx, y);
}
