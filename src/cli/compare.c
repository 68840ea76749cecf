/* compare.c: `isobit compare vision`: every policy twice in fresh processes with different thread counts, in turns. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "compare.h"

static int64_t n_steps = 200, plain_steps = 2, eval_limit;
static const char *policies = "plain,fast,balanced,reproducible,default";
static const option compare_options[] = {
    {"--policies", OPTION_TEXT, &policies, "A,B,...", "which to compare [plain,fast,balanced,reproducible,default]", 0},
    {"--steps", OPTION_COUNT, &n_steps, "N", "optimiser steps of each run [200]", 2},
    {"--plain-steps", OPTION_COUNT, &plain_steps, "N", "steps of the policy 'plain', whose references are slow [2]", 2},
    {"--eval-limit", OPTION_COUNT, &eval_limit, "N", "test samples for the accuracy [all]", 1},
    {0}};
static const command compare_command = {
    .usage = "isobit compare vision [options]",
    .about = "Fast or reproducible: what does each cost, on this model and this machine? Trains one model under "
             "several policies,\n"
             "each twice in fresh processes with different thread counts, all taking turns in short slices, and shows "
             "time, memory,\n"
             "loss, accuracy and whether the two runs gave the same bits.",
    .options = (const option *const[]){compare_options, vision_option_list, job_option_list, NULL},
    .notes =
        "exit codes: 0 done, 1 failed (also: a policy that promises the same bits did not give them), 2 wrong usage, "
        "130 interrupted\n"
        "example: isobit compare vision --model resnet8 --steps 200 --policies fast,balanced,reproducible,default "
        "--json out.json"};

/* Options that every run gets as they were given here. */
static char *child_arguments[128];
static int n_child_arguments;

static bool is_own_option(const char *word) {
  static const char *const own[] = {"--policies", "--steps",   "--plain-steps", "--eval-limit",
                                    "--json",     "--threads", "--policy",      "--quiet"};
  const size_t n = strcspn(word, "=");
  for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
    if (strlen(own[i]) == n && !strncmp(own[i], word, n)) return true;
  return false;
}

static int keep_child_arguments(int argc, char **argv) {
  for (int i = 0; i < argc; i++) {
    const bool own = is_own_option(argv[i]);
    const bool takes_value = !strchr(argv[i], '=') && strcmp(argv[i], "--quiet") != 0 &&
                             strcmp(argv[i], "--nesterov") != 0 && strcmp(argv[i], "--augment") != 0;
    for (int w = 0; w <= (takes_value && i + 1 < argc); w++) {
      if (own) continue;
      if (n_child_arguments > 100) return fprintf(stderr, "isobit: too many arguments\n"), EXIT_USAGE;
      child_arguments[n_child_arguments++] = argv[i + w];
    }
    i += takes_value;
  }
  return -1;
}

/* ---- processes ---- */
static bool start(const char *policy, compare_run *run) {
  int down[2], up[2];
  char threads[16], steps[32];
  const char *arguments[128] = {"isobit", "compare-run", "--policy", policy,   "--threads",
                                threads,  "--steps",     steps,      "--quiet"};
  int n = 9;
  snprintf(threads, sizeof threads, "%d", run->threads);
  snprintf(steps, sizeof steps, "%llu", (unsigned long long)n_steps); /* the schedule's length, for `plain` too */
  for (int i = 0; i < n_child_arguments; i++) arguments[n++] = child_arguments[i];
  if (pipe(down) || pipe(up)) return fprintf(stderr, "isobit: cannot make a pipe: %s\n", strerror(errno)), false;
  if (!(run->pid = fork())) {
    dup2(down[0], 0), dup2(up[1], 1);
    for (int fd = 3; fd < 256; fd++) close(fd);
    execv("/proc/self/exe", (char *const *)(uintptr_t)arguments);
    _exit(127);
  }
  close(down[0]), close(up[1]);
  run->to = fdopen(down[1], "w"), run->from = fdopen(up[0], "r");
  return run->pid > 0 && run->to && run->from;
}

