/* manifest.c: what a job says of itself, enough to repeat it (reproduce.c): versions, device, policy, seed, data,
 * plans, command. */
#include <gnu/libc-version.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>
#include <zlib.h>
#include "cli.h"

static int n_words;
static char **words;

void job_set_command(int argc, char **argv) { n_words = argc, words = argv; }

/* The words as they were, for programs; and as one line, for people. */
static void add_command(json_t *m) {
  char line[2048] = "";
  size_t used = 0;
  json_t *list = json_array();
  for (int i = 0; i < n_words; i++) {
    json_array_append_new(list, json_string(words[i]));
    if (used < sizeof line) used += (size_t)snprintf(line + used, sizeof line - used, "%s%s", i ? " " : "", words[i]);
  }
  json_object_set_new(m, "command", json_string(line));
  json_object_set_new(m, "argv", list);
  char folder[4096];
  if (getcwd(folder, sizeof folder)) json_object_set_new(m, "folder", json_string(folder));
}

static json_t *libraries(void) {
  char xxhash[32];
  const unsigned v = XXH_versionNumber();
  snprintf(xxhash, sizeof xxhash, "%u.%u.%u", v / 10000, v / 100 % 100, v % 100);
  return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "libc", gnu_get_libc_version(), "zlib", zlibVersion(), "jansson",
                   jansson_version_str(), "xxhash", xxhash, "images", iso_image_decoders(), "compiler", __VERSION__);
}

json_t *job_manifest(const iso_context *ctx, const iso_trainer *trainer) {
  char policy[512], lock[33];
  iso_policy_format(iso_policy_current(ctx), policy, sizeof policy);
  json_t *m = json_pack("{s:s, s:o, s:s, s:s, s:s, s:i, s:s}", "isobit_version", iso_version(), "libraries",
                        libraries(), "device", iso_context_device(ctx), "cpu", iso_machine_get_info()->model, "isa",
                        iso_isa_name(iso_context_isa(ctx)), "threads", iso_n_threads(ctx), "policy", policy);
  json_object_set_new(m, "seed", json_integer((json_int_t)iso_policy_current(ctx)->seed));
  if (trainer) {
    json_object_set_new(m, "train_data_hash", json_string(iso_trainer_data_info(trainer, ISO_SPLIT_TRAIN).hash));
    json_object_set_new(m, "test_data_hash", json_string(iso_trainer_data_info(trainer, ISO_SPLIT_TEST).hash));
    json_object_set_new(m, "precision", json_string(iso_trainer_precision(trainer)));
  }
  if (iso_lock_hash(ctx, lock)) {
    json_object_set_new(m, "lock", json_string(job.lock ? job.lock : ""));
    json_object_set_new(m, "lock_hash", json_string(lock));
  }
  add_command(m);
  return m;
}

void job_print_manifest(const json_t *manifest) {
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)(uintptr_t)manifest, key, value) {
    if (json_is_array(value)) continue; /* the command's words again */
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    printf("%-16s %s\n", key, text ? text : "");
    free(text);
  }
  fflush(stdout);
}
