/* cumsum.c: cumulative sums along an axis. Class `scan`, the gradient too: dx = the reversed scan of dy. */
#include "ops/reduce/scan.h"

iso_tensor *iso_cumsum(iso_context *ctx, const iso_tensor *x, int axis) {
  ISO__AUTOCAST(ctx, "cumsum", iso_cumsum(ctx, x, axis), &x);
  return iso__cumsum(ctx, x, axis, false);
}

iso_tensor *iso__cumsum(iso_context *ctx, const iso_tensor *x, int axis, bool reverse) {
  iso__scan_axis a = {.axis = axis, .reverse = reverse};
  if (!iso__scan_takes(ctx, "cumsum", ISO__FLOAT_DTYPES | ISO__WHOLE_DTYPES, x, &a)) return NULL;
  iso_tensor *y = iso__scan(ctx, ISO__SCAN_SUM, x, &a, NULL);
  return iso__finish(
      ctx, y, ISO_OK, ISO__RULE_CUMSUM,
      &(iso__finish_options){.inputs = ISO__TENSORS(x), .n_inputs = 1, .attrs = &a, .attr_bytes = sizeof a});
}

void iso__cumsum_gradient(iso__gradient *g) {
  const iso__scan_axis *a = iso__attrs(g);
  g->dx[0] = iso__cumsum(g->ctx, g->dy[0], a->axis, !a->reverse);
}
