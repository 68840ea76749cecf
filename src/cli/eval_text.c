/* eval_text.c: `isobit eval` of a text job's checkpoint: on the file given, or on what the run itself tested on. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "texts.h"

/* What the checkpoint says of the run's own data; an option given wins. */
typedef struct asked {
  iso_tensor_dict *file;
  const char *data, *test, *text_column, *label_column, *format;
  double held_out;
  uint64_t seed;
} asked;

static const char *given_or(const char *given, const iso_tensor_dict *file, const char *key) {
  const char *was = iso_tensor_dict_metadata(file, key);
  return given ? given : was && *was ? was : NULL;
}

static bool read_facts(iso_context *ctx, const char *folder, asked *a) {
  char path[4096];
  snprintf(path, sizeof path, "%s/checkpoint.safetensors", folder);
  if (!(a->file = iso_safetensors_read(ctx, path))) return false;
  a->data = given_or(NULL, a->file, "data"), a->test = given_or(text_job.test, a->file, "test");
  a->text_column = given_or(text_job.text_column, a->file, "text_column");
  a->label_column = given_or(text_job.label_column, a->file, "label_column");
  a->format = given_or(text_job.format, a->file, "data_format");
  const char *share = iso_tensor_dict_metadata(a->file, "held_out"), *seed = iso_tensor_dict_metadata(a->file, "seed");
  a->held_out = share ? strtod(share, NULL) : 0, a->seed = seed ? strtoull(seed, NULL, 10) : 0;
  return true;
}

/* The test file; without one the part of the training file that was held out. */
static iso_text_dataset *open_set(iso_context *ctx, const iso_text_predictor *p, const asked *a) {
  const int n = iso_text_predictor_n_classes(p);
  const char **classes = calloc((size_t)n + 1, sizeof *classes), *path = a->test ? a->test : a->data;
  for (int k = 0; classes && k < n; k++) classes[k] = iso_text_predictor_class_name(p, k);
  iso_text_dataset *set = classes && path
                              ? iso_text_dataset_open(ctx, path,
                                                      &(iso_text_file_options){.format = a->format,
                                                                               .text_column = a->text_column,
                                                                               .label_column = a->label_column,
                                                                               .n_classes = n,
                                                                               .classes = classes})
                              : NULL;
  free(classes);
  if (!set || a->test) return set;
  iso_text_dataset *part = iso_text_dataset_part(ctx, set, a->held_out, a->seed, ISO_SPLIT_TEST);
  iso_text_dataset_free(set);
  return part;
}

static int evaluate(iso_context *ctx, iso_text_predictor *p, iso_text_dataset *set, const asked *a, int64_t limit) {
  iso_evaluation e;
  json_t *result = json_object(), *manifest = job_manifest(ctx, NULL);
  json_object_set_new(manifest, "test_data", json_string(a->test ? a->test : a->data));
  json_object_set_new(manifest, "test_data_hash", json_string(iso_text_dataset_get_info(set).hash));
  json_object_set_new(manifest, "tokenizer_hash", json_string(iso_text_predictor_tokenizer_hash(p)));
  job_print_manifest(manifest);
  json_object_set_new(result, "manifest", manifest);
  const uint64_t begin = now_ns();
  int code = iso_text_predictor_evaluate(p, set, limit, &e) ? EXIT_FAILED : EXIT_OK;
  if (!code) {
    printf("accuracy         %.4f (%lld test samples, loss %.6f)\n", e.accuracy, (long long)e.n_samples, e.loss);
    printf("speed            %.0f texts/s\n", 1e9 * (double)e.n_samples / (double)(now_ns() - begin + 1));
    json_object_set_new(result, "accuracy", json_real(e.accuracy));
    json_object_set_new(result, "loss", json_real(e.loss));
    json_object_set_new(result, "test_loss", json_real(e.loss));
    json_object_set_new(result, "test_samples", json_integer((json_int_t)e.n_samples));
    json_object_set_new(result, "peak_memory_mib", json_real((double)peak_memory_kib() / 1024.0));
    if (job.json) return job_write_json(job.json, result);
  }
  json_decref(result);
  return code;
}

int eval_text(const char *checkpoint, int64_t limit) {
  iso_policy policy;
  asked a = {0};
  int code = job_policy(job.policy, &policy);
  if (code >= 0 || (code = job_check_json()) >= 0) return code;
  iso_context *ctx = job_context(&policy, job.threads);
  if (!ctx) return EXIT_FAILED;
  texts.checkpoint = checkpoint;
  iso_text_predictor *p = read_facts(ctx, checkpoint, &a) ? texts_predictor(ctx, false) : NULL;
  iso_text_dataset *set = p ? open_set(ctx, p, &a) : NULL;
  if (p && !set && !iso_error_code(ctx)) fprintf(stderr, "isobit: eval of this checkpoint needs --test FILE\n");
  code = set ? evaluate(ctx, p, set, &a, limit) : EXIT_FAILED;
  if (iso_error_code(ctx)) code = job_failed(ctx);
  iso_text_dataset_free(set);
  iso_text_predictor_free(p);
  iso_tensor_dict_free(a.file);
  iso_context_free(ctx);
  return code;
}
