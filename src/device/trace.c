/* trace.c: marks in the order of their beginning, with the device's times filled in when the trace ends.
 *
 * A kernel that the device waits for looks longer than it is: its first event is met when the device is already idle.
 * So at the first work behind a wait the device is given a delay as long as the host needed, at most, to launch what
 * lies between two waits; work then runs without gaps, and events tell its own time. The first stretch of a trace may
 * be too short for that: whoever wants figures traces a step before. What a pair of events itself adds is measured and
 * taken off. */
#include <string.h>
#include "base/clock.h"
#include "device/trace.h"

static const double longest_delay_ns = 200e6;

const char *iso_trace_phase_name(iso_trace_phase phase) {
  static const char *const names[] = {"forward", "backward", "update", "data"};
  return (size_t)phase < sizeof names / sizeof *names ? names[phase] : "forward";
}

/* ---- life ---- */

static void trace_free(iso_context *ctx, void *state) {
  iso__trace *t = state;
  for (size_t i = 0; i < t->n_made; i++) t->device->event_release(t->device, &t->events[i]);
  if (t->device) t->device->event_release(t->device, &t->origin);
  iso__free(ctx, t->events, t->events_capacity * sizeof *t->events);
  iso__free(ctx, t->results, t->results_capacity);
  iso__free(ctx, t->texts, t->texts_capacity);
  iso__free(ctx, t->bytes, t->bytes_capacity);
  iso__free(ctx, t->marks, t->capacity * sizeof *t->marks);
  iso__free(ctx, t, sizeof *t);
}

/* A trace of the context's present device; one of another device ends. */
static iso__trace *trace_for(iso_context *ctx) {
  iso__trace *t = ctx->slot[ISO__SLOT_TRACE];
  const iso__device *device = iso__device_of(ctx);
  if (t && t->device == device) return t;
  if (t) trace_free(ctx, t);
  ctx->slot[ISO__SLOT_TRACE] = NULL, ctx->slot_free[ISO__SLOT_TRACE] = NULL;
  if (!(t = iso__zalloc(ctx, sizeof *t))) return NULL;
  t->ctx = ctx;
  const iso_status status = device->event_init(device, &t->origin);
  if (status != ISO_OK) {
    ISO__FAIL(ctx, status, "iso_trace_start", "%s: no event could be made", device->name);
    return iso__free(ctx, t, sizeof *t), NULL;
  }
  t->device = device;
  if (device->event_overhead_ns) t->overhead_ns = device->event_overhead_ns(device);
  ctx->slot[ISO__SLOT_TRACE] = t, ctx->slot_free[ISO__SLOT_TRACE] = trace_free;
  return t;
}

static bool works_alone(const iso__trace *t) { return t->device->n_waits != NULL; }

/* Room for pairs of events up to n. */
static bool make_pairs(iso__trace *t, size_t n) {
  if (!iso__grow(t->ctx, (void **)&t->events, &t->events_capacity, 2 * n, sizeof *t->events)) return false;
  for (; t->n_made < 2 * n; t->n_made++)
    if (t->device->event_init(t->device, &t->events[t->n_made]) != ISO_OK) {
      ISO__FAIL(t->ctx, ISO_DEVICE_ERROR, "trace", "%s: no event could be made", t->device->name);
      return false;
    }
  return true;
}

iso_status iso_trace_start(iso_context *ctx, const iso_trace_options *options) {
  if (!ctx || iso__failed(ctx)) return ctx ? ctx->error.code : ISO_INVALID_ARGUMENT;
  iso__trace *t = trace_for(ctx);
  if (!t) return ctx->error.code;
  t->on = false, t->counts = options && options->count_launches;
  t->observer = options ? options->observer : NULL, t->observer_user = options ? options->observer_user : NULL;
  if (t->observer) t->fill_before = iso_memory_set_fill(ctx, 0);
  t->n = t->n_bytes = t->n_texts = t->n_pairs = t->module = 0;
  t->phase = ISO_TRACE_FORWARD, t->step = 0;
  if (works_alone(t) && !make_pairs(t, 1024)) return ctx->error.code;
  iso__trace_keep_text(t, "");
  iso_status status = t->device->synchronize(t->device);
  t->origin_ns = iso__clock_ns();
  if (status == ISO_OK) status = t->device->event_record(t->device, &t->origin);
  if (status != ISO_OK) return ISO__FAIL(ctx, status, __func__, "%s: its work failed", t->device->name);
  t->stretch_begin_ns = t->stretch_end_ns = 0;
  t->n_waits = UINT64_MAX; /* the device is idle */
  t->on = !iso__failed(ctx);
  return ctx->error.code;
}

