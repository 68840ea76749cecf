/* tasks.h: operators as a user calls them, by name, each on fixed inputs: what suite `gpu` times beside PyTorch. */
#ifndef ISOBIT_BENCH_TASKS_H
#define ISOBIT_BENCH_TASKS_H
#include "words.h"

struct task_kind;
typedef struct task {
  const struct task_kind *kind; /* NULL: none is open */
  iso_context *ctx;             /* its own */
  iso_tensor *in[6], *y, *dy;
  iso_optimizer *optimizer;
  iso_capture *capture;
  bool captured; /* a run is a replay */
} task;

/* The commands of README.md; each returns its reply. */
json_t *task_open(task *t, const words *w);
json_t *task_slice(task *t, const words *w);
json_t *task_lengths(const words *w);
json_t *task_close(task *t);

#endif
