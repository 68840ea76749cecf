/* problems.c: the problems that a command is about: words of the command line, or those of a model's step. */
#include <string.h>
#include "cli.h"

int problems_count_words(int argc, char **argv) {
  int n = 0;
  while (n < argc && argv[n][0] != '-') n++;
  return n;
}

/* `gemm m8 n8 k8` is one problem in words; "gemm m8 n8 k8" "gemm m9 n9 k9" are two. */
json_t *problems_from_words(int n, char **words) {
  char text[1024] = "";
  json_t *list = json_array();
  for (int i = 0; i < n; i++) {
    if (strchr(words[i], ' ')) {
      json_array_append_new(list, json_string(words[i]));
      continue;
    }
    const size_t used = strlen(text);
    snprintf(text + used, sizeof text - used, "%s%s", used ? " " : "", words[i]);
  }
  if (*text) json_array_append_new(list, json_string(text));
  return list;
}

/* Samples that show every size of batch which a whole evaluation has: full ones and the rest. */
static int64_t n_evaluated(const iso_trainer *trainer) {
  const int64_t n = iso_trainer_data_info(trainer, ISO_SPLIT_TEST).n_samples;
  return n < ISO_EVALUATION_BATCH ? n : ISO_EVALUATION_BATCH + n % ISO_EVALUATION_BATCH;
}

/* Two steps (the first has no momentum yet) and an evaluation by rule, only to see which problems they have. */
json_t *problems_of_model(iso_context *ctx, bool with_start) {
  iso_policy by_rule = *iso_policy_current(ctx);
  iso_evaluation unused;
  iso_plan_use use;
  by_rule.tuning = ISO_TUNING_RULE;
  iso_policy_push(ctx, &by_rule);
  iso_plan_forget_used(ctx);
  iso_trainer *trainer = job_trainer(ctx);
  if (!trainer) return job_failed(ctx), NULL;
  if (!with_start) iso_plan_forget_used(ctx);
  const bool ok = iso_trainer_step(trainer, NULL) == ISO_OK && iso_trainer_step(trainer, NULL) == ISO_OK &&
                  iso_trainer_evaluate(trainer, n_evaluated(trainer), &unused) == ISO_OK;
  iso_trainer_free(trainer);
  if (!ok) return job_failed(ctx), NULL;
  iso_policy_pop(ctx);
  json_t *list = json_array();
  for (size_t i = 0; iso_plan_used(ctx, i, &use); i++) json_array_append_new(list, json_string(use.problem));
  return list;
}
