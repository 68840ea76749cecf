/* trace_summary.c: a trace's entries by operator and phase, beside what the device can do. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "trace.h"

double trace_share(double part, double of) { return of > 0 ? part / of : 0; }

/* What peak and bandwidth leave of a run's time. */
static double floor_of(const trace_summary *s, double flops, double bytes, bool *memory_bound) {
  const double compute_ms = s->peak_gflops > 0 ? flops / s->peak_gflops / 1e6 : 0;
  const double memory_ms = s->copy_gbs > 0 ? bytes / s->copy_gbs / 1e6 : 0;
  *memory_bound = memory_ms >= compute_ms;
  return fmax(compute_ms, memory_ms);
}

static trace_group *group_of(trace_summary *s, const iso_trace_entry *e) {
  for (int i = 0; i < s->n_groups; i++)
    if (s->groups[i].phase == e->phase && !strcmp(s->groups[i].name, e->name)) return &s->groups[i];
  if (s->n_groups == MAX_TRACE_GROUPS) return NULL;
  trace_group *g = &s->groups[s->n_groups++];
  *g = (trace_group){.name = e->name, .phase = e->phase, .kind = e->kind};
  return g;
}

static void add(trace_summary *s, const iso_trace_entry *e) {
  trace_group *g = group_of(s, e);
  bool memory_bound;
  if (!g) return;
  g->n++;
  g->host_ms += e->host_ms, g->device_ms += e->device_ms, g->flops += e->flops, g->bytes += e->bytes;
  g->floor_ms += floor_of(s, e->flops, e->bytes, &memory_bound);
  if (e->device_ms > g->longest.device_ms) g->longest = *e;
}

static int by_device_time(const void *a, const void *b) {
  const trace_group *x = a, *y = b;
  if (x->device_ms != y->device_ms) return x->device_ms < y->device_ms ? 1 : -1;
  return strcmp(x->name, y->name);
}

void trace_summarise(trace_summary *s, const iso_context *ctx) {
  static iso_trace_entry e;
  const double n = (double)s->n_steps;
  for (size_t i = 0; iso_trace_get(ctx, i, &e); i++) {
    const bool on_host = e.phase == ISO_TRACE_DATA && !s->on_device; /* part of the wait for data */
    const bool works = (e.kind == ISO_TRACE_RUN || e.kind == ISO_TRACE_COPY) && !on_host;
    if (works) add(s, &e), s->busy_ms += e.device_ms / n;
    if (e.kind == ISO_TRACE_RUN) s->runs += 1 / n, s->run_ms += e.host_ms / n;
    if (e.kind == ISO_TRACE_WAIT) s->waits += 1 / n;
    if (e.kind == ISO_TRACE_SPAN && e.phase == ISO_TRACE_DATA) s->data_ms += e.host_ms / n;
  }
  for (int i = 0; i < s->n_groups; i++) floor_of(s, s->groups[i].flops, s->groups[i].bytes, &s->groups[i].memory_bound);
  qsort(s->groups, (size_t)s->n_groups, sizeof s->groups[0], by_device_time);
}

double trace_idle_share(const trace_summary *s) { return fmax(0, 1 - trace_share(s->busy_ms, s->step_ms)); }
double trace_data_share(const trace_summary *s) {
  return trace_share(s->data_ms, s->on_device ? s->step_ms : s->traced_step_ms);
}
double trace_outside_share(const trace_summary *s) {
  return fmax(0, 1 - trace_share(s->busy_ms + s->data_ms, s->traced_step_ms));
}

/* ---- for people ---- */

static void print_group(const trace_summary *s, const trace_group *g) {
  const double n = (double)s->n_steps;
  printf("  %-26s %-9s %6.1f %% %10.4f ms %7.1f ", g->name, iso_trace_phase_name(g->phase),
         100 * trace_share(g->device_ms / n, s->busy_ms), g->device_ms / n, (double)g->n / n);
  const double roofline = trace_share(g->floor_ms, g->device_ms);
  if (roofline > 1.05) printf("    cached or fewer operations\n");
  else printf("%6.0f %% of %s\n", 100 * roofline, g->memory_bound ? "copy bandwidth" : "FMA peak");
}

