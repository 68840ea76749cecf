/* record.c: the folder of `train --record`: what `isobit reproduce` repeats a run from, in files with fixed names, so
 * that the folder may move. */
#include "cli.h"

static const char *const hash_log_name = "hashes.tsv", *const lock_name = "isobit.lock";

int record_begin(const char *folder, char *hash_log, size_t n_bytes) {
  if (output_make_folder("--record", folder)) return EXIT_FAILED;
  snprintf(hash_log, n_bytes, "%s/%s", folder, hash_log_name);
  return -1;
}

int record_end(iso_context *ctx, const char *folder, json_t *result) {
  char path[4096], hash[33];
  snprintf(path, sizeof path, "%s/%s", folder, lock_name);
  if (iso_lock_write(ctx, path) || iso_lock_load(ctx, path)) return job_failed(ctx);
  iso_lock_hash(ctx, hash);
  json_object_set_new(result, "record",
                      json_pack("{s:s, s:s, s:s}", "hash_log", hash_log_name, "lock", lock_name, "lock_hash", hash));
  snprintf(path, sizeof path, "%s/run.json", folder);
  return job_write_json(path, json_incref(result));
}
