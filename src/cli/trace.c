/* trace.c: `isobit trace -- JOB`: some steps of a job (trace_job.c), operator by operator. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "trace.h"

static const char *out_path;
static int64_t n_steps = 5, n_skipped;
static bool no_cpu;
static const option trace_options[] = {
    {"--out", OPTION_TEXT, &out_path, "FILE", "write the events as Chrome JSON: chrome://tracing, ui.perfetto.dev", 0},
    {"--steps", OPTION_COUNT, &n_steps, "N", "steps (calls) that are traced [5]", 1},
    {"--skip", OPTION_COUNT, &n_skipped, "N",
     "steps before: they tune, warm up, and tell an untraced step's time [10; calls: 300]", 1},
    {"--no-cpu", OPTION_FLAG, &no_cpu, NULL, "on a device: don't try the job on the CPU as well", 0},
    {0}};

#define ABOUT                                                                                                          \
  "Traces some steps of a job: training (train vision, train text), or calls of a model as a server makes them "       \
  "(forward). Time "                                                                                                   \
  "of "                                                                                                                \
  "host\n"                                                                                                             \
  "and device by operator, launches, waits, how close each operator comes to what the device can do (floating-point "  \
  "peak\n"                                                                                                             \
  "and copy bandwidth, measured at the start), and in words what to do. --json writes the summary, --out every "       \
  "event.\n"                                                                                                           \
  "While a device is traced it is held back until the host has launched what comes, so that the kernels' own time is " \
  "seen;\n"                                                                                                            \
  "its idle share is against steps that were not traced. 'isobit trace forward --help' lists that job's options."
#define NOTES                                                                                                          \
  "exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted\n"                                                     \
  "example: isobit trace train vision --model cnn --data synthetic --out trace.json"
static const char usage[] = "isobit trace [--] train vision|train text|forward [options]";

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Runs n steps and takes the median of their times by the clock; the first third, if asked, is left out. */
static iso_status run_steps(const traced_job_kind *kind, traced_job *j, int64_t n, bool warms_up, double *median_ms) {
  double *ms = calloc((size_t)n, sizeof *ms);
  iso_status status = ms ? ISO_OK : ISO_OUT_OF_MEMORY;
  int64_t done = 0;
  for (; done < n && !status && !job_interrupted(); done++) {
    const uint64_t begin = now_ns();
    status = kind->step(j);
    ms[done] = (double)(now_ns() - begin) / 1e6;
  }
  if (!status) status = iso_synchronize(j->ctx);
  const int64_t first = warms_up ? done / 3 : 0;
  if (!status && done > first) {
    qsort(ms + first, (size_t)(done - first), sizeof *ms, by_value);
    *median_ms = ms[first + (done - first) / 2];
  }
  free(ms);
  return status;
}

/* One step whose launches are counted; one that shows how long the device has to be held back; then those that are
 * traced. */
static iso_status trace_steps(const traced_job_kind *kind, traced_job *j, trace_summary *s) {
  j->anew = true;
  iso_status status = iso_trace_start(j->ctx, &(iso_trace_options){.count_launches = true});
  if (!status) status = kind->step(j);
  if (!status) status = iso_trace_stop(j->ctx);
  iso_trace_entry e;
  for (size_t i = 0; !status && iso_trace_get(j->ctx, i, &e); i++)
    if (e.kind == ISO_TRACE_RUN) s->launches += e.n_launches;
  if (!status) status = iso_trace_start(j->ctx, NULL);
  for (int i = 0; !status && i < 2; i++) status = kind->step(j);
  if (!status) status = iso_trace_stop(j->ctx);
  if (!status) status = iso_trace_start(j->ctx, NULL);
  for (int64_t i = 0; !status && i < n_steps; i++) {
    const uint64_t begin = now_ns();
    status = kind->step(j);
    s->traced_step_ms += (double)(now_ns() - begin) / 1e6 / (double)n_steps;
  }
  return status ? status : iso_trace_stop(j->ctx);
}

/* The same job on the CPU, for about two seconds; without tuning, which would take longer. */
static void try_the_cpu(const traced_job_kind *kind, const iso_policy *policy, trace_summary *s) {
  iso_policy by_rule = *policy;
  by_rule.tuning = ISO_TUNING_RULE;
  const char *device = job.device;
  job.device = "cpu";
  traced_job j = {.ctx = job_context(&by_rule, job.threads)};
  job.device = device;
  if (!j.ctx) return;
  double ms = 0;
  iso_status status = kind->open(&j) ? run_steps(kind, &j, 1, false, &ms) : iso_error_code(j.ctx);
  const int64_t n = ms > 0 ? (int64_t)fmin((double)(2 * kind->n_skipped), 2000 / ms) : 0;
  if (!status && n > 0) status = run_steps(kind, &j, n, true, &ms);
  if (!status) s->cpu_step_ms = ms, s->cpu_threads = iso_n_threads(j.ctx);
  else fprintf(stderr, "isobit: note: not tried on the CPU: %s\n", iso_error_message(j.ctx));
  traced_job_close(&j);
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
  json_t *result = trace_json(s), *told = json_copy(manifest);
  json_object_set_new(result, "advice", advice);
  json_object_set(told, "summary", result);
  int code = out_path ? trace_write_chrome(out_path, ctx, told) : EXIT_OK;
  json_decref(told);
  if (code == EXIT_OK && out_path) printf("events: %s\n", out_path);
  if (code != EXIT_OK || !job.json) return json_decref(result), code;
  json_object_set(result, "manifest", manifest);
  return job_write_json(job.json, result);
}

