/* choose.c: from a problem to a plan: every row is judged with a reason, then the rule or the tuner picks among the
 * rest.
 *
 * Under `invariant` and above the class comes from the operator's class rule, which sees attributes only; the tuner is
 * free inside that class. Under `off` every class is allowed. The workspace cap filters engines and never changes the
 * class. */
#include <stdarg.h>
#include <stdio.h>
#include "base/cpu.h"
#include "plan/state.h"

const iso__operator *iso__problem_operator(const iso__problem *problem) {
  return problem->op < ISO__N_OPS ? iso__the_registry.operators[problem->op] : NULL;
}

const char *iso__always_applicable(const iso__problem *problem) {
  (void)problem;
  return NULL;
}
size_t iso__no_workspace(const iso__problem *problem, int n_threads) {
  (void)problem, (void)n_threads;
  return 0;
}

static void refuse(iso__candidate *c, const char *format, ...) ISO_PRINTF(2, 3);
static void refuse(iso__candidate *c, const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(c->reason_text, sizeof c->reason_text, format, list);
  va_end(list);
  c->reason = c->reason_text;
}

static const char *repro_name(iso_repro level) {
  static const char *const names[] = {"off", "run", "invariant", "portable"};
  return names[level];
}

static void judge(iso_context *ctx, const iso__problem *problem, const char *class_name, iso__candidate *c) {
  const iso_policy *policy = iso_policy_current(ctx);
  const iso__engine *e = c->engine;
  const char *why;
  if (policy->references_only && !e->element) refuse(c, "the policy uses references only");
  else if (e->isa > ctx->isa)
    refuse(c, "needs %s; this context is limited to %s", iso__isa_name(e->isa), iso__isa_name(ctx->isa));
  else if (!(e->dtypes & ISO__DTYPE_BIT(problem->dtype)))
    refuse(c, "does not compute %s", iso_dtype_name((iso_dtype)problem->dtype));
  else if ((why = e->applicable(problem))) refuse(c, "%s", why);
  else if (e->level < policy->repro)
    refuse(c, "class %s keeps its promise up to '%s'; the policy asks for '%s'", e->class_name, repro_name(e->level),
           repro_name(policy->repro));
  else if (policy->repro >= ISO_REPRO_INVARIANT && strcmp(e->class_name, class_name) != 0)
    refuse(c, "class %s; rule@%d chose %s", e->class_name, policy->rule, class_name);
  else {
    c->workspace_bytes = e->workspace(problem, ctx->n_threads);
    c->cost_ns = e->cost(problem, ctx->n_threads);
    if (c->workspace_bytes > policy->workspace_limit)
      refuse(c, "needs %zu bytes of workspace; the limit is %zu", c->workspace_bytes, policy->workspace_limit);
  }
}

int iso__candidates_judge(iso_context *ctx, const iso__problem *problem, iso__candidate *candidates, int *n_allowed) {
  const iso__operator *o = iso__problem_operator(problem);
  const char *class_name = o->class_rule(problem, iso_policy_current(ctx));
  int n = 0;
  *n_allowed = 0;
  for (const iso__engine *e = iso__the_registry.engines; e->name && n < ISO__MAX_CANDIDATES; e++) {
    if (e->op != problem->op) continue;
    iso__candidate *c = &candidates[n++];
    *c = (iso__candidate){.engine = e};
    judge(ctx, problem, class_name, c);
    *n_allowed += !c->reason;
  }
  return n;
}

iso__candidate *iso__candidates_cheapest(iso__candidate *candidates, int n) {
  iso__candidate *best = NULL;
  for (int i = 0; i < n; i++)
    if (!candidates[i].reason && (!best || candidates[i].cost_ns < best->cost_ns)) best = &candidates[i];
  return best;
}

