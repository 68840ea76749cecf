/* diff.c: `isobit diff RUN_A RUN_B`: the first step, layer, operator and direction at which two runs differ, and why.
 */
#include <stdlib.h>
#include <string.h>
#include "diff.h"

static struct {
  const char *module, *html, *json;
  bool replay;
} diff_run_options;
static const option diff_options[] = {
    {"--module", OPTION_TEXT, &diff_run_options.module, "NAME",
     "only of this module and what is in it: encoder.layer.0", 0},
    {"--replay", OPTION_FLAG, &diff_run_options.replay, NULL,
     "repeat both runs up to the operator that differs: which element, both values, ulps", 0},
    {"--html", OPTION_TEXT, &diff_run_options.html, "FILE", "write a page", 0},
    {"--json", OPTION_TEXT, &diff_run_options.json, "FILE", "write the finding as JSON", 0},
    {0}};
static const command diff_command = {
    .usage = "isobit diff RUN_A RUN_B [options]",
    .about = "Finds the first difference of two training jobs (folders of --record, --json files, or hash logs): step, "
             "module,\n"
             "operator and direction, where both have operators' hashes (--hash-detail operators), else tensor; what "
             "differs in\n"
             "manifests, policies and plans; and the likely cause.",
    .options = (const option *const[]){diff_options, NULL},
    .notes =
        "exit codes: 0 the same, 1 something differs (or could not be compared: says what), 2 wrong usage\n"
        "example: isobit train vision --steps 5 --record a --hash-detail operators && isobit train vision --steps 5 "
        "--record b\n"
        "         --hash-detail operators --policy fast && isobit diff a b --replay"};

/* ---- words ---- */

static const char *direction(const diff_found *f) {
  switch (f->kind) {
  case DIFF_RUN:
  case DIFF_SEQUENCE: return *f->line[0].phase ? f->line[0].phase : f->line[1].phase;
  case DIFF_LOSS: return "forward";
  case DIFF_GRADIENT: return "backward";
  case DIFF_WEIGHTS: return "update";
  case DIFF_BATCH: return "data";
  default: return "";
  }
}

const char *diff_headline(const diff_report *r, char *text, size_t n_bytes) {
  const diff_found *f = &r->found;
  const unsigned long long step = f->step;
  const diff_line *l = *f->line[0].line.name ? &f->line[0] : &f->line[1];
  const char *module = *l->module ? l->module : "no module";
  const int op = (int)strcspn(l->problem, " ");
  switch (f->kind) {
  case DIFF_NONE: snprintf(text, n_bytes, "the same: %llu steps", (unsigned long long)f->n_steps); break;
  case DIFF_START: snprintf(text, n_bytes, "the weights before step 0 differ"); break;
  case DIFF_BATCH: snprintf(text, n_bytes, "step %llu: the batch differs", step); break;
  case DIFF_SEQUENCE:
    snprintf(text, n_bytes, "step %llu, %s: run %d of the step computes something else", step, direction(f), f->index);
    break;
  case DIFF_RUN:
    snprintf(text, n_bytes, "step %llu, %s, %s: %.*s differs", step, direction(f), module, op, l->problem);
    break;
  case DIFF_LOSS: snprintf(text, n_bytes, "step %llu, forward: the loss differs", step); break;
  case DIFF_GRADIENT:
    snprintf(text, n_bytes, "step %llu, backward: the gradient of %s differs", step, l->line.name);
    break;
  case DIFF_WEIGHTS: snprintf(text, n_bytes, "step %llu, update: the weights of %s differ", step, l->line.name); break;
  case DIFF_LENGTH:
    snprintf(text, n_bytes, "%s ends before step %llu; the %llu steps before are the same", f->ended[0] ? "A" : "B",
             step, (unsigned long long)f->n_steps);
    break;
  case DIFF_NO_MODULE: snprintf(text, n_bytes, "%s", f->damaged); break;
  case DIFF_DAMAGED: snprintf(text, n_bytes, "the logs cannot be compared: %s", f->damaged); break;
  }
  return text;
}

static void print_run(const diff_report *r) {
  const diff_found *f = &r->found;
  if (f->kind != DIFF_RUN && f->kind != DIFF_SEQUENCE) return;
  if (f->kind == DIFF_SEQUENCE) {
    for (int i = 0; i < 2; i++)
      printf("%c                %s\n", 'A' + i,
             *f->line[i].problem     ? f->line[i].problem
             : *f->line[i].line.name ? f->line[i].line.name
                                     : "nothing more");
    return;
  }
  printf("problem          %s\n", f->line[0].problem);
  for (int i = 0; i < 2; i++)
    printf("%c                %s  results %s\n", 'A' + i, f->line[i].engine, f->line[i].line.gradient);
  printf("before it        %llu runs of the step gave the same bits\n", (unsigned long long)f->n_same);
  if (!f->replayed) return;
  printf("elements         %lld of %lld of %s (%s) differ\n", (long long)f->n_differing, (long long)f->n_elements,
         f->output, f->dtype);
  printf("first            element %lld: A %s, B %s: %llu ulp\n", (long long)f->first, f->value[0], f->value[1],
         (unsigned long long)f->ulp);
  printf("largest          element %lld: A %s, B %s: %llu ulp\n", (long long)f->worst, f->worst_value[0],
         f->worst_value[1], (unsigned long long)f->worst_ulp);
}

