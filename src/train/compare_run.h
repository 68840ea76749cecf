/* compare_run.h: one run of a comparison, in a process of its own, as its parent sees it. */
#ifndef ISO_TRAIN_COMPARE_RUN_H
#define ISO_TRAIN_COMPARE_RUN_H
#include <isobit/compare.h>
#include <sys/types.h>

typedef struct iso__run_process {
  pid_t pid;     /* 0: not started */
  int socket;    /* to it */
  bool finished; /* it answered the end and goes by itself */
} iso__run_process;

typedef struct iso__run_request {
  const iso_compare_options *options;
  const iso_policy *policy;
  int n_threads, run; /* run: 0 or 1 */
} iso__run_request;

/* Forks. The child closes the sockets of `others`, so that each run sees the end of its own parent alone. Messages are
 * ISO_OK or say why not. */
iso_status iso__run_start(iso__run_process *process, const iso__run_request *request, const iso__run_process *others,
                          int n_others, char *message, size_t n_bytes);
/* Until it has made its model. */
iso_status iso__run_wait_ready(iso__run_process *process, char *message, size_t n_bytes);
/* Makes n steps, into steps[0 … n). */
iso_status iso__run_steps(iso__run_process *process, uint64_t n, iso_compare_step *steps, char *message,
                          size_t n_bytes);
/* Sets the run's device, peak memory and the model's own text (malloc). */
iso_status iso__run_finish(iso__run_process *process, iso_compare_run *run, char *message, size_t n_bytes);
void iso__run_stop(iso__run_process *process);
#endif
