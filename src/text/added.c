/* added.c: leftmost-longest search for a few strings: a filter on the first byte, then a walk down a trie. Tokens have
 * at most ISO__TOKEN_BYTES, which bounds a text's worst case. */
#include "text/added.h"
#include <string.h>
#include "text/characters.h"
#include "text/utf8.h"

bool iso__added_build(iso_context *ctx, iso__added *added, const iso__trie_key *keys, size_t n_keys,
                      const iso__added_token *tokens) {
  *added = (iso__added){.tokens = tokens};
  if (n_keys == 0) return true;
  for (size_t i = 0; i < n_keys; i++) added->begins[(uint8_t)keys[i].bytes[0]] = true;
  added->first = (uint8_t)keys[0].bytes[0];
  added->has_one_first = added->first == (uint8_t)keys[n_keys - 1].bytes[0]; /* ascending */
  return iso__trie_build(ctx, &added->trie, keys, n_keys);
}

/* The next byte from i on that begins a token; n: none. */
static size_t skip(const iso__added *added, const uint8_t *bytes, size_t i, size_t n) {
  if (added->has_one_first) {
    const uint8_t *found = i < n ? memchr(bytes + i, added->first, n - i) : NULL;
    return found ? (size_t)(found - bytes) : n;
  }
  while (i < n && !added->begins[bytes[i]]) i++;
  return i;
}

/* The longest token at `begin`; false: none. */
static bool match_at(const iso__added *added, const uint8_t *bytes, size_t n, size_t begin, iso__added_match *match) {
  uint32_t node = 0;
  *match = (iso__added_match){.begin = begin};
  for (size_t i = begin; i < n && (node = iso__trie_child(&added->trie, node, bytes[i])); i++)
    if (added->trie.units[node].value) match->token = added->trie.units[node].value - 1, match->end = i + 1;
  return match->end > 0;
}

static bool stands_alone(const uint8_t *bytes, size_t n, const iso__added_match *match) {
  size_t at = match->end, before;
  return (match->begin == 0 || !iso__is_word(iso__utf8_last(bytes, match->begin, &before))) &&
         (match->end == n || !iso__is_word(iso__utf8_next(bytes, &at)));
}

static void take_space(const iso__added_token *token, const uint8_t *bytes, size_t n, size_t covered,
                       iso__added_match *match) {
  size_t before, after;
  if (token->lstrip) {
    while (match->begin > 0 && iso__is_space(iso__utf8_last(bytes, match->begin, &before))) match->begin = before;
    if (match->begin < covered) match->begin = covered;
  }
  if (match->end < match->begin) match->end = match->begin;
  after = match->end;
  while (token->rstrip && after < n && iso__is_space(iso__utf8_next(bytes, &after))) match->end = after;
}

bool iso__added_next(const iso__added *added, const uint8_t *bytes, size_t n_bytes, size_t *at, size_t covered,
                     iso__added_match *match) {
  if (!added->trie.units) return false;
  for (size_t i = *at; (i = skip(added, bytes, i, n_bytes)) < n_bytes; i++) {
    if (!match_at(added, bytes, n_bytes, i, match)) continue;
    i = match->end - 1; /* tokens do not overlap, not even with one that is then refused */
    const iso__added_token *token = &added->tokens[match->token];
    if (token->single_word && !stands_alone(bytes, n_bytes, match)) continue;
    *at = match->end;
    take_space(token, bytes, n_bytes, covered, match);
    return true;
  }
  return false;
}
