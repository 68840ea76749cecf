/* state.h: what the plan room keeps in a context, and the calls between its own files. */
#ifndef ISO_PLAN_STATE_H
#define ISO_PLAN_STATE_H
#include "base/hash.h"
#include "plan/plan.h"

typedef struct iso__plan_state {
  void *workspace; /* one arena, grown to the largest request */
  size_t workspace_bytes;
  uint64_t adversary, n_distorted; /* 0: times are what the clock says */
  uint64_t n_timed;
} iso__plan_state;
iso__plan_state *iso__plan_state_of(const iso_context *ctx);

const iso__operator *iso__problem_operator(const iso__problem *problem);
/* Judges every row (choose.c); *n_allowed counts those without a reason. */
int iso__candidates_judge(iso_context *ctx, const iso__problem *problem, iso__candidate *candidates, int *n_allowed);
/* The allowed candidate of least estimated cost; the earlier row among equals. NULL: none is allowed. */
iso__candidate *iso__candidates_cheapest(iso__candidate *candidates, int n);
/* Times the allowed candidates and returns the winner (tuner.c); args as in iso__operand_set_init. */
iso__candidate *iso__tuner_pick(iso_context *ctx, const iso__problem *problem, const void *args,
                                iso__candidate *candidates, int n);
/* iso__plan_get for a call that is about to run: a tuner that has to time does it on the call's own operands. */
bool iso__plan_get_for(iso_context *ctx, const iso__problem *problem, const void *args, iso__plan *plan);

/* Process-wide cache of plans by hash of everything that decides (cache.c). */
bool iso__cache_find(iso__hash key, iso__plan *plan);
void iso__cache_keep(iso__hash key, const iso__plan *plan);

/* The arena, at least n_bytes; NULL with the error kept. */
void *iso__workspace(iso_context *ctx, size_t n_bytes);
#endif
