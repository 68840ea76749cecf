/* choose.c: from a problem to a plan: every row is judged with a reason, then the rule or the tuner picks among the
 * rest.
 *
 * Under `invariant` and above the class comes from the operator's class rule, which sees attributes only; the tuner is
 * free inside that class. Under `off` every class is allowed. The workspace cap filters engines and never changes the
 * class. */
#include <stdarg.h>
#include <stdio.h>
#include "base/cpu.h"
#include "base/dry.h"
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

void iso__candidate_refuse(iso__candidate *c, iso_verdict verdict, const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(c->reason_text, sizeof c->reason_text, format, list);
  va_end(list);
  c->reason = c->reason_text;
  c->verdict = verdict;
}

void iso__candidate_judge_workspace(const iso_context *ctx, const iso__problem *problem, iso__candidate *c) {
  const size_t limit = iso_policy_current(ctx)->workspace_limit;
  c->workspace_bytes = c->engine->workspace(problem, iso__plan_width(ctx));
  c->cost_ns = c->engine->cost(problem, iso__plan_width(ctx));
  if (c->workspace_bytes > limit)
    iso__candidate_refuse(c, ISO_VERDICT_WORKSPACE, "needs %zu bytes of workspace; the limit is %zu",
                          c->workspace_bytes, limit);
}

static void refuse_level(const iso_policy *policy, iso__candidate *c) {
  iso__candidate_refuse(c, ISO_VERDICT_LEVEL, "class %s keeps its promise up to '%s'; the policy asks for '%s'",
                        c->engine->class_name, iso_repro_name(c->engine->level), iso_repro_name(policy->repro));
}

/* True: a vendor's row can't be a candidate. Its library is looked for last, where everything else allows the row. */
static bool refuse_vendor(const iso_policy *policy, iso__candidate *c) {
  const char *why = NULL;
  if (!c->engine->library) return false;
  if (c->engine->level < policy->repro) return refuse_level(policy, c), true;
  if (!policy->vendor) why = "the policy says vendor=off";
  if (!why) why = iso__engine_library_missing(c->engine);
  if (why) iso__candidate_refuse(c, ISO_VERDICT_VENDOR, "%s", why);
  return why != NULL;
}

static void judge(iso_context *ctx, const iso__problem *problem, const char *class_name, iso__candidate *c) {
  const iso_policy *policy = iso_policy_current(ctx);
  const iso__engine *e = c->engine, *reference;
  const char *why;
  if (policy->references_only && !e->reference)
    iso__candidate_refuse(c, ISO_VERDICT_REFERENCES_ONLY, "the policy uses references only");
  else if (!iso__plan_can_run(ctx, e) && ctx->device)
    iso__candidate_refuse(c, ISO_VERDICT_ISA, "runs on the CPU; this context computes on %s", ctx->device->name);
  else if (!iso__plan_can_run(ctx, e))
    iso__candidate_refuse(c, ISO_VERDICT_ISA, "needs %s; this context is limited to %s", iso_isa_name(e->isa),
                          iso_isa_name(ctx->isa));
  else if (!(e->dtypes & ISO__DTYPE_BIT(problem->dtype)))
    iso__candidate_refuse(c, ISO_VERDICT_DTYPE, "does not compute %s", iso_dtype_name((iso_dtype)problem->dtype));
  else if (refuse_vendor(policy, c)) return;
  else if ((why = e->applicable(problem))) iso__candidate_refuse(c, ISO_VERDICT_NOT_APPLICABLE, "%s", why);
  else if ((reference = e->library ? e : iso__class_reference(e)) && reference->accuracy > policy->accuracy)
    iso__candidate_refuse(c, ISO_VERDICT_ACCURACY, "class %s needs accuracy '%s'; the policy says '%s'", e->class_name,
                          iso_accuracy_name(reference->accuracy), iso_accuracy_name(policy->accuracy));
  else if (e->level < policy->repro) refuse_level(policy, c);
  else if (policy->repro >= ISO_REPRO_INVARIANT && strcmp(e->class_name, class_name) != 0)
    iso__candidate_refuse(c, ISO_VERDICT_CLASS, "class %s; rule@%d chose %s", e->class_name, policy->rule, class_name);
  else iso__candidate_judge_workspace(ctx, problem, c);
}

