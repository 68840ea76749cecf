/* fields.h: problems as text, from a table of their fields.
 *
 * A word is a key with a number right behind it ("n64"), or a bare name from a list ("add"). A family that describes
 * its struct by such a table gets format and parse for nothing, and both agree. */
#ifndef ISO_KERNELS_FIELDS_H
#define ISO_KERNELS_FIELDS_H
#include "plan/plan.h"

enum { ISO__MAX_EXTENT_BITS = 46 }; /* extents and their products stay below 2^46 elements */

typedef struct iso__field {
  const char *key;          /* NULL ends the table */
  size_t offset;            /* in the problem struct */
  size_t n_bytes;           /* 1, 2 or 8 */
  int64_t least, most;      /* accepted numbers; most 0: 2^46 */
  int64_t implied;          /* not printed, and taken when the word is absent; -1: the word is required */
  const char *const *names; /* the number is an index into these and the word is the name alone; NULL ends them */
} iso__field;

#define ISO__FIELD(type, member, ...)                                                                                  \
  .offset = offsetof(type, member), .n_bytes = sizeof(((type *)0)->member), __VA_ARGS__

/* What an operator's format and parse return, for its table. */
int iso__fields_format(const iso__field *fields, const iso__problem *problem, char *text, size_t n_bytes);
const char *iso__fields_parse(const iso__field *fields, iso__problem *problem, const char *key, const char *value);

/* Text in pieces: words with one space between them; length as if there were room. */
typedef struct iso__words {
  char *text;
  size_t n_bytes;
  int length;
} iso__words;
void iso__words_add(iso__words *words, const char *format, ...) ISO_PRINTF(2, 3);

/* A whole decimal number, sign allowed; false when it is none or too large. */
bool iso__number_parse(const char *text, int64_t *number);
/* a·b·c with all of them at least 0 and the product below 2^46; false otherwise. */
bool iso__extents_fit(int64_t a, int64_t b, int64_t c);
/* Key and value joined again: names may hold digits, so where a word was cut says nothing about them. */
void iso__word_join(const char *key, const char *value, char *word, size_t n_bytes);
#endif
