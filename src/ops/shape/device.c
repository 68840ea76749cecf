/* device.c: tensors on another device: a copy, whose gradient goes back. */
#include "ops/shape/view.h"

iso_tensor *iso__move(iso_context *ctx, const iso_tensor *x, const iso__device *device) {
  return iso__failed(ctx) || !x ? NULL : iso__copy_finish(ctx, x, iso__tensor_to(ctx, &x->view, device));
}

iso_tensor *iso_to(iso_context *ctx, const iso_tensor *x, const char *name) {
  if (iso__failed(ctx) || !iso__tensor_is_usable(x, "iso_to")) return NULL;
  const iso__device *device;
  char why[320];
  const iso_status status = iso__device_find(name, &device, why, sizeof why);
  if (status != ISO_OK) ISO__FAIL(ctx, status, "to", "%s", why);
  else if (x->ctx != ctx) ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "to", "a tensor belongs to another context");
  if (iso__failed(ctx)) return NULL;
  return x->view.storage->device == device ? iso_tensor_alias(ctx, x) : iso__move(ctx, x, device);
}
