/* bench_rule.c: `isobit bench --rule`: how good the cost rule is. Seeded random problems; every engine of the class
 * that the policy chooses is timed, in turns; the engine that the estimates pick is held against the fastest. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "bench_rule.h"
#include "random_problem.h"

/* Medians differ from run to run: a pick that seems wrong is looked at again before it counts. */
enum { TURNS = 3, TURNS_OF_DOUBT = 4, MAX_RULE_GROUPS = 64, N_WORST = 10, MAX_IN_VAIN = 20000 };
static const double near_best = 1.10, never_worse = 2.0, least_share = 0.90, out_of_the_race = 3.0;

typedef struct contestant {
  const iso_plan_candidate *candidate;
  double ms; /* of its best slice: what disturbs only ever adds */
  int n_slices;
} contestant;

typedef struct contest {
  char problem[ISO_PLAN_TEXT_BYTES];
  iso_plan_candidate candidates[ISO_MAX_PLAN_CANDIDATES];
  int n, picked;
  contestant all[ISO_MAX_PLAN_CANDIDATES];
} contest;

/* What is remembered of a problem. */
typedef struct outcome {
  char *problem;
  const char *picked, *best, *class_name;
  double picked_ms, best_ms, ratio;
} outcome;

/* Those of the class that could run; a scalar row is no rival of a vector one. False: fewer than two. */
static bool enlist(iso_context *ctx, contest *c) {
  const int n = iso_plan_query(ctx, c->problem, c->candidates);
  c->n = 0, c->picked = -1;
  for (int i = 0; i < n; i++) {
    const iso_plan_candidate *e = &c->candidates[i];
    if (e->isa == ISO_ISA_SCALAR || !plan_could_run(e)) continue;
    if (e->chosen) c->picked = c->n;
    c->all[c->n++] = (contestant){.candidate = e, .ms = INFINITY};
  }
  return c->n >= 2 && c->picked >= 0;
}

static int best_of(const contest *c) {
  int best = 0;
  for (int i = 1; i < c->n; i++)
    if (c->all[i].ms < c->all[best].ms) best = i;
  return best;
}

static double ratio_of(const contest *c) { return c->all[c->picked].ms / c->all[best_of(c)].ms; }

/* One slice may have been disturbed; two hardly. */
static bool is_out(const contest *c, const contestant *e) {
  return e->n_slices >= 2 && e->ms > out_of_the_race * c->all[best_of(c)].ms && e != &c->all[c->picked];
}

static bool take_turns(contest *c, iso_bench *bench, int n_turns, double slice_ms) {
  for (int turn = 0; turn < n_turns; turn++)
    for (int i = 0; i < c->n; i++) {
      contestant *e = &c->all[turn % 2 ? c->n - 1 - i : i];
      iso_bench_result r;
      if (is_out(c, e)) continue;
      if (iso_bench_slice(bench, e->candidate->engine, slice_ms, &r) != ISO_OK) return false;
      e->ms = fmin(e->ms, r.median_ms);
      e->n_slices++;
    }
  return true;
}

static bool hold(iso_context *ctx, contest *c, double budget_ms) {
  iso_bench *bench = iso_bench_new(ctx, c->problem);
  bool ok = bench && take_turns(c, bench, TURNS, budget_ms / TURNS);
  if (ok && ratio_of(c) > near_best) ok = take_turns(c, bench, TURNS_OF_DOUBT, budget_ms / TURNS);
  iso_bench_free(bench);
  return ok;
}

static json_t *contest_json(const contest *c) {
  json_t *engines = json_array();
  for (int i = 0; i < c->n; i++) {
    const contestant *e = &c->all[i];
    json_array_append_new(engines, json_pack("{s:s, s:f, s:f}", "engine", e->candidate->engine, "ms", e->ms,
                                             "estimated_ms", e->candidate->estimated_ms));
  }
  return json_pack("{s:s, s:s, s:s, s:s, s:f, s:o}", "problem", c->problem, "class",
                   c->all[c->picked].candidate->class_name, "picked", c->all[c->picked].candidate->engine, "best",
                   c->all[best_of(c)].candidate->engine, "ratio", ratio_of(c), "engines", engines);
}

/* ---- the tables ---- */

typedef struct group {
  const char *name;
  int n, n_near;
  double worst;
} group;

static void add_to(group *groups, int *n, const char *name, double ratio) {
  int i = 0;
  while (i < *n && strcmp(groups[i].name, name) != 0) i++;
  if (i == MAX_RULE_GROUPS) return;
  if (i == *n) groups[(*n)++] = (group){.name = name};
  groups[i].n++, groups[i].n_near += ratio <= near_best;
  groups[i].worst = fmax(groups[i].worst, ratio);
}

static int by_name(const void *a, const void *b) { return strcmp(((const group *)a)->name, ((const group *)b)->name); }
static int by_ratio(const void *a, const void *b) {
  const double x = ((const outcome *)a)->ratio, y = ((const outcome *)b)->ratio;
  return (x < y) - (x > y);
}

