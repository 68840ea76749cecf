/* used.c: the plans that a context has used, in the order of first use: what a lockfile is written from, and the first
 * place where a plan is looked for, since it needs no lock. Open addressing by the plan's key; bounded in number.
 *
 * Like the process-wide cache this is bookkeeping, not part of a computation: it is not of the context's heap, so what
 * a step allocates and leaves does not depend on it, and without memory for it the list is incomplete, which only
 * iso_lock_write minds. */
#include <stdio.h>
#include <stdlib.h>
#include "plan/state.h"

iso__used *iso__used_find(const iso__plan_state *state, iso__hash key) {
  if (!state->n_slots) return NULL;
  for (size_t i = key.low & (state->n_slots - 1); state->slot[i]; i = (i + 1) & (state->n_slots - 1)) {
    iso__used *used = &state->used[state->slot[i] - 1];
    if (used->key.low == key.low && used->key.high == key.high) return used;
  }
  return NULL;
}

static void enter(iso__plan_state *state, size_t index) {
  size_t i = state->used[index].key.low & (state->n_slots - 1);
  while (state->slot[i]) i = (i + 1) & (state->n_slots - 1);
  state->slot[i] = (uint32_t)index + 1;
}

/* Never more than half full. */
static bool grow_slots(iso__plan_state *state) {
  if (2 * (state->n_used + 1) <= state->n_slots) return true;
  const size_t n = state->n_slots ? 2 * state->n_slots : 64;
  uint32_t *slot = calloc(n, sizeof *slot);
  if (!slot) return false;
  free(state->slot);
  state->slot = slot;
  state->n_slots = n;
  for (size_t i = 0; i < state->n_used; i++) enter(state, i);
  return true;
}

static bool grow_used(iso__plan_state *state) {
  if (state->n_used < state->used_capacity) return true;
  const size_t n = state->used_capacity ? 2 * state->used_capacity : 32;
  iso__used *used = realloc(state->used, n * sizeof *used);
  if (!used) return false;
  state->used = used;
  state->used_capacity = n;
  return true;
}

/* Timings start where they are aligned. */
static size_t timings_at(size_t n_problem_bytes) { return (n_problem_bytes + 15) & ~(size_t)15; }
static size_t block_bytes(size_t n_problem_bytes, int n_timings) {
  return timings_at(n_problem_bytes) + (size_t)n_timings * sizeof(iso__timing);
}
const iso__timing *iso__used_timings(const iso__used *used) {
  return used->n_timings ? (const iso__timing *)(used->block + timings_at(used->n_problem_bytes)) : NULL;
}

static bool fill(iso__used *used, const iso__problem *problem, const iso__candidate *candidates, int n) {
  bool has_timings = false;
  for (int i = 0; i < n; i++) has_timings |= candidates[i].timing.n_samples > 0;
  used->n_problem_bytes = problem->n_bytes;
  used->n_timings = has_timings ? n : 0;
  used->block = malloc(block_bytes(problem->n_bytes, used->n_timings));
  if (!used->block) return false;
  memcpy(used->block, problem, problem->n_bytes);
  iso__timing *timing = (iso__timing *)(used->block + timings_at(problem->n_bytes));
  for (int i = 0; i < used->n_timings; i++) timing[i] = candidates[i].timing;
  return true;
}

void iso__used_add(iso__plan_state *state, iso__hash key, const iso__problem *problem, const iso__plan *plan,
                   const iso__candidate *candidates, int n) {
  iso__used next = {.key = key, .plan = *plan, .n_uses = 1}, *same = iso__used_find(state, key);
  const bool has_room = same || (state->n_used < ISO__MAX_USED && grow_slots(state) && grow_used(state));
  if (!has_room || !fill(&next, problem, candidates, n)) {
    state->is_incomplete = true;
    return;
  }
  if (same) {
    free(same->block);
    next.n_uses += same->n_uses;
    *same = next;
  } else {
    state->used[state->n_used] = next;
    enter(state, state->n_used++);
  }
}

/* ---- for users ---- */

size_t iso_plan_n_used(const iso_context *ctx) { return ctx ? iso__plan_state_of(ctx)->n_used : 0; }

void iso__used_format(const iso__used *used, iso_plan_use *out) {
  const iso__plan *plan = &used->plan;
  *out = (iso_plan_use){.engine = plan->engine->name,
                        .revision = plan->engine->revision,
                        .class_name = plan->engine->class_name,
                        .workspace_bytes = plan->workspace_bytes,
                        .estimated_ms = plan->cost_ns / 1e6,
                        .measured_ms = plan->time_ns / 1e6,
                        .source = (iso_plan_source)plan->source,
                        .loaded = plan->loaded,
                        .n_uses = used->n_uses};
  iso__problem_format((const iso__problem *)used->block, out->problem, sizeof out->problem);
}

bool iso_plan_used(const iso_context *ctx, size_t i, iso_plan_use *out) {
  if (i >= iso_plan_n_used(ctx)) return false;
  iso__used_format(&iso__plan_state_of(ctx)->used[i], out);
  return true;
}

void iso_plan_forget_used(iso_context *ctx) {
  if (!ctx) return;
  iso__plan_state *state = iso__plan_state_of(ctx);
  for (size_t i = 0; i < state->n_used; i++) free(state->used[i].block);
  free(state->used);
  free(state->slot);
  state->used = NULL, state->slot = NULL;
  state->n_used = state->used_capacity = state->n_slots = 0;
  memset(state->recent, 0, sizeof state->recent);
  state->is_incomplete = false;
}

/* "1.2MiB": for readers, so one digit behind the point is enough; whatever the locale. */
static void print_bytes(size_t n, char *text, size_t n_bytes) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  size_t rest = 0;
  for (; n >= 1024 && unit < 4; n /= 1024, unit++) rest = n % 1024;
  if (unit) snprintf(text, n_bytes, "%zu.%zu%s", n, rest * 10 / 1024, units[unit]);
  else snprintf(text, n_bytes, "%zuB", n);
}

int iso_plan_use_format(const iso_plan_use *use, char *text, size_t n_bytes) {
  char workspace[32];
  print_bytes(use->workspace_bytes, workspace, sizeof workspace);
  return snprintf(text, n_bytes, "%s -> %s@%d class %s ws %s", use->problem, use->engine, use->revision,
                  use->class_name, workspace);
}
