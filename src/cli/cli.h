/* cli.h: what the program's commands share. The program sees Isobit's public headers only. */
#ifndef ISO_CLI_CLI_H
#define ISO_CLI_CLI_H
#include <isobit/isobit.h>
#include <jansson.h>
#include <stdio.h>

/* Exit codes. */
enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_INTERRUPTED = 130 };

/* ---- options.c: one table an option list; --help and errors come from it ---- */
typedef enum option_kind { OPTION_TEXT, OPTION_COUNT, OPTION_NUMBER, OPTION_FLAG } option_kind;
typedef struct option {
  const char *name; /* "--steps" */
  option_kind kind;
  void *value; /* const char **, int64_t *, double *, bool * */
  const char *argument, *help;
  int64_t low; /* COUNT: the least value accepted */
} option;
typedef struct command {
  const char *usage;            /* "isobit train vision [options]" */
  const char *about;            /* a few sentences */
  const option *const *options; /* lists, NULL-terminated; a list ends with an unnamed option */
  const char *notes;            /* printed at the end of --help: exit codes, examples */
} command;
/* Reads argv[0…]; returns −1 to go on, else the exit code (0 after --help). Errors name option and value. */
int options_read(const command *command, int argc, char **argv);

/* ---- job.c: options of every job, and the context made from them ---- */
typedef struct job_options {
  const char *policy, *isa, *device, *json, *set, *lock;
  int64_t threads, seed, leaves, pass_leaves, image_size, workers, steps, epochs;
  bool quiet, checkpointing;
} job_options;
extern job_options job;
extern const option job_option_list[];
extern iso_vision_options vision;
extern const option vision_option_list[];
/* The policy the options name, with dials set; −1, or an exit code after printing why. */
int job_policy(const char *preset, iso_policy *policy);
/* Warnings to stderr, and the lockfile of --lock: what job_context does to every context. */
iso_status job_prepare(iso_context *ctx);
/* A context for the policy; prints why not and returns NULL. */
iso_context *job_context(const iso_policy *policy, int64_t threads);
bool job_lock_exists(void); /* --lock was given and the file is there: it was loaded, not to be written */
/* Prints "isobit: MESSAGE" from the context and returns EXIT_FAILED. */
int job_failed(const iso_context *ctx);
/* Ctrl-C asks for an end after the step in progress. */
void job_catch_interrupts(void);
bool job_interrupted(void);

/* ---- task.c: the kinds of training job ---- */
typedef struct job_task {
  const char *name;    /* "vision" */
  const char *samples; /* "images" */
  const option *options;
  const char *about, *example, *compare_example; /* for --help */
  iso_trainer *(*trainer)(iso_context *ctx);     /* from its options; NULL with the context's error set */
  void (*relocate)(const char *folder);          /* relative paths of its options: from there, if they exist there */
  const char *(*model_name)(void);
  int64_t (*batch_size)(void);
} job_task;
extern const job_task *job_kind;            /* of this command; vision unless selected */
bool job_select(const char *name);          /* false: there is no such kind */
iso_trainer *job_trainer(iso_context *ctx); /* of job_kind, by its options */
/* Makes context and trainer as the options say, for `use`; its exit code. */
int job_with_trainer(int (*use)(iso_context *ctx, iso_trainer *trainer));
/* text_job.c */
extern iso_text_options text_job;
extern const option text_option_list[];
iso_trainer *text_trainer(iso_context *ctx);
void text_relocate(const char *folder);
const char *text_model_name(void);

/* ---- output.c: files that a job writes at its end ---- */
typedef struct output {
  const char *option, *path;
  char target[4096];
  bool beside; /* target is not path */
  FILE *file;
} output;
/* Before the work: whether it can be written (path NULL: not asked for); −1, or an exit code after saying why not. */
int output_check(const char *option_name, const char *path);
/* Opens a file beside; closing renames it. 0 or an exit code. */
int output_open(output *o, const char *option_name, const char *path);
int output_close(output *o);
/* A folder that may be there already. 0 or an exit code. */
int output_make_folder(const char *option_name, const char *path);
int job_check_json(void); /* --json */
/* 0 or an exit code. Takes the reference to `root`. */
int job_write_json(const char *path, json_t *root);

/* ---- plans.c ---- */
/* An array of the problem's candidates as objects; NULL with the context's error set. */
json_t *plan_candidates_json(iso_context *ctx, const char *problem);
/* Chosen, or could have been. */
bool plan_could_run(const iso_plan_candidate *c);

/* ---- manifest.c ---- */
void job_set_command(int argc, char **argv);
/* Versions, device, policy, threads, seed, data, plans, command: the first lines of a job, and the same as JSON. */
json_t *job_manifest(const iso_context *ctx, const iso_trainer *trainer);
void job_print_manifest(const json_t *manifest);

/* ---- record.c: the folder of --record, from which `isobit reproduce` repeats a run ---- */
/* Makes it; `hash_log` gets the path of its hash log. −1, or an exit code after saying why not. */
int record_begin(const char *folder, char *hash_log, size_t n_bytes);
/* Writes the plans used and `result`. 0 or an exit code. */
int record_end(iso_context *ctx, const char *folder, json_t *result);

/* ---- problems.c: what plans, tune and bench are about ---- */
int problems_count_words(int argc, char **argv); /* leading arguments that are no options */
json_t *problems_from_words(int n, char **words);
/* Of `vision`'s model: a step's and an evaluation's; with_start: and those of making it. Prints why not, returns NULL.
 */
json_t *problems_of_model(iso_context *ctx, bool with_start);

/* ---- progress.c: a bar with time left, on a terminal; a line now and then elsewhere ---- */
typedef struct progress {
  const char *label;
  uint64_t n, done, begin_ns, shown_ns;
  bool terminal, quiet;
} progress;
void progress_begin(progress *p, const char *label, uint64_t n, bool quiet);
void progress_add(progress *p, uint64_t n, const char *note);
void progress_end(progress *p);
uint64_t now_ns(void);

/* ---- memory.c ---- */
long peak_memory_kib(void); /* of this process */
/* "NAME  812 MiB at most: weights …" */
void print_memory(const char *name, size_t peak, const iso_memory_owners *owners);
json_t *owners_json(const iso_memory_owners *owners);
/* Prints and notes what memory held when it held most: the context's, as told here, and its device's. */
void report_memory(const iso_context *ctx, const iso_memory_info *memory, json_t *result);

/* ---- the commands; argv starts after the command's words ---- */
int command_train(int argc, char **argv);
int train_read(int argc, char **argv); /* the options of `train` of job_kind; −1, or an exit code */
int command_plan_memory(int argc, char **argv);
int command_reproduce(int argc, char **argv);
int command_diff(int argc, char **argv);
int command_checkpoint_verify(int argc, char **argv);
int command_verify(int argc, char **argv);
int command_eval(int argc, char **argv);
int command_predict(int argc, char **argv);
int command_embed(int argc, char **argv);
int command_export(int argc, char **argv);
int command_compare(int argc, char **argv);
int command_plans(int argc, char **argv);
int command_policy(int argc, char **argv);
int command_autocast(int argc, char **argv);
int command_tune(int argc, char **argv);
int command_data(int argc, char **argv);
int command_tokenize(int argc, char **argv);
int command_lock(int argc, char **argv);
int command_operators(int argc, char **argv);
int command_trace(int argc, char **argv);
int command_advise(int argc, char **argv);
int command_monitor(int argc, char **argv);
int command_doctor(int argc, char **argv);
int command_bench(int argc, char **argv);
int command_bench_session(int argc, char **argv);
#endif
