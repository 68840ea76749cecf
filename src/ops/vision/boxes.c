/* boxes.c: areas, overlaps and forms of boxes, in pointwise operators: (n,1) against (1,m) columns of corners. */
#include <math.h>
#include "ops/ops.h"

static bool are_boxes(iso_context *ctx, const char *op, const iso_tensor *boxes, bool only_rows) {
  if (!iso__takes_floats(ctx, op, 1, &boxes)) return false;
  const iso__view *v = &boxes->view;
  if (v->n_dims >= 1 && v->shape[v->n_dims - 1] == 4 && (!only_rows || v->n_dims == 2)) return true;
  char text[128];
  ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op, "boxes are %s: %s is needed",
            iso__shape_text(v->n_dims, v->shape, text, sizeof text), only_rows ? "(n,4)" : "(…,4)");
  return false;
}

static void release(int n, iso_tensor **t) {
  for (int i = 0; i < n; i++) iso_release(t[i]);
}
static iso_tensor *column(iso_context *ctx, const iso_tensor *boxes, int i) {
  return iso_slice(ctx, boxes, -1, i, i + 1, 1);
}
/* (b − a)·(d − c), nothing below 0 where `positive`. */
static iso_tensor *area(iso_context *ctx, const iso_tensor *a, const iso_tensor *b, const iso_tensor *c,
                        const iso_tensor *d, bool positive) {
  iso_tensor *w = iso_sub(ctx, b, a), *h = iso_sub(ctx, d, c);
  if (positive) {
    w = iso__drop(iso_clamp(ctx, w, 0, INFINITY), w);
    h = iso__drop(iso_clamp(ctx, h, 0, INFINITY), h);
  }
  iso_tensor *y = iso_mul(ctx, w, h);
  iso_release(w), iso_release(h);
  return y;
}

iso_tensor *iso_box_area(iso_context *ctx, const iso_tensor *boxes) {
  if (!are_boxes(ctx, "box_area", boxes, false)) return NULL;
  iso_tensor *c[4];
  for (int i = 0; i < 4; i++) c[i] = column(ctx, boxes, i);
  iso_tensor *y = area(ctx, c[0], c[2], c[1], c[3], false);
  release(4, c);
  return y ? iso__drop(iso_squeeze(ctx, y, -1), y) : NULL;
}

/* ---- overlaps ---- */

/* Corners of all pairs: a's as (n,1), b's as (1,m). */
typedef struct pairs {
  iso_tensor *a[4], *b[4], *all, *iou; /* all: the area of the union */
} pairs;

static void pairs_release(pairs *p) {
  release(4, p->a), release(4, p->b);
  iso_release(p->all), iso_release(p->iou);
}

/* Of corner i the smaller or the larger. */
static iso_tensor *extreme(iso_context *ctx, const pairs *p, int i, bool larger) {
  return larger ? iso_maximum(ctx, p->a[i], p->b[i]) : iso_minimum(ctx, p->a[i], p->b[i]);
}

/* The box between the inner corners (the intersection), or the outer ones (the hull). */
static void box_of(iso_context *ctx, const pairs *p, bool inner, iso_tensor *corner[4]) {
  for (int i = 0; i < 4; i++) corner[i] = extreme(ctx, p, i, (i < 2) == inner);
}

static bool pairs_take(iso_context *ctx, const char *op, const iso_tensor *a, const iso_tensor *b, pairs *p) {
  *p = (pairs){.all = NULL};
  if (!are_boxes(ctx, op, a, true) || !are_boxes(ctx, op, b, true) ||
      !iso__takes_floats(ctx, op, 2, ISO__TENSORS(a, b)))
    return false;
  iso_tensor *corner[4];
  for (int i = 0; i < 4; i++) {
    p->a[i] = column(ctx, a, i), p->b[i] = column(ctx, b, i);
    if (p->b[i]) p->b[i] = iso__drop(iso_transpose(ctx, p->b[i], 0, 1), p->b[i]);
  }
  box_of(ctx, p, true, corner);
  iso_tensor *inter = area(ctx, corner[0], corner[2], corner[1], corner[3], true);
  iso_tensor *area_a = area(ctx, p->a[0], p->a[2], p->a[1], p->a[3], false);
  iso_tensor *area_b = area(ctx, p->b[0], p->b[2], p->b[1], p->b[3], false);
  iso_tensor *both = iso_add(ctx, area_a, area_b);
  p->all = iso_sub(ctx, both, inter);
  p->iou = iso_div(ctx, inter, p->all);
  release(4, corner);
  release(4, (iso_tensor *[]){inter, area_a, area_b, both});
  if (p->iou) return true;
  pairs_release(p);
  return false;
}

