/* bench.c: `isobit bench`: every engine of a problem: time, share of the machine's peaks measured in the same run, and
 * the error against float64 on the same line; or, with --price, what reproducibility costs operator by operator. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "bench_rule.h"

static const char *csv_path;
static bool price, rule;
static int64_t rule_count = 500;
static double budget_ms = NAN; /* not given */
static const double usual_budget_ms = 100, usual_rule_budget_ms = 20;
static const option bench_options[] = {
    {"--price", OPTION_FLAG, &price, NULL, "only the best engine of 'off' against the best of 'invariant'", 0},
    {"--rule", OPTION_FLAG, &rule, NULL, "random problems: the engine that estimates pick against the fastest", 0},
    {"--count", OPTION_COUNT, &rule_count, "N", "of --rule: how many problems [500]", 1},
    {"--csv", OPTION_TEXT, &csv_path, "FILE", "write the lines as comma-separated values", 0},
    {"--budget", OPTION_NUMBER, &budget_ms, "MS", "time for each engine, in milliseconds [100; 20 of --rule]", 0},
    {0}};
static const command bench_command = {
    .usage = "isobit bench [PROBLEM] [options]",
    .about =
        "Times every engine of a problem, or of each problem of a model's step (--model), beside this machine's "
        "FMA peak and\n"
        "copy bandwidth measured in the same run. The error is the largest of sampled elements against float64, "
        "relative to\n"
        "the sum of |terms|. Without problem or model: a table of typical layers.\n\n"
        "With --rule: random convolutions and products (--seed; all of them begin with PROBLEM, such as gemm); the "
        "engines of\n"
        "the class that the policy chooses are timed in turns, and the one that estimates pick is held against the "
        "fastest.",
    .options = (const option *const[]){bench_options, vision_option_list, job_option_list, NULL},
    .notes = "example: isobit bench gemm m1024 n1024 k1024 --threads 1\n         isobit bench --price\n"
             "         isobit bench --rule --isa avx2\n"
             "exit code of --rule: 1 where fewer than 90 % of the picks are within 10 % of the fastest, or one is not "
             "within 2x"};

static const char *const usual_problems[] = {"gemm f32 m1024 n1024 k1024",
                                             "gemm f32 m512 n768 k768",
                                             "gemm f32 m64 n128 k3136 tb1",
                                             "conv2d.fwd f32 n8 c64 h28 w28 k64 r3 s3 p1",
                                             "conv2d.bwd_data f32 n8 c64 h28 w28 k64 r3 s3 p1",
                                             "conv2d.bwd_weights f32 n8 c64 h28 w28 k64 r3 s3 p1",
                                             "conv2d.bwd_weights f32 n64 c1 h28 w28 k32 r3 s3 p1",
                                             "conv2d.fwd f32 n8 c3 h64 w64 k32 r7 s7 st2 p3",
                                             "reduce.rows f32 sum outer4096 n768",
                                             "softmax.fwd f32 rows4096 n768"};

typedef struct machine {
  double gflops, gbs;
} machine;

typedef struct line {
  const char *problem;
  iso_plan_candidate candidate;
  iso_bench_result result;
} line;

/* The best of many slices shorter than a scheduler's turn: on a busy machine some of them run undisturbed. */
static double peak_gflops(iso_context *ctx) {
  double best = 0;
  for (int i = 0; i < 100; i++) best = fmax(best, iso_machine_peak_gflops(ctx, 2));
  return best;
}

static double share(double value, double of) { return of > 0 ? 100 * value / of : NAN; }

static json_t *line_json(const line *l, const machine *m) {
  const iso_bench_result *r = &l->result;
  const double gflops = r->flops / r->median_ms / 1e6, gbs = r->bytes / r->median_ms / 1e6;
  json_t *j = json_pack("{s:s, s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:f}", "problem", l->problem, "engine",
                        l->candidate.engine, "class", l->candidate.class_name, "median_ms", r->median_ms, "spread_ms",
                        r->spread_ms, "gflops", gflops, "percent_of_peak", share(gflops, m->gflops), "gb_s", gbs,
                        "percent_of_copy", share(gbs, m->gbs));
  json_object_set_new(j, "residual", isnan(r->residual) ? json_null() : json_real(r->residual));
  json_object_set_new(j, "error_bound", json_real(l->candidate.error_bound));
  json_object_set_new(j, "workspace_bytes", json_integer((json_int_t)l->candidate.workspace_bytes));
  return j;
}

