/* trace.c: `isobit trace -- JOB`: some steps of a job, operator by operator. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "trace.h"

static const char *out_path;
static int64_t n_steps = 5, n_skipped = 10;
static bool no_cpu;
static const option trace_options[] = {
    {"--out", OPTION_TEXT, &out_path, "FILE", "write the events as Chrome JSON: chrome://tracing, ui.perfetto.dev", 0},
    {"--steps", OPTION_COUNT, &n_steps, "N", "steps that are traced [5]", 1},
    {"--skip", OPTION_COUNT, &n_skipped, "N", "steps before: they tune, warm up, and tell an untraced step's time [10]",
     1},
    {"--no-cpu", OPTION_FLAG, &no_cpu, NULL, "on a device: don't try the job on the CPU as well", 0},
    {0}};
static const command trace_command = {
    .usage = "isobit trace [--] train vision [options]",
    .about =
        "Traces some steps of a training job: time of host and device by operator, launches, waits, how close each "
        "operator comes\n"
        "to what the device can do (floating-point peak and copy bandwidth, measured at the start), and in words "
        "what to do.\n"
        "--json writes the summary, --out every event. While a device is traced it is held back until the host "
        "has launched\n"
        "what comes, so that the kernels' own time is seen; its idle share is against steps that were not traced.",
    .options = (const option *const[]){trace_options, vision_option_list, job_option_list, NULL},
    .notes = "exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted\n"
             "example: isobit trace train vision --model cnn --data synthetic --out trace.json"};

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Runs n steps and takes the median of their times by the clock; the first third, if asked, is left out. */
static iso_status run_steps(iso_context *ctx, iso_trainer *trainer, int64_t n, bool warms_up, double *median_ms) {
  double *ms = calloc((size_t)n, sizeof *ms);
  iso_status status = ms ? ISO_OK : ISO_OUT_OF_MEMORY;
  int64_t done = 0;
  for (; done < n && !status && !job_interrupted(); done++) {
    const uint64_t begin = now_ns();
    status = iso_trainer_step(trainer, NULL);
    ms[done] = (double)(now_ns() - begin) / 1e6;
  }
  if (!status) status = iso_synchronize(ctx);
  const int64_t first = warms_up ? done / 3 : 0;
  if (!status && done > first) {
    qsort(ms + first, (size_t)(done - first), sizeof *ms, by_value);
    *median_ms = ms[first + (done - first) / 2];
  }
  free(ms);
  return status;
}

/* One step that is counted, which also shows how long the device has to be held back; then those that are traced. */
static iso_status trace_steps(iso_context *ctx, iso_trainer *trainer, trace_summary *s) {
  iso_status status = iso_trace_start(ctx, &(iso_trace_options){.count_launches = true});
  if (!status) status = iso_trainer_step(trainer, NULL);
  if (!status) status = iso_trace_stop(ctx);
  iso_trace_entry e;
  for (size_t i = 0; !status && iso_trace_get(ctx, i, &e); i++)
    if (e.kind == ISO_TRACE_RUN) s->launches += e.n_launches;
  if (!status) status = iso_trace_start(ctx, NULL);
  for (int64_t i = 0; !status && i < n_steps; i++) status = iso_trainer_step(trainer, NULL);
  return status ? status : iso_trace_stop(ctx);
}

/* The same job on the CPU, for a few steps and about two seconds; without tuning, which would take longer. */
static void try_the_cpu(const iso_policy *policy, trace_summary *s) {
  iso_policy by_rule = *policy;
  by_rule.tuning = ISO_TUNING_RULE;
  const char *device = job.device;
  job.device = "cpu";
  iso_context *cpu = job_context(&by_rule, job.threads);
  job.device = device;
  if (!cpu) return;
  iso_trainer *trainer = job_trainer(cpu);
  double ms = 0;
  iso_status status = trainer ? run_steps(cpu, trainer, 1, false, &ms) : iso_error_code(cpu);
  const int64_t n = ms > 0 ? (int64_t)fmin(20, 2000 / ms) : 0;
  if (!status && n > 0) status = run_steps(cpu, trainer, n, true, &ms);
  if (!status) s->cpu_step_ms = ms, s->cpu_threads = iso_n_threads(cpu);
  else fprintf(stderr, "isobit: note: not tried on the CPU: %s\n", iso_error_message(cpu));
  iso_trainer_free(trainer);
  iso_context_free(cpu);
}

