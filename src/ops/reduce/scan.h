/* scan.h: the launch that cumulative operators share. */
#ifndef ISO_OPS_REDUCE_SCAN_H
#define ISO_OPS_REDUCE_SCAN_H
#include "kernels/scan/scan.h"
#include "ops/ops.h"

/* Along which axis, and from which end; also a node's attributes. */
typedef struct iso__scan_axis {
  int axis; /* of a tensor without dimensions: 0, as if it had one */
  bool reverse;
} iso__scan_axis;

/* Checks x and makes the axis positive; false with the error kept. */
bool iso__scan_takes(iso_context *ctx, const char *op, uint32_t dtypes, const iso_tensor *x, iso__scan_axis *a);
/* The scan itself, not recorded; extrema leave their positions in *index. */
iso_tensor *iso__scan(iso_context *ctx, iso__scan_fn fn, const iso_tensor *x, const iso__scan_axis *a,
                      iso_tensor **index);
/* Cumulative sums and log-sum-exps from either end, recorded. */
iso_tensor *iso__cumsum(iso_context *ctx, const iso_tensor *x, int axis, bool reverse);
iso_tensor *iso__logcumsumexp(iso_context *ctx, const iso_tensor *x, int axis, bool reverse);
#endif
