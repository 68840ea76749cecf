/* checkpoint.c: everything a bit-equal resume needs in one safetensors file: weights and buffers ("model.NAME"),
 * optimiser state ("optimizer.NAME"), and as metadata the options that decide bits, seed, step, random step and loader
 * position. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "optim/scaler.h"
#include "train/trainer.h"

enum { PATH_BYTES = 4096 };
static const char *const format_name = "isobit-checkpoint-1";

void iso__facts_text(iso__facts *f, const char *key, bool binding, const char *text) {
  iso__fact *one = &f->fact[f->n++];
  one->key = key, one->binding = binding;
  snprintf(one->value, sizeof one->value, "%s", text);
}
void iso__facts_number(iso__facts *f, const char *key, bool binding, uint64_t value) {
  char text[32];
  snprintf(text, sizeof text, "%" PRIu64, value);
  iso__facts_text(f, key, binding, text);
}
void iso__facts_double(iso__facts *f, const char *key, double value) {
  char text[48];
  snprintf(text, sizeof text, "%a", value);
  iso__facts_text(f, key, true, text);
}

static void gather(const iso_trainer *t, iso__facts *f) {
  const iso_policy *policy = iso_policy_current(t->ctx);
  uint32_t epoch;
  int64_t batch;
  char text[300];
  t->task->position(t->loader, &epoch, &batch);
  iso_policy_format(policy, text, sizeof text);
  f->n = 0;
  iso__facts_text(f, "format", true, format_name);
  iso__facts_text(f, "version", false, iso_version());
  iso__facts_text(f, "data_hash", true, t->task->info(t, ISO_SPLIT_TRAIN).hash);
  iso__recipe_facts(t, f);
  t->task->facts(t, f);
  iso__facts_number(f, "seed", true, policy->seed);
  iso__facts_number(f, "leaves", true, (uint64_t)policy->leaves);
  iso__facts_text(f, "policy", false, text);
  iso__facts_number(f, "step", false, t->step);
  iso__facts_number(f, "random_step", false, iso_random_step(t->ctx));
  iso__facts_number(f, "epoch", false, epoch);
  iso__facts_number(f, "batch", false, (uint64_t)batch);
}

/* All tensors under one list of full names: the model's, the optimiser's and the scaler's, which a resume assigns into,
 * then bytes beside them. */
typedef struct tensor_list {
  size_t n;
  iso_named_tensor *entries;
  char (*names)[256];
  iso_tensor *lock, *hashes; /* own */
} tensor_list;

typedef enum list_scope { WEIGHTS, STATE, EVERYTHING } list_scope;

static void list_release(iso_context *ctx, tensor_list *list) {
  iso__free(ctx, list->entries, list->n * sizeof *list->entries);
  iso__free(ctx, list->names, list->n * sizeof *list->names);
  iso_release(list->lock), iso_release(list->hashes);
}

/* Hashes of all that is listed, as one more entry, for which there is room. */
static iso_status add_hashes(iso_context *ctx, tensor_list *list, size_t n_metadata, const iso_key_value *metadata) {
  list->hashes = iso__checkpoint_hashes(ctx, list->n - 1, list->entries, n_metadata, metadata);
  list->entries[list->n - 1] = (iso_named_tensor){.name = "hashes", .tensor = list->hashes};
  return ctx->error.code;
}

