/* save.c: a BERT as Hugging Face and sentence-transformers read it. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <isobit/io.h>
#include "io/source.h"
#include "io/writer.h"
#include "pretrained/config.h"

enum { PATH_BYTES = 4096 };
static const char *const activations[] = {"gelu", "gelu_pytorch_tanh", "relu"};

/* ---- texts ---- */

static iso_status write_json(iso_context *ctx, const char *folder, const char *name, json_t *root) {
  char path[PATH_BYTES];
  char *text = root ? json_dumps(root, JSON_INDENT(2)) : NULL;
  json_decref(root);
  snprintf(path, sizeof path, "%s/%s", folder, name);
  const iso_status status = text ? iso__file_write_atomic(ctx, path, text, strlen(text))
                                 : ISO__FAIL(ctx, ISO_OUT_OF_MEMORY, "iso_pretrained_save", "no memory for %s", name);
  free(text);
  return status;
}

static json_t *labels_of(const iso_bert_config *c, const char *const *classes, bool by_name) {
  json_t *map = json_object();
  for (int64_t i = 0; i < c->classes; i++) {
    char number[24], label[40];
    snprintf(number, sizeof number, "%lld", (long long)i), snprintf(label, sizeof label, "LABEL_%lld", (long long)i);
    const char *name = classes ? classes[i] : label;
    if (by_name) json_object_set_new(map, name, json_integer((json_int_t)i));
    else json_object_set_new(map, number, json_string(name));
  }
  return map;
}

static json_t *config_of(const iso_bert_config *c, const char *const *classes) {
  const bool classifies = c->classes > 0 && c->pooler;
  json_t *root =
      json_pack("{s:[s], s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:f, s:f, s:f, s:s, s:i, s:f}", "architectures",
                classifies ? "BertForSequenceClassification" : "BertModel", "model_type", "bert", "vocab_size",
                (json_int_t)c->vocabulary, "hidden_size", (json_int_t)c->width, "num_hidden_layers",
                (json_int_t)c->layers, "num_attention_heads", (json_int_t)c->heads, "intermediate_size",
                (json_int_t)c->feedforward, "max_position_embeddings", (json_int_t)c->positions, "type_vocab_size",
                (json_int_t)c->token_types, "hidden_act", activations[c->activation], "hidden_dropout_prob", c->dropout,
                "attention_probs_dropout_prob", c->attention_dropout, "layer_norm_eps", c->eps,
                "position_embedding_type", "absolute", "pad_token_id", 0, "initializer_range", 0.02);
  if (root && c->classes > 0) {
    json_object_set_new(root, "id2label", labels_of(c, classes, false));
    json_object_set_new(root, "label2id", labels_of(c, classes, true));
  }
  return root;
}

static iso_status write_pooling(iso_context *ctx, const char *folder, const iso_bert_config *c) {
  char path[PATH_BYTES];
  snprintf(path, sizeof path, "%s/1_Pooling", folder);
  if (mkdir(path, 0777) && errno != EEXIST)
    return ISO__FAIL(ctx, ISO_IO, "iso_pretrained_save", "cannot make folder %s: %s", path, strerror(errno));
  iso_status status = write_json(
      ctx, folder, "1_Pooling/config.json",
      json_pack("{s:I, s:b, s:b, s:b, s:b}", "word_embedding_dimension", (json_int_t)c->width, "pooling_mode_cls_token",
                c->pooling == ISO_POOLING_CLS, "pooling_mode_mean_tokens", c->pooling == ISO_POOLING_MEAN,
                "pooling_mode_max_tokens", c->pooling == ISO_POOLING_MAX, "pooling_mode_mean_sqrt_len_tokens", 0));
  if (status) return status;
  json_t *modules = json_pack("[{s:i, s:s, s:s, s:s}, {s:i, s:s, s:s, s:s}]", "idx", 0, "name", "0", "path", "", "type",
                              "sentence_transformers.models.Transformer", "idx", 1, "name", "1", "path", "1_Pooling",
                              "type", "sentence_transformers.models.Pooling");
  if (c->normalize)
    json_array_append_new(modules, json_pack("{s:i, s:s, s:s, s:s}", "idx", 2, "name", "2", "path", "2_Normalize",
                                             "type", "sentence_transformers.models.Normalize"));
  return write_json(ctx, folder, "modules.json", modules);
}

/* ---- weights ---- */

