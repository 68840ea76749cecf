/* context.c: the device that a context computes on. */
#include <isobit/device.h>
#include "device/cuda/report.h"
#include "device/device.h"

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
  return iso__device_waited(ctx, device, __func__, device->synchronize(device));
}

iso_status iso__device_asked(iso_context *ctx, const iso__device *device, const char *op, iso_status status) {
  if (status == ISO_DEVICE_ERROR && device->isa == ISO_ISA_CUDA) {
    char why[420];
    iso__cuda_explain(device, why, sizeof why);
    ISO__FAIL(ctx, status, op, "%s: %s", device->name, why);
  } else if (status == ISO_UNSUPPORTED) {
    ISO__FAIL(ctx, status, op, "%s: what is being captured cannot be waited for", device->name);
  } else if (status != ISO_OK) {
    ISO__FAIL(ctx, status, op, "%s: its work failed", device->name);
  }
  return ctx->error.code;
}

iso_status iso__device_waited(iso_context *ctx, const iso__device *device, const char *op, iso_status status) {
  iso__device_asked(ctx, device, op, status);
  if (status == ISO_OK && device->collect) device->collect(ctx);
  return ctx->error.code;
}
