/* query.c: plans as data, for users. */
#include <isobit/plan.h>
#include <stdio.h>
#include "plan/state.h"

_Static_assert((int)ISO_MAX_PLAN_CANDIDATES == (int)ISO__MAX_CANDIDATES, "one bound, public and internal");

typedef struct verdict_text {
  const char *word, *sentence;
} verdict_text;
static const verdict_text verdicts[] = {
#define ROW(name, value, word, sentence) [value] = {word, sentence},
    ISO_VERDICT_LIST(ROW)
#undef ROW
};
enum { N_VERDICTS = sizeof verdicts / sizeof verdicts[0] };

const char *iso_verdict_word(iso_verdict verdict) {
  return (unsigned)verdict < N_VERDICTS ? verdicts[verdict].word : "unknown";
}
const char *iso_verdict_sentence(iso_verdict verdict) {
  return (unsigned)verdict < N_VERDICTS ? verdicts[verdict].sentence : "is no verdict of this version";
}

const char *iso_plan_source_name(iso_plan_source source) {
  static const char *const names[] = {"rule", "tuner", "store", "lock"};
  return (unsigned)source < sizeof names / sizeof names[0] ? names[source] : "unknown";
}

static iso_plan_candidate candidate_of(const iso__candidate *c) {
  const iso__engine *reference = c->engine->library ? c->engine : iso__class_reference(c->engine);
  iso_plan_candidate out = {.engine = c->engine->name,
                            .revision = c->engine->revision,
                            .class_name = c->engine->class_name,
                            .level = c->engine->level,
                            .isa = c->engine->isa,
                            .error_bound = iso__class_error_bound(c->engine),
                            .accuracy = reference ? reference->accuracy : ISO_ACCURACY_STRICT,
                            .workspace_bytes = c->workspace_bytes,
                            .estimated_ms = c->cost_ns / 1e6,
                            .measured_ms = c->timing.ns / 1e6,
                            .spread_ms = c->timing.spread_ns / 1e6,
                            .n_samples = c->timing.n_samples,
                            .verdict = c->verdict,
                            .chosen = c->chosen};
  if (c->reason) snprintf(out.reason, sizeof out.reason, "%s", c->reason);
  return out;
}

int iso_plan_query(iso_context *ctx, const char *text, iso_plan_candidate out[ISO_MAX_PLAN_CANDIDATES]) {
  _Alignas(16) unsigned char buffer[ISO__MAX_PROBLEM_BYTES];
  iso__problem *problem = (iso__problem *)buffer;
  iso__candidate candidates[ISO__MAX_CANDIDATES];
  if (iso__failed(ctx) || iso__problem_parse(ctx, text, buffer) != ISO_OK) return 0;
  const int n = iso__plan_candidates(ctx, problem, candidates);
  for (int i = 0; i < n; i++) out[i] = candidate_of(&candidates[i]);
  return n;
}

/* The plan for a problem under a policy that measures. */
static iso_status tune(iso_context *ctx, const iso__problem *problem, iso_plan_use *out) {
  iso__plan_state *state = iso__plan_state_of(ctx);
  iso__plan plan;
  state->must_measure = true;
  const bool found = iso__plan_get(ctx, problem, &plan);
  state->must_measure = false;
  if (!found || !out) return iso_error_code(ctx);
  /* Made for the text: the list of plans used is bounded and may not have it. */
  _Alignas(16) unsigned char block[ISO__MAX_PROBLEM_BYTES];
  memcpy(block, problem, problem->n_bytes);
  const iso__used used = {.plan = plan, .n_uses = 1, .block = block, .n_problem_bytes = problem->n_bytes};
  return iso__used_format(&used, out), ISO_OK;
}

iso_status iso_plan_tune(iso_context *ctx, const char *text, iso_plan_use *out) {
  _Alignas(16) unsigned char buffer[ISO__MAX_PROBLEM_BYTES];
  if (iso__failed(ctx) || iso__problem_parse(ctx, text, buffer) != ISO_OK) return iso_error_code(ctx);
  iso_policy policy = *iso_policy_current(ctx);
  policy.tuning = ISO_TUNING_MEASURE;
  if (iso_policy_push(ctx, &policy) != ISO_OK) return iso_error_code(ctx);
  const iso_status status = tune(ctx, (iso__problem *)buffer, out);
  iso_policy_pop(ctx);
  return status;
}
