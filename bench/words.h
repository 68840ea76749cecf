/* words.h: a command of the workers' protocol (README.md beside this file) as words, and failures as replies. */
#ifndef ISOBIT_BENCH_WORDS_H
#define ISOBIT_BENCH_WORDS_H
#include <isobit/isobit.h>
#include <jansson.h>

enum { MAX_WORDS = 32 };
typedef struct words {
  int n, n_positional;
  char *word[MAX_WORDS];
} words;

/* {"error": "…"} */
json_t *failure(const char *format, ...) ISO_PRINTF(1, 2);
json_t *context_failure(const iso_context *ctx);
/* What follows `key` among the words after the positional ones, or `fallback`. */
const char *value_of(const words *w, const char *key, const char *fallback);
/* A whole number in [1, 2^31); false otherwise, with *reply saying what it was. */
bool read_count(const char *name, const char *text, int64_t *out, json_t **reply);
/* A number in (0, most]; likewise. */
bool read_positive(const char *name, const char *text, double most, double *out, json_t **reply);

#endif