/* One answer; NULL (after printing why) when the run failed or died. */
static json_t *receive(compare_run *run, const char *policy) {
  char line[8192];
  const bool got = fgets(line, sizeof line, run->from);
  if (job_interrupted()) return fprintf(stderr, "isobit: interrupted\n"), NULL; /* the run may have got it, too */
  if (!got)
    return fprintf(stderr, "isobit: the run under '%s' with %d threads ended early\n", policy, run->threads), NULL;
  json_t *answer = json_loads(line, 0, NULL);
  const char *error = answer ? json_string_value(json_object_get(answer, "error")) : line;
  if (!error) return answer;
  fprintf(stderr, "isobit: under '%s' with %d threads: %s\n", policy, run->threads, error);
  json_decref(answer);
  return NULL;
}

static double number(const json_t *o, const char *key) { return json_number_value(json_object_get(o, key)); }

static bool make_steps(compare_run *run, const char *policy, uint64_t n) {
  fprintf(run->to, "run %llu\n", (unsigned long long)n), fflush(run->to);
  for (uint64_t i = 0; i <= n; i++) { /* the last answer is "done" */
    json_t *a = receive(run, policy);
    if (!a) return false;
    if (i < n) {
      step_record *s = &run->steps[run->n_done++];
      const char *hash = json_string_value(json_object_get(a, "hash"));
      s->time_ms = number(a, "time_ms"), s->loss = number(a, "loss");
      snprintf(s->hash, sizeof s->hash, "%s", hash ? hash : "");
    }
    json_decref(a);
  }
  return true;
}

static bool finish(compare_run *run, const char *policy, long limit) {
  fprintf(run->to, "finish %ld\n", limit), fflush(run->to);
  json_t *a = receive(run, policy);
  if (!a) return false;
  run->accuracy = number(a, "accuracy"), run->test_loss = number(a, "test_loss"),
  run->peak_memory_mib = number(a, "peak_memory_mib");
  json_decref(a);
  return true;
}

static void stop(compare_run *run) {
  if (run->to) fclose(run->to);
  if (run->from) fclose(run->from);
  if (run->pid > 0) kill(run->pid, SIGTERM), waitpid(run->pid, NULL, 0);
  json_decref(run->manifest);
  free(run->steps);
}

/* ---- the comparison ---- */
static int name_policies(comparison *c) {
  static char copy[512];
  iso_policy unused;
  if (strlen(policies) >= sizeof copy) return fprintf(stderr, "isobit: --policies is too long\n"), EXIT_USAGE;
  strcpy(copy, policies);
  for (char *save, *word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
    if (c->n == MAX_POLICIES)
      return fprintf(stderr, "isobit: --policies names more than %d\n", MAX_POLICIES), EXIT_USAGE;
    const int code = job_policy(word, &unused);
    if (code >= 0) return code;
    for (int i = 0; i < c->n; i++)
      if (!strcmp(c->policy[i].name, word))
        return fprintf(stderr, "isobit: --policies names '%s' twice\n", word), EXIT_USAGE;
    c->policy[c->n++].name = word;
  }
  return c->n ? -1 : (fprintf(stderr, "isobit: --policies is empty\n"), EXIT_USAGE);
}

static bool start_all(comparison *c, int threads) {
  for (int p = 0; p < c->n; p++)
    for (int r = 0; r < 2; r++) {
      compare_run *run = &c->policy[p].run[r];
      const bool plain = !strcmp(c->policy[p].name, "plain");
      run->threads = r ? (threads > 1 ? threads / 2 : 2) : threads;
      run->n_steps = (uint64_t)(plain && plain_steps < n_steps ? plain_steps : n_steps);
      run->steps = calloc(run->n_steps, sizeof *run->steps);
      if (!run->steps || !start(c->policy[p].name, run)) return false;
      json_t *ready = receive(run, c->policy[p].name);
      if (!ready) return false;
      run->manifest = json_incref(json_object_get(ready, "manifest"));
      json_decref(ready);
    }
  return true;
}

