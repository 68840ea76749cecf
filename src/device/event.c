/* event.c: public events (isobit/device.h), of the device that the context had when they were made. */
#include <isobit/device.h>
#include "device/device.h"

struct iso_event {
  iso_context *ctx;
  const iso__device *device;
  iso__event event;
  bool recorded;
};

iso_event *iso_event_new(iso_context *ctx) {
  iso_event *e = iso__failed(ctx) ? NULL : iso__zalloc(ctx, sizeof *e);
  if (!e) return NULL;
  e->ctx = ctx, e->device = iso__device_of(ctx);
  const iso_status status = e->device->event_init(e->device, &e->event);
  if (status == ISO_OK) return e;
  ISO__FAIL(ctx, status, __func__, "%s: no event could be made", e->device->name);
  iso__free(ctx, e, sizeof *e);
  return NULL;
}

void iso_event_free(iso_event *e) {
  if (!e) return;
  e->device->event_release(e->device, &e->event);
  iso__free(e->ctx, e, sizeof *e);
}

iso_status iso_event_record(iso_event *e) {
  if (!e || iso__failed(e->ctx)) return e ? e->ctx->error.code : ISO_INVALID_ARGUMENT;
  const iso_status status = e->device->event_record(e->device, &e->event);
  if (status != ISO_OK) return ISO__FAIL(e->ctx, status, __func__, "%s: its work failed", e->device->name);
  return e->recorded = true, ISO_OK;
}

iso_status iso_event_elapsed_ms(const iso_event *begin, const iso_event *end, double *ms) {
  *ms = 0;
  if (!begin || !end || iso__failed(begin->ctx)) return begin && end ? begin->ctx->error.code : ISO_INVALID_ARGUMENT;
  iso_context *ctx = begin->ctx;
  if (!begin->recorded || !end->recorded)
    return ISO__FAIL(ctx, ISO_STATE, __func__, "the %s event has not been recorded",
                     begin->recorded ? "second" : "first");
  if (begin->device != end->device)
    return ISO__FAIL(ctx, ISO_STATE, __func__, "the events are of %s and %s", begin->device->name, end->device->name);
  const iso_status status = begin->device->event_elapsed(begin->device, &begin->event, &end->event, ms);
  *ms /= 1e6;
  return status == ISO_OK ? ISO_OK : ISO__FAIL(ctx, status, __func__, "%s: its work failed", begin->device->name);
}
