/* draft.c: from what a file says to a tokenizer: tokens sorted and judged, then the tables that encoding uses. */
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "io/source.h"
#include "text/encoder.h"
#include "text/tokenizer.h"

const char *iso__token_shown(const char *bytes, size_t n_bytes, char text[80]) {
  return iso__printable(bytes, n_bytes, text, 80);
}

static bool check_token(iso__draft *d, const iso__draft_token *token) {
  char text[80];
  iso__token_shown(token->bytes, token->n_bytes, text);
  if (token->n_bytes > ISO__TOKEN_BYTES)
    return ISO__FAIL(d->ctx, ISO_UNSUPPORTED, d->name, "token %lld, '%s', has %zu bytes, supported are %d",
                     (long long)token->id, text, token->n_bytes, ISO__TOKEN_BYTES),
           false;
  if (token->id < 0 || token->id >= ISO__TOKENIZER_IDS)
    return ISO__FAIL(d->ctx, ISO_UNSUPPORTED, d->name, "token '%s' has the id %lld, supported are 0 to %d", text,
                     (long long)token->id, ISO__TOKENIZER_IDS - 1),
           false;
  return true;
}

bool iso__draft_add_token(iso__draft *d, iso__draft_token token) {
  if (!check_token(d, &token) ||
      !iso__grow(d->ctx, (void **)&d->tokens, &d->tokens_capacity, d->n_tokens + 1, sizeof *d->tokens))
    return false;
  d->tokens[d->n_tokens++] = token;
  return true;
}

bool iso__draft_add_added(iso__draft *d, iso__draft_token token, iso__added_token flags) {
  if (!check_token(d, &token) ||
      !iso__grow(d->ctx, (void **)&d->added, &d->added_capacity, d->n_added + 1, sizeof *d->added))
    return false;
  flags.id = (int32_t)token.id;
  d->added[d->n_added++] = (iso__draft_added){token, flags};
  return true;
}

void iso__draft_release(iso__draft *d) {
  iso__free(d->ctx, d->tokens, d->tokens_capacity * sizeof *d->tokens);
  iso__free(d->ctx, d->added, d->added_capacity * sizeof *d->added);
  d->tokens = NULL, d->added = NULL;
}

/* ---- the vocabulary ---- */

static int by_bytes(const void *a, const void *b) {
  const iso__draft_token *x = a, *y = b;
  const iso__trie_key s = {x->bytes, x->n_bytes, 0}, t = {y->bytes, y->n_bytes, 0};
  const int order = iso__trie_order(&s, &t);
  return order ? order : (x->id > y->id) - (x->id < y->id);
}

int64_t iso__draft_find(const iso__draft *d, const char *token) {
  const iso__draft_token wanted = {token, strlen(token), -1};
  size_t low = 0, high = d->n_tokens; /* the first that is not below */
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (by_bytes(&d->tokens[middle], &wanted) < 0) low = middle + 1;
    else high = middle;
  }
  const iso__draft_token *found = d->tokens + low;
  const bool same =
      low < d->n_tokens && found->n_bytes == wanted.n_bytes && memcmp(found->bytes, wanted.bytes, wanted.n_bytes) == 0;
  return same ? found->id : -1;
}

bool iso__draft_sort_vocabulary(iso__draft *d) {
  char text[80];
  if (d->n_tokens == 0) return ISO__FAIL(d->ctx, ISO_CORRUPT, d->name, "the vocabulary is empty"), false;
  qsort(d->tokens, d->n_tokens, sizeof *d->tokens, by_bytes);
  for (size_t i = 1; i < d->n_tokens; i++) {
    const iso__draft_token *a = &d->tokens[i - 1], *b = &d->tokens[i];
    if (a->n_bytes == 0 || a->n_bytes != b->n_bytes || memcmp(a->bytes, b->bytes, a->n_bytes) != 0)
      continue; /* empty lines only keep their ids */
    const long long shift = d->by_lines;
    ISO__FAIL(d->ctx, ISO_CORRUPT, d->name, "token '%s' is there twice: %s %lld and %lld",
              iso__token_shown(a->bytes, a->n_bytes, text), d->by_lines ? "lines" : "ids", (long long)a->id + shift,
              (long long)b->id + shift);
    return false;
  }
  return true;
}

