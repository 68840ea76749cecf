/* json.h: fields of a parsed JSON object, typed; errors name the field by its path in the file. */
#ifndef ISO_TEXT_JSON_H
#define ISO_TEXT_JSON_H
#include <jansson.h>
#include "base/context.h"

/* An object, and where it is: "model", "added_tokens[3]"; "" is the whole file. */
typedef struct iso__json_place {
  iso_context *ctx;
  const char *file;
  json_t *object;
  char path[96];
} iso__json_place;

/* The file's object; its reference is the caller's. NULL with the error kept. */
json_t *iso__json_load(iso_context *ctx, const char *file, const void *bytes, size_t n_bytes);
/* The place of value, a field of `outer` or (name NULL) its item number `index`; false: it is no object. */
bool iso__json_enter(const iso__json_place *outer, const char *name, json_t *value, iso__json_place *out);
bool iso__json_enter_item(const iso__json_place *outer, const char *name, size_t index, json_t *value,
                          iso__json_place *out);
/* A message about a field. Returns false. */
bool iso__json_refuse(const iso__json_place *place, iso_status code, const char *name, const char *format, ...)
    ISO_PRINTF(4, 5);
/* Only fields of the list (NULL-terminated). */
bool iso__json_only(const iso__json_place *place, const char *const *names);

/* required: without the field it is an error; else *out stays as it was, also where the field is null. */
bool iso__json_flag(const iso__json_place *place, const char *name, bool required, bool *out);
bool iso__json_text(const iso__json_place *place, const char *name, bool required, const char **out);
bool iso__json_count(const iso__json_place *place, const char *name, bool required, int64_t *out); /* from 0 */
bool iso__json_number(const iso__json_place *place, const char *name, bool required, double *out);
/* The field "type" must be this. */
bool iso__json_type(const iso__json_place *place, const char *type);
#endif