/* Level `run`: the estimate, which is the same every time, names the class; a stopwatch may only choose inside it, and
 * not at all among engines that promise nothing. */
static void keep_to_one_class(iso__candidate *candidates, int n) {
  const iso__candidate *first = iso__candidates_cheapest(candidates, n);
  for (int i = 0; first && i < n; i++) {
    iso__candidate *c = &candidates[i];
    if (c == first || c->reason) continue;
    if (strcmp(c->engine->class_name, first->engine->class_name) != 0 || strcmp(c->engine->class_name, "free") == 0)
      iso__candidate_refuse(c, ISO_VERDICT_CLASS, "class %s; under 'run' the least estimate chose %s, class %s",
                            c->engine->class_name, first->engine->name, first->engine->class_name);
  }
}

/* A reference does not stand in, some hundred times slower and without a word, for engines that only the cap leaves
 * out. */
static void keep_references_out(const iso_policy *policy, iso__candidate *candidates, int n) {
  bool capped = false;
  for (int i = 0; i < n; i++) {
    if (candidates[i].engine->reference) continue;
    if (!candidates[i].reason) return;
    capped |= candidates[i].verdict == ISO_VERDICT_WORKSPACE;
  }
  for (int i = 0; capped && i < n; i++)
    if (!candidates[i].reason)
      iso__candidate_refuse(&candidates[i], ISO_VERDICT_WORKSPACE,
                            "a reference does not stand in for engines that workspace_limit %zu leaves out",
                            policy->workspace_limit);
}

int iso__candidates_judge(iso_context *ctx, const iso__problem *problem, iso__candidate *candidates, int *n_allowed) {
  const iso__operator *o = iso__problem_operator(problem);
  const char *class_name = o->class_rule(problem, iso_policy_current(ctx));
  int n = 0;
  *n_allowed = 0;
  for (const iso__engine *e = iso__engine_first(problem->op); e && n < ISO__MAX_CANDIDATES; e = iso__engine_next(e)) {
    iso__candidate *c = &candidates[n++];
    *c = (iso__candidate){.engine = e};
    judge(ctx, problem, class_name, c);
  }
  if (iso_policy_current(ctx)->repro == ISO_REPRO_RUN) keep_to_one_class(candidates, n);
  if (!iso_policy_current(ctx)->references_only) keep_references_out(iso_policy_current(ctx), candidates, n);
  for (int i = 0; i < n; i++) *n_allowed += !candidates[i].reason;
  return n;
}

iso__candidate *iso__candidates_cheapest(iso__candidate *candidates, int n) {
  iso__candidate *best = NULL;
  for (int i = 0; i < n; i++)
    if (!candidates[i].reason && (!best || candidates[i].cost_ns < best->cost_ns)) best = &candidates[i];
  return best;
}

/* Appends "; engine reason" for the candidates of one verdict, or of all others. */
static size_t add_reasons(char *reasons, size_t n_bytes, size_t used, const iso__candidate *candidates, int n,
                          bool capped) {
  for (int i = 0; i < n && used < n_bytes; i++)
    if ((candidates[i].verdict == ISO_VERDICT_WORKSPACE) == capped)
      used +=
          (size_t)snprintf(reasons + used, n_bytes - used, "; %s %s", candidates[i].engine->name, candidates[i].reason);
  return used;
}

/* No engine is left: says which cap or attribute is to blame, listing engines of the operator with their reasons, first
 * those that a larger cap would let run. */
static void fail_without_engine(iso_context *ctx, const iso__problem *problem, const iso__candidate *candidates,
                                int n) {
  char text[ISO_PLAN_TEXT_BYTES], reasons[320] = "";
  iso__problem_format(problem, text, sizeof text);
  const size_t capped = add_reasons(reasons, sizeof reasons, 0, candidates, n, true);
  if (capped < sizeof reasons) add_reasons(reasons, sizeof reasons, capped, candidates, n, false);
  ISO__FAIL(ctx, capped ? ISO_WORKSPACE_LIMIT : ISO_NO_ENGINE, iso__problem_operator(problem) ? text : "plan", "%s",
            n ? reasons + 2 : "no engine computes this operator");
}

