/* delimited.c: CSV as RFC 4180 has it, and TSV, which has no quoting. Fields are unquoted where they lie, since that
 * only shortens them: a field of any size needs no memory of its own. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "io/source.h"
#include "text/dataset.h"

typedef struct reader {
  iso__rows *rows;
  char *at, *end;
  bool is_csv;
  bool chosen, has_header; /* which columns: known from the first record on */
  int64_t line;            /* of `at`, from 1 */
  /* the record that was read last */
  int64_t begin_line;
  iso_text *fields;
  size_t n_fields, capacity;
} reader;

/* Which fields of a row are text and label, from 0; label -1: none. */
typedef struct columns {
  int64_t text, label;
} columns;

/* "row 3 (line 5)" of the record that is being read. */
static char *place(const reader *r, char text[64]) {
  if (!r->chosen) snprintf(text, 64, "the first row (line %" PRId64 ")", r->begin_line);
  else snprintf(text, 64, "row %" PRId64 " (line %" PRId64 ")", r->rows->n_rows + 1, r->begin_line);
  return text;
}

/* ---- records ---- */

/* Bytes of the line end at p: 0 if it is none. */
static size_t line_end(const reader *r, const char *p) {
  if (p == r->end) return 0;
  if (*p == '\n') return 1;
  if (*p != '\r') return 0;
  if (p + 1 < r->end && p[1] == '\n') return 2;
  return r->is_csv || p + 1 == r->end ? 1 : 0;
}

static bool add_field(reader *r, char *begin, size_t n) {
  if (!iso__grow(r->rows->ctx, (void **)&r->fields, &r->capacity, r->n_fields + 1, sizeof *r->fields)) return false;
  r->fields[r->n_fields++] = (iso_text){begin, n};
  return true;
}

/* From behind the opening quote; *at ends up behind the closing one. */
static bool read_quoted(reader *r) {
  char *begin = r->at, *to = begin, text[64];
  for (;;) {
    char *quote = memchr(r->at, '"', (size_t)(r->end - r->at));
    if (!quote)
      return ISO__FAIL(r->rows->ctx, ISO_CORRUPT, r->rows->name, "%s, field %zu: a quote is never closed",
                       place(r, text), r->n_fields + 1),
             false;
    for (const char *p = r->at; p < quote; p++)
      r->line += *p == '\n' || (*p == '\r' && p[1] != '\n'); /* the quote is behind p at the latest */
    memmove(to, r->at, (size_t)(quote - r->at));
    to += quote - r->at;
    r->at = quote + 1;
    if (r->at == r->end || *r->at != '"') break;
    *to++ = '"';
    r->at++;
  }
  if (r->at < r->end && *r->at != ',' && line_end(r, r->at) == 0)
    return ISO__FAIL(r->rows->ctx, ISO_CORRUPT, r->rows->name, "%s, field %zu: more follows its closing quote",
                     place(r, text), r->n_fields + 1),
           false;
  return add_field(r, begin, (size_t)(to - begin));
}

static bool read_field(reader *r) {
  if (r->is_csv && r->at < r->end && *r->at == '"') return r->at++, read_quoted(r);
  const char delimiter = r->is_csv ? ',' : '\t';
  char *begin = r->at;
  while (r->at < r->end && *r->at != delimiter && line_end(r, r->at) == 0) r->at++;
  return add_field(r, begin, (size_t)(r->at - begin));
}

/* The next record that is not an empty line. False at the end (no field) or on an error. */
static bool read_record(reader *r) {
  r->n_fields = 0;
  for (size_t n; (n = line_end(r, r->at)) > 0; r->line++) r->at += n;
  r->begin_line = r->line;
  if (r->at == r->end) return false;
  while (read_field(r)) {
    const size_t n = line_end(r, r->at);
    r->at += n;
    if (n > 0) r->line++;
    if (n > 0 || r->at == r->end) return true;
    r->at++; /* the delimiter */
  }
  return false;
}

/* ---- columns ---- */

static bool is_number(const char *column) {
  return column && *column && strspn(column, "0123456789") == strlen(column);
}

static int64_t find_column(const reader *r, const char *name) {
  for (size_t i = 0; i < r->n_fields; i++)
    if (r->fields[i].n_bytes == strlen(name) && memcmp(r->fields[i].bytes, name, strlen(name)) == 0) return (int64_t)i;
  return -1;
}

static int64_t find_label(const reader *r) {
  int64_t found = -1;
  for (int i = 0; found < 0 && i < ISO__N_LABEL_NAMES; i++) found = find_column(r, iso__label_names[i]);
  return found;
}

