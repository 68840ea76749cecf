/* checkpoint.c: `isobit checkpoint verify PATH`: what a checkpoint holds, and whether it is as it was written. */
#include <string.h>
#include <sys/stat.h>
#include "cli.h"

static const command verify_command = {
    .usage = "isobit checkpoint verify PATH [options]",
    .about = "Hashes every tensor and the metadata of a checkpoint (the folder of --checkpoint, or its file) again and "
             "compares with what\n"
             "was written with them; says what the checkpoint is of, and names each tensor that differs.",
    .options = (const option *const[]){job_option_list, NULL},
    .notes = "exit codes: 0 as it was written, 1 damaged (or not readable: says what), 2 wrong usage\n"
             "example: isobit checkpoint verify ck"};

typedef struct listing {
  json_t *wrong;
} listing;

static void list_wrong(void *user, const char *name, const char *recorded, const char *now) {
  listing *l = user;
  if (json_array_size(l->wrong) < 20) printf("differs          %s was written as %s, is %s\n", name, recorded, now);
  json_array_append_new(l->wrong, json_pack("{s:s, s:s, s:s}", "tensor", name, "written", recorded, "is", now));
}

/* What a person wants to know of it, in this order. What cannot be read is the verification's to say. */
static void print_facts(iso_context *ctx, const char *folder, json_t *result) {
  static const char *const keys[] = {"version", "task",      "model", "data_hash", "step",      "epoch", "batch",
                                     "seed",    "optimizer", "lr",    "leaves",    "precision", "policy"};
  char path[4096];
  json_t *facts = json_object();
  snprintf(path, sizeof path, "%s/checkpoint.safetensors", folder);
  iso_tensor_dict *file = iso_safetensors_read(ctx, path);
  for (size_t i = 0; file && i < sizeof keys / sizeof keys[0]; i++) {
    const char *value = iso_tensor_dict_metadata(file, keys[i]);
    if (!value) continue;
    printf("%-16s %s\n", keys[i], value);
    json_object_set_new(facts, keys[i], json_string(value));
  }
  iso_tensor_dict_free(file);
  iso_clear_error(ctx);
  json_object_set_new(result, "facts", facts);
}

static int verify(iso_context *ctx, const char *path) {
  iso_checkpoint_summary s;
  struct stat info;
  json_t *result = json_object();
  listing l = {.wrong = json_array()};
  if (!stat(path, &info) && S_ISDIR(info.st_mode)) print_facts(ctx, path, result);
  json_object_set_new(result, "differing", l.wrong);
  int code = iso_checkpoint_verify(ctx, path, list_wrong, &l, &s) ? job_failed(ctx) : EXIT_OK;
  if (!code) {
    if (s.n_wrong)
      printf("damaged          %zu of %zu tensors and the metadata differ from what was written: resume from another "
             "copy\n",
             s.n_wrong, s.n_tensors);
    else printf("as it was written: %zu tensors and the metadata\n", s.n_tensors);
    json_object_set_new(result, "tensors", json_integer((json_int_t)s.n_tensors));
    code = s.n_wrong ? EXIT_FAILED : EXIT_OK;
  }
  if (job.json && job_write_json(job.json, json_incref(result))) code = EXIT_FAILED;
  json_decref(result);
  return code;
}

int command_checkpoint_verify(int argc, char **argv) {
  iso_policy policy;
  const int n = problems_count_words(argc, argv);
  int code = options_read(&verify_command, argc - n, argv + n);
  if (code >= 0 || (code = job_policy(job.policy, &policy)) >= 0 || (code = job_check_json()) >= 0) return code;
  if (n != 1)
    return fprintf(stderr, "isobit: checkpoint verify needs one path\nusage: %s\n", verify_command.usage), EXIT_USAGE;
  iso_context *ctx = job_context(&policy, job.threads);
  if (!ctx) return EXIT_FAILED;
  code = verify(ctx, argv[0]);
  iso_context_free(ctx);
  return code;
}
