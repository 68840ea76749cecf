/* train.c: `isobit train vision` and `isobit eval`. */
#include <math.h>
#include <string.h>
#include "texts.h"

static struct {
  int64_t every, eval_limit;
  const char *checkpoint, *hash_log, *hash_detail, *record;
  bool resume, no_eval;
} run;
static const option train_options[] = {
    {"--steps", OPTION_COUNT, &job.steps, "N",
     "optimiser steps in all, resumed ones included [one epoch of images; of texts several]", 1},
    {"--epochs", OPTION_COUNT, &job.epochs, "N", "instead of --steps", 1},
    {"--checkpoint", OPTION_TEXT, &run.checkpoint, "DIR",
     "folder of the checkpoint; also written at the end and on Ctrl-C", 0},
    {"--every", OPTION_COUNT, &run.every, "N", "write the checkpoint every N steps", 1},
    {"--resume", OPTION_FLAG, &run.resume, NULL, "go on from the checkpoint, if there is one", 0},
    {"--hash-log", OPTION_TEXT, &run.hash_log, "FILE", "hash of loss, gradients and weights by layer, every step", 0},
    {"--hash-detail", OPTION_TEXT, &run.hash_detail, "layers|operators",
     "operators: also of the results of every operator, for 'isobit diff'; slower [layers]", 0},
    {"--record", OPTION_TEXT, &run.record, "DIR",
     "folder from which 'isobit reproduce DIR' repeats the run: run.json, hashes.tsv, isobit.lock", 0},
    {"--eval-limit", OPTION_COUNT, &run.eval_limit, "N", "test samples of the closing evaluation [all]", 1},
    {"--no-eval", OPTION_FLAG, &run.no_eval, NULL, "no closing evaluation", 0},
    {0}};

/* All steps but this run's first, which plans and tunes. */
typedef struct speed {
  int64_t n_steps, n_samples, n_tokens;
  double seconds;
} speed;

static void speed_add(speed *s, const iso_step_info *info) {
  if (s->n_steps++ == 0) return;
  s->n_samples += info->n_samples, s->n_tokens += info->n_tokens, s->seconds += info->time_ms / 1e3;
}

static double per_second(const speed *s, int64_t n) { return s->seconds > 0 ? (double)n / s->seconds : 0; }

static void report_speed(const speed *s, json_t *result) {
  char key[32];
  if (s->n_steps < 2) return;
  printf("speed            %.0f %s/s", per_second(s, s->n_samples), job_kind->samples);
  if (s->n_tokens) printf(", %.0f tokens/s", per_second(s, s->n_tokens));
  printf("\n");
  snprintf(key, sizeof key, "%s_per_s", job_kind->samples);
  json_object_set_new(result, key, json_real(per_second(s, s->n_samples)));
  if (s->n_tokens) json_object_set_new(result, "tokens_per_s", json_real(per_second(s, s->n_tokens)));
}

/* "step 12  loss 0.4123  8.1 ms", of texts "step 12  loss 0.4123  5310 tokens/s  505 MiB". */
static void describe_step(const iso_context *ctx, const iso_step_info *info, const speed *s, char *note,
                          size_t n_bytes) {
  const int n = snprintf(note, n_bytes, "step %llu  loss %.4f  ", (unsigned long long)info->step, info->loss);
  if (!s->n_tokens) snprintf(note + n, n_bytes - (size_t)n, "%.1f ms", info->time_ms);
  else
    snprintf(note + n, n_bytes - (size_t)n, "%.0f tokens/s  %.0f MiB", per_second(s, s->n_tokens),
             (double)iso_memory_get_info(ctx).peak_bytes / 0x1p20);
}

/* The loop. Returns the last loss in *loss (NAN if no step was needed). */
static iso_status train(const iso_context *ctx, iso_trainer *trainer, uint64_t n_steps, speed *reached, double *loss) {
  progress bar;
  char note[96];
  iso_step_info info = {.loss = NAN};
  iso_status status = ISO_OK;
  const uint64_t first = iso_trainer_next_step(trainer);
  progress_begin(&bar, "training", n_steps > first ? n_steps - first : 1, job.quiet);
  while (!status && !job_interrupted() && iso_trainer_next_step(trainer) < n_steps) {
    status = iso_trainer_step(trainer, &info);
    const uint64_t done = iso_trainer_next_step(trainer);
    if (!status && run.checkpoint && (done == n_steps || (run.every && done % (uint64_t)run.every == 0)))
      status = iso_trainer_save(trainer, run.checkpoint);
    speed_add(reached, &info);
    describe_step(ctx, &info, reached, note, sizeof note);
    progress_add(&bar, 1, note);
  }
  if (!status && job_interrupted() && run.checkpoint) status = iso_trainer_save(trainer, run.checkpoint);
  progress_end(&bar);
  *loss = info.loss;
  return status;
}