/* What a header has, for the message that it lacks something. */
static void fail_missing(const reader *r, const char *what) {
  char text[260];
  size_t at = 0;
  for (size_t i = 0; i < r->n_fields && at < sizeof text - 48; i++) {
    char shown[40];
    iso__printable(r->fields[i].bytes, r->fields[i].n_bytes, shown, sizeof shown);
    at += (size_t)snprintf(text + at, sizeof text - at, "%s'%s'", i ? ", " : "", shown);
  }
  ISO__FAIL(r->rows->ctx, ISO_CORRUPT, r->rows->name, "no column is %s; the first row (line %" PRId64 ") has %s", what,
            r->begin_line, text);
}

/* A column by number or name; -1 and an error. */
static int64_t choose(const reader *r, const char *column) {
  char shown[48], what[96];
  int64_t found = -1;
  if (!is_number(column)) found = find_column(r, column);
  else if (strlen(column) < 10 && strtoll(column, NULL, 10) <= (long long)r->n_fields)
    found = strtoll(column, NULL, 10) - 1;
  if (found >= 0) return found;
  iso__printable(column, strlen(column), shown, sizeof shown);
  snprintf(what, sizeof what, is_number(column) ? "number %s" : "called '%s'", shown);
  return fail_missing(r, what), -1;
}

/* By the record that was read first: it is a header where a column that is wanted goes by its name. */
static bool choose_columns(reader *r, const iso_text_file_options *o, columns *c) {
  const bool wants_label = r->rows->labelled;
  const char *text = o->text_column, *label = wants_label ? o->label_column : NULL;
  const int64_t text_found = find_column(r, iso__text_name), label_found = find_label(r);
  const bool lacks_text = !text && text_found < 0, lacks_label = wants_label && !label && label_found < 0;
  *c = (columns){text_found, wants_label ? label_found : -1};
  r->chosen = true;
  const bool is_bare = !r->is_csv && !text && !label && (lacks_text || lacks_label);
  if (is_bare && r->n_fields >= (wants_label ? 2 : 1) && r->n_fields <= 2) { /* as SNIPS has them */
    *c = (columns){r->n_fields == 2, wants_label ? 0 : -1};
    return true;
  }
  if (lacks_text) return fail_missing(r, "called 'text'"), false;
  if (lacks_label) return fail_missing(r, "called 'label', 'category', 'intent' or 'class'"), false;
  if (text && (c->text = choose(r, text)) < 0) return false;
  if (label && (c->label = choose(r, label)) < 0) return false;
  r->has_header = !is_number(text) || (wants_label && !is_number(label)); /* NULL is no number */
  return true;
}

/* ---- rows ---- */

static bool add_row(reader *r, const columns *c, size_t n_fields) {
  char text[64];
  if (r->n_fields != n_fields)
    return ISO__FAIL(r->rows->ctx, ISO_CORRUPT, r->rows->name, "%s has %zu fields, the first row has %zu",
                     place(r, text), r->n_fields, n_fields),
           false;
  return iso__rows_add(r->rows, &(iso__row){.text = r->fields[c->text],
                                            .label = c->label < 0 ? (iso_text){0} : r->fields[c->label],
                                            .origin = {r->rows->n_rows + 1, r->begin_line}});
}

static bool read_all(reader *r, const iso_text_file_options *o) {
  columns c;
  if (!read_record(r)) return !iso__failed(r->rows->ctx); /* no row at all is told when rows end */
  const size_t n_fields = r->n_fields;
  if (!choose_columns(r, o, &c) || (!r->has_header && !add_row(r, &c, n_fields))) return false;
  while (!iso__rows_full(r->rows) && read_record(r))
    if (!add_row(r, &c, n_fields)) return false;
  return !iso__failed(r->rows->ctx);
}

static bool read_delimited(iso__rows *rows, const iso_text_file_options *o, char *bytes, size_t n, bool is_csv) {
  reader r = {.rows = rows, .at = bytes, .end = bytes + n, .is_csv = is_csv, .line = 1};
  const bool ok = read_all(&r, o);
  iso__free(rows->ctx, r.fields, r.capacity * sizeof *r.fields);
  return ok;
}

bool iso__csv_read(iso__rows *rows, const iso_text_file_options *o, char *bytes, size_t n) {
  return read_delimited(rows, o, bytes, n, true);
}

bool iso__tsv_read(iso__rows *rows, const iso_text_file_options *o, char *bytes, size_t n) {
  return read_delimited(rows, o, bytes, n, false);
}