void trace_print(const trace_summary *s) {
  enum { SHOWN = 12 };
  printf("\nmachine          FMA peak %.1f GFLOP/s, copy %.1f GB/s (measured)\n", s->peak_gflops, s->copy_gbs);
  printf("%-16s %.4f ms%s; traced %.4f ms (%lld of them)\n", s->unit, s->step_ms, s->captured ? ", captured" : "",
         s->traced_step_ms, (long long)s->n_steps);
  printf("of a %-10s %.1f runs of operators", s->unit, s->runs);
  if (s->on_device) printf(", %.0f launches, %.1f waits for the device", s->launches, s->waits);
  printf("\n");
  if (s->on_device)
    printf("device           at work %.4f ms of a %s: idle %.0f %%\n", s->busy_ms, s->unit, 100 * trace_idle_share(s));
  else
    printf("operators        %.4f ms of a %s: %.0f %% outside of them\n", s->busy_ms, s->unit,
           100 * trace_outside_share(s));
  if (s->data_ms > 0)
    printf("data             waited for %.4f ms of a step: %.0f %%\n", s->data_ms, 100 * trace_data_share(s));
  if (s->cpu_step_ms > 0)
    printf("on the CPU       %.4f ms a %s (%d threads)\n", s->cpu_step_ms, s->unit, s->cpu_threads);
  printf("\n  %-26s %-9s %8s %13s %7s  %s\n", "operator", "phase", "share", s->unit, "runs", "reaches");
  for (int i = 0; i < s->n_groups && i < SHOWN; i++) print_group(s, &s->groups[i]);
  if (s->n_groups > SHOWN) printf("  … %d more (--json has all)\n", s->n_groups - SHOWN);
  printf("\n");
}

/* ---- for programs ---- */

static json_t *group_json(const trace_summary *s, const trace_group *g) {
  const double n = (double)s->n_steps;
  json_t *j = json_pack("{s:s, s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:s}", "operator", g->name, "phase",
                        iso_trace_phase_name(g->phase), "kind", g->kind == ISO_TRACE_RUN ? "run" : "copy",
                        "runs_per_step", (double)g->n / n, "host_ms", g->host_ms / n, "device_ms", g->device_ms / n,
                        "share", trace_share(g->device_ms / n, s->busy_ms), "roofline",
                        trace_share(g->floor_ms, g->device_ms), "bound", g->memory_bound ? "memory" : "compute");
  json_object_set_new(j, "gflops", json_real(trace_share(g->flops, g->device_ms * 1e6)));
  json_object_set_new(j, "gb_s", json_real(trace_share(g->bytes, g->device_ms * 1e6)));
  json_object_set_new(j, "longest",
                      json_pack("{s:s, s:s, s:s, s:f}", "problem", g->longest.problem, "engine",
                                g->longest.engine ? g->longest.engine : "", "module",
                                g->longest.module ? g->longest.module : "", "device_ms", g->longest.device_ms));
  return j;
}

json_t *trace_json(const trace_summary *s) {
  json_t *groups = json_array();
  for (int i = 0; i < s->n_groups; i++) json_array_append_new(groups, group_json(s, &s->groups[i]));
  json_t *j = json_pack("{s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "steps", (json_int_t)s->n_steps, "step_ms",
                        s->step_ms, "traced_step_ms", s->traced_step_ms, "peak_gflops", s->peak_gflops, "copy_gb_s",
                        s->copy_gbs, "runs_per_step", s->runs, "launches_per_step", s->launches, "waits_per_step",
                        s->waits, "busy_ms", s->busy_ms);
  json_object_set_new(j, "captured", json_boolean(s->captured));
  json_object_set_new(j, "host_run_ms", json_real(s->run_ms));
  json_object_set_new(j, "idle_share", s->on_device ? json_real(trace_idle_share(s)) : json_null());
  json_object_set_new(j, "outside_share", s->on_device ? json_null() : json_real(trace_outside_share(s)));
  json_object_set_new(j, "data_ms", json_real(s->data_ms));
  json_object_set_new(j, "cpu_step_ms", s->cpu_step_ms > 0 ? json_real(s->cpu_step_ms) : json_null());
  json_object_set_new(j, "samples_per_step", json_real(s->samples));
  json_object_set_new(j, "tokens_per_step", json_real(s->tokens));
  json_object_set_new(j, "padding_per_step", json_real(s->padding));
  json_object_set_new(j, "operators", groups);
  return j;
}
