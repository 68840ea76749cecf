/* compare.c: a comparison: every policy twice, in processes of their own with two thread counts, all taking turns. */
#include <isobit/compare.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/cpu.h"
#include "train/compare_run.h"
#include "train/compare_stats.h"

enum { MAX_RUNS = 2 * ISO_MAX_COMPARE_POLICIES, DEFAULT_STEPS = 100, MAX_SLICE = 64, USUAL_SLICE = 10 };

typedef struct job {
  const iso_compare_options *options;
  iso_comparison *c;
  iso__run_process process[MAX_RUNS]; /* run r of row p is 2·p + r */
  uint64_t n_made[MAX_RUNS], n_steps;
  char *message;
  size_t n_bytes;
} job;

static iso_status refuse(const job *j, const char *why) {
  snprintf(j->message, j->n_bytes, "compare: %s", why);
  return ISO_INVALID_ARGUMENT;
}

static iso_status out_of_memory(const job *j) {
  snprintf(j->message, j->n_bytes, "compare: out of memory");
  return ISO_OUT_OF_MEMORY;
}

/* "policy fast with 2 threads: WHY"; `status` is not ISO_OK and j->message is WHY. */
static iso_status name_run(const job *j, int p, int r, iso_status status) {
  char why[512];
  snprintf(why, sizeof why, "%s", j->message);
  snprintf(j->message, j->n_bytes, "policy %s with %d threads: %s", j->c->row[p].name, j->c->row[p].run[r].n_threads,
           why);
  return status;
}

static iso_status check(const job *j) {
  const iso_compare_options *o = j->options;
  if (!o || !o->model || !o->model->make || !o->model->step || !o->model->tensors)
    return refuse(j, "a model with make, step and tensors is needed");
  if (o->n_policies < 1 || o->n_policies > ISO_MAX_COMPARE_POLICIES) return refuse(j, "1 to 16 policies are needed");
  if (o->n_threads[0] < 0 || o->n_threads[1] < 0) return refuse(j, "a thread count is negative");
  if (o->slice > MAX_SLICE) return refuse(j, "a turn (slice) has at most 64 steps");
  for (int p = 0; p < o->n_policies; p++) {
    if (!o->policies[p].name) return refuse(j, "a policy has no name");
    for (int q = 0; q < p; q++)
      if (!strcmp(o->policies[p].name, o->policies[q].name)) return refuse(j, "a policy is named twice");
  }
  return ISO_OK;
}

static iso_status fill_policy(const job *j, const iso_compare_policy *from, iso_compare_row *row) {
  row->name = from->name;
  if (from->policy) return row->policy = *from->policy, ISO_OK;
  const iso_status status = iso_policy_preset(from->name, &row->policy);
  if (!status) return iso_policy_from_environment(&row->policy, j->message, j->n_bytes);
  snprintf(j->message, j->n_bytes, "compare: there is no policy '%s'", from->name);
  return status;
}

static iso_status fill_row(job *j, int p) {
  const iso_compare_policy *from = &j->options->policies[p];
  iso_compare_row *row = &j->c->row[p];
  const iso_status status = fill_policy(j, from, row);
  if (status) return status;
  const int *n = j->options->n_threads;
  row->run[0].n_threads = n[0] ? n[0] : iso__cpu()->n_cores;
  row->run[1].n_threads = n[1] ? n[1] : row->run[0].n_threads > 1 ? row->run[0].n_threads / 2 : 2;
  for (int r = 0; r < 2; r++) {
    iso_compare_run *run = &row->run[r];
    run->n_steps = from->n_steps && from->n_steps < j->n_steps ? from->n_steps : j->n_steps;
    if (!(run->steps = calloc(run->n_steps, sizeof *run->steps))) return out_of_memory(j);
  }
  return ISO_OK;
}

static iso_status prepare(job *j) {
  const iso_compare_options *o = j->options;
  iso_status status = check(j);
  if (status) return status;
  if (!(j->c = calloc(1, sizeof *j->c))) return out_of_memory(j);
  j->n_steps = o->n_steps ? o->n_steps : DEFAULT_STEPS;
  const uint64_t tenth = j->n_steps < 10 ? 1 : j->n_steps / 10;
  j->c->slice = o->slice ? o->slice : tenth < USUAL_SLICE ? tenth : USUAL_SLICE;
  j->c->n_rows = o->n_policies;
  for (int p = 0; p < o->n_policies && !status; p++) status = fill_row(j, p);
  return status;
}

