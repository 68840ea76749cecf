/* text_description.c: the JSON in a checkpoint that says what its text model is. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include "base/context.h"
#include "train/text_model.h"

bool iso__text_model_describe(iso__text_model *m) {
  json_t *classes = json_array();
  for (int k = 0; k < m->n_classes; k++) json_array_append_new(classes, json_string(m->classes[k]));
  json_t *root = json_pack("{s:s, s:I, s:f, s:I, s:b, s:s, s:o}", "model", m->name, "width", (json_int_t)m->width,
                           "dropout", m->dropout, "max_length", (json_int_t)m->max_length, "truncate", m->truncate,
                           "tokenizer", m->tokenizer_is_json ? "tokenizer.json" : "vocab.txt", "classes", classes);
  char *text = root ? json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
  json_decref(root);
  if (!text) return ISO__FAIL(m->ctx, ISO_OUT_OF_MEMORY, "train", "no memory"), false;
  const bool ok = iso__text_model_keep_file(m, ISO__FILE_DESCRIPTION, text, strlen(text));
  free(text);
  return ok;
}

static bool damaged(const iso__text_model *m, const char *path, const char *what) {
  ISO__FAIL(m->ctx, ISO_CORRUPT, "checkpoint", "%s: the description's %s", path, what);
  return false;
}

static bool read_classes(iso__text_model *m, const json_t *list, const char *path) {
  const size_t n = json_array_size(list);
  if (!json_is_array(list) || n > INT32_MAX - 1) return damaged(m, path, "classes are no list");
  m->n_class_slots = (int)n + 1;
  if (!(m->classes = iso__zalloc(m->ctx, (n + 1) * sizeof *m->classes))) return m->n_class_slots = 0, false;
  for (size_t k = 0; k < n; k++) {
    const char *name = json_string_value(json_array_get(list, k));
    if (!name) return damaged(m, path, "classes are no texts");
    if (!iso__text_model_add_class(m, name)) return false;
  }
  return true;
}

bool iso__text_model_parse(iso__text_model *m, const char *text, size_t n_bytes, const char *path) {
  json_error_t error;
  json_t *root = json_loadb(text, n_bytes, JSON_REJECT_DUPLICATES, &error);
  if (!json_is_object(root)) return json_decref(root), damaged(m, path, "text is no JSON object");
  const char *model = json_string_value(json_object_get(root, "model")),
             *tokenizer = json_string_value(json_object_get(root, "tokenizer"));
  const json_t *width = json_object_get(root, "width"), *length = json_object_get(root, "max_length"),
               *dropout = json_object_get(root, "dropout");
  bool ok = model && strlen(model) < sizeof m->name && tokenizer && json_is_integer(width) && json_is_integer(length) &&
            json_is_number(dropout);
  if (!ok) damaged(m, path, "fields are not all there");
  else {
    strcpy(m->name, model);
    m->tokenizer_is_json = !strcmp(tokenizer, "tokenizer.json");
    m->width = json_integer_value(width), m->max_length = json_integer_value(length);
    m->dropout = json_number_value(dropout);
    m->truncate = json_is_true(json_object_get(root, "truncate"));
    ok = read_classes(m, json_object_get(root, "classes"), path);
  }
  json_decref(root);
  return ok;
}
