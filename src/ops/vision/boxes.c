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

static iso_tensor *column(iso_context *ctx, const iso_tensor *boxes, int i) {
  return iso_slice(ctx, boxes, -1, i, i + 1, 1);
}
/* (b − a)·(d − c), nothing below 0 where `positive`. */
static iso_tensor *area(iso_context *ctx, const iso_tensor *a, const iso_tensor *b, const iso_tensor *c,
                        const iso_tensor *d, bool positive) {
  iso_tensor *w = iso_sub(ctx, b, a), *h = iso_sub(ctx, d, c);
  if (positive) w = iso_clamp(ctx, w, 0, INFINITY), h = iso_clamp(ctx, h, 0, INFINITY);
  return iso_mul(ctx, w, h);
}

iso_tensor *iso_box_area(iso_context *ctx, const iso_tensor *boxes) {
  if (!are_boxes(ctx, "box_area", boxes, false)) return NULL;
  iso_tensor *c[4];
  iso__enter(ctx);
  for (int i = 0; i < 4; i++) c[i] = column(ctx, boxes, i);
  return iso__leave(ctx, iso_squeeze(ctx, area(ctx, c[0], c[2], c[1], c[3], false), -1));
}

/* ---- overlaps ---- */

/* Corners of all pairs: a's as (n,1), b's as (1,m). */
typedef struct pairs {
  iso_tensor *a[4], *b[4], *all, *iou; /* all: the area of the union */
} pairs;

/* Of corner i the smaller or the larger. */
static iso_tensor *extreme(iso_context *ctx, const pairs *p, int i, bool larger) {
  return larger ? iso_maximum(ctx, p->a[i], p->b[i]) : iso_minimum(ctx, p->a[i], p->b[i]);
}

/* The box between the inner corners (the intersection), or the outer ones (the hull). */
static void box_of(iso_context *ctx, const pairs *p, bool inner, iso_tensor *corner[4]) {
  for (int i = 0; i < 4; i++) corner[i] = extreme(ctx, p, i, (i < 2) == inner);
}

static bool takes_pairs(iso_context *ctx, const char *op, const iso_tensor *a, const iso_tensor *b) {
  return are_boxes(ctx, op, a, true) && are_boxes(ctx, op, b, true) &&
         iso__takes_floats(ctx, op, 2, ISO__TENSORS(a, b));
}
/* In the caller's scope. */
static pairs pairs_of(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  pairs p;
  iso_tensor *corner[4];
  for (int i = 0; i < 4; i++) {
    p.a[i] = column(ctx, a, i);
    p.b[i] = iso_transpose(ctx, column(ctx, b, i), 0, 1);
  }
  box_of(ctx, &p, true, corner);
  iso_tensor *inter = area(ctx, corner[0], corner[2], corner[1], corner[3], true);
  iso_tensor *area_a = area(ctx, p.a[0], p.a[2], p.a[1], p.a[3], false);
  iso_tensor *area_b = area(ctx, p.b[0], p.b[2], p.b[1], p.b[3], false);
  p.all = iso_sub(ctx, iso_add(ctx, area_a, area_b), inter);
  p.iou = iso_div(ctx, inter, p.all);
  return p;
}

iso_tensor *iso_box_iou(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  if (!takes_pairs(ctx, "box_iou", a, b)) return NULL;
  iso__enter(ctx);
  return iso__leave(ctx, pairs_of(ctx, a, b).iou);
}

iso_tensor *iso_generalized_box_iou(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  if (!takes_pairs(ctx, "generalized_box_iou", a, b)) return NULL;
  iso_tensor *corner[4];
  iso__enter(ctx);
  const pairs p = pairs_of(ctx, a, b);
  box_of(ctx, &p, false, corner);
  iso_tensor *hull = area(ctx, corner[0], corner[2], corner[1], corner[3], true);
  iso_tensor *share = iso_div(ctx, iso_sub(ctx, hull, p.all), hull);
  return iso__leave(ctx, iso_sub(ctx, p.iou, share));
}

/* a² + b² */
static iso_tensor *squares(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  iso_tensor *aa = iso_square(ctx, a), *bb = iso_square(ctx, b);
  return iso_add(ctx, aa, bb);
}
/* (a's low + high)/2 − b's, along axis i. */
static iso_tensor *centre_gap(iso_context *ctx, const pairs *p, int i) {
  iso_tensor *a = iso_add(ctx, p->a[i], p->a[i + 2]), *b = iso_add(ctx, p->b[i], p->b[i + 2]);
  a = iso_div_scalar(ctx, a, 2), b = iso_div_scalar(ctx, b, 2);
  return iso_sub(ctx, a, b);
}
static iso_tensor *extent(iso_context *ctx, const iso_tensor *low, const iso_tensor *high) {
  return iso_clamp(ctx, iso_sub(ctx, high, low), 0, INFINITY);
}

/* iou − d²/(c² + eps) of pairs. */
static iso_tensor *distance_iou(iso_context *ctx, const pairs *p, double eps) {
  iso_tensor *corner[4];
  box_of(ctx, p, false, corner);
  iso_tensor *wide = extent(ctx, corner[0], corner[2]), *high = extent(ctx, corner[1], corner[3]);
  iso_tensor *safe = iso_add_scalar(ctx, squares(ctx, wide, high), eps);
  iso_tensor *gap_x = centre_gap(ctx, p, 0), *gap_y = centre_gap(ctx, p, 1);
  return iso_sub(ctx, p->iou, iso_div(ctx, squares(ctx, gap_x, gap_y), safe));
}

static const double usual_eps = 1e-7;

