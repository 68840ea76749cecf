/* tuner.c: timing candidates. Interleaved rounds, medians; a candidate replaces the rule's choice only if it is faster
 * by more than the spread. A stopwatch can change speed, never results: under every level but `off` all candidates are
 * of one class.
 *
 * What keeps a first step short: a candidate whose best time is twice that of the best is dropped after its first run;
 * timing ends when one is left, when the quartiles of the leader and the others are clearly apart, or when the budget
 * is spent; problems of a few microseconds are not timed at all.
 *
 * A sample during which the calling thread did not run most of the time was taken from somebody else's machine: it is
 * marked and does not count. Where a candidate has nothing else the choice holds for this process and is not kept.
 *
 * The operands are those of the call that asks, so that tuning a step costs no memory beside it; what a repetition
 * would spoil (in-place updates) gets data of its own, which with the workspace stays under workspace_limit. Without
 * memory for those the rule's choice stands. */
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/dry.h"
#include "base/fenv.h"
#include "plan/kept.h"
#include "plan/operands.h"
#include "plan/state.h"

enum { MIN_SAMPLES = 3, MAX_SAMPLES = 15, MAX_ROUNDS = 40 };
static const double hopeless_estimate = 20; /* times the best: not timed, however wrong estimates are           */
static const double hopeless_time = 2;      /* times the best: timed no more                                    */
static const double clearly_apart = 1.1;    /* a lead of the quartiles that ends the timing                     */
static const double few_samples = 0.1;      /* of the median: the spread where quartiles mean nothing           */
static const double quiet_share = 0.8;      /* of a sample's time that the calling thread ran, at least         */
static const double loaded_spread = 0.5;    /* of a time: the spread where only loaded samples are known        */
static const double loaded_patience = 3;    /* budgets that a problem may cost where some samples are loaded    */

typedef struct samples {
  iso__candidate *candidate;
  bool is_warm, dropped;
  void *kept; /* the weights in the engine's form, if the problem says that such are kept */
  int n;
  double ns[MAX_SAMPLES]; /* quiet ones, after the first  */
  double fastest;         /* of the quiet ones, the first included */
  double fastest_loaded;
} samples;

typedef struct session {
  iso_context *ctx;
  const iso__problem *problem;
  iso__operand_set set;
  void *workspace;
  samples all[ISO__MAX_CANDIDATES];
  int n;
  uint64_t begin_ns;
  double spent_ns, budget_ns; /* running engines */
  iso__tuner_load load;
} session;

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}
void iso__sort_times(double *times, int n) { qsort(times, (size_t)n, sizeof *times, by_value); }
/* Of at least one, sorted. */
static double quantile(const samples *s, int quarter) { return s->ns[(quarter * s->n) / 4]; }
static double spread_of(const samples *s) {
  const double median = quantile(s, 2), quartiles = quantile(s, 3) - quantile(s, 1);
  return s->n >= MIN_SAMPLES || quartiles > few_samples * median ? quartiles : few_samples * median;
}

/* In adversary mode every time is multiplied by something between 1/16 and 16. */
static double distorted(iso__plan_state *state, double ns) {
  if (!state->adversary) return ns;
  uint64_t x = state->adversary + 0x9e3779b97f4a7c15u * ++state->n_distorted;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return ns * (double)(1 + (x >> 56)) / 16.0;
}

/* ---- load ---- */

static double thread_ns(void) {
  struct timespec now;
  return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) ? -1 : 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

/* A thread that waits for others of the pool does not run either; but on a machine of its own it never waits long. */
static bool is_quiet(const iso__plan_state *state, double ran_ns, double ns) {
  if (state->load != ISO__LOAD_REAL) return state->load == ISO__LOAD_NONE;
  return ran_ns < 0 || ran_ns >= quiet_share * ns - 2000; /* where the system can't tell, all is quiet */
}

static int load_percent(void) {
  char text[64];
  const int fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  text[n > 0 ? n : 0] = '\0';
  char *end;
  const long whole = strtol(text, &end, 10); /* "0.52 …", whatever the locale */
  const long cents = *end == '.' ? strtol(end + 1, NULL, 10) : 0;
  return whole >= 0 && whole < 1000000 && cents >= 0 && cents < 100 ? (int)(100 * whole + cents) : 0;
}

/* ---- samples ---- */

static iso__call call_of(const session *s, const samples *of) {
  const size_t workspace_bytes = of->candidate->workspace_bytes;
  return (iso__call){.ctx = s->ctx,
                     .engine = of->candidate->engine,
                     .problem = s->problem,
                     .args = s->set.args,
                     .workspace = workspace_bytes ? s->workspace : NULL,
                     .workspace_bytes = workspace_bytes,
                     .kept = of->kept};
}

