/* vocabulary.c: vocab.txt, a token a line, and what tokenizer_config.json beside it says of the rules. */
#include <string.h>
#include "text/json.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

/* Fields of tokenizer_config.json with BERT's tokens, and their usual names. */
static const struct role {
  const char *field, *token;
} roles[] = {{"unk_token", "[UNK]"},
             {"cls_token", "[CLS]"},
             {"sep_token", "[SEP]"},
             {"pad_token", "[PAD]"},
             {"mask_token", "[MASK]"}};
enum { UNKNOWN, CLS, SEP, PAD, MASK, N_ROLES };

static bool add_line(iso__draft *d, const char *line, size_t n, int64_t number) {
  char text[80];
  if (memchr(line, 0, n))
    return ISO__FAIL(d->ctx, ISO_CORRUPT, d->name, "line %lld, '%s', contains a NUL byte: this is no vocabulary",
                     (long long)number + 1, iso__token_shown(line, n, text)),
           false;
  if (iso__utf8_valid_prefix((const uint8_t *)line, n) < n)
    return ISO__FAIL(d->ctx, ISO_CORRUPT, d->name, "line %lld, '%s', is no UTF-8", (long long)number + 1,
                     iso__token_shown(line, n, text)),
           false;
  for (size_t before; n > 0 && iso__is_space(iso__utf8_last((const uint8_t *)line, n, &before));) n = before;
  return iso__draft_add_token(d, (iso__draft_token){line, n, number});
}

static bool read_lines(iso__draft *d, const char *bytes, size_t n) {
  int64_t number = 0;
  while (n > 0 && (bytes[n - 1] == '\n' || bytes[n - 1] == '\r')) n--; /* empty lines at the end are no tokens */
  for (size_t begin = 0; begin < n; number++) {
    const char *end = memchr(bytes + begin, '\n', n - begin);
    const size_t n_line = end ? (size_t)(end - bytes) - begin : n - begin;
    if (!add_line(d, bytes + begin, n_line, number)) return false;
    begin += n_line + 1;
  }
  return true;
}

/* A token's text, or an object with it as "content". */
static bool read_role(const iso__json_place *config, const char *name, const char **token) {
  json_t *value = json_object_get(config->object, name);
  iso__json_place place;
  if (!json_is_object(value)) return iso__json_text(config, name, false, token);
  return iso__json_enter(config, name, value, &place) && iso__json_text(&place, "content", true, token);
}

static bool read_config(iso__draft *d, const iso__json_place *config, const char *tokens[N_ROLES]) {
  if (!iso__json_flag(config, "do_lower_case", false, &d->rules.lowercase) ||
      !iso__json_flag(config, "tokenize_chinese_chars", false, &d->rules.chinese))
    return false;
  d->rules.strip_accents = d->rules.lowercase;
  if (!iso__json_flag(config, "strip_accents", false, &d->rules.strip_accents)) return false;
  for (int i = 0; i < N_ROLES; i++)
    if (!read_role(config, roles[i].field, &tokens[i])) return false;
  return true;
}

/* Looked for in texts, as they are. All but [MASK] must be there. */
static bool add_roles(iso__draft *d, const char *const tokens[N_ROLES]) {
  char text[80];
  for (int i = 0; i < N_ROLES; i++) {
    const size_t n = strlen(tokens[i]);
    const int64_t id = iso__draft_find(d, tokens[i]);
    bool known = n == 0; /* an empty token is nowhere */
    for (int k = 0; k < i; k++) known |= strcmp(tokens[k], tokens[i]) == 0;
    if (id < 0 && i != MASK)
      return ISO__FAIL(d->ctx, ISO_CORRUPT, d->name, "the vocabulary lacks the special token '%s'",
                       iso__token_shown(tokens[i], n, text)),
             false;
    if (id >= 0 && !known && !iso__draft_add_added(d, (iso__draft_token){tokens[i], n, id}, (iso__added_token){0}))
      return false;
  }
  d->special[0] = iso__draft_find(d, tokens[CLS]), d->special[1] = iso__draft_find(d, tokens[SEP]);
  d->n_before = d->n_after = 1;
  d->unknown = tokens[UNKNOWN], d->padding = tokens[PAD];
  return true;
}

iso_tokenizer *iso__tokenizer_parse_vocabulary(iso_context *ctx, const char *name, const void *bytes, size_t n_bytes,
                                               const char *config_name, const void *config, size_t n_config,
                                               bool cased) {
  iso__draft d = {.ctx = ctx,
                  .name = name,
                  .by_lines = true,
                  .rules = {.clean_text = true, .chinese = true, .strip_accents = true, .lowercase = true},
                  .prefix = "##",
                  .max_word = 100};
  const char *tokens[N_ROLES];
  iso_tokenizer *t = NULL;
  for (int i = 0; i < N_ROLES; i++) tokens[i] = roles[i].token;
  json_t *json = config ? iso__json_load(ctx, config_name, config, n_config) : NULL;
  const iso__json_place place = {.ctx = ctx, .file = config_name, .object = json};
  bool ok = !config || (json && read_config(&d, &place, tokens));
  if (cased) d.rules.lowercase = d.rules.strip_accents = false;
  ok = ok && read_lines(&d, bytes, n_bytes) && iso__draft_sort_vocabulary(&d) && add_roles(&d, tokens) &&
       iso__draft_sort_added(&d);
  if (ok) t = iso__tokenizer_make(&d);
  iso__draft_release(&d);
  json_decref(json);
  return t;
}
