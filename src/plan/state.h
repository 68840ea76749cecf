/* state.h: what the plan room keeps in a context, and the calls between its own files. */
#ifndef ISO_PLAN_STATE_H
#define ISO_PLAN_STATE_H
#include <stdatomic.h>
#include "base/hash.h"
#include "device/device.h"
#include "plan/lock.h"
#include "plan/plan.h"
#include "plan/store.h"

/* What a context and its children share. Freed with the last of them. */
typedef struct iso__plan_job {
  atomic_int n_refs;
  iso__store store;
  atomic_uint_fast64_t n_timed, n_from_store, n_from_lock, n_by_rule, n_loaded, n_out_of_budget, n_samples,
      n_samples_rejected, spent_ns;
} iso__plan_job;

/* One plan that the context has used. The block holds the problem's bytes, then the timings of its candidates in row
 * order where this context knows them. */
typedef struct iso__used {
  iso__hash key;
  iso__plan plan;
  uint64_t n_uses;
  unsigned char *block;
  uint32_t n_problem_bytes;
  int n_timings;
} iso__used;
enum { ISO__MAX_USED = 16384, ISO__N_RECENT = 64, ISO__N_DECIDES = 14 };

typedef struct iso__plan_state {
  const iso__device *workspace_device;
  void *workspace; /* one arena, grown to the largest request */
  size_t workspace_bytes;
  iso__plan_job *job;
  iso__lock *lock;                 /* NULL: none is loaded */
  bool warned_of_lock;             /* that a line of it does not hold here */
  bool ignores_store;              /* iso__plan_ignore_store */
  bool must_measure;               /* iso_plan_tune: an estimate is not enough */
  uint64_t adversary, n_distorted; /* 0: times are what the clock says */
  iso__load load;
  iso__used *used; /* in the order of first use */
  size_t n_used, used_capacity;
  uint32_t *slot; /* open addressing by key: 1 + index into used, 0: empty; a power of two of them */
  size_t n_slots;
  bool is_incomplete; /* more were used */
  /* Before a key is computed: where problems were found under these very decisions, by a few of their words. */
  uint64_t decides[ISO__N_DECIDES];
  uint32_t recent[ISO__N_RECENT]; /* 1 + index into used, 0: empty */
} iso__plan_state;
iso__plan_state *iso__plan_state_of(const iso_context *ctx);
/* Choices that were measured earlier and kept on disk are not asked for: a session's plans are by estimate alone.
 * Returns what was set before. */
bool iso__plan_ignore_store(iso_context *ctx, bool ignore);

const iso__operator *iso__problem_operator(const iso__problem *problem);
/* Judges every row (choose.c); *n_allowed counts those without a reason. */
int iso__candidates_judge(iso_context *ctx, const iso__problem *problem, iso__candidate *candidates, int *n_allowed);
/* The allowed candidate of least estimated cost; the earlier row among equals. NULL: none is allowed. */
iso__candidate *iso__candidates_cheapest(iso__candidate *candidates, int n);
/* Why the candidate can't be chosen. */
void iso__candidate_refuse(iso__candidate *c, iso_verdict verdict, const char *format, ...) ISO_PRINTF(3, 4);

/* Its workspace and estimate; refused if the workspace is over the limit. */
void iso__candidate_judge_workspace(const iso_context *ctx, const iso__problem *problem, iso__candidate *c);

/* The lockfile's plan for a problem (pin.c), which may be of a class that the rule did not choose. Failed, with the
 * error kept: only under tuning=replay. */
typedef enum iso__pin { ISO__PINNED, ISO__NOT_PINNED, ISO__PIN_FAILED } iso__pin;
iso__pin iso__lock_pick(iso_context *ctx, const iso__problem *problem, iso__candidate *candidates, int n,
                        iso__candidate **winner);

