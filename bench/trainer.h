/* trainer.h: a network, its optimiser and one fixed batch, as bench/README.md lays down. */
#ifndef ISOBIT_BENCH_TRAINER_H
#define ISOBIT_BENCH_TRAINER_H
#include <isobit/isobit.h>

enum { N_CLASSES = 10 };
typedef struct image_shape {
  int64_t channels, height, width;
} image_shape;

/* Texts as token ids: of each at least half are tokens, the rest the padding, 0. */
typedef struct text_shape {
  int64_t vocabulary, length;
} text_shape;

typedef struct trainer {
  iso_context *ctx; /* borrowed */
  iso_module *net;
  iso_optimizer *sgd;
  iso_tensor *x, *labels;
  iso_capture *capture;
  iso_tensor *recorded; /* the capture's loss; NULL: steps run anew */
} trainer;

/* A context of `threads` under the named policy; NULL with the reason in message. */
iso_context *bench_context(const char *policy, int n_threads, char *message, size_t n_bytes);
/* Takes net (NULL after a failure is fine) and makes the batch: normal images, uniform labels. False with the context's
 * error set. No optimiser yet. */
bool trainer_open(trainer *t, iso_context *ctx, iso_module *net, image_shape image, int64_t batch);
/* The same with texts. */
bool trainer_open_texts(trainer *t, iso_context *ctx, iso_module *net, text_shape text, int64_t batch);
/* The optimiser, whose momentum is memory that the model alone doesn't need. */
bool trainer_add_optimizer(trainer *t);
/* After a step: records forward and backward, which the steps from now on replay. false: iso_capture_reason(t->capture)
 * says why not, and they run anew. */
bool trainer_record(trainer *t);
/* Drops the gradients, then forward, mean cross entropy, backward, optimiser step; in the policy's leaves, which are
 * not recorded. loss may be NULL. False with the context's error set. */
bool trainer_step(trainer *t, double *loss);
/* Of all parameters and buffers, in their order. */
bool trainer_weights_hash(const trainer *t, char hex[33]);
void trainer_close(trainer *t);

/* The networks that iso_model_new has no name for. */
iso_module *bench_small_mlp(iso_context *ctx); /* 784-32-10 */
/* One step of a one-sample toy with every kind of layer, so that code read from disk on first use doesn't count as a
 * model's memory. False with the context's error set. */
bool bench_touch_code(iso_context *ctx);

#endif
