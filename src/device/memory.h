/* memory.h: what is said of a device's memory, and when it has no more. */
#ifndef ISO_DEVICE_MEMORY_H
#define ISO_DEVICE_MEMORY_H
#include "base/owner.h"
#include "device/device.h"

/* Keeps the error of a request for n_bytes on a device (any) that ended with `status`, and what its memory holds. */
iso_status iso__device_fail_memory(iso_context *ctx, const iso__device *device, iso_status status, size_t n_bytes);
/* The block of a device (any) is another's from here on. */
void iso__device_set_owner(const iso__device *device, void *block, iso__owner owner);
#endif
