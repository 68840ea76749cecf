/* options.c: command-line options from tables. "--name value" and "--name=value"; every error names option and value.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "cli.h"

static void print_help(const command *c) {
  printf("usage: %s\n\n%s\n\noptions:\n", c->usage, c->about);
  for (const option *const *list = c->options; *list; list++)
    for (const option *o = *list; o->name; o++) {
      char left[64];
      snprintf(left, sizeof left, "%s%s%s", o->name, o->argument ? " " : "", o->argument ? o->argument : "");
      printf("  %-24s %s\n", left, o->help);
    }
  printf("  %-24s %s\n", "--help", "this text");
  if (c->notes) printf("\n%s\n", c->notes);
}

static const option *find(const command *c, const char *name, size_t n) {
  for (const option *const *list = c->options; *list; list++)
    for (const option *o = *list; o->name; o++)
      if (strlen(o->name) == n && !strncmp(o->name, name, n)) return o;
  return NULL;
}

static bool read_count(const option *o, const char *text) {
  char *end;
  errno = 0;
  const long long v = strtoll(text, &end, 10);
  if (end == text || *end || errno || v < o->low) {
    fprintf(stderr, "isobit: %s is '%s'; it must be a whole number, at least %lld\n", o->name, text, (long long)o->low);
    return false;
  }
  *(int64_t *)o->value = v;
  return true;
}

static bool read_number(const option *o, const char *text) {
  char *end;
  const double v = strtod(text, &end);
  if (end == text || *end || !isfinite(v)) {
    fprintf(stderr, "isobit: %s is '%s'; it must be a finite number\n", o->name, text);
    return false;
  }
  *(double *)o->value = v;
  return true;
}

static bool read_value(const option *o, const char *text) {
  switch (o->kind) {
  case OPTION_TEXT: return *(const char **)o->value = text, true;
  case OPTION_COUNT: return read_count(o, text);
  default: return read_number(o, text);
  }
}

int options_read(const command *c, int argc, char **argv) {
  for (int i = 0; i < argc; i++) {
    if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) return print_help(c), EXIT_OK;
    const char *equals = strchr(argv[i], '=');
    const option *o = find(c, argv[i], equals ? (size_t)(equals - argv[i]) : strlen(argv[i]));
    if (!o) {
      fprintf(stderr, "isobit: unknown argument '%s'\nusage: %s\n", argv[i], c->usage);
      return EXIT_USAGE;
    }
    if (o->kind == OPTION_FLAG) {
      if (equals) return fprintf(stderr, "isobit: %s takes no value\n", o->name), EXIT_USAGE;
      *(bool *)o->value = true;
      continue;
    }
    const char *text = equals ? equals + 1 : i + 1 < argc ? argv[++i] : NULL;
    if (!text) return fprintf(stderr, "isobit: %s needs a value: %s\n", o->name, o->argument), EXIT_USAGE;
    if (!read_value(o, text)) return EXIT_USAGE;
  }
  return -1;
}