static int trace_with(const traced_job_kind *kind, traced_job *j, const iso_policy *policy) {
  static trace_summary s;
  s = (trace_summary){
      .unit = kind->unit, .on_device = strcmp(iso_context_device(j->ctx), "cpu") != 0, .n_steps = n_steps};
  json_t *manifest = job_manifest(j->ctx, j->trainer);
  job_print_manifest(manifest);
  measure_machine(j->ctx, &s);
  iso_status status = run_steps(kind, j, n_skipped ? n_skipped : kind->n_skipped, true, &s.step_ms);
  s.captured = traced_job_is_captured(j);
  if (!status && !job_interrupted()) status = trace_steps(kind, j, &s);
  if (!status && !job_interrupted() && s.on_device && !no_cpu) try_the_cpu(kind, policy, &s);
  int code = status ? job_failed(j->ctx) : EXIT_OK;
  if (!code && job_interrupted()) fprintf(stderr, "isobit: interrupted\n"), code = EXIT_INTERRUPTED;
  if (!code) {
    trace_summarise(&s, j->ctx);
    if (j->n_steps > 0)
      s.samples = j->samples / j->n_steps, s.tokens = j->tokens / j->n_steps, s.padding = j->padding / j->n_steps;
    code = report(j->ctx, manifest, &s);
  }
  json_decref(manifest);
  return code;
}

/* ---- the command line ---- */

static int n_words_of(const traced_job_kind *kind) { return kind->words[1] ? 2 : 1; }

static const traced_job_kind *find_job(int argc, char **argv) {
  for (const traced_job_kind *k = traced_jobs; k->words[0]; k++)
    if (argc >= n_words_of(k) && !strcmp(argv[0], k->words[0]) && (!k->words[1] || !strcmp(argv[1], k->words[1])))
      return k;
  return NULL;
}

/* The job's words come first or behind "--"; its options and ours are one list, which goes into `rest`. Returns how
 * many; −1 if there is no such job. */
static int read_job(int argc, char **argv, char **rest, const traced_job_kind **kind) {
  int at = 0, n = 0;
  while (at < argc && strcmp(argv[at], "--") != 0) at++;
  const int job_at = at < argc ? at + 1 : 0, first = at < argc ? at : 0;
  if (!(*kind = find_job(argc - job_at, argv + job_at))) return -1;
  for (int i = 0; i < first; i++) rest[n++] = argv[i];
  for (int i = job_at + n_words_of(*kind); i < argc; i++) rest[n++] = argv[i];
  return n;
}

static int read_for(const traced_job_kind *kind, int argc, char **argv) {
  const command c = {.usage = usage,
                     .about = ABOUT,
                     .options = (const option *const[]){trace_options, kind->options, job_option_list, NULL},
                     .notes = NOTES};
  return options_read(&c, argc, argv);
}

static int read_options(int argc, char **argv, const traced_job_kind **kind) {
  const bool asks = argc > 0 && (!strcmp(argv[0], "--help") || !strcmp(argv[0], "-h"));
  if (asks) return read_for(&traced_jobs[0], 1, argv);
  char **rest = calloc((size_t)argc + 1, sizeof *rest);
  const int n = rest ? read_job(argc, argv, rest, kind) : -1;
  if (n < 0) fprintf(stderr, "isobit: trace needs a job: train vision, train text, or forward\nusage: %s\n", usage);
  const int code = n < 0 ? EXIT_USAGE : read_for(*kind, n, rest);
  free(rest);
  return code;
}

int command_trace(int argc, char **argv) {
  iso_policy policy;
  const traced_job_kind *kind = NULL;
  int code = read_options(argc, argv, &kind);
  if (code >= 0 || (code = job_check_json()) >= 0 || (code = output_check("--out", out_path)) >= 0) return code;
  if ((code = job_policy(job.policy, &policy)) >= 0) return code;
  job_catch_interrupts();
  traced_job j = {.ctx = job_context(&policy, job.threads)};
  if (!j.ctx) return EXIT_FAILED;
  if (kind->open(&j)) code = trace_with(kind, &j, &policy);
  else code = iso_error_code(j.ctx) ? job_failed(j.ctx) : EXIT_FAILED;
  traced_job_close(&j);
  return code;
}
