/* compare_stats.c: what the samples of a comparison say: medians with their confidence, ratios paired by turns. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "train/compare_stats.h"

enum { MAX_SLICE = 64 };

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The interval of a median by order statistics: ranks n/2 ± 0.98·√n (normal approximation of the binomial). */
iso_sample_stats iso_sample_stats_of(const double *values, size_t n) {
  const iso_sample_stats none = {NAN, NAN, NAN, NAN};
  double *v = n ? malloc(n * sizeof *v) : NULL;
  if (!v) return none;
  memcpy(v, values, n * sizeof *v);
  qsort(v, n, sizeof *v, by_value);
  const double half = 0.5 * (double)n, width = 0.98 * sqrt((double)n);
  const double low = floor(half - width), high = ceil(half + width);
  const size_t last = n - 1, p95 = (size_t)ceil(0.95 * (double)n) - 1;
  const iso_sample_stats s = {.median = n % 2 ? v[n / 2] : 0.5 * (v[n / 2 - 1] + v[n / 2]),
                              .p95 = v[p95],
                              .low = v[low > 0 ? (size_t)low : 0],
                              .high = v[high < (double)last ? (size_t)high : last]};
  free(v);
  return s;
}

/* Step 0 plans and tunes. */
static iso_sample_stats steady_times(const iso_compare_run *run) {
  double *v = malloc((size_t)run->n_steps * sizeof *v);
  size_t n = 0;
  for (uint64_t i = 1; v && i < run->n_steps; i++) v[n++] = run->steps[i].time_ms;
  const iso_sample_stats s = iso_sample_stats_of(v, n);
  free(v);
  return s;
}

/* Ratios of the two runs' median step in the same turn: what the machine does to one it does to the other. */
static iso_sample_stats paired(const iso_compare_run *a, const iso_compare_run *b, uint64_t slice) {
  double *ratio = malloc((size_t)(a->n_steps + 1) * sizeof *ratio), x[MAX_SLICE], y[MAX_SLICE];
  size_t n_ratios = 0;
  for (uint64_t i = 1; ratio && i < a->n_steps; i += slice) {
    size_t m = 0;
    for (uint64_t j = i; j < a->n_steps && j < i + slice && m < MAX_SLICE; j++, m++)
      x[m] = a->steps[j].time_ms, y[m] = b->steps[j].time_ms;
    ratio[n_ratios++] = iso_sample_stats_of(x, m).median / iso_sample_stats_of(y, m).median;
  }
  const iso_sample_stats s = iso_sample_stats_of(ratio, n_ratios);
  free(ratio);
  return s;
}

static int64_t first_difference(const iso_compare_run *a, const iso_compare_run *b) {
  for (uint64_t i = 0; i < a->n_steps; i++)
    if (strcmp(a->steps[i].hash, b->steps[i].hash) != 0 ||
        memcmp(&a->steps[i].loss, &b->steps[i].loss, sizeof(double)) != 0)
      return (int64_t)i;
  return -1;
}

void iso__comparison_judge(iso_comparison *c) {
  const iso_compare_row *fast = NULL;
  for (int p = 0; p < c->n_rows; p++)
    if (!strcmp(c->row[p].name, "fast")) fast = &c->row[p];
  for (int p = 0; p < c->n_rows; p++) {
    iso_compare_row *row = &c->row[p];
    row->first_differing_step = first_difference(&row->run[0], &row->run[1]);
    row->same_bits = row->first_differing_step < 0;
    row->promise_kept = row->same_bits || row->policy.repro < ISO_REPRO_INVARIANT;
    row->step_ms = steady_times(&row->run[0]);
    const bool comparable = fast && row != fast && row->run[0].n_steps == fast->run[0].n_steps;
    row->over_fast =
        comparable ? paired(&row->run[0], &fast->run[0], c->slice) : (iso_sample_stats){NAN, NAN, NAN, NAN};
  }
}