/* All make their models at the same time. */
static iso_status start_all(job *j) {
  const int n = 2 * j->c->n_rows;
  for (int i = 0; i < n; i++) {
    const iso_compare_row *row = &j->c->row[i / 2];
    const iso__run_request request = {
        .options = j->options, .policy = &row->policy, .n_threads = row->run[i % 2].n_threads, .run = i % 2};
    const iso_status status = iso__run_start(&j->process[i], &request, j->process, i, j->message, j->n_bytes);
    if (status) return name_run(j, i / 2, i % 2, status);
  }
  for (int i = 0; i < n; i++) {
    const iso_status status = iso__run_wait_ready(&j->process[i], j->message, j->n_bytes);
    if (status) return name_run(j, i / 2, i % 2, status);
  }
  return ISO_OK;
}

/* Up to n steps of run r of row p. */
static iso_status take_turn(job *j, int p, int r, uint64_t n) {
  iso_compare_run *run = &j->c->row[p].run[r];
  uint64_t *n_made = &j->n_made[2 * p + r];
  if (n > run->n_steps - *n_made) n = run->n_steps - *n_made;
  if (!n) return ISO_OK;
  const uint64_t begin = iso__clock_ns();
  const iso_status status = iso__run_steps(&j->process[2 * p + r], n, run->steps + *n_made, j->message, j->n_bytes);
  if (status) return name_run(j, p, r, status);
  j->c->steps_s += (double)(iso__clock_ns() - begin) / 1e9;
  *n_made += n;
  const iso_compare_progress made = {j->c->row[p].name, run->n_threads, n, run->steps[*n_made - 1].loss};
  if (!j->options->progress || j->options->progress(j->options->user, &made)) return ISO_OK;
  snprintf(j->message, j->n_bytes, "interrupted");
  return ISO_INTERRUPTED;
}

/* The first turn is one step each (it plans and tunes), the following ones a slice each. */
static iso_status run_all(job *j) {
  for (uint64_t begin = 0; begin < j->n_steps; begin += begin ? j->c->slice : 1)
    for (int i = 0; i < 2 * j->c->n_rows; i++) {
      const iso_status status = take_turn(j, i / 2, i % 2, begin ? j->c->slice : 1);
      if (status) return status;
    }
  return ISO_OK;
}

static iso_status finish_all(job *j) {
  for (int i = 0; i < 2 * j->c->n_rows; i++) {
    iso_compare_run *run = &j->c->row[i / 2].run[i % 2];
    const iso_status status = iso__run_finish(&j->process[i], run, j->message, j->n_bytes);
    if (status) return name_run(j, i / 2, i % 2, status);
  }
  return ISO_OK;
}

iso_status iso_compare(const iso_compare_options *options, iso_comparison **out, char *message, size_t n_bytes) {
  char unused[512] = "";
  const bool given = message && n_bytes;
  job j = {.options = options, .message = given ? message : unused, .n_bytes = given ? n_bytes : sizeof unused};
  const uint64_t begin = iso__clock_ns();
  iso_status status = prepare(&j);
  if (!status) status = start_all(&j);
  if (!status) status = run_all(&j);
  if (!status) status = finish_all(&j);
  for (int i = 0; i < MAX_RUNS; i++) iso__run_stop(&j.process[i]);
  *out = NULL;
  if (status) return iso_comparison_free(j.c), status;
  j.message[0] = 0;
  j.c->total_s = (double)(iso__clock_ns() - begin) / 1e9;
  iso__comparison_judge(j.c);
  *out = j.c;
  return ISO_OK;
}

void iso_comparison_free(iso_comparison *c) {
  for (int i = 0; c && i < 2 * c->n_rows; i++)
    free(c->row[i / 2].run[i % 2].steps), free(c->row[i / 2].run[i % 2].text);
  free(c);
}
