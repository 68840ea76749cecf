/* trace_chrome.c: a trace in the "Trace Event Format" of Chrome, which Perfetto reads too: complete events ("X") on one
 * track of the host and, of a device that works by itself, one of the device; times in µs. */
#include "trace.h"

enum { HOST = 1, DEVICE = 2 };

static json_t *name_of(int process, const char *name) {
  return json_pack("{s:s, s:s, s:i, s:i, s:{s:s}}", "name", "process_name", "ph", "M", "pid", process, "tid", 1, "args",
                   "name", name);
}

static json_t *arguments_of(const iso_trace_entry *e) {
  json_t *a = json_pack("{s:s, s:I}", "phase", iso_trace_phase_name(e->phase), "step", (json_int_t)e->step);
  if (*e->module) json_object_set_new(a, "module", json_string(e->module));
  if (e->kind != ISO_TRACE_SPAN) json_object_set_new(a, "bytes", json_real(e->bytes));
  if (e->kind != ISO_TRACE_RUN) return a;
  char engine[128];
  snprintf(engine, sizeof engine, "%s@%d", e->engine, e->revision);
  json_object_set_new(a, "operator", json_string(e->name));
  json_object_set_new(a, "problem", json_string(e->problem));
  json_object_set_new(a, "engine", json_string(engine));
  json_object_set_new(a, "class", json_string(e->class_name));
  json_object_set_new(a, "flops", json_real(e->flops));
  return a;
}

static json_t *event_of(const iso_trace_entry *e, int process, double begin_ms, double ms) {
  static const char *const categories[] = {"run", "copy", "wait", "span"};
  return json_pack("{s:s, s:s, s:s, s:i, s:i, s:f, s:f, s:o}", "name", e->name, "cat", categories[e->kind], "ph", "X",
                   "pid", process, "tid", 1, "ts", 1e3 * begin_ms, "dur", 1e3 * ms, "args", arguments_of(e));
}

int trace_write_chrome(const char *path, const iso_context *ctx, json_t *manifest) {
  static iso_trace_entry e;
  const char *device = iso_context_device(ctx);
  json_t *events = json_array();
  json_array_append_new(events, name_of(HOST, "host"));
  json_array_append_new(events, name_of(DEVICE, device));
  bool alone = false;
  for (size_t i = 0; iso_trace_get(ctx, i, &e); i++) {
    json_array_append_new(events, event_of(&e, HOST, e.begin_ms, e.host_ms));
    if (e.device_begin_ms == e.begin_ms && e.device_ms == e.host_ms) continue;
    alone = true;
    json_array_append_new(events, event_of(&e, DEVICE, e.device_begin_ms, e.device_ms));
  }
  if (!alone) json_array_remove(events, 1); /* the CPU's work is the host's */
  return job_write_json(
      path, json_pack("{s:o, s:s, s:O}", "traceEvents", events, "displayTimeUnit", "ms", "otherData", manifest));
}
