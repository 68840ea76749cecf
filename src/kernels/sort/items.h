/* items.h: keys with the place they come from, as what the engines sort.
 *
 * A key of 32 bits and a place fit one 64-bit word that compares as a whole; keys of 64 bits have the place beside
 * them. Up to ITEMS_RUN items are sorted by insertion, below ITEMS_RADIX by merging, above by radix: its counts cost a
 * row about as much as a thousand items. Rows are shorter than 2^32. */
#ifndef ISO_KERNELS_SORT_ITEMS_H
#define ISO_KERNELS_SORT_ITEMS_H
#include "kernels/sizes.h"
#include "kernels/sort/keys.h"

enum { ITEMS_RUN = 16, ITEMS_RADIX = 512 };

static inline int iso__key_bits(iso_dtype dtype) {
  const int size = (int)iso_dtype_size(dtype);
  return dtype == ISO_BOOL ? 1 : 8 * size;
}
/* What turns the order of keys round. */
static inline uint64_t iso__key_flip(const iso_sort_problem *p) {
  return p->descending ? UINT64_MAX >> (64 - iso__key_bits((iso_dtype)p->head.dtype)) : 0;
}

#define ITEM uint64_t
#define KEY_BITS 32
#define NAMED(f) items32_##f
#define MAKE(key, place) ((uint64_t)(key) << 32 | (uint32_t)(place))
#define KEY(item) ((uint32_t)((item) >> 32))
#define INDEX(item) ((uint32_t)(item))
#define LESS(b, a) ((b) < (a))
#include "kernels/sort/items_body.h"
static inline void items32_build(uint64_t *items, const void *x, iso_dtype dtype, uint64_t flip, int64_t begin,
                                 int64_t end) {
  const uint32_t turn = (uint32_t)flip;
  uint32_t w;
#define EACH(key)                                                                                                      \
  for (int64_t i = begin; i < end; i++) items[i] = MAKE((key) ^ turn, i)
  if (dtype == ISO_F32) EACH((memcpy(&w, (const char *)x + i * 4, 4), iso__key_f32(w)));
  else if (dtype == ISO_I32) EACH((memcpy(&w, (const char *)x + i * 4, 4), w ^ 0x80000000u));
  else EACH(((const unsigned char *)x)[i]);
#undef EACH
}
#undef ITEM
#undef KEY_BITS
#undef NAMED
#undef MAKE
#undef KEY
#undef INDEX
#undef LESS

typedef struct iso__item64 {
  uint64_t key, place;
} iso__item64;
#define ITEM iso__item64
#define KEY_BITS 64
#define NAMED(f) items64_##f
#define MAKE(key_, place_) ((iso__item64){.key = (key_), .place = (uint64_t)(place_)})
#define KEY(item) ((item).key)
#define INDEX(item) ((item).place)
#define LESS(b, a) ((b).key < (a).key)
#include "kernels/sort/items_body.h"
static inline void items64_build(iso__item64 *items, const void *x, iso_dtype dtype, uint64_t flip, int64_t begin,
                                 int64_t end) {
  uint64_t d;
#define EACH(key)                                                                                                      \
  for (int64_t i = begin; i < end; i++) items[i] = MAKE((key) ^ flip, i)
  if (dtype == ISO_F64) EACH((memcpy(&d, (const char *)x + i * 8, 8), iso__key_f64(d)));
  else EACH((memcpy(&d, (const char *)x + i * 8, 8), d ^ (uint64_t)1 << 63));
#undef EACH
}
#undef ITEM
#undef KEY_BITS
#undef NAMED
#undef MAKE
#undef KEY
#undef INDEX
#undef LESS

static inline bool iso__items_are_wide(iso_dtype dtype) { return iso_dtype_size(dtype) == 8; }
static inline size_t iso__item_bytes(iso_dtype dtype) { return iso__items_are_wide(dtype) ? 16 : 8; }
#endif
