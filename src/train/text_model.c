/* text_model.c: a text model's parts: its tokenizer from files, from a checkpoint or from the training texts' words,
 * its classes, its module. */
#include "train/text_model.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "device/device.h"
#include "io/source.h"
#include "tensor/tensor.h"
#include "text/tokenizer.h"
#include "text/word_vocabulary.h"

enum { PATH_BYTES = 4096 };

/* ---- files ---- */

static const char *const file_names[ISO__N_FILES] = {"task.description", "task.tokenizer", "task.tokenizer_config"};

bool iso__text_model_keep_file(iso__text_model *m, int file, const void *bytes, size_t n_bytes) {
  const iso__device *device = iso__host_enter(m->ctx);
  iso_release(m->file[file]);
  m->file[file] = iso_keep(iso_tensor_copy_from(m->ctx, ISO_U8, 1, ISO_DIMS((int64_t)n_bytes), bytes));
  iso__host_leave(m->ctx, device);
  return m->file[file] != NULL;
}

static const void *bytes_of(const iso__text_model *m, int file, size_t *n) {
  const iso_tensor *t = m->file[file];
  *n = t ? (size_t)iso_tensor_shape(t)[0] : 0;
  return t ? iso_tensor_data(t) : NULL;
}

static bool read_file(iso__text_model *m, int file, const char *path, uint64_t limit) {
  iso__source source;
  if (!iso__source_open(m->ctx, path, &source)) return false;
  bool ok = source.n_bytes <= limit;
  if (!ok)
    ISO__FAIL(m->ctx, ISO_UNSUPPORTED, source.name, "has %llu bytes, supported are %llu",
              (unsigned long long)source.n_bytes, (unsigned long long)limit);
  void *bytes = ok ? iso__alloc(m->ctx, (size_t)source.n_bytes) : NULL;
  ok = bytes && iso__source_read(m->ctx, &source, 0, bytes, source.n_bytes, "the file") &&
       iso__text_model_keep_file(m, file, bytes, (size_t)source.n_bytes);
  iso__free(m->ctx, bytes, (size_t)source.n_bytes);
  iso__source_close(&source);
  return ok;
}

const iso_named_tensor *iso__text_model_files(iso__text_model *m, size_t *n) {
  *n = 0;
  for (int i = 0; i < ISO__N_FILES; i++)
    if (m->file[i]) m->listed[(*n)++] = (iso_named_tensor){.name = file_names[i], .tensor = m->file[i]};
  return m->listed;
}

/* ---- the tokenizer ---- */

static bool parse_tokenizer(iso__text_model *m, const char *name) {
  size_t n, n_config;
  const void *bytes = bytes_of(m, ISO__FILE_TOKENIZER, &n),
             *config = bytes_of(m, ISO__FILE_TOKENIZER_CONFIG, &n_config);
  m->tokenizer = m->tokenizer_is_json ? iso__tokenizer_parse_json(m->ctx, name, bytes, n)
                                      : iso__tokenizer_parse_vocabulary(m->ctx, name, bytes, n, "tokenizer_config.json",
                                                                        config, n_config, false);
  return m->tokenizer != NULL;
}

static bool exists(const char *path, bool folder) {
  struct stat info;
  return stat(path, &info) == 0 && folder == S_ISDIR(info.st_mode);
}

/* FOLDER/name, or the name beside the file `path`. */
static bool join(iso_context *ctx, const char *path, const char *name, char out[PATH_BYTES]) {
  const char *slash = strrchr(path, '/');
  const int n = exists(path, true)
                    ? snprintf(out, PATH_BYTES, "%s/%s", path, name)
                    : snprintf(out, PATH_BYTES, "%.*s%s", slash ? (int)(slash - path) + 1 : 0, path, name);
  if (n < PATH_BYTES) return true;
  return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, iso__path_tail(path), "the path is too long"), false;
}

