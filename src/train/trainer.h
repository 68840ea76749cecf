/* trainer.h: a training job's inside, shared by step, evaluation, checkpoint and hash log. */
#ifndef ISO_TRAIN_TRAINER_H
#define ISO_TRAIN_TRAINER_H
#include <isobit/capture.h>
#include <isobit/precision.h>
#include <stdio.h>
#include "tensor/tensor.h"
#include "train/task.h"

typedef struct iso__hash_log iso__hash_log;
typedef struct iso__vision iso__vision; /* vision.c */
typedef struct iso__passes iso__passes; /* passes.c */
typedef struct iso__text iso__text;     /* text.c */

/* Forward and backward as a capture (step.c). */
enum { ISO__N_READ = 3 }; /* x, y, lengths */
typedef struct iso__captured {
  iso_capture *capture;          /* NULL: none was made yet, or it can't be */
  iso_tensor *read[ISO__N_READ]; /* what it reads, and */
  iso_tensor *loss;              /* on the CPU, leaves; owned by no scope */
  iso_policy policy;             /* that it was recorded under */
  iso__view last[ISO__N_READ];   /* their form in the last step that was not replayed; storage NULL */
  bool is_refused;               /* and the reason told */
} iso__captured;

/* What every task's options say of how it learns, with defaults filled in. Texts belong to the trainer. */
typedef struct iso__recipe {
  const char *model, *optimizer, *schedule, *capture;
  const char *precision, *autocast; /* "f32", "bf16", "f16"; overrides of the list (precision.h) */
  int64_t batch_size;
  double lr, momentum, weight_decay, clip_norm, label_smoothing;
  double warmup_share;          /* of n_steps, where warmup_steps is 0 */
  bool nesterov, matrices_only; /* the latter: iso_optimizer_decay_matrices_only */
  bool checkpointing;
  int pass_leaves;
  uint64_t n_steps, n_epochs, warmup_steps;
} iso__recipe;

enum { ISO__MAX_TEXTS = 16 };

struct iso_trainer {
  iso_context *ctx;
  const iso__task *task;
  iso__vision *vision; /* of its task; the others are NULL */
  iso__text *text;
  iso__recipe recipe;
  char *texts[ISO__MAX_TEXTS]; /* options' texts (recipe.c) */
  int n_texts;
  iso_schedule schedule;
  void *loader; /* of task->loader_new */
  iso_module *model;
  iso_optimizer *optimizer;
  iso_dtype dtype;         /* that the forward pass is cast to; ISO_F32: it is not */
  iso_grad_scaler *scaler; /* of f16, else NULL */
  uint64_t step;
  iso__captured captured;
  iso__passes *passes; /* NULL: none were run yet */
  iso__hash_log *log;
};

/* A trainer of that task, its recipe and own part filled in by `fill`; the rest is the same for all. */
iso_trainer *iso__trainer_new(iso_context *ctx, const iso__task *task, const void *options,
                              void (*fill)(iso_trainer *t, const void *options));

/* recipe.c. A copy that lives as long as the trainer; `usual` where text is NULL or empty. Never NULL: a failure is the
 * context's error. */
const char *iso__trainer_text(iso_trainer *t, const char *text, const char *usual);
iso_status iso__recipe_check(iso_trainer *t, int n_workers);
iso_status iso__recipe_open_optimizer(iso_trainer *t);
iso_status iso__recipe_open_schedule(iso_trainer *t); /* after n_steps is known */
iso_status iso__recipe_open_precision(iso_trainer *t);
void iso__recipe_facts(const iso_trainer *t, iso__facts *f);
void iso__trainer_free_texts(iso_trainer *t);

/* optimizers.c: by recipe->optimizer; a name that there is not is an error. */
iso_optimizer *iso__optimizer_by_name(iso_context *ctx, size_t n, const iso_named_tensor *tensors,
                                      const iso__recipe *recipe);
double iso__usual_lr(const char *optimizer);

/* step.c: gradients of every parameter, and the loss, of a loader's batch. */
iso_status iso__trainer_gradients(iso_trainer *t, iso__samples *batch, double *loss);
void iso__captured_release(iso_trainer *t);
/* Forward and backward of samples [begin, end) of a batch. */
iso_status iso__trainer_leaf(iso_trainer *t, const iso__samples *batch, int64_t begin, int64_t end, iso_tensor **loss);

/* checkpoint_lock.c: the plans a run used so far, as bytes beside its tensors; NULL where they are not known in full,
 * or with the context's error set. The caller releases. */
iso_tensor *iso__checkpoint_lock(iso_trainer *t);
/* Goes on with those plans where other ones could change bits and no lockfile was asked for. */
iso_status iso__checkpoint_use_lock(iso_trainer *t, const iso_tensor *lock, const char *path);

/* checkpoint_hashes.c: u8, kept, on the CPU; NULL with the error kept. */
iso_tensor *iso__checkpoint_hashes(iso_context *ctx, size_t n, const iso_named_tensor *tensors, size_t n_metadata,
                                   const iso_key_value *metadata);

/* hash_log.c: nothing happens without a log */
iso_status iso__hash_log_begin(iso_trainer *t); /* before a step's first operator */
void iso__hash_log_end(iso_trainer *t);
iso_status iso__hash_log_batch(iso_trainer *t, const iso_tensor *x, const iso_tensor *y);
iso_status iso__hash_log_gradients(iso_trainer *t, double loss); /* after backward */
iso_status iso__hash_log_weights(iso_trainer *t);                /* after the update */
iso_status iso__hash_log_rewind(iso_trainer *t);                 /* drops lines of steps ≥ t->step */
void iso__hash_log_close(iso_trainer *t);
/* All tensors and their names under one hash. */
iso_status iso__tensors_hash(iso_context *ctx, size_t n, const iso_named_tensor *tensors, char hex[33]);
#endif