static iso_status ask_events(iso__trace *t) {
  iso_status status = ISO_OK;
  for (size_t i = 0; i < t->n && status == ISO_OK; i++) {
    iso__trace_mark *m = &t->marks[i];
    if (!m->pair) continue;
    const iso__event *begin = &t->events[2 * (m->pair - 1)];
    status = t->device->event_elapsed(t->device, &t->origin, begin, &m->device_begin_ns);
    if (status == ISO_OK) status = t->device->event_elapsed(t->device, begin, begin + 1, &m->device_ns);
    m->device_ns = m->device_ns > t->overhead_ns ? m->device_ns - t->overhead_ns : 0;
  }
  return status;
}

iso_status iso_trace_stop(iso_context *ctx) {
  if (!ctx) return ISO_INVALID_ARGUMENT;
  iso__trace *t = iso__trace_of(ctx);
  if (!t) return ISO__FAIL(ctx, ISO_STATE, __func__, "no trace was started");
  t->on = false;
  if (t->observer) iso_memory_set_fill(ctx, t->fill_before);
  iso_status status = t->device->synchronize(t->device);
  if (status == ISO_OK) status = ask_events(t);
  return status == ISO_OK ? ctx->error.code : ISO__FAIL(ctx, status, __func__, "%s: its work failed", t->device->name);
}

/* ---- what marks need ---- */

size_t iso__trace_keep_bytes(iso__trace *t, const void *bytes, size_t n_bytes) {
  const size_t at = t->n_bytes;
  if (!iso__grow(t->ctx, (void **)&t->bytes, &t->bytes_capacity, at + n_bytes, 1)) return 0;
  memcpy(t->bytes + at, bytes, n_bytes);
  t->n_bytes = (at + n_bytes + 15) & ~(size_t)15; /* problems are structs */
  return at;
}

size_t iso__trace_keep_text(iso__trace *t, const char *text) {
  const size_t at = t->n_texts, n_bytes = strlen(text) + 1;
  if (!iso__grow(t->ctx, (void **)&t->texts, &t->texts_capacity, at + n_bytes, 1)) return 0;
  memcpy(t->texts + at, text, n_bytes);
  t->n_texts += n_bytes;
  return at;
}

/* If the host has waited for the device, which is therefore idle: a delay. */
static void hold_back(iso__trace *t, uint64_t now) {
  const uint64_t n_waits = t->device->n_waits(t->device);
  if (n_waits == t->n_waits) return;
  const uint64_t stretch = t->stretch_end_ns - t->stretch_begin_ns;
  if (stretch > t->longest_ns && !t->counts) t->longest_ns = stretch; /* counting takes longer than launching */
  t->n_waits = n_waits;
  t->stretch_begin_ns = t->stretch_end_ns = now;
  const double delay = 1.25 * (double)t->longest_ns;
  if (t->device->delay && delay > 0) t->device->delay(t->device, delay < longest_delay_ns ? delay : longest_delay_ns);
}

/* ---- marks ---- */

size_t iso__trace_begin(iso__trace *t, const iso__trace_mark *like) {
  if (!iso__grow(t->ctx, (void **)&t->marks, &t->capacity, t->n + 1, sizeof *t->marks)) return 0;
  const bool on_device = works_alone(t) && (like->kind == ISO_TRACE_RUN || like->kind == ISO_TRACE_COPY) &&
                         iso__device_of(t->ctx) == t->device;
  if (on_device && !make_pairs(t, t->n_pairs + 1)) return 0;
  iso__trace_mark *m = &t->marks[t->n++];
  *m = *like;
  m->outer = t->phase;
  if (m->kind != ISO_TRACE_SPAN) m->phase = t->phase;
  m->step = t->step, m->module = t->module;
  m->begin_ns = m->end_ns = iso__clock_ns();
  if (on_device) {
    m->pair = ++t->n_pairs;
    hold_back(t, m->begin_ns);
    t->device->event_record(t->device, &t->events[2 * (m->pair - 1)]);
  }
  return t->n;
}

void iso__trace_end(iso__trace *t, size_t mark) {
  if (!mark || mark > t->n) return;
  iso__trace_mark *m = &t->marks[mark - 1];
  if (m->pair) t->device->event_record(t->device, &t->events[2 * (m->pair - 1) + 1]);
  m->end_ns = iso__clock_ns();
  if (m->kind == ISO_TRACE_SPAN) t->phase = m->outer;
  if (m->kind == ISO_TRACE_RUN) t->stretch_end_ns = m->end_ns;
}

size_t iso__trace_span(iso__trace *t, const char *name, iso_trace_phase phase) {
  const size_t mark = iso__trace_begin(t, &(iso__trace_mark){.kind = ISO_TRACE_SPAN, .name = name, .phase = phase});
  if (mark) t->phase = phase;
  return mark;
}