static void print_line(const line *l, const machine *m) {
  const iso_bench_result *r = &l->result;
  const double gflops = r->flops / r->median_ms / 1e6, gbs = r->bytes / r->median_ms / 1e6;
  printf("  %-34s %-9s %10.4f ms ±%-8.4f %8.1f GFLOP/s %5.1f %% %8.1f GB/s %5.1f %%  error %.1e of %.1e\n",
         l->candidate.engine, l->candidate.class_name, r->median_ms, r->spread_ms / 2, gflops, share(gflops, m->gflops),
         gbs, share(gbs, m->gbs), r->residual, l->candidate.error_bound);
}

/* An engine whose estimate is hopeless is left out: a reference on a large problem takes minutes. */
static bool is_worth_timing(const iso_plan_candidate *c, double best_estimate) {
  return c->estimated_ms > 0 && c->verdict != ISO_VERDICT_WORKSPACE && c->estimated_ms < 100 * best_estimate &&
         c->estimated_ms < 3000;
}

/* Times the engines of one problem that the policy 'off' could use; appends a line each. */
static bool time_problem(iso_context *off, const char *problem, line *lines, int *n_lines) {
  iso_plan_candidate candidates[ISO_MAX_PLAN_CANDIDATES];
  double best = INFINITY;
  const int n = iso_plan_query(off, problem, candidates);
  for (int i = 0; i < n; i++)
    if (candidates[i].estimated_ms > 0 && candidates[i].estimated_ms < best) best = candidates[i].estimated_ms;
  *n_lines = 0;
  for (int i = 0; i < n; i++) {
    if (!is_worth_timing(&candidates[i], best)) continue;
    line *l = &lines[(*n_lines)++];
    l->problem = problem, l->candidate = candidates[i];
    if (iso_bench_engine(off, problem, candidates[i].engine, budget_ms, &l->result)) return false;
  }
  return !iso_error_code(off);
}

/* The fastest of those whose class the rule chooses under `invariant`, and the fastest of all. */
static json_t *price_of(iso_context *invariant, const char *problem, const line *lines, int n_lines) {
  iso_plan_candidate allowed[ISO_MAX_PLAN_CANDIDATES];
  const int n = iso_plan_query(invariant, problem, allowed);
  const line *off = NULL, *same = NULL;
  for (int i = 0; i < n_lines; i++) {
    bool is_allowed = false;
    for (int j = 0; j < n; j++)
      is_allowed |= !strcmp(allowed[j].engine, lines[i].candidate.engine) && (allowed[j].chosen || !*allowed[j].reason);
    if (!off || lines[i].result.median_ms < off->result.median_ms) off = &lines[i];
    if (is_allowed && (!same || lines[i].result.median_ms < same->result.median_ms)) same = &lines[i];
  }
  if (!off || !same) return NULL;
  const double ratio = off->result.median_ms / same->result.median_ms;
  printf("  %-52s %10.4f ms %-30s %10.4f ms %-30s %5.3f\n", problem, off->result.median_ms, off->candidate.engine,
         same->result.median_ms, same->candidate.engine, ratio);
  return json_pack("{s:s, s:f, s:s, s:f, s:s, s:f}", "problem", problem, "off_ms", off->result.median_ms, "off_engine",
                   off->candidate.engine, "invariant_ms", same->result.median_ms, "invariant_engine",
                   same->candidate.engine, "off_over_invariant", ratio);
}

static int write_csv(const json_t *rows) {
  output o;
  size_t i;
  json_t *row, *value;
  const char *key;
  const int code = output_open(&o, "--csv", csv_path);
  if (code) return code;
  FILE *f = o.file;
  json_array_foreach(rows, i, row) {
    const char *comma = "";
    if (i == 0) {
      json_object_foreach(row, key, value) fprintf(f, "%s%s", comma, key), comma = ",";
      fputc('\n', f), comma = "";
    }
    json_object_foreach(row, key, value) {
      char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
      fprintf(f, "%s%s", comma, text ? text : ""), comma = ",";
      free(text);
    }
    fputc('\n', f);
  }
  return output_close(&o);
}

