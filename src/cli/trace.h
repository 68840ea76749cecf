/* trace.h: what `isobit trace` has seen of a job. */
#ifndef ISO_CLI_TRACE_H
#define ISO_CLI_TRACE_H
#include "cli.h"

enum { MAX_TRACE_GROUPS = 256, MAX_TRACE_ADVICE = 16 };

/* What is traced: steps of `train vision`, or calls of `forward` (trace_job.c). */
typedef struct traced_job {
  iso_context *ctx;
  iso_trainer *trainer; /* of `train vision`; the rest is of `forward` */
  iso_module *model;
  iso_tensor *x, *y;
  iso_capture *capture;
  double n_steps, samples, tokens, padding; /* of all training steps so far */
  bool is_captured, anew;                   /* anew: nothing is replayed: the calls are traced */
} traced_job;
typedef struct traced_job_kind {
  const char *words[2];        /* "train", "vision" */
  const char *unit;            /* "step" */
  int64_t n_skipped;           /* usually */
  const option *options;       /* its own, but for job_option_list */
  bool (*open)(traced_job *j); /* ctx is set; false: with its error set */
  iso_status (*step)(traced_job *j);
} traced_job_kind;
extern const traced_job_kind traced_jobs[]; /* one without words ends */
void traced_job_close(traced_job *j);
bool traced_job_is_captured(const traced_job *j);

/* Runs of one operator in one phase, over all traced steps. */
typedef struct trace_group {
  const char *name;
  iso_trace_phase phase;
  iso_trace_kind kind; /* run or copy */
  int64_t n;
  double host_ms, device_ms, flops, bytes;
  double floor_ms; /* that peak and copy bandwidth leave, problem by problem */
  bool memory_bound;
  iso_trace_entry longest;
} trace_group;

typedef struct trace_summary {
  const char *unit; /* "step", "call" */
  bool on_device;   /* that works by itself: else host and device are one */
  bool captured;    /* untraced steps are replayed */
  int64_t n_steps;
  double peak_gflops, copy_gbs;   /* measured here */
  double step_ms, traced_step_ms; /* the median before the trace; the mean in it */
  double cpu_step_ms;             /* the same job on the CPU; 0: not tried */
  int cpu_threads;
  double samples, tokens, padding; /* a step; 0: not of training, or of images */
  double runs, launches, waits;    /* a step */
  double busy_ms, data_ms, run_ms; /* a step: the device at work; the host waiting for data, and inside runs */
  trace_group groups[MAX_TRACE_GROUPS];
  int n_groups; /* by device time, the longest first */
} trace_summary;

/* Of the context's last trace (trace_summary.c); measured fields are there already. */
void trace_summarise(trace_summary *s, const iso_context *ctx);
double trace_share(double part, double of); /* 0 of nothing */
double trace_idle_share(const trace_summary *s);
double trace_data_share(const trace_summary *s);
double trace_outside_share(const trace_summary *s); /* of the CPU: neither operators nor data */
void trace_print(const trace_summary *s);
json_t *trace_json(const trace_summary *s);

/* In words what to do (trace_advice.c); at least one sentence. */
json_t *trace_advice(const trace_summary *s);

/* The context's last trace for chrome://tracing and ui.perfetto.dev (trace_chrome.c). Takes `manifest`'s content along.
 * 0 or an exit code. */
int trace_write_chrome(const char *path, const iso_context *ctx, json_t *manifest);
#endif
