/* plans.c: `isobit plans`: the candidates of a problem, or of every problem of a model's step. */
#include <string.h>
#include "cli.h"

static bool pareto;
static const option plans_options[] = {{"--pareto", OPTION_FLAG, &pareto, NULL, "only the time x workspace front", 0},
                                       {0}};
static const command plans_command = {
    .usage = "isobit plans [PROBLEM] [options]",
    .about = "The algorithms that exist for a problem, or for each problem of a model's training step (--model), which "
             "one is\n"
             "chosen under a policy, and why the others are not.",
    .options = (const option *const[]){plans_options, vision_option_list, job_option_list, NULL},
    .notes = "example: isobit plans conv2d.fwd n64 c64 h56 w56 k64 r3 s3 p1 --policy reproducible"};

static json_t *candidate_json(const iso_plan_candidate *c) {
  json_t *j = json_pack("{s:s, s:i, s:s, s:s, s:f, s:I}", "engine", c->engine, "revision", c->revision, "class",
                        c->class_name, "level", iso_repro_name(c->level), "error_bound", c->error_bound,
                        "workspace_bytes", (json_int_t)c->workspace_bytes);
  json_object_set_new(j, "accuracy", json_string(iso_accuracy_name(c->accuracy)));
  json_object_set_new(j, "estimated_ms", json_real(c->estimated_ms));
  json_object_set_new(j, "measured_ms", c->measured_ms > 0 ? json_real(c->measured_ms) : json_null());
  json_object_set_new(j, "spread_ms", c->measured_ms > 0 ? json_real(c->spread_ms) : json_null());
  json_object_set_new(j, "verdict", json_string(iso_verdict_word(c->verdict)));
  json_object_set_new(j, "chosen", json_boolean(c->chosen));
  json_object_set_new(j, "reason", json_string(c->reason));
  return j;
}

json_t *plan_candidates_json(iso_context *ctx, const char *problem) {
  iso_plan_candidate candidates[ISO_MAX_PLAN_CANDIDATES];
  const int n = iso_plan_query(ctx, problem, candidates);
  if (iso_error_code(ctx)) return NULL;
  json_t *list = json_array();
  for (int i = 0; i < n; i++) json_array_append_new(list, candidate_json(&candidates[i]));
  return list;
}

static double time_of(const iso_plan_candidate *c) { return c->measured_ms > 0 ? c->measured_ms : c->estimated_ms; }
bool plan_could_run(const iso_plan_candidate *c) { return c->estimated_ms > 0 && (c->chosen || !*c->reason); }

/* No other engine that could run is as fast with as little workspace, and better in one of the two. */
static bool on_front(const iso_plan_candidate *all, int n, int i) {
  if (!plan_could_run(&all[i])) return false;
  for (int j = 0; j < n; j++) {
    const bool faster = time_of(&all[j]) < time_of(&all[i]), smaller = all[j].workspace_bytes < all[i].workspace_bytes;
    const bool no_worse = time_of(&all[j]) <= time_of(&all[i]) && all[j].workspace_bytes <= all[i].workspace_bytes;
    if (j != i && plan_could_run(&all[j]) && no_worse && (faster || smaller)) return false;
  }
  return true;
}

static void print_candidate(const iso_plan_candidate *c) {
  char name[96], estimated[24] = "-", measured[24] = "-";
  snprintf(name, sizeof name, "%s@%d", c->engine, c->revision);
  if (c->estimated_ms > 0) snprintf(estimated, sizeof estimated, "%.4f", c->estimated_ms);
  if (c->measured_ms > 0) snprintf(measured, sizeof measured, "%.4f", c->measured_ms);
  printf("  %-36s %-14s %-8s %-8.2g %12zu %12s %12s  %s\n", name, c->class_name, iso_accuracy_name(c->accuracy),
         c->error_bound, c->workspace_bytes, estimated, measured,
         *c->reason ? c->reason : iso_verdict_word(c->verdict));
}

/* ---- the classes: which one, and why not the others ---- */

typedef struct class_line {
  const iso_plan_candidate *of; /* its bound and accuracy */
  iso_verdict verdict;
  bool chosen;
} class_line;

