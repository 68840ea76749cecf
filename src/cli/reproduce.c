/* reproduce.c: `isobit reproduce RUN`: repeats a training job from its record and names the first step and tensor that
 * differ. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "hash_steps.h"
#include "recorded.h"

static int64_t threads;
static const char *keep;
static const option reproduce_options[] = {
    {"--threads", OPTION_COUNT, &threads, "N", "threads [as recorded]", 1},
    {"--keep", OPTION_TEXT, &keep, "FILE", "keep the repeated run's hash log", 0},
    {0}};
static const command reproduce_command = {
    .usage = "isobit reproduce RUN [options]",
    .about = "Repeats a training job (RUN: the folder of its --record, or its --json) and compares: step by step with "
             "the hashes of\n"
             "loss, gradients and weights of every layer, where the run recorded them; else loss and weights at the "
             "end.",
    .options = (const option *const[]){reproduce_options, NULL},
    .notes = "exit codes: 0 the same bits, 1 something differs (or could not be repeated: says what), 2 wrong usage\n"
             "example: isobit train vision --steps 50 --record run && isobit reproduce run --threads 1"};

/* ---- what must be the same before it makes sense to begin ---- */
static bool same_text(const char *what, const char *was, const char *is) {
  if (!strcmp(was, is)) return true;
  fprintf(stderr, "isobit: cannot repeat the run: %s was %s, here it is %s\n", what, *was ? was : "not recorded", is);
  return false;
}

static bool same_data(const recorded *r, const iso_trainer *t) {
  return same_text("the hash of the training data", recorded_text(r, "train_data_hash"),
                   iso_trainer_data_info(t, ISO_SPLIT_TRAIN).hash);
}

static bool load_lock(const recorded *r, iso_context *ctx) {
  char hash[33];
  if (!*r->lock) return true;
  if (iso_lock_load(ctx, r->lock)) return false; /* the context says why */
  iso_lock_hash(ctx, hash);
  return same_text("the hash of the lockfile", r->lock_hash, hash);
}

/* ---- the comparison ---- */
/* Below `invariant` other threads or instruction sets may give other bits. */
static void print_excuse(const recorded *r, const iso_context *ctx) {
  const iso_policy *policy = iso_policy_current(ctx);
  const json_int_t was = json_integer_value(json_object_get(r->manifest, "threads"));
  const char *isa = iso_isa_name(iso_context_isa(ctx));
  if (policy->repro >= ISO_REPRO_INVARIANT) return;
  printf("its policy, repro=%s, %s\n", iso_repro_name(policy->repro),
         policy->repro == ISO_REPRO_OFF ? "does not promise the same bits"
                                        : "promises the same bits with the same threads and instruction set alone");
  if (was != iso_n_threads(ctx)) printf("threads: then %lld, now %d\n", (long long)was, iso_n_threads(ctx));
  if (strcmp(recorded_text(r, "isa"), isa) != 0)
    printf("instruction set: then %s, now %s\n", recorded_text(r, "isa"), isa);
}

static void print_difference(uint64_t step, const hash_difference *d) {
  static const char *const what[] = {"", "the hash of the ", "the loss", "the gradient of ", "the weights of "};
  if (d->kind == HASH_RECORD) printf("step %llu cannot be compared: %s\n", (unsigned long long)step, d->name);
  else
    printf("differs from step %llu: %s%s was %s, now %s\n", (unsigned long long)step, what[d->kind],
           d->kind == HASH_LOSS ? "" : d->name, d->recorded, d->now);
}

static bool compare_end(const recorded *r, iso_trainer *t, double loss, bool by_steps) {
  char hash[33], was[32], is[32];
  if (iso_trainer_weights_hash(t, hash)) return false;
  snprintf(was, sizeof was, "%.9g", r->loss), snprintf(is, sizeof is, "%.9g", loss);
  const bool same = !strcmp(hash, r->weights_hash) && (isnan(r->loss) || !strcmp(was, is));
  if (same)
    printf("the same: %llu steps, weights %s%s\n", (unsigned long long)r->n_steps, hash,
           by_steps ? "" : " (loss and weights of the last step; the run has no hash log)");
  else printf("differs at the end: loss was %s, now %s; weights were %s, now %s\n", was, is, r->weights_hash, hash);
  return same;
}

