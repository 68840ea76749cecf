/* trace_advice.c: what a summary suggests, the most rewarding first. */
#include <stdarg.h>
#include "trace.h"

static void say(json_t *list, const char *format, ...) ISO_PRINTF(2, 3);
static void say(json_t *list, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  json_array_append_new(list, json_vsprintf(format, arguments));
  va_end(arguments);
}

static void about_the_place(json_t *list, const trace_summary *s) {
  if (s->cpu_step_ms > 0 && s->cpu_step_ms < s->step_ms)
    say(list, "small model: the CPU is %.1f× faster (%.4f ms a %s on %d threads): leave --device out",
        s->step_ms / s->cpu_step_ms, s->cpu_step_ms, s->unit, s->cpu_threads);
  const double idle = trace_idle_share(s), data = trace_data_share(s);
  if (s->on_device && idle > 0.25 && idle > 2 * data && s->captured)
    say(list,
        "the device is idle for %.0f %% of a %s though that is captured: the host prepares, launches and waits for "
        "that "
        "long: larger batches",
        100 * idle, s->unit);
  else if (s->on_device && idle > 0.25 && idle > 2 * data)
    say(list,
        "launch-bound: the device is idle for %.0f %% of a %s while the host makes %.0f launches: capture the "
        "%s (--capture auto), or take larger batches",
        100 * idle, s->unit, s->launches, s->unit);
}

static void about_data(json_t *list, const trace_summary *s) {
  const double share = trace_data_share(s);
  if (share > 0.1)
    say(list, "data wait: %.0f %% of a step waits for its batch: more loader threads (--workers %d)", 100 * share,
        job.workers ? 2 * (int)job.workers : 2);
}

static void about_the_host(json_t *list, const trace_summary *s) {
  const double outside = trace_outside_share(s);
  if (!s->on_device && outside > 0.25)
    say(list,
        "small operators: %.0f %% of a %s is spent between operators (shapes, tape, memory): larger batches make "
        "it less",
        100 * outside, s->unit);
}

/* Shorter than this it is mostly the start of the work. */
static double start_ms(const trace_summary *s) { return s->on_device ? 0.004 : 0.01; }

/* Whether it is one whose engines are worth a look. */
static bool about_operator(json_t *list, const trace_summary *s, const trace_group *g) {
  const double share = trace_share(g->device_ms / (double)s->n_steps, s->busy_ms);
  const double roofline = trace_share(g->floor_ms, g->device_ms), each_ms = g->device_ms / (double)g->n;
  const char *phase = iso_trace_phase_name(g->phase);
  if (g->kind == ISO_TRACE_COPY && share > 0.1)
    say(list, "%s takes %.0f %% of the work (%s): nothing is computed there", g->name, 100 * share, phase);
  if (g->kind == ISO_TRACE_COPY || share < 0.1 || roofline > 0.6) return false;
  if (each_ms < start_ms(s)) {
    say(list, "%s (%s, %.0f %% of the work) runs for %.1f µs each, most of it starting: larger batches", g->name, phase,
        100 * share, 1e3 * each_ms);
    return false;
  }
  say(list, "%s-bound operator %s (%s, %.0f %% of the work) is at %.0f %% of the roofline (%s); longest: %s by %s",
      g->memory_bound ? "memory" : "compute", g->name, phase, 100 * share, 100 * roofline,
      g->memory_bound ? "copy bandwidth" : "FMA peak", g->longest.problem, g->longest.engine);
  return true;
}

json_t *trace_advice(const trace_summary *s) {
  enum { LOOKED_AT = 4 };
  json_t *list = json_array();
  about_the_place(list, s), about_data(list, s), about_the_host(list, s);
  bool worth_a_look = false;
  for (int i = 0; i < s->n_groups && i < LOOKED_AT; i++) worth_a_look |= about_operator(list, s, &s->groups[i]);
  if (worth_a_look)
    say(list,
        "the engines of such a problem: 'isobit plans PROBLEM%s' says which there are and why one was chosen, "
        "'isobit bench PROBLEM%s' times them, 'isobit tune' keeps the fastest",
        s->on_device ? " --device cuda:0" : "", s->on_device ? " --device cuda:0" : "");
  if (json_array_size(list) == 0)
    say(list, "nothing stands out: the operators that take the time are near the roofline");
  return list;
}
