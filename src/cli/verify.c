/* verify.c: `isobit verify -- train …`: runs a job twice, the second time under stress, and compares every operator's
 * results: whole, or for named modules only. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "diff.h"

static struct {
  const char *module, *html, *json, *keep, *isa;
  int64_t threads, seed;
} verify = {.seed = 1};
static const option verify_options[] = {
    {"--module", OPTION_TEXT, &verify.module, "NAME,...", "only these modules and what is in them: encoder,head", 0},
    {"--threads", OPTION_COUNT, &verify.threads, "N", "of the second run [1; 2 where the first has 1]", 1},
    {"--isa", OPTION_TEXT, &verify.isa, "NAME", "of the second run [as the first's]", 0},
    {"--stress-seed", OPTION_COUNT, &verify.seed, "N", "of the tuner's lies [1]", 1},
    {"--keep", OPTION_TEXT, &verify.keep, "DIR", "keep the two records, in DIR/a and DIR/b", 0},
    {"--html", OPTION_TEXT, &verify.html, "FILE", "write a page", 0},
    {"--json", OPTION_TEXT, &verify.json, "FILE", "write the finding as JSON", 0},
    {0}};
static const command verify_command = {
    .usage = "isobit verify [options] -- train KIND [options]",
    .about =
        "Runs a training job twice: as given, and with another number of threads, a tuner whose clock lies, memory "
        "handed out\n"
        "full of NaNs, and the caller's floating-point mode poisoned. Compares every operator's results, gradients "
        "and weights,\n"
        "and names the first difference down to the element.",
    .options = (const option *const[]){verify_options, NULL},
    .notes = "exit codes: 0 the same bits, 1 something differs (or a run failed), 2 wrong usage\n"
             "example: isobit verify -- train vision --model cnn --data synthetic --steps 5"};

enum { MAX_WORDS = 160 };

/* ---- one run ---- */

static int run_job(char *const words[], const char *stress) {
  int status;
  fflush(stdout), fflush(stderr);
  const pid_t child = fork();
  if (child < 0) return fprintf(stderr, "isobit: cannot start a process: %s\n", strerror(errno)), EXIT_FAILED;
  if (!child) {
    if (!freopen("/dev/null", "w", stdout)) _exit(EXIT_FAILED);
    if (stress) setenv("ISOBIT_STRESS", stress, 1);
    execv("/proc/self/exe", words);
    fprintf(stderr, "isobit: cannot start the job: %s\n", strerror(errno));
    _exit(EXIT_FAILED);
  }
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return EXIT_FAILED;
  return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILED;
}

static const char *word_of(int argc, char **argv, const char *name) {
  const size_t n = strlen(name);
  for (int i = 0; i < argc; i++) {
    if (strncmp(argv[i], name, n)) continue;
    if (argv[i][n] == '=') return argv[i] + n + 1;
    if (!argv[i][n] && i + 1 < argc) return argv[i + 1];
  }
  return NULL;
}

static int run_both(int argc, char **argv, const char *folder, char stress[128]) {
  static char path[2][4096], threads[32];
  char *words[MAX_WORDS + 16];
  const char *given = word_of(argc, argv, "--threads");
  snprintf(threads, sizeof threads, "%lld",
           verify.threads              ? (long long)verify.threads
           : given && atoi(given) == 1 ? 2
                                       : 1);
  snprintf(stress, 128, "fill=255,adversary=%lld,mode=poisoned", (long long)verify.seed);
  for (int i = 0; i < 2; i++) {
    int n = 0;
    snprintf(path[i], sizeof path[i], "%s/%c", folder, 'a' + i);
    words[n++] = "isobit";
    for (int k = 0; k < argc; k++) words[n++] = argv[k];
    const char *const more[] = {"--record", path[i], "--hash-detail", "operators", "--quiet", "--no-eval"};
    for (size_t k = 0; k < sizeof more / sizeof more[0]; k++) words[n++] = (char *)(uintptr_t)more[k];
    if (i) words[n++] = "--threads", words[n++] = threads;
    if (i && verify.isa) words[n++] = "--isa", words[n++] = (char *)(uintptr_t)verify.isa;
    words[n] = NULL;
    const int code = run_job(words, i ? stress : NULL);
    if (code == EXIT_OK) continue;
    fprintf(stderr, "isobit: the %s run of the job failed\n", i ? "second" : "first");
    return code;
  }
  printf(
      "runs             2: as given, and with %s threads%s%s, memory full of NaNs, a lying clock and a poisoned mode\n",
      threads, verify.isa ? ", " : "", verify.isa ? verify.isa : "");
  return EXIT_OK;
}