typedef enum iso__tuner_result {
  ISO__TUNED,
  ISO__TUNED_UNDER_LOAD, /* not fit to be kept */
  ISO__NOT_TUNED,        /* nothing to compare, too small, no memory: the rule's choice */
  ISO__OUT_OF_BUDGET
} iso__tuner_result;
/* How busy the machine was: for the record. */
typedef struct iso__tuner_load {
  int n_samples, n_rejected;
  int load_percent; /* of one core, averaged over the last minute, as the system says; 0: it doesn't say */
} iso__tuner_load;
/* Times the allowed candidates (tuner.c) and sets *winner; args as in iso__operand_set_init. */
iso__tuner_result iso__tuner_pick(iso_context *ctx, const iso__problem *problem, const void *args,
                                  iso__candidate *candidates, int n, iso__candidate **winner, iso__tuner_load *load);
/* Problems that are expected to take less are not worth a stopwatch or a record. */
#define ISO__TUNER_SMALLEST_NS 5e3

/* iso__plan_get for a call that is about to run: a tuner that has to time does it on the call's own operands. */
bool iso__plan_get_for(iso_context *ctx, const iso__problem *problem, const void *args, iso__plan *plan);

/* Plans that this context has used (used.c). */
iso__used *iso__used_find(const iso__plan_state *state, iso__hash key);
/* Adds, or replaces the plan of the same key; candidates may be NULL. */
void iso__used_add(iso__plan_state *state, iso__hash key, const iso__problem *problem, const iso__plan *plan,
                   const iso__candidate *candidates, int n);
const iso__timing *iso__used_timings(const iso__used *used);
void iso__used_format(const iso__used *used, iso_plan_use *out);

/* Process-wide cache of plans by hash of everything that decides (cache.c). */
bool iso__cache_find(iso__hash key, iso__plan *plan);
void iso__cache_keep(iso__hash key, const iso__plan *plan);

/* A call of the plan with workspace lent; false with the error kept. And running it, in the default floating-point
 * environment. */
bool iso__plan_call(iso_context *ctx, const iso__plan *plan, const iso__problem *problem, const void *args,
                    iso__call *call);
void iso__call_run(const iso__call *call);
void iso__call_run_watched(const iso__call *call); /* (trace.c) of a traced context, or under a profiler */

/* Runs the call and tells what it took, in ns, on the clock of the context's device. */
double iso__call_time(const iso__call *call);
/* What engines are told to share their work among: threads, or a device's multiprocessors. */
static inline int iso__plan_width(const iso_context *ctx) { return ctx->device ? ctx->device->width : ctx->n_threads; }
/* The instruction set of the rows that this context can run: of a CUDA device no CPU's. */
static inline iso_isa iso__plan_isa(const iso_context *ctx) { return ctx->device ? ctx->device->isa : ctx->isa; }
static inline bool iso__plan_can_run(const iso_context *ctx, const iso__engine *engine) {
  return ctx->device ? engine->isa == ctx->device->isa : engine->isa <= ctx->isa;
}
/* Memory of the context's device, without the error kept (NULL). */
static inline void *iso__plan_memory(const iso_context *ctx, size_t n_bytes) {
  const iso__device *device = iso__device_of(ctx);
  return device->alloc(device, ctx->heap, n_bytes, NULL);
}
static inline void iso__plan_memory_free(const iso_context *ctx, void *block, size_t n_bytes) {
  const iso__device *device = iso__device_of(ctx);
  if (block) device->free(device, ctx->heap, block, n_bytes);
}

/* The arena, at least n_bytes; NULL with the error kept. */
void *iso__workspace(iso_context *ctx, size_t n_bytes);
void iso__workspace_drop(iso_context *ctx);
void iso__sort_times(double *times, int n); /* ascending (tuner.c) */
/* For times and errors, not for tensors: of NaNs and zeros nothing is promised. */
static inline double iso__smaller(double a, double b) { return a < b ? a : b; }
static inline double iso__larger(double a, double b) { return a > b ? a : b; }
#endif
