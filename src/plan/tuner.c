/* tuner.c: timing candidates. Interleaved rounds, medians; a candidate replaces the rule's choice only if it is faster
 * by more than the spread. A stopwatch can change speed, never results: under every level but `off` all candidates are
 * of one class.
 *
 * The operands are those of the call that asks, so that tuning a step costs no memory beside it; what a repetition
 * would spoil (in-place updates) gets data of its own. Without memory for those the rule's choice stands. */
#include <math.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/fenv.h"
#include "plan/operands.h"
#include "plan/state.h"

enum { MIN_ROUNDS = 3, MAX_ROUNDS = 15 };
static const double budget_ns = 30e6;     /* a problem                                                       */
static const double hopeless_factor = 20; /* candidates that the rule thinks this much slower are not timed   */
static const double clear_factor = 1.25;  /* a lead that ends the timing of a problem whose budget is spent   */

typedef struct samples {
  iso__candidate *candidate;
  int n;
  double ns[MAX_ROUNDS];
} samples;

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}
static double median(samples *s) {
  qsort(s->ns, (size_t)s->n, sizeof s->ns[0], by_value);
  return s->ns[s->n / 2];
}
/* Of sorted samples: the distance between the quartiles. */
static double spread(const samples *s) { return s->ns[(3 * s->n) / 4] - s->ns[s->n / 4]; }

/* In adversary mode every time is multiplied by something between 1/16 and 16. */
static double distorted(iso__plan_state *state, double ns) {
  if (!state->adversary) return ns;
  uint64_t x = state->adversary + 0x9e3779b97f4a7c15u * ++state->n_distorted;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return ns * (double)(1 + (x >> 56)) / 16.0;
}

static double time_once(iso_context *ctx, const iso__problem *problem, const iso__candidate *c,
                        const iso__operand_set *set, void *workspace) {
  const iso__call call = {.ctx = ctx,
                          .engine = c->engine,
                          .problem = problem,
                          .args = set->args,
                          .workspace = c->workspace_bytes ? workspace : NULL,
                          .workspace_bytes = c->workspace_bytes};
  const uint64_t begin = iso__clock_ns();
  c->engine->run(&call);
  return distorted(iso__plan_state_of(ctx), (double)(iso__clock_ns() - begin));
}

/* Whether one candidate's fastest time beats every other's clearly. */
static bool has_clear_leader(const samples *all, int n) {
  double first = INFINITY, second = INFINITY;
  for (int i = 0; i < n; i++) {
    double fastest = INFINITY;
    for (int j = 0; j < all[i].n; j++) fastest = all[i].ns[j] < fastest ? all[i].ns[j] : fastest;
    if (fastest < first) second = first, first = fastest;
    else if (fastest < second) second = fastest;
  }
  return first * clear_factor < second;
}

static void time_rounds(iso_context *ctx, const iso__problem *problem, samples *all, int n, const iso__operand_set *set,
                        void *workspace) {
  const iso__fenv saved = iso__fenv_enter();
  double spent = 0;
  for (int round = -1; round < MAX_ROUNDS; round++) { /* round −1 warms up */
    for (int i = 0; i < n; i++) {
      const double ns = time_once(ctx, problem, all[i].candidate, set, workspace);
      spent += ns;
      if (round >= 0) all[i].ns[all[i].n++] = ns;
    }
    if (round >= 0 && spent >= budget_ns && (round + 1 >= MIN_ROUNDS || has_clear_leader(all, n))) break;
  }
  iso__fenv_leave(saved);
}

iso__candidate *iso__tuner_pick(iso_context *ctx, const iso__problem *problem, const void *args,
                                iso__candidate *candidates, int n) {
  iso__candidate *incumbent = iso__candidates_cheapest(candidates, n);
  samples all[ISO__MAX_CANDIDATES];
  int n_timed = 0;
  size_t workspace_bytes = 0;
  for (int i = 0; i < n; i++) {
    if (candidates[i].reason || candidates[i].cost_ns > hopeless_factor * incumbent->cost_ns) continue;
    all[n_timed++] = (samples){.candidate = &candidates[i]};
    if (candidates[i].workspace_bytes > workspace_bytes) workspace_bytes = candidates[i].workspace_bytes;
  }
  if (n_timed < 2) return incumbent;
  iso__operand_set set;
  const iso__plan_state *state = iso__plan_state_of(ctx);
  const bool in_arena = workspace_bytes <= state->workspace_bytes;
  void *workspace = in_arena ? state->workspace : iso__heap_alloc(ctx->heap, workspace_bytes, NULL);
  if (workspace_bytes && !workspace) return incumbent;
  if (iso__operand_set_init(ctx, problem, args, 1, &set)) {
    samples *best = NULL;
    time_rounds(ctx, problem, all, n_timed, &set, workspace);
    iso__plan_state_of(ctx)->n_timed++;
    for (int i = 0; i < n_timed; i++) {
      all[i].candidate->time_ns = median(&all[i]);
      if (all[i].candidate == incumbent) best = &all[i];
    }
    for (int i = 0; i < n_timed; i++) {
      const double margin = spread(&all[i]) > spread(best) ? spread(&all[i]) : spread(best);
      if (all[i].candidate->time_ns + margin < best->candidate->time_ns) best = &all[i];
    }
    incumbent = best->candidate;
    iso__operand_set_release(ctx, &set);
  }
  if (!in_arena) iso__heap_free(ctx->heap, workspace, workspace_bytes);
  return incumbent;
}

void iso__tuner_set_adversary(iso_context *ctx, uint64_t seed) { iso__plan_state_of(ctx)->adversary = seed; }
uint64_t iso__tuner_n_timed(const iso_context *ctx) { return iso__plan_state_of(ctx)->n_timed; }