static int by_id(const void *a, const void *b) {
  const iso__draft_added *x = a, *y = b;
  return (x->token.id > y->token.id) - (x->token.id < y->token.id);
}

bool iso__draft_sort_added(iso__draft *d) {
  char text[80];
  if (d->n_added > 0) qsort(d->added, d->n_added, sizeof *d->added, by_id);
  for (size_t i = 0; i < d->n_added; i++) {
    const iso__draft_token *token = &d->added[i].token;
    const int64_t known = iso__draft_find(d, token->bytes);
    iso__token_shown(token->bytes, token->n_bytes, text);
    if (token->n_bytes == 0)
      return ISO__FAIL(d->ctx, ISO_CORRUPT, d->name, "the added token with the id %lld is empty", (long long)token->id),
             false;
    if (known >= 0 && known != token->id)
      return ISO__FAIL(d->ctx, ISO_CORRUPT, d->name, "added token '%s' has the id %lld, in the vocabulary %lld", text,
                       (long long)token->id, (long long)known),
             false;
    if (i > 0 && d->added[i - 1].token.id == token->id)
      return ISO__FAIL(d->ctx, ISO_CORRUPT, d->name, "added token '%s' has the id %lld, which another one has, too",
                       text, (long long)token->id),
             false;
  }
  return true;
}

/* The text of all tokens, and where each id's begins. */
static bool place_token(iso__draft *d, iso_tokenizer *t, const iso__draft_token *token, size_t *at) {
  char text[80], other[80];
  if (t->token_at[token->id] >= 0) {
    const char *first = t->text + t->token_at[token->id];
    ISO__FAIL(d->ctx, ISO_CORRUPT, d->name, "tokens '%s' and '%s' both have the id %lld",
              iso__token_shown(first, strlen(first), text), iso__token_shown(token->bytes, token->n_bytes, other),
              (long long)token->id);
    return false;
  }
  memcpy(t->text + *at, token->bytes, token->n_bytes);
  t->text[*at + token->n_bytes] = 0;
  t->token_at[token->id] = (int64_t)*at;
  *at += token->n_bytes + 1;
  return true;
}

static bool place_tokens(iso__draft *d, iso_tokenizer *t) {
  size_t at = 0;
  for (size_t i = 0; i < d->n_tokens; i++) {
    t->n_text += d->tokens[i].n_bytes + 1;
    if (d->tokens[i].id >= t->n_ids) t->n_ids = d->tokens[i].id + 1;
  }
  for (size_t i = 0; i < d->n_added; i++) {
    t->n_text += d->added[i].token.n_bytes + 1;
    if (d->added[i].token.id >= t->n_ids) t->n_ids = d->added[i].token.id + 1;
  }
  t->text = iso__zalloc(d->ctx, t->n_text);
  t->token_at = iso__alloc(d->ctx, (size_t)t->n_ids * sizeof *t->token_at);
  if (!t->text || !t->token_at) return false;
  for (int64_t i = 0; i < t->n_ids; i++) t->token_at[i] = -1;
  for (size_t i = 0; i < d->n_tokens; i++)
    if (!place_token(d, t, &d->tokens[i], &at)) return false;
  for (size_t i = 0; i < d->n_added; i++)
    if (iso__draft_find(d, d->added[i].token.bytes) < 0 && !place_token(d, t, &d->added[i].token, &at)) return false;
  return true;
}

