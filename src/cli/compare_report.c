/* compare_report.c: what a comparison found, as a table for people and as JSON. */
#include <math.h>
#include "compare.h"

static double told_number(const compare_result *r, int p, const char *key) {
  return json_number_value(json_object_get(r->told[p][0], key));
}

static const iso_compare_step *last_step(const iso_compare_run *run) { return &run->steps[run->n_steps - 1]; }

double compare_peak_mib(const iso_compare_run *run) {
  return run->peak_device_mib > 0 ? run->peak_device_mib : run->peak_memory_mib;
}

static void print_row(const compare_result *r, int p) {
  const iso_compare_row *o = &r->c->row[p];
  const iso_compare_run *run = &o->run[0];
  char interval[64], bits[64];
  snprintf(interval, sizeof interval, "%.2f [%.2f, %.2f]", o->step_ms.median, o->step_ms.low, o->step_ms.high);
  if (o->same_bits) snprintf(bits, sizeof bits, "yes");
  else snprintf(bits, sizeof bits, "no, from step %lld", (long long)o->first_differing_step);
  printf("%-13s %6llu %24s %8.2f %9.1f %9.0f %9.1f %9.5f %8.4f %-12.12s %s\n", o->name,
         (unsigned long long)run->n_steps, interval, o->step_ms.p95, run->steps[0].time_ms,
         1000.0 * (double)r->batch_size / o->step_ms.median, compare_peak_mib(run), last_step(run)->loss,
         told_number(r, p, "accuracy"), last_step(run)->hash, bits);
}

void compare_print(const compare_result *r) {
  const iso_comparison *c = r->c;
  char per_second[32];
  snprintf(per_second, sizeof per_second, "%s/s", job_kind->samples);
  printf("%-13s %6s %22s %8s %9s %9s %9s %9s %8s %-12s %s\n", "policy", "steps", "step ms [95 % of median]", "p95 ms",
         "first ms", per_second, "peak MiB", "loss", "accuracy", "weights", "same bits");
  for (int p = 0; p < c->n_rows; p++) print_row(r, p);
  const iso_compare_run *run = c->row[0].run;
  const bool on_device = run->peak_device_mib > 0;
  printf(
      "\nEach policy ran twice%s%s, in fresh processes with %d and %d threads; times are the first's, in turns of %llu "
      "steps.\n",
      on_device ? " on " : "", on_device ? run->device : "", run[0].n_threads, run[1].n_threads,
      (unsigned long long)c->slice);
  for (int p = 0; p < c->n_rows; p++)
    if (!isnan(c->row[p].over_fast.median))
      printf("%s costs %+.1f %% of fast's step (paired, 95 %%: %+.1f … %+.1f %%).\n", c->row[p].name,
             100 * (c->row[p].over_fast.median - 1), 100 * (c->row[p].over_fast.low - 1),
             100 * (c->row[p].over_fast.high - 1));
}

static void set_real(json_t *j, const char *key, double v) {
  json_object_set_new(j, key, isfinite(v) ? json_real(v) : json_null());
}

static void set_bits(json_t *j, const iso_compare_row *o) {
  json_object_set_new(j, "weights_hash", json_string(last_step(&o->run[0])->hash));
  json_object_set_new(j, "weights_hash_second_run", json_string(last_step(&o->run[1])->hash));
  json_object_set_new(j, "same_bits", json_boolean(o->same_bits));
  json_object_set_new(j, "first_differing_step",
                      o->same_bits ? json_null() : json_integer((json_int_t)o->first_differing_step));
}

static json_t *row_json(const compare_result *r, int p) {
  const iso_compare_row *o = &r->c->row[p];
  const iso_compare_run *run = &o->run[0];
  json_t *j = json_object();
  json_object_set_new(j, "policy", json_string(o->name));
  json_object_set_new(j, "threads", json_pack("[i,i]", o->run[0].n_threads, o->run[1].n_threads));
  json_object_set_new(j, "steps", json_integer((json_int_t)run->n_steps));
  set_real(j, "step_ms_median", o->step_ms.median);
  set_real(j, "step_ms_low", o->step_ms.low);
  set_real(j, "step_ms_high", o->step_ms.high);
  set_real(j, "step_ms_p95", o->step_ms.p95);
  set_real(j, "first_step_ms", run->steps[0].time_ms);
  char per_second[32];
  snprintf(per_second, sizeof per_second, "%s_per_s", job_kind->samples);
  set_real(j, per_second, 1000.0 * (double)r->batch_size / o->step_ms.median);
  set_real(j, "peak_memory_mib", run->peak_memory_mib);
  set_real(j, "peak_device_mib", run->peak_device_mib);
  json_object_set_new(j, "device", json_string(run->device));
  set_real(j, "loss", last_step(run)->loss);
  set_real(j, "test_loss", told_number(r, p, "test_loss"));
  set_real(j, "accuracy", told_number(r, p, "accuracy"));
  set_bits(j, o);
  set_real(j, "time_over_fast", o->over_fast.median);
  set_real(j, "time_over_fast_low", o->over_fast.low);
  set_real(j, "time_over_fast_high", o->over_fast.high);
  json_object_set(j, "manifest", json_object_get(r->told[p][0], "manifest"));
  return j;
}

json_t *compare_json(const compare_result *r) {
  json_t *root = json_object(), *rows = json_array();
  for (int p = 0; p < r->c->n_rows; p++) json_array_append_new(rows, row_json(r, p));
  json_object_set_new(root, "policies", rows);
  json_object_set_new(root, "slice_steps", json_integer((json_int_t)r->c->slice));
  json_object_set_new(root, "seconds_in_runs", json_real(r->c->steps_s));
  json_object_set_new(root, "seconds", json_real(r->c->total_s));
  return root;
}