static int finish(iso_context *ctx, iso_trainer *trainer, json_t *result, double loss) {
  char hash[33];
  iso_evaluation e = {.accuracy = NAN};
  const iso_memory_info memory = iso_memory_get_info(ctx); /* before evaluation, whose batches are others */
  if (iso_trainer_weights_hash(trainer, hash)) return job_failed(ctx);
  json_object_set_new(result, "steps", json_integer((json_int_t)iso_trainer_next_step(trainer)));
  json_object_set_new(result, "weights_hash", json_string(hash));
  json_object_set_new(result, "loss", isnan(loss) ? json_null() : json_real(loss));
  json_object_set_new(result, "skipped_steps", json_integer((json_int_t)iso_trainer_n_skipped(trainer)));
  if (!run.no_eval) {
    if (iso_trainer_evaluate(trainer, run.eval_limit, &e)) return job_failed(ctx);
    json_object_set_new(result, "test_loss", json_real(e.loss));
    json_object_set_new(result, "test_samples", json_integer((json_int_t)e.n_samples));
    printf("accuracy         %.4f (%lld test samples, loss %.6f)\n", e.accuracy, (long long)e.n_samples, e.loss);
  }
  json_object_set_new(result, "accuracy", run.no_eval ? json_null() : json_real(e.accuracy));
  json_object_set_new(result, "peak_memory_mib", json_real((double)peak_memory_kib() / 1024.0));
  report_memory(ctx, &memory, result);
  if (!isnan(loss)) printf("loss             %.9g\n", loss);
  printf("weights_hash     %s\n", hash);
  return EXIT_OK;
}

static int train_with(iso_context *ctx, iso_trainer *trainer) {
  const uint64_t n_steps = iso_trainer_n_steps(trainer);
  const bool lock_was_there = job_lock_exists();
  speed reached = {0};
  double loss;
  json_t *result = json_object();
  json_t *manifest = job_manifest(ctx, trainer);
  if (run.hash_log) json_object_set_new(manifest, "hash_log", json_string(run.hash_log));
  job_print_manifest(manifest);
  json_object_set_new(result, "manifest", manifest);
  int code = EXIT_OK;
  if (run.resume && run.checkpoint) {
    const iso_status status = iso_trainer_resume(trainer, run.checkpoint);
    if (status && status != ISO_NOT_FOUND) code = job_failed(ctx);
    else if (!status) printf("resumed          at step %llu\n", (unsigned long long)iso_trainer_next_step(trainer));
  }
  if (!code && run.hash_log && iso_trainer_log_hashes(trainer, run.hash_log)) code = job_failed(ctx);
  if (!code && run.hash_detail && iso_trainer_log_operators(trainer, !strcmp(run.hash_detail, "operators")))
    code = job_failed(ctx);
  if (!code && train(ctx, trainer, n_steps, &reached, &loss)) code = job_failed(ctx);
  if (!code && job_interrupted()) {
    fprintf(stderr, "isobit: interrupted after step %llu%s%s\n", (unsigned long long)iso_trainer_next_step(trainer),
            run.checkpoint ? "; checkpoint in " : "", run.checkpoint ? run.checkpoint : "");
    code = EXIT_INTERRUPTED;
  }
  if (!code) report_speed(&reached, result);
  if (!code) code = finish(ctx, trainer, result, loss);
  if (!code && job.lock && !lock_was_there && iso_lock_write(ctx, job.lock)) code = job_failed(ctx);
  if (!code && run.record) code = record_end(ctx, run.record, result);
  if (!code && job.json) return job_write_json(job.json, result);
  json_decref(result);
  return code;
}