/* The classes that have an engine for the problem here; returns how many. */
static int collect_classes(const iso_plan_candidate *all, int n, class_line *classes) {
  int n_classes = 0;
  for (int i = 0; i < n; i++) {
    const iso_verdict v = all[i].verdict;
    int c = 0;
    if (v == ISO_VERDICT_ISA || v == ISO_VERDICT_DTYPE || v == ISO_VERDICT_NOT_APPLICABLE || v == ISO_VERDICT_VENDOR)
      continue;
    while (c < n_classes && strcmp(classes[c].of->class_name, all[i].class_name) != 0) c++;
    if (c == n_classes) classes[n_classes++] = (class_line){.of = &all[i], .verdict = v};
    classes[c].chosen |= all[i].chosen;
  }
  return n_classes;
}

static const char *why(const class_line *c, const iso_policy *policy) {
  if (c->chosen) return "chosen";
  if (c->verdict == ISO_VERDICT_ACCURACY) return "less accurate than the policy accepts";
  if (c->verdict == ISO_VERDICT_LEVEL) return "keeps no promise as high as the policy asks for";
  if (c->verdict == ISO_VERDICT_CLASS) return "could run; the class rule chose another";
  return policy->repro >= ISO_REPRO_INVARIANT ? "not chosen" : "could run";
}

/* A line for each class, where there is a choice between classes. */
static json_t *show_classes(const iso_plan_candidate *all, int n, const iso_policy *policy) {
  class_line classes[ISO_MAX_PLAN_CANDIDATES];
  json_t *list = json_array();
  const int n_classes = collect_classes(all, n, classes);
  if (n_classes > 1)
    printf("  classes under repro=%s accuracy=%s rule=%d:\n", iso_repro_name(policy->repro),
           iso_accuracy_name(policy->accuracy), policy->rule);
  for (int i = 0; i < n_classes; i++) {
    const class_line *c = &classes[i];
    if (n_classes > 1)
      printf("    %-14s %-8s error within %-8.2g %s\n", c->of->class_name, iso_accuracy_name(c->of->accuracy),
             c->of->error_bound, why(c, policy));
    json_array_append_new(list, json_pack("{s:s, s:s, s:f, s:b, s:s}", "class", c->of->class_name, "accuracy",
                                          iso_accuracy_name(c->of->accuracy), "error_bound", c->of->error_bound,
                                          "chosen", c->chosen, "why", why(c, policy)));
  }
  return list;
}

static int show_problem(iso_context *ctx, const char *problem, json_t *all) {
  iso_plan_candidate candidates[ISO_MAX_PLAN_CANDIDATES];
  const int n = iso_plan_query(ctx, problem, candidates);
  if (iso_error_code(ctx)) return job_failed(ctx);
  json_t *list = json_array();
  printf("%s\n", problem);
  for (int i = 0; i < n; i++) {
    if (pareto && !on_front(candidates, n, i)) continue;
    print_candidate(&candidates[i]);
    json_array_append_new(list, candidate_json(&candidates[i]));
  }
  json_t *classes = show_classes(candidates, n, iso_policy_current(ctx));
  json_array_append_new(all, json_pack("{s:s, s:o, s:o}", "problem", problem, "candidates", list, "classes", classes));
  return EXIT_OK;
}

static int show_all(iso_context *ctx, json_t *problems) {
  size_t i;
  int code = EXIT_OK;
  json_t *problem, *all = json_array();
  printf("  %-36s %-14s %-8s %-8s %12s %12s %12s  %s\n", "engine", "class", "accuracy", "error", "workspace B",
         "estimate ms", "measured ms", "verdict");
  json_array_foreach(problems, i, problem) if (!code) code = show_problem(ctx, json_string_value(problem), all);
  if (!code && job.json) return job_write_json(job.json, json_pack("{s:o}", "problems", all));
  json_decref(all);
  return code;
}

int command_plans(int argc, char **argv) {
  iso_policy policy;
  const int n_words = problems_count_words(argc, argv);
  int code = options_read(&plans_command, argc - n_words, argv + n_words);
  if (code >= 0) return code;
  if (!n_words && !vision.model)
    return fprintf(stderr, "isobit: plans needs a problem or --model\nusage: %s\n", plans_command.usage), EXIT_USAGE;
  if ((code = job_policy(job.policy, &policy)) >= 0 || (code = job_check_json()) >= 0) return code;
  iso_context *ctx = job_context(&policy, job.threads);
  if (!ctx) return EXIT_FAILED;
  json_t *problems = n_words ? problems_from_words(n_words, argv) : problems_of_model(ctx, false);
  code = problems ? show_all(ctx, problems) : EXIT_FAILED;
  json_decref(problems);
  iso_context_free(ctx);
  return code;
}