static void measure_machine(iso_context *ctx, trace_summary *s) {
  for (int i = 0; i < 10; i++) s->peak_gflops = fmax(s->peak_gflops, iso_machine_peak_gflops(ctx, 5));
  s->copy_gbs = iso_machine_copy_gbs(ctx, 100);
}

static int report(iso_context *ctx, json_t *manifest, const trace_summary *s) {
  json_t *advice = trace_advice(s), *sentence;
  size_t i;
  trace_print(s);
  printf("what to do\n");
  json_array_foreach(advice, i, sentence) printf("- %s\n", json_string_value(sentence));
  int code = out_path ? trace_write_chrome(out_path, ctx, manifest) : EXIT_OK;
  if (code == EXIT_OK && out_path) printf("events: %s\n", out_path);
  if (code != EXIT_OK || !job.json) return json_decref(advice), code;
  json_t *result = trace_json(s);
  json_object_set(result, "manifest", manifest);
  json_object_set_new(result, "advice", advice);
  return job_write_json(job.json, result);
}

static int trace_with(iso_context *ctx, iso_trainer *trainer, const iso_policy *policy) {
  static trace_summary s;
  s = (trace_summary){.on_device = strcmp(iso_context_device(ctx), "cpu") != 0, .n_steps = n_steps};
  json_t *manifest = job_manifest(ctx, trainer);
  job_print_manifest(manifest);
  measure_machine(ctx, &s);
  iso_status status = run_steps(ctx, trainer, n_skipped, true, &s.step_ms);
  s.captured = iso_trainer_is_captured(trainer);
  if (!status && !job_interrupted()) status = trace_steps(ctx, trainer, &s);
  if (!status && !job_interrupted() && s.on_device && !no_cpu) try_the_cpu(policy, &s);
  int code = status ? job_failed(ctx) : EXIT_OK;
  if (!code && job_interrupted()) fprintf(stderr, "isobit: interrupted\n"), code = EXIT_INTERRUPTED;
  if (!code) {
    trace_summarise(&s, ctx);
    code = report(ctx, manifest, &s);
  }
  json_decref(manifest);
  return code;
}

/* The job's words "train vision" come first or behind "--"; its options and ours are one list, which goes into `rest`.
 * Returns how many; −1 if there is no such job. */
static int read_job(int argc, char **argv, char **rest) {
  int at = 0, n = 0;
  while (at < argc && strcmp(argv[at], "--") != 0) at++;
  const int job_at = at < argc ? at + 1 : 0, first = at < argc ? at : 0;
  if (job_at + 2 > argc || strcmp(argv[job_at], "train") != 0 || strcmp(argv[job_at + 1], "vision") != 0) return -1;
  for (int i = 0; i < first; i++) rest[n++] = argv[i];
  for (int i = job_at + 2; i < argc; i++) rest[n++] = argv[i];
  return n;
}

static int read_options(int argc, char **argv) {
  if (argc > 0 && (!strcmp(argv[0], "--help") || !strcmp(argv[0], "-h"))) return options_read(&trace_command, 1, argv);
  char **rest = calloc((size_t)argc + 1, sizeof *rest);
  const int n = rest ? read_job(argc, argv, rest) : -1;
  if (n < 0) fprintf(stderr, "isobit: trace needs a job: train vision\nusage: %s\n", trace_command.usage);
  const int code = n < 0 ? EXIT_USAGE : options_read(&trace_command, n, rest);
  free(rest);
  return code;
}

int command_trace(int argc, char **argv) {
  iso_policy policy;
  int code = read_options(argc, argv);
  if (code >= 0 || (code = job_check_json()) >= 0 || (code = output_check("--out", out_path)) >= 0) return code;
  if ((code = job_policy(job.policy, &policy)) >= 0) return code;
  job_catch_interrupts();
  iso_context *ctx = job_context(&policy, job.threads);
  if (!ctx) return EXIT_FAILED;
  iso_trainer *trainer = job_trainer(ctx);
  code = trainer ? trace_with(ctx, trainer, &policy) : job_failed(ctx);
  iso_trainer_free(trainer);
  iso_context_free(ctx);
  return code;
}
