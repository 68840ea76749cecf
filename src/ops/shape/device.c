/* device.c: tensors on another device; the gradient goes back. */
#include "ops/ops.h"

static iso_tensor *move(iso_context *ctx, const iso_tensor *x, const iso__device *device) {
  if (iso__failed(ctx) || !x) return NULL;
  iso_tensor *y = iso__tensor_to(ctx, &x->view, device);
  const iso__device *from = x->view.storage->device;
  return iso__finish(
      ctx, y, y ? ISO_OK : ISO_OUT_OF_MEMORY, ISO__RULE_TO,
      &(iso__finish_options){.inputs = ISO__TENSORS(x), .n_inputs = 1, .attrs = &from, .attr_bytes = sizeof from});
}
void iso__to_gradient(iso__gradient *g) {
  g->dx[0] = move(g->ctx, g->dy[0], *(const iso__device *const *)iso__attrs(g));
}

iso_tensor *iso_to(iso_context *ctx, const iso_tensor *x, const char *name) {
  if (iso__failed(ctx) || !iso__tensor_is_usable(x, "iso_to")) return NULL;
  const iso__device *device;
  char why[320];
  const iso_status status = iso__device_find(name, &device, why, sizeof why);
  if (status != ISO_OK) ISO__FAIL(ctx, status, "to", "%s", why);
  else if (x->ctx != ctx) ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "to", "a tensor belongs to another context");
  if (iso__failed(ctx)) return NULL;
  return x->view.storage->device == device ? iso_tensor_alias(ctx, x) : move(ctx, x, device);
}
