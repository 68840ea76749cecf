/* added.h: tokens that are looked for in the text itself, before (or, `normalized`, after) normalising. */
#ifndef ISO_TEXT_ADDED_H
#define ISO_TEXT_ADDED_H
#include "text/trie.h"

typedef struct iso__added_token {
  int32_t id;
  bool single_word; /* only where no word character is beside it              */
  bool lstrip;      /* takes the white space before it                        */
  bool rstrip;      /* … and after it                                         */
  bool normalized;  /* looked for in the normalised text, itself normalised   */
} iso__added_token;

/* Those of one text, raw or normalised. */
typedef struct iso__added {
  iso__trie trie; /* values: indices of `tokens`; no units: there are none */
  const iso__added_token *tokens;
  uint8_t first; /* their first byte, where it is the same for all */
  bool has_one_first;
  bool begins[256]; /* bytes that one begins with */
} iso__added;

/* Bytes [begin, end) are token number `token`, white space that it takes included. */
typedef struct iso__added_match {
  size_t begin, end;
  int32_t token;
} iso__added_match;

/* keys: as iso__trie_build wants them; tokens: what their values index. */
bool iso__added_build(iso_context *ctx, iso__added *added, const iso__trie_key *keys, size_t n_keys,
                      const iso__added_token *tokens);
/* The leftmost, there longest, token at or after *at, which goes past it (not past the white space that it takes).
 * White space before `covered` is somebody else's. False: there are no more. */
bool iso__added_next(const iso__added *added, const uint8_t *bytes, size_t n_bytes, size_t *at, size_t covered,
                     iso__added_match *match);
#endif
