/* text.h: text as numbers: the WordPiece tokenizer of BERT-type models, sets of texts with labels, and the loader that
 * turns them into batches.
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
#include <isobit/data.h>
#include <isobit/tensor.h>
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

/* ---- texts with labels ---- */

/* Texts, a label each (or none), and the classes' names: in memory, immutable. Loaders share it; it counts its users.
 */
typedef struct iso_text_dataset iso_text_dataset;

typedef struct iso_text_file_options {
  const char *format; /* "csv", "tsv" or "jsonl" [by the name's ending, .gz aside] */
  /* Columns by name: the first row is a header. By number from 1, "2": it is not. Of JSONL: fields by name.
   * [text; label, category, intent or class. A TSV whose first row has no such names: the label first, the text second]
   */
  const char *text_column, *label_column;
  bool no_labels; /* texts alone */
  /* Those of the run that trained: labels become their places here, any other is an error that names its row.
   * [this file's labels: in byte order, or ascending if all of them are whole numbers] */
  int n_classes;
  const char *const *classes;
  bool one_class; /* one label for all rows is no error */
  int64_t limit;  /* only the first so many rows; 0: all */
} iso_text_file_options;

/* A file of rows, plain or gzip, in UTF-8 (its byte order mark is passed over). Errors name row (from 1, without the
 * header) and line. Empty lines are passed over, empty texts kept; labels must not be empty. Text that is not UTF-8 is
 * the tokenizer's matter; a label must be UTF-8 without NUL.
 *   csv    RFC 4180: commas, quotes around fields with commas, quotes or line ends, "" for a quote; line ends CR LF, LF
 *          or CR. A quote inside a field that does not begin with one is a character.
 *   tsv    tabs between fields, no quoting; line ends LF or CR LF.
 *   jsonl  an object a line; text a string, label a string or an integer.
 * Rows with more or fewer fields than the first, a quote that is never closed, missing or unknown labels, files without
 * rows, and (without classes and one_class) with one label only are errors. options NULL: the defaults. */
ISO_API iso_text_dataset *iso_text_dataset_open(iso_context *ctx, const char *path,
                                                const iso_text_file_options *options);
/* Copies n texts and their labels' names (NULL: no labels); of the options only classes, one_class and limit count. */
ISO_API iso_text_dataset *iso_text_dataset_from_memory(iso_context *ctx, int64_t n, const iso_text *texts,
                                                       const char *const *labels, const iso_text_file_options *options);
/* One half of a set cut in two by (seed, row), for a file that has no test set beside it: of each class the share
 * `held_out` (above 0, below 1; rounded) is ISO_SPLIT_TEST, the rest ISO_SPLIT_TRAIN; rows stay in order, and both
 * halves have all classes' names. */
ISO_API iso_text_dataset *iso_text_dataset_part(iso_context *ctx, const iso_text_dataset *set, double held_out,
                                                uint64_t seed, iso_split split);

typedef struct iso_text_dataset_info {
  int64_t n_samples;
  int n_classes; /* 0: without labels */
  char hash[33]; /* 128 bits over rows and classes' names, 32 hex digits: names the data in manifests */
} iso_text_dataset_info;
ISO_API iso_text_dataset_info iso_text_dataset_get_info(const iso_text_dataset *set); /* NULL: zeros               */
ISO_API iso_text iso_text_dataset_text(const iso_text_dataset *set, int64_t i);       /* lives as long as the set  */
ISO_API int iso_text_dataset_label(const iso_text_dataset *set, int64_t i);           /* -1: it has none           */
ISO_API int64_t iso_text_dataset_line(const iso_text_dataset *set, int64_t i);        /* of the file; 0: from memory */
ISO_API const char *iso_text_dataset_class_name(const iso_text_dataset *set, int label); /* NULL: no such class       */
ISO_API void iso_text_dataset_free(iso_text_dataset *set); /* NULL is fine; loaders keep what they use */

/* ---- the loader ---- */

/* Makes batches of texts as ids. All texts are tokenized when it is made, on the context's threads. The order is a
 * function of (seed, epoch) and the lengths: the same for any number of workers and after a seek. So that a batch holds
 * little padding, each bucket_batches · batch_size samples of the epoch's permutation are sorted by length (stable) and
 * cut into batches; then the batches are shuffled. */
