/* advise.h: a trace that was written to a file, as `isobit advise` sees it; and what it finds. */
#ifndef ISO_CLI_ADVISE_H
#define ISO_CLI_ADVISE_H
#include "cli.h"

/* All runs of one problem. */
typedef struct advised_problem {
  const char *problem, *engine, *class_name, *phase;
  int64_t n;
  double ms, first_step;
} advised_problem;

typedef struct advised_run {
  const char *path;
  json_t *root;
  const json_t *manifest, *summary;
  iso_policy policy;
  advised_problem *problems; /* the longest first */
  size_t n_problems;
  double first_step, n_steps;        /* traced */
  double step_ms, runs_ms, data_ms;  /* a step; of runs and of waiting for data in it */
  double new_problems, all_problems; /* a step, from the second traced one on */
  bool on_cpu;
} advised_run;

/* One thing that holds the run back. */
typedef struct finding {
  const char *about; /* "padding" */
  double share;      /* of a step that it costs, as far as known: the order of sentences */
  char text[1024];
} finding;
enum { MAX_FINDINGS = 32 };
typedef struct findings {
  int n;
  finding one[MAX_FINDINGS];
} findings;
void findings_add(findings *f, const char *about, double share, const char *format, ...) ISO_PRINTF(4, 5);

/* advise_read.c: false after printing why not. */
bool advised_open(advised_run *run, const char *path);
void advised_close(advised_run *run);
/* A number of the trace's summary, 0 without it. */
double advised_number(const advised_run *run, const char *key);

/* advise_find.c: from the file alone. */
void advise_find(const advised_run *run, findings *f);

/* advise_price.c: workspace and the price of the promise, operator by operator, measured on this machine for the
 * problems that take most of a step, about budget_ms each. Rows go into `prices`. */
void advise_price(iso_context *ctx, const advised_run *run, double budget_ms, findings *f, json_t *prices);
#endif
