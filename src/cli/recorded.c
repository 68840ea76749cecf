/* recorded.c: reads what a training job wrote about itself, and sets this process' options accordingly. The JSON is
 * input like any other: whatever it says is checked. */
#include "recorded.h"
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_WORDS = 128 };

const char *recorded_text(const recorded *r, const char *key) {
  const char *text = json_string_value(json_object_get(r->manifest, key));
  return text ? text : "";
}

static bool no_run(const recorded *r, const char *why) {
  fprintf(stderr, "isobit: %s: %s\n", r->path, why);
  return false;
}

/* The files of a --record lie beside its JSON, wherever the folder has gone; others are where the command wrote them.
 */
static void find_file(const recorded *r, const char *file, bool beside, char *out, size_t n_bytes) {
  const char *folder = beside ? r->folder : recorded_text(r, "folder");
  if (*file == '/') snprintf(out, n_bytes, "%s", file);
  else snprintf(out, n_bytes, "%s/%s", folder, file);
  if (access(out, R_OK) != 0) *out = 0;
}

static bool read_json(recorded *r, const char *run) {
  char path[4096], absolute[PATH_MAX];
  struct stat info;
  json_error_t error;
  snprintf(r->path, sizeof r->path, "%s", run);
  const bool folder = stat(run, &info) == 0 && S_ISDIR(info.st_mode);
  snprintf(path, sizeof path, "%s%s", run, folder ? "/run.json" : "");
  if (!realpath(path, absolute)) return no_run(r, strerror(errno));
  snprintf(r->path, sizeof r->path, "%s", absolute);
  snprintf(r->folder, sizeof r->folder, "%s", dirname(absolute));
  if (!(r->root = json_load_file(r->path, 0, &error))) return no_run(r, error.text);
  r->manifest = json_object_get(r->root, "manifest");
  return true;
}

static bool read_files(recorded *r) {
  const json_t *files = json_object_get(r->root, "record"), *from = files ? files : r->manifest;
  const char *log = json_string_value(json_object_get(from, "hash_log"));
  const char *lock = json_string_value(json_object_get(from, "lock"));
  const char *hash = json_string_value(json_object_get(from, "lock_hash"));
  if (log) find_file(r, log, files, r->hash_log, sizeof r->hash_log);
  if (lock) find_file(r, lock, files, r->lock, sizeof r->lock);
  snprintf(r->lock_hash, sizeof r->lock_hash, "%s", hash ? hash : "");
  const char *missing = log && !*r->hash_log ? log : lock && !*r->lock ? lock : NULL;
  if (missing) fprintf(stderr, "isobit: cannot repeat the run: its file '%s' is not there\n", missing);
  return !missing;
}

bool recorded_open(recorded *r, const char *run) {
  *r = (recorded){.loss = NAN};
  if (!read_json(r, run)) return false;
  const json_t *words = json_object_get(r->manifest, "argv"), *loss = json_object_get(r->root, "loss");
  const char *train = json_string_value(json_array_get(words, 1));
  const json_int_t n_steps = json_integer_value(json_object_get(r->root, "steps"));
  r->weights_hash = json_string_value(json_object_get(r->root, "weights_hash"));
  if (!train || strcmp(train, "train") != 0 || n_steps < 1 || !r->weights_hash)
    return no_run(r, "this is not the JSON of a finished 'isobit train' job");
  r->n_steps = (uint64_t)n_steps;
  if (json_is_number(loss)) r->loss = json_number_value(loss);
  return read_files(r);
}

void recorded_close(recorded *r) { json_decref(r->root); }

/* "repro=invariant tuning=measure …" */
static bool read_policy(const recorded *r, iso_policy *policy) {
  char copy[1024], message[256];
  snprintf(copy, sizeof copy, "%s", recorded_text(r, "policy"));
  iso_policy_preset("default", policy);
  for (char *save, *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
    char *equals = strchr(word, '=');
    if (!equals) return no_run(r, "the manifest's policy is damaged");
    *equals = 0;
    if (iso_policy_set(policy, word, equals + 1, message, sizeof message)) return no_run(r, message);
  }
  return true;
}

/* The words after "isobit train KIND". They point into r. */
static bool read_command(const recorded *r) {
  static char *list[MAX_WORDS];
  const json_t *words = json_object_get(r->manifest, "argv");
  const size_t n = json_array_size(words);
  const char *kind = json_string_value(json_array_get(words, 2));
  if (n > MAX_WORDS) return no_run(r, "the command has too many words");
  if (!kind || !job_select(kind)) return no_run(r, "the manifest's command trains nothing that is known here");
  for (size_t i = 3; i < n; i++) {
    const char *word = json_string_value(json_array_get(words, i));
    if (!word || !strcmp(word, "--help") || !strcmp(word, "-h")) return no_run(r, "the manifest's argv is damaged");
    list[i - 3] = (char *)(uintptr_t)word;
  }
  return train_read(n > 3 ? (int)(n - 3) : 0, list) < 0 || no_run(r, "the manifest's command is not accepted here");
}

bool recorded_apply(const recorded *r, iso_policy *policy) {
  if (!read_command(r) || !read_policy(r, policy)) return false;
  const json_int_t threads = json_integer_value(json_object_get(r->manifest, "threads"));
  job.threads = threads > 0 ? threads : 0;
  job.isa = *recorded_text(r, "isa") ? recorded_text(r, "isa") : NULL;
  job.json = NULL, job.quiet = true;
  job_kind->relocate(recorded_text(r, "folder"));
  return true;
}
