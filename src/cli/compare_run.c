/* compare_run.c: one run of a comparison, in a process of its own: steps when it is told to and answers in JSON lines.
 *
 *   "run N"     -> N lines {"step":…,"time_ms":…,"loss":…,"hash":…}, then {"done":true}
 *   "finish L"  -> {"accuracy":…,"test_loss":…,"peak_memory_mib":…} (L: test samples, 0 all, −1 none)
 * The first line after the start is {"ready":true,"manifest":{…}}; an error is {"error":"…"} and the end. */
#include <stdlib.h>
#include <string.h>
#include "cli.h"

static int64_t n_steps;
static const option run_options[] = {{"--steps", OPTION_COUNT, &n_steps, "N", "length of the schedule", 1}, {0}};
static const command run_command = {
    .usage = "isobit compare-run [options]",
    .about = "One run of isobit compare; it is started by that command.",
    .options = (const option *const[]){run_options, vision_option_list, job_option_list, NULL}};

/* Prints one line and takes the reference. */
static void answer(json_t *line) {
  json_dumpf(line, stdout, JSON_COMPACT | JSON_REAL_PRECISION(17));
  putchar('\n');
  fflush(stdout);
  json_decref(line);
}

static int fail(const iso_context *ctx) {
  answer(json_pack("{s:s}", "error", iso_error_message(ctx)));
  return EXIT_FAILED;
}

static int run_steps(iso_context *ctx, iso_trainer *trainer, long n) {
  for (long i = 0; i < n; i++) {
    iso_step_info info;
    char hash[33];
    if (iso_trainer_step(trainer, &info) || iso_trainer_weights_hash(trainer, hash)) return fail(ctx);
    answer(json_pack("{s:I, s:f, s:f, s:s}", "step", (json_int_t)info.step, "time_ms", info.time_ms, "loss", info.loss,
                     "hash", hash));
  }
  answer(json_pack("{s:b}", "done", 1));
  return EXIT_OK;
}

static int finish_run(iso_context *ctx, iso_trainer *trainer, long limit) {
  iso_evaluation e = {0};
  const double peak = (double)peak_memory_kib() / 1024.0; /* of training, not of the evaluation */
  if (limit >= 0 && iso_trainer_evaluate(trainer, limit, &e)) return fail(ctx);
  answer(json_pack("{s:f, s:f, s:f}", "accuracy", e.accuracy, "test_loss", e.loss, "peak_memory_mib", peak));
  return EXIT_OK;
}

static int serve(iso_context *ctx, iso_trainer *trainer) {
  char line[128];
  int code = EXIT_OK;
  answer(json_pack("{s:b, s:o}", "ready", 1, "manifest", job_manifest(ctx, trainer)));
  while (!code && fgets(line, sizeof line, stdin)) {
    if (!strncmp(line, "run ", 4)) code = run_steps(ctx, trainer, strtol(line + 4, NULL, 10));
    else if (!strncmp(line, "finish ", 7)) code = finish_run(ctx, trainer, strtol(line + 7, NULL, 10));
    else break;
  }
  return code;
}

int command_compare_run(int argc, char **argv) {
  iso_policy policy;
  int code = options_read(&run_command, argc, argv);
  if (code >= 0 || (code = job_policy(job.policy, &policy)) >= 0) return code;
  vision.n_steps = (uint64_t)n_steps;
  iso_context *ctx = job_context(&policy, job.threads);
  if (!ctx) return EXIT_FAILED;
  iso_trainer *trainer = job_trainer(ctx);
  code = trainer ? serve(ctx, trainer) : fail(ctx);
  iso_trainer_free(trainer);
  iso_context_free(ctx);
  return code;
}
