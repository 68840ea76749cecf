/* tokenizer.h: a tokenizer's inside, and what readers of files hand over to make one. */
#ifndef ISO_TEXT_TOKENIZER_H
#define ISO_TEXT_TOKENIZER_H
#include <isobit/text.h>
#include <stdatomic.h>
#include "text/added.h"
#include "text/characters.h"
#include "text/trie.h"

enum {
  ISO__TOKEN_BYTES = 1024,        /* of a token, at most         */
  ISO__TOKENIZER_IDS = 1 << 22,   /* an id is below it           */
  ISO__TOKENIZER_SPECIAL = 16,    /* around a text, at most      */
  ISO__TOKENIZER_FILE = 64 << 20, /* bytes of a file, at most    */
  ISO__MAX_WORD = 1 << 30         /* a limit on a word's characters that is larger is none */
};

/* Immutable once made; whoever keeps one retains it. */
struct iso_tokenizer {
  atomic_int n_refs;
  iso__heap *heap;
  iso__normal_rules rules;
  iso__characters characters;
  iso__trie words;       /* the vocabulary: values are ids                                */
  uint32_t continuation; /* the node after the prefix of what continues a word            */
  bool has_continuation; /* no: no token has the prefix                                   */
  int32_t unknown;
  int64_t max_word; /* characters of a word; a longer one is unknown                      */
  int32_t special[ISO__TOKENIZER_SPECIAL];
  int n_before, n_after; /* of `special`: before a text, then after it                    */
  iso__added raw, normalized;
  iso__added_token *added;
  size_t n_added;
  char *text; /* all tokens, each ended by a NUL */
  size_t n_text;
  int64_t *token_at; /* (n_ids) where in text; -1: no token has the id */
  int64_t n_ids;
  int64_t padding;
  char hash[33];
};

void iso__tokenizer_retain(iso_tokenizer *tokenizer);

/* ---- from the readers ---- */

typedef struct iso__draft_token {
  const char *bytes; /* borrowed */
  size_t n_bytes;
  int64_t id;
} iso__draft_token;

typedef struct iso__draft_added {
  iso__draft_token token; /* its bytes ended by a NUL */
  iso__added_token flags;
} iso__draft_added;

/* What a file says, its strings borrowed. */
typedef struct iso__draft {
  iso_context *ctx;
  const char *name; /* what messages begin with */
  bool by_lines;    /* ids are numbers of lines, from 0 */
  iso__normal_rules rules;
  iso__draft_token *tokens;
  size_t n_tokens, tokens_capacity;
  const char *unknown, *prefix, *padding; /* padding NULL: "[PAD]", which may be missing */
  int64_t max_word;
  iso__draft_added *added;
  size_t n_added, added_capacity;
  int64_t special[ISO__TOKENIZER_SPECIAL];
  int n_before, n_after;
} iso__draft;

bool iso__draft_add_token(iso__draft *draft, iso__draft_token token);
bool iso__draft_add_added(iso__draft *draft, iso__draft_token token, iso__added_token flags);
void iso__draft_release(iso__draft *draft);
/* The token's id in the draft's vocabulary, which is sorted by now; -1: it is not there. */
int64_t iso__draft_find(const iso__draft *draft, const char *token);
/* Sort, and refuse what is there twice or under two ids. Added tokens after the vocabulary. */
bool iso__draft_sort_vocabulary(iso__draft *draft);
bool iso__draft_sort_added(iso__draft *draft);
/* NULL with the error kept. The draft is sorted. */
iso_tokenizer *iso__tokenizer_make(iso__draft *draft);

/* The readers: bytes of a vocab.txt with those of a tokenizer_config.json (NULL: none), and of a tokenizer.json. */
iso_tokenizer *iso__tokenizer_parse_vocabulary(iso_context *ctx, const char *name, const void *bytes, size_t n_bytes,
                                               const char *config_name, const void *config, size_t n_config,
                                               bool cased);
iso_tokenizer *iso__tokenizer_parse_json(iso_context *ctx, const char *name, const void *bytes, size_t n_bytes);

/* A token ready for a message. */
const char *iso__token_shown(const char *bytes, size_t n_bytes, char text[80]);
/* Bytes of UTF-8 normalised into *out, which grows from *n_out on (for tokens looked for in the normalised text). */
bool iso__normalize(iso_context *ctx, const iso__characters *characters, const char *bytes, size_t n_bytes, char **out,
                    size_t *n_out, size_t *capacity);
#endif
