/* fields.c: problems as text, from a table of their fields; see fields.h. */
#include "kernels/fields.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void iso__words_add(iso__words *words, const char *format, ...) {
  const size_t used = (size_t)words->length;
  if (words->length) {
    if (used + 1 < words->n_bytes) words->text[used] = ' ', words->text[used + 1] = 0;
    words->length++;
  }
  const size_t at = (size_t)words->length;
  va_list list;
  va_start(list, format);
  const int n = at < words->n_bytes ? vsnprintf(words->text + at, words->n_bytes - at, format, list)
                                    : vsnprintf(NULL, 0, format, list);
  va_end(list);
  if (n > 0) words->length += n;
}

bool iso__number_parse(const char *text, int64_t *number) {
  char *end;
  if (!(*text == '-' || (*text >= '0' && *text <= '9'))) return false;
  errno = 0;
  const long long value = strtoll(text, &end, 10);
  if (errno || *end || end == text) return false;
  *number = value;
  return true;
}

bool iso__extents_fit(int64_t a, int64_t b, int64_t c) {
  int64_t ab, abc;
  if (a < 0 || b < 0 || c < 0) return false;
  if (a == 0 || b == 0 || c == 0)
    return a >> ISO__MAX_EXTENT_BITS == 0 && b >> ISO__MAX_EXTENT_BITS == 0 && c >> ISO__MAX_EXTENT_BITS == 0;
  return !__builtin_mul_overflow(a, b, &ab) && !__builtin_mul_overflow(ab, c, &abc) && abc >> ISO__MAX_EXTENT_BITS == 0;
}

void iso__word_join(const char *key, const char *value, char *word, size_t n_bytes) {
  snprintf(word, n_bytes, "%s%s", key ? key : "", value ? value : "");
}

static int64_t field_get(const iso__field *field, const iso__problem *problem) {
  const char *at = (const char *)problem + field->offset;
  uint8_t u8;
  uint16_t u16;
  int64_t i64;
  switch (field->n_bytes) {
  case 1: return memcpy(&u8, at, sizeof u8), u8;
  case 2: return memcpy(&u16, at, sizeof u16), u16;
  default: return memcpy(&i64, at, sizeof i64), i64;
  }
}

static void field_set(const iso__field *field, iso__problem *problem, int64_t number) {
  char *at = (char *)problem + field->offset;
  const uint8_t u8 = (uint8_t)number;
  const uint16_t u16 = (uint16_t)number;
  switch (field->n_bytes) {
  case 1: memcpy(at, &u8, sizeof u8); break;
  case 2: memcpy(at, &u16, sizeof u16); break;
  default: memcpy(at, &number, sizeof number); break;
  }
}

int iso__fields_format(const iso__field *fields, const iso__problem *problem, char *text, size_t n_bytes) {
  iso__words words = {.text = text, .n_bytes = n_bytes};
  if (n_bytes) text[0] = 0;
  for (const iso__field *f = fields; f->key; f++) {
    const int64_t number = field_get(f, problem);
    if (f->names) iso__words_add(&words, "%s", f->names[number]);
    else if (number != f->implied) iso__words_add(&words, "%s%lld", f->key, (long long)number);
  }
  return words.length;
}

/* Where a word is absent its bytes are still zero, which stands for the implied number: every field's zero is either
 * implied or means the same as the implied number. */
static const char *fields_finish(const iso__field *fields, iso__problem *problem) {
  for (const iso__field *f = fields; f->key; f++) {
    const int64_t number = field_get(f, problem);
    if (number >= f->least) continue;
    if (f->implied < f->least) return "a required word is missing";
    field_set(f, problem, f->implied);
  }
  return NULL;
}

const char *iso__fields_parse(const iso__field *fields, iso__problem *problem, const char *key, const char *value) {
  char word[64];
  if (!key) return fields_finish(fields, problem);
  iso__word_join(key, value, word, sizeof word);
  for (const iso__field *f = fields; f->key; f++)
    for (int i = 0; f->names && f->names[i]; i++)
      if (!strcmp(word, f->names[i])) return field_set(f, problem, i), NULL;
  for (const iso__field *f = fields; f->key; f++) {
    int64_t number;
    const size_t n = strlen(f->key);
    if (f->names || strncmp(word, f->key, n) != 0 || !iso__number_parse(word + n, &number)) continue;
    if (number < f->least) return "the number is too small";
    if (number > (f->most ? f->most : (int64_t)1 << ISO__MAX_EXTENT_BITS)) return "the number is too large";
    field_set(f, problem, number);
    return NULL;
  }
  return "the word is not known here, or its number is no whole number";
}