/* Everything beside the problem that decides, without holes; the seed, leaves and memory limit do not decide. */
static void decisions(const iso_context *ctx, const iso__plan_state *state, uint64_t decides[ISO__N_DECIDES]) {
  const iso_policy *p = iso_policy_current(ctx);
  const uint64_t list[ISO__N_DECIDES] = {(uint64_t)p->repro,
                                         (uint64_t)p->tuning,
                                         (uint64_t)p->accuracy,
                                         (uint64_t)p->math_matmul,
                                         (uint64_t)p->math_conv,
                                         p->vendor,
                                         p->references_only,
                                         (uint64_t)p->rule,
                                         p->workspace_limit,
                                         (uint64_t)iso__plan_width(ctx),
                                         (uint64_t)iso__plan_isa(ctx),
                                         state->adversary,
                                         state->ignores_store ? 0 : state->job->store.id,
                                         state->lock ? state->lock->hash.low : 0};
  memcpy(decides, list, sizeof list);
}

static iso__hash key_from(const iso__problem *problem, const uint64_t decides[ISO__N_DECIDES]) {
  const size_t n_decides = ISO__N_DECIDES * sizeof *decides;
  unsigned char bytes[ISO__MAX_PROBLEM_BYTES + ISO__N_DECIDES * sizeof *decides];
  memcpy(bytes, problem, problem->n_bytes);
  memcpy(bytes + problem->n_bytes, decides, n_decides);
  return iso__hash_bytes(bytes, problem->n_bytes + n_decides);
}
static iso__hash key_of(const iso_context *ctx, const iso__problem *problem, const iso__plan_state *state) {
  uint64_t decides[ISO__N_DECIDES];
  decisions(ctx, state, decides);
  return key_from(problem, decides);
}

/* The place of a problem among the recent ones: a hash of its first words would be dearer than what it spares. */
static uint32_t *recent_of(iso__plan_state *state, const iso__problem *problem) {
  uint64_t head, word, mix;
  memcpy(&head, problem, sizeof head);
  mix = head * UINT64_C(0x9e3779b97f4a7c15);
  for (size_t at = sizeof head; at + sizeof word <= problem->n_bytes && at < 48; at += sizeof word) {
    memcpy(&word, (const char *)problem + at, sizeof word);
    mix = (mix ^ word) * UINT64_C(0x9e3779b97f4a7c15);
  }
  return &state->recent[mix >> 58];
}

/* Small operators ask often: the same problem under the same decisions is found by comparing bytes. */
static iso__used *find_recent(iso__plan_state *state, const iso__problem *problem,
                              const uint64_t decides[ISO__N_DECIDES]) {
  const uint32_t index = *recent_of(state, problem);
  if (!index || memcmp(state->decides, decides, sizeof state->decides) != 0) return NULL;
  iso__used *used = &state->used[index - 1];
  const bool same = used->n_problem_bytes == problem->n_bytes && !memcmp(used->block, problem, problem->n_bytes);
  return same ? used : NULL;
}
static void keep_recent(iso__plan_state *state, const iso__problem *problem, const uint64_t decides[ISO__N_DECIDES],
                        const iso__used *used) {
  if (memcmp(state->decides, decides, sizeof state->decides) != 0) {
    memset(state->recent, 0, sizeof state->recent);
    memcpy(state->decides, decides, sizeof state->decides);
  }
  *recent_of(state, problem) = (uint32_t)(used - state->used) + 1;
}

/* ---- the choice ---- */

static void take_timings(iso__candidate *candidates, int n, const iso__record *record, iso__candidate **winner) {
  for (int i = 0, engine = 0; i < n; i++) {
    if (candidates[i].reason) continue;
    candidates[i].timing = record->timing[engine];
    if (engine++ == record->chosen) *winner = &candidates[i];
  }
}

static void keep_record(iso_context *ctx, char head[ISO__RECORD_BYTES], size_t n_head, const iso__candidate *candidates,
                        int n, const iso__candidate *winner, const iso__tuner_load *load) {
  iso__record record = {
      .n_samples = load->n_samples, .n_rejected = load->n_rejected, .load_percent = load->load_percent};
  for (int i = 0; i < n; i++) {
    if (candidates[i].reason) continue;
    if (&candidates[i] == winner) record.chosen = record.n_engines;
    record.timing[record.n_engines++] = candidates[i].timing;
  }
  const size_t n_bytes = iso__record_end(head, n_head, &record);
  iso__store_keep(ctx, &iso__plan_state_of(ctx)->job->store, head, n_bytes, n_head);
}

