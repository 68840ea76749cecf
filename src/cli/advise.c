/* advise.c: `isobit advise TRACE`: what holds a traced run back, and what to set, the most rewarding first. */
#include <stdlib.h>
#include <string.h>
#include "advise.h"

static struct {
  double budget_ms;
  bool no_measure;
} advise = {.budget_ms = 150};
static const option advise_options[] = {
    {"--no-measure", OPTION_FLAG, &advise.no_measure, NULL, "from the file alone: nothing is timed here", 0},
    {"--budget", OPTION_NUMBER, &advise.budget_ms, "MS", "time for each of the longest problems, in milliseconds [150]",
     0},
    {0}};
static const command advise_command = {
    .usage = "isobit advise TRACE [options]",
    .about =
        "Reads a run's trace (isobit trace JOB --out TRACE) and says, with figures, what holds it back and what to "
        "set: "
        "shapes\n"
        "that keep changing, padding, waiting for data, workspace, a model too small, a policy that clashes with the "
        "job, and\n"
        "what the promise of the same bits costs, operator by operator, measured on this machine.",
    .options = (const option *const[]){advise_options, job_option_list, NULL},
    .notes = "exit codes: 0 done, 1 failed, 2 wrong usage\n"
             "example: isobit trace train vision --model cnn --out trace.json && isobit advise trace.json"};

static int by_share(const void *a, const void *b) {
  const finding *x = a, *y = b;
  return (x->share < y->share) - (x->share > y->share);
}

static void print_prices(const json_t *prices) {
  size_t i;
  json_t *row;
  if (!json_array_size(prices)) return;
  printf("\n  %-56s %8s %12s %12s %8s\n", "problem", "share", "as promised", "without", "price");
  json_array_foreach(prices, i, row)
      printf("  %-56s %6.1f %% %9.4f ms %9.4f ms %6.1f %%\n", json_string_value(json_object_get(row, "problem")),
             100 * json_number_value(json_object_get(row, "share")), json_number_value(json_object_get(row, "ms")),
             json_number_value(json_object_get(row, "off_ms")), 100 * json_number_value(json_object_get(row, "price")));
}

static int report(const advised_run *r, findings *f, json_t *prices) {
  qsort(f->one, (size_t)f->n, sizeof f->one[0], by_share);
  printf("%s: %.0f steps of %.4f ms, %.0f problems, %.1f %% of a step in operators\n", r->path, r->n_steps, r->step_ms,
         r->all_problems, r->step_ms > 0 ? 100 * r->runs_ms / r->step_ms : 0);
  if (!f->n) printf("- nothing stands out\n");
  for (int i = 0; i < f->n; i++) printf("- %s\n", f->one[i].text);
  print_prices(prices);
  if (!job.json) return EXIT_OK;
  json_t *list = json_array();
  for (int i = 0; i < f->n; i++)
    json_array_append_new(
        list, json_pack("{s:s, s:f, s:s}", "about", f->one[i].about, "share", f->one[i].share, "text", f->one[i].text));
  return job_write_json(job.json, json_pack("{s:s, s:f, s:f, s:o, s:O}", "trace", r->path, "steps", r->n_steps,
                                            "step_ms", r->step_ms, "findings", list, "prices", prices));
}

static int advise_on(const advised_run *r) {
  static findings f;
  json_t *prices = json_array();
  int code = EXIT_OK;
  advise_find(r, &f);
  if (!advise.no_measure) {
    iso_context *ctx = job_context(&r->policy, job.threads);
    if (ctx) advise_price(ctx, r, advise.budget_ms, &f, prices);
    else code = EXIT_FAILED;
    iso_context_free(ctx);
  }
  if (!code) code = report(r, &f, prices);
  json_decref(prices);
  return code;
}

int command_advise(int argc, char **argv) {
  static advised_run run;
  const int n = problems_count_words(argc, argv);
  int code = options_read(&advise_command, argc - n, argv + n);
  if (code >= 0 || (code = job_check_json()) >= 0) return code;
  if (n != 1) return fprintf(stderr, "isobit: advise needs one trace\nusage: %s\n", advise_command.usage), EXIT_USAGE;
  code = advised_open(&run, argv[0]) ? advise_on(&run) : EXIT_FAILED;
  advised_close(&run);
  return code;
}
