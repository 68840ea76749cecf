/* lock_compare.c: a lockfile against this build, and against another lockfile. */
#include <stdio.h>
#include <stdlib.h>
#include "plan/state.h"

static int by_number(const void *a, const void *b) {
  const iso__lock_line *x = a, *y = b;
  return (x->number > y->number) - (x->number < y->number);
}

static int plan_format(const iso__lock_line *line, char *text, size_t n_bytes) {
  return snprintf(text, n_bytes, "%s@%d class %s ws %s", line->engine, line->revision, line->class_name,
                  line->workspace);
}

/* Whether this build still has the line's plan; else the reason. Neither policy nor machine is asked. */
static bool holds(const iso__lock_line *line, char *why, size_t n_bytes) {
  _Alignas(16) unsigned char buffer[ISO__MAX_PROBLEM_BYTES];
  const iso__problem *problem = (iso__problem *)buffer;
  const char *reason;
  if (iso__problem_read(line->problem, buffer, why, n_bytes) != ISO_OK) return false;
  const iso__engine *e = iso__engine_named(problem->op, line->engine);
  if (!e) return snprintf(why, n_bytes, "there is no engine %.60s for this operator", line->engine), false;
  if (e->revision != line->revision)
    return snprintf(why, n_bytes, "%s has revision %d here", e->name, e->revision), false;
  if (strcmp(e->class_name, line->class_name) != 0)
    return snprintf(why, n_bytes, "%s is of class %s here", e->name, e->class_name), false;
  if (!(e->dtypes & ISO__DTYPE_BIT(problem->dtype)))
    return snprintf(why, n_bytes, "%s does not compute %s", e->name, iso_dtype_name((iso_dtype)problem->dtype)), false;
  if ((reason = iso__engine_refuses(e, problem))) return snprintf(why, n_bytes, "%s: %s", e->name, reason), false;
  return true;
}

iso_status iso_lock_check(iso_context *ctx, const char *path,
                          void (*report)(void *user, const iso_lock_finding *finding), void *user, size_t *n_lines,
                          size_t *n_stale) {
  size_t stale = 0;
  iso__lock *lock = iso__failed(ctx) ? NULL : iso__lock_open(ctx, path);
  if (!lock) return iso_error_code(ctx);
  if (lock->n_lines) qsort(lock->line, lock->n_lines, sizeof *lock->line, by_number);
  for (size_t i = 0; i < lock->n_lines; i++) {
    const iso__lock_line *line = &lock->line[i];
    char why[320], plan[256], text[ISO_PLAN_LINE_BYTES];
    if (holds(line, why, sizeof why)) continue;
    stale++;
    plan_format(line, plan, sizeof plan);
    snprintf(text, sizeof text, "%s -> %s", line->problem, plan);
    if (report) report(user, &(iso_lock_finding){.line = line->number, .text = text, .reason = why});
  }
  if (n_lines) *n_lines = lock->n_lines;
  if (n_stale) *n_stale = stale;
  iso__lock_release(lock);
  return ISO_OK;
}

/* ---- two files ---- */

static int compare_problems(const iso__lock_line *a, const iso__lock_line *b) { return strcmp(a->problem, b->problem); }

static int by_problem(const void *a, const void *b) {
  const iso__lock_line *x = a, *y = b;
  int order = compare_problems(x, y);
  if (!order) order = strcmp(x->engine, y->engine);
  return order ? order : by_number(a, b);
}

static bool is_same_plan(const iso__lock_line *a, const iso__lock_line *b) {
  return a->revision == b->revision && !strcmp(a->engine, b->engine) && !strcmp(a->class_name, b->class_name);
}

typedef struct comparison {
  void (*report)(void *user, const iso_lock_change *change);
  void *user;
  size_t n_changes;
} comparison;

static void tell(comparison *c, const iso__lock_line *before, const iso__lock_line *after) {
  char texts[2][256];
  if (before) plan_format(before, texts[0], sizeof texts[0]);
  if (after) plan_format(after, texts[1], sizeof texts[1]);
  c->n_changes++;
  const iso_lock_change change = {.problem = (before ? before : after)->problem,
                                  .before = before ? texts[0] : NULL,
                                  .after = after ? texts[1] : NULL,
                                  .other_class = before && after && strcmp(before->class_name, after->class_name)};
  if (c->report) c->report(c->user, &change);
}

/* Both sorted by problem: a merge. Several lines of one problem are paired in the order of their engines. */
static void compare(const iso__lock *a, const iso__lock *b, comparison *c) {
  size_t i = 0, j = 0;
  while (i < a->n_lines || j < b->n_lines) {
    const iso__lock_line *before = i < a->n_lines ? &a->line[i] : NULL, *after = j < b->n_lines ? &b->line[j] : NULL;
    const int order = !before ? 1 : !after ? -1 : compare_problems(before, after);
    if (order < 0) after = NULL;
    if (order > 0) before = NULL;
    if (!before || !after || !is_same_plan(before, after)) tell(c, before, after);
    i += before != NULL, j += after != NULL;
  }
}

iso_status iso_lock_diff(iso_context *ctx, const char *path_before, const char *path_after,
                         void (*report)(void *user, const iso_lock_change *change), void *user, size_t *n_changes) {
  comparison c = {.report = report, .user = user};
  iso__lock *a = iso__failed(ctx) ? NULL : iso__lock_open(ctx, path_before);
  iso__lock *b = a ? iso__lock_open(ctx, path_after) : NULL;
  if (b) {
    if (a->n_lines) qsort(a->line, a->n_lines, sizeof *a->line, by_problem);
    if (b->n_lines) qsort(b->line, b->n_lines, sizeof *b->line, by_problem);
    compare(a, b, &c);
    if (n_changes) *n_changes = c.n_changes;
  }
  iso__lock_release(a);
  iso__lock_release(b);
  return iso_error_code(ctx);
}
