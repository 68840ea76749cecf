/* problem_text.c: problems as text, both ways: "conv2d.fwd f32 n64 c64 h56 w56 k64 r3 s3 p1", and " kept1" where the
 * weights are constant. */
#include <ctype.h>
#include <stdio.h>
#include "plan/state.h"

static const char *const operator_names[ISO__N_OPS] = {
#define OPERATOR(id, name) [ISO__OP_##id] = name,
#include "plan/operators.def"
#undef OPERATOR
};

const char *iso__operator_name(uint16_t op) { return op < ISO__N_OPS ? operator_names[op] : "operator"; }

int iso__problem_format(const iso__problem *problem, char *text, size_t n_bytes) {
  const iso__operator *o = iso__problem_operator(problem);
  if (!o) return snprintf(text, n_bytes, "operator %d", problem->op);
  const int n =
      snprintf(text, n_bytes, "%s %s ", operator_names[problem->op], iso_dtype_name((iso_dtype)problem->dtype));
  if (n < 0) return n;
  size_t used = (size_t)n < n_bytes ? (size_t)n : n_bytes;
  const int length = n + o->format(problem, text + used, n_bytes - used);
  if (!problem->kept) return length;
  used = (size_t)length < n_bytes ? (size_t)length : n_bytes;
  return length + snprintf(text + used, n_bytes - used, " kept1");
}

/* The next word of *text into `word`; false at the end. Words that do not fit are cut, and then not accepted by
 * anybody. */
enum { WORD_BYTES = 256 }; /* eight strides of 64 bits, with their key */
static bool next_word(const char **text, char word[WORD_BYTES]) {
  while (isspace((unsigned char)**text)) ++*text;
  size_t n = 0;
  for (; **text && !isspace((unsigned char)**text); ++*text)
    if (n < WORD_BYTES - 2) word[n++] = **text; /* splitting a word lengthens it by one */
  word[n] = 0;
  return n > 0;
}

/* "h56" is key "h", value "56"; "fn=relu" is key "fn", value "relu". */
static char *split_word(char *word) {
  char *value = strchr(word, '=');
  if (value) return *value = 0, value + 1;
  value = word + strcspn(word, "-0123456789");
  memmove(value + 1, value, strlen(value) + 1);
  *value = 0;
  return value + 1;
}

static bool find_operator(const char *name, uint16_t *op) {
  for (int i = 0; i < ISO__N_OPS; i++)
    if (!strcmp(operator_names[i], name)) return *op = (uint16_t)i, true;
  return false;
}

static const char *parse_kept(iso__problem *problem, const iso__operator *o, const char *value) {
  if (strcmp(value, "0") && strcmp(value, "1")) return "kept is 0 or 1";
  if (!o->weights_only && *value == '1') return "this operator keeps no form of its weights";
  return problem->kept = *value == '1', NULL;
}

iso_status iso__problem_read(const char *text, void *buffer, char *why, size_t n_bytes) {
  char word[WORD_BYTES];
  iso__problem *problem = buffer;
  memset(buffer, 0, ISO__MAX_PROBLEM_BYTES);
  if (!next_word(&text, word) || !find_operator(word, &problem->op) || !iso__problem_operator(problem))
    return snprintf(why, n_bytes, "there is no operator '%.60s'", word), ISO_NOT_FOUND;
  const iso__operator *o = iso__problem_operator(problem);
  problem->n_bytes = (uint32_t)o->problem_bytes;
  problem->dtype = ISO_F32;
  const char *wrong = NULL;
  for (bool first = true; !wrong && next_word(&text, word); first = false) {
    iso_dtype dtype;
    if (first && iso_dtype_parse(word, &dtype)) {
      problem->dtype = (uint8_t)dtype;
      continue;
    }
    char *value = split_word(word);
    wrong = strcmp(word, "kept") ? o->parse(problem, word, value) : parse_kept(problem, o, value);
    if (wrong)
      return snprintf(why, n_bytes, "%s: '%.60s' = '%.60s': %s", operator_names[problem->op], word, value, wrong),
             ISO_INVALID_ARGUMENT;
  }
  wrong = o->parse(problem, NULL, NULL);
  return wrong ? (snprintf(why, n_bytes, "%s: %s", operator_names[problem->op], wrong), ISO_INVALID_ARGUMENT) : ISO_OK;
}

iso_status iso__problem_parse(iso_context *ctx, const char *text, void *buffer) {
  char why[320];
  const iso_status status = iso__problem_read(text, buffer, why, sizeof why);
  return status == ISO_OK ? ISO_OK : ISO__FAIL(ctx, status, "problem", "%s", why);
}
