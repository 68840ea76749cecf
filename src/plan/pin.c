/* pin.c: the plan that the lockfile names for a problem, if it can run here. */
#include <stdio.h>
#include "plan/state.h"

/* Why a line's engine can't run the problem here; NULL: it can, and *c is it. The class may be another than the rule's
 * where `any_class`. */
static const char *judge_pinned(const iso_context *ctx, const iso__problem *problem, const iso__lock_line *line,
                                bool any_class, iso__candidate *candidates, int n, iso__candidate **c, char *why,
                                size_t n_bytes) {
  iso__candidate *found = NULL;
  for (int i = 0; i < n; i++)
    if (!strcmp(candidates[i].engine->name, line->engine)) found = &candidates[i];
  if (!found) return snprintf(why, n_bytes, "there is no engine %.60s", line->engine), why;
  const iso__engine *e = found->engine;
  if (e->revision != line->revision || strcmp(e->class_name, line->class_name) != 0)
    return snprintf(why, n_bytes, "%.60s@%d class %.40s is pinned; this build has @%d class %s", line->engine,
                    line->revision, line->class_name, e->revision, e->class_name),
           why;
  if (found->verdict == ISO_VERDICT_CLASS && any_class) {
    found->reason = NULL;
    iso__candidate_judge_workspace(ctx, problem, found);
  }
  if (found->reason) return snprintf(why, n_bytes, "%s: %s", e->name, found->reason), why;
  *c = found;
  return NULL;
}

/* Lines of the rule's class first. A line that does not hold here is an error where nothing else is accepted, else a
 * warning, once. */
iso__pin iso__lock_pick(iso_context *ctx, const iso__problem *problem, iso__candidate *candidates, int n,
                        iso__candidate **winner) {
  iso__plan_state *state = iso__plan_state_of(ctx);
  char text[ISO_PLAN_TEXT_BYTES], why[320] = "not in the lockfile, and tuning=replay accepts nothing else";
  const bool strict = iso_policy_current(ctx)->tuning == ISO_TUNING_REPLAY;
  const iso__lock_line *line = NULL;
  iso__problem_format(problem, text, sizeof text);
  const size_t n_lines = state->lock ? iso__lock_find(state->lock, text, &line) : 0;
  for (int any_class = 0; any_class < 2; any_class++)
    for (size_t i = 0; i < n_lines; i++)
      if (!judge_pinned(ctx, problem, &line[i], any_class, candidates, n, winner, why, sizeof why)) return ISO__PINNED;
  if (strict) {
    ISO__FAIL(ctx, ISO_NO_PLAN, text, "%s", state->lock ? why : "there is no lockfile to replay");
    return ISO__PIN_FAILED;
  }
  if (n_lines && !state->warned_of_lock) {
    state->warned_of_lock = true;
    iso__warn(ctx, "line %d of the lockfile does not hold here and is not used: %s", line->number, why);
  }
  return ISO__NOT_PINNED;
}
