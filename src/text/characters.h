/* characters.h: what a tokenizer's rules make of each code point, one look-up. */
#ifndef ISO_TEXT_CHARACTERS_H
#define ISO_TEXT_CHARACTERS_H
#include "base/context.h"

/* BertNormalizer's switches. */
typedef struct iso__normal_rules {
  bool clean_text, chinese, strip_accents, lowercase;
} iso__normal_rules;

/* What a code point of the normalised text does to the word that is being read. */
enum { ISO__IN_WORD, ISO__SPACE, ISO__PUNCTUATION };

/* An entry: payload in bits 0 to 20, what the result does in 21 and 22, the kind from bit 24 on. All but DROP, MARK and
 * SEQUENCE give one code point with canonical combining class 0. */
enum {
  ISO__KEEP,     /* itself                                                                            */
  ISO__CHANGE,   /* the payload                                                                       */
  ISO__DROP,     /* nothing, as if it were not in the text                                            */
  ISO__MARK,     /* nothing, but the canonical order counts it; payload: its combining class          */
  ISO__LONE,     /* the payload, or itself where that is 0, as a word of its own                      */
  ISO__SYLLABLE, /* the two or three letters of a Hangul syllable                                     */
  ISO__SEQUENCE  /* payload: where in `sequences` their number and they begin                         */
};
/* Of a sequence: the code point in bits 0 to 20, what it does in 21 and 22, dropped in 23, combining class from 24. */
enum { ISO__ITEM_DROPPED = 1 << 23 };

typedef struct iso__characters {
  uint16_t block_of[0x1100]; /* by code point / 256 */
  uint32_t (*blocks)[256];
  size_t n_blocks, blocks_capacity;
  uint32_t *sequences;
  size_t n_sequences, sequences_capacity;
  uint8_t ascii_kind[256]; /* ISO__IN_WORD, ISO__SPACE, ISO__PUNCTUATION or ISO__NO_ASCII */
  uint8_t ascii[128];      /* the normalised byte */
} iso__characters;
/* Of bytes: not ASCII, or dropped. */
enum { ISO__NO_ASCII = 3 };

static inline uint32_t iso__entry_point(uint32_t entry) { return entry & 0x1FFFFF; }
static inline uint32_t iso__entry_class(uint32_t entry) { return entry >> 21 & 3; }
static inline uint32_t iso__entry_kind(uint32_t entry) { return entry >> 24; }
static inline uint32_t iso__character(const iso__characters *table, uint32_t c) {
  return table->blocks[table->block_of[c >> 8]][c & 255];
}

bool iso__characters_build(iso_context *ctx, iso__characters *table, const iso__normal_rules *rules);
void iso__characters_release(iso__heap *heap, iso__characters *table);
/* Of regular expressions: \w and \s. */
bool iso__is_word(uint32_t c);
bool iso__is_space(uint32_t c);
#endif
