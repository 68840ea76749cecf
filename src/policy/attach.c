/* attach.c: the policy of a context now, and the ones that it comes back to. */
#include "policy/policy.h"

typedef struct policy_state {
  iso_policy now;
  iso_policy *outer; /* pushed away, outermost first */
  size_t n_outer, capacity;
} policy_state;

static policy_state *state_of(const iso_context *ctx) { return ctx->slot[ISO__SLOT_POLICY]; }

static void state_free(iso_context *ctx, void *slot) {
  policy_state *state = slot;
  iso__free(ctx, state->outer, state->capacity * sizeof *state->outer);
  iso__free(ctx, state, sizeof *state);
}

static void make_current(iso_context *ctx, const iso_policy *policy) {
  policy_state *state = state_of(ctx);
  if (policy->memory_limit != state->now.memory_limit) iso__heap_set_limit(ctx->heap, policy->memory_limit);
  state->now = *policy;
}

static bool check(iso_context *ctx, const char *op, const iso_policy *policy) {
  char message[200];
  iso_status status = policy ? iso__policy_check(policy, message, sizeof message) : ISO_INVALID_ARGUMENT;
  if (status != ISO_OK) ISO__FAIL(ctx, status, op, "%s", policy ? message : "there is no policy");
  return status == ISO_OK;
}

iso_status iso__policy_attach(iso_context *ctx, const iso_policy *policy) {
  static const char op[] = "iso__policy_attach";
  if (iso__failed(ctx) || !check(ctx, op, policy)) return iso_error_code(ctx);
  if (state_of(ctx)) return ISO__FAIL(ctx, ISO_STATE, op, "the context has a policy already");
  policy_state *state = iso__zalloc(ctx, sizeof *state);
  if (!state) return iso_error_code(ctx);
  ctx->slot[ISO__SLOT_POLICY] = state;
  ctx->slot_free[ISO__SLOT_POLICY] = state_free;
  make_current(ctx, policy);
  return ISO_OK;
}

const iso_policy *iso_policy_current(const iso_context *ctx) {
  static const iso_policy preset_default = {.repro = ISO_REPRO_INVARIANT,
                                            .tuning = ISO_TUNING_MEASURE,
                                            .accuracy = ISO_ACCURACY_STANDARD,
                                            .rule = 2,
                                            .leaves = 1,
                                            .workspace_limit = SIZE_MAX,
                                            .tuning_budget_ms = ISO__TUNING_BUDGET_MS,
                                            .problem_budget_ms = ISO__PROBLEM_BUDGET_MS};
  policy_state *state = ctx ? state_of(ctx) : NULL;
  return state ? &state->now : &preset_default;
}

iso_status iso_policy_push(iso_context *ctx, const iso_policy *policy) {
  if (iso__failed(ctx) || !check(ctx, __func__, policy)) return iso_error_code(ctx);
  policy_state *state = state_of(ctx);
  if (!state) return ISO__FAIL(ctx, ISO_STATE, __func__, "the context has no policy to come back to");
  iso_policy next = *policy; /* it may be the current one's address */
  void *outer = state->outer;
  if (!iso__grow(ctx, &outer, &state->capacity, state->n_outer + 1, sizeof *state->outer)) return iso_error_code(ctx);
  state->outer = outer;
  state->outer[state->n_outer++] = state->now;
  make_current(ctx, &next);
  return ISO_OK;
}

/* Works in a failed context too: pushes and pops must pair. */
iso_status iso_policy_pop(iso_context *ctx) {
  if (!ctx) return ISO_INVALID_ARGUMENT;
  policy_state *state = state_of(ctx);
  if (!state || state->n_outer == 0)
    return ISO__FAIL(ctx, ISO_STATE, __func__, "there is no policy to come back to: more pops than pushes");
  make_current(ctx, &state->outer[--state->n_outer]);
  return ISO_OK;
}