/* ---- the comparison ---- */

static int compare(const char *folder, const char *module, const char *stress, json_t *findings, bool first) {
  static diff_run run[2];
  static diff_report report;
  char path[2][4096], environment[160];
  memset(&report, 0, sizeof report);
  for (int i = 0; i < 2; i++) snprintf(path[i], sizeof path[i], "%s/%c", folder, 'a' + i);
  int code = EXIT_FAILED;
  if (diff_run_open(&run[0], path[0]) && diff_run_open(&run[1], path[1])) {
    report.run[0] = &run[0], report.run[1] = &run[1];
    diff_logs(run, module, &report.found);
    diff_explain(&report);
    snprintf(environment, sizeof environment, "ISOBIT_STRESS=%s", stress);
    if (report.found.kind == DIFF_RUN) diff_replay(&report, (const char *const[2]){NULL, environment});
    code = report.found.kind == DIFF_NONE ? EXIT_OK : EXIT_FAILED;
    if (module) printf("module           %s\n", module);
    diff_print(&report);
    json_t *finding = diff_json(&report);
    if (module) json_object_set_new(finding, "module", json_string(module));
    json_array_append_new(findings, finding);
    if (verify.html && (first || code) && diff_write_page(&report, verify.html)) code = EXIT_FAILED;
    json_decref(report.plans);
  }
  diff_run_close(&run[0]), diff_run_close(&run[1]);
  return code;
}

static int compare_modules(const char *folder, const char *stress) {
  char copy[1024];
  int code = EXIT_OK;
  bool first = true;
  json_t *findings = json_array();
  if (!verify.module) code = compare(folder, NULL, stress, findings, true);
  snprintf(copy, sizeof copy, "%s", verify.module ? verify.module : "");
  for (char *save, *word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save), first = false)
    if (compare(folder, word, stress, findings, first)) code = EXIT_FAILED;
  if (verify.json && job_write_json(verify.json, json_incref(findings))) code = EXIT_FAILED;
  json_decref(findings);
  return code;
}

static void remove_records(const char *folder) {
  static const char *const files[] = {"run.json", "hashes.tsv", "isobit.lock", ""};
  char path[4096];
  for (char run = 'a'; run <= 'b'; run++)
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
      if (snprintf(path, sizeof path, "%s/%c/%s", folder, run, files[i]) > 0) remove(path);
  remove(folder);
}

static int in_folder(int argc, char **argv) {
  char made[4096], stress[128];
  const char *folder = verify.keep;
  if (!folder) {
    snprintf(made, sizeof made, "%s/isobit-verify-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    if (!(folder = mkdtemp(made)))
      return fprintf(stderr, "isobit: cannot make %s: %s\n", made, strerror(errno)), EXIT_FAILED;
  } else if (output_make_folder("--keep", folder)) return EXIT_FAILED;
  int code = run_both(argc, argv, folder, stress);
  if (!code) code = compare_modules(folder, stress);
  if (!verify.keep) remove_records(folder);
  return code;
}

int command_verify(int argc, char **argv) {
  int n = 0;
  while (n < argc && strcmp(argv[n], "--") != 0) n++;
  int code = options_read(&verify_command, n, argv);
  if (code >= 0) return code;
  argc -= n + 1, argv += n + 1;
  if (argc < 2 || strcmp(argv[0], "train") != 0)
    return fprintf(stderr, "isobit: verify needs '-- train KIND …'\nusage: %s\n", verify_command.usage), EXIT_USAGE;
  if (argc > MAX_WORDS) return fprintf(stderr, "isobit: the job has more than %d words\n", MAX_WORDS), EXIT_USAGE;
  static const char *const ours[] = {"--record", "--hash-log", "--hash-detail"};
  for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
    if (word_of(argc, argv, ours[i]))
      return fprintf(stderr, "isobit: verify sets %s itself: leave it out (--keep DIR keeps the records)\n", ours[i]),
             EXIT_USAGE;
  if ((code = output_check("--html", verify.html)) >= 0 || (code = output_check("--json", verify.json)) >= 0)
    return code;
  return in_folder(argc, argv);
}