static iso_status list_init(iso_trainer *t, list_scope scope, tensor_list *list) {
  struct group {
    const char *prefix;
    size_t n;
    const iso_named_tensor *tensors;
  } group[] = {{.prefix = "model."}, {.prefix = "optimizer."}, {.prefix = "scaler."}, {.prefix = ""}, {.prefix = ""}};
  enum { N_GROUPS = sizeof group / sizeof *group };
  iso_named_tensor lock = {.name = "lock"};
  *list = (tensor_list){0};
  group[0].tensors = iso_module_tensors(t->model, &group[0].n);
  if (scope >= STATE) group[1].tensors = iso_optimizer_state(t->optimizer, &group[1].n);
  if (scope >= STATE) group[2].tensors = iso_grad_scaler_state(t->scaler, &group[2].n);
  if (scope == EVERYTHING) {
    if (t->task->files) group[3].tensors = t->task->files(t, &group[3].n);
    lock.tensor = list->lock = iso__checkpoint_lock(t);
    group[4].tensors = &lock, group[4].n = lock.tensor != NULL;
  }
  for (int g = 0; g < N_GROUPS; g++) list->n += group[g].n;
  if (scope == EVERYTHING) list->n++; /* add_hashes' */
  list->entries = iso__alloc(t->ctx, list->n * sizeof *list->entries);
  list->names = iso__alloc(t->ctx, list->n * sizeof *list->names);
  if (!list->entries || !list->names) return list_release(t->ctx, list), t->ctx->error.code;
  for (size_t g = 0, k = 0; g < N_GROUPS; g++)
    for (size_t i = 0; i < group[g].n; i++, k++) {
      snprintf(list->names[k], sizeof list->names[k], "%s%s", group[g].prefix, group[g].tensors[i].name);
      list->entries[k] = (iso_named_tensor){.name = list->names[k], .tensor = group[g].tensors[i].tensor};
    }
  return ISO_OK;
}

/* The file in `folder`; false with the error kept where there is no such path. */
static bool path_of(iso_context *ctx, const char *folder, char path[PATH_BYTES]) {
  const int n = folder && *folder ? snprintf(path, PATH_BYTES, "%s/checkpoint.safetensors", folder) : 0;
  if (n > 0 && n < PATH_BYTES) return true;
  ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "checkpoint", "the folder's path is %s", n ? "too long" : "empty");
  return false;
}

iso_status iso_trainer_save(iso_trainer *t, const char *folder) {
  if (!t || iso__failed(t->ctx)) return t ? t->ctx->error.code : ISO_INVALID_ARGUMENT;
  char path[PATH_BYTES];
  tensor_list list;
  iso__facts f;
  iso_key_value metadata[ISO__MAX_FACTS];
  if (!path_of(t->ctx, folder, path)) return t->ctx->error.code;
  if (mkdir(folder, 0777) && errno != EEXIST)
    return ISO__FAIL(t->ctx, ISO_IO, "checkpoint", "cannot make folder %s: %s", folder, strerror(errno));
  gather(t, &f);
  for (int i = 0; i < f.n; i++) metadata[i] = (iso_key_value){f.fact[i].key, f.fact[i].value};
  if (list_init(t, EVERYTHING, &list)) return t->ctx->error.code;
  iso_status status = add_hashes(t->ctx, &list, (size_t)f.n, metadata);
  if (!status) status = iso_safetensors_write(t->ctx, path, list.entries, list.n, metadata, (size_t)f.n);
  list_release(t->ctx, &list);
  return status;
}

/* Every binding fact must be what the checkpoint says. */
static iso_status compare_facts(iso_trainer *t, const iso_tensor_dict *file, const char *path) {
  iso__facts f;
  gather(t, &f);
  for (int i = 0; i < f.n; i++) {
    const char *was = iso_tensor_dict_metadata(file, f.fact[i].key);
    if (!was) return ISO__FAIL(t->ctx, ISO_CORRUPT, "checkpoint", "%s has no '%s'", path, f.fact[i].key);
    if (f.fact[i].binding && strcmp(was, f.fact[i].value) != 0)
      return ISO__FAIL(t->ctx, ISO_INVALID_ARGUMENT, "checkpoint", "%s was written with %s = %s, this run has %s", path,
                       f.fact[i].key, was, f.fact[i].value);
  }
  return ISO_OK;
}

