/* cpu_device.c: the CPU's row: memory is the context's heap, and every call has finished when it returns. */
#include <string.h>
#include "device/device.h"

static void copy(void *dst, const void *src, size_t n_bytes) {
  if (n_bytes) memcpy(dst, src, n_bytes);
}

static void synchronize(void) {}

const iso__device iso__device_cpu = {.name = "cpu",
                                     .kind = ISO__DEVICE_CPU,
                                     .alloc = iso__heap_alloc,
                                     .free = iso__heap_free,
                                     .copy = copy,
                                     .synchronize = synchronize};