/* In full those that can matter: of another class. */
static void print_plans(const diff_report *r) {
  size_t i, n_class = 0;
  json_t *plan;
  json_array_foreach(r->plans, i, plan) n_class += json_is_true(json_object_get(plan, "other_class"));
  if (!json_array_size(r->plans)) return;
  printf("plans            %zu lines differ, %zu of them in class\n", json_array_size(r->plans), n_class);
  json_array_foreach(r->plans, i, plan) {
    const char *a = json_string_value(json_object_get(plan, "a")), *b = json_string_value(json_object_get(plan, "b"));
    if (json_is_true(json_object_get(plan, "other_class")) && a && b)
      printf("  %s: A %s, B %s\n", json_string_value(json_object_get(plan, "problem")), a, b);
  }
}

void diff_print(const diff_report *r) {
  char text[512];
  const diff_found *f = &r->found;
  printf("%s\n", diff_headline(r, text, sizeof text));
  print_run(r);
  if (f->kind == DIFF_GRADIENT || f->kind == DIFF_WEIGHTS || f->kind == DIFF_LOSS || f->kind == DIFF_BATCH ||
      f->kind == DIFF_START)
    for (int i = 0; i < 2; i++)
      printf("%c                %s %s\n", 'A' + i, f->line[i].line.gradient, f->line[i].line.weight);
  for (int i = 0; i < r->n_facts; i++)
    printf("%-16s A %s  B %s\n", r->facts[i].what, r->facts[i].value[0], r->facts[i].value[1]);
  print_plans(r);
  if (f->n_other_sequences)
    printf("other kernels    %llu steps were computed by another sequence of kernels, with the same bits\n",
           (unsigned long long)f->n_other_sequences);
  if (f->n_other_engines)
    printf("other engines    %llu runs before it were computed by other engines, with the same bits\n",
           (unsigned long long)f->n_other_engines);
  if (f->kind != DIFF_NONE && f->kind != DIFF_NO_MODULE) printf("likely cause     %s\n", r->cause);
}

/* ---- JSON ---- */

static const char *const kind_words[] = {"same",     "start",   "batch",  "sequence", "operator", "loss",
                                         "gradient", "weights", "length", "damaged",  "no-module"};

json_t *diff_json(const diff_report *r) {
  const diff_found *f = &r->found;
  char text[512];
  json_t *root =
      json_pack("{s:s, s:s, s:I, s:I, s:s, s:s, s:s}", "kind", kind_words[f->kind], "headline",
                diff_headline(r, text, sizeof text), "step", (json_int_t)f->step, "steps_the_same",
                (json_int_t)f->n_steps, "direction", direction(f), "cause", r->cause, "tensor", f->line[0].line.name);
  for (int i = 0; i < 2; i++)
    json_object_set_new(root, i ? "b" : "a",
                        json_pack("{s:s, s:s, s:s, s:s, s:s}", "run", r->run[i]->name, "module", f->line[i].module,
                                  "problem", f->line[i].problem, "engine", f->line[i].engine, "hash",
                                  f->line[i].line.gradient));
  json_t *facts = json_array();
  for (int i = 0; i < r->n_facts; i++)
    json_array_append_new(facts, json_pack("{s:s, s:s, s:s}", "what", r->facts[i].what, "a", r->facts[i].value[0], "b",
                                           r->facts[i].value[1]));
  json_object_set_new(root, "facts", facts);
  json_object_set(root, "plans", r->plans);
  if (f->replayed)
    json_object_set_new(root, "elements",
                        json_pack("{s:s, s:s, s:I, s:I, s:I, s:s, s:s, s:I, s:I, s:I}", "output", f->output, "dtype",
                                  f->dtype, "n", (json_int_t)f->n_elements, "differing", (json_int_t)f->n_differing,
                                  "first", (json_int_t)f->first, "a", f->value[0], "b", f->value[1], "ulp",
                                  (json_int_t)f->ulp, "worst", (json_int_t)f->worst, "worst_ulp",
                                  (json_int_t)f->worst_ulp));
  return root;
}

/* ---- the command ---- */

static int compare(diff_run run[2]) {
  static diff_report report;
  static const char *const none[2] = {NULL, NULL};
  report.run[0] = &run[0], report.run[1] = &run[1];
  diff_logs(run, diff_run_options.module, &report.found);
  diff_explain(&report);
  int code = report.found.kind == DIFF_NONE ? EXIT_OK : EXIT_FAILED;
  if (diff_run_options.replay && report.found.kind == DIFF_RUN && !diff_replay(&report, none)) code = EXIT_FAILED;
  diff_print(&report);
  if (diff_run_options.html && diff_write_page(&report, diff_run_options.html)) code = EXIT_FAILED;
  if (diff_run_options.json && job_write_json(diff_run_options.json, diff_json(&report))) code = EXIT_FAILED;
  json_decref(report.plans);
  return code;
}

int command_diff(int argc, char **argv) {
  static diff_run run[2];
  const int n = problems_count_words(argc, argv);
  int code = options_read(&diff_command, argc - n, argv + n);
  if (code >= 0) return code;
  if (n != 2) return fprintf(stderr, "isobit: diff needs two runs\nusage: %s\n", diff_command.usage), EXIT_USAGE;
  if ((code = output_check("--html", diff_run_options.html)) >= 0 ||
      (code = output_check("--json", diff_run_options.json)) >= 0)
    return code;
  code = diff_run_open(&run[0], argv[0]) && diff_run_open(&run[1], argv[1]) ? compare(run) : EXIT_FAILED;
  diff_run_close(&run[0]), diff_run_close(&run[1]);
  return code;
}
