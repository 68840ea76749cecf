/* compare.h: one model under several policies: what each costs in time and memory, and whether two runs give the same
 * bits. For a model of your own; `isobit compare` is made of it.
 *
 *   static const iso_compare_model mine = {.make = make, .step = step, .tensors = tensors, .free = release};
 *   iso_compare_policy rows[2] = {{.name = "fast"}, {.name = "default"}};
 *   iso_comparison *c;
 *   char why[256];
 *   if (iso_compare(&(iso_compare_options){.model = &mine, .n_policies = 2, .policies = rows, .n_steps = 100},
 *                   &c, why, sizeof why) == ISO_OK)
 *     for (int p = 0; p < c->n_rows; p++)
 *       printf("%s: %.2f ms a step, the same bits: %d\n", c->row[p].name, c->row[p].step_ms.median,
 * c->row[p].same_bits); iso_comparison_free(c);
 *
 * Every policy runs twice, with two thread counts, each run in a process of its own; the runs take turns of a few
 * steps, so that what the machine does to one it does to all. The processes are forked from the caller's: call
 * iso_compare early, before the program has opened a context (a run would begin with the plans that this process
 * remembers; of CUDA a forked process can use nothing that its parent began) and while it has one thread (a fork takes
 * only the calling one along). On a device the runs hold it together and use it in turns; the policy `plain`, whose
 * references run on the CPU, has no engines there. */
#ifndef ISOBIT_COMPARE_H
#define ISOBIT_COMPARE_H
#include <isobit/nn.h>
#ifdef __cplusplus
extern "C" {
#endif

/* What a run does, in its own process. */
typedef struct iso_compare_model {
  /* Makes model, optimiser and data in the run's context. NULL: failed, the context's error says why. */
  void *(*make)(void *user, iso_context *ctx);
  /* One optimiser step. Nothing else counts as step time. */
  iso_status (*step)(void *state, double *loss);
  /* What is hashed after every step: weights, and whatever else must be the same. */
  const iso_named_tensor *(*tensors)(void *state, size_t *n);
  /* Called once after the last step of run 0 (all threads) and 1: a text of the run's own (malloc), which the
   * comparison keeps as iso_compare_run.text. NULL: failed, the context's error says why. May be absent. */
  char *(*finish)(void *state, int run);
  void (*free)(void *state); /* may be absent */
} iso_compare_model;

typedef struct iso_compare_policy {
  const char *name;
  const iso_policy *policy; /* NULL: the preset `name`, then the ISOBIT_… environment                        */
  uint64_t n_steps;         /* 0: as many as the others; fewer for slow ones                                 */
} iso_compare_policy;

typedef struct iso_compare_progress {
  const char *policy;
  int n_threads;
  uint64_t n_steps; /* made just now */
  double loss;
} iso_compare_progress;

typedef struct iso_compare_options {
  const iso_compare_model *model;
  void *user;     /* handed to make and progress                                                   */
  int n_policies; /* 1 to ISO_MAX_COMPARE_POLICIES, each once                                      */
  const iso_compare_policy *policies;
  uint64_t n_steps;   /* 0: 100                                                                      */
  uint64_t slice;     /* steps of a turn, at most 64; 0: a tenth of n_steps, at most 10                */
  int n_threads[2];   /* of the two runs; 0: all cores, and half of the first (two if that is one)     */
  const char *isa;    /* as in iso_context_options                                                    */
  const char *device; /* likewise */
  /* After every turn. false: stop, and return ISO_INTERRUPTED. May be NULL. */
  bool (*progress)(void *user, const iso_compare_progress *progress);
} iso_compare_options;
enum { ISO_MAX_COMPARE_POLICIES = 16 };

typedef struct iso_compare_step {
  double time_ms, loss;
  char hash[33]; /* of all tensors, after the step */
} iso_compare_step;

typedef struct iso_compare_run {
  int n_threads;
  uint64_t n_steps;
  iso_compare_step *steps;
  double peak_memory_mib; /* of the process, up to its last step */
  double peak_device_mib; /* of what the device's allocator had in use; 0 on the CPU */
  char device[32];        /* where it ran: "cpu", "cuda:0" */
  char *text;             /* finish's; "" without it             */
} iso_compare_run;

/* A median and how far to trust it. */
typedef struct iso_sample_stats {
  double median, p95, low, high; /* low, high: 95 % confidence interval of the median; NAN without samples */
} iso_sample_stats;
ISO_API iso_sample_stats iso_sample_stats_of(const double *values, size_t n);

typedef struct iso_compare_row {
  const char *name;
  iso_policy policy;
  iso_compare_run run[2];
  bool same_bits;               /* every step's loss and tensors, in both runs                                     */
  bool promise_kept;            /* false: from level `invariant` up, and the two runs differ                       */
  int64_t first_differing_step; /* −1: none                                                                        */
  iso_sample_stats step_ms;     /* of run 0; its first step, which plans and tunes, not counted                    */
  iso_sample_stats over_fast;   /* time over that of the row "fast", paired by turns; NAN without it               */
} iso_compare_row;

typedef struct iso_comparison {
  int n_rows;
  iso_compare_row row[ISO_MAX_COMPARE_POLICIES];
  uint64_t slice;
  double steps_s, total_s; /* time in steps of all runs, and of the whole comparison */
} iso_comparison;

/* Runs them all. On an error *out is NULL and `message` (may be NULL) says which run failed and why. */
ISO_API iso_status iso_compare(const iso_compare_options *options, iso_comparison **out, char *message, size_t n_bytes);
ISO_API void iso_comparison_free(iso_comparison *comparison); /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
