/* trace.c: runs of engines in a trace, and as a profiler's ranges; the trace's entries with problems as text. */
#include <isobit/trace.h>
#include "device/trace.h"
#include "plan/state.h"

_Static_assert((int)ISO_TRACE_PROBLEM_BYTES == (int)ISO_PLAN_TEXT_BYTES, "a problem's text is as long everywhere");

static void run_only(const void *call) { ((const iso__call *)call)->engine->run(call); }

/* An engine that cannot be captured says so by an error, which is nobody's. */
static int count_launches(const iso__call *call) {
  const iso__device *device = iso__device_of(call->ctx);
  if (!device->count_launches) return 1;
  const iso__error before = call->ctx->error;
  const int n = device->count_launches(device, run_only, call);
  call->ctx->error = before;
  return n;
}

static void describe_run(const iso__trace *t, const iso__trace_mark *m, iso_trace_entry *out) {
  const iso__problem *problem = (const void *)(t->bytes + m->problem);
  const iso__operator *o = iso__problem_operator(problem);
  const iso__engine *engine = m->engine;
  iso__problem_format(problem, out->problem, sizeof out->problem);
  out->name = iso__operator_name(problem->op);
  out->engine = engine->name, out->revision = engine->revision, out->class_name = engine->class_name;
  out->flops = o->flops(problem), out->bytes = o->bytes(problem);
}

/* An operand's elements on the host; false with the error kept. */
static bool fetch(iso__trace *t, const iso__call *call, const iso__operand *operand, size_t at, iso_trace_output *out) {
  const iso__device *device = iso__device_of(call->ctx);
  const void *data = iso__operand_pointer(operand, call->args);
  const size_t n_bytes = (size_t)operand->n * iso_dtype_size(operand->dtype);
  *out = (iso_trace_output){.name = operand->name, .dtype = operand->dtype, .n = operand->n, .data = data};
  if (iso__is_on_cpu(call->ctx) || !n_bytes) return true;
  if (!iso__grow(t->ctx, &t->results, &t->results_capacity, at + n_bytes, 1)) return false;
  out->data = NULL; /* set when the buffer grows no more */
  return !iso__device_waited(call->ctx, device, "trace", device->copy(device, (char *)t->results + at, data, n_bytes));
}

static void observe(iso__trace *t, const iso__call *call, const iso__trace_mark *m) {
  iso__operand operands[ISO__MAX_OPERANDS];
  iso_trace_output outputs[ISO__MAX_OPERANDS];
  iso_trace_entry entry = {.kind = m->kind, .phase = m->phase, .step = m->step, .module = t->texts + m->module};
  const int n = iso__problem_operator(call->problem)->operands(call->problem, operands);
  int n_outputs = 0;
  size_t at = 0, begin[ISO__MAX_OPERANDS];
  for (int i = 0; i < n; i++) {
    if (!operands[i].output || !iso__operand_pointer(&operands[i], call->args)) continue;
    begin[n_outputs] = at;
    if (!fetch(t, call, &operands[i], at, &outputs[n_outputs])) return;
    at += ((size_t)operands[i].n * iso_dtype_size(operands[i].dtype) + 63) & ~(size_t)63;
    n_outputs++;
  }
  for (int i = 0; i < n_outputs; i++)
    if (!outputs[i].data) outputs[i].data = (char *)t->results + begin[i];
  describe_run(t, m, &entry);
  t->observer(t->observer_user, &entry, n_outputs, outputs);
}

static void run_traced(iso__trace *t, const iso__call *call) {
  const iso__trace_mark mark = {.kind = ISO_TRACE_RUN,
                                .engine = call->engine,
                                .problem = iso__trace_keep_bytes(t, call->problem, call->problem->n_bytes),
                                .n_launches = t->counts ? count_launches(call) : 0};
  const size_t n = iso__failed(t->ctx) ? 0 : iso__trace_begin(t, &mark); /* without memory for the problem: none */
  call->engine->run(call);
  iso__trace_end(t, n);
  if (n && t->observer) {
    const iso__trace_mark done = t->marks[n - 1];
    observe(t, call, &done);
  }
}

void iso__call_run_watched(const iso__call *call) {
  iso__trace *t = iso__trace_of(call->ctx);
  const iso__device *device = iso__device_of(call->ctx);
  char text[ISO_PLAN_TEXT_BYTES];
  if (device->range_push) iso__problem_format(call->problem, text, sizeof text), device->range_push(text);
  if (t) run_traced(t, call);
  else call->engine->run(call);
  if (device->range_push) device->range_pop();
}

/* ---- entries ---- */

size_t iso_trace_n(const iso_context *ctx) {
  const iso__trace *t = ctx ? ctx->slot[ISO__SLOT_TRACE] : NULL;
  return t && !t->on ? t->n : 0;
}

bool iso_trace_get(const iso_context *ctx, size_t i, iso_trace_entry *out) {
  if (i >= iso_trace_n(ctx)) return false;
  const iso__trace *t = ctx->slot[ISO__SLOT_TRACE];
  const iso__trace_mark *m = &t->marks[i];
  *out = (iso_trace_entry){.kind = m->kind,
                           .phase = m->phase,
                           .step = m->step,
                           .name = m->name,
                           .engine = "",
                           .class_name = "",
                           .module = t->texts + m->module,
                           .begin_ms = ((double)m->begin_ns - (double)t->origin_ns) / 1e6,
                           .host_ms = (double)(m->end_ns - m->begin_ns) / 1e6,
                           .bytes = m->bytes,
                           .n_launches = m->n_launches};
  out->device_begin_ms = m->pair ? m->device_begin_ns / 1e6 : out->begin_ms;
  out->device_ms = m->pair ? m->device_ns / 1e6 : out->host_ms;
  if (m->kind == ISO_TRACE_RUN) describe_run(t, m, out);
  return true;
}
