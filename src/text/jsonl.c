/* jsonl.c: a JSON object a line (RFC 8259 by jansson, which takes UTF-8 only). A row whose fields are not what they
 * must be is named; fields that were not asked for may be anything. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include "io/source.h"
#include "text/dataset.h"

typedef struct reader {
  iso__rows *rows;
  const char *text, *label; /* fields; label NULL: none, or not found out yet */
  iso__origin at;
} reader;

static bool fail(const reader *r, const char *what) {
  ISO__FAIL(r->rows->ctx, ISO_CORRUPT, r->rows->name, "row %" PRId64 " (line %" PRId64 "): %s", r->at.row, r->at.line,
            what);
  return false;
}

static const char *type_name(const json_t *value) {
  static const char *const names[] = {
      [JSON_OBJECT] = "an object",   [JSON_ARRAY] = "a list", [JSON_STRING] = "a string", [JSON_INTEGER] = "an integer",
      [JSON_REAL] = "a real number", [JSON_TRUE] = "true",    [JSON_FALSE] = "false",     [JSON_NULL] = "null"};
  return value ? names[json_typeof(value)] : "missing";
}

static bool fail_field(const reader *r, const char *field, const json_t *value, const char *expected) {
  char what[160], shown[60];
  snprintf(what, sizeof what, "field '%s' is %s, expected %s",
           iso__printable(field, strlen(field), shown, sizeof shown), type_name(value), expected);
  return fail(r, what);
}

/* The label's field, by the first row. */
static bool find_label(reader *r, const json_t *object) {
  for (int i = 0; !r->label && i < ISO__N_LABEL_NAMES; i++)
    if (json_object_get(object, iso__label_names[i])) r->label = iso__label_names[i];
  return r->label || fail(r, "no field is called 'label', 'category', 'intent' or 'class'");
}

static bool read_object(reader *r, const json_t *object) {
  char number[32];
  if (!json_is_object(object)) return fail(r, "is no JSON object");
  const json_t *text = json_object_get(object, r->text), *label = NULL;
  if (!json_is_string(text)) return fail_field(r, r->text, text, "a string");
  iso__row row = {.text = {json_string_value(text), json_string_length(text)}, .origin = r->at};
  if (r->rows->labelled) {
    if (!r->label && !find_label(r, object)) return false;
    label = json_object_get(object, r->label);
    if (json_is_integer(label)) {
      const int n = snprintf(number, sizeof number, "%lld", (long long)json_integer_value(label));
      row.label = (iso_text){number, (size_t)n};
    } else if (json_is_string(label)) {
      row.label = (iso_text){json_string_value(label), json_string_length(label)};
    } else {
      return fail_field(r, r->label, label, "a string or an integer");
    }
  }
  return iso__rows_add(r->rows, &row);
}

static bool read_line(reader *r, const char *line, size_t n) {
  json_error_t error;
  json_t *object = json_loadb(line, n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY, &error);
  if (!object) {
    char shown[120], what[160];
    if (json_error_code(&error) == json_error_out_of_memory)
      return ISO__FAIL(r->rows->ctx, ISO_OUT_OF_MEMORY, r->rows->name, "no memory to read JSON"), false;
    snprintf(what, sizeof what, "byte %d: %s", error.position,
             iso__printable(error.text, strlen(error.text), shown, sizeof shown));
    return fail(r, what);
  }
  const bool ok = read_object(r, object);
  json_decref(object);
  return ok;
}

bool iso__jsonl_read(iso__rows *rows, const iso_text_file_options *o, char *bytes, size_t n) {
  reader r = {.rows = rows, .text = o->text_column ? o->text_column : iso__text_name, .label = o->label_column};
  const char *end = bytes + n;
  for (const char *line = bytes; line < end && !iso__rows_full(rows);) {
    const char *newline = memchr(line, '\n', (size_t)(end - line)), *stop = newline ? newline : end;
    r.at.line++;
    size_t n_blank = 0;
    while (line + n_blank < stop && strchr(" \t\r", line[n_blank]) && line[n_blank]) n_blank++;
    if (line + n_blank < stop) {
      r.at.row = rows->n_rows + 1;
      if (!read_line(&r, line, (size_t)(stop - line))) return false;
    }
    line = newline ? newline + 1 : end;
  }
  return !iso__failed(rows->ctx);
}