typedef struct iso_text_loader iso_text_loader;

typedef struct iso_text_loader_options {
  int64_t batch_size; /* 0: 16                                                                                      */
  int n_workers;      /* threads that make batches ahead; 0: the caller makes each when it asks                     */
  int n_prefetch;     /* batches held or in the making by the workers; 0: two a worker                              */
  bool shuffle;       /* a new permutation and order of batches each epoch; without it both ascend                  */
  bool drop_last;     /* no batch smaller than batch_size                                                           */
  uint64_t seed;
  uint32_t n_epochs;  /* iso_text_loader_next ends after so many; 0: never                                          */
  int64_t max_length; /* tokens of a text, with the special ones; 0: no limit                                       */
  bool truncate;      /* longer texts are cut at their end [an error that names the row and both lengths]           */
  int bucket_batches; /* batches whose samples are sorted together; 0: 50; 1: in the permutation's order, unsorted  */
  int pad_multiple;   /* lengths are padded to a multiple of it, max_length at the most; 0: 8                       */
  int n_leaves, leaf_begin,
      leaf_end;   /* n_leaves > 0: of each batch only the samples of leaves [leaf_begin, leaf_end)              */
  bool on_device; /* batches lie on the context's device as it is now, copied there ahead, beside its work      */
} iso_text_loader_options;

/* Handles belong to the scope that was open when iso_text_loader_next was called. The length is that of the whole
 * batch's longest text, whichever leaves are loaded. */
typedef struct iso_text_batch {
  iso_tensor *ids;         /* i64 (n,length); padding on the right                  */
  iso_tensor *lengths;     /* i64 (n)                                               */
  iso_tensor *y;           /* i64 (n); NULL without labels                          */
  const uint32_t *samples; /* (n): of the data set; until the next call with the loader */
  int64_t n_total;         /* samples of the whole batch; more than n under leaf_begin */
  int64_t n_tokens;        /* without padding                                       */
  int64_t n_padding;
  uint32_t epoch;
  int64_t index; /* of the batch in its epoch */
} iso_text_batch;

/* NULL on an error. options NULL: all defaults. The tokenizer needs a padding token. */
ISO_API iso_text_loader *iso_text_loader_new(iso_context *ctx, iso_text_dataset *set, const iso_tokenizer *tokenizer,
                                             const iso_text_loader_options *options);
ISO_API void iso_text_loader_free(iso_text_loader *loader); /* before the context's end; NULL is fine */

/* The next batch, crossing into the next epoch by itself. False at the end of n_epochs or on an error. */
ISO_API bool iso_text_loader_next(iso_text_loader *loader, iso_text_batch *out);
ISO_API int64_t iso_text_loader_n_batches(const iso_text_loader *loader); /* of one epoch */

/* Which batch comes next: the whole state of a loader, so what a checkpoint must keep. */
ISO_API void iso_text_loader_position(const iso_text_loader *loader, uint32_t *epoch, int64_t *batch);
ISO_API iso_status iso_text_loader_seek(iso_text_loader *loader, uint32_t epoch, int64_t batch);

typedef struct iso_text_loader_stats {
  /* of all texts, as loaded */
  int64_t n_samples, n_tokens;
  int64_t n_empty;                             /* without a token of their own                                  */
  int64_t n_truncated;                         /* cut at max_length                                             */
  int64_t n_invalid;                           /* U+FFFD that stand for bytes that are no UTF-8                 */
  int64_t shortest, median, p90, p99, longest; /* quantiles of lengths, nearest rank                    */
  /* of an epoch's batches, all leaves */
  int64_t n_epoch_tokens, n_padding;
  double padding_share;  /* n_padding by n_epoch_tokens + n_padding                       */
  int64_t n_lengths;     /* different padded lengths: as many shapes                      */
  int64_t largest_batch; /* the first with most slots (samples · length), its sizes       */
  int64_t largest_n, largest_length;
} iso_text_loader_stats;
/* Without running the epoch. */
ISO_API iso_status iso_text_loader_get_stats(iso_text_loader *loader, uint32_t epoch, iso_text_loader_stats *out);

#ifdef __cplusplus
}
#endif
#endif
