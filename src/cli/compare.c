/* compare.c: `isobit compare KIND`: iso_compare with the training job as its model. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "compare.h"

static const char *report;
static int64_t n_steps = 200, plain_steps = 2, eval_limit;
static const char *policies;
static const option compare_options[] = {
    {"--policies", OPTION_TEXT, &policies, "A,B,...",
     "which to compare [plain,fast,balanced,reproducible,default; with --device without plain]", 0},
    {"--steps", OPTION_COUNT, &n_steps, "N", "optimiser steps of each run [200]", 2},
    {"--plain-steps", OPTION_COUNT, &plain_steps, "N", "steps of the policy 'plain', whose references are slow [2]", 2},
    {"--eval-limit", OPTION_COUNT, &eval_limit, "N", "test samples for the accuracy [all]", 1},
    {"--report", OPTION_TEXT, &report, "FILE", "write a page for a browser: verdict, table, curves, plans", 0},
    {0}};
static const char about[] =
    "Fast or reproducible: what does each cost, on this model and this machine? Trains one model under several "
    "policies,\n"
    "each twice in fresh processes with different thread counts, all taking turns in short slices, and shows time, "
    "memory,\n"
    "loss, accuracy and whether the two runs gave the same bits.";

static int read_options(int argc, char **argv) {
  char usage[64], notes[400];
  snprintf(usage, sizeof usage, "isobit compare %s [options]", job_kind->name);
  snprintf(notes, sizeof notes,
           "exit codes: 0 done, 1 failed (also: a policy that promises the same bits did not give them), 2 wrong "
           "usage, 130 interrupted\nexample: isobit compare %s %s",
           job_kind->name, job_kind->compare_example);
  return options_read(
      &(command){.usage = usage,
                 .about = about,
                 .options = (const option *const[]){compare_options, job_kind->options, job_option_list, NULL},
                 .notes = notes},
      argc, argv);
}

/* ---- a run, in its own process ---- */
typedef struct run_state {
  iso_context *ctx;
  iso_trainer *trainer;
} run_state;

static void *make(void *user, iso_context *ctx) {
  static run_state state; /* one a process */
  (void)user;
  state = (run_state){.ctx = ctx, .trainer = job_prepare(ctx) ? NULL : job_trainer(ctx)};
  return state.trainer ? &state : NULL;
}

static iso_status step(void *state, double *loss) {
  iso_step_info info = {0};
  const iso_status status = iso_trainer_step(((run_state *)state)->trainer, &info);
  *loss = info.loss;
  return status;
}

static const iso_named_tensor *tensors(void *state, size_t *n) {
  return iso_module_tensors(iso_trainer_model(((run_state *)state)->trainer), n);
}

/* The plans of the steps, by problem, each with its candidates. */
static json_t *plans(iso_context *ctx) {
  json_t *all = json_object();
  iso_plan_use use;
  for (size_t i = 0; iso_plan_used(ctx, i, &use); i++) {
    json_t *candidates = plan_candidates_json(ctx, use.problem);
    if (!candidates) break;
    json_object_set_new(all, use.problem,
                        json_pack("{s:s, s:s, s:I, s:f, s:o}", "engine", use.engine, "source",
                                  iso_plan_source_name(use.source), "uses", (json_int_t)use.n_uses, "measured_ms",
                                  use.measured_ms, "candidates", candidates));
  }
  return all;
}

/* What a run tells at its end. The second run's accuracy would be the first's again. */
static char *finish(void *state, int run) {
  const run_state *s = state;
  iso_evaluation e;
  json_t *told = json_object();
  json_object_set_new(told, "manifest", job_manifest(s->ctx, s->trainer));
  if (run == 0) {
    if (report) json_object_set_new(told, "plans", plans(s->ctx));
    if (iso_trainer_evaluate(s->trainer, eval_limit, &e)) return json_decref(told), NULL;
    json_object_set_new(told, "accuracy", json_real(e.accuracy));
    json_object_set_new(told, "test_loss", json_real(e.loss));
  }
  char *text = json_dumps(told, JSON_COMPACT | JSON_REAL_PRECISION(17));
  json_decref(told);
  return text;
}

static void release(void *state) { iso_trainer_free(((run_state *)state)->trainer); }

static const iso_compare_model job_model = {
    .make = make, .step = step, .tensors = tensors, .finish = finish, .free = release};

/* ---- the comparison ---- */
typedef struct rows {
  int n;
  iso_compare_policy row[ISO_MAX_COMPARE_POLICIES];
  iso_policy policy[ISO_MAX_COMPARE_POLICIES];
} rows;

