/* evaluate.h: loss and accuracy of a model over a loader's batches. */
#ifndef ISO_TRAIN_EVALUATE_H
#define ISO_TRAIN_EVALUATE_H
#include "train/task.h"

typedef struct iso__evaluating {
  iso_context *ctx;
  iso_module *model;
  void *loader;
  bool (*next)(void *loader, iso__samples *out);
  int64_t limit; /* samples */
} iso__evaluating;

/* In evaluation mode, without gradients, weights packed; afterwards the model is in training mode again. */
iso_status iso__evaluate(const iso__evaluating *e, iso_evaluation *out);

/* step.c. Logits of samples [begin, end) of a batch; a batch, where the context computes. */
iso_tensor *iso__samples_forward(iso_module *model, const iso__samples *batch, int64_t begin, int64_t end);
void iso__samples_to_device(iso_context *ctx, iso__samples *batch);
#endif
