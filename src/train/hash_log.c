/* hash_log.c: what two runs computed, step by step and layer by layer, as hashes: the first line that differs names the
 * step and the tensor. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/hash.h"
#include "train/trainer.h"

struct iso__hash_log {
  FILE *file;
  char path[4096];
  char (*gradients)[33]; /* of the step in progress, one a tensor; "-" without one */
  size_t n;
};

static iso_status failed(iso_trainer *t, const char *what) {
  return ISO__FAIL(t->ctx, ISO_IO, "hash log", "%s %s: %s", what, t->log->path, strerror(errno));
}

void iso__hash_log_close(iso_trainer *t) {
  if (!t->log) return;
  if (t->log->file) fclose(t->log->file);
  iso__free(t->ctx, t->log->gradients, t->log->n * sizeof t->log->gradients[0]);
  iso__free(t->ctx, t->log, sizeof *t->log);
  t->log = NULL;
}

iso_status iso_trainer_log_hashes(iso_trainer *t, const char *path) {
  if (!t) return ISO_INVALID_ARGUMENT;
  iso__hash_log_close(t);
  if (iso__failed(t->ctx)) return t->ctx->error.code;
  if (!path) return ISO_OK;
  if (!*path || strlen(path) >= sizeof t->log->path)
    return ISO__FAIL(t->ctx, ISO_INVALID_ARGUMENT, "hash log", "the path is %s", *path ? "too long" : "empty");
  if (!(t->log = iso__zalloc(t->ctx, sizeof *t->log))) return t->ctx->error.code;
  memcpy(t->log->path, path, strlen(path) + 1);
  iso_module_tensors(t->model, &t->log->n);
  t->log->gradients = iso__alloc(t->ctx, t->log->n * sizeof t->log->gradients[0]);
  if (!t->log->gradients) t->log->n = 0;
  iso_status status = t->log->gradients ? iso__hash_log_rewind(t) : t->ctx->error.code;
  if (status) iso__hash_log_close(t);
  return status;
}

/* A device, a pipe: written to, but neither read nor replaced. */
static iso_status open_direct(iso_trainer *t) {
  if (!t->log->file && !(t->log->file = fopen(t->log->path, "w"))) return failed(t, "cannot open");
  return ISO_OK;
}

/* Copies the lines of steps before t->step into a file beside, which then takes the log's place. */
iso_status iso__hash_log_rewind(iso_trainer *t) {
  struct stat info;
  if (!t->log) return ISO_OK;
  if (stat(t->log->path, &info) == 0 && !S_ISREG(info.st_mode)) return open_direct(t);
  char beside[sizeof t->log->path + 8], line[512];
  snprintf(beside, sizeof beside, "%s.new", t->log->path);
  FILE *old = t->step ? fopen(t->log->path, "r") : NULL;
  FILE *fresh = fopen(beside, "w");
  if (!fresh) {
    if (old) fclose(old);
    return failed(t, "cannot write beside");
  }
  while (old && fgets(line, sizeof line, old))
    if (strtoull(line, NULL, 10) < t->step) fputs(line, fresh);
  if (old) fclose(old);
  if (fflush(fresh) || ferror(fresh) || rename(beside, t->log->path)) {
    const iso_status status = failed(t, "cannot replace");
    fclose(fresh);
    remove(beside);
    return status;
  }
  if (t->log->file) fclose(t->log->file);
  t->log->file = fresh;
  return ISO_OK;
}

iso_status iso__hash_log_gradients(iso_trainer *t, double loss) {
  size_t n;
  char hex[33];
  const iso_named_tensor *tensors = iso_module_tensors(t->model, &n);
  iso__hash_format(iso__hash_bytes(&loss, sizeof loss), hex);
  fprintf(t->log->file, "%llu\tloss\t%s\t-\n", (unsigned long long)t->step, hex);
  for (size_t i = 0; i < n && i < t->log->n; i++) {
    const iso_tensor *grad = tensors[i].trainable ? iso_grad(tensors[i].tensor) : NULL;
    strcpy(t->log->gradients[i], "-");
    if (grad && iso_tensor_hash(grad, t->log->gradients[i])) return t->ctx->error.code;
  }
  return ISO_OK;
}

iso_status iso__hash_log_weights(iso_trainer *t) {
  size_t n;
  char hex[33];
  const iso_named_tensor *tensors = iso_module_tensors(t->model, &n);
  for (size_t i = 0; i < n && i < t->log->n; i++) {
    if (iso_tensor_hash(tensors[i].tensor, hex)) return t->ctx->error.code;
    fprintf(t->log->file, "%llu\t%s\t%s\t%s\n", (unsigned long long)t->step, tensors[i].name, t->log->gradients[i],
            hex);
  }
  return fflush(t->log->file) || ferror(t->log->file) ? failed(t, "cannot write") : ISO_OK;
}

iso_status iso__tensors_hash(iso_context *ctx, size_t n, const iso_named_tensor *tensors, char hex[33]) {
  char one[33];
  iso__hasher *hasher = iso__hasher_new();
  if (!hasher) return ISO__FAIL(ctx, ISO_OUT_OF_MEMORY, "weights hash", "no memory");
  for (size_t i = 0; i < n; i++) {
    if (iso_tensor_hash(tensors[i].tensor, one)) break;
    iso__hasher_add(hasher, tensors[i].name, strlen(tensors[i].name) + 1);
    iso__hasher_add(hasher, one, 32);
  }
  iso__hash_format(iso__hasher_end(hasher), hex);
  return ctx->error.code;
}

iso_status iso_trainer_weights_hash(const iso_trainer *t, char hex[33]) {
  size_t n;
  if (!t || !hex) return ISO_INVALID_ARGUMENT;
  const iso_named_tensor *tensors = iso_module_tensors(t->model, &n);
  return iso__tensors_hash(t->ctx, n, tensors, hex);
}
