/* encoder.h: one thread's work on texts: the word being read, marks that wait for their order, and the tokens made. */
#ifndef ISO_TEXT_ENCODER_H
#define ISO_TEXT_ENCODER_H
#include "text/tokenizer.h"
#include "text/utf8.h"

/* An item of a run of code points with combining classes; see ISO__ITEM_DROPPED. */
typedef struct iso__pending {
  uint32_t item;
  uint32_t order; /* scratch of the sort */
  int64_t index;  /* of the code point it is the first item of; -1: it is a later item */
} iso__pending;

/* Normalised text, a byte each: what it is, what its code point does, and which code point of the text it is from. */
typedef struct iso__buffer {
  uint8_t *bytes, *classes;
  int64_t *origins;
  size_t n, bytes_capacity, classes_capacity, origins_capacity;
} iso__buffer;

typedef struct iso__encoder {
  const iso__characters *characters;
  const iso_tokenizer *tokenizer;
  iso__heap *heap;
  iso_status status; /* what follows a failed allocation does nothing that lasts */
  size_t n_wanted;   /* the bytes it asked for                                   */

  bool with_offsets;
  int32_t *ids;
  int64_t (*offsets)[2];
  size_t n, ids_capacity, offsets_capacity;

  uint8_t *word; /* its first bytes: no more than a word within the limit has */
  int64_t *origins;
  size_t n_word, word_capacity, origins_capacity;
  int64_t n_points, first_origin, last_origin; /* of the word, in code points */

  iso__pending *pending;
  size_t n_pending, pending_capacity;
  bool keeps_pending; /* one of them is not dropped */
  int64_t last_index; /* of the latest code point that an item was the first of */

  bool buffering; /* normalised text goes to the buffer, not into words */
  iso__buffer buffer;
  uint8_t *repaired; /* a text whose bytes were no UTF-8 */
  size_t repaired_capacity;
} iso__encoder;

void iso__encoder_release(iso__encoder *e);
/* *block holds at least n_wanted items; false: e->status says why not. */
bool iso__encoder_grow(iso__encoder *e, void **block, size_t *capacity, size_t n_wanted, size_t item_bytes);

/* ---- words.c ---- */
void iso__push_token(iso__encoder *e, int32_t id, int64_t begin, int64_t end);
/* A whole word's tokens. Byte i is from code point origins[i], or first + i where origins is NULL. */
void iso__match_word(iso__encoder *e, const uint8_t *word, size_t n, const int64_t *origins, int64_t first);
/* Ends the word being read. */
void iso__end_word(iso__encoder *e);
/* A code point of the normalised text, and which of the text it is from. */
void iso__put_character(iso__encoder *e, uint32_t c, uint32_t class, int64_t origin);

/* ---- normalize.c ---- */
/* Code points from byte i of valid UTF-8 on, up to the end or past the first space or punctuation in ASCII. index: of
 * the code point at i, then of the one at the byte returned. */
size_t iso__normalize_some(iso__encoder *e, const uint8_t *text, size_t i, size_t end, int64_t *index);

/* ---- encode_text.c ---- */
/* Adds a text's tokens, without special ones; the number of code points that stand for bytes that are no UTF-8. */
int64_t iso__encode_text(iso__encoder *e, const uint8_t *text, size_t n);
#endif