static bool build_words(iso__draft *d, iso_tokenizer *t) {
  const size_t n_bytes = d->n_tokens * sizeof(iso__trie_key);
  iso__trie_key *keys = iso__alloc(d->ctx, n_bytes);
  if (!keys) return false;
  size_t n_keys = 0;
  for (size_t i = 0; i < d->n_tokens; i++) /* nothing is matched by an empty token */
    if (d->tokens[i].n_bytes > 0)
      keys[n_keys++] = (iso__trie_key){d->tokens[i].bytes, d->tokens[i].n_bytes, (int32_t)d->tokens[i].id};
  const bool ok = iso__trie_build(d->ctx, &t->words, keys, n_keys);
  iso__free(d->ctx, keys, n_bytes);
  if (!ok) return false;
  const size_t n_prefix = strlen(d->prefix);
  t->continuation = iso__trie_walk(&t->words, 0, d->prefix, n_prefix);
  t->has_continuation = n_prefix == 0 || t->continuation != 0;
  return true;
}

/* ---- added tokens ---- */

/* The strings to look for: in the normalised text, they are normalised themselves. Keys in the order of the draft. */
static bool added_keys(iso__draft *d, iso_tokenizer *t, bool normalized, iso__trie_key *keys, size_t *n_keys,
                       char **bytes, size_t *capacity) {
  size_t n_bytes = 0;
  for (size_t i = 0; i < d->n_added; i++) {
    const iso__draft_token *token = &d->added[i].token;
    if (d->added[i].flags.normalized != normalized) continue;
    const size_t begin = n_bytes;
    if (normalized) {
      if (!iso__normalize(d->ctx, &t->characters, token->bytes, token->n_bytes, bytes, &n_bytes, capacity))
        return false;
    } else {
      if (!iso__grow(d->ctx, (void **)bytes, capacity, n_bytes + token->n_bytes, 1)) return false;
      memcpy(*bytes + n_bytes, token->bytes, token->n_bytes);
      n_bytes += token->n_bytes;
    }
    keys[(*n_keys)++] = (iso__trie_key){.n_bytes = n_bytes - begin, .value = (int32_t)i};
  }
  const char *at = *bytes;
  for (size_t i = 0; i < *n_keys; i++) keys[i].bytes = at, at += keys[i].n_bytes;
  return true;
}

static bool check_keys(iso__draft *d, const iso__trie_key *keys, size_t n_keys) {
  char text[80];
  for (size_t i = 0; i < n_keys; i++) {
    const iso__draft_token *token = &d->added[keys[i].value].token;
    const bool empty = keys[i].n_bytes == 0;
    if (!empty && (i == 0 || iso__trie_order(&keys[i - 1], &keys[i]) != 0)) continue;
    ISO__FAIL(d->ctx, ISO_CORRUPT, d->name, "added token '%s' is %s once normalised",
              iso__token_shown(token->bytes, token->n_bytes, text), empty ? "empty" : "the same as another one");
    return false;
  }
  return true;
}

static bool build_added(iso__draft *d, iso_tokenizer *t, bool normalized, iso__added *out) {
  iso_context *ctx = d->ctx;
  const size_t n_all = d->n_added * sizeof(iso__trie_key);
  size_t n_keys = 0, capacity = 0;
  char *bytes = NULL;
  iso__trie_key *keys = iso__alloc(ctx, n_all);
  if (!keys) return false;
  bool ok = added_keys(d, t, normalized, keys, &n_keys, &bytes, &capacity);
  if (ok && n_keys > 0) {
    qsort(keys, n_keys, sizeof *keys, iso__trie_order);
    ok = check_keys(d, keys, n_keys) && iso__added_build(ctx, out, keys, n_keys, t->added);
  }
  iso__free(ctx, bytes, capacity);
  iso__free(ctx, keys, n_all);
  return ok;
}

static bool build_all_added(iso__draft *d, iso_tokenizer *t) {
  if (d->n_added == 0) return true;
  t->added = iso__alloc(d->ctx, d->n_added * sizeof *t->added);
  if (!t->added) return false;
  t->n_added = d->n_added;
  for (size_t i = 0; i < d->n_added; i++) t->added[i] = d->added[i].flags;
  return build_added(d, t, false, &t->raw) && build_added(d, t, true, &t->normalized);
}

