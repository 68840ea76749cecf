/* pretrained.h: models in Hugging Face's form: a folder with config.json and model.safetensors, and where the model
 * gives sentence embeddings modules.json and 1_Pooling/config.json.
 *
 *   iso_module *net = iso_pretrained_open(ctx, "minilm", NULL);                                   // embeddings
 *   iso_module *classifier = iso_pretrained_open(ctx, "minilm", &(iso_pretrained_options){.classes = 77});
 *   iso_pretrained_save(classifier, "mine", &(iso_pretrained_save_options){.tokenizer = "minilm"});
 *
 * Everything a file claims is checked: a field that asks for what is not computed here is ISO_UNSUPPORTED, naming it; a
 * weight that is missing or of another shape is ISO_CORRUPT, with all such names and both shapes. */
#ifndef ISOBIT_PRETRAINED_H
#define ISOBIT_PRETRAINED_H
#include <isobit/sequence.h>
#ifdef __cplusplus
extern "C" {
#endif

typedef struct iso_pretrained_options {
  int64_t classes;      /* > 0: a classifier; its weights are the file's where it has them, else new */
  bool hidden;          /* (batch,length,width): nothing is pooled                                 */
  double dropout;       /* of all places; 0: as config.json says; negative: none                   */
  bool allow_nonfinite; /* NaN and infinity among the weights: else an error naming the tensor     */
} iso_pretrained_options;

/* model_type "bert" only. Weights of any floating dtype become f32. Names may begin with "bert."; heads that are not
 * used (pooler, masked language model) are passed over. A classifier pools as the folder's 1_Pooling says, else by
 * BERT's pooler where the weights have one, else by the mean. Embeddings are divided by their length where modules.json
 * says so. NULL with the context's error kept. */
ISO_API iso_module *iso_pretrained_open(iso_context *ctx, const char *folder, const iso_pretrained_options *options);

typedef struct iso_pretrained_save_options {
  const char *const *classes; /* names of the classes, or NULL                                     */
  const char *tokenizer;      /* a folder or file whose vocabulary files are copied; NULL: none     */
} iso_pretrained_save_options;
/* Makes the folder if there is none; each file appears whole or not at all. A model of iso_bert_new or
 * iso_pretrained_open: ISO_UNSUPPORTED for another. Read by Hugging Face's AutoModel and, with a pooler,
 * AutoModelForSequenceClassification; embeddings by sentence-transformers. */
ISO_API iso_status iso_pretrained_save(iso_module *module, const char *folder,
                                       const iso_pretrained_save_options *options);

#ifdef __cplusplus
}
#endif
#endif