/* What was measured earlier, or is measured now; else the rule's choice stands. */
static iso_plan_source choose_by_time(iso_context *ctx, const iso__problem *problem, const void *args,
                                      iso__candidate *candidates, int n, int n_allowed, iso__candidate **winner,
                                      bool *loaded) {
  iso__plan_state *state = iso__plan_state_of(ctx);
  char head[ISO__RECORD_BYTES];
  iso__record record;
  iso__tuner_load load;
  *winner = iso__candidates_cheapest(candidates, n);
  if (n_allowed < 2 || (*winner)->cost_ns < ISO__TUNER_SMALLEST_NS) return ISO_PLAN_FROM_RULE;
  /* Distorted times are for this context alone. */
  const bool has_store = state->job->store.id && !state->adversary && !state->ignores_store;
  const size_t n_head = has_store ? iso__record_head(ctx, problem, candidates, n, head) : 0;
  if (has_store && iso__store_find(&state->job->store, head, n_head, n_allowed, &record)) {
    take_timings(candidates, n, &record, winner);
    return ISO_PLAN_FROM_STORE;
  }
  if (iso_policy_current(ctx)->tuning != ISO_TUNING_MEASURE) return ISO_PLAN_FROM_RULE;
  if (ctx->is_capturing) {
    char text[ISO_PLAN_TEXT_BYTES];
    iso__problem_format(problem, text, sizeof text);
    ISO__FAIL(ctx, ISO_STATE, text, "would have to be timed, which a capture cannot: run it once before");
    return ISO_PLAN_FROM_RULE;
  }
  const iso__tuner_result result = iso__tuner_pick(ctx, problem, args, candidates, n, winner, &load);
  if (result == ISO__OUT_OF_BUDGET) state->job->n_out_of_budget++;
  *loaded = result == ISO__TUNED_UNDER_LOAD;
  if (*loaded) state->job->n_loaded++;
  if (result == ISO__TUNED && has_store) keep_record(ctx, head, n_head, candidates, n, *winner, &load);
  return result == ISO__TUNED || result == ISO__TUNED_UNDER_LOAD ? ISO_PLAN_FROM_TUNER : ISO_PLAN_FROM_RULE;
}

bool iso__plan_ignore_store(iso_context *ctx, bool ignore) {
  iso__plan_state *state = iso__plan_state_of(ctx);
  const bool before = state->ignores_store;
  state->ignores_store = ignore;
  return before;
}

static void count(iso__plan_job *job, iso_plan_source source) {
  if (source == ISO_PLAN_FROM_LOCK) job->n_from_lock++;
  else if (source == ISO_PLAN_FROM_STORE) job->n_from_store++;
  else if (source == ISO_PLAN_FROM_RULE) job->n_by_rule++;
}

/* Not found in memory: lockfile, store, then what the policy says. */
static bool choose(iso_context *ctx, const iso__problem *problem, const void *args, iso__candidate *candidates, int n,
                   int n_allowed, iso__plan *plan) {
  iso__candidate *winner = NULL;
  iso_plan_source source = ISO_PLAN_FROM_LOCK;
  bool loaded = false;
  const bool asks_lock = iso__plan_state_of(ctx)->lock || iso_policy_current(ctx)->tuning == ISO_TUNING_REPLAY;
  const iso__pin found = asks_lock ? iso__lock_pick(ctx, problem, candidates, n, &winner) : ISO__NOT_PINNED;
  if (found == ISO__PIN_FAILED) return false;
  if (found == ISO__NOT_PINNED) {
    if (!n_allowed) return fail_without_engine(ctx, problem, candidates, n), false;
    source = choose_by_time(ctx, problem, args, candidates, n, n_allowed, &winner, &loaded);
    if (iso__failed(ctx)) return false;
  }
  if (!iso__heap_is_dry(ctx->heap)) count(iso__plan_state_of(ctx)->job, source);
  *plan = (iso__plan){.engine = winner->engine,
                      .workspace_bytes = winner->workspace_bytes,
                      .cost_ns = winner->cost_ns,
                      .time_ns = winner->timing.ns,
                      .source = (uint8_t)source,
                      .loaded = loaded};
  return true;
}

