/* diff_log.c: reads two hash logs a step at a time and finds what differs first in the order of computation: the
 * weights at the start, the batch, each run of an engine (where logged), the loss, gradients from the last layer to the
 * first, weights. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "diff.h"

/* ---- opening ---- */

static bool is_log(const char *path) {
  struct stat info;
  char text[2048];
  hash_line line;
  if (stat(path, &info) || S_ISDIR(info.st_mode)) return false;
  FILE *file = fopen(path, "r");
  const bool is = file && fgets(text, sizeof text, file) && hash_line_parse(text, &line);
  if (file) fclose(file);
  return is;
}

bool diff_run_open(diff_run *run, const char *path) {
  *run = (diff_run){.name = path};
  const char *log = path;
  if (!is_log(path)) {
    if (!recorded_open(&run->record, path)) return false;
    run->has_record = true;
    if (!*(log = run->record.hash_log)) {
      fprintf(stderr, "isobit: %s has no hash log: it was made without --record and --hash-log\n", path);
      return false;
    }
  }
  if (!(run->log = fopen(log, "r"))) fprintf(stderr, "isobit: cannot open '%s': %s\n", log, strerror(errno));
  return run->log != NULL;
}

void diff_run_close(diff_run *run) {
  if (run->log) fclose(run->log);
  if (run->has_record) recorded_close(&run->record);
  free(run->lines);
  *run = (diff_run){0};
}

/* ---- reading ---- */

static void copy_field(char *to, size_t n_bytes, const char *from) { snprintf(to, n_bytes, "%s", from ? from : ""); }

/* 1: read, 0: the end, −1: no line of a log. */
static int read_line(diff_run *run, diff_line *out) {
  char text[2048], *save, *field[8] = {0};
  if (!fgets(text, sizeof text, run->log)) return 0;
  run->n_read++;
  char copy[2048];
  strcpy(copy, text);
  *out = (diff_line){0};
  if (!strchr(text, '\n') || !hash_line_parse(text, &out->line)) return -1;
  if (out->line.name[0] != '#') return 1;
  for (int i = 0; i < 8; i++)
    if (!(field[i] = strtok_r(i ? NULL : copy, "\t\n", &save))) return -1;
  copy_field(out->phase, sizeof out->phase, field[4]);
  copy_field(out->module, sizeof out->module, strcmp(field[5], "-") ? field[5] : "");
  copy_field(out->problem, sizeof out->problem, field[6]);
  copy_field(out->engine, sizeof out->engine, field[7]);
  return 1;
}

static bool keep_line(diff_run *run, const diff_line *line) {
  if (run->n_lines == run->capacity) {
    const size_t more = run->capacity ? 2 * run->capacity : 256;
    diff_line *lines = realloc(run->lines, more * sizeof *lines);
    if (!lines) return false;
    run->lines = lines, run->capacity = more;
  }
  run->lines[run->n_lines++] = *line;
  return true;
}

/* The lines of one step: 1, 0 at the end, −1 where something is no line. */
static int read_step(diff_run *run, uint64_t *step) {
  diff_line line;
  int state = 1;
  run->n_lines = 0, run->has_runs = false;
  if (!run->has_ahead && (state = read_line(run, &run->ahead)) <= 0) return state;
  run->has_ahead = true;
  *step = run->ahead.line.step;
  do {
    if (!keep_line(run, &run->ahead)) return -1;
    run->has_runs |= run->ahead.line.name[0] == '#';
    run->has_ahead = (state = read_line(run, &line)) > 0;
    if (run->has_ahead) run->ahead = line;
  } while (run->has_ahead && line.line.step == *step);
  return state < 0 ? -1 : 1;
}

/* ---- comparing ---- */

/* Whether name is the module's, or something's in it. */
static bool is_inside(const char *name, const char *module) {
  const size_t n = strlen(module);
  return !strncmp(name, module, n) && (!name[n] || name[n] == '.');
}

/* Lines of A that are the module's. */
static uint64_t count_module(const diff_run *run, const char *module) {
  uint64_t n = 0;
  for (size_t i = 0; i < run->n_lines; i++)
    n += is_inside(run->lines[i].line.name[0] == '#' ? run->lines[i].module : run->lines[i].line.name, module);
  return n;
}

static const diff_line *next_run(const diff_run *run, size_t *at, const char *module) {
  for (; *at < run->n_lines; ++*at) {
    const diff_line *l = &run->lines[*at];
    if (l->line.name[0] == '#' && (!module || is_inside(l->module, module))) return &run->lines[(*at)++];
  }
  return NULL;
}

static bool found_at(diff_found *f, diff_kind kind, const diff_line *a, const diff_line *b) {
  f->kind = kind;
  if (a) f->line[0] = *a;
  if (b) f->line[1] = *b;
  return true;
}

static bool compare_runs(const diff_run run[2], const char *module, diff_found *f) {
  size_t at[2] = {0, 0};
  f->n_same = 0;
  if (!run[0].has_runs || !run[1].has_runs) return false;
  for (;;) {
    const diff_line *a = next_run(&run[0], &at[0], module), *b = next_run(&run[1], &at[1], module);
    if (!a && !b) return false;
    f->index = atoi((a ? a : b)->line.name + 1);
    if (!a || !b || strcmp(a->problem, b->problem) || strcmp(a->module, b->module) || strcmp(a->phase, b->phase))
      return found_at(f, DIFF_SEQUENCE, a, b);
    if (strcmp(a->line.gradient, b->line.gradient)) return found_at(f, DIFF_RUN, a, b);
    f->n_other_engines += strcmp(a->engine, b->engine) != 0;
    f->n_same++;
  }
}