static int repeat(const recorded *r, iso_context *ctx, iso_trainer *t, hash_steps *steps) {
  uint64_t first = 0;
  iso_step_info info = {.loss = NAN};
  if (steps && !hash_steps_first(steps, &first))
    return fprintf(stderr, "isobit: %s holds no hashes\n", r->hash_log), EXIT_FAILED;
  for (uint64_t i = 0; i < r->n_steps; i++) {
    if (job_interrupted()) return fprintf(stderr, "isobit: interrupted\n"), EXIT_INTERRUPTED;
    if (iso_trainer_step(t, &info)) return job_failed(ctx);
    if (!steps) continue;
    if (i < first) {
      hash_steps_skip(steps);
      continue;
    }
    const hash_difference d = hash_steps_compare(steps);
    if (d.kind) return print_difference(i, &d), print_excuse(r, ctx), EXIT_FAILED;
  }
  if (compare_end(r, t, info.loss, steps != NULL)) return EXIT_OK;
  print_excuse(r, ctx);
  return EXIT_FAILED;
}

/* ---- the files: the recorded hashes, and our own, in a file that goes with us unless it is to be kept ---- */
static int open_failed(const char *path) {
  fprintf(stderr, "isobit: cannot open '%s': %s\n", path, strerror(errno));
  return EXIT_FAILED;
}

static int repeat_with_log(const recorded *r, iso_context *ctx, iso_trainer *t, const char *path) {
  hash_steps steps = {0};
  if (iso_trainer_log_hashes(t, path)) return job_failed(ctx);
  if (!*r->hash_log) return repeat(r, ctx, t, NULL);
  int code = EXIT_FAILED;
  if (!(steps.recorded = fopen(r->hash_log, "r"))) open_failed(r->hash_log);
  else if (!(steps.now = fopen(path, "r"))) open_failed(path);
  else code = repeat(r, ctx, t, &steps);
  if (steps.recorded) fclose(steps.recorded);
  if (steps.now) fclose(steps.now);
  return code;
}

static int repeat_in(const recorded *r, iso_context *ctx, iso_trainer *t) {
  char path[4096];
  if (keep) return repeat_with_log(r, ctx, t, keep);
  if (!*r->hash_log) return repeat(r, ctx, t, NULL);
  snprintf(path, sizeof path, "%s/isobit-hashes-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
  const int fd = mkstemp(path);
  if (fd < 0) return open_failed(path);
  close(fd);
  const int code = repeat_with_log(r, ctx, t, path);
  remove(path);
  return code;
}

static int reproduce(const recorded *r) {
  iso_policy policy;
  if (!same_text("Isobit's version", recorded_text(r, "isobit_version"), iso_version())) return EXIT_FAILED;
  if (!recorded_apply(r, &policy)) return EXIT_FAILED;
  if (threads) job.threads = threads;
  job.lock = NULL; /* load_lock's business */
  iso_context *ctx = job_context(&policy, job.threads);
  if (!ctx) return EXIT_FAILED;
  iso_trainer *t = load_lock(r, ctx) ? job_trainer(ctx) : NULL;
  if (!t && iso_error_code(ctx)) job_failed(ctx);
  const int code = t && same_data(r, t) ? repeat_in(r, ctx, t) : EXIT_FAILED;
  iso_trainer_free(t);
  iso_context_free(ctx);
  return code;
}

int command_reproduce(int argc, char **argv) {
  static recorded r;
  const bool has_run = argc > 0 && argv[0][0] != '-';
  int code = options_read(&reproduce_command, argc - has_run, argv + has_run);
  if (code >= 0) return code;
  if (!has_run)
    return fprintf(stderr, "isobit: reproduce needs a run\nusage: %s\n", reproduce_command.usage), EXIT_USAGE;
  job_catch_interrupts();
  code = recorded_open(&r, argv[0]) ? reproduce(&r) : EXIT_FAILED;
  recorded_close(&r);
  return code;
}
