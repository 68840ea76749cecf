/* ops/vision.h: boxes, suppression and regions of interest. What holds for every operator: ops.h.
 *
 * Boxes are x1, y1, x2, y2 with x1 ≤ x2 and y1 ≤ y2, along the last axis; f32 and f64. */
#ifndef ISOBIT_OPS_VISION_H
#define ISOBIT_OPS_VISION_H
#include <isobit/ops/loss.h>
#ifdef __cplusplus
extern "C" {
#endif

/* ---- boxes ---- */
/* (…,4) → (…): (x2 − x1)·(y2 − y1). */
ISO_API iso_tensor *iso_box_area(iso_context *ctx, const iso_tensor *boxes);
/* a (n,4), b (m,4) → (n,m): inter/(area a + area b − inter). */
ISO_API iso_tensor *iso_box_iou(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
/* iou − (hull − union)/hull, hull the smallest box round both (Rezatofighi et al., 2019). */
ISO_API iso_tensor *iso_generalized_box_iou(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
/* iou − d²/(c² + eps): d between the centres, c the hull's diagonal (Zheng et al., 2020). eps 0: 1e−7. */
ISO_API iso_tensor *iso_distance_box_iou(iso_context *ctx, const iso_tensor *a, const iso_tensor *b, double eps);
/* That − α·v, v = 4/π²·(atan(w/h) − atan(w'/h'))², α = v/(1 − iou + v + eps), a constant to the gradient. eps 0: 1e−7.
 */
ISO_API iso_tensor *iso_complete_box_iou(iso_context *ctx, const iso_tensor *a, const iso_tensor *b, double eps);

/* What four numbers are: corners; a corner, width and height; centre, width and height. */
typedef enum iso_box_format { ISO_BOX_XYXY, ISO_BOX_XYWH, ISO_BOX_CXCYWH } iso_box_format;
/* (…,4) → the same. */
ISO_API iso_tensor *iso_box_convert(iso_context *ctx, const iso_tensor *boxes, iso_box_format from, iso_box_format to);
/* Corners into [0,width] and [0,height]; the gradient passes where they were within. */
ISO_API iso_tensor *iso_clip_boxes(iso_context *ctx, const iso_tensor *boxes, double height, double width);

/* ---- suppression, without gradient ---- */
/* boxes (n,4), scores (n) → i64, the numbers of those that stay, best first: in descending order of scores (NaN first,
 * of equals the lower number), each stays unless an earlier one that stays has an iou > threshold with it. */
ISO_API iso_tensor *iso_nms(iso_context *ctx, const iso_tensor *boxes, const iso_tensor *scores, double threshold);
/* The same where only boxes of one group (n), i64, suppress each other. */
ISO_API iso_tensor *iso_batched_nms(iso_context *ctx, const iso_tensor *boxes, const iso_tensor *scores,
                                    const iso_tensor *groups, double threshold);

/* ---- regions of interest ---- */
typedef struct iso_roi_options {
  int64_t out_h, out_w; /* bins of a region                                                         */
  double scale;         /* from rois' coordinates to x's; 0: 1                                      */
  int64_t samples;      /* a side of a bin in roi_align; 0: as many as a bin has pixels, rounded up */
  bool aligned;         /* roi_align: corners are moved by −½                                       */
} iso_roi_options;
/* x (N,C,H,W), rois (k,5): number of the image, then a box → (k,C,out_h,out_w): means of bilinear samples (He et al.,
 * 2017). Class `ordered`. Gradient of x only. A number that names no image, or a coordinate that is not finite or
 * beyond 2^20 in size, is ISO_INVALID_ARGUMENT, naming place and value. */
ISO_API iso_tensor *iso_roi_align(iso_context *ctx, const iso_tensor *x, const iso_tensor *rois,
                                  const iso_roi_options *options);
/* The largest element of each bin, 0 of an empty one; corners are rounded to pixels (Girshick, 2015). Any NaN gives
 * NaN; of equals the lowest position, which receives the gradient. `samples` and `aligned` say nothing here. Errors
 * alike. */
ISO_API iso_tensor *iso_roi_pool(iso_context *ctx, const iso_tensor *x, const iso_tensor *rois,
                                 const iso_roi_options *options);

/* ---- losses ---- */
/* α_t·(1 − p_t)^γ·bce(x, t), p = sigmoid(x), p_t = p·t + (1 − p)·(1 − t), α_t = α·t + (1 − α)·(1 − t) (Lin et al.,
 * 2017); alpha < 0: without α_t. */
ISO_API iso_tensor *iso_sigmoid_focal_loss(iso_context *ctx, const iso_tensor *x, const iso_tensor *target,
                                           double alpha, double gamma, const iso_loss_options *options);

#ifdef __cplusplus
}
#endif
#endif
