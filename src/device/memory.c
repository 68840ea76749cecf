/* memory.c: reports of a device's memory: by owner, and as the words of an error. */
#include "device/memory.h"
#include <isobit/device.h>
#include <stdio.h>
#include "device/cuda/cuda.h"
#include "device/cuda/report.h"

static iso_device_memory memory_of(const iso__device *device, size_t limit) {
  const iso__cuda_memory m = iso__cuda_memory_info(device);
  const iso__cuda_owners o = iso__cuda_memory_owners(device);
  return (iso_device_memory){.live = m.live_bytes,
                             .peak = m.peak_bytes,
                             .reserved = m.reserved_bytes,
                             .largest_free = m.largest_free_bytes,
                             .limit = limit,
                             .free = m.device_free_bytes,
                             .total = m.device_bytes,
                             .now = iso__owners_of(o.now),
                             .at_peak = iso__owners_of(o.at_peak)};
}

iso_device_memory iso_device_get_memory(const iso_context *ctx) {
  if (!ctx || !ctx->device || ctx->device->isa != ISO_ISA_CUDA) return (iso_device_memory){0};
  return memory_of(ctx->device, iso__heap_info(ctx->heap).limit_bytes);
}

iso_status iso__device_fail_memory(iso_context *ctx, const iso__device *device, iso_status status, size_t n_bytes) {
  if (device->isa != ISO_ISA_CUDA) return iso__fail_memory(ctx, status, n_bytes);
  const iso_device_memory m = memory_of(device, iso__heap_info(ctx->heap).limit_bytes);
  char owners[200], why[80];
  iso_memory_owners_format(&m.now, owners, sizeof owners);
  if (status == ISO_MEMORY_LIMIT)
    snprintf(why, sizeof why, "more than memory_limit, %s, allows", iso__bytes_words(m.limit).text);
  else snprintf(why, sizeof why, "%s of %s are free", iso__bytes_words(m.free).text, iso__bytes_words(m.total).text);
  return ISO__FAIL(ctx, status, "memory",
                   "%s has no %s more (%zu bytes; %s): %s, cache %s with a largest free block of %s", device->name,
                   iso__bytes_words(n_bytes).text, n_bytes, why, owners, iso__bytes_words(m.reserved - m.live).text,
                   iso__bytes_words(m.largest_free).text);
}

void iso__device_set_owner(const iso__device *device, void *block, iso__owner owner) {
  if (device->isa == ISO_ISA_CUDA) iso__cuda_set_owner(device, block, owner);
}