/* No engine is left: says which cap or attribute is to blame, listing each engine of the operator with its reason. */
static void fail_without_engine(iso_context *ctx, const iso__problem *problem, const iso__candidate *candidates,
                                int n) {
  char text[256], reasons[320] = "";
  size_t used = 0;
  bool capped = false;
  iso__problem_format(problem, text, sizeof text);
  for (int i = 0; i < n && used < sizeof reasons; i++) {
    capped |= candidates[i].workspace_bytes > iso_policy_current(ctx)->workspace_limit;
    used += (size_t)snprintf(reasons + used, sizeof reasons - used, "; %s %s", candidates[i].engine->name,
                             candidates[i].reason);
  }
  ISO__FAIL(ctx, capped ? ISO_WORKSPACE_LIMIT : ISO_NO_ENGINE, iso__problem_operator(problem) ? text : "plan", "%s",
            n ? reasons + 2 : "no engine computes this operator");
}

static iso__hash key_of(const iso_context *ctx, const iso__problem *problem, const iso__plan_state *state) {
  /* Everything that decides, without holes; the seed, leaves and memory limit do not decide. */
  const iso_policy *p = iso_policy_current(ctx);
  const uint64_t decides[] = {(uint64_t)p->repro,       (uint64_t)p->tuning,    (uint64_t)p->accuracy,
                              (uint64_t)p->math_matmul, (uint64_t)p->math_conv, p->vendor,
                              p->references_only,       (uint64_t)p->rule,      p->workspace_limit,
                              (uint64_t)ctx->n_threads, (uint64_t)ctx->isa,     state->adversary};
  unsigned char bytes[ISO__MAX_PROBLEM_BYTES + sizeof decides];
  memcpy(bytes, problem, problem->n_bytes);
  memcpy(bytes + problem->n_bytes, decides, sizeof decides);
  return iso__hash_bytes(bytes, problem->n_bytes + sizeof decides);
}

/* Not found in the cache: judge and choose. */
static bool choose(iso_context *ctx, const iso__problem *problem, const void *args, iso__plan *plan) {
  iso__candidate candidates[ISO__MAX_CANDIDATES];
  int n_allowed, n = iso__candidates_judge(ctx, problem, candidates, &n_allowed);
  if (!n_allowed) return fail_without_engine(ctx, problem, candidates, n), false;
  if (iso_policy_current(ctx)->tuning == ISO_TUNING_REPLAY) {
    char text[256];
    iso__problem_format(problem, text, sizeof text);
    return ISO__FAIL(ctx, ISO_NO_PLAN, text, "not recorded, and tuning=replay allows nothing else"), false;
  }
  iso__candidate *winner = iso__candidates_cheapest(candidates, n);
  if (iso_policy_current(ctx)->tuning == ISO_TUNING_MEASURE && n_allowed > 1)
    winner = iso__tuner_pick(ctx, problem, args, candidates, n);
  *plan = (iso__plan){.engine = winner->engine, .workspace_bytes = winner->workspace_bytes, .time_ns = winner->time_ns};
  return true;
}

bool iso__plan_get_for(iso_context *ctx, const iso__problem *problem, const void *args, iso__plan *plan) {
  if (iso__failed(ctx)) return false;
  const iso__plan_state *state = iso__plan_state_of(ctx);
  const iso__hash key = key_of(ctx, problem, state);
  if (iso__cache_find(key, plan)) return true;
  if (!choose(ctx, problem, args, plan)) return false;
  iso__cache_keep(key, plan);
  return true;
}

bool iso__plan_get(iso_context *ctx, const iso__problem *problem, iso__plan *plan) {
  return iso__plan_get_for(ctx, problem, NULL, plan);
}

int iso__plan_candidates(iso_context *ctx, const iso__problem *problem,
                         iso__candidate candidates[ISO__MAX_CANDIDATES]) {
  int n_allowed;
  const int n = iso__candidates_judge(ctx, problem, candidates, &n_allowed);
  iso__plan plan;
  if (n_allowed && iso__plan_get(ctx, problem, &plan))
    for (int i = 0; i < n; i++)
      if (candidates[i].engine == plan.engine) candidates[i].chosen = true, candidates[i].time_ns = plan.time_ns;
  return n;
}
