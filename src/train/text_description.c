/* text_description.c: the JSON in a checkpoint that says what its text model is. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include "base/context.h"
#include "train/text_model.h"

/* ---- writing ---- */

static json_t *describe_bert(const iso_bert_config *c) {
  return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:i, s:f, s:f, s:f, s:i, s:b, s:b}", "vocabulary",
                   (json_int_t)c->vocabulary, "width", (json_int_t)c->width, "layers", (json_int_t)c->layers, "heads",
                   (json_int_t)c->heads, "feedforward", (json_int_t)c->feedforward, "positions",
                   (json_int_t)c->positions, "token_types", (json_int_t)c->token_types, "activation", c->activation,
                   "dropout", c->dropout, "attention_dropout", c->attention_dropout, "eps", c->eps, "pooling",
                   c->pooling, "pooler", c->pooler, "normalize", c->normalize);
}

bool iso__text_model_describe(iso__text_model *m) {
  const iso_bert_config *bert = iso_bert_get_config(m->module);
  json_t *classes = json_array();
  for (int k = 0; k < m->n_classes; k++) json_array_append_new(classes, json_string(m->classes[k]));
  json_t *root = json_pack("{s:s, s:I, s:I, s:b, s:s, s:o, s:o}", "model", m->name, "width", (json_int_t)m->width,
                           "max_length", (json_int_t)m->max_length, "truncate", m->truncate, "tokenizer",
                           m->tokenizer_is_json ? "tokenizer.json" : "vocab.txt", "classes", classes, "bert",
                           bert ? describe_bert(bert) : json_null());
  char *text = root ? json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
  json_decref(root);
  if (!text) return ISO__FAIL(m->ctx, ISO_OUT_OF_MEMORY, "train", "no memory"), false;
  const bool ok = iso__text_model_keep_file(m, ISO__FILE_DESCRIPTION, text, strlen(text));
  free(text);
  return ok;
}

/* ---- reading ---- */

static bool damaged(const iso__text_model *m, const char *path, const char *what) {
  ISO__FAIL(m->ctx, ISO_CORRUPT, "checkpoint", "%s: the description's %s", path, what);
  return false;
}

static bool read_classes(iso__text_model *m, const json_t *list, const char *path) {
  const size_t n = json_array_size(list);
  if (!json_is_array(list) || n > INT32_MAX - 1) return damaged(m, path, "classes are no list");
  if (!(m->classes = iso__zalloc(m->ctx, (n + 1) * sizeof *m->classes))) return false;
  m->n_class_slots = (int)n + 1;
  for (size_t k = 0; k < n; k++) {
    const char *name = json_string_value(json_array_get(list, k));
    if (!name) return damaged(m, path, "classes are no texts");
    if (!iso__text_model_add_class(m, name)) return false;
  }
  return true;
}

/* 0 would mean a default again. */
static double none_if_zero(double p) { return p == 0 ? -1 : p; }

static bool read_bert(const json_t *from, int64_t classes, iso_bert_config *c) {
  json_int_t vocabulary, width, layers, heads, feedforward, positions, types;
  int activation, pooling, pooler, normalize;
  if (json_unpack((json_t *)(uintptr_t)from, "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:i, s:F, s:F, s:F, s:i, s:b, s:b}",
                  "vocabulary", &vocabulary, "width", &width, "layers", &layers, "heads", &heads, "feedforward",
                  &feedforward, "positions", &positions, "token_types", &types, "activation", &activation, "dropout",
                  &c->dropout, "attention_dropout", &c->attention_dropout, "eps", &c->eps, "pooling", &pooling,
                  "pooler", &pooler, "normalize", &normalize))
    return false;
  c->vocabulary = vocabulary, c->width = width, c->layers = layers, c->heads = heads, c->feedforward = feedforward;
  c->positions = positions, c->token_types = types, c->activation = (iso_feedforward)activation;
  c->pooling = (iso_pooling)pooling, c->pooler = pooler, c->normalize = normalize, c->classes = classes;
  c->dropout = none_if_zero(c->dropout), c->attention_dropout = none_if_zero(c->attention_dropout);
  return activation >= 0 && activation <= ISO_FEEDFORWARD_RELU && pooling >= 0 && pooling <= ISO_POOLING_MAX;
}

bool iso__text_model_parse(iso__text_model *m, const char *text, size_t n_bytes, const char *path,
                           iso_bert_config *bert) {
  json_error_t error;
  json_t *root = json_loadb(text, n_bytes, JSON_REJECT_DUPLICATES, &error);
  if (!json_is_object(root)) return json_decref(root), damaged(m, path, "text is no JSON object");
  const char *model = json_string_value(json_object_get(root, "model")),
             *tokenizer = json_string_value(json_object_get(root, "tokenizer"));
  const json_t *width = json_object_get(root, "width"), *length = json_object_get(root, "max_length");
  bool ok = model && strlen(model) < sizeof m->name && tokenizer && json_is_integer(width) && json_is_integer(length);
  if (ok) {
    strcpy(m->name, model);
    m->tokenizer_is_json = !strcmp(tokenizer, "tokenizer.json");
    m->width = json_integer_value(width), m->max_length = json_integer_value(length);
    m->truncate = json_is_true(json_object_get(root, "truncate"));
    ok = read_classes(m, json_object_get(root, "classes"), path);
  } else damaged(m, path, "fields are not all there");
  const bool is_bert = ok && !strcmp(m->name, "bert");
  if (is_bert && !read_bert(json_object_get(root, "bert"), m->n_classes, bert))
    ok = damaged(m, path, "field 'bert' is not complete");
  json_decref(root);
  return ok;
}