static int bench_all(iso_context *off, iso_context *invariant, const json_t *problems) {
  const machine m = {peak_gflops(off), iso_machine_copy_gbs(off, 200)};
  size_t i;
  json_t *problem, *rows = json_array();
  int code = EXIT_OK;
  printf("threads: %d, FMA peak %.1f GFLOP/s, copy %.1f GB/s\n", iso_n_threads(off), m.gflops, m.gbs);
  if (price) printf("  %-52s %-44s %-44s %s\n", "problem", "best under off", "best under invariant", "off / invariant");
  json_array_foreach(problems, i, problem) {
    line lines[ISO_MAX_PLAN_CANDIDATES];
    int n_lines;
    const char *text = json_string_value(problem);
    if (!time_problem(off, text, lines, &n_lines)) {
      code = job_failed(off);
      break;
    }
    json_t *row = price ? price_of(invariant, text, lines, n_lines) : NULL;
    if (row) json_array_append_new(rows, row);
    if (!price) printf("%s\n", text);
    for (int l = 0; l < n_lines && !price; l++)
      print_line(&lines[l], &m), json_array_append_new(rows, line_json(&lines[l], &m));
    fflush(stdout);
  }
  if (!code && csv_path) code = write_csv(rows);
  json_t *result = json_pack("{s:f, s:f, s:i, s:o}", "peak_gflops", m.gflops, "copy_gb_s", m.gbs, "threads",
                             iso_n_threads(off), "rows", rows);
  if (!code && job.json) return job_write_json(job.json, result);
  json_decref(result);
  return code;
}

static iso_context *context_of(const char *preset) {
  iso_policy policy;
  return job_policy(preset, &policy) >= 0 ? NULL : job_context(&policy, job.threads);
}

/* --rule: under the job's policy, by estimates alone. */
static int bench_the_rule(int n_words, char **argv) {
  iso_policy policy;
  int code = job_policy(job.policy, &policy);
  if (code >= 0) return code;
  policy.tuning = ISO_TUNING_RULE;
  iso_context *ctx = job_context(&policy, job.threads);
  if (!ctx) return EXIT_FAILED;
  const rule_options options = {.count = rule_count,
                                .seed = job.seed < 0 ? 1 : job.seed,
                                .budget_ms = isnan(budget_ms) ? usual_rule_budget_ms : budget_ms,
                                .only = n_words ? argv[0] : NULL};
  job_catch_interrupts();
  code = bench_rule(ctx, &options);
  iso_context_free(ctx);
  return code;
}

int command_bench(int argc, char **argv) {
  const int n_words = problems_count_words(argc, argv);
  int code = options_read(&bench_command, argc - n_words, argv + n_words);
  if (code >= 0 || (code = job_check_json()) >= 0) return code;
  if (budget_ms <= 0) return fprintf(stderr, "isobit: --budget is %g; it must be positive\n", budget_ms), EXIT_USAGE;
  if (rule && (price || csv_path || n_words > 1))
    return fprintf(stderr, "isobit: --rule takes at most one word, which its problems begin with, and not %s\n",
                   price      ? "--price"
                   : csv_path ? "--csv"
                              : argv[1]),
           EXIT_USAGE;
  if (rule) return bench_the_rule(n_words, argv);
  if ((code = output_check("--csv", csv_path)) >= 0) return code;
  if (isnan(budget_ms)) budget_ms = usual_budget_ms;
  iso_context *off = context_of("balanced"), *invariant = off ? context_of("reproducible") : NULL;
  json_t *problems = !invariant     ? NULL
                     : n_words      ? problems_from_words(n_words, argv)
                     : vision.model ? problems_of_model(off, false)
                                    : json_array();
  for (size_t i = 0; problems && !n_words && !vision.model && i < sizeof usual_problems / sizeof usual_problems[0]; i++)
    json_array_append_new(problems, json_string(usual_problems[i]));
  code = problems ? bench_all(off, invariant, problems) : EXIT_FAILED;
  json_decref(problems);
  iso_context_free(invariant);
  iso_context_free(off);
  return code;
}
