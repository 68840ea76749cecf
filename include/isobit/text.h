/* text.h: text as numbers: the WordPiece tokenizer of BERT-type models.
 *
 *   iso_tokenizer *tokenizer = iso_tokenizer_open(ctx, "models/minilm", NULL);
 *   const char *line = "How do I locate my card?";
 *   iso_encodings e;
 *   if (iso_tokenizer_encode(ctx, tokenizer, 1, &(iso_text){line, strlen(line)}, NULL, &e) == ISO_OK) {
 *     for (int64_t i = e.begin[0]; i < e.begin[1]; i++) puts(iso_tokenizer_token(tokenizer, e.ids[i]));
 *     iso_encodings_free(ctx, &e);
 *   }
 *   iso_tokenizer_free(tokenizer);
 */
#ifndef ISOBIT_TEXT_H
#define ISOBIT_TEXT_H
#include <isobit/base.h>
#ifdef __cplusplus
extern "C" {
#endif

/* ---- the tokenizer ---- */

/* A vocabulary and the rules that cut a text into its entries. Immutable: any number of threads share one; whoever
 * keeps one counts as a user. */
typedef struct iso_tokenizer iso_tokenizer;

typedef struct iso_tokenizer_options {
  bool cased; /* of a vocab.txt: case and accents stay [what tokenizer_config.json beside it says, else: lower-case
                 without accents]; a tokenizer.json says it itself */
} iso_tokenizer_options;

/* path: a vocab.txt (one token a line; the number of the line, from 0, is the id), a tokenizer.json of Hugging Face
 * `tokenizers` (any name that ends in .json), or a folder that holds one of them (tokenizer.json is taken first).
 * Ids and offsets equal those of `tokenizers` 0.23 (docs/text.md says what of the JSON is read). NULL on an error,
 * which names file, line or field, and token. options NULL: the defaults. */
ISO_API iso_tokenizer *iso_tokenizer_open(iso_context *ctx, const char *path, const iso_tokenizer_options *options);
ISO_API void iso_tokenizer_free(iso_tokenizer *tokenizer); /* NULL is fine; loaders keep what they use */

ISO_API int64_t iso_tokenizer_size(const iso_tokenizer *tokenizer); /* the largest id + 1: rows of an embedding */
ISO_API int64_t iso_tokenizer_id(const iso_tokenizer *tokenizer, const char *token); /* -1: not in it */
ISO_API const char *iso_tokenizer_token(const iso_tokenizer *tokenizer, int64_t id); /* NULL: no token has the id */
ISO_API int64_t iso_tokenizer_padding(const iso_tokenizer *tokenizer);               /* [PAD]'s id; -1: has none */
/* 128 bits over vocabulary and rules, 32 hex digits: names it in manifests. */
ISO_API const char *iso_tokenizer_hash(const iso_tokenizer *tokenizer);

/* UTF-8, not ended by a NUL (a NUL in it is a character like others). */
typedef struct iso_text {
  const char *bytes;
  size_t n_bytes;
} iso_text;

typedef struct iso_encode_options {
  bool no_special;    /* without [CLS] and [SEP] around the text                                      */
  bool offsets;       /* also where in the text each token comes from                                 */
  int64_t max_length; /* tokens of a text, with the special ones; 0: no limit                         */
  bool truncate;      /* what is longer is cut at its end [an error that names text and both lengths] */
} iso_encode_options;

/* Text i has tokens begin[i] to begin[i + 1] - 1. */
typedef struct iso_encodings {
  int64_t n;      /* texts */
  int64_t *begin; /* (n + 1) */
  int32_t *ids;   /* (begin[n]) */
  /* (begin[n], 2): first code point in the text, and the one after the last; 0, 0 for the special tokens around it.
   * NULL unless asked for. */
  int64_t (*offsets)[2];
  int64_t n_invalid; /* code points U+FFFD that stand for bytes that are no UTF-8 (as Python's errors="replace"
                        puts them), over all texts */
} iso_encodings;

/* On the context's threads; the same result for any number of them. options NULL: the defaults. */
ISO_API iso_status iso_tokenizer_encode(iso_context *ctx, const iso_tokenizer *tokenizer, int64_t n,
                                        const iso_text *texts, const iso_encode_options *options, iso_encodings *out);
ISO_API void iso_encodings_free(iso_context *ctx, iso_encodings *encodings);

#ifdef __cplusplus
}
#endif
#endif