bool iso__text_model_read_tokenizer(iso__text_model *m, const char *path) {
  char file[PATH_BYTES], config[PATH_BYTES];
  if (!join(m->ctx, path, "tokenizer_config.json", config) || !join(m->ctx, path, "tokenizer.json", file)) return false;
  const size_t n = strlen(path);
  m->tokenizer_is_json = exists(path, true) ? exists(file, false) : n > 5 && !strcmp(path + n - 5, ".json");
  if (!exists(path, true)) snprintf(file, sizeof file, "%s", path);
  else if (!m->tokenizer_is_json && !join(m->ctx, path, "vocab.txt", file)) return false;
  if (!read_file(m, ISO__FILE_TOKENIZER, file, ISO__TOKENIZER_FILE)) return false;
  if (!m->tokenizer_is_json && exists(config, false) &&
      !read_file(m, ISO__FILE_TOKENIZER_CONFIG, config, ISO__TOKENIZER_FILE))
    return false;
  return parse_tokenizer(m, iso__path_tail(file));
}

bool iso__text_model_make_tokenizer(iso__text_model *m, const iso_text_dataset *set, int64_t min_count) {
  char *bytes = NULL;
  size_t n_bytes = 0;
  m->tokenizer_is_json = false;
  if (iso__word_vocabulary(m->ctx, set, &(iso__word_options){.min_count = min_count}, &bytes, &n_bytes)) return false;
  const bool ok =
      iso__text_model_keep_file(m, ISO__FILE_TOKENIZER, bytes, n_bytes) && parse_tokenizer(m, "the texts' words");
  iso__free(m->ctx, bytes, n_bytes);
  return ok;
}

/* ---- classes ---- */

bool iso__text_model_add_class(iso__text_model *m, const char *name) {
  char *copy = iso__alloc(m->ctx, strlen(name) + 1);
  if (!copy) return false;
  m->classes[m->n_classes++] = strcpy(copy, name);
  return true;
}

bool iso__text_model_take_classes(iso__text_model *m, const iso_text_dataset *set) {
  const int n = iso_text_dataset_get_info(set).n_classes;
  bool ok = (m->classes = iso__zalloc(m->ctx, ((size_t)n + 1) * sizeof *m->classes)) != NULL;
  m->n_class_slots = n + 1;
  for (int k = 0; k < n && ok; k++) ok = iso__text_model_add_class(m, iso_text_dataset_class_name(set, k));
  return ok;
}

void iso__text_model_release(iso__text_model *m, bool with_module) {
  if (!m->ctx) return;
  for (int k = 0; k < m->n_classes; k++) iso__free(m->ctx, m->classes[k], strlen(m->classes[k]) + 1);
  iso__free(m->ctx, m->classes, (size_t)m->n_class_slots * sizeof *m->classes);
  for (int i = 0; i < ISO__N_FILES; i++) iso_release(m->file[i]);
  iso_tokenizer_free(m->tokenizer);
  if (with_module) iso_module_free(m->module);
  *m = (iso__text_model){0};
}

/* ---- from a checkpoint ---- */

bool iso__text_model_read(iso__text_model *m, const iso_tensor_dict *checkpoint, const char *path, bool embeds) {
  for (int i = 0; i < ISO__N_FILES; i++) {
    const iso_tensor *t = iso_tensor_dict_find(checkpoint, file_names[i]);
    if (!t && i <= ISO__FILE_TOKENIZER)
      return ISO__FAIL(m->ctx, ISO_CORRUPT, "checkpoint", "%s has no tensor '%s'", path, file_names[i]), false;
    if (!t) continue;
    if (iso_tensor_dtype(t) != ISO_U8 || iso_tensor_n_dims(t) != 1)
      return ISO__FAIL(m->ctx, ISO_CORRUPT, "checkpoint", "%s: tensor '%s' is no row of bytes", path, file_names[i]),
             false;
    if (!iso__text_model_keep_file(m, i, iso_tensor_data(t), (size_t)iso_tensor_shape(t)[0])) return false;
  }
  size_t n;
  iso_bert_config bert = {0};
  const char *text = bytes_of(m, ISO__FILE_DESCRIPTION, &n);
  return iso__text_model_parse(m, text, n, path, &bert) && parse_tokenizer(m, iso__path_tail(path)) &&
         iso__text_model_remake_module(m, bert.vocabulary ? &bert : NULL, embeds);
}
