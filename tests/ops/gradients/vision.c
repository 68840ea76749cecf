/* vision.c: gradient cases of ops/vision; gradients.h explains them. */
#include "ops/gradients/gradients.h"

#define A in[0]
#define B in[1]
static iso_tensor *squared(iso_context *ctx, iso_tensor *t) { return iso_mul(ctx, t, t); }
/* A centre and a size become a box: whatever the numbers, its corners are in order. */
static iso_tensor *boxes(iso_context *ctx, const iso_tensor *t) {
  return iso_box_convert(ctx, t, ISO_BOX_CXCYWH, ISO_BOX_XYXY);
}
static iso_tensor *f_area(iso_context *ctx, iso_tensor *const *in) { return iso_box_area(ctx, A); }
static iso_tensor *f_iou(iso_context *ctx, iso_tensor *const *in) {
  return iso_box_iou(ctx, boxes(ctx, A), boxes(ctx, B));
}
static iso_tensor *f_giou(iso_context *ctx, iso_tensor *const *in) {
  return iso_generalized_box_iou(ctx, boxes(ctx, A), boxes(ctx, B));
}
static iso_tensor *f_diou(iso_context *ctx, iso_tensor *const *in) {
  return iso_distance_box_iou(ctx, boxes(ctx, A), boxes(ctx, B), 0);
}
static iso_tensor *f_convert(iso_context *ctx, iso_tensor *const *in) {
  return squared(ctx, iso_box_convert(ctx, A, ISO_BOX_XYWH, ISO_BOX_CXCYWH));
}
static iso_tensor *f_clip(iso_context *ctx, iso_tensor *const *in) {
  return squared(ctx, iso_clip_boxes(ctx, A, 0.7, 1.1));
}
static iso_tensor *f_roi(iso_context *ctx, iso_tensor *const *in) {
  const double rois[] = {0, 0.3, 0.7, 3.9, 4.1, 1, -2, 1, 1.5, 9, 0, 1, 1, 1.25, 1.5};
  return squared(ctx, iso_roi_align(ctx, A, iso_tensor_copy_from(ctx, ISO_F64, 2, ISO_DIMS(3, 5), rois),
                                    &(iso_roi_options){.out_h = 2, .out_w = 2, .scale = 0.75, .aligned = true}));
}
static iso_tensor *f_focal(iso_context *ctx, iso_tensor *const *in) {
  return iso_sigmoid_focal_loss(ctx, A, B, 0.25, 2, NULL);
}
#undef A
#undef B

const gradient_case iso__gradients_vision[] = {{"mul", f_area, SIGNED, 1, {{2, 4, END}}},
                                               {"div", f_iou, POSITIVE, 2, {{2, 4, END}, {3, 4, END}}},
                                               {"div", f_giou, POSITIVE, 2, {{2, 4, END}, {2, 4, END}}},
                                               {"div", f_diou, POSITIVE, 2, {{2, 4, END}, {2, 4, END}}},
                                               {"cat", f_convert, SIGNED, 1, {{2, 4, END}}},
                                               {"clamp", f_clip, POSITIVE, 1, {{3, 4, END}}},
                                               {"roi_align", f_roi, SIGNED, 1, {{2, 2, 5, 4, END}}},
                                               {"roi_align_bwd", f_roi, SIGNED, 1, {{2, 1, 4, 4, END}}},
                                               {"mul", f_focal, POSITIVE, 2, {{2, 3, END}, {2, 3, END}}},
                                               {NULL}};