static int add_row(rows *r, const char *name) {
  if (r->n == ISO_MAX_COMPARE_POLICIES)
    return fprintf(stderr, "isobit: --policies names more than %d\n", ISO_MAX_COMPARE_POLICIES), EXIT_USAGE;
  const int code = job_policy(name, &r->policy[r->n]);
  if (code >= 0) return code;
  for (int i = 0; i < r->n; i++)
    if (!strcmp(r->row[i].name, name))
      return fprintf(stderr, "isobit: --policies names '%s' twice\n", name), EXIT_USAGE;
  r->row[r->n] = (iso_compare_policy){
      .name = name, .policy = &r->policy[r->n], .n_steps = strcmp(name, "plain") != 0 ? 0 : (uint64_t)plain_steps};
  r->n++;
  return -1;
}

/* Class references, which `plain` is made of, run on the CPU. Whether "auto" means a device is not known here: opening
 * one would leave the runs, which are forked, without it. */
static const char *usual_policies(void) {
  const char *device = job.device ? job.device : getenv("ISOBIT_DEVICE");
  const bool on_cpu = !device || !*device || !strcmp(device, "cpu");
  return on_cpu ? "plain,fast,balanced,reproducible,default" : "fast,balanced,reproducible,default";
}

static int name_rows(rows *r) {
  static char copy[512];
  if (!policies) policies = usual_policies();
  if (strlen(policies) >= sizeof copy) return fprintf(stderr, "isobit: --policies is too long\n"), EXIT_USAGE;
  strcpy(copy, policies);
  for (char *save, *word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
    const int code = add_row(r, word);
    if (code >= 0) return code;
  }
  return r->n ? -1 : (fprintf(stderr, "isobit: --policies is empty\n"), EXIT_USAGE);
}

static bool show_progress(void *user, const iso_compare_progress *made) {
  char note[96];
  snprintf(note, sizeof note, "%s, %d thread%s: loss %.4f", made->policy, made->n_threads,
           made->n_threads == 1 ? "" : "s", made->loss);
  progress_add(user, made->n_steps, note);
  return !job_interrupted();
}

static void read_told(compare_result *r) {
  for (int i = 0; i < 2 * r->c->n_rows; i++)
    r->told[i / 2][i % 2] = json_loads(r->c->row[i / 2].run[i % 2].text, 0, NULL);
}

static int show(const iso_comparison *c) {
  compare_result r = {.c = c, .batch_size = job_kind->batch_size()};
  bool promises_kept = true;
  read_told(&r);
  compare_print(&r);
  int code = job.json ? job_write_json(job.json, compare_json(&r)) : EXIT_OK;
  if (!code && report) code = report_write(&r, report);
  for (int p = 0; p < c->n_rows; p++) {
    promises_kept &= c->row[p].promise_kept;
    json_decref(r.told[p][0]), json_decref(r.told[p][1]);
  }
  return code ? code : promises_kept ? EXIT_OK : EXIT_FAILED;
}

static int compare(const rows *r) {
  progress bar;
  char why[512];
  iso_comparison *c;
  uint64_t total = 0;
  for (int p = 0; p < r->n; p++) total += 2 * (r->row[p].n_steps ? r->row[p].n_steps : (uint64_t)n_steps);
  progress_begin(&bar, "comparing", total, job.quiet);
  const iso_status status =
      iso_compare(&(iso_compare_options){.model = &job_model,
                                         .user = &bar,
                                         .n_policies = r->n,
                                         .policies = r->row,
                                         .n_steps = (uint64_t)n_steps,
                                         .n_threads = {job.threads > INT_MAX ? INT_MAX : (int)job.threads},
                                         .isa = job.isa,
                                         .device = job.device,
                                         .progress = show_progress},
                  &c, why, sizeof why);
  progress_end(&bar);
  if (status) return fprintf(stderr, "isobit: %s\n", why), status == ISO_INTERRUPTED ? EXIT_INTERRUPTED : EXIT_FAILED;
  const int code = show(c);
  iso_comparison_free(c);
  return code;
}

int command_compare(int argc, char **argv) {
  static rows r;
  int code = read_options(argc, argv);
  if (code >= 0 || (code = name_rows(&r)) >= 0 || (code = job_check_json()) >= 0 ||
      (code = output_check("--report", report)) >= 0)
    return code;
  job.steps = n_steps; /* the schedule's length, for `plain` too */
  job_catch_interrupts();
  return compare(&r);
}
