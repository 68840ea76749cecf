/* config.c: config.json of a BERT, and how sentence embeddings are made of it, from text to an iso_bert_config. Fields
 * that change what is computed are read or refused; others (dates, names, training) don't matter here. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "io/source.h"
#include "pretrained/config.h"
#include "text/json.h"

enum { MOST_BYTES = 16 << 20, PATH_BYTES = 4096 };

/* ---- fields ---- */

static bool sizes(const iso__json_place *p, iso_bert_config *c) {
  const struct {
    const char *name;
    bool required;
    int64_t *out, low, high;
  } fields[] = {{"vocab_size", true, &c->vocabulary, 1, 1 << 28},
                {"hidden_size", true, &c->width, 1, 1 << 20},
                {"num_hidden_layers", true, &c->layers, 1, 1024},
                {"num_attention_heads", true, &c->heads, 1, 1 << 16},
                {"intermediate_size", true, &c->feedforward, 1, 1 << 24},
                {"max_position_embeddings", true, &c->positions, 1, 1 << 24},
                {"type_vocab_size", false, &c->token_types, 1, 1 << 16}};
  for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
    if (!iso__json_count(p, fields[i].name, fields[i].required, fields[i].out)) return false;
    if (*fields[i].out >= fields[i].low && *fields[i].out <= fields[i].high) continue;
    return iso__json_refuse(p, ISO_CORRUPT, fields[i].name, "is %lld, must be %lld to %lld", (long long)*fields[i].out,
                            (long long)fields[i].low, (long long)fields[i].high);
  }
  if (c->width % c->heads == 0) return true;
  return iso__json_refuse(p, ISO_CORRUPT, "num_attention_heads", "is %lld, which does not divide hidden_size %lld",
                          (long long)c->heads, (long long)c->width);
}

/* A probability; 0 is kept as "none". */
static bool probability(const iso__json_place *p, const char *name, double *out) {
  if (!iso__json_number(p, name, false, out)) return false;
  if (!(*out >= 0 && *out < 1)) return iso__json_refuse(p, ISO_CORRUPT, name, "is %g, must be in [0,1)", *out);
  if (*out == 0) *out = -1;
  return true;
}

static bool activation(const iso__json_place *p, iso_bert_config *c) {
  static const struct {
    const char *name;
    iso_feedforward value;
  } known[] = {{"gelu", ISO_FEEDFORWARD_GELU},
               {"gelu_new", ISO_FEEDFORWARD_GELU_TANH},
               {"gelu_pytorch_tanh", ISO_FEEDFORWARD_GELU_TANH},
               {"relu", ISO_FEEDFORWARD_RELU}};
  const char *name = "gelu";
  char text[60];
  if (!iso__json_text(p, "hidden_act", false, &name)) return false;
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
    if (!strcmp(known[i].name, name)) return c->activation = known[i].value, true;
  return iso__json_refuse(p, ISO_UNSUPPORTED, "hidden_act",
                          "is '%s', supported are gelu, gelu_new, gelu_pytorch_tanh, relu",
                          iso__printable(name, strlen(name), text, sizeof text));
}

/* Texts that must be this where they are given. */
static bool must_be(const iso__json_place *p, const char *name, bool required, const char *value) {
  const char *found = value;
  char text[60];
  if (!iso__json_text(p, name, required, &found)) return false;
  return !strcmp(found, value) || iso__json_refuse(p, ISO_UNSUPPORTED, name, "is '%s', supported is %s",
                                                   iso__printable(found, strlen(found), text, sizeof text), value);
}

static bool switches(const iso__json_place *p) {
  bool decoder = false, cross = false;
  if (!iso__json_flag(p, "is_decoder", false, &decoder) || !iso__json_flag(p, "add_cross_attention", false, &cross))
    return false;
  if (!decoder && !cross) return true;
  return iso__json_refuse(p, ISO_UNSUPPORTED, decoder ? "is_decoder" : "add_cross_attention",
                          "is true: only encoders are computed here");
}

static bool read_bert(const iso__json_place *p, iso_bert_config *c) {
  *c = (iso_bert_config){.token_types = 2, .dropout = 0.1, .attention_dropout = 0.1, .eps = 1e-12};
  if (!must_be(p, "model_type", true, "bert") || !must_be(p, "position_embedding_type", false, "absolute") ||
      !switches(p) || !sizes(p, c) || !activation(p, c) || !probability(p, "hidden_dropout_prob", &c->dropout) ||
      !probability(p, "attention_probs_dropout_prob", &c->attention_dropout) ||
      !iso__json_number(p, "layer_norm_eps", false, &c->eps))
    return false;
  return (c->eps > 0 && c->eps < 1) ||
         iso__json_refuse(p, ISO_CORRUPT, "layer_norm_eps", "is %g, must be in (0,1)", c->eps);
}

