/* predict.h: a trained text model at work: probabilities of texts' classes, or their embeddings.
 *
 *   iso_text_predictor *p = iso_text_predictor_open(ctx, "ck", NULL);
 *   const iso_text text = {"Where is my card?", 17};
 *   float *share = malloc(sizeof *share * (size_t)iso_text_predictor_width(p));
 *   if (iso_text_predictor_run(p, 1, &text, share) == ISO_OK)
 *     for (int k = 0; k < iso_text_predictor_width(p); k++) printf("%s %g\n", iso_text_predictor_class_name(p, k),
 * share[k]);
 *   iso_text_predictor_free(p);
 *
 * A text's bits are the same alone and among others. */
#ifndef ISOBIT_PREDICT_H
#define ISOBIT_PREDICT_H
#include <isobit/train.h>
#ifdef __cplusplus
extern "C" {
#endif

typedef struct iso_text_predictor iso_text_predictor;
typedef struct iso_text_predictor_options {
  bool embeds;        /* embeddings, of length 1: of bert, pooled, and of textclassifier, the mean of its tokens */
  int64_t batch_size; /* texts that are computed together [32]                                                   */
  int64_t max_length; /* tokens of a text [as in training; of a folder: the model's positions]                   */
  bool truncate;      /* longer texts are cut, also where training did not [an error that names the text]        */
} iso_text_predictor_options;

/* path: the folder of a text job's checkpoint, or a pretrained model's (pretrained.h; with classes if its config names
 * them, else it gives embeddings only) with its tokenizer. NULL with the context's error set; weights that are not
 * finite are one. options NULL: the defaults. Free it before the context. */
ISO_API iso_text_predictor *iso_text_predictor_open(iso_context *ctx, const char *path,
                                                    const iso_text_predictor_options *options);
ISO_API void iso_text_predictor_free(iso_text_predictor *predictor);

ISO_API int iso_text_predictor_width(const iso_text_predictor *predictor); /* classes, or the embedding's width */
ISO_API int iso_text_predictor_n_classes(const iso_text_predictor *predictor);
ISO_API const char *iso_text_predictor_class_name(const iso_text_predictor *predictor, int label); /* NULL: none */
ISO_API const char *iso_text_predictor_model(const iso_text_predictor *predictor);                 /* "bert" */
/* The predictor's, of its context: for a session (session.h), while the predictor is not run. */
ISO_API iso_module *iso_text_predictor_module(const iso_text_predictor *predictor);
ISO_API const char *iso_text_predictor_tokenizer_hash(const iso_text_predictor *predictor);

/* out f32 (n,width): softmax of the logits, or embeddings. */
ISO_API iso_status iso_text_predictor_run(iso_text_predictor *predictor, int64_t n, const iso_text *texts, float *out);
/* Loss and accuracy on a set whose classes are the predictor's, in this order; `limit` samples of it, 0: all. */
ISO_API iso_status iso_text_predictor_evaluate(iso_text_predictor *predictor, iso_text_dataset *set, int64_t limit,
                                               iso_evaluation *out);
/* As Hugging Face reads it (iso_pretrained_save), with its tokenizer: bert only. */
ISO_API iso_status iso_text_predictor_export(iso_text_predictor *predictor, const char *folder);

#ifdef __cplusplus
}
#endif
#endif
