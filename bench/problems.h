/* problems.h: single problems of the library, each with the engine that a policy chooses, timed slice by slice. */
#ifndef ISOBIT_BENCH_PROBLEMS_H
#define ISOBIT_BENCH_PROBLEMS_H
#include "words.h"

enum { MAX_OPEN = 8, MAX_CONTEXTS = 16 };

typedef struct open_problem {
  char id[16]; /* "": free */
  const char *engine;
  iso_context *ctx; /* shared: see named_context */
  iso_bench *bench;
} open_problem;

/* One context for each combination of threads, policy and dials, kept to the end: threads are dear to make. */
typedef struct named_context {
  char name[160];
  iso_context *ctx;
} named_context;

typedef struct problems {
  open_problem open[MAX_OPEN];
  named_context context[MAX_CONTEXTS];
  int n_contexts;
} problems;

/* The commands of README.md; each returns its reply. */
json_t *problems_open(problems *p, const words *w);
json_t *problems_slice(problems *p, const words *w);
json_t *problems_close(problems *p, const words *w);
json_t *problems_peak(problems *p, const words *w);
json_t *problems_traffic(problems *p, const words *w);
void problems_end(problems *p);

#endif
