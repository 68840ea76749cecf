/* text_module.c: the module of a text model: started, pretrained, or as a checkpoint describes it. */
#include <isobit/pretrained.h>
#include <string.h>
#include "base/context.h"
#include "train/text_model.h"

static bool is_bert(const iso__text_model *m) { return !strcmp(m->name, "bert"); }

/* A vocabulary that knows more ids than the embedding has rows would fail in the middle of training. */
static bool check_vocabulary(const iso__text_model *m) {
  const iso_bert_config *c = iso_bert_get_config(m->module);
  const int64_t n = iso_tokenizer_size(m->tokenizer);
  if (!c || n <= c->vocabulary) return true;
  return ISO__FAIL(m->ctx, ISO_SHAPE_MISMATCH, "train",
                   "the tokenizer has ids up to %lld, but the model's vocabulary is %lld: they do not belong together",
                   (long long)n - 1, (long long)c->vocabulary),
         false;
}

/* Texts have at most as many tokens as the model has positions. */
static bool limit_length(iso__text_model *m) {
  const iso_bert_config *c = iso_bert_get_config(m->module);
  if (!c) return true;
  if (m->max_length > c->positions)
    return ISO__FAIL(m->ctx, ISO_INVALID_ARGUMENT, "train", "max_length is %lld, but the model has %lld positions",
                     (long long)m->max_length, (long long)c->positions),
           false;
  if (m->max_length == 0) m->max_length = c->positions;
  return true;
}

bool iso__text_model_open_module(iso__text_model *m, const char *weights) {
  if (is_bert(m) && weights)
    m->module =
        iso_pretrained_open(m->ctx, weights, &(iso_pretrained_options){.classes = m->n_classes, .dropout = m->dropout});
  else
    m->module = iso_text_model_new(m->ctx, m->name,
                                   &(iso_text_model_config){.vocabulary = iso_tokenizer_size(m->tokenizer),
                                                            .classes = m->n_classes,
                                                            .width = m->width,
                                                            .dropout = m->dropout < 0 && !is_bert(m) ? 0 : m->dropout,
                                                            .padding = iso_tokenizer_padding(m->tokenizer),
                                                            .bert = NULL});
  return m->module && check_vocabulary(m) && limit_length(m);
}

bool iso__text_model_remake_module(iso__text_model *m, const iso_bert_config *bert, bool embeds) {
  iso_bert_config config = bert ? *bert : (iso_bert_config){0};
  if (embeds) config.classes = 0;
  m->module = bert ? iso_bert_new(m->ctx, &config)
                   : iso_text_model_new(m->ctx, m->name,
                                        &(iso_text_model_config){.vocabulary = iso_tokenizer_size(m->tokenizer),
                                                                 .classes = m->n_classes,
                                                                 .width = m->width,
                                                                 .padding = iso_tokenizer_padding(m->tokenizer)});
  return m->module && check_vocabulary(m);
}
