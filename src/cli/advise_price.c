/* advise_price.c: for the problems that take most of a step: what the promise costs (the fastest engine under repro=off
 * against the fastest that the policy allows), and what the workspace cap costs. Measured here, now: the trace may be
 * from another machine. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "advise.h"

enum { MOST_PROBLEMS = 8 };

typedef struct timing {
  const char *engine;
  char reason[320];
  iso_verdict verdict;
  bool allowed;
  double ms;
} timing;

/* The engines that this machine can run, timed in turns. */
static int time_engines(iso_context *ctx, const char *problem, double budget_ms, timing *out) {
  static iso_plan_candidate c[ISO_MAX_PLAN_CANDIDATES];
  const int n = iso_plan_query(ctx, problem, c);
  iso_bench *bench = n ? iso_bench_new(ctx, problem) : NULL;
  int n_out = 0;
  for (int i = 0; i < n && bench; i++) {
    const bool allowed = c[i].chosen || !*c[i].reason || c[i].verdict == ISO_VERDICT_SLOWER ||
                         c[i].verdict == ISO_VERDICT_ESTIMATED_SLOWER;
    const bool barred =
        c[i].verdict == ISO_VERDICT_LEVEL || c[i].verdict == ISO_VERDICT_CLASS || c[i].verdict == ISO_VERDICT_WORKSPACE;
    if (!(allowed || barred) || strstr(c[i].engine, "reference")) continue;
    out[n_out] = (timing){.engine = c[i].engine, .verdict = c[i].verdict, .allowed = allowed, .ms = INFINITY};
    snprintf(out[n_out++].reason, sizeof out->reason, "%s", c[i].reason);
  }
  for (int round = 0; round < 3; round++)
    for (int i = 0; i < n_out; i++) {
      iso_bench_result result;
      if (iso_bench_slice(bench, out[i].engine, budget_ms / 3 / n_out, &result)) iso_clear_error(ctx);
      else out[i].ms = fmin(out[i].ms, result.median_ms);
    }
  iso_bench_free(bench);
  iso_clear_error(ctx);
  return n_out;
}

static const timing *fastest(const timing *t, int n, bool (*takes)(const timing *)) {
  const timing *best = NULL;
  for (int i = 0; i < n; i++)
    if (takes(&t[i]) && (!best || t[i].ms < best->ms)) best = &t[i];
  return best && isfinite(best->ms) ? best : NULL;
}
static bool is_allowed(const timing *t) { return t->allowed; }
static bool is_any(const timing *t) { return t->verdict != ISO_VERDICT_WORKSPACE; }
static bool is_capped(const timing *t) { return t->verdict == ISO_VERDICT_WORKSPACE; }

static double price_one(iso_context *ctx, const advised_run *r, const advised_problem *p, double budget_ms, findings *f,
                        json_t *prices) {
  static timing t[ISO_MAX_PLAN_CANDIDATES];
  const int n = time_engines(ctx, p->problem, budget_ms, t);
  const timing *same = fastest(t, n, is_allowed), *off = fastest(t, n, is_any), *capped = fastest(t, n, is_capped);
  const double share = r->runs_ms > 0 ? p->ms / r->n_steps / r->runs_ms : 0;
  if (!same || !off) return 0;
  const double price = 1 - fmin(1, off->ms / same->ms);
  json_array_append_new(prices, json_pack("{s:s, s:f, s:s, s:f, s:s, s:f, s:f}", "problem", p->problem, "share", share,
                                          "engine", same->engine, "ms", same->ms, "fastest_without_promise",
                                          off->engine, "off_ms", off->ms, "price", price));
  if (capped && capped->ms < 0.95 * same->ms)
    findings_add(f, "workspace", share * (1 - capped->ms / same->ms),
                 "workspace: %s would be %.2f× as fast by %s, but %s", p->problem, same->ms / capped->ms,
                 capped->engine, capped->reason);
  return share * price;
}

void advise_price(iso_context *ctx, const advised_run *r, double budget_ms, findings *f, json_t *prices) {
  double price = 0, seen = 0;
  for (size_t i = 0; i < r->n_problems && i < MOST_PROBLEMS; i++) {
    if (r->problems[i].ms / r->n_steps < 0.02 * r->runs_ms) break;
    price += price_one(ctx, r, &r->problems[i], budget_ms, f, prices);
    seen += r->runs_ms > 0 ? r->problems[i].ms / r->n_steps / r->runs_ms : 0;
  }
  if (r->policy.repro == ISO_REPRO_OFF || !json_array_size(prices)) return;
  findings_add(
      f, "price of determinism", price,
      "price of determinism: %.1f %% of a step, as measured on the %zu problems that are %.0f %% of its work%s",
      100 * price, json_array_size(prices), 100 * seen,
      price < 0.03 ? ": nothing to gain by giving it up" : ": --policy fast would save that, and promise nothing");
}
