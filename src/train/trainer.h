/* trainer.h: a training job's inside, shared by step, evaluation, checkpoint and hash log. */
#ifndef ISO_TRAIN_TRAINER_H
#define ISO_TRAIN_TRAINER_H
#include <isobit/capture.h>
#include <isobit/train.h>
#include <stdio.h>
#include "tensor/tensor.h"

typedef struct iso__hash_log iso__hash_log;

/* Forward and backward as a capture (step.c). */
typedef struct iso__captured {
  iso_capture *capture;     /* NULL: none was made yet, or it can't be */
  iso_tensor *x, *y, *loss; /* what it reads and, on the CPU, leaves; owned by no scope */
  iso_policy policy;        /* that it was recorded under */
  iso__view last[2];        /* x's and y's form in the last step that was not replayed; storage NULL */
  bool is_refused;          /* and the reason told */
} iso__captured;

struct iso_trainer {
  iso_context *ctx;
  iso_vision_options options; /* with defaults filled in; strings point into `names` */
  char names[6][4096];
  iso_schedule schedule;
  iso_dataset *data[2];   /* by iso_split */
  bool files;             /* PNG and JPEG */
  int n_sizes, sizes[16]; /* of training batches */
  double mean[16], std[16];
  iso_loader *loader;
  iso_module *model;
  iso_optimizer *optimizer;
  uint64_t step;
  iso__captured captured;
  iso__hash_log *log;
};

/* optimizers.c: by options->optimizer; a name that there is not is an error. */
iso_optimizer *iso__optimizer_by_name(iso_context *ctx, size_t n, const iso_named_tensor *tensors,
                                      const iso_vision_options *options);
double iso__usual_lr(const char *optimizer);

/* step.c: gradients of every parameter, and the loss, of a loader's batch. */
iso_status iso__trainer_gradients(iso_trainer *t, iso_batch *batch, double *loss);
void iso__captured_release(iso_trainer *t);

/* A loader's batch, where the context computes. */
void iso__batch_to_device(iso_trainer *t, iso_batch *batch);

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
