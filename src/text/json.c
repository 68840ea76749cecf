/* json.c: reading fields by type. */
#include "text/json.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "io/source.h"

json_t *iso__json_load(iso_context *ctx, const char *file, const void *bytes, size_t n_bytes) {
  json_error_t error;
  char text[160];
  json_t *root = json_loadb(bytes, n_bytes, JSON_REJECT_DUPLICATES, &error);
  if (!root) {
    const bool no_memory = json_error_code(&error) == json_error_out_of_memory;
    return ISO__FAIL(ctx, no_memory ? ISO_OUT_OF_MEMORY : ISO_CORRUPT, file, "line %d, byte %d: %s", error.line,
                     error.position, iso__printable(error.text, strlen(error.text), text, sizeof text)),
           NULL;
  }
  if (json_is_object(root)) return root;
  json_decref(root);
  return ISO__FAIL(ctx, ISO_CORRUPT, file, "the JSON is no object"), NULL;
}

bool iso__json_refuse(const iso__json_place *place, iso_status code, const char *name, const char *format, ...) {
  char text[320], field[100];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  iso__printable(name, strlen(name), field, 60);
  ISO__FAIL(place->ctx, code, place->file, "%s%s%s %s", place->path, *place->path && *field ? "." : "", field, text);
  return false;
}

static const char *type_name(const json_t *value) {
  static const char *const names[] = {"an object",  "an array", "text",  "a whole number",
                                      "a fraction", "true",     "false", "null"};
  return value ? names[json_typeof(value)] : "missing";
}

bool iso__json_enter_item(const iso__json_place *outer, const char *name, size_t index, json_t *value,
                          iso__json_place *out) {
  *out = (iso__json_place){.ctx = outer->ctx, .file = outer->file, .object = value};
  char field[40];
  iso__printable(name, strlen(name), field, sizeof field);
  snprintf(out->path, sizeof out->path, "%.50s%s%s", outer->path, *outer->path ? "." : "", field);
  const size_t n = strlen(out->path);
  if (index != SIZE_MAX && n < sizeof out->path) snprintf(out->path + n, sizeof out->path - n, "[%zu]", index);
  if (json_is_object(value)) return true;
  return iso__json_refuse(out, ISO_CORRUPT, "", "is %s, expected an object", type_name(value));
}

bool iso__json_enter(const iso__json_place *outer, const char *name, json_t *value, iso__json_place *out) {
  return iso__json_enter_item(outer, name, SIZE_MAX, value, out);
}

bool iso__json_only(const iso__json_place *place, const char *const *names) {
  const char *key;
  json_t *value;
  json_object_foreach(place->object, key, value) {
    const char *const *known = names;
    while (*known && strcmp(*known, key) != 0) known++;
    if (!*known) return iso__json_refuse(place, ISO_UNSUPPORTED, key, "is a field that is not known here");
  }
  return true;
}

/* The field where it is neither missing nor null; an error only where it is required. */
static json_t *field(const iso__json_place *place, const char *name, bool required, const char *expected) {
  json_t *value = json_object_get(place->object, name);
  if (value && !json_is_null(value)) return value;
  if (required) iso__json_refuse(place, ISO_CORRUPT, name, "is %s, expected %s", type_name(value), expected);
  return NULL;
}

bool iso__json_flag(const iso__json_place *place, const char *name, bool required, bool *out) {
  json_t *value = field(place, name, required, "true or false");
  if (!value) return !required;
  if (!json_is_boolean(value))
    return iso__json_refuse(place, ISO_CORRUPT, name, "is %s, expected true or false", type_name(value));
  *out = json_is_true(value);
  return true;
}

bool iso__json_text(const iso__json_place *place, const char *name, bool required, const char **out) {
  json_t *value = field(place, name, required, "text");
  if (!value) return !required;
  if (!json_is_string(value))
    return iso__json_refuse(place, ISO_CORRUPT, name, "is %s, expected text", type_name(value));
  *out = json_string_value(value);
  return true;
}

bool iso__json_count(const iso__json_place *place, const char *name, bool required, int64_t *out) {
  json_t *value = field(place, name, required, "a whole number");
  if (!value) return !required;
  if (!json_is_integer(value) || json_integer_value(value) < 0)
    return iso__json_refuse(place, ISO_CORRUPT, name, "is %s, expected a whole number from 0 on",
                            json_is_integer(value) ? "negative" : type_name(value));
  *out = json_integer_value(value);
  return true;
}

bool iso__json_number(const iso__json_place *place, const char *name, bool required, double *out) {
  json_t *value = field(place, name, required, "a number");
  if (!value) return !required;
  if (!json_is_number(value))
    return iso__json_refuse(place, ISO_CORRUPT, name, "is %s, expected a number", type_name(value));
  *out = json_number_value(value);
  return true;
}

bool iso__json_type(const iso__json_place *place, const char *type) {
  const char *found = NULL;
  char text[60];
  if (!iso__json_text(place, "type", true, &found)) return false;
  if (strcmp(found, type) == 0) return true;
  return iso__json_refuse(place, ISO_UNSUPPORTED, "type", "is '%s', supported is %s",
                          iso__printable(found, strlen(found), text, sizeof text), type);
}