iso_tensor *iso_distance_box_iou(iso_context *ctx, const iso_tensor *a, const iso_tensor *b, double eps) {
  if (!takes_pairs(ctx, "distance_box_iou", a, b)) return NULL;
  iso__enter(ctx);
  const pairs p = pairs_of(ctx, a, b);
  return iso__leave(ctx, distance_iou(ctx, &p, eps == 0 ? usual_eps : eps));
}

/* atan(width/height) */
static iso_tensor *aspect(iso_context *ctx, iso_tensor *const *corner) {
  iso_tensor *w = iso_sub(ctx, corner[2], corner[0]), *h = iso_sub(ctx, corner[3], corner[1]);
  return iso_atan(ctx, iso_div(ctx, w, h));
}
/* v/(1 − iou + v + eps), a constant. */
static iso_tensor *trade_off(iso_context *ctx, const iso_tensor *v, const iso_tensor *iou, double eps) {
  iso_no_grad_push(ctx);
  iso_tensor *sum = iso_add(ctx, iso_rsub_scalar(ctx, iou, 1), v);
  iso_tensor *y = iso_div(ctx, v, iso_add_scalar(ctx, sum, eps));
  iso_no_grad_pop(ctx);
  return y;
}

iso_tensor *iso_complete_box_iou(iso_context *ctx, const iso_tensor *a, const iso_tensor *b, double eps) {
  const double used = eps == 0 ? usual_eps : eps, four_over_pi_squared = 0x1.9f02f6222c72p-2;
  if (!takes_pairs(ctx, "complete_box_iou", a, b)) return NULL;
  iso__enter(ctx);
  const pairs p = pairs_of(ctx, a, b);
  iso_tensor *angle_a = aspect(ctx, p.a), *angle_b = aspect(ctx, p.b);
  iso_tensor *v = iso_mul_scalar(ctx, iso_square(ctx, iso_sub(ctx, angle_a, angle_b)), four_over_pi_squared);
  iso_tensor *part = iso_mul(ctx, trade_off(ctx, v, p.iou, used), v), *near = distance_iou(ctx, &p, used);
  return iso__leave(ctx, iso_sub(ctx, near, part));
}

/* ---- forms ---- */

/* Half of the second half of boxes, subtracted from the first (−1) or added (1). */
static iso_tensor *half_away(iso_context *ctx, const iso_tensor *at, const iso_tensor *size, double sign) {
  return iso_add(ctx, at, iso_mul_scalar(ctx, size, sign * 0.5));
}

static iso_tensor *to_corners(iso_context *ctx, const iso_tensor *boxes, iso_box_format from) {
  if (from == ISO_BOX_XYXY) return iso_tensor_alias(ctx, boxes);
  iso_tensor *at = iso_slice(ctx, boxes, -1, 0, 2, 1), *size = iso_slice(ctx, boxes, -1, 2, 4, 1);
  const bool centre = from == ISO_BOX_CXCYWH;
  iso_tensor *low = centre ? half_away(ctx, at, size, -1) : at;
  iso_tensor *high = centre ? half_away(ctx, at, size, 1) : iso_add(ctx, at, size);
  return low && high ? iso_cat(ctx, 2, ISO__TENSORS(low, high), -1) : NULL;
}

static iso_tensor *from_corners(iso_context *ctx, const iso_tensor *boxes, iso_box_format to) {
  if (!boxes || to == ISO_BOX_XYXY) return iso_tensor_alias(ctx, boxes);
  iso_tensor *low = iso_slice(ctx, boxes, -1, 0, 2, 1), *high = iso_slice(ctx, boxes, -1, 2, 4, 1);
  iso_tensor *size = iso_sub(ctx, high, low);
  iso_tensor *at = to == ISO_BOX_CXCYWH ? iso_div_scalar(ctx, iso_add(ctx, low, high), 2) : low;
  return at && size ? iso_cat(ctx, 2, ISO__TENSORS(at, size), -1) : NULL;
}

static bool is_format(iso_context *ctx, iso_box_format format) {
  if (format == ISO_BOX_XYXY || format == ISO_BOX_XYWH || format == ISO_BOX_CXCYWH) return true;
  ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "box_convert", "%d is no format of boxes", (int)format);
  return false;
}

iso_tensor *iso_box_convert(iso_context *ctx, const iso_tensor *boxes, iso_box_format from, iso_box_format to) {
  if (!are_boxes(ctx, "box_convert", boxes, false) || !is_format(ctx, from) || !is_format(ctx, to)) return NULL;
  if (from == to) return iso_tensor_alias(ctx, boxes);
  iso__enter(ctx);
  return iso__leave(ctx, from_corners(ctx, to_corners(ctx, boxes, from), to));
}

iso_tensor *iso_clip_boxes(iso_context *ctx, const iso_tensor *boxes, double height, double width) {
  if (!are_boxes(ctx, "clip_boxes", boxes, false)) return NULL;
  if (boxes->view.n_dims == ISO_MAX_DIMS) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "clip_boxes", "boxes have %d dimensions: one fewer is possible", ISO_MAX_DIMS);
    return NULL;
  }
  iso__enter(ctx);
  iso_tensor *x = iso_clamp(ctx, iso_slice(ctx, boxes, -1, 0, 4, 2), 0, width);
  iso_tensor *y = iso_clamp(ctx, iso_slice(ctx, boxes, -1, 1, 4, 2), 0, height);
  iso_tensor *both = x && y ? iso_stack(ctx, 2, ISO__TENSORS(x, y), -1) : NULL;
  return iso__leave(ctx, iso_reshape(ctx, both, boxes->view.n_dims, boxes->view.shape));
}
