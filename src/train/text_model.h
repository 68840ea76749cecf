/* text_model.h: what makes logits of texts, tokenizer, model and classes' names, and the files it was made from, as a
 * checkpoint keeps them: so that a checkpoint needs nothing beside it. */
#ifndef ISO_TRAIN_TEXT_MODEL_H
#define ISO_TRAIN_TEXT_MODEL_H
#include <isobit/io.h>
#include <isobit/sequence.h>
#include <isobit/text.h>

/* Tensors of bytes in a checkpoint. */
enum {
  ISO__FILE_DESCRIPTION, /* JSON: model, sizes, classes, how texts are cut */
  ISO__FILE_TOKENIZER,   /* vocab.txt or tokenizer.json                    */
  ISO__FILE_TOKENIZER_CONFIG,
  ISO__N_FILES
};

enum { ISO__TEXT_EVALUATION_BATCH = 64 }; /* the sum of losses goes by batches: a trainer's and a predictor's agree */

typedef struct iso__text_model {
  iso_context *ctx;
  char name[32]; /* "bert", "textclassifier", "textcnn", "lstm" */
  int64_t width;
  double dropout; /* of training; 0: bert's config's own; negative: none */
  int64_t max_length;
  bool truncate, tokenizer_is_json;
  char **classes; /* NULL: none, embeddings only */
  int n_classes, n_class_slots;
  iso_tokenizer *tokenizer;
  iso_module *module;
  iso_tensor *file[ISO__N_FILES]; /* u8 (n), kept, on the CPU; NULL: there is none */
  iso_named_tensor listed[ISO__N_FILES];
} iso__text_model;

/* Each returns false with the context's error set. */
/* From vocab.txt, tokenizer.json or a folder with one, and the tokenizer_config.json beside it. */
bool iso__text_model_read_tokenizer(iso__text_model *m, const char *path);
/* From the words of a data set. */
bool iso__text_model_make_tokenizer(iso__text_model *m, const iso_text_dataset *set, int64_t min_count);
bool iso__text_model_take_classes(iso__text_model *m, const iso_text_dataset *set);
/* weights: bert's folder; NULL: new weights. */
bool iso__text_model_open_module(iso__text_model *m, const char *weights);
/* Writes the description: all is known now. */
bool iso__text_model_describe(iso__text_model *m);
/* Shared by text_model.c and text_description.c. */
bool iso__text_model_keep_file(iso__text_model *m, int file, const void *bytes, size_t n_bytes);
bool iso__text_model_add_class(iso__text_model *m, const char *name);
bool iso__text_model_parse(iso__text_model *m, const char *text, size_t n_bytes, const char *path,
                           iso_bert_config *bert); /* of a bert */
/* As described; bert NULL: another model. embeds: without the classes' layer. */
bool iso__text_model_remake_module(iso__text_model *m, const iso_bert_config *bert, bool embeds);
/* The files there are, by the names that a checkpoint has them under. */
const iso_named_tensor *iso__text_model_files(iso__text_model *m, size_t *n);
/* Everything but the weights, from a checkpoint. embeds: bert without the classes' layer. */
bool iso__text_model_read(iso__text_model *m, const iso_tensor_dict *checkpoint, const char *path, bool embeds);
/* Frees what it holds; the module, too, if `with_module`. */
void iso__text_model_release(iso__text_model *m, bool with_module);
#endif
