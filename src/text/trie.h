/* trie.h: a double-array trie over byte strings: one load and one comparison a byte. */
#ifndef ISO_TEXT_TRIE_H
#define ISO_TEXT_TRIE_H
#include "base/context.h"

/* A child of node p by byte b lies at units[p].base ^ b; it is one where its `parent` is p + 1. Node 0 is the root. */
typedef struct iso__trie_unit {
  uint32_t base, parent;
  int32_t value; /* what the string ending here stands for, plus 1; 0: none ends here */
} iso__trie_unit;

typedef struct iso__trie {
  iso__trie_unit *units;
  size_t n_units, capacity;
} iso__trie;

typedef struct iso__trie_key {
  const char *bytes;
  size_t n_bytes;
  int32_t value; /* at least 0 */
} iso__trie_key;

/* keys: ascending by iso__trie_order, all different. False with the error kept when memory is short. */
bool iso__trie_build(iso_context *ctx, iso__trie *trie, const iso__trie_key *keys, size_t n_keys);
void iso__trie_release(iso__heap *heap, iso__trie *trie);
/* As bytes are ordered, a prefix first. */
int iso__trie_order(const void *a, const void *b);
/* The node after the bytes from a node on; 0: there is none (the root is nobody's child). */
uint32_t iso__trie_walk(const iso__trie *trie, uint32_t node, const char *bytes, size_t n_bytes);

static inline uint32_t iso__trie_child(const iso__trie *trie, uint32_t node, uint8_t byte) {
  const uint32_t child = trie->units[node].base ^ byte;
  return trie->units[child].parent == node + 1 ? child : 0;
}
#endif