iso_tensor *iso_box_iou(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  pairs p;
  if (!pairs_take(ctx, "box_iou", a, b, &p)) return NULL;
  iso_tensor *y = p.iou;
  p.iou = NULL;
  pairs_release(&p);
  return y;
}

iso_tensor *iso_generalized_box_iou(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  pairs p;
  iso_tensor *corner[4];
  if (!pairs_take(ctx, "generalized_box_iou", a, b, &p)) return NULL;
  box_of(ctx, &p, false, corner);
  iso_tensor *hull = area(ctx, corner[0], corner[2], corner[1], corner[3], true);
  iso_tensor *rest = iso_sub(ctx, hull, p.all), *share = iso_div(ctx, rest, hull), *y = iso_sub(ctx, p.iou, share);
  release(4, corner);
  release(3, (iso_tensor *[]){hull, rest, share});
  pairs_release(&p);
  return y;
}

/* a² + b² */
static iso_tensor *squares(iso_context *ctx, iso_tensor *a, iso_tensor *b) {
  iso_tensor *aa = iso_square(ctx, a), *bb = iso_square(ctx, b), *y = iso_add(ctx, aa, bb);
  release(4, (iso_tensor *[]){a, b, aa, bb});
  return y;
}
/* (a's low + high)/2 − b's, along axis i. */
static iso_tensor *centre_gap(iso_context *ctx, const pairs *p, int i) {
  iso_tensor *a = iso_add(ctx, p->a[i], p->a[i + 2]), *b = iso_add(ctx, p->b[i], p->b[i + 2]);
  a = iso__drop(iso_div_scalar(ctx, a, 2), a), b = iso__drop(iso_div_scalar(ctx, b, 2), b);
  iso_tensor *y = iso_sub(ctx, a, b);
  iso_release(a), iso_release(b);
  return y;
}
static iso_tensor *extent(iso_context *ctx, const iso_tensor *low, const iso_tensor *high) {
  iso_tensor *y = iso_sub(ctx, high, low);
  return iso__drop(iso_clamp(ctx, y, 0, INFINITY), y);
}

/* iou − d²/(c² + eps) of pairs. */
static iso_tensor *distance_iou(iso_context *ctx, const pairs *p, double eps) {
  iso_tensor *corner[4];
  box_of(ctx, p, false, corner);
  iso_tensor *diagonal = squares(ctx, extent(ctx, corner[0], corner[2]), extent(ctx, corner[1], corner[3]));
  iso_tensor *safe = iso_add_scalar(ctx, diagonal, eps);
  iso_tensor *distance = squares(ctx, centre_gap(ctx, p, 0), centre_gap(ctx, p, 1));
  iso_tensor *share = iso_div(ctx, distance, safe), *y = iso_sub(ctx, p->iou, share);
  release(4, corner);
  release(4, (iso_tensor *[]){diagonal, safe, distance, share});
  return y;
}

static const double usual_eps = 1e-7;

iso_tensor *iso_distance_box_iou(iso_context *ctx, const iso_tensor *a, const iso_tensor *b, double eps) {
  pairs p;
  if (!pairs_take(ctx, "distance_box_iou", a, b, &p)) return NULL;
  iso_tensor *y = distance_iou(ctx, &p, eps == 0 ? usual_eps : eps);
  pairs_release(&p);
  return y;
}

/* atan(width/height) */
static iso_tensor *aspect(iso_context *ctx, iso_tensor *const *corner) {
  iso_tensor *w = iso_sub(ctx, corner[2], corner[0]), *h = iso_sub(ctx, corner[3], corner[1]);
  iso_tensor *ratio = iso_div(ctx, w, h), *y = iso_atan(ctx, ratio);
  release(3, (iso_tensor *[]){w, h, ratio});
  return y;
}
/* v/(1 − iou + v + eps), a constant. */
static iso_tensor *trade_off(iso_context *ctx, const iso_tensor *v, const iso_tensor *iou, double eps) {
  iso_no_grad_push(ctx);
  iso_tensor *miss = iso_rsub_scalar(ctx, iou, 1), *sum = iso_add(ctx, miss, v), *safe = iso_add_scalar(ctx, sum, eps);
  iso_tensor *y = iso_div(ctx, v, safe);
  iso_no_grad_pop(ctx);
  release(3, (iso_tensor *[]){miss, sum, safe});
  return y;
}

