/* memory.c: reports of a device's memory: by owner, and as the words of an error. */
#include "device/memory.h"
#include <isobit/device.h>
#include <stdio.h>
#include "device/cuda/cuda.h"
#include "device/cuda/report.h"

static iso_memory_owners owners_of(const size_t bytes[ISO__N_OWNERS]) {
  return (iso_memory_owners){.weights = bytes[ISO__OWNER_WEIGHTS],
                             .gradients = bytes[ISO__OWNER_GRADIENTS],
                             .optimizer = bytes[ISO__OWNER_OPTIMIZER],
                             .activations = bytes[ISO__OWNER_ACTIVATIONS],
                             .workspace = bytes[ISO__OWNER_WORKSPACE],
                             .captures = bytes[ISO__OWNER_CAPTURES]};
}

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
                             .now = owners_of(o.now),
                             .at_peak = owners_of(o.at_peak)};
}

iso_device_memory iso_device_get_memory(const iso_context *ctx) {
  if (!ctx || !ctx->device || ctx->device->isa != ISO_ISA_CUDA) return (iso_device_memory){0};
  return memory_of(ctx->device, iso__heap_info(ctx->heap).limit_bytes);
}

/* "1.5 GiB" */
typedef struct words {
  char text[16];
} words;
static words bytes(size_t n) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double v = (double)n;
  int u = 0;
  while (v >= 1024 && u < 4) v /= 1024, u++;
  words w;
  snprintf(w.text, sizeof w.text, v < 10 && u ? "%.1f %s" : "%.0f %s", v, units[u]);
  return w;
}

int iso_memory_owners_format(const iso_memory_owners *o, char *text, size_t n_bytes) {
  return snprintf(text, n_bytes,
                  "weights %s, gradients %s, optimizer %s, activations %s, workspace %s, captured steps %s",
                  bytes(o->weights).text, bytes(o->gradients).text, bytes(o->optimizer).text,
                  bytes(o->activations).text, bytes(o->workspace).text, bytes(o->captures).text);
}

iso_status iso__device_fail_memory(iso_context *ctx, const iso__device *device, iso_status status, size_t n_bytes) {
  if (device->isa != ISO_ISA_CUDA) return iso__fail_memory(ctx, status, n_bytes);
  const iso_device_memory m = memory_of(device, iso__heap_info(ctx->heap).limit_bytes);
  char owners[200], why[80];
  iso_memory_owners_format(&m.now, owners, sizeof owners);
  if (status == ISO_MEMORY_LIMIT) snprintf(why, sizeof why, "more than memory_limit, %s, allows", bytes(m.limit).text);
  else snprintf(why, sizeof why, "%s of %s are free", bytes(m.free).text, bytes(m.total).text);
  return ISO__FAIL(ctx, status, "memory",
                   "%s has no %s more (%zu bytes; %s): %s, cache %s with a largest free block of %s", device->name,
                   bytes(n_bytes).text, n_bytes, why, owners, bytes(m.reserved - m.live).text,
                   bytes(m.largest_free).text);
}

void iso__device_set_owner(const iso__device *device, void *block, iso__owner owner) {
  if (device->isa == ISO_ISA_CUDA) iso__cuda_set_owner(device, block, owner);
}