/* ---- the rest ---- */

static int64_t find_any(const iso__draft *d, const char *token) {
  for (size_t i = 0; i < d->n_added; i++)
    if (strcmp(d->added[i].token.bytes, token) == 0) return d->added[i].token.id;
  return iso__draft_find(d, token);
}

static bool set_specials(iso__draft *d, iso_tokenizer *t) {
  const int64_t unknown = iso__draft_find(d, d->unknown);
  char text[80];
  if (unknown < 0)
    return ISO__FAIL(d->ctx, ISO_CORRUPT, d->name, "the vocabulary lacks the token for unknown words, '%s'",
                     iso__token_shown(d->unknown, strlen(d->unknown), text)),
           false;
  t->unknown = (int32_t)unknown;
  t->padding = find_any(d, d->padding ? d->padding : "[PAD]");
  if (d->padding && t->padding < 0)
    return ISO__FAIL(d->ctx, ISO_CORRUPT, d->name, "the vocabulary lacks the padding token, '%s'",
                     iso__token_shown(d->padding, strlen(d->padding), text)),
           false;
  t->n_before = d->n_before, t->n_after = d->n_after;
  for (int i = 0; i < d->n_before + d->n_after; i++) {
    if (d->special[i] < 0 || d->special[i] >= t->n_ids || t->token_at[d->special[i]] < 0)
      return ISO__FAIL(d->ctx, ISO_CORRUPT, d->name, "a special token around texts has the id %lld, which no token has",
                       (long long)d->special[i]),
             false;
    t->special[i] = (int32_t)d->special[i];
  }
  return true;
}

/* Over the rules and all tokens by id, so that vocab.txt and the tokenizer.json made from it have one name. */
static bool hash_tokenizer(iso__draft *d, iso_tokenizer *t) {
  const int64_t numbers[] = {t->rules.clean_text, t->rules.chinese, t->rules.strip_accents,
                             t->rules.lowercase,  t->unknown,       t->max_word,
                             t->n_before,         t->n_after,       t->n_ids,
                             (int64_t)t->n_added};
  iso__hasher *hasher = iso__hasher_new();
  if (!hasher) return ISO__FAIL(d->ctx, ISO_OUT_OF_MEMORY, d->name, "no memory to hash the vocabulary"), false;
  iso__hasher_add(hasher, numbers, sizeof numbers);
  iso__hasher_add(hasher, t->special, (size_t)(t->n_before + t->n_after) * sizeof *t->special);
  iso__hasher_add(hasher, d->prefix, strlen(d->prefix) + 1);
  for (int64_t i = 0; i < t->n_ids; i++) {
    const char *token = t->token_at[i] < 0 ? "" : t->text + t->token_at[i];
    iso__hasher_add(hasher, token, strlen(token) + 1);
  }
  for (size_t i = 0; i < t->n_added; i++) { /* ascending by id */
    const iso__added_token *a = &t->added[i];
    const int32_t rules[] = {a->id, a->single_word, a->lstrip, a->rstrip, a->normalized};
    iso__hasher_add(hasher, rules, sizeof rules);
  }
  iso__hash_format(iso__hasher_end(hasher), t->hash);
  return true;
}

iso_tokenizer *iso__tokenizer_make(iso__draft *d) {
  iso_context *ctx = d->ctx;
  iso_tokenizer *t = iso__zalloc(ctx, sizeof *t);
  if (!t) return NULL;
  atomic_init(&t->n_refs, 1);
  iso__heap_retain(ctx->heap);
  t->heap = ctx->heap, t->rules = d->rules;
  t->max_word = d->max_word < ISO__MAX_WORD ? d->max_word : ISO__MAX_WORD;
  if (place_tokens(d, t) && iso__characters_build(ctx, &t->characters, &t->rules) && build_words(d, t) &&
      build_all_added(d, t) && set_specials(d, t) && hash_tokenizer(d, t))
    return t;
  iso_tokenizer_free(t);
  return NULL;
}
