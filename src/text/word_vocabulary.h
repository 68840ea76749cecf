/* word_vocabulary.h: a vocab.txt made of a data set's own words, for models that begin without one. */
#ifndef ISO_TEXT_WORD_VOCABULARY_H
#define ISO_TEXT_WORD_VOCABULARY_H
#include <isobit/text.h>

typedef struct iso__word_options {
  int64_t min_count; /* words that are rarer stay [UNK]; 0: 1                          */
  int64_t max_words; /* the most frequent; 0: as many as a tokenizer takes             */
} iso__word_options;

/* The special tokens, then the words as the tokenizer normalises them, the most frequent first, equally frequent ones
 * in byte order: it depends on the texts alone. *bytes is a vocab.txt of *n_bytes on the context's heap. */
iso_status iso__word_vocabulary(iso_context *ctx, const iso_text_dataset *set, const iso__word_options *options,
                                char **bytes, size_t *n_bytes);
#endif
