/* tune.c: `isobit tune`: measures the problems of a model's step, or those named, and keeps the results. What the store
 * knows already is not measured again, so an interrupted or repeated call goes on where the last one stopped. */
#include <string.h>
#include "cli.h"

static const char *budget, *lock_path;
static const option tune_options[] = {
    {"--budget", OPTION_TEXT, &budget, "TIME", "at most this long: 60s, 5min, 500ms [no bound]", 0},
    {"--write-lock", OPTION_TEXT, &lock_path, "FILE", "write the plans as a lockfile", 0},
    {0}};
static const command tune_command = {
    .usage = "isobit tune [PROBLEM] [options]",
    .about =
        "Measures the algorithms for every problem of a model's training and evaluation (--model), or for the "
        "problems\n"
        "given, and keeps the results in the store. Under reproducible policies this changes speed, never results.",
    .options = (const option *const[]){tune_options, vision_option_list, job_option_list, NULL},
    .notes = "exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted\n"
             "example: isobit tune --model resnet18 --budget 60s --write-lock isobit.lock"};

static json_t *use_json(const iso_plan_use *use) {
  return json_pack("{s:s, s:s, s:i, s:s, s:f, s:f, s:s}", "problem", use->problem, "engine", use->engine, "revision",
                   use->revision, "class", use->class_name, "estimated_ms", use->estimated_ms, "measured_ms",
                   use->measured_ms, "source", iso_plan_source_name(use->source));
}

/* What a loaded machine measured is not kept: it is measured again, up to three times, in the hope of a quieter moment.
 */
static bool tune_one(iso_context *ctx, const char *problem, iso_plan_use *use) {
  for (int tries = 0; tries < 3; tries++) {
    if (iso_plan_tune(ctx, problem, use)) return false;
    if (!use->loaded || job_interrupted()) break;
  }
  return true;
}

static int tune_all(iso_context *ctx, json_t *problems) {
  progress bar;
  size_t i;
  json_t *problem, *tuned = json_array();
  progress_begin(&bar, "tuning", json_array_size(problems), job.quiet);
  iso_plan_forget_used(ctx);
  int n_of[ISO_PLAN_FROM_LOCK + 1] = {0}, n_loaded = 0;
  json_array_foreach(problems, i, problem) {
    iso_plan_use use;
    if (job_interrupted()) break;
    if (!tune_one(ctx, json_string_value(problem), &use)) break;
    json_array_append_new(tuned, use_json(&use));
    n_of[use.source]++, n_loaded += use.loaded;
    progress_add(&bar, 1, use.problem);
  }
  progress_end(&bar);
  if (iso_error_code(ctx)) return json_decref(tuned), job_failed(ctx);
  const iso_tuner_stats s = iso_tuner_get_stats(ctx);
  printf("problems: %zu, of which %d timed (%.1f s; %d on a loaded machine, not kept), %d from the store, %d from the "
         "lockfile, %d by estimate (%llu out of budget)\n",
         json_array_size(tuned), n_of[ISO_PLAN_FROM_TUNER], s.spent_ms / 1000, n_loaded, n_of[ISO_PLAN_FROM_STORE],
         n_of[ISO_PLAN_FROM_LOCK], n_of[ISO_PLAN_FROM_RULE], (unsigned long long)s.n_out_of_budget);
  if (job_interrupted()) return json_decref(tuned), EXIT_INTERRUPTED;
  if (lock_path && iso_lock_write(ctx, lock_path)) return json_decref(tuned), job_failed(ctx);
  if (job.json)
    return job_write_json(job.json, json_pack("{s:i, s:i, s:i, s:f, s:o}", "n_loaded", n_loaded, "n_timed",
                                              n_of[ISO_PLAN_FROM_TUNER], "n_from_store", n_of[ISO_PLAN_FROM_STORE],
                                              "spent_ms", s.spent_ms, "plans", tuned));
  json_decref(tuned);
  return EXIT_OK;
}

static int tune(iso_context *ctx, int n_words, char **words) {
  json_t *problems = n_words ? problems_from_words(n_words, words) : problems_of_model(ctx, true);
  const int code = problems ? tune_all(ctx, problems) : EXIT_FAILED;
  json_decref(problems);
  return code;
}

int command_tune(int argc, char **argv) {
  iso_policy policy;
  char message[256];
  const int n_words = problems_count_words(argc, argv);
  int code = options_read(&tune_command, argc - n_words, argv + n_words);
  if (code >= 0 || (code = job_policy(job.policy, &policy)) >= 0 || (code = job_check_json()) >= 0) return code;
  policy.tuning = ISO_TUNING_MEASURE;
  if (budget && iso_policy_set(&policy, "tuning_budget", budget, message, sizeof message))
    return fprintf(stderr, "isobit: --budget: %s\n", message), EXIT_USAGE;
  job_catch_interrupts();
  iso_context *ctx = job_context(&policy, job.threads);
  if (!ctx) return EXIT_FAILED;
  code = tune(ctx, n_words, argv);
  iso_context_free(ctx);
  return code;
}
