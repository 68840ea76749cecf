/* job.c: what every job has: policy, context, trainer, interrupts. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli.h"

job_options job = {.policy = "default", .seed = -1};
static const char *vendor;
const option job_option_list[] = {
    {"--lock", OPTION_TEXT, &job.lock, "FILE",
     "lockfile: its plans come first; a training job writes it if it is not there", 0},
    {"--policy", OPTION_TEXT, &job.policy, "NAME", "fast, balanced, reproducible, default, portable or plain [default]",
     0},
    {"--set", OPTION_TEXT, &job.set, "DIAL=VALUE,...",
     "dials on top: workspace_limit=100MiB,accuracy=strict (isobit policy)", 0},
    {"--seed", OPTION_COUNT, &job.seed, "N", "seed of initialisation, order, augmentation and dropout [0]", 0},
    {"--leaves", OPTION_COUNT, &job.leaves, "N", "micro-batches a step is cut into, a power of two [1]", 1},
    {"--pass-leaves", OPTION_COUNT, &job.pass_leaves, "N",
     "leaves that run at the same time, each on its share of the threads: more memory, often less time, same bits [1]",
     1},
    {"--checkpointing", OPTION_FLAG, &job.checkpointing, NULL,
     "keep only what goes into each block and compute it again in backward: less memory, more time, same bits", 0},
    {"--threads", OPTION_COUNT, &job.threads, "N",
     "threads [all cores]; never changes a bit under reproducible policies", 1},
    {"--device", OPTION_TEXT, &job.device, "NAME",
     "what computes: cpu, cuda:0, or auto (a CUDA device if one can be used) [cpu]", 0},
    {"--vendor", OPTION_TEXT, &vendor, "on|off",
     "whether a device may use cuBLASLt and cuDNN, under repro=off and run [on there]", 0},
    {"--isa", OPTION_TEXT, &job.isa, "NAME", "at most this instruction set: scalar, avx2, avx512", 0},
    {"--json", OPTION_TEXT, &job.json, "FILE", "write the result as JSON", 0},
    {"--quiet", OPTION_FLAG, &job.quiet, NULL, "no progress bar", 0},
    {0}};

iso_vision_options vision;
const option vision_option_list[] = {
    {"--model", OPTION_TEXT, &vision.model, "NAME",
     "mlp, cnn, resnet8, resnet18, resnet18_imagenet, resnet50 or mobilenet [cnn]", 0},
    {"--data", OPTION_TEXT, &vision.data_folder, "DIR",
     "folder of idx files, of train/ and val/ with PNG and JPEG files, or 'synthetic' [Debian's Fashion-MNIST]", 0},
    {"--image-size", OPTION_COUNT, &job.image_size, "N", "side of images from PNG and JPEG files [224]", 1},
    {"--image-sizes", OPTION_TEXT, &vision.image_sizes, "N,N,...",
     "each training batch has one of these, by (seed, epoch, batch)", 0},
    {"--batch-size", OPTION_COUNT, &vision.batch_size, "N", "samples a step [64]", 1},
    {"--optimizer", OPTION_TEXT, &vision.optimizer, "NAME",
     "sgd, adam, adamw, rmsprop, adagrad, adadelta, adamax, nadam or radam [sgd]", 0},
    {"--lr", OPTION_NUMBER, &vision.lr, "X", "learning rate [0.05 for sgd, the others' own defaults]", 0},
    {"--momentum", OPTION_NUMBER, &vision.momentum, "X", "of sgd; negative: none [0.9]", 0},
    {"--weight-decay", OPTION_NUMBER, &vision.weight_decay, "X", "negative: none [0.0005]", 0},
    {"--nesterov", OPTION_FLAG, &vision.nesterov, NULL, "Nesterov momentum", 0},
    {"--schedule", OPTION_TEXT, &vision.schedule, "NAME", "constant, step, cosine or linear, over all steps [cosine]",
     0},
    {"--warmup", OPTION_COUNT, &vision.warmup_steps, "N", "steps of linear warm-up [0]", 0},
    {"--clip-norm", OPTION_NUMBER, &vision.clip_norm, "X", "clip gradients to this global norm", 0},
    {"--augment", OPTION_FLAG, &vision.augment, NULL, "random crop and flip, by (seed, epoch, sample)", 0},
    {"--capture", OPTION_TEXT, &vision.capture, "auto|off",
     "on a CUDA device: record steps once and replay them, or run each anew; never changes a bit [auto]", 0},
    {"--precision", OPTION_TEXT, &vision.precision, "f32|bf16|f16",
     "of the forward pass, by operator as 'isobit autocast' lists; weights stay f32; f16 scales the loss [f32]", 0},
    {"--autocast", OPTION_TEXT, &vision.autocast, "OP=KIND,...",
     "changes to that list: low, f32, widest or as_is [none]", 0},
    {"--workers", OPTION_COUNT, &job.workers, "N", "loader threads; never change a bit [0]", 0},
    {0}};

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal_number) {
  (void)signal_number;
  interrupted = 1;
}
void job_catch_interrupts(void) {
  struct sigaction action = {.sa_handler = on_interrupt,
                             .sa_flags = (int)SA_RESETHAND}; /* a second Ctrl-C ends at once */
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
}
bool job_interrupted(void) { return interrupted; }