int train_read(int argc, char **argv) {
  char usage[64], notes[320];
  snprintf(usage, sizeof usage, "isobit train %s [options]", job_kind->name);
  snprintf(notes, sizeof notes,
           "exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted (a checkpoint was written if --checkpoint is "
           "given)\nexample: isobit train %s %s",
           job_kind->name, job_kind->example);
  const command train_command = {.usage = usage,
                                 .about = job_kind->about,
                                 .options =
                                     (const option *const[]){train_options, job_kind->options, job_option_list, NULL},
                                 .notes = notes};
  const int code = options_read(&train_command, argc, argv);
  if (code >= 0) return code;
  if ((run.resume || run.every) && !run.checkpoint)
    return fprintf(stderr, "isobit: %s needs --checkpoint DIR\n", run.resume ? "--resume" : "--every"), EXIT_USAGE;
  if (job.steps && job.epochs) return fprintf(stderr, "isobit: --steps and --epochs exclude each other\n"), EXIT_USAGE;
  if (run.record && run.hash_log)
    return fprintf(stderr, "isobit: --record has a hash log of its own: leave --hash-log out\n"), EXIT_USAGE;
  if (run.hash_detail && strcmp(run.hash_detail, "layers") != 0 && strcmp(run.hash_detail, "operators") != 0)
    return fprintf(stderr, "isobit: --hash-detail is '%s'; it must be layers or operators\n", run.hash_detail),
           EXIT_USAGE;
  if (run.hash_detail && !run.hash_log && !run.record)
    return fprintf(stderr, "isobit: --hash-detail needs --record DIR or --hash-log FILE\n"), EXIT_USAGE;
  return -1;
}

int command_train(int argc, char **argv) {
  static char hash_log[4096];
  int code = train_read(argc, argv);
  if (code >= 0) return code;
  if (run.record && (code = record_begin(run.record, hash_log, sizeof hash_log)) >= 0) return code;
  if (run.record) run.hash_log = hash_log;
  job_catch_interrupts();
  return job_with_trainer(train_with);
}

/* ---- eval ---- */
static const option eval_options[] = {
    {"--checkpoint", OPTION_TEXT, &run.checkpoint, "DIR", "folder of the checkpoint (needed)", 0},
    {"--eval-limit", OPTION_COUNT, &run.eval_limit, "N", "test samples [all]", 1},
    {"--data", OPTION_TEXT, &vision.data_folder, "DIR",
     "folder of idx files, of train/ and val/ with PNG and JPEG files, or 'synthetic' [Debian's Fashion-MNIST]", 0},
    {"--image-size", OPTION_COUNT, &job.image_size, "N", "side of images from PNG and JPEG files [224]", 1},
    {"--test", OPTION_TEXT, &text_job.test, "FILE",
     "texts: csv, tsv or jsonl file with labels [what the run tested on: its --test, or what it held out]", 0},
    {"--text-column", OPTION_TEXT, &text_job.text_column, "NAME", "texts: as in training [as the run's]", 0},
    {"--label-column", OPTION_TEXT, &text_job.label_column, "NAME", "texts: likewise", 0},
    {"--format", OPTION_TEXT, &text_job.format, "NAME", "texts: csv, tsv or jsonl [by the file's name]", 0},
    {"--truncate", OPTION_FLAG, &texts.truncate, NULL, "texts: cut longer ones at their end [as in training]", 0},
    {0}};
static const command eval_command = {
    .usage = "isobit eval --checkpoint DIR [options]",
    .about = "Loss and accuracy of a checkpoint's model, of images or of texts, on the test split.",
    .options = (const option *const[]){eval_options, job_option_list, NULL},
    .notes = "exit codes: 0 done, 1 failed, 2 wrong usage"};

static int eval_with(iso_context *ctx, iso_trainer *trainer) {
  json_t *result = json_object();
  json_t *manifest = job_manifest(ctx, trainer);
  job_print_manifest(manifest);
  json_object_set_new(result, "manifest", manifest);
  int code = iso_trainer_load_weights(trainer, run.checkpoint) ? job_failed(ctx) : finish(ctx, trainer, result, NAN);
  if (code == EXIT_OK) json_object_set(result, "loss", json_object_get(result, "test_loss"));
  if (code == EXIT_OK && job.json) return job_write_json(job.json, result);
  json_decref(result);
  return code;
}

int command_eval(int argc, char **argv) {
  static char model[256];
  char task[32];
  iso_context *ctx;
  const int code = options_read(&eval_command, argc, argv);
  if (code >= 0) return code;
  if (!run.checkpoint) return fprintf(stderr, "isobit: eval needs --checkpoint DIR\n"), EXIT_USAGE;
  if (!(ctx = job_context(NULL, 1))) return EXIT_FAILED;
  const iso_status status = iso_checkpoint_model_name(ctx, run.checkpoint, model, sizeof model);
  if (status) job_failed(ctx);
  const bool is_text =
      !status && !iso_checkpoint_fact(ctx, run.checkpoint, "task", task, sizeof task) && !strcmp(task, "text");
  iso_context_free(ctx);
  if (is_text) return eval_text(run.checkpoint, run.eval_limit);
  vision.model = model;
  vision.batch_size = 1; /* of the training half, which is not used */
  return status ? EXIT_FAILED : job_with_trainer(eval_with);
}
