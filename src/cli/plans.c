/* plans.c: `isobit plans PROBLEM` and `isobit policy explain NAME`. */
#include <string.h>
#include "cli.h"

static const command plans_command = {
    .usage = "isobit plans \"PROBLEM\" [options]",
    .about = "The algorithms that exist for a problem under a policy, which one is chosen, and why the others are not.",
    .options = (const option *const[]){job_option_list, NULL},
    .notes = "example: isobit plans \"conv2d.fwd f32 n64 c64 h56 w56 k64 r3 s3 p1\" --policy reproducible"};

static json_t *candidate_json(const iso_plan_candidate *c) {
  return json_pack("{s:s, s:i, s:s, s:f, s:I, s:f, s:f, s:b, s:s}", "engine", c->engine, "revision", c->revision,
                   "class", c->class_name, "error_bound", c->error_bound, "workspace_bytes",
                   (json_int_t)c->workspace_bytes, "estimated_ms", c->estimated_ms, "measured_ms", c->measured_ms,
                   "chosen", c->chosen, "reason", c->reason);
}

static int show_plans(iso_context *ctx, const char *problem) {
  iso_plan_candidate candidates[ISO_MAX_PLAN_CANDIDATES];
  const int n = iso_plan_query(ctx, problem, candidates);
  if (iso_error_code(ctx)) return job_failed(ctx);
  json_t *list = json_array();
  printf("%-34s %-12s %12s %12s %12s  %s\n", "engine", "class", "workspace B", "estimate ms", "measured ms", "verdict");
  for (int i = 0; i < n; i++) {
    const iso_plan_candidate *c = &candidates[i];
    char name[96], measured[24] = "-";
    snprintf(name, sizeof name, "%s@%d", c->engine, c->revision);
    if (c->measured_ms > 0) snprintf(measured, sizeof measured, "%.4f", c->measured_ms);
    printf("%-34s %-12s %12zu %12.4f %12s  %s\n", name, c->class_name, c->workspace_bytes, c->estimated_ms, measured,
           c->chosen    ? "chosen"
           : *c->reason ? c->reason
                        : "slower");
    json_array_append_new(list, candidate_json(c));
  }
  if (job.json) return job_write_json(job.json, json_pack("{s:s, s:o}", "problem", problem, "candidates", list));
  json_decref(list);
  return EXIT_OK;
}

int command_plans(int argc, char **argv) {
  iso_policy policy;
  const bool has_problem = argc > 0 && argv[0][0] != '-';
  int code = options_read(&plans_command, argc - has_problem, argv + has_problem);
  if (code >= 0) return code;
  if (!has_problem)
    return fprintf(stderr, "isobit: plans needs a problem\nusage: %s\n", plans_command.usage), EXIT_USAGE;
  if ((code = job_policy(job.policy, &policy)) >= 0 || (code = job_check_json()) >= 0) return code;
  iso_context *ctx = job_context(&policy, job.threads);
  if (!ctx) return EXIT_FAILED;
  code = show_plans(ctx, argv[0]);
  iso_context_free(ctx);
  return code;
}

int command_policy(int argc, char **argv) {
  if (argc == 2 && !strcmp(argv[0], "explain")) {
    const char *text = iso_policy_explain(argv[1]);
    if (!text)
      return fprintf(stderr, "isobit: there is no policy or dial '%s'; isobit policy lists the policies\n", argv[1]),
             EXIT_USAGE;
    return printf("%s\n", text) < 0;
  }
  if (argc > 0 && strcmp(argv[0], "--help") != 0)
    return fprintf(stderr, "isobit: unknown argument '%s'\nusage: isobit policy [explain NAME]\n", argv[0]), EXIT_USAGE;
  printf(
      "usage: isobit policy explain NAME, for a policy or a dial (repro, tuning, accuracy, workspace_limit, ...)\n\n");
  for (const char *const *name = iso_policy_names(); *name; name++) {
    iso_policy policy;
    char text[512];
    iso_policy_preset(*name, &policy);
    iso_policy_format(&policy, text, sizeof text);
    printf("%-13s %s\n", *name, text);
  }
  return EXIT_OK;
}
