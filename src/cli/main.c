/* main.c: the program `isobit`: finds the command and hands it its arguments. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include "cli.h"

static const struct entry {
  const char *words[2]; /* "compare", "vision" */
  int (*run)(int argc, char **argv);
  const char *help; /* NULL: not listed */
} commands[] = {
    {{"compare", "vision"},
     command_compare,
     "train a model under several policies: what each costs, and the same bits or not"},
    {{"compare", "text"}, command_compare, "the same of a model of texts"},
    {{"train", "vision"}, command_train, "train an image model; checkpoints resume bit-equal"},
    {{"train", "text"}, command_train, "train or fine-tune a model of texts with labels; likewise"},
    {{"data", NULL}, command_data, "what is in a file of texts: classes, lengths, padding, and what is wrong with it"},
    {{"tokenize", NULL}, command_tokenize, "what a tokenizer makes of texts: ids, tokens, and where they are"},
    {{"reproduce", NULL}, command_reproduce, "repeat a training job and name the first step and tensor that differ"},
    {{"diff", NULL}, command_diff, "the first step, module, operator and element at which two runs differ, and why"},
    {{"verify", NULL}, command_verify, "run a training job twice under stress: the same bits, or where they part"},
    {{"eval", NULL}, command_eval, "loss and accuracy of a checkpoint on the test split"},
    {{"checkpoint", "verify"},
     command_checkpoint_verify,
     "whether a checkpoint is as it was written, and what it is of"},
    {{"predict", NULL}, command_predict, "classes of texts by a trained model, with their probabilities"},
    {{"embed", NULL}, command_embed, "texts as vectors; the nearest to a query among them"},
    {{"export", NULL}, command_export, "a trained text model as Hugging Face's libraries load it"},
    {{"plan-memory", "vision"}, command_plan_memory, "the memory a training job will take, and what would lower it"},
    {{"plan-memory", "text"}, command_plan_memory, "the same for a job on texts"},
    {{"plans", NULL}, command_plans, "the algorithms for a problem, which one is chosen, and why"},
    {{"tune", NULL}, command_tune, "measure the algorithms of a model or of problems, and keep the results"},
    {{"lock", NULL}, command_lock, "compare lockfiles, or check that one still holds"},
    {{"bench", "session"},
     command_bench_session,
     "an inference session fed lengths it has not seen: first calls, p50 and p99, and bits"},
    {{"bench", NULL}, command_bench, "time every algorithm of problems, beside the machine's measured peaks"},
    {{"trace", NULL}, command_trace, "time by operator of a training job's steps, and what to do about it"},
    {{"advise", NULL}, command_advise, "what holds a traced run back, with figures, and what to set"},
    {{"monitor", NULL}, command_monitor, "what the GPUs are doing: utilisation, memory, clocks, temperature, power"},
    {{"operators", NULL}, command_operators, "what every operator computes, takes and gives"},
    {{"doctor", NULL}, command_doctor, "what this machine gives Isobit, and what to mend"},
    {{"autocast", NULL}, command_autocast, "what each operator does in mixed precision: low, f32, widest or as it is"},
    {{"policy", NULL}, command_policy, "what the presets and dials promise, cost and are for; which one to take"},
};

static int usage(FILE *to, int code) {
  fprintf(to,
          "isobit %s: deep learning with the same bits every run, at full speed\n\nusage: isobit COMMAND [options]; "
          "isobit COMMAND --help says more\n\n",
          iso_version());
  for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
    if (commands[i].help) {
      char words[48];
      snprintf(words, sizeof words, "%s%s%s", commands[i].words[0], commands[i].words[1] ? " " : "",
               commands[i].words[1] ? commands[i].words[1] : "");
      fprintf(to, "  %-19s %s\n", words, commands[i].help);
    }
  fprintf(to, "\nexit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted\n");
  return code;
}

/* Descriptors 0 to 2 that the caller closed would be given to the first files opened, which prints would then damage.
 */
static void open_standard_streams(void) {
  int fd;
  do fd = open("/dev/null", O_RDWR);
  while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd >= 0) close(fd);
}

/* A word that needs another: which ones there are. */
static int needs_kind(FILE *to, const char *word, const char *given, int code) {
  fprintf(to, "isobit: '%s' is followed by", word);
  for (size_t i = 0, n = 0; i < sizeof commands / sizeof commands[0]; i++)
    if (!strcmp(word, commands[i].words[0])) fprintf(to, "%s '%s'", n++ ? " or" : "", commands[i].words[1]);
  if (given) fprintf(to, ", not by '%s'", given);
  fprintf(to, "; isobit %s KIND --help says more\n", word);
  return code;
}

static int run_command(int argc, char **argv) {
  bool knows_word = false;
  job_set_command(argc, argv);
  if (argc < 2) return usage(stderr, EXIT_USAGE);
  if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) return usage(stdout, EXIT_OK);
  if (!strcmp(argv[1], "--version")) return printf("isobit %s\n", iso_version()) < 0;
  for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
    const struct entry *c = &commands[i];
    if (strcmp(argv[1], c->words[0]) != 0) continue;
    if (!c->words[1]) return c->run(argc - 2, argv + 2);
    knows_word = true;
    if (argc > 2 && !strcmp(argv[2], c->words[1])) return job_select(argv[2]), c->run(argc - 3, argv + 3);
  }
  const bool help = argc > 2 && (!strcmp(argv[2], "--help") || !strcmp(argv[2], "-h"));
  if (knows_word)
    return needs_kind(help ? stdout : stderr, argv[1], help || argc < 3 ? NULL : argv[2], help ? EXIT_OK : EXIT_USAGE);
  fprintf(stderr, "isobit: there is no command '%s'; see isobit --help\n", argv[1]);
  return EXIT_USAGE;
}

int main(int argc, char **argv) {
  open_standard_streams();
  const int code = run_command(argc, argv);
  if (!fflush(stdout) && !ferror(stdout)) return code;
  fprintf(stderr, "isobit: cannot write to standard output: %s\n", strerror(errno));
  return code ? code : EXIT_FAILED;
}
