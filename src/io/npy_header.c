/* npy_header.c: the dict literal at the head of a .npy file (numpy's format.py, versions 1 to 3). A scanner for exactly
 * that grammar: a Python parser would accept what numpy never writes. */
#include "io/formats.h"
#include <stdio.h>
#include <string.h>

typedef struct scanner {
  iso_context *ctx;
  const char *name, *text;
  size_t n, at;
} scanner;

static bool fail_at(const scanner *s, const char *expected) {
  char text[64];
  const size_t n_left = s->n - s->at;
  ISO__FAIL(s->ctx, ISO_CORRUPT, s->name, "npy header has '%s' at byte %zu, expected %s",
            iso__printable(s->text + s->at, n_left < 24 ? n_left : 24, text, sizeof text), s->at, expected);
  return false;
}

static void skip_space(scanner *s) {
  while (s->at < s->n && (s->text[s->at] == ' ' || s->text[s->at] == '\t' || s->text[s->at] == '\n')) s->at++;
}

static bool accept(scanner *s, char wanted) {
  skip_space(s);
  if (s->at >= s->n || s->text[s->at] != wanted) return false;
  s->at++;
  return true;
}

static bool accept_word(scanner *s, const char *word) {
  const size_t n = strlen(word);
  skip_space(s);
  if (s->n - s->at < n || memcmp(s->text + s->at, word, n) != 0) return false;
  s->at += n;
  return true;
}

/* A quoted string without escapes: numpy needs none for what we accept. */
static bool scan_string(scanner *s, char *out, size_t n_out, const char *expected) {
  skip_space(s);
  const char quote = s->at < s->n ? s->text[s->at] : '\0';
  if (quote != '\'' && quote != '"') return fail_at(s, expected);
  const size_t begin = s->at + 1;
  size_t end = begin;
  while (end < s->n && s->text[end] != quote && s->text[end] != '\\' && s->text[end] != '\n') end++;
  if (end >= s->n || s->text[end] != quote) return fail_at(s, expected);
  iso__printable(s->text + begin, end - begin, out, n_out);
  s->at = end + 1;
  return true;
}

/* Byte order, then numpy's kind and size. bf16 has no numpy type: ml_dtypes stores it as two void bytes. */
static bool scan_descr(scanner *s, iso__npy_header *out) {
  static const struct {
    const char *code;
    iso_dtype dtype;
  } types[] = {
      {"f4", ISO_F32}, {"f8", ISO_F64}, {"f2", ISO_F16}, {"V2", ISO_BF16},
      {"i8", ISO_I64}, {"i4", ISO_I32}, {"u1", ISO_U8},  {"b1", ISO_BOOL},
  };
  char descr[64];
  skip_space(s);
  const size_t begin = s->at;
  if (s->at < s->n && (s->text[s->at] == '[' || s->text[s->at] == '(')) {
    ISO__FAIL(s->ctx, ISO_UNSUPPORTED, s->name, "npy descr is %s: structured types have no tensor",
              iso__printable(s->text + begin, s->n - begin, descr, sizeof descr));
    return false;
  }
  if (!scan_string(s, descr, sizeof descr, "a type string")) return false;
  const bool known_order = descr[0] == '<' || descr[0] == '>' || descr[0] == '|' || descr[0] == '=';
  for (size_t i = 0; known_order && i < sizeof types / sizeof *types; i++) {
    if (strcmp(descr + 1, types[i].code) != 0) continue;
    out->dtype = types[i].dtype;
    out->big_endian = descr[0] == '>';
    return true;
  }
  ISO__FAIL(s->ctx, ISO_UNSUPPORTED, s->name,
            "npy descr is '%s', supported: f4 f8 f2 V2 (bf16) i8 i4 u1 b1, after < > | or =", descr);
  return false;
}

static bool scan_extent(scanner *s, int64_t *out) {
  skip_space(s);
  const size_t begin = s->at;
  int64_t value = 0;
  for (; s->at < s->n && s->text[s->at] >= '0' && s->text[s->at] <= '9'; s->at++) {
    const int digit = s->text[s->at] - '0';
    if (value > (INT64_MAX - digit) / 10) return s->at = begin, fail_at(s, "an extent below 2^63");
    value = value * 10 + digit;
  }
  if (s->at == begin) return fail_at(s, "an extent of at least 0");
  if (s->at < s->n && s->text[s->at] == 'L') s->at++; /* Python 2 wrote (3L, 4L) */
  *out = value;
  return true;
}

/* (), (3,), (2, 3), (2, 3,) */
static bool scan_shape(scanner *s, iso__npy_header *out) {
  if (!accept(s, '(')) return fail_at(s, "a tuple");
  out->n_dims = 0;
  while (!accept(s, ')')) {
    int64_t extent = 0;
    if (!scan_extent(s, &extent)) return false;
    if (out->n_dims == ISO_MAX_DIMS)
      return ISO__FAIL(s->ctx, ISO_UNSUPPORTED, s->name, "npy shape has more than %d axes", ISO_MAX_DIMS), false;
    out->shape[out->n_dims++] = extent;
    if (accept(s, ',')) continue;
    if (out->n_dims == 1 || !accept(s, ')')) return fail_at(s, "',' or ')'"); /* (3) is a number, not a tuple */
    break;
  }
  return true;
}

static bool scan_fortran_order(scanner *s, iso__npy_header *out) {
  out->fortran_order = accept_word(s, "True");
  return out->fortran_order || accept_word(s, "False") || fail_at(s, "True or False");
}

bool iso__npy_header_parse(iso_context *ctx, const char *name, const char *text, size_t n_bytes, iso__npy_header *out) {
  static const struct {
    const char *key;
    bool (*scan)(scanner *s, iso__npy_header *out);
  } fields[] = {{"descr", scan_descr}, {"fortran_order", scan_fortran_order}, {"shape", scan_shape}};
  scanner s = {.ctx = ctx, .name = name, .text = text, .n = n_bytes};
  bool seen[3] = {false};
  if (!accept(&s, '{')) return fail_at(&s, "'{'");
  while (!accept(&s, '}')) {
    char key[32];
    size_t i = 0;
    if (!scan_string(&s, key, sizeof key, "a key or '}'")) return false;
    while (i < 3 && strcmp(key, fields[i].key) != 0) i++;
    if (i == 3 || seen[i])
      return ISO__FAIL(ctx, ISO_CORRUPT, name, "npy header has %s '%s'", i == 3 ? "an unknown key" : "twice the key",
                       key),
             false;
    seen[i] = true;
    if (!accept(&s, ':')) return fail_at(&s, "':'");
    if (!fields[i].scan(&s, out)) return false;
    if (accept(&s, ',')) continue;
    if (!accept(&s, '}')) return fail_at(&s, "',' or '}'");
    break;
  }
  skip_space(&s);
  if (s.at != s.n) return fail_at(&s, "the header's end");
  for (size_t i = 0; i < 3; i++)
    if (!seen[i]) return ISO__FAIL(ctx, ISO_CORRUPT, name, "npy header lacks '%s'", fields[i].key), false;
  return true;
}
