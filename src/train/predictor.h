/* predictor.h: a predictor's inside. */
#ifndef ISO_TRAIN_PREDICTOR_H
#define ISO_TRAIN_PREDICTOR_H
#include <isobit/predict.h>
#include "train/text_model.h"

struct iso_text_predictor {
  iso_context *ctx;
  iso_text_predictor_options options;
  iso__text_model model;
  iso_module *embedding; /* of textclassifier: what embeds; else NULL */
  int64_t batch_size;
  int width;
  bool is_unit; /* the module's embeddings have length 1 */
};

/* open_predictor.c: tokenizer, classes, module and its weights; false with the context's error set. */
bool iso__predictor_open_parts(iso_text_predictor *p, const char *path);
#endif