/* "dial=value,dial=value" */
static int set_dials(iso_policy *policy, const char *text) {
  char copy[512], message[256];
  if (strlen(text) >= sizeof copy) return fprintf(stderr, "isobit: --set is too long\n"), EXIT_USAGE;
  strcpy(copy, text);
  for (char *save, *word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
    char *equals = strchr(word, '=');
    if (!equals) return fprintf(stderr, "isobit: --set '%s': expected DIAL=VALUE\n", word), EXIT_USAGE;
    *equals = 0;
    if (iso_policy_set(policy, word, equals + 1, message, sizeof message))
      return fprintf(stderr, "isobit: --set: %s\n", message), EXIT_USAGE;
  }
  return -1;
}

int job_policy(const char *preset, iso_policy *policy) {
  char message[256], text[32];
  if (iso_policy_preset(preset, policy)) {
    fprintf(stderr, "isobit: there is no policy '%s'; there are", preset);
    for (const char *const *name = iso_policy_names(); *name; name++) fprintf(stderr, " %s", *name);
    return fprintf(stderr, "\n"), EXIT_USAGE;
  }
  if (iso_policy_from_environment(policy, message, sizeof message))
    return fprintf(stderr, "isobit: %s\n", message), EXIT_USAGE;
  if (*message) fprintf(stderr, "isobit: note: %s\n", message);
  if (job.seed >= 0) policy->seed = (uint64_t)job.seed;
  if (job.leaves) {
    snprintf(text, sizeof text, "%lld", (long long)job.leaves);
    if (iso_policy_set(policy, "leaves", text, message, sizeof message))
      return fprintf(stderr, "isobit: --leaves: %s\n", message), EXIT_USAGE;
  }
  if (vendor && iso_policy_set(policy, "vendor", vendor, message, sizeof message))
    return fprintf(stderr, "isobit: --vendor: %s\n", message), EXIT_USAGE;
  return job.set ? set_dials(policy, job.set) : -1;
}

static void warn(void *user, const char *sentence) {
  (void)user;
  fprintf(stderr, "isobit: note: %s\n", sentence);
}

bool job_lock_exists(void) { return job.lock && !access(job.lock, F_OK); }

iso_status job_prepare(iso_context *ctx) {
  iso_set_warning_handler(ctx, warn, NULL);
  return job_lock_exists() ? iso_lock_load(ctx, job.lock) : ISO_OK;
}

iso_context *job_context(const iso_policy *policy, int64_t threads) {
  char message[256];
  iso_context *ctx;
  const iso_context_options options = {
      .n_threads = threads > INT_MAX ? INT_MAX : (int)threads, .isa = job.isa, .policy = policy, .device = job.device};
  if (iso_context_new_message(&options, &ctx, message, sizeof message))
    return fprintf(stderr, "isobit: %s\n", message), NULL;
  if (job_prepare(ctx) == ISO_OK) return ctx;
  job_failed(ctx);
  iso_context_free(ctx);
  return NULL;
}

int job_failed(const iso_context *ctx) {
  fprintf(stderr, "isobit: %s\n", iso_error_message(ctx));
  return EXIT_FAILED;
}
