/* task.h: what a training job is about: one row of functions a task (vision, text). Everything else of a trainer, its
 * steps, evaluation, checkpoints and logs, is the same for all. A new task: its row, and the call that opens a trainer
 * with it. */
#ifndef ISO_TRAIN_TASK_H
#define ISO_TRAIN_TASK_H
#include <isobit/train.h>

/* What a step or an evaluation takes from a loader. Handles belong to the scope that was open. */
typedef struct iso__samples {
  iso_tensor *x;       /* images f32 (n,C,H,W), or ids i64 (n,length)  */
  iso_tensor *lengths; /* i64 (n); NULL: the task has none             */
  iso_tensor *y;       /* i64 (n)                                      */
  int64_t n_total;     /* of the whole batch                           */
  int64_t n_tokens, n_padding;
  uint32_t epoch;
} iso__samples;

/* What a checkpoint says beside its tensors: keys and texts. `binding`: a resume with another value would not give the
 * same bits and is refused. */
enum { ISO__MAX_FACTS = 48 };
typedef struct iso__fact {
  const char *key;
  bool binding;
  char value[300];
} iso__fact;
typedef struct iso__facts {
  int n;
  iso__fact fact[ISO__MAX_FACTS];
} iso__facts;
void iso__facts_text(iso__facts *f, const char *key, bool binding, const char *text);
void iso__facts_number(iso__facts *f, const char *key, bool binding, uint64_t value);
void iso__facts_double(iso__facts *f, const char *key, double value); /* binding */

typedef struct iso__task {
  const char *name;                   /* "vision" */
  iso_status (*open)(iso_trainer *t); /* data and model, on the host */
  void (*close)(iso_trainer *t);      /* what open made, the model aside; also after an open that failed */
  iso_dataset_info (*info)(const iso_trainer *t, iso_split split); /* what does not apply is 0 */
  /* Training: shuffled, without an end, on the context's device. Testing: once, in_order: in the data's own order. */
  void *(*loader_new)(iso_trainer *t, iso_split split, bool in_order);
  void (*loader_free)(void *loader);
  bool (*next)(void *loader, iso__samples *out);
  int64_t (*n_batches)(const void *loader);
  void (*position)(const void *loader, uint32_t *epoch, int64_t *batch);
  iso_status (*seek)(void *loader, uint32_t epoch, int64_t batch);
  iso_module *(*replica)(const iso_trainer *t,
                         iso_context *child); /* the model once more: its tensors' values are no matter */
  iso_status (*largest)(iso_trainer *t, uint32_t *epoch, int64_t *batch); /* of all n_steps: takes most memory */
  void (*facts)(const iso_trainer *t, iso__facts *f);                     /* those of the task alone */
  /* Bytes that checkpoints keep, named "task.…"; NULL: none. */
  const iso_named_tensor *(*files)(const iso_trainer *t, size_t *n);
} iso__task;

extern const iso__task iso__vision_task, iso__text_task;
#endif
