/* compare_report.c: what a comparison found: judged, as a table for people and as JSON. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "compare.h"

static const compare_policy *find(const comparison *c, const char *name) {
  for (int p = 0; p < c->n; p++)
    if (!strcmp(c->policy[p].name, name)) return &c->policy[p];
  return NULL;
}

static sample_stats steady_times(const compare_run *run) {
  double *v = malloc((size_t)run->n_done * sizeof *v);
  size_t n = 0;
  for (uint64_t i = 1; v && i < run->n_done; i++) v[n++] = run->steps[i].time_ms; /* step 0 plans and tunes */
  const sample_stats s = stats_of(v, n);
  free(v);
  return s;
}

/* Ratios of the two policies' median step in the same round: what the machine does to one it does to the other. */
static sample_stats paired(const comparison *c, const compare_run *a, const compare_run *b) {
  const uint64_t n = a->n_done < b->n_done ? a->n_done : b->n_done;
  double *ratio = malloc((size_t)(n + 1) * sizeof *ratio), x[64], y[64];
  size_t n_ratios = 0;
  for (uint64_t i = 1; ratio && i < n; i += c->slice) {
    size_t m = 0;
    for (uint64_t j = i; j < n && j < i + c->slice; j++, m++) x[m] = a->steps[j].time_ms, y[m] = b->steps[j].time_ms;
    ratio[n_ratios++] = stats_of(x, m).median / stats_of(y, m).median;
  }
  const sample_stats s = stats_of(ratio, n_ratios);
  free(ratio);
  return s;
}

void compare_judge(comparison *c) {
  const compare_policy *fast = find(c, "fast");
  for (int p = 0; p < c->n; p++) {
    compare_policy *o = &c->policy[p];
    o->first_differing_step = -1;
    for (uint64_t i = 0; i < o->run[0].n_done && i < o->run[1].n_done && o->first_differing_step < 0; i++)
      if (strcmp(o->run[0].steps[i].hash, o->run[1].steps[i].hash) != 0) o->first_differing_step = (int64_t)i;
    o->same_bits = o->first_differing_step < 0;
    o->step_ms = steady_times(&o->run[0]);
    o->over_fast = fast && o != fast && o->run[0].n_done == fast->run[0].n_done ? paired(c, &o->run[0], &fast->run[0])
                                                                                : (sample_stats){NAN, NAN, NAN, NAN};
  }
}

static double loss_of(const compare_run *run) { return run->steps[run->n_done - 1].loss; }

void compare_print(const comparison *c) {
  printf("%-13s %6s %22s %8s %9s %9s %9s %9s %8s %-12s %s\n", "policy", "steps", "step ms [95 % of median]", "p95 ms",
         "first ms", "images/s", "peak MiB", "loss", "accuracy", "weights", "same bits");
  for (int p = 0; p < c->n; p++) {
    const compare_policy *o = &c->policy[p];
    const compare_run *r = &o->run[0];
    char interval[64], bits[64];
    snprintf(interval, sizeof interval, "%.2f [%.2f, %.2f]", o->step_ms.median, o->step_ms.low, o->step_ms.high);
    if (o->same_bits) snprintf(bits, sizeof bits, "yes");
    else snprintf(bits, sizeof bits, "no, from step %lld", (long long)o->first_differing_step);
    printf("%-13s %6llu %24s %8.2f %9.1f %9.0f %9.1f %9.5f %8.4f %-12.12s %s\n", o->name, (unsigned long long)r->n_done,
           interval, o->step_ms.p95, r->steps[0].time_ms, 1000.0 * (double)c->batch_size / o->step_ms.median,
           r->peak_memory_mib, loss_of(r), r->accuracy, r->steps[r->n_done - 1].hash, bits);
  }
  printf("\nEach policy ran twice, in fresh processes with %d and %d threads; times are the first's, in turns of %llu "
         "steps.\n",
         c->policy[0].run[0].threads, c->policy[0].run[1].threads, (unsigned long long)c->slice);
  for (int p = 0; p < c->n; p++)
    if (!isnan(c->policy[p].over_fast.median))
      printf("%s costs %+.1f %% of fast's step (paired, 95 %%: %+.1f … %+.1f %%).\n", c->policy[p].name,
             100 * (c->policy[p].over_fast.median - 1), 100 * (c->policy[p].over_fast.low - 1),
             100 * (c->policy[p].over_fast.high - 1));
}

static json_t *real_or_null(double v) { return isfinite(v) ? json_real(v) : json_null(); }

static json_t *policy_json(const comparison *c, const compare_policy *o) {
  const compare_run *r = &o->run[0];
  json_t *j = json_object();
  json_object_set_new(j, "policy", json_string(o->name));
  json_object_set_new(j, "threads", json_pack("[i,i]", o->run[0].threads, o->run[1].threads));
  json_object_set_new(j, "steps", json_integer((json_int_t)r->n_done));
  json_object_set_new(j, "step_ms_median", real_or_null(o->step_ms.median));
  json_object_set_new(j, "step_ms_low", real_or_null(o->step_ms.low));
  json_object_set_new(j, "step_ms_high", real_or_null(o->step_ms.high));
  json_object_set_new(j, "step_ms_p95", real_or_null(o->step_ms.p95));
  json_object_set_new(j, "first_step_ms", json_real(r->steps[0].time_ms));
  json_object_set_new(j, "images_per_s", real_or_null(1000.0 * (double)c->batch_size / o->step_ms.median));
  json_object_set_new(j, "peak_memory_mib", json_real(r->peak_memory_mib));
  json_object_set_new(j, "loss", json_real(loss_of(r)));
  json_object_set_new(j, "test_loss", json_real(r->test_loss));
  json_object_set_new(j, "accuracy", json_real(r->accuracy));
  json_object_set_new(j, "weights_hash", json_string(r->steps[r->n_done - 1].hash));
  json_object_set_new(j, "weights_hash_second_run", json_string(o->run[1].steps[o->run[1].n_done - 1].hash));
  json_object_set_new(j, "same_bits", json_boolean(o->same_bits));
  json_object_set_new(j, "first_differing_step",
                      o->same_bits ? json_null() : json_integer((json_int_t)o->first_differing_step));
  json_object_set_new(j, "time_over_fast", real_or_null(o->over_fast.median));
  json_object_set_new(j, "time_over_fast_low", real_or_null(o->over_fast.low));
  json_object_set_new(j, "time_over_fast_high", real_or_null(o->over_fast.high));
  json_object_set(j, "manifest", r->manifest);
  return j;
}

json_t *compare_json(const comparison *c) {
  json_t *root = json_object(), *policies = json_array();
  for (int p = 0; p < c->n; p++) json_array_append_new(policies, policy_json(c, &c->policy[p]));
  json_object_set_new(root, "policies", policies);
  json_object_set_new(root, "slice_steps", json_integer((json_int_t)c->slice));
  json_object_set_new(root, "seconds_in_runs", json_real(c->run_s));
  json_object_set_new(root, "seconds", json_real(c->total_s));
  return root;
}
