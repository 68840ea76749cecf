/* hash.c: XXH3 with 128 bits, by its own library: several GB/s on a core, good enough to compare weights and key plans;
 * not a cryptographic hash. */
#include "base/hash.h"
#include <stdio.h>
#include <xxhash.h>

static iso__hash from_xxh(XXH128_hash_t h) { return (iso__hash){.low = h.low64, .high = h.high64}; }
static XXH3_state_t *to_xxh(iso__hasher *hasher) { return (XXH3_state_t *)(void *)hasher; }

iso__hash iso__hash_bytes(const void *data, size_t n_bytes) { return from_xxh(XXH3_128bits(data, n_bytes)); }
uint64_t iso__hash64(const void *data, size_t n_bytes) { return XXH3_64bits(data, n_bytes); }

iso__hasher *iso__hasher_new(void) {
  XXH3_state_t *state = XXH3_createState();
  if (state) XXH3_128bits_reset(state);
  return (iso__hasher *)(void *)state;
}

void iso__hasher_add(iso__hasher *hasher, const void *data, size_t n_bytes) {
  if (n_bytes) XXH3_128bits_update(to_xxh(hasher), data, n_bytes);
}

iso__hash iso__hasher_end(iso__hasher *hasher) {
  iso__hash hash = from_xxh(XXH3_128bits_digest(to_xxh(hasher)));
  XXH3_freeState(to_xxh(hasher));
  return hash;
}

void iso__hash_format(iso__hash hash, char hex[33]) {
  snprintf(hex, 33, "%016llx%016llx", (unsigned long long)hash.high, (unsigned long long)hash.low);
}
