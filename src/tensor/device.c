/* device.c: the device that a context computes on, and where a tensor lies. */
#include "tensor/tensor.h"

iso_status iso_context_set_device(iso_context *ctx, const char *name) {
  if (!ctx || iso__failed(ctx)) return ctx ? ctx->error.code : ISO_INVALID_ARGUMENT;
  const iso__device *device;
  char why[320];
  const iso_status status = iso__device_find(name, &device, why, sizeof why);
  if (status != ISO_OK) return ISO__FAIL(ctx, status, __func__, "%s", why);
  if (iso__device_of(ctx) == device) return ISO_OK;
  iso__device_of(ctx)->synchronize(iso__device_of(ctx));
  if (ctx->device_changes) ctx->device_changes(ctx); /* what lies in the old device's memory goes */
  ctx->device = device == &iso__device_cpu ? NULL : device;
  return ISO_OK;
}

const char *iso_context_device(const iso_context *ctx) { return ctx ? iso__device_of(ctx)->name : "cpu"; }

iso_status iso_synchronize(iso_context *ctx) {
  if (!ctx || iso__failed(ctx)) return ctx ? ctx->error.code : ISO_INVALID_ARGUMENT;
  const iso__device *device = iso__device_of(ctx);
  const iso_status status = device->synchronize(device);
  return status == ISO_OK ? ISO_OK : ISO__FAIL(ctx, status, __func__, "%s: %s", device->name, "its work failed");
}

const char *iso_tensor_device(const iso_tensor *t) {
  return iso__tensor_is_usable(t, __func__) ? t->view.storage->device->name : "cpu";
}