iso_tensor *iso_complete_box_iou(iso_context *ctx, const iso_tensor *a, const iso_tensor *b, double eps) {
  pairs p;
  const double used = eps == 0 ? usual_eps : eps, pi = 0x1.921fb54442d18p+1;
  if (!pairs_take(ctx, "complete_box_iou", a, b, &p)) return NULL;
  iso_tensor *angle_a = aspect(ctx, p.a), *angle_b = aspect(ctx, p.b), *gap = iso_sub(ctx, angle_a, angle_b);
  iso_tensor *square = iso_square(ctx, gap), *v = iso_mul_scalar(ctx, square, 4 / (pi * pi));
  iso_tensor *alpha = v ? trade_off(ctx, v, p.iou, used) : NULL, *part = iso_mul(ctx, alpha, v);
  iso_tensor *near = distance_iou(ctx, &p, used), *y = iso_sub(ctx, near, part);
  release(8, (iso_tensor *[]){angle_a, angle_b, gap, square, v, alpha, part, near});
  pairs_release(&p);
  return y;
}

/* ---- forms ---- */

static iso_tensor *join(iso_context *ctx, iso_tensor *first, iso_tensor *second) {
  iso_tensor *y = first && second ? iso_cat(ctx, 2, ISO__TENSORS(first, second), -1) : NULL;
  iso_release(first), iso_release(second);
  return y;
}
/* Half of the second half of boxes, subtracted from the first (−1) or added (1). */
static iso_tensor *half_away(iso_context *ctx, const iso_tensor *at, const iso_tensor *size, double sign) {
  iso_tensor *half = iso_mul_scalar(ctx, size, sign * 0.5), *y = iso_add(ctx, at, half);
  return iso__drop(y, half);
}

static iso_tensor *to_corners(iso_context *ctx, const iso_tensor *boxes, iso_box_format from) {
  if (from == ISO_BOX_XYXY) return iso_tensor_alias(ctx, boxes);
  iso_tensor *at = iso_slice(ctx, boxes, -1, 0, 2, 1), *size = iso_slice(ctx, boxes, -1, 2, 4, 1);
  const bool centre = from == ISO_BOX_CXCYWH;
  iso_tensor *low = centre ? half_away(ctx, at, size, -1) : at ? iso_tensor_alias(ctx, at) : NULL;
  iso_tensor *high = centre ? half_away(ctx, at, size, 1) : iso_add(ctx, at, size);
  iso_release(at), iso_release(size);
  return join(ctx, low, high);
}

static iso_tensor *from_corners(iso_context *ctx, const iso_tensor *boxes, iso_box_format to) {
  if (to == ISO_BOX_XYXY) return iso_tensor_alias(ctx, boxes);
  iso_tensor *low = iso_slice(ctx, boxes, -1, 0, 2, 1), *high = iso_slice(ctx, boxes, -1, 2, 4, 1);
  iso_tensor *size = iso_sub(ctx, high, low), *sum = iso_add(ctx, low, high);
  iso_tensor *at = to == ISO_BOX_CXCYWH ? iso_div_scalar(ctx, sum, 2) : low ? iso_tensor_alias(ctx, low) : NULL;
  iso_release(low), iso_release(high), iso_release(sum);
  return join(ctx, at, size);
}

static bool is_format(iso_context *ctx, iso_box_format format) {
  if (format == ISO_BOX_XYXY || format == ISO_BOX_XYWH || format == ISO_BOX_CXCYWH) return true;
  ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "box_convert", "%d is no format of boxes", (int)format);
  return false;
}

iso_tensor *iso_box_convert(iso_context *ctx, const iso_tensor *boxes, iso_box_format from, iso_box_format to) {
  if (!are_boxes(ctx, "box_convert", boxes, false) || !is_format(ctx, from) || !is_format(ctx, to)) return NULL;
  if (from == to) return iso_tensor_alias(ctx, boxes);
  iso_tensor *corners = to_corners(ctx, boxes, from);
  return corners ? iso__drop(from_corners(ctx, corners, to), corners) : NULL;
}

iso_tensor *iso_clip_boxes(iso_context *ctx, const iso_tensor *boxes, double height, double width) {
  if (!are_boxes(ctx, "clip_boxes", boxes, false)) return NULL;
  if (boxes->view.n_dims == ISO_MAX_DIMS) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "clip_boxes", "boxes have %d dimensions: one fewer is possible", ISO_MAX_DIMS);
    return NULL;
  }
  iso_tensor *x = iso_slice(ctx, boxes, -1, 0, 4, 2), *y = iso_slice(ctx, boxes, -1, 1, 4, 2);
  x = iso__drop(iso_clamp(ctx, x, 0, width), x), y = iso__drop(iso_clamp(ctx, y, 0, height), y);
  iso_tensor *pairs_of = x && y ? iso_stack(ctx, 2, ISO__TENSORS(x, y), -1) : NULL;
  iso_release(x), iso_release(y);
  if (!pairs_of) return NULL;
  return iso__drop(iso_reshape(ctx, pairs_of, boxes->view.n_dims, boxes->view.shape), pairs_of);
}