bool iso__bert_config_parse(iso_context *ctx, const char *name, const void *bytes, size_t n_bytes,
                            iso_bert_config *out) {
  iso__json_place place = {.ctx = ctx, .file = name, .object = iso__json_load(ctx, name, bytes, n_bytes)};
  const bool ok = place.object && read_bert(&place, out);
  json_decref(place.object);
  return ok;
}

/* ---- files ---- */

/* The whole file, to be freed; NULL with the error kept. */
static void *load(iso_context *ctx, const char *path, size_t *n_bytes) {
  iso__source source;
  void *bytes = NULL;
  if (!iso__source_open(ctx, path, &source)) return NULL;
  *n_bytes = (size_t)source.n_bytes;
  if (source.n_bytes > MOST_BYTES)
    ISO__FAIL(ctx, ISO_UNSUPPORTED, source.name, "has %llu bytes, supported are %d", (unsigned long long)source.n_bytes,
              MOST_BYTES);
  else if ((bytes = iso__alloc(ctx, *n_bytes)) && !iso__source_read(ctx, &source, 0, bytes, source.n_bytes, "the file"))
    iso__free(ctx, bytes, *n_bytes), bytes = NULL;
  iso__source_close(&source);
  return bytes;
}

static bool path_of(iso_context *ctx, const char *folder, const char *name, char path[PATH_BYTES]) {
  const int n = snprintf(path, PATH_BYTES, "%s/%s", folder, name);
  if (n > 0 && n < PATH_BYTES) return true;
  ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "iso_pretrained_open", "the folder's path is too long");
  return false;
}

/* ---- sentence embeddings ---- */

static bool read_pooling(const iso__json_place *p, iso__pretrained_config *out) {
  static const char *const names[] = {"pooling_mode_mean_tokens", "pooling_mode_cls_token", "pooling_mode_max_tokens"};
  static const char *const others[] = {"pooling_mode_mean_sqrt_len_tokens", "pooling_mode_weightedmean_tokens",
                                       "pooling_mode_lasttoken"};
  int n = 0;
  for (int i = 0; i < 3; i++) {
    bool on = false, other = false;
    if (!iso__json_flag(p, names[i], false, &on) || !iso__json_flag(p, others[i], false, &other)) return false;
    if (other) return iso__json_refuse(p, ISO_UNSUPPORTED, others[i], "is true: mean, cls and max are computed here");
    if (on) out->bert.pooling = (iso_pooling)i, n++;
  }
  out->has_pooling = n == 1;
  return n == 1 || iso__json_refuse(p, ISO_UNSUPPORTED, names[0], "and the others: %d are true, one is expected", n);
}

static bool read_modules(iso_context *ctx, const char *path, const void *bytes, size_t n_bytes,
                         iso__pretrained_config *out) {
  json_error_t error;
  json_t *list = json_loadb(bytes, n_bytes, JSON_REJECT_DUPLICATES, &error), *module;
  size_t i;
  if (!json_is_array(list))
    ISO__FAIL(ctx, ISO_CORRUPT, iso__path_tail(path), "%s", list ? "is no list of modules" : error.text);
  json_array_foreach(list, i, module) {
    const char *type = json_string_value(json_object_get(module, "type"));
    const char *last = type && strrchr(type, '.') ? strrchr(type, '.') + 1 : type;
    char text[60];
    if (last && !strcmp(last, "Normalize")) out->normalize = true;
    else if (!last || (strcmp(last, "Transformer") != 0 && strcmp(last, "Pooling") != 0))
      ISO__FAIL(ctx, ISO_UNSUPPORTED, iso__path_tail(path),
                "module %zu is '%s', supported are Transformer, Pooling, Normalize", i,
                last ? iso__printable(last, strlen(last), text, sizeof text) : "");
  }
  json_decref(list);
  return !iso__failed(ctx);
}

static bool read_file(iso_context *ctx, const char *path, int which, iso__pretrained_config *out) {
  size_t n_bytes = 0;
  void *bytes = load(ctx, path, &n_bytes);
  if (!bytes) return false;
  bool ok;
  if (which == 0) ok = iso__bert_config_parse(ctx, iso__path_tail(path), bytes, n_bytes, &out->bert);
  else if (which == 1) {
    iso__json_place place = {.ctx = ctx, .file = iso__path_tail(path)};
    place.object = iso__json_load(ctx, place.file, bytes, n_bytes);
    ok = place.object && read_pooling(&place, out);
    json_decref(place.object);
  } else ok = read_modules(ctx, path, bytes, n_bytes, out);
  iso__free(ctx, bytes, n_bytes);
  return ok;
}

bool iso__pretrained_config_read(iso_context *ctx, const char *folder, iso__pretrained_config *out) {
  static const char *const names[] = {"config.json", "1_Pooling/config.json", "modules.json"};
  char path[PATH_BYTES];
  *out = (iso__pretrained_config){0};
  for (int i = 0; i < 3; i++) {
    if (!path_of(ctx, folder, names[i], path)) return false;
    if (i > 0 && access(path, F_OK) != 0) continue;
    if (!read_file(ctx, path, i, out)) return false;
  }
  return true;
}