static void take_sample(session *s, samples *of) {
  iso__plan_state *state = iso__plan_state_of(s->ctx);
  const iso__call call = call_of(s, of);
  if (!of->is_warm && s->ctx->device) call.engine->run(&call); /* a kernel's code is loaded at its first launch */
  const double ran_before = thread_ns();
  const double ns = iso__call_time(&call);
  /* A device's own clock tells of the device: that the calling thread waited is no matter. */
  const double ran = ran_before < 0 || s->ctx->device ? -1 : thread_ns() - ran_before;
  const double told = distorted(state, ns);
  s->spent_ns += ns;
  s->load.n_samples++;
  if (!is_quiet(state, ran, ns)) {
    s->load.n_rejected++;
    of->fastest_loaded = iso__smaller(of->fastest_loaded, told);
    return;
  }
  of->fastest = iso__smaller(of->fastest, told);
  if (!of->is_warm) of->is_warm = true; /* the first run also fetched code, data and pages */
  else if (of->n < MAX_SAMPLES) {
    of->ns[of->n++] = told;
    iso__sort_times(of->ns, of->n);
  }
}

/* How many are left after those that are far behind have been dropped. */
static int drop_hopeless(session *s) {
  double best = INFINITY;
  int n_left = 0;
  for (int i = 0; i < s->n; i++) best = iso__smaller(best, s->all[i].fastest);
  for (int i = 0; i < s->n; i++) {
    samples *of = &s->all[i];
    if (of->is_warm && of->fastest > hopeless_time * best) of->dropped = true;
    n_left += !of->dropped;
  }
  return n_left;
}

/* The fewest samples that any of those left has. */
static int fewest_samples(const session *s) {
  int n = MAX_SAMPLES;
  for (int i = 0; i < s->n; i++)
    if (!s->all[i].dropped && s->all[i].n < n) n = s->all[i].n;
  return n;
}

static bool are_clearly_apart(const session *s) {
  const samples *leader = NULL;
  for (int i = 0; i < s->n; i++)
    if (!s->all[i].dropped && (!leader || quantile(&s->all[i], 2) < quantile(leader, 2))) leader = &s->all[i];
  for (int i = 0; i < s->n; i++)
    if (!s->all[i].dropped && &s->all[i] != leader && quantile(&s->all[i], 1) < clearly_apart * quantile(leader, 3))
      return false;
  return true;
}

static bool has_quiet(const session *s) {
  for (int i = 0; i < s->n; i++)
    if (s->all[i].is_warm) return true;
  return false;
}

static bool is_decided(const session *s, int n_left) {
  const int n = fewest_samples(s);
  if (n_left == 1 || n >= MAX_SAMPLES || (n >= 2 && are_clearly_apart(s))) return true;
  const double patience = n >= 1 || !has_quiet(s) ? 1 : loaded_patience;
  return s->spent_ns >= patience * s->budget_ns;
}

static void time_rounds(session *s) {
  const iso__fenv saved = iso__fenv_enter();
  for (int round = 0, n_left = s->n; round < MAX_ROUNDS; round++) {
    for (int i = 0; i < s->n; i++)
      if (!s->all[i].dropped) take_sample(s, &s->all[i]);
    n_left = drop_hopeless(s);
    if (is_decided(s, n_left)) break;
  }
  /* On a device a first run also waits for its code to be loaded: it says nothing of the last one left. */
  for (int i = 0; s->ctx->device && i < s->n; i++)
    if (!s->all[i].dropped && s->all[i].is_warm && !s->all[i].n) take_sample(s, &s->all[i]);
  iso__fenv_leave(saved);
}

/* ---- the choice ---- */

/* What is known of a candidate: its samples' median, else its only quiet run, else a loaded one. */
static iso__timing timing_of(const samples *s) {
  if (s->n) return (iso__timing){.ns = quantile(s, 2), .spread_ns = spread_of(s), .n_samples = s->n};
  if (s->is_warm) return (iso__timing){.ns = s->fastest, .spread_ns = few_samples * s->fastest, .n_samples = 1};
  return (iso__timing){.ns = s->fastest_loaded, .spread_ns = loaded_spread * s->fastest_loaded, .n_samples = 1};
}

/* The incumbent, unless others are faster by more than the spread; row order breaks ties. */
static iso__candidate *choose(session *s, iso__candidate *incumbent) {
  iso__candidate *best = incumbent;
  for (int i = 0; i < s->n; i++) s->all[i].candidate->timing = timing_of(&s->all[i]);
  for (int i = 0; i < s->n; i++) {
    iso__candidate *c = s->all[i].candidate;
    const double margin = iso__larger(c->timing.spread_ns, best->timing.spread_ns);
    if (c->timing.ns + margin < best->timing.ns) best = c;
  }
  return best;
}

static bool has_only_loaded(const session *s) {
  for (int i = 0; i < s->n; i++)
    if (!s->all[i].is_warm) return true;
  return false;
}

/* Candidates worth timing, and the workspace that they need. */
static size_t enlist(session *s, iso__candidate *candidates, int n, double least_cost_ns) {
  size_t workspace_bytes = 0;
  for (int i = 0; i < n; i++) {
    iso__candidate *c = &candidates[i];
    if (c->reason || c->cost_ns > hopeless_estimate * least_cost_ns) continue;
    s->all[s->n++] = (samples){.candidate = c, .fastest = INFINITY, .fastest_loaded = INFINITY};
    if (c->workspace_bytes > workspace_bytes) workspace_bytes = c->workspace_bytes;
  }
  return workspace_bytes;
}