/* One line each engine that was picked, and one for all of them. */
static json_t *print_groups(const outcome *outcomes, int n) {
  group groups[MAX_RULE_GROUPS + 1];
  int n_groups = 0;
  json_t *list = json_array();
  for (int i = 0; i < n; i++) add_to(groups, &n_groups, outcomes[i].picked, outcomes[i].ratio);
  qsort(groups, (size_t)n_groups, sizeof *groups, by_name);
  group all = {.name = "all"};
  for (int i = 0; i < n_groups; i++)
    all.n += groups[i].n, all.n_near += groups[i].n_near, all.worst = fmax(all.worst, groups[i].worst);
  groups[n_groups++] = all;
  printf("  %-44s %8s %12s %8s\n", "picked by the estimates", "problems", "within 10 %", "worst");
  for (int i = 0; i < n_groups; i++) {
    const group *g = &groups[i];
    printf("  %-44s %8d %10.1f %% %8.3f\n", g->name, g->n, 100.0 * g->n_near / g->n, g->worst);
    json_array_append_new(list, json_pack("{s:s, s:i, s:i, s:f}", "picked", g->name, "problems", g->n,
                                          "within_10_percent", g->n_near, "worst", g->worst));
  }
  return list;
}

static void print_worst(const outcome *outcomes, int n) {
  printf("the worst:\n");
  for (int i = 0; i < n && i < N_WORST; i++)
    printf("  %6.3f  \"%s\"\n          %s %.4f ms, best %s %.4f ms, class %s\n", outcomes[i].ratio, outcomes[i].problem,
           outcomes[i].picked, outcomes[i].picked_ms, outcomes[i].best, outcomes[i].best_ms, outcomes[i].class_name);
}

/* The tables, and the verdict as exit code. Takes `problems`. */
static int conclude(outcome *outcomes, int n, const rule_options *options, const iso_context *ctx, json_t *problems) {
  qsort(outcomes, (size_t)n, sizeof *outcomes, by_ratio);
  json_t *groups = print_groups(outcomes, n);
  print_worst(outcomes, n);
  int n_near = 0;
  for (int i = 0; i < n; i++) n_near += outcomes[i].ratio <= near_best;
  const double share = (double)n_near / n, worst = outcomes[0].ratio;
  const bool holds = share >= least_share && worst <= never_worse;
  printf(
      "%d problems of seed %lld, %d threads, %s: %.1f %% within 10 %% of the best (bar: 90 %%), worst %.3f (bar: 2): "
      "%s\n",
      n, (long long)options->seed, iso_n_threads(ctx), iso_isa_name(iso_context_isa(ctx)), 100 * share, worst,
      holds ? "ok" : "below");
  json_t *result =
      json_pack("{s:I, s:i, s:i, s:s, s:f, s:f, s:b, s:o, s:o}", "seed", (json_int_t)options->seed, "count", n,
                "threads", iso_n_threads(ctx), "isa", iso_isa_name(iso_context_isa(ctx)), "share_within_10_percent",
                share, "worst", worst, "holds", holds, "groups", groups, "problems", problems);
  const int code = holds ? EXIT_OK : EXIT_FAILED;
  if (!job.json) return json_decref(result), code;
  const int written = job_write_json(job.json, result);
  return written ? written : code;
}

/* So many random problems in a row had nothing to compare. */
static int fail_in_vain(const iso_context *ctx, const rule_options *options) {
  fprintf(stderr, "isobit: of %d random problems%s%s none has two vector engines of one class here (%s, %s)\n",
          MAX_IN_VAIN, options->only ? ", of those that begin with " : "", options->only ? options->only : "",
          iso_isa_name(iso_context_isa(ctx)), job.policy ? job.policy : "default");
  return EXIT_FAILED;
}

int bench_rule(iso_context *ctx, const rule_options *options) {
  static contest c;
  outcome *outcomes = calloc((size_t)options->count, sizeof *outcomes);
  progress bar;
  int n = 0, n_in_vain = 0, code = EXIT_OK;
  if (!outcomes)
    return fprintf(stderr, "isobit: no memory for %lld problems\n", (long long)options->count), EXIT_FAILED;
  json_t *problems = json_array();
  iso_store_open(ctx, "none", NULL); /* nobody's measurements stand in for estimates */
  progress_begin(&bar, "rule", (uint64_t)options->count, job.quiet);
  for (uint64_t index = 0; n < options->count && !job_interrupted(); index++) {
    random_problem(RANDOM_LAYER, (uint64_t)options->seed, index, c.problem, sizeof c.problem);
    const bool wanted = !options->only || strncmp(c.problem, options->only, strlen(options->only)) == 0;
    const bool enlisted = wanted && enlist(ctx, &c);
    if (iso_error_code(ctx) || (enlisted && !hold(ctx, &c, options->budget_ms))) {
      code = job_failed(ctx);
      break;
    }
    if (!enlisted && ++n_in_vain < MAX_IN_VAIN) continue;
    if (!enlisted) {
      code = fail_in_vain(ctx, options);
      break;
    }
    n_in_vain = 0;
    const contestant *picked = &c.all[c.picked], *best = &c.all[best_of(&c)];
    outcomes[n++] = (outcome){.problem = strdup(c.problem),
                              .picked = picked->candidate->engine,
                              .best = best->candidate->engine,
                              .class_name = picked->candidate->class_name,
                              .picked_ms = picked->ms,
                              .best_ms = best->ms,
                              .ratio = ratio_of(&c)};
    json_array_append_new(problems, contest_json(&c));
    progress_add(&bar, 1, c.problem);
  }
  progress_end(&bar);
  if (!code && job_interrupted()) code = EXIT_INTERRUPTED;
  if (!code && n) code = conclude(outcomes, n, options, ctx, problems);
  else json_decref(problems);
  for (int i = 0; i < n; i++) free(outcomes[i].problem);
  free(outcomes);
  return code;
}