static iso_status assign_tensors(iso_trainer *t, const iso_tensor_dict *file, const char *path, list_scope scope) {
  tensor_list list;
  iso_status status = list_init(t, scope, &list);
  if (status) return status;
  /* First look at all of them, so that a file that does not fit changes nothing. */
  for (int pass = 0; pass < 2 && !status; pass++)
    for (size_t i = 0; i < list.n && !status; i++) {
      const iso_tensor *from = iso_tensor_dict_find(file, list.names[i]);
      iso_tensor *to = list.entries[i].tensor;
      if (!from) status = ISO__FAIL(t->ctx, ISO_CORRUPT, "checkpoint", "%s has no tensor '%s'", path, list.names[i]);
      else if (pass) status = iso_tensor_assign(to, from);
      else if (iso_tensor_dtype(from) != iso_tensor_dtype(to) || iso_tensor_n_dims(from) != iso_tensor_n_dims(to) ||
               memcmp(iso_tensor_shape(from), iso_tensor_shape(to), (size_t)iso_tensor_n_dims(to) * sizeof(int64_t)) !=
                   0)
        status = ISO__FAIL(t->ctx, ISO_CORRUPT, "checkpoint",
                           "%s: tensor '%s' has another shape or dtype than the model", path, list.names[i]);
    }
  list_release(t->ctx, &list);
  return status;
}

static uint64_t number_of(const iso_tensor_dict *file, const char *key) {
  return strtoull(iso_tensor_dict_metadata(file, key), NULL, 10);
}

static iso_status resume_from(iso_trainer *t, const iso_tensor_dict *file, const char *path) {
  iso_status status = compare_facts(t, file, path);
  if (status || (status = assign_tensors(t, file, path, STATE)) ||
      (status = iso__checkpoint_use_lock(t, iso_tensor_dict_find(file, "lock"), path)))
    return status;
  if (t->scaler && (status = iso__grad_scaler_settle(t->scaler))) return status;
  t->step = number_of(file, "step");
  iso_random_set_step(t->ctx, (uint32_t)number_of(file, "random_step"));
  if ((status = t->task->seek(t->loader, (uint32_t)number_of(file, "epoch"), (int64_t)number_of(file, "batch"))))
    return status;
  return iso__hash_log_rewind(t);
}

iso_status iso_trainer_resume(iso_trainer *t, const char *folder) {
  if (!t || iso__failed(t->ctx)) return t ? t->ctx->error.code : ISO_INVALID_ARGUMENT;
  char path[PATH_BYTES];
  struct stat info;
  if (!path_of(t->ctx, folder, path)) return t->ctx->error.code;
  if (stat(path, &info) && errno == ENOENT) return ISO_NOT_FOUND;
  iso_tensor_dict *file = iso_safetensors_read(t->ctx, path);
  if (!file) return t->ctx->error.code;
  const iso_status status = resume_from(t, file, path);
  iso_tensor_dict_free(file);
  return status;
}

iso_status iso_trainer_load_weights(iso_trainer *t, const char *folder) {
  if (!t || iso__failed(t->ctx)) return t ? t->ctx->error.code : ISO_INVALID_ARGUMENT;
  char path[PATH_BYTES];
  if (!path_of(t->ctx, folder, path)) return t->ctx->error.code;
  iso_tensor_dict *file = iso_safetensors_read(t->ctx, path);
  if (!file) return t->ctx->error.code;
  const iso_status status = assign_tensors(t, file, path, WEIGHTS);
  iso_tensor_dict_free(file);
  return status;
}

iso_status iso_checkpoint_fact(iso_context *ctx, const char *folder, const char *key, char *value, size_t n_bytes) {
  char path[PATH_BYTES];
  if (!value || !key || iso__failed(ctx)) return iso__failed(ctx) ? iso_error_code(ctx) : ISO_INVALID_ARGUMENT;
  if (!path_of(ctx, folder, path)) return ctx->error.code;
  iso_tensor_dict *file = iso_safetensors_read(ctx, path);
  if (!file) return ctx->error.code;
  const char *text = iso_tensor_dict_metadata(file, key);
  snprintf(value, n_bytes, "%s", text ? text : "");
  iso_tensor_dict_free(file);
  return text ? ISO_OK : ISO_NOT_FOUND;
}

iso_status iso_checkpoint_model_name(iso_context *ctx, const char *folder, char *name, size_t n_bytes) {
  const iso_status status = iso_checkpoint_fact(ctx, folder, "model", name, n_bytes);
  if (status != ISO_NOT_FOUND || iso__failed(ctx)) return status;
  return ISO__FAIL(ctx, ISO_CORRUPT, "checkpoint", "%s/checkpoint.safetensors has no 'model'", folder);
}