static bool keep_weights(session *s) {
  for (int i = 0; i < s->n; i++) {
    iso__call call = call_of(s, &s->all[i]);
    if (!iso__call_prepare(&call, &s->all[i].kept)) return false;
  }
  return true;
}
static void drop_kept(session *s) {
  for (int i = 0; i < s->n; i++) {
    const iso__call call = call_of(s, &s->all[i]);
    iso__call_unprepare(&call, s->all[i].kept);
  }
}

static bool exceeds(size_t a, size_t b, size_t limit) { return a > limit || b > limit - a; }

/* Operands and workspace for a session; false: there is no memory for them, or not under the limit. The arena stays
 * what running needs: a larger workspace is taken for the session, in the arena's place. */
static bool prepare(session *s, const void *args, size_t workspace_bytes) {
  iso_context *ctx = s->ctx;
  const size_t limit = iso_policy_current(ctx)->workspace_limit;
  if (args && exceeds(iso__operand_set_need(s->problem, args), workspace_bytes, limit)) return false;
  const iso__plan_state *state = iso__plan_state_of(ctx);
  if (workspace_bytes > state->workspace_bytes || state->workspace_device != iso__device_of(ctx)) {
    iso__workspace_drop(ctx);
    if (!(s->workspace = iso__plan_memory(ctx, workspace_bytes))) return false;
  } else s->workspace = state->workspace;
  if (iso__operand_set_init(ctx, s->problem, args, 1, &s->set)) {
    if (keep_weights(s)) return true;
    drop_kept(s);
    iso__operand_set_release(ctx, &s->set);
  }
  if (s->workspace != state->workspace) iso__plan_memory_free(ctx, s->workspace, workspace_bytes);
  return false;
}

static void release(session *s, size_t workspace_bytes) {
  drop_kept(s);
  iso__operand_set_release(s->ctx, &s->set);
  if (s->workspace != iso__plan_state_of(s->ctx)->workspace)
    iso__plan_memory_free(s->ctx, s->workspace, workspace_bytes);
}

static void count(const session *s) {
  iso__plan_job *job = iso__plan_state_of(s->ctx)->job;
  job->n_timed++;
  job->n_samples += (uint64_t)s->load.n_samples;
  job->n_samples_rejected += (uint64_t)s->load.n_rejected;
  job->spent_ns += iso__clock_ns() - s->begin_ns; /* making data included */
}

iso__tuner_result iso__tuner_pick(iso_context *ctx, const iso__problem *problem, const void *args,
                                  iso__candidate *candidates, int n, iso__candidate **winner, iso__tuner_load *load) {
  const iso_policy *policy = iso_policy_current(ctx);
  iso__candidate *incumbent = *winner = iso__candidates_cheapest(candidates, n);
  session s = {.ctx = ctx, .problem = problem, .begin_ns = iso__clock_ns()};
  const size_t workspace_bytes = enlist(&s, candidates, n, incumbent->cost_ns);
  if (s.n < 2 || incumbent->cost_ns < ISO__TUNER_SMALLEST_NS) return ISO__NOT_TUNED;
  const double left_ns = 1e6 * (double)policy->tuning_budget_ms - (double)iso__plan_state_of(ctx)->job->spent_ns;
  if (left_ns <= 0) return ISO__OUT_OF_BUDGET;
  s.budget_ns = iso__smaller(1e6 * (double)policy->problem_budget_ms, left_ns);
  if (!prepare(&s, args, workspace_bytes)) return ISO__NOT_TUNED;
  if (iso__heap_is_dry(ctx->heap)) return release(&s, workspace_bytes), ISO__NOT_TUNED; /* its memory was asked for */
  time_rounds(&s);
  s.load.load_percent = load_percent();
  *winner = choose(&s, incumbent);
  *load = s.load;
  release(&s, workspace_bytes);
  count(&s);
  return has_only_loaded(&s) ? ISO__TUNED_UNDER_LOAD : ISO__TUNED;
}

void iso__tuner_set_adversary(iso_context *ctx, uint64_t seed) { iso__plan_state_of(ctx)->adversary = seed; }
void iso__tuner_set_load(iso_context *ctx, iso__load load) { iso__plan_state_of(ctx)->load = load; }

iso_tuner_stats iso_tuner_get_stats(const iso_context *ctx) {
  if (!ctx) return (iso_tuner_stats){0};
  const iso__plan_job *job = iso__plan_state_of(ctx)->job;
  return (iso_tuner_stats){.n_timed = job->n_timed,
                           .n_from_store = job->n_from_store,
                           .n_from_lock = job->n_from_lock,
                           .n_by_rule = job->n_by_rule,
                           .n_loaded = job->n_loaded,
                           .n_out_of_budget = job->n_out_of_budget,
                           .n_samples = job->n_samples,
                           .n_samples_rejected = job->n_samples_rejected,
                           .spent_ms = (double)job->spent_ns / 1e6};
}
