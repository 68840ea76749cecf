/* checkpoint_hashes.c: hashes of a checkpoint's tensors and metadata inside it, so that one that was damaged on its way
 * (a disk, a copy, an edit) says where. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/hash.h"
#include "train/trainer.h"

static const char *const list_name = "hashes", *const metadata_name = "(metadata)";

/* Over keys and values, whatever their order: a writer's list and a file's, which ascends by key, have the same. */
static iso__hash metadata_hash(size_t n, const iso_key_value *metadata) {
  iso__hash sum = {.low = n};
  for (size_t i = 0; i < n; i++) {
    const iso__hash key = iso__hash_bytes(metadata[i].key, strlen(metadata[i].key) + 1);
    const iso__hash value = iso__hash_bytes(metadata[i].value, strlen(metadata[i].value) + 1);
    const iso__hash both[2] = {key, value};
    const iso__hash one = iso__hash_bytes(both, sizeof both);
    sum.low += one.low, sum.high += one.high;
  }
  return sum;
}

enum { LINE_BYTES = 300 };
/* "NAME<tab>hash" a line. */
iso_tensor *iso__checkpoint_hashes(iso_context *ctx, size_t n, const iso_named_tensor *tensors, size_t n_metadata,
                                   const iso_key_value *metadata) {
  char hex[33];
  size_t used = 0;
  const size_t n_bytes = (n + 1) * LINE_BYTES;
  char *text = iso__alloc(ctx, n_bytes);
  if (!text) return NULL;
  for (size_t i = 0; i < n && !iso_tensor_hash(tensors[i].tensor, hex); i++)
    used += (size_t)snprintf(text + used, n_bytes - used, "%.255s\t%s\n", tensors[i].name, hex);
  iso__hash_format(metadata_hash(n_metadata, metadata), hex);
  used += (size_t)snprintf(text + used, n_bytes - used, "%s\t%s\n", metadata_name, hex);
  const iso__device *device = iso__host_enter(ctx);
  iso_tensor *bytes =
      iso__failed(ctx) ? NULL : iso_keep(iso_tensor_copy_from(ctx, ISO_U8, 1, ISO_DIMS((int64_t)used), text));
  iso__host_leave(ctx, device);
  iso__free(ctx, text, n_bytes);
  return bytes;
}

/* ---- verifying ---- */

typedef struct verification {
  iso_context *ctx;
  const iso_tensor_dict *file;
  iso_checkpoint_report *report;
  void *user;
  size_t n_found, n_wrong;
} verification;

static void tell(verification *v, const char *name, const char *recorded, const char *now) {
  v->n_wrong++;
  if (v->report) v->report(v->user, name, recorded, now);
}

static void check_line(verification *v, const char *name, const char *recorded) {
  char now[33];
  if (!strcmp(name, metadata_name)) {
    iso__hash_format(metadata_hash(v->file->n_metadata, v->file->metadata), now);
  } else {
    const iso_tensor *t = iso_tensor_dict_find(v->file, name);
    v->n_found += t != NULL;
    if (!t) return tell(v, name, recorded, "missing");
    if (iso_tensor_hash(t, now)) return;
  }
  if (strcmp(recorded, now) != 0) tell(v, name, recorded, now);
}

/* Each line's tensor; then whether there are others. */
static void check_list(verification *v, char *text) {
  for (char *save, *line = strtok_r(text, "\n", &save); line && !iso__failed(v->ctx);
       line = strtok_r(NULL, "\n", &save)) {
    char *tab = strchr(line, '\t');
    if (!tab) {
      tell(v, list_name, line, "no line of hashes");
      continue;
    }
    *tab = 0;
    check_line(v, line, tab + 1);
  }
  if (v->n_found + 1 < v->file->n_tensors) tell(v, "(tensors)", "", "there are more tensors than were hashed");
}

static iso_status verify(verification *v, const char *path) {
  const iso_tensor *list = iso_tensor_dict_find(v->file, list_name);
  if (!list)
    return ISO__FAIL(v->ctx, ISO_NOT_FOUND, "checkpoint",
                     "%s has no hashes: it is no checkpoint, or one of an older release", path);
  if (iso_tensor_dtype(list) != ISO_U8 || iso_tensor_n_dims(list) != 1)
    return ISO__FAIL(v->ctx, ISO_CORRUPT, "checkpoint", "%s: tensor '%s' is no row of bytes", path, list_name);
  const size_t n = (size_t)iso_tensor_numel(list);
  char *text = iso__zalloc(v->ctx, n + 1);
  if (!text) return v->ctx->error.code;
  if (!iso_tensor_copy_to(list, text, n)) check_list(v, text);
  iso__free(v->ctx, text, n + 1);
  return v->ctx->error.code;
}

iso_status iso_checkpoint_verify(iso_context *ctx, const char *path, iso_checkpoint_report *report, void *user,
                                 iso_checkpoint_summary *out) {
  char file[4096];
  struct stat info;
  if (!ctx || iso__failed(ctx)) return ctx ? ctx->error.code : ISO_INVALID_ARGUMENT;
  const bool folder = path && !stat(path, &info) && S_ISDIR(info.st_mode);
  const int n = path ? snprintf(file, sizeof file, "%s%s", path, folder ? "/checkpoint.safetensors" : "") : 0;
  if (n < 1 || n >= (int)sizeof file)
    return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "checkpoint", "the path is %s", n ? "too long" : "empty");
  verification v = {.ctx = ctx, .report = report, .user = user};
  iso_tensor_dict *dict = iso_safetensors_read(ctx, file);
  if (!dict) return ctx->error.code;
  v.file = dict;
  const iso_status status = verify(&v, file);
  if (out) *out = (iso_checkpoint_summary){.n_tensors = v.n_found, .n_wrong = v.n_wrong};
  iso_tensor_dict_free(dict);
  return status;
}
