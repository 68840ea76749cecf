/* open_predictor.c: a predictor's parts, from a checkpoint or a pretrained model's folder; and back into a folder. */
#include <errno.h>
#include <isobit/io.h>
#include <isobit/pretrained.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "io/source.h"
#include "io/writer.h"
#include "tensor/tensor.h"
#include "train/predictor.h"

enum { PATH_BYTES = 4096 };

/* FOLDER/name; false with the error kept where that is too long. */
static bool join(iso_context *ctx, const char *folder, const char *name, char path[PATH_BYTES]) {
  const int n = folder && *folder ? snprintf(path, PATH_BYTES, "%s/%s", folder, name) : 0;
  if (n > 0 && n < PATH_BYTES) return true;
  return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "predict", "the folder's path is %s", n ? "too long" : "empty"), false;
}

/* ---- checkpoints ---- */

static bool same_shape(const iso_tensor *a, const iso_tensor *b) {
  const int n = iso_tensor_n_dims(a);
  return iso_tensor_dtype(a) == iso_tensor_dtype(b) && n == iso_tensor_n_dims(b) &&
         !memcmp(iso_tensor_shape(a), iso_tensor_shape(b), (size_t)n * sizeof(int64_t));
}

static bool assign_weights(iso_text_predictor *p, const iso_tensor_dict *file, const char *path) {
  size_t n;
  char name[256];
  const iso_named_tensor *tensors = iso_module_tensors(p->model.module, &n);
  for (size_t i = 0; i < n; i++) {
    snprintf(name, sizeof name, "model.%s", tensors[i].name);
    const iso_tensor *from = iso_tensor_dict_find(file, name);
    if (!from || !same_shape(from, tensors[i].tensor))
      return ISO__FAIL(p->ctx, ISO_CORRUPT, "checkpoint", "%s: tensor '%s' %s", path, name,
                       from ? "has another shape or dtype than the model" : "is missing"),
             false;
    if (iso_tensor_assign(tensors[i].tensor, from)) return false;
  }
  return true;
}

static bool open_checkpoint(iso_text_predictor *p, const char *path) {
  iso_tensor_dict *file = iso_safetensors_read(p->ctx, path);
  if (!file) return false;
  const char *task = iso_tensor_dict_metadata(file, "task");
  bool ok = task && !strcmp(task, "text");
  if (!ok) ISO__FAIL(p->ctx, ISO_INVALID_ARGUMENT, "predict", "%s is no checkpoint of a text job", path);
  ok = ok && iso__text_model_read(&p->model, file, path, p->options.embeds) && assign_weights(p, file, path);
  iso_tensor_dict_free(file);
  return ok;
}

/* ---- pretrained models ---- */

/* The names in config.json's id2label; none: the model has no classes. */
static bool read_classes(iso__text_model *m, const char *path) {
  json_error_t error;
  json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
  const json_t *labels = json_object_get(root, "id2label");
  const size_t n = json_object_size(labels);
  char number[24];
  bool ok = true;
  if (n > 0 && n < INT32_MAX - 1) {
    ok = (m->classes = iso__zalloc(m->ctx, (n + 1) * sizeof *m->classes)) != NULL;
    m->n_class_slots = ok ? (int)n + 1 : 0;
    for (size_t k = 0; k < n && ok; k++) {
      snprintf(number, sizeof number, "%zu", k);
      const char *name = json_string_value(json_object_get(labels, number));
      if (name) ok = iso__text_model_add_class(m, name);
      else ok = !ISO__FAIL(m->ctx, ISO_CORRUPT, iso__path_tail(path), "id2label has no text for %s", number);
    }
  }
  json_decref(root);
  return ok;
}

/* A head counts only if the weights have one: many configs name two labels that nobody trained. */
static bool has_head(iso_context *ctx, const char *folder, bool *has) {
  char path[PATH_BYTES];
  if (!join(ctx, folder, "model.safetensors", path)) return false;
  iso_tensor_dict *file = iso_safetensors_read(ctx, path);
  if (!file) return false;
  *has = iso_tensor_dict_find(file, "classifier.weight") != NULL;
  iso_tensor_dict_free(file);
  return true;
}

static bool open_folder(iso_text_predictor *p, const char *folder) {
  char path[PATH_BYTES];
  bool classifies = false;
  iso__text_model *m = &p->model;
  strcpy(m->name, "bert");
  if (!p->options.embeds && (!has_head(p->ctx, folder, &classifies) || !join(p->ctx, folder, "config.json", path) ||
                             (classifies && !read_classes(m, path))))
    return false;
  return iso__text_model_read_tokenizer(m, folder) && iso__text_model_open_module(m, folder);
}

bool iso__predictor_open_parts(iso_text_predictor *p, const char *path) {
  char checkpoint[PATH_BYTES], config[PATH_BYTES];
  struct stat info;
  if (!join(p->ctx, path, "checkpoint.safetensors", checkpoint) || !join(p->ctx, path, "config.json", config))
    return false;
  if (stat(checkpoint, &info) == 0) return open_checkpoint(p, checkpoint);
  if (stat(config, &info) == 0) return open_folder(p, path);
  ISO__FAIL(p->ctx, ISO_NOT_FOUND, iso__path_tail(path), "holds neither checkpoint.safetensors nor config.json");
  return false;
}

/* ---- export ---- */

static iso_status write_file(const iso__text_model *m, int file, const char *folder, const char *name) {
  char path[PATH_BYTES];
  const iso_tensor *t = m->file[file];
  if (!t) return ISO_OK;
  if (!join(m->ctx, folder, name, path)) return m->ctx->error.code;
  return iso__file_write_atomic(m->ctx, path, iso_tensor_data(t), (size_t)iso_tensor_shape(t)[0]);
}

iso_status iso_text_predictor_export(iso_text_predictor *p, const char *folder) {
  if (!p || iso__failed(p->ctx)) return p ? p->ctx->error.code : ISO_INVALID_ARGUMENT;
  const iso__text_model *m = &p->model;
  const iso_pretrained_save_options options = {.classes = m->n_classes ? (const char *const *)m->classes : NULL};
  iso_status status = iso_pretrained_save(m->module, folder, &options);
  if (!status)
    status = write_file(m, ISO__FILE_TOKENIZER, folder, m->tokenizer_is_json ? "tokenizer.json" : "vocab.txt");
  return status ? status : write_file(m, ISO__FILE_TOKENIZER_CONFIG, folder, "tokenizer_config.json");
}
