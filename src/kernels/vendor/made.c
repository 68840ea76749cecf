/* made.c: a hash table that only grows, by open addressing. */
#include "kernels/vendor/made.h"
#include <stdlib.h>
#include "base/hash.h"

typedef struct entry {
  iso__hash key;
  void *value;
} entry;

void *iso__vendor_made_get(iso__vendor_made *made, int row, const iso__problem *problem, int device,
                           void *(*make)(int row, const iso__problem *problem, int device)) {
  unsigned char bytes[ISO__MAX_PROBLEM_BYTES + 2 * sizeof(int)];
  memcpy(bytes, problem, problem->n_bytes);
  memcpy(bytes + problem->n_bytes, &row, sizeof row);
  memcpy(bytes + problem->n_bytes + sizeof row, &device, sizeof device);
  const iso__hash key = iso__hash_bytes(bytes, problem->n_bytes + 2 * sizeof(int));
  size_t at = key.low % ISO__VENDOR_MADE;
  for (entry *e; (e = made->entry[at]); at = (at + 1) % ISO__VENDOR_MADE)
    if (e->key.low == key.low && e->key.high == key.high) return e->value;
  entry *e = made->n < ISO__VENDOR_MADE / 2 ? malloc(sizeof *e) : NULL;
  if (!e) return NULL;
  *e = (entry){key, make(row, problem, device)};
  if (!e->value) return free(e), NULL;
  made->n++;
  return made->entry[at] = e, e->value;
}

bool iso__vendor_aligned(size_t n_bytes, int n, const void *const *pointers) {
  uintptr_t all = 0;
  for (int i = 0; i < n; i++) all |= (uintptr_t)pointers[i];
  return all % n_bytes == 0;
}
