/* diff.h: two runs' hash logs, the first difference in them, and what is known about it. */
#ifndef ISO_CLI_DIFF_H
#define ISO_CLI_DIFF_H
#include "hash_steps.h"
#include "recorded.h"

/* A line of a log; of runs of engines also what ran. */
typedef struct diff_line {
  hash_line line;
  char phase[12], module[256], problem[1024], engine[192]; /* engine: "cpu.avx2.gemm_blocked@2 class ordered" */
} diff_line;

typedef struct diff_run {
  const char *name; /* as on the command line */
  recorded record;
  bool has_record; /* else a bare hash log */
  FILE *log;
  uint64_t n_read; /* lines */
  bool has_ahead;  /* the next step's first line was read */
  diff_line ahead;
  diff_line *lines; /* of the step in progress */
  size_t n_lines, capacity;
  bool has_runs; /* of engines, in that step */
} diff_run;

typedef enum diff_kind {
  DIFF_NONE,
  DIFF_START,    /* the weights before the first step */
  DIFF_BATCH,    /* inputs or targets                 */
  DIFF_SEQUENCE, /* another problem was computed      */
  DIFF_RUN,      /* of an engine: other results       */
  DIFF_LOSS,
  DIFF_GRADIENT,
  DIFF_WEIGHTS,
  DIFF_LENGTH,   /* one log ends earlier                */
  DIFF_DAMAGED,  /* a line that is none of a hash log   */
  DIFF_NO_MODULE /* nothing has the module's name      */
} diff_kind;

typedef struct diff_found {
  diff_kind kind;
  uint64_t step, n_steps;     /* n_steps: compared and the same */
  diff_line line[2];          /* A's and B's                    */
  bool ended[2];              /* DIFF_LENGTH: whose log ended   */
  uint64_t n_same;            /* runs before it in the step     */
  uint64_t n_of_module;       /* lines of the module, in all    */
  int index;                  /* of the run in the step         */
  uint64_t n_other_sequences; /* steps whose runs part, but not what they led to */
  uint64_t n_other_engines;   /* runs of the same results by another engine, until then */
  char damaged[192];
  /* On replay (diff_replay.c). */
  bool replayed;
  char output[64], dtype[16];
  int64_t n_elements, n_differing, first, worst;
  char value[2][40], worst_value[2][40];
  uint64_t ulp, worst_ulp;
} diff_found;

enum { DIFF_MAX_FACTS = 96 };
typedef struct diff_fact {
  char what[64], value[2][320];
} diff_fact;
typedef struct diff_report {
  const diff_run *run[2];
  diff_found found;
  diff_fact facts[DIFF_MAX_FACTS]; /* of the two manifests: what differs */
  int n_facts;
  json_t *plans; /* [{problem, a, b, other_class}] */
  char cause[1024];
} diff_report;

/* diff_log.c. A folder of --record, a job's JSON with a hash log, or a bare log; false after printing why not. */
bool diff_run_open(diff_run *run, const char *path);
void diff_run_close(diff_run *run);
/* The first difference; module NULL: everywhere, else only of that module and what is in it ("encoder"). */
void diff_logs(diff_run run[2], const char *module, diff_found *found);

/* diff_cause.c: facts, plan lines, and the likely cause in words. */
void diff_explain(diff_report *report);
/* The value of what, "" without such a fact. */
const diff_fact *diff_find_fact(const diff_report *report, const char *what);

/* diff_replay.c: repeats both runs up to the differing run of an engine and compares its results. False after printing
 * why not. environment: of each run, "NAME=VALUE" or NULL. */
bool diff_replay(diff_report *report, const char *const environment[2]);

/* diff_page.c */
int diff_write_page(const diff_report *report, const char *path);
/* diff.c: to standard output, and as JSON. */
void diff_print(const diff_report *report);
json_t *diff_json(const diff_report *report);
const char *diff_headline(const diff_report *report, char *text, size_t n_bytes);
#endif
