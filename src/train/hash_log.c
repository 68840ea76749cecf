/* hash_log.c: what two runs computed, step by step and layer by layer, as hashes: the first line that differs names the
 * step and the tensor. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/hash.h"
#include "device/trace.h"
#include "train/trainer.h"

struct iso__hash_log {
  FILE *file;
  char path[4096];
  char (*gradients)[33]; /* of the step in progress, one a tensor; "-" without one */
  size_t n;
  bool operators; /* a line for every run of an engine, too */
  uint64_t step;  /* in progress */
  int n_runs;     /* of it */
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
  char beside[sizeof t->log->path + 8], line[2048];
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

/* ---- runs of engines ---- */

/* Over all that a run wrote. */
static void note_run(void *user, const iso_trace_entry *run, int n_outputs, const iso_trace_output *outputs) {
  iso__hash_log *log = user;
  char hex[33] = "-";
  iso__hasher *hasher = iso__hasher_new();
  for (int i = 0; hasher && i < n_outputs; i++) {
    const iso__hash one = iso__hash_elements(outputs[i].dtype, outputs[i].data, outputs[i].n);
    iso__hasher_add(hasher, &one, sizeof one);
  }
  if (hasher) iso__hash_format(iso__hasher_end(hasher), hex);
  fprintf(log->file, "%llu\t#%d\t%s\t-\t%s\t%s\t%s\t%s@%d class %s\n", (unsigned long long)log->step, log->n_runs++,
          hex, iso_trace_phase_name(run->phase), *run->module ? run->module : "-", run->problem, run->engine,
          run->revision, run->class_name);
}

iso_status iso_trainer_log_operators(iso_trainer *t, bool on) {
  if (!t) return ISO_INVALID_ARGUMENT;
  if (iso__failed(t->ctx)) return t->ctx->error.code;
  if (!t->log)
    return ISO__FAIL(t->ctx, ISO_STATE, __func__, "there is no hash log: iso_trainer_log_hashes comes first");
  t->log->operators = on;
  return ISO_OK;
}

iso_status iso__hash_log_begin(iso_trainer *t) {
  iso__hash_log *log = t->log;
  char hex[33];
  if (!log) return ISO_OK;
  log->step = t->step, log->n_runs = 0;
  if (t->step == 0) {
    if (iso_trainer_weights_hash(t, hex)) return t->ctx->error.code;
    fprintf(log->file, "0\tstart\t%s\t-\n", hex);
  }
  if (!log->operators) return ISO_OK;
  if (iso__trace_of(t->ctx))
    return ISO__FAIL(t->ctx, ISO_STATE, "hash log", "operators cannot be logged while the context is traced");
  return iso_trace_start(t->ctx, &(iso_trace_options){.observer = note_run, .observer_user = log});
}

void iso__hash_log_end(iso_trainer *t) {
  const iso__trace *trace = iso__trace_of(t->ctx);
  if (t->log && trace && trace->observer_user == t->log) iso_trace_stop(t->ctx);
}

iso_status iso__hash_log_batch(iso_trainer *t, const iso_tensor *x, const iso_tensor *y) {
  char hex[2][33] = {"-", "-"};
  if (!t->log) return ISO_OK;
  if ((x && iso_tensor_hash(x, hex[0])) || (y && iso_tensor_hash(y, hex[1]))) return t->ctx->error.code;
  fprintf(t->log->file, "%llu\tbatch\t%s\t%s\n", (unsigned long long)t->step, hex[0], hex[1]);
  return ISO_OK;
}

/* ---- tensors ---- */

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
