/* encode_text.c: one text: repaired where it is no UTF-8, cut at added tokens, normalised, cut into words. A word of
 * ASCII letters alone, as most are, needs no code points: its bytes are lowered and matched. */
#include <string.h>
#include "text/encoder.h"

/* What is not UTF-8 becomes U+FFFD in a copy; `valid` bytes are in order. */
static int64_t repair(iso__encoder *e, const uint8_t **text, size_t *n, size_t valid) {
  const uint8_t *from = *text;
  int64_t n_invalid = 0;
  size_t n_out = 0, n_used;
  if (!iso__encoder_grow(e, (void **)&e->repaired, &e->repaired_capacity, 3 * *n, 1)) return *n = 0, 0;
  memcpy(e->repaired, from, valid);
  n_out = valid;
  for (size_t i = valid; i < *n; i += n_used) {
    const int32_t c = iso__utf8_decode_any(from + i, *n - i, &n_used);
    n_invalid += c < 0;
    n_out += iso__utf8_put(c < 0 ? ISO__REPLACEMENT : (uint32_t)c, e->repaired + n_out);
  }
  *text = e->repaired, *n = n_out;
  return n_invalid;
}

/* A word of plain bytes [begin, end) of the text; begin is code point `index`. */
static void match_ascii(iso__encoder *e, const uint8_t *text, size_t begin, size_t end, int64_t index) {
  const size_t n = end - begin;
  if ((int64_t)n > e->tokenizer->max_word) {
    iso__push_token(e, e->tokenizer->unknown, index, index + (int64_t)n);
    return;
  }
  if (!iso__encoder_grow(e, (void **)&e->word, &e->word_capacity, n, 1)) return;
  for (size_t i = 0; i < n; i++) e->word[i] = e->characters->ascii[text[begin + i]];
  iso__match_word(e, e->word, n, NULL, index);
}

/* A plain word is over at j: one that is a token, as most are, is known by the trie's node after it. */
static void end_ascii(iso__encoder *e, const uint8_t *text, size_t i, size_t j, uint32_t node, int64_t index) {
  const int64_t n = (int64_t)(j - i);
  const int32_t value = node ? e->tokenizer->words.units[node].value : 0;
  if (value && n <= e->tokenizer->max_word) iso__push_token(e, value - 1, index, index + n);
  else match_ascii(e, text, i, j, index);
}

/* Text without raw added tokens; *index is the code point at `begin`, then the one at `end`. */
static void encode_plain(iso__encoder *e, const uint8_t *text, size_t begin, size_t end, int64_t *index) {
  const uint8_t *kinds = e->characters->ascii_kind, *lower = e->characters->ascii;
  const iso__trie *words = &e->tokenizer->words;
  for (size_t i = begin, j; i < end;) {
    uint32_t node = 0;
    bool is_prefix = true;
    for (j = i; j < end && kinds[text[j]] == ISO__IN_WORD; j++)
      if (is_prefix) is_prefix = (node = iso__trie_child(words, node, lower[text[j]])) != 0;
    const uint8_t kind = j < end ? kinds[text[j]] : ISO__SPACE;
    if (kind == ISO__NO_ASCII) {
      i = iso__normalize_some(e, text, i, end, index);
      if (i == end) iso__end_word(e);
      continue;
    }
    if (j > i) end_ascii(e, text, i, j, is_prefix ? node : 0, *index);
    *index += (int64_t)(j - i);
    if (j < end && kind == ISO__PUNCTUATION)
      end_ascii(e, text, j, j + 1, iso__trie_child(words, 0, lower[text[j]]), *index);
    if (j < end) j++, ++*index;
    i = j;
  }
}

/* Bytes [begin, end) of the normalised text. */
static void encode_buffered(iso__encoder *e, size_t begin, size_t end) {
  const iso__buffer *b = &e->buffer;
  for (size_t i = begin; i < end;) {
    const size_t at = i;
    const uint32_t c = iso__utf8_next(b->bytes, &i);
    iso__put_character(e, c, b->classes[at], b->origins[at]);
  }
  iso__end_word(e);
}

/* The same, cut at the added tokens that are looked for in normalised text. */
static void encode_normalized(iso__encoder *e, const uint8_t *text, size_t begin, size_t end, int64_t *index) {
  const iso__added *added = &e->tokenizer->normalized;
  iso__added_match match;
  size_t covered = 0, at = 0;
  e->buffer.n = 0, e->buffering = true;
  while (begin < end) begin = iso__normalize_some(e, text, begin, end, index);
  e->buffering = false;
  const iso__buffer *b = &e->buffer;
  while (iso__added_next(added, b->bytes, b->n, &at, covered, &match)) {
    if (covered < match.begin) encode_buffered(e, covered, match.begin);
    if (match.begin < match.end) /* not so where the token before took all white space that this one is */
      iso__push_token(e, added->tokens[match.token].id, b->origins[match.begin], b->origins[match.end - 1] + 1);
    covered = match.end;
  }
  if (covered < b->n) encode_buffered(e, covered, b->n);
}

int64_t iso__encode_text(iso__encoder *e, const uint8_t *text, size_t n) {
  const iso_tokenizer *t = e->tokenizer;
  void (*const encode)(iso__encoder *, const uint8_t *, size_t, size_t, int64_t *) =
      t->normalized.trie.units ? encode_normalized : encode_plain;
  const size_t valid = iso__utf8_valid_prefix(text, n);
  const int64_t n_invalid = valid < n ? repair(e, &text, &n, valid) : 0;
  iso__added_match match;
  size_t covered = 0, at = 0;
  int64_t index = 0; /* of the code point at `covered` */
  while (iso__added_next(&t->raw, text, n, &at, covered, &match)) {
    if (covered < match.begin) encode(e, text, covered, match.begin, &index);
    else index -= iso__utf8_count(text, match.begin, covered); /* it shares white space with the one before */
    const int64_t end = index + iso__utf8_count(text, match.begin, match.end);
    if (match.begin < match.end) iso__push_token(e, t->raw.tokens[match.token].id, index, end);
    covered = match.end, index = end;
  }
  if (covered < n) encode(e, text, covered, n, &index);
  return n_invalid;
}
