/* train.h: training jobs: steps, evaluation, checkpoints that resume bit-equal, and a log of hashes by layer.
 *
 *   iso_trainer *t = iso_trainer_new(ctx, &(iso_vision_options){.model = "cnn", .n_steps = 300});
 *   iso_step_info info;
 *   while (iso_trainer_next_step(t) < 300 && iso_trainer_step(t, &info) == ISO_OK) printf("%g\n", info.loss);
 *   iso_evaluation e;
 *   iso_trainer_evaluate(t, 0, &e);
 *   iso_trainer_free(t);
 *
 * A step's bits depend on model, data, options, seed and step number alone: not on threads, loader workers, or where a
 * run was stopped and resumed. */
#ifndef ISOBIT_TRAIN_H
#define ISOBIT_TRAIN_H
#include <isobit/data.h>
#include <isobit/nn.h>
#include <isobit/text.h>
#ifdef __cplusplus
extern "C" {
#endif

typedef struct iso_trainer iso_trainer;

/* Zero means the default named in brackets. */
typedef struct iso_vision_options {
  const char *model; /* iso_model_names                       [cnn]                                              */
  const char *data_folder; /* idx files; a folder with train/ and val/ or test/, each of a folder of PNG and JPEG files
                              a class; "synthetic": made, 3×32×32 [Debian's Fashion-MNIST] */
  int image_size;          /* side of images from PNG and JPEG files [224] */
  const char
      *image_sizes;      /* "24,32": each training batch has one of these sides, by (seed, epoch, batch); at most 16 */
  int64_t batch_size;    /*                                       [64]                                               */
  const char *optimizer; /* as iso_optimizer_name says            [sgd]                                              */
  double lr;             /*                                       [0.05 for sgd, the others' own]                    */
  double momentum;       /* sgd; negative: 0                      [0.9]                                              */
  double weight_decay;   /* negative: 0                           [5e-4]                                             */
  bool nesterov;         /* sgd                                                                                      */
  const char *schedule;  /* "constant", "step", "cosine", "linear" [cosine]                                        */
  uint64_t n_steps;      /* length of the schedule                [n_epochs]                                         */
  uint64_t n_epochs;     /* the same in epochs                    [1]                                                */
  uint64_t warmup_steps;
  double clip_norm;    /* > 0: gradients are clipped to this global norm                                           */
  bool augment;        /* flip, and random crop (padding 2), or of PNG and JPEG files random resized crop            */
  int n_workers;       /* loader threads                        [0: batches are made by the caller]                */
  int pass_leaves;     /* so many leaves run at the same time, each on its share of the threads; a power of two [1]  */
  bool checkpointing;  /* iso_module_checkpoint_blocks: less memory, more time, the same bits                      */
  const char *capture; /* "auto": on a CUDA device steps are recorded once and replayed (capture.h); "off" [auto] */
  const char *precision; /* "f32", "bf16", "f16": of the forward pass by autocast, f16 with a gradient scaler [f32]  */
  const char *autocast;  /* overrides of its list, "softmax=low,linear=f32"; see precision.h                         */
} iso_vision_options;

/* The same of texts with a label each. */
typedef struct iso_text_options {
  const char *model;      /* "bert", "textclassifier", "textcnn" or "lstm" [bert with weights, else textclassifier]  */
  const char *weights;    /* Hugging Face's folder of a pretrained model: bert starts from its weights; its tokenizer
                             is taken in any case                                                                   */
  const char *vocabulary; /* instead: vocab.txt, tokenizer.json or a folder with one [the training texts' words]  */
  const char *data;       /* needed: csv, tsv or jsonl, as iso_text_file_options say                              */
  const char *test;       /* likewise [a share of data: held_out]                                                 */
  const char *format, *text_column, *label_column; /* of both files                                               */
  double held_out;        /* share of each class that is kept for testing where there is no test file [0.1]       */
  int64_t min_count;      /* of the training texts' words: rarer ones are unknown [2]                             */
  int64_t max_length;     /* tokens of a text, with the special ones [bert: its positions; else none]             */
  bool truncate;          /* longer texts are cut [an error naming row and lengths]                               */
  int64_t width;          /* of the models without weights                [128]                                   */
  double dropout;         /* negative: 0                                  [bert: as its config says; else 0.1]    */
  double label_smoothing; /* of the training loss                                                                 */
  int64_t batch_size;     /*                                              [bert 16, else 32]                      */
  int bucket_batches, pad_multiple; /* as iso_text_loader_options                                                 */
  const char *optimizer;            /*                                    [adamw]                                 */
  double lr;                        /*                                    [bert 1e-4, textclassifier 1e-2, else 1e-3] */
  double momentum;                  /* sgd; negative: 0                   [0.9]                                   */
  double weight_decay;              /* negative: 0                        [0.01]                                  */
  bool decay_all;                   /* biases and normalisations too                                              */
  bool nesterov;                    /* sgd                                                                        */
  const char *schedule;             /* "constant", "step", "cosine", "linear" [linear]                            */
  uint64_t n_steps;                 /* length of the schedule             [n_epochs]                              */
  uint64_t n_epochs;                /* the same in epochs                 [bert 4, textclassifier 20, else 10]    */
  double warmup_share;              /* of n_steps; negative: none         [bert 0.1, else none]                   */
  double clip_norm;                 /* negative: none                     [bert 1, else none]                     */
  int n_workers;
  const char *capture, *precision, *autocast; /* as of images */
  bool checkpointing;                         /* likewise     */
  int pass_leaves;
} iso_text_options;

/* Model, data, optimiser and loader. NULL with the context's error set. Free it before the context. */
ISO_API iso_trainer *iso_trainer_new(iso_context *ctx, const iso_vision_options *options);
ISO_API iso_trainer *iso_trainer_new_text(iso_context *ctx, const iso_text_options *options);
ISO_API void iso_trainer_free(iso_trainer *trainer);

typedef struct iso_step_info {
  uint64_t step; /* its number, from 0 */
  uint32_t epoch;
  int64_t n_samples;
  int64_t n_tokens, n_padding; /* of texts */
  double loss, lr, grad_norm;  /* grad_norm only when clipping */
  double scale;                /* that the loss was multiplied by: 1 but in f16 */
  bool skipped;                /* f16: a gradient was not finite, the weights are as before; warned of by name */
  double time_ms;              /* from asking for the batch to the updated weights; hashing not included */
} iso_step_info;
/* One optimiser step (policy.leaves micro-batches). ISO_DIVERGED: the loss is not finite (in f16: with a scale of 1);
 * the weights are untouched. */
ISO_API iso_status iso_trainer_step(iso_trainer *trainer, iso_step_info *info);
/* Whether steps are replayed from a capture by now. */
ISO_API bool iso_trainer_is_captured(const iso_trainer *trainer);
ISO_API uint64_t iso_trainer_next_step(const iso_trainer *trainer);    /* number of the step to come */
ISO_API const char *iso_trainer_precision(const iso_trainer *trainer); /* as in the options */
ISO_API uint64_t iso_trainer_n_skipped(const iso_trainer *trainer);    /* steps so far, resumed ones included */
ISO_API uint64_t iso_trainer_n_steps(const iso_trainer *trainer);      /* length of the schedule */
ISO_API uint64_t iso_trainer_steps_per_epoch(const iso_trainer *trainer);

typedef struct iso_evaluation {
  int64_t n_samples, n_correct;
  double loss, accuracy;
} iso_evaluation;
enum { ISO_EVALUATION_BATCH = 250 };
/* On the test split, or its first `limit` samples, ISO_EVALUATION_BATCH images or 64 texts at a time; no gradients,
 * evaluation mode. The weights are packed for it (ops.h) and unpacked at its end. */
ISO_API iso_status iso_trainer_evaluate(iso_trainer *trainer, int64_t limit, iso_evaluation *out);

/* ---- memory, known before training ---- */
typedef struct iso_memory_plan_options {
  int checkpointing;  /* 1: as if the blocks were checkpointed; −1: as if not; 0: as the job says */
  int leaves;         /* 0: the policy's                                                          */
  int64_t batch_size; /* of the largest batch only so many samples; 0: the job's                  */
} iso_memory_plan_options;
typedef struct iso_memory_plan {
  size_t peak_bytes; /* what iso_memory_get_info will say after the training */
  iso_memory_owners at_peak;
  size_t limit_bytes; /* policy.memory_limit; 0: none */
  uint64_t n_steps;   /* of the training, whose largest batch it is */
  uint32_t epoch;     /* of that batch */
  int64_t batch;
  int64_t n_samples, length; /* length: of texts, with padding */
  int64_t height, width;     /* of images */
} iso_memory_plan;
/* The peak of a training job: the largest batch of all its steps is loaded, and a pass of it gone through without
 * computing, and so without the memory. Trainer, weights and random numbers stay as they are. options NULL: the job as
 * it is. On the CPU; ISO_UNSUPPORTED elsewhere. */
ISO_API iso_status iso_trainer_plan_memory(iso_trainer *trainer, const iso_memory_plan_options *options,
                                           iso_memory_plan *out);

/* Position-sensitive 128-bit hash over all parameters and buffers by name. */
ISO_API iso_status iso_trainer_weights_hash(const iso_trainer *trainer, char hex[33]);
/* Appends a line a tensor and step to `path`: "STEP<tab>NAME<tab>gradient hash<tab>weight hash", first
 * "STEP<tab>batch<tab>hash of the inputs<tab>hash of the targets" and "STEP<tab>loss<tab>hash<tab>-"; before step 0
 * "0<tab>start<tab>hash of all weights<tab>-". NULL stops it. A resumed run first drops the lines of steps that it will
 * repeat. */
ISO_API iso_status iso_trainer_log_hashes(iso_trainer *trainer, const char *path);
/* Also a line for every run of an engine, in order: "STEP<tab>#N<tab>hash of its
 * results<tab>-<tab>phase<tab>module<tab> problem<tab>engine@revision class NAME". Each step is then traced (trace.h),
 * and slower: results are read once more. ISO_STATE without a hash log. */
ISO_API iso_status iso_trainer_log_operators(iso_trainer *trainer, bool on);

/* Everything a bit-equal resume needs, in one safetensors file `folder`/checkpoint.safetensors, written beside, synced
 * and renamed: a kill leaves the old or the new file. */
ISO_API iso_status iso_trainer_save(iso_trainer *trainer, const char *folder);
/* ISO_NOT_FOUND (the context's error stays clear) when there is no checkpoint; ISO_INVALID_ARGUMENT naming the first
 * option that differs from the run that wrote it. */
ISO_API iso_status iso_trainer_resume(iso_trainer *trainer, const char *folder);
/* Weights and buffers only, from any run's checkpoint of the same model: for evaluation. */
ISO_API iso_status iso_trainer_load_weights(iso_trainer *trainer, const char *folder);
/* What a checkpoint's metadata say under a key ("model", "task", "step", …). ISO_NOT_FOUND, the context's error clear
 * and value "": nothing. */
ISO_API iso_status iso_checkpoint_fact(iso_context *ctx, const char *folder, const char *key, char *value,
                                       size_t n_bytes);
/* Hashes a checkpoint (its folder or file) again: `report` (may be NULL) gets each tensor, or "(metadata)", that is not
 * as it was written, with both hashes. ISO_NOT_FOUND: no hashes in it. *out may be NULL; the status is about reading.
 */
typedef void iso_checkpoint_report(void *user, const char *name, const char *recorded, const char *now);
typedef struct iso_checkpoint_summary {
  size_t n_tensors, n_wrong;
} iso_checkpoint_summary;
ISO_API iso_status iso_checkpoint_verify(iso_context *ctx, const char *path, iso_checkpoint_report *report, void *user,
                                         iso_checkpoint_summary *out);
/* The model's name in a checkpoint, so that evaluation need not be told. */
ISO_API iso_status iso_checkpoint_model_name(iso_context *ctx, const char *folder, char *name, size_t n_bytes);

/* What a job prints first and its JSON repeats. */
ISO_API iso_module *iso_trainer_model(const iso_trainer *trainer);
ISO_API iso_dataset_info iso_trainer_data_info(const iso_trainer *trainer, iso_split split);

#ifdef __cplusplus
}
#endif
#endif
