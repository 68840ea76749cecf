/* hash_steps.c: the first difference of two hash logs, a step at a time. */
#include "hash_steps.h"
#include <stdlib.h>
#include <string.h>

/* "STEP<tab>NAME<tab>gradient<tab>weight", and of runs four fields more */
bool hash_line_parse(char *text, hash_line *line) {
  char *save, *field[4];
  for (int i = 0; i < 4; i++)
    if (!(field[i] = strtok_r(i ? NULL : text, "\t\n", &save))) return false;
  if (strlen(field[1]) >= sizeof line->name || strlen(field[2]) > 32 || strlen(field[3]) > 32) return false;
  line->step = strtoull(field[0], NULL, 10);
  strcpy(line->name, field[1]), strcpy(line->gradient, field[2]), strcpy(line->weight, field[3]);
  return true;
}

static bool is_run(const hash_line *line) { return line->name[0] == '#'; }

typedef enum reading { READ, AT_END, BAD } reading;

/* Runs of engines are passed over: the record may have been made with them and the repetition without. */
static reading read_line(FILE *file, hash_line *line, uint64_t *n_lines) {
  char text[2048];
  while (fgets(text, sizeof text, file)) {
    ++*n_lines;
    if (!hash_line_parse(text, line)) return BAD;
    if (!is_run(line)) return READ;
  }
  clearerr(file); /* the new log grows */
  return AT_END;
}

static reading read_recorded(hash_steps *s, hash_line *line) {
  if (s->has_ahead) return *line = s->ahead, s->has_ahead = false, READ;
  return read_line(s->recorded, line, &s->line);
}

bool hash_steps_first(hash_steps *s, uint64_t *step) {
  s->has_ahead = read_recorded(s, &s->ahead) == READ;
  *step = s->ahead.step;
  return s->has_ahead;
}

void hash_steps_skip(hash_steps *s) {
  hash_line unused;
  uint64_t n = 0;
  while (read_line(s->now, &unused, &n) == READ) {}
}

static hash_difference bad_record(const hash_steps *s, const char *why) {
  hash_difference d = {.kind = HASH_RECORD};
  snprintf(d.name, sizeof d.name, "line %llu of the recorded hashes %s", (unsigned long long)s->line, why);
  return d;
}

static void set(hash_difference *d, hash_kind kind, const hash_line *recorded, const hash_line *now) {
  d->kind = kind;
  snprintf(d->name, sizeof d->name, "%s", now->name);
  strcpy(d->recorded, kind == HASH_WEIGHTS ? recorded->weight : recorded->gradient);
  strcpy(d->now, kind == HASH_WEIGHTS ? now->weight : now->gradient);
}

hash_difference hash_steps_compare(hash_steps *s) {
  hash_difference d = {.kind = HASH_SAME};
  hash_line was, is;
  uint64_t n = 0;
  while (read_line(s->now, &is, &n) == READ) {
    const reading r = read_recorded(s, &was);
    if (r != READ) return bad_record(s, r == BAD ? "is damaged" : "is missing: the record ends before this step's end");
    if (was.step != is.step || strcmp(was.name, is.name) != 0) return bad_record(s, "is of another step or tensor");
    const bool loss = !strcmp(is.name, "loss");
    if (d.kind == HASH_INPUT) continue;
    if (!strcmp(is.name, "start") || !strcmp(is.name, "batch")) {
      if (strcmp(was.gradient, is.gradient) || strcmp(was.weight, is.weight)) set(&d, HASH_INPUT, &was, &is);
    } else if (strcmp(was.gradient, is.gradient) != 0) { /* the last gradient that differs was computed first */
      if (loss) set(&d, HASH_LOSS, &was, &is);
      else if (d.kind != HASH_LOSS) set(&d, HASH_GRADIENT, &was, &is);
    } else if (strcmp(was.weight, is.weight) != 0 && d.kind == HASH_SAME) set(&d, HASH_WEIGHTS, &was, &is);
  }
  return d;
}
