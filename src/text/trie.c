/* trie.c: builds a double array (Aoe 1989) in its exclusive-or form (Yata, darts-clone): a node's children share an
 * aligned block of 256 units, so whether a base fits is one look at a block's 256 bits. Only the newest blocks are
 * searched, which bounds the work for any vocabulary. */
#include "text/trie.h"
#include <string.h>

enum { BLOCK = 256, N_OPEN = 16 };

/* Keys [begin, end) share their first `depth` bytes, which lead to the node. */
typedef struct span {
  uint32_t node;
  size_t begin, end, depth;
} span;

typedef struct builder {
  iso_context *ctx;
  iso__trie *trie;
  const iso__trie_key *keys;
  span *stack;
  size_t n_stack, stack_capacity;
  uint64_t free_units[N_OPEN][4]; /* of the newest blocks, a bit a unit: block k's are at k % N_OPEN */
} builder;

int iso__trie_order(const void *a, const void *b) {
  const iso__trie_key *x = a, *y = b;
  const size_t n = x->n_bytes < y->n_bytes ? x->n_bytes : y->n_bytes;
  const int order = memcmp(x->bytes, y->bytes, n);
  return order ? order : (x->n_bytes > y->n_bytes) - (x->n_bytes < y->n_bytes);
}

static bool add_block(builder *b) {
  iso__trie *t = b->trie;
  if (t->n_units + BLOCK > UINT32_MAX) /* a node's number plus 1 must fit 32 bits */
    return ISO__FAIL(b->ctx, ISO_UNSUPPORTED, "tokenizer", "the vocabulary is too large"), false;
  if (!iso__grow(b->ctx, (void **)&t->units, &t->capacity, t->n_units + BLOCK, sizeof *t->units)) return false;
  memset(t->units + t->n_units, 0, BLOCK * sizeof *t->units);
  memset(b->free_units[t->n_units / BLOCK % N_OPEN], 0xFF, sizeof *b->free_units);
  t->n_units += BLOCK;
  return true;
}

/* Whether the block's units at base ^ label are free for all labels. */
static bool fits(const uint64_t free_units[4], uint32_t base, const uint8_t *labels, size_t n_labels) {
  for (size_t i = 0; i < n_labels; i++) {
    const uint32_t low = (base ^ labels[i]) % BLOCK;
    if (!(free_units[low / 64] >> low % 64 & 1)) return false;
  }
  return true;
}

/* A base in the block whose children by the labels are all free; false: it has none. */
static bool find_in_block(const uint64_t free_units[4], const uint8_t *labels, size_t n_labels, uint32_t *low) {
  for (uint32_t word = 0; word < 4; word++)
    for (uint64_t bits = free_units[word]; bits; bits &= bits - 1) { /* where the first child may go */
      *low = (word * 64 + (uint32_t)__builtin_ctzll(bits)) ^ labels[0];
      if (fits(free_units, *low, labels + 1, n_labels - 1)) return true;
    }
  return false;
}

/* Takes the children's places; false: no memory. */
static bool take_base(builder *b, const uint8_t *labels, size_t n_labels, uint32_t *base) {
  const size_t n_blocks = b->trie->n_units / BLOCK;
  size_t k = n_blocks > N_OPEN ? n_blocks - N_OPEN : 0;
  uint32_t low = 0;
  while (k < n_blocks && !find_in_block(b->free_units[k % N_OPEN], labels, n_labels, &low)) k++;
  if (k == n_blocks) {
    if (!add_block(b)) return false;
    low = 0;
  }
  *base = (uint32_t)(k * BLOCK) + low;
  for (size_t i = 0; i < n_labels; i++) {
    const uint32_t child = (low ^ labels[i]) % BLOCK;
    b->free_units[k % N_OPEN][child / 64] &= ~(1ull << child % 64);
  }
  return true;
}

static bool push(builder *b, span s) {
  if (!iso__grow(b->ctx, (void **)&b->stack, &b->stack_capacity, b->n_stack + 1, sizeof *b->stack)) return false;
  b->stack[b->n_stack++] = s;
  return true;
}

/* Gives the node its value and its children. */
static bool expand(builder *b, span s) {
  iso__trie *t = b->trie;
  uint8_t labels[BLOCK];
  size_t begins[BLOCK + 1], n_labels = 0;
  if (s.begin < s.end && b->keys[s.begin].n_bytes == s.depth) t->units[s.node].value = b->keys[s.begin++].value + 1;
  for (size_t i = s.begin; i < s.end; i++) {
    const uint8_t label = (uint8_t)b->keys[i].bytes[s.depth];
    if (n_labels == 0 || labels[n_labels - 1] != label) begins[n_labels] = i, labels[n_labels++] = label;
  }
  if (n_labels == 0) return true;
  begins[n_labels] = s.end;
  uint32_t base;
  if (!take_base(b, labels, n_labels, &base)) return false;
  t->units[s.node].base = base;
  for (size_t i = 0; i < n_labels; i++) t->units[base ^ labels[i]].parent = s.node + 1;
  for (size_t i = n_labels; i-- > 0;)
    if (!push(b, (span){base ^ labels[i], begins[i], begins[i + 1], s.depth + 1})) return false;
  return true;
}

bool iso__trie_build(iso_context *ctx, iso__trie *trie, const iso__trie_key *keys, size_t n_keys) {
  builder b = {.ctx = ctx, .trie = trie, .keys = keys};
  *trie = (iso__trie){0};
  bool ok = add_block(&b);
  if (ok) trie->units[0].parent = UINT32_MAX, b.free_units[0][0] &= ~1ull; /* the root's place is taken */
  ok = ok && push(&b, (span){0, 0, n_keys, 0});
  while (ok && b.n_stack > 0) ok = expand(&b, b.stack[--b.n_stack]);
  iso__free(ctx, b.stack, b.stack_capacity * sizeof *b.stack);
  if (!ok) iso__trie_release(ctx->heap, trie);
  return ok;
}

void iso__trie_release(iso__heap *heap, iso__trie *trie) {
  iso__heap_free(heap, trie->units, trie->capacity * sizeof *trie->units);
  *trie = (iso__trie){0};
}

uint32_t iso__trie_walk(const iso__trie *trie, uint32_t node, const char *bytes, size_t n_bytes) {
  for (size_t i = 0; i < n_bytes; i++)
    if (!(node = iso__trie_child(trie, node, (uint8_t)bytes[i]))) return 0;
  return node;
}