/* Turns: the first round is one step each (it plans and tunes), the following ones a slice each. */
static bool run_all(comparison *c, progress *bar) {
  for (uint64_t begin = 0; begin < (uint64_t)n_steps; begin += begin ? c->slice : 1)
    for (int p = 0; p < c->n; p++)
      for (int r = 0; r < 2; r++) {
        compare_run *run = &c->policy[p].run[r];
        uint64_t n = begin ? c->slice : 1;
        if (run->n_done >= run->n_steps) continue;
        if (n > run->n_steps - run->n_done) n = run->n_steps - run->n_done;
        char note[96];
        const uint64_t t = now_ns();
        if (!make_steps(run, c->policy[p].name, n)) return false;
        c->run_s += (double)(now_ns() - t) / 1e9;
        snprintf(note, sizeof note, "%s, %d threads: loss %.4f", c->policy[p].name, run->threads,
                 run->steps[run->n_done - 1].loss);
        progress_add(bar, n * (r ? 2 : 1), note); /* fewer threads take longer */
      }
  return true;
}

static bool finish_all(comparison *c) {
  for (int p = 0; p < c->n; p++) {
    if (!finish(&c->policy[p].run[0], c->policy[p].name, (long)eval_limit)) return false;
    if (!finish(&c->policy[p].run[1], c->policy[p].name, -1)) return false;
  }
  return true;
}

/* The levels that promise the same bits for any thread count. */
static bool promise_broken(const comparison *c) {
  bool broken = false;
  for (int p = 0; p < c->n; p++) {
    iso_policy policy;
    iso_policy_preset(c->policy[p].name, &policy);
    broken |= policy.repro >= ISO_REPRO_INVARIANT && !c->policy[p].same_bits;
  }
  return broken;
}

static int compare(comparison *c, int threads) {
  progress bar;
  uint64_t total = 0;
  const uint64_t begin = now_ns();
  if (!start_all(c, threads)) return job_interrupted() ? EXIT_INTERRUPTED : EXIT_FAILED;
  for (int p = 0; p < c->n; p++) total += 3 * c->policy[p].run[0].n_steps;
  progress_begin(&bar, "comparing", total, job.quiet);
  const bool ok = run_all(c, &bar) && finish_all(c);
  progress_end(&bar);
  if (!ok) return job_interrupted() ? EXIT_INTERRUPTED : EXIT_FAILED;
  c->total_s = (double)(now_ns() - begin) / 1e9;
  compare_judge(c);
  compare_print(c);
  const int code = job.json ? job_write_json(job.json, compare_json(c)) : EXIT_OK;
  return code ? code : promise_broken(c) ? EXIT_FAILED : EXIT_OK;
}

int command_compare(int argc, char **argv) {
  static comparison c;
  int code = options_read(&compare_command, argc, argv);
  if (code >= 0 || (code = keep_child_arguments(argc, argv)) >= 0 || (code = name_policies(&c)) >= 0 ||
      (code = job_check_json()) >= 0)
    return code;
  job_catch_interrupts();
  signal(SIGPIPE, SIG_IGN);
  iso_context *ctx = job_context(NULL, job.threads);
  if (!ctx) return EXIT_FAILED;
  const int threads = iso_n_threads(ctx);
  iso_context_free(ctx);
  c.slice = (uint64_t)(n_steps >= 100 ? 10 : n_steps >= 20 ? n_steps / 10 : 1);
  c.batch_size = vision.batch_size ? vision.batch_size : 64;
  code = compare(&c, threads);
  for (int p = 0; p < c.n; p++) stop(&c.policy[p].run[0]), stop(&c.policy[p].run[1]);
  return code;
}
