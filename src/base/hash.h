/* hash.h: 128-bit position-sensitive hashing of byte streams (XXH3, kept library). */
#ifndef ISO_BASE_HASH_H
#define ISO_BASE_HASH_H
#include <stddef.h>
#include <stdint.h>

typedef struct iso__hash {
  uint64_t low, high;
} iso__hash;
typedef struct iso__hasher iso__hasher; /* streaming state */

iso__hash iso__hash_bytes(const void *data, size_t n_bytes);
uint64_t iso__hash64(const void *data, size_t n_bytes);
iso__hasher *iso__hasher_new(void); /* NULL: no memory */
void iso__hasher_add(iso__hasher *hasher, const void *data, size_t n_bytes);
iso__hash iso__hasher_end(iso__hasher *hasher); /* and frees it */
void iso__hash_format(iso__hash hash, char hex[33]);
#endif
