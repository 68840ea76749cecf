/* task.c: the kinds of training job: vision and text. Commands that take one (train, compare, trace, …) read its row.
 */
#include <limits.h>
#include <string.h>
#include <unistd.h>
#include "cli.h"

static iso_trainer *vision_trainer(iso_context *ctx) {
  vision.image_size = job.image_size > INT_MAX ? INT_MAX : (int)job.image_size;
  vision.checkpointing = job.checkpointing;
  vision.pass_leaves = job.pass_leaves > INT_MAX ? INT_MAX : (int)job.pass_leaves;
  vision.n_workers = job.workers > INT_MAX ? INT_MAX : (int)job.workers;
  vision.n_steps = (uint64_t)job.steps, vision.n_epochs = (uint64_t)job.epochs;
  return iso_trainer_new(ctx, &vision);
}

static void vision_relocate(const char *folder) {
  static char data[8192];
  if (!vision.data_folder || *vision.data_folder == '/' || !strcmp(vision.data_folder, "synthetic")) return;
  snprintf(data, sizeof data, "%s/%s", folder, vision.data_folder);
  if (access(data, R_OK) == 0) vision.data_folder = data;
}

static const char *vision_model_name(void) { return vision.model ? vision.model : "cnn"; }
static int64_t vision_batch_size(void) { return vision.batch_size ? vision.batch_size : 64; }
static int64_t text_batch_size(void) {
  return text_job.batch_size ? text_job.batch_size : !strcmp(text_model_name(), "bert") ? 16 : 32;
}

static const job_task tasks[] = {
    {.name = "vision",
     .samples = "images",
     .options = vision_option_list,
     .about = "Trains an image model. Loss, weights and their hash depend on model, data, seed, policy and step count "
              "alone: under\n"
              "reproducible, default and portable not on threads, loader workers, instruction set, or where a run was "
              "resumed.",
     .example = "--model cnn --steps 300 --checkpoint ck --every 50",
     .compare_example = "--model resnet8 --steps 200 --policies fast,balanced,reproducible,default --json out.json",
     .trainer = vision_trainer,
     .relocate = vision_relocate,
     .model_name = vision_model_name,
     .batch_size = vision_batch_size},
    {.name = "text",
     .samples = "texts",
     .options = text_option_list,
     .about = "Trains a model of texts with labels: fine-tunes a pretrained bert, or starts a small one. Loss, weights "
              "and their hash\n"
              "depend on model, data, seed, policy and step count alone: under reproducible, default and portable not "
              "on threads,\n"
              "loader workers, instruction set, or where a run was resumed.",
     .example = "--data train.csv --test test.csv --weights minilm --checkpoint ck --every 100",
     .compare_example = "--data train.csv --steps 50 --policies fast,default",
     .trainer = text_trainer,
     .relocate = text_relocate,
     .model_name = text_model_name,
     .batch_size = text_batch_size}};
enum { N_TASKS = sizeof tasks / sizeof *tasks };

const job_task *job_kind = &tasks[0];

bool job_select(const char *name) {
  for (int i = 0; i < N_TASKS; i++)
    if (!strcmp(tasks[i].name, name)) return job_kind = &tasks[i], true;
  return false;
}

iso_trainer *job_trainer(iso_context *ctx) { return job_kind->trainer(ctx); }

int job_with_trainer(int (*use)(iso_context *ctx, iso_trainer *trainer)) {
  iso_policy policy;
  int code = job_policy(job.policy, &policy);
  if (code >= 0 || (code = job_check_json()) >= 0) return code;
  iso_context *ctx = job_context(&policy, job.threads);
  if (!ctx) return EXIT_FAILED;
  iso_trainer *trainer = job_trainer(ctx);
  code = trainer ? use(ctx, trainer) : job_failed(ctx);
  iso_trainer_free(trainer);
  iso_context_free(ctx);
  return code;
}
