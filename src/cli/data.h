/* data.h: what `isobit data` knows of a file of texts, and what it finds wrong with it. */
#ifndef ISO_CLI_DATA_H
#define ISO_CLI_DATA_H
#include "cli.h"

typedef struct text_file {
  const char *path;
  iso_text_dataset *set;
  iso_text_dataset_info info;
  int64_t *n_of;   /* (n_classes): rows of each */
  int *by_count;   /* (n_classes): classes, the most frequent first */
  int64_t n_empty; /* texts without a byte that is no space */
} text_file;

/* In words, and as JSON: [{"kind": …, "text": …}, …]. */
typedef struct findings {
  json_t *list;
} findings;
void finding_add(findings *f, const char *kind, const char *format, ...) ISO_PRINTF(3, 4);

/* Of one file: duplicates, contradictions, empty texts, classes that are rare or rule. False: no memory. */
bool data_judge(findings *f, const text_file *file);
/* Of two: rows of one that the other has, classes that only one has. */
bool data_judge_pair(findings *f, const text_file *train, const text_file *test);

#endif
