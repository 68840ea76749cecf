/* words.c: the protocol's words. */
#include "words.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

json_t *failure(const char *format, ...) {
  char text[600];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return json_pack("{s:s}", "error", text);
}

json_t *context_failure(const iso_context *ctx) { return failure("%s", iso_error_message(ctx)); }

const char *value_of(const words *w, const char *key, const char *fallback) {
  for (int i = w->n_positional; i + 1 < w->n; i += 2)
    if (strcmp(w->word[i], key) == 0) return w->word[i + 1];
  return fallback;
}

bool read_count(const char *name, const char *text, int64_t *out, json_t **reply) {
  char *end;
  errno = 0;
  const long long value = strtoll(text, &end, 10);
  if (errno || end == text || *end || value < 1 || value > INT32_MAX) {
    *reply = failure("%s: %s is not a whole number from 1 to %d", name, text, INT32_MAX);
    return false;
  }
  *out = value;
  return true;
}

bool read_positive(const char *name, const char *text, double most, double *out, json_t **reply) {
  char *end;
  *out = strtod(text, &end);
  if (end != text && !*end && *out > 0 && *out <= most) return true;
  *reply = failure("%s: %s is not in (0, %g]", name, text, most);
  return false;
}