static iso_status write_weights(iso_module *m, const char *folder, const iso_bert_config *c) {
  static const iso_key_value metadata[] = {{"format", "pt"}}; /* as transformers wants it */
  iso_context *ctx = iso_module_context(m);
  size_t n;
  const iso_named_tensor *list = iso_module_tensors(m, &n);
  const bool prefixed = c->classes > 0 && c->pooler;
  char path[PATH_BYTES], (*names)[300] = iso__alloc(ctx, n * sizeof *names);
  iso_named_tensor *entries = names ? iso__alloc(ctx, n * sizeof *entries) : NULL;
  for (size_t i = 0; i < n && entries; i++) {
    const bool head = !strncmp(list[i].name, "classifier.", 11);
    snprintf(names[i], sizeof names[i], "%s%s", prefixed && !head ? "bert." : "", list[i].name);
    entries[i] = (iso_named_tensor){.name = names[i], .tensor = list[i].tensor};
  }
  snprintf(path, sizeof path, "%s/model.safetensors", folder);
  if (entries) iso_safetensors_write(ctx, path, entries, n, metadata, 1);
  iso__free(ctx, entries, n * sizeof *entries);
  iso__free(ctx, names, n * sizeof *names);
  return ctx->error.code;
}

/* ---- the vocabulary ---- */

static iso_status copy_file(iso_context *ctx, const char *from, const char *to) {
  iso__source source;
  if (!iso__source_open(ctx, from, &source)) return ctx->error.code;
  const size_t n_bytes = (size_t)source.n_bytes;
  void *bytes = iso__alloc(ctx, n_bytes);
  if (bytes && iso__source_read(ctx, &source, 0, bytes, n_bytes, "the file"))
    iso__file_write_atomic(ctx, to, bytes, n_bytes);
  iso__free(ctx, bytes, n_bytes);
  iso__source_close(&source);
  return ctx->error.code;
}

static iso_status copy_tokenizer(iso_context *ctx, const char *tokenizer, const char *folder) {
  static const char *const names[] = {"vocab.txt", "tokenizer.json", "tokenizer_config.json",
                                      "special_tokens_map.json"};
  char from[PATH_BYTES], to[PATH_BYTES];
  struct stat info;
  if (stat(tokenizer, &info) == 0 && !S_ISDIR(info.st_mode)) {
    const char *slash = strrchr(tokenizer, '/');
    snprintf(to, sizeof to, "%s/%.255s", folder, slash ? slash + 1 : tokenizer);
    return copy_file(ctx, tokenizer, to);
  }
  int n = 0;
  for (size_t i = 0; i < sizeof names / sizeof names[0] && !iso__failed(ctx); i++) {
    snprintf(from, sizeof from, "%.3000s/%s", tokenizer, names[i]), snprintf(to, sizeof to, "%s/%s", folder, names[i]);
    if (access(from, F_OK) == 0) n++, copy_file(ctx, from, to);
  }
  if (!n)
    ISO__FAIL(ctx, ISO_NOT_FOUND, "iso_pretrained_save", "%s has neither vocab.txt nor tokenizer.json", tokenizer);
  return ctx->error.code;
}

iso_status iso_pretrained_save(iso_module *m, const char *folder, const iso_pretrained_save_options *options) {
  const iso_pretrained_save_options o = options ? *options : (iso_pretrained_save_options){0};
  if (!m) return ISO_INVALID_ARGUMENT;
  iso_context *ctx = iso_module_context(m);
  const iso_bert_config *c = iso_bert_get_config(m);
  if (iso__failed(ctx)) return ctx->error.code;
  if (!c)
    return ISO__FAIL(ctx, ISO_UNSUPPORTED, __func__, "the module is a %s: a Bert is expected",
                     iso_module_get_type(m)->name);
  if (!folder || !*folder || strlen(folder) > PATH_BYTES - 300)
    return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, __func__, "the folder's path is %s",
                     folder && *folder ? "too long" : "empty");
  if (mkdir(folder, 0777) && errno != EEXIST)
    return ISO__FAIL(ctx, ISO_IO, __func__, "cannot make folder %s: %s", folder, strerror(errno));
  if (write_weights(m, folder, c) || write_json(ctx, folder, "config.json", config_of(c, o.classes)) ||
      (!c->pooler && write_pooling(ctx, folder, c)) || (o.tokenizer && copy_tokenizer(ctx, o.tokenizer, folder)))
    return ctx->error.code;
  return ISO_OK;
}