/* Whether a remembered plan will do: not where a measurement is asked for and it is an estimate or unreliable. */
static bool will_do(const iso__plan_state *state, const iso__plan *plan) {
  return !state->must_measure || (plan->source != ISO_PLAN_FROM_RULE && !plan->loaded);
}

bool iso__plan_get_for(iso_context *ctx, const iso__problem *problem, const void *args, iso__plan *plan) {
  if (iso__failed(ctx)) return false;
  iso__plan_state *state = iso__plan_state_of(ctx);
  uint64_t decides[ISO__N_DECIDES];
  decisions(ctx, state, decides);
  iso__used *used = find_recent(state, problem, decides);
  if (used && will_do(state, &used->plan)) return used->n_uses++, *plan = used->plan, true;
  const iso__hash key = key_from(problem, decides);
  used = iso__used_find(state, key);
  if (used && will_do(state, &used->plan)) {
    keep_recent(state, problem, decides, used);
    return used->n_uses++, *plan = used->plan, true;
  }
  if (iso__cache_find(key, plan) && will_do(state, plan)) {
    iso__used_add(state, key, problem, plan, NULL, 0);
    return true;
  }
  iso__candidate candidates[ISO__MAX_CANDIDATES];
  int n_allowed, n = iso__candidates_judge(ctx, problem, candidates, &n_allowed);
  if (!choose(ctx, problem, args, candidates, n, n_allowed, plan)) return false;
  if (iso__heap_is_dry(ctx->heap)) return true; /* what would be measured was not */
  iso__cache_keep(key, plan);
  iso__used_add(state, key, problem, plan, candidates, n);
  return true;
}

bool iso__plan_get(iso_context *ctx, const iso__problem *problem, iso__plan *plan) {
  return iso__plan_get_for(ctx, problem, NULL, plan);
}

/* ---- the candidates with their verdicts ---- */

/* The timings that this context knows, else those of the store; else the winner's alone. */
static void recall_timings(iso_context *ctx, const iso__problem *problem, iso__candidate *candidates, int n,
                           int n_allowed, const iso__plan *plan) {
  const iso__plan_state *state = iso__plan_state_of(ctx);
  const iso__used *used = iso__used_find(state, key_of(ctx, problem, state));
  const iso__timing *timing = used ? iso__used_timings(used) : NULL;
  for (int i = 0; timing && i < n && i < used->n_timings; i++) candidates[i].timing = timing[i];
  if (timing || plan->time_ns <= 0) return;
  char head[ISO__RECORD_BYTES];
  iso__record record;
  iso__candidate *winner;
  const size_t n_head = iso__record_head(ctx, problem, candidates, n, head);
  if (iso__store_find(&state->job->store, head, n_head, n_allowed, &record))
    take_timings(candidates, n, &record, &winner);
  for (int i = 0; i < n; i++)
    if (candidates[i].engine == plan->engine) candidates[i].timing.ns = plan->time_ns;
}

int iso__plan_candidates(iso_context *ctx, const iso__problem *problem,
                         iso__candidate candidates[ISO__MAX_CANDIDATES]) {
  int n_allowed;
  const int n = iso__candidates_judge(ctx, problem, candidates, &n_allowed);
  iso__plan plan;
  if ((!n_allowed && !iso__plan_state_of(ctx)->lock) || !iso__plan_get(ctx, problem, &plan)) return n;
  recall_timings(ctx, problem, candidates, n, n_allowed, &plan);
  for (int i = 0; i < n; i++) {
    iso__candidate *c = &candidates[i];
    c->chosen = c->engine == plan.engine;
    if (c->chosen) {
      c->verdict = ISO_VERDICT_CHOSEN, c->reason = NULL;
      c->workspace_bytes = plan.workspace_bytes, c->cost_ns = plan.cost_ns; /* a pinned one of another class */
    } else if (!c->reason)
      c->verdict = plan.source == ISO_PLAN_FROM_LOCK ? ISO_VERDICT_NOT_PINNED
                   : c->timing.n_samples             ? ISO_VERDICT_SLOWER
                                                     : ISO_VERDICT_ESTIMATED_SLOWER;
  }
  return n;
}
