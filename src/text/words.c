/* words.c: WordPiece: from its begin a word gives its longest prefix in the vocabulary, then the longest one that
 * continues a word, and so on; where there is none the whole word is unknown (Schuster and Nakajima 2012). */
#include <string.h>
#include "text/encoder.h"

bool iso__encoder_grow(iso__encoder *e, void **block, size_t *capacity, size_t n_wanted, size_t item_bytes) {
  if (n_wanted <= *capacity) return true;
  if (e->status != ISO_OK) return false;
  size_t n = *capacity < 64 ? 64 : *capacity;
  while (n < n_wanted) n *= 2;
  void *larger = iso__heap_alloc(e->heap, n * item_bytes, &e->status);
  if (!larger) return e->n_wanted = n * item_bytes, false;
  if (*block) memcpy(larger, *block, *capacity * item_bytes);
  iso__heap_free(e->heap, *block, *capacity * item_bytes);
  *block = larger, *capacity = n;
  return true;
}

void iso__encoder_release(iso__encoder *e) {
  iso__heap *heap = e->heap;
  iso__heap_free(heap, e->ids, e->ids_capacity * sizeof *e->ids);
  iso__heap_free(heap, e->offsets, e->offsets_capacity * sizeof *e->offsets);
  iso__heap_free(heap, e->word, e->word_capacity);
  iso__heap_free(heap, e->origins, e->origins_capacity * sizeof *e->origins);
  iso__heap_free(heap, e->pending, e->pending_capacity * sizeof *e->pending);
  iso__heap_free(heap, e->buffer.bytes, e->buffer.bytes_capacity);
  iso__heap_free(heap, e->buffer.classes, e->buffer.classes_capacity);
  iso__heap_free(heap, e->buffer.origins, e->buffer.origins_capacity * sizeof *e->buffer.origins);
  iso__heap_free(heap, e->repaired, e->repaired_capacity);
  *e = (iso__encoder){.heap = heap};
}

static bool grow_tokens(iso__encoder *e) {
  return iso__encoder_grow(e, (void **)&e->ids, &e->ids_capacity, e->n + 1, sizeof *e->ids) &&
         (!e->with_offsets ||
          iso__encoder_grow(e, (void **)&e->offsets, &e->offsets_capacity, e->n + 1, sizeof *e->offsets));
}

void iso__push_token(iso__encoder *e, int32_t id, int64_t begin, int64_t end) {
  if ((e->n == e->ids_capacity || (e->with_offsets && e->n == e->offsets_capacity)) && !grow_tokens(e)) return;
  if (e->with_offsets) e->offsets[e->n][0] = begin, e->offsets[e->n][1] = end;
  e->ids[e->n++] = id;
}

void iso__match_word(iso__encoder *e, const uint8_t *word, size_t n, const int64_t *origins, int64_t first) {
  const iso_tokenizer *t = e->tokenizer;
  const size_t n_before = e->n;
  size_t begin = 0;
  while (begin < n) {
    uint32_t node = begin == 0 ? 0 : t->continuation;
    size_t end = 0;
    int32_t id = 0;
    if (begin == 0 || t->has_continuation)
      for (size_t i = begin; i < n && (node = iso__trie_child(&t->words, node, word[i])); i++)
        if (t->words.units[node].value) id = t->words.units[node].value - 1, end = i + 1;
    if (end == 0) {
      e->n = n_before;
      iso__push_token(e, t->unknown, origins ? origins[0] : first,
                      (origins ? origins[n - 1] : first + (int64_t)n - 1) + 1);
      return;
    }
    iso__push_token(e, id, origins ? origins[begin] : first + (int64_t)begin,
                    (origins ? origins[end - 1] : first + (int64_t)end - 1) + 1);
    begin = end;
  }
}

void iso__end_word(iso__encoder *e) {
  if (e->n_points == 0) return;
  if (e->n_points > e->tokenizer->max_word)
    iso__push_token(e, e->tokenizer->unknown, e->first_origin, e->last_origin + 1);
  else iso__match_word(e, e->word, e->n_word, e->origins, 0);
  e->n_points = 0, e->n_word = 0;
}

static void extend_word(iso__encoder *e, uint32_t c, int64_t origin) {
  if (e->n_points == 0) e->first_origin = origin;
  e->last_origin = origin;
  if (++e->n_points > e->tokenizer->max_word) return;
  if (!iso__encoder_grow(e, (void **)&e->word, &e->word_capacity, e->n_word + 4, 1) ||
      !iso__encoder_grow(e, (void **)&e->origins, &e->origins_capacity, e->n_word + 4, sizeof *e->origins))
    return;
  for (size_t n = iso__utf8_put(c, e->word + e->n_word); n > 0; n--) e->origins[e->n_word++] = origin;
}

static void fill_buffer(iso__encoder *e, uint32_t c, uint32_t class, int64_t origin) {
  iso__buffer *b = &e->buffer;
  if (!iso__encoder_grow(e, (void **)&b->bytes, &b->bytes_capacity, b->n + 4, 1) ||
      !iso__encoder_grow(e, (void **)&b->classes, &b->classes_capacity, b->n + 4, 1) ||
      !iso__encoder_grow(e, (void **)&b->origins, &b->origins_capacity, b->n + 4, sizeof *b->origins))
    return;
  for (size_t n = iso__utf8_put(c, b->bytes + b->n); n > 0; n--, b->n++)
    b->classes[b->n] = (uint8_t) class, b->origins[b->n] = origin;
}

void iso__put_character(iso__encoder *e, uint32_t c, uint32_t class, int64_t origin) {
  if (e->buffering) {
    fill_buffer(e, c, class, origin);
    return;
  }
  if (class != ISO__IN_WORD) iso__end_word(e);
  if (class != ISO__SPACE) extend_word(e, c, origin);
  if (class == ISO__PUNCTUATION) iso__end_word(e);
}
