/* query.c: plans as data, for users. */
#include <isobit/plan.h>
#include <stdio.h>
#include "plan/state.h"

_Static_assert((int)ISO_MAX_PLAN_CANDIDATES == (int)ISO__MAX_CANDIDATES, "one bound, public and internal");

int iso_plan_query(iso_context *ctx, const char *text, iso_plan_candidate out[ISO_MAX_PLAN_CANDIDATES]) {
  _Alignas(16) unsigned char buffer[ISO__MAX_PROBLEM_BYTES];
  iso__problem *problem = (iso__problem *)buffer;
  iso__candidate candidates[ISO__MAX_CANDIDATES];
  if (iso__failed(ctx) || iso__problem_parse(ctx, text, buffer) != ISO_OK) return 0;
  const double error_bound = iso__problem_operator(problem)->error_bound;
  const int n = iso__plan_candidates(ctx, problem, candidates);
  for (int i = 0; i < n; i++) {
    const iso__candidate *c = &candidates[i];
    out[i] = (iso_plan_candidate){.engine = c->engine->name,
                                  .revision = c->engine->revision,
                                  .class_name = c->engine->class_name,
                                  .level = c->engine->level,
                                  .isa = c->engine->isa,
                                  .error_bound = error_bound,
                                  .workspace_bytes = c->workspace_bytes,
                                  .estimated_ms = c->cost_ns / 1e6,
                                  .measured_ms = c->time_ns / 1e6,
                                  .chosen = c->chosen};
    if (c->reason) snprintf(out[i].reason, sizeof out[i].reason, "%s", c->reason);
  }
  return n;
}
