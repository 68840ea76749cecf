/* dataset.h: the inside of a set of texts, and how readers of files fill one. */
#ifndef ISO_TEXT_DATASET_H
#define ISO_TEXT_DATASET_H
#include <isobit/text.h>
#include <stdatomic.h>
#include "base/context.h"

/* Where in its file a text was: row from 1 without the header, and line; 0, 0: it comes from memory. */
typedef struct iso__origin {
  int64_t row, line;
} iso__origin;

/* Immutable once made; whoever keeps one retains it. */
struct iso_text_dataset {
  atomic_int n_refs;
  iso__heap *heap;
  char *bytes; /* the texts, one after another */
  size_t n_bytes_capacity;
  uint64_t *ends; /* (n_samples): where each ends */
  size_t n_ends_capacity;
  iso__origin *origins; /* (n_samples) */
  size_t n_origins_capacity;
  int32_t *labels; /* (n_samples); NULL: none */
  size_t n_labels_capacity;
  char *names; /* of the classes, each ended by a NUL, in their order */
  size_t n_names_capacity;
  uint64_t *name_at; /* (n_classes): where in names */
  size_t n_name_at_capacity;
  char source[208]; /* the file's path, for messages */
  iso_text_dataset_info info;
};

void iso__text_dataset_retain(iso_text_dataset *set);
/* "row 3 (line 5)", or "text 3" of a set from memory. Returns text. */
char *iso__text_place(const iso_text_dataset *set, int64_t i, char text[64]);

/* ---- making one, row by row (rows.c) ---- */

typedef struct iso__rows {
  iso_context *ctx;
  const char *name; /* what messages begin with */
  iso_text_dataset *set;
  bool labelled, knows_classes, one_class;
  iso_status fault; /* the code of what is wrong with a row: CORRUPT of a file, INVALID_ARGUMENT of memory */
  int64_t limit;
  int64_t n_rows;      /* added */
  size_t n_text_bytes; /* of the texts added */
  size_t n_name_bytes;
  uint32_t *slots; /* hash table of class numbers + 1, 0: free */
  size_t n_slots;
} iso__rows;

typedef struct iso__row {
  iso_text text, label; /* label.bytes NULL: none */
  iso__origin origin;
} iso__row;

/* Of the options: classes, one_class, no_labels, limit. False: the context's error is set; end or finish anyway. */
bool iso__rows_begin(iso_context *ctx, const char *name, const iso_text_file_options *o, iso__rows *out);
static inline bool iso__rows_full(const iso__rows *r) { return r->limit > 0 && r->n_rows >= r->limit; }
bool iso__rows_add(iso__rows *r, const iso__row *row);
/* The set, if `ok` and all is well; NULL: the context's error is set. Ends the rows in any case. */
iso_text_dataset *iso__rows_end(iso__rows *r, bool ok);

/* ---- readers ---- */

enum { ISO__N_LABEL_NAMES = 4 };
extern const char iso__text_name[];                            /* "text" */
extern const char *const iso__label_names[ISO__N_LABEL_NAMES]; /* where no label column is named: the first found */

/* Reads bytes [0, n), which they may change, into rows. False: the context's error is set. */
typedef bool iso__rows_fn(iso__rows *rows, const iso_text_file_options *o, char *bytes, size_t n);
bool iso__csv_read(iso__rows *rows, const iso_text_file_options *o, char *bytes, size_t n);
bool iso__tsv_read(iso__rows *rows, const iso_text_file_options *o, char *bytes, size_t n);
bool iso__jsonl_read(iso__rows *rows, const iso_text_file_options *o, char *bytes, size_t n);

/* A file's content, in o->format; the bytes are changed. */
iso_text_dataset *iso__text_parse(iso_context *ctx, const char *name, char *bytes, size_t n,
                                  const iso_text_file_options *o);

#endif
