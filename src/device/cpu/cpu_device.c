/* cpu_device.c: the CPU's row: memory is the context's heap, and every call has finished when it returns. */
#include <string.h>
#include "base/clock.h"
#include "device/device.h"

static void *cpu_alloc(const iso__device *device, iso__heap *heap, size_t n_bytes, iso_status *status) {
  (void)device;
  return iso__heap_alloc(heap, n_bytes, status);
}

static void cpu_free(const iso__device *device, iso__heap *heap, void *block, size_t n_bytes) {
  (void)device;
  iso__heap_free(heap, block, n_bytes);
}

static iso_status copy(const iso__device *device, void *dst, const void *src, size_t n_bytes) {
  (void)device;
  if (n_bytes) memcpy(dst, src, n_bytes);
  return ISO_OK;
}

static iso_status zero(const iso__device *device, void *dst, size_t n_bytes) {
  (void)device;
  if (n_bytes) memset(dst, 0, n_bytes);
  return ISO_OK;
}

static iso_status synchronize(const iso__device *device) {
  (void)device;
  return ISO_OK;
}

static iso_status event_init(const iso__device *device, iso__event *event) {
  (void)device;
  return *event = (iso__event){0}, ISO_OK;
}

static void event_release(const iso__device *device, iso__event *event) { (void)device, (void)event; }

static iso_status event_record(const iso__device *device, iso__event *event) {
  (void)device;
  return event->ns = iso__clock_ns(), ISO_OK;
}

static iso_status event_elapsed(const iso__device *device, const iso__event *begin, const iso__event *end, double *ns) {
  (void)device;
  return *ns = (double)end->ns - (double)begin->ns, ISO_OK;
}

const iso__device iso__device_cpu = {.name = "cpu",
                                     .alloc = cpu_alloc,
                                     .free = cpu_free,
                                     .copy = copy,
                                     .zero = zero,
                                     .synchronize = synchronize,
                                     .event_init = event_init,
                                     .event_release = event_release,
                                     .event_record = event_record,
                                     .event_elapsed = event_elapsed};
