/* record.c: a record as text, both ways. Nothing here touches a file: what the store reads is judged by these functions
 * alone. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/cpu.h"
#include "plan/state.h"

enum { CHECK_BYTES = 6 + 32 + 1 }; /* "check <32 hex digits>\n" */

static size_t add(char *text, size_t used, const char *format, ...) ISO_PRINTF(3, 4);
static size_t add(char *text, size_t used, const char *format, ...) {
  va_list list;
  va_start(list, format);
  const int n = vsnprintf(text + used, ISO__RECORD_BYTES - used, format, list);
  va_end(list);
  const size_t room = ISO__RECORD_BYTES - 1 - used;
  return used + (n < 0 ? 0 : (size_t)n < room ? (size_t)n : room);
}

size_t iso__record_head(const iso_context *ctx, const iso__problem *problem, const iso__candidate *candidates, int n,
                        char text[ISO__RECORD_BYTES]) {
  char words[ISO_PLAN_TEXT_BYTES];
  iso__problem_format(problem, words, sizeof words);
  size_t used =
      add(text, 0, "isobit plan 1\nproblem %s\ncpu %s\nisa %s\nthreads %d\n", words,
          ctx->device ? ctx->device->model : iso__cpu()->model, iso_isa_name(iso__plan_isa(ctx)), iso__plan_width(ctx));
  for (int i = 0; i < n; i++) {
    const iso__engine *e = candidates[i].engine;
    if (!candidates[i].reason) used = add(text, used, "engine %s@%d class %s\n", e->name, e->revision, e->class_name);
  }
  return used;
}

size_t iso__record_end(char text[ISO__RECORD_BYTES], size_t n, const iso__record *record) {
  char hex[33];
  for (int i = 0; i < record->n_engines; i++)
    n = add(text, n, "time %.0f spread %.0f samples %d\n", record->timing[i].ns, record->timing[i].spread_ns,
            record->timing[i].n_samples);
  n = add(text, n, "chosen %d\nload %d rejected %d of %d\n", record->chosen + 1, record->load_percent,
          record->n_rejected, record->n_samples);
  iso__hash_format(iso__hash_bytes(text, n), hex);
  return add(text, n, "check %s\n", hex);
}

bool iso__record_is_whole(const char *bytes, size_t n) {
  char expected[CHECK_BYTES + 1], hex[33];
  if (n < CHECK_BYTES || memchr(bytes, 0, n)) return false;
  iso__hash_format(iso__hash_bytes(bytes, n - CHECK_BYTES), hex);
  snprintf(expected, sizeof expected, "check %s\n", hex);
  return memcmp(bytes + n - CHECK_BYTES, expected, CHECK_BYTES) == 0;
}

/* " word 123": a number of at most 15 digits after this word. */
static bool take(const char **text, const char *word, uint64_t *value) {
  const size_t n_word = strlen(word);
  if (strncmp(*text, word, n_word) != 0) return false;
  const char *p = *text + n_word;
  size_t n_digits = 0;
  for (*value = 0; isdigit((unsigned char)*p) && n_digits < 15; p++, n_digits++)
    *value = 10 * *value + (uint64_t)(*p - '0');
  *text = p;
  return n_digits > 0 && !isdigit((unsigned char)*p);
}

static bool take_timing(const char **text, iso__timing *timing) {
  uint64_t ns, spread, n;
  if (!take(text, "time ", &ns) || !take(text, " spread ", &spread) || !take(text, " samples ", &n) || n > 1000000)
    return false;
  *timing = (iso__timing){.ns = (double)ns, .spread_ns = (double)spread, .n_samples = (int)n};
  return *(*text)++ == '\n';
}

bool iso__record_parse(const char *bytes, size_t n, const char *head, size_t n_head, int n_engines,
                       iso__record *record) {
  char text[ISO__RECORD_BYTES];
  if (n >= sizeof text || n < n_head || memcmp(bytes, head, n_head) != 0 || !iso__record_is_whole(bytes, n))
    return false;
  memcpy(text, bytes, n);
  text[n] = '\0';
  const char *p = text + n_head;
  uint64_t chosen, load, n_rejected, n_samples;
  *record = (iso__record){.n_engines = n_engines};
  for (int i = 0; i < n_engines; i++)
    if (!take_timing(&p, &record->timing[i])) return false;
  if (!take(&p, "chosen ", &chosen) || chosen < 1 || chosen > (uint64_t)n_engines) return false;
  if (!take(&p, "\nload ", &load) || !take(&p, " rejected ", &n_rejected) || !take(&p, " of ", &n_samples))
    return false;
  if (*p != '\n' || p + 1 != text + n - CHECK_BYTES) return false;
  if (load > INT32_MAX || n_rejected > INT32_MAX || n_samples > INT32_MAX) return false;
  record->chosen = (int)chosen - 1;
  record->load_percent = (int)load, record->n_rejected = (int)n_rejected, record->n_samples = (int)n_samples;
  return record->timing[record->chosen].n_samples > 0; /* nobody chooses what was not timed */
}
