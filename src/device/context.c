/* context.c: the device that a context computes on. */
#include <isobit/device.h>
#include "device/cuda/cuda.h"
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

iso_status iso__device_waited(iso_context *ctx, const iso__device *device, const char *op, iso_status status) {
  if (status != ISO_OK) ISO__FAIL(ctx, status, op, "%s: its work failed", device->name);
  else if (device->collect) device->collect(ctx);
  return ctx->error.code;
}

iso_device_memory iso_device_get_memory(const iso_context *ctx) {
  if (!ctx || iso__is_on_cpu(ctx)) return (iso_device_memory){0};
  const iso__cuda_memory m = iso__cuda_memory_info(ctx->device);
  return (iso_device_memory){.live = m.live_bytes,
                             .peak = m.peak_bytes,
                             .reserved = m.reserved_bytes,
                             .largest_free = m.largest_free_bytes,
                             .limit = iso__heap_info(ctx->heap).limit_bytes,
                             .free = m.device_free_bytes,
                             .total = m.device_bytes};
}
