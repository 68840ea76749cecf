/* compare.h: a comparison's data: one run a process, two runs a policy; filled by compare.c, shown by compare_report.c.
 */
#ifndef ISO_CLI_COMPARE_H
#define ISO_CLI_COMPARE_H
#include <sys/types.h>
#include "cli.h"

enum { MAX_POLICIES = 8 };

typedef struct step_record {
  double time_ms, loss;
  char hash[33];
} step_record;

typedef struct compare_run {
  pid_t pid;
  FILE *to, *from;
  int threads;
  uint64_t n_steps, n_done;
  step_record *steps;
  json_t *manifest;
  double accuracy, test_loss, peak_memory_mib;
} compare_run;

typedef struct compare_policy {
  const char *name;
  compare_run run[2]; /* all threads, then fewer */
  /* Judged at the end. */
  bool same_bits;
  int64_t first_differing_step;    /* −1: none */
  sample_stats step_ms, over_fast; /* over_fast: paired by slices with the policy `fast`; NAN without it */
} compare_policy;

typedef struct comparison {
  int n;
  compare_policy policy[MAX_POLICIES];
  uint64_t slice; /* steps a run makes in turn */
  int64_t batch_size;
  double run_s, total_s; /* time in steps of all runs, and of the whole comparison */
} comparison;

void compare_judge(comparison *c);
void compare_print(const comparison *c);
json_t *compare_json(const comparison *c);
#endif
