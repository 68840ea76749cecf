/* view.h: what the files of views share. */
#ifndef ISO_OPS_SHAPE_VIEW_H
#define ISO_OPS_SHAPE_VIEW_H
#include "ops/ops.h"

/* y, a copy of x in another order, dtype or device, recorded where both are floating point (copy.c); and such a copy on
 * a device (device.c). */
iso_tensor *iso__copy_finish(iso_context *ctx, const iso_tensor *x, iso_tensor *y);
/* iso_cast, but elements of dense storage stay in their order: what attention reads as heads need not be contiguous. */
iso_tensor *iso__cast_in_order(iso_context *ctx, const iso_tensor *x, iso_dtype dtype);
iso_tensor *iso__move(iso_context *ctx, const iso_tensor *x, const iso__device *device);
/* A view's handle, recorded under the rule as made from x. */
iso_tensor *iso__record_view(iso_context *ctx, const iso_tensor *x, const iso__view *view, iso__rule_id rule,
                             const void *attrs, size_t attr_bytes);
/* Zeros of `form`'s shape and t's dtype, with t where `show` shows it: the adjoint of a view without repetition.
 * Recorded under the rule. */
typedef bool iso__show(iso_context *ctx, const iso__view *whole, const void *attrs, iso__view *part);
iso__show iso__show_slice; /* attrs: iso__slice */
iso_tensor *iso__view_bwd(iso_context *ctx, const iso_tensor *t, const iso__view *form, iso__show *show,
                          iso__rule_id rule, const void *attrs, size_t attr_bytes);
/* x's copy with t in the place that `show` shows, whose shape t must have. Recorded under the rule, inputs x and t. */
iso_tensor *iso__replace(iso_context *ctx, const char *op, const iso_tensor *x, const iso_tensor *t, iso__show *show,
                         iso__rule_id rule, const void *attrs, size_t attr_bytes);
/* Padding by own elements: of every axis its extent, and what is added before and behind (negative: cropped). */
typedef struct iso__frame {
  iso_pad_mode mode;
  int n_dims;
  int64_t extent[ISO_MAX_DIMS], before[ISO_MAX_DIMS], behind[ISO_MAX_DIMS];
} iso__frame;
int64_t iso__frame_extent(const iso__frame *f, int axis); /* of the padded axis */
iso_tensor *iso__frame_pad(iso_context *ctx, const iso_tensor *x, const iso__frame *f);
/* Of a matrix' row: how many elements lie before those above the diagonal (`lower`), or before the diagonal itself. */
static inline int64_t iso__triangle_split(int64_t row, int64_t columns, int64_t diagonal, bool lower) {
  const int64_t most = INT64_C(1) << 46, d = diagonal > most ? most : diagonal < -most ? -most : diagonal;
  const int64_t at = row + d + lower;
  return at < 0 ? 0 : at > columns ? columns : at;
}
#endif