static const diff_line *find(const diff_run *run, const char *name) {
  for (size_t i = 0; i < run->n_lines; i++)
    if (!strcmp(run->lines[i].line.name, name)) return &run->lines[i];
  return NULL;
}

static bool compare_named(const diff_run run[2], const char *name, diff_kind kind, diff_found *f) {
  const diff_line *a = find(&run[0], name), *b = find(&run[1], name);
  if (!a || !b) return false; /* logs of an older release */
  return (strcmp(a->line.gradient, b->line.gradient) || strcmp(a->line.weight, b->line.weight)) &&
         found_at(f, kind, a, b);
}

static bool is_tensor(const diff_line *l) {
  const char *n = l->line.name;
  return n[0] != '#' && strcmp(n, "start") && strcmp(n, "batch") && strcmp(n, "loss");
}

/* Gradients from the last tensor to the first, which is the order they were computed in; then weights from the first.
 */
static bool compare_tensors(const diff_run run[2], const char *module, diff_found *f) {
  for (size_t i = run[0].n_lines; i-- > 0;) {
    const diff_line *a = &run[0].lines[i];
    if (!is_tensor(a) || (module && !is_inside(a->line.name, module))) continue;
    const diff_line *b = find(&run[1], a->line.name);
    if (!b) return found_at(f, DIFF_SEQUENCE, a, NULL);
    if (strcmp(a->line.gradient, b->line.gradient)) return found_at(f, DIFF_GRADIENT, a, b);
  }
  for (size_t i = 0; i < run[0].n_lines; i++) {
    const diff_line *a = &run[0].lines[i], *b = is_tensor(a) ? find(&run[1], a->line.name) : NULL;
    if (b && (!module || is_inside(a->line.name, module)) && strcmp(a->line.weight, b->line.weight))
      return found_at(f, DIFF_WEIGHTS, a, b);
  }
  return false;
}

/* Updates belong to no module: the tensor is the first whose weights differ behind them. */
static void name_update(const diff_run run[2], diff_found *f) {
  if (f->kind != DIFF_RUN || strcmp(f->line[0].phase, "update") || *f->line[0].module) return;
  for (size_t i = 0; i < run[0].n_lines; i++) {
    const diff_line *a = &run[0].lines[i], *b = is_tensor(a) ? find(&run[1], a->line.name) : NULL;
    if (!b || !strcmp(a->line.weight, b->line.weight)) continue;
    for (int k = 0; k < 2; k++) copy_field(f->line[k].module, sizeof f->line[k].module, a->line.name);
    return;
  }
}

/* Runs, then what they led to. Operators may be computed by other kernels on other numbers of threads (two gradients at
 * once, or each by itself): another sequence of runs is a difference only where loss, gradients or weights differ, too.
 */
static bool compare_work(const diff_run run[2], const char *module, diff_found *f) {
  const bool runs_differ = compare_runs(run, module, f);
  if (runs_differ && f->kind == DIFF_RUN) return true;
  diff_found behind = *f;
  const bool differs =
      (!module && compare_named(run, "loss", DIFF_LOSS, &behind)) || compare_tensors(run, module, &behind);
  if (runs_differ && differs) return true; /* f says where they part */
  if (differs) *f = behind;
  else f->kind = DIFF_NONE, f->n_other_sequences += runs_differ;
  return differs;
}

static bool compare_step(const diff_run run[2], const char *module, diff_found *f) {
  if (module) f->n_of_module += count_module(&run[0], module);
  else if (compare_named(run, "start", DIFF_START, f) || compare_named(run, "batch", DIFF_BATCH, f)) return true;
  return compare_work(run, module, f);
}

/* Of a run that was resumed or cut: from the first step that both have. */
static int align(diff_run run[2], uint64_t step[2]) {
  int state[2] = {read_step(&run[0], &step[0]), read_step(&run[1], &step[1])};
  while (state[0] > 0 && state[1] > 0 && step[0] != step[1]) {
    const int behind = step[1] < step[0];
    state[behind] = read_step(&run[behind], &step[behind]);
  }
  return state[0] < 0 || state[1] < 0 ? -1 : (state[0] > 0) + 2 * (state[1] > 0);
}

static void compare_logs(diff_run run[2], const char *module, diff_found *f) {
  uint64_t step[2] = {0, 0};
  *f = (diff_found){0};
  for (;;) {
    const int state = align(run, step);
    if (state < 0) {
      f->kind = DIFF_DAMAGED;
      snprintf(f->damaged, sizeof f->damaged, "line %llu of A or line %llu of B is no line of a hash log",
               (unsigned long long)run[0].n_read, (unsigned long long)run[1].n_read);
      return;
    }
    if (state == 0) return;
    f->step = step[state == 2];
    if (state != 3) {
      f->kind = DIFF_LENGTH, f->ended[0] = state == 2, f->ended[1] = state == 1;
      return;
    }
    if (compare_step(run, module, f)) return name_update(run, f);
    f->n_steps++;
  }
}

void diff_logs(diff_run run[2], const char *module, diff_found *f) {
  compare_logs(run, module, f);
  if (f->kind != DIFF_NONE || !module || f->n_of_module) return;
  f->kind = DIFF_NO_MODULE;
  snprintf(f->damaged, sizeof f->damaged, "no module or tensor is named '%.150s'", module);
}
