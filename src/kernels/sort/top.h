/* top.h: what top_impl.h and its description in select.c share. */
#ifndef ISO_KERNELS_SORT_TOP_H
#define ISO_KERNELS_SORT_TOP_H
#include "kernels/sizes.h"
#include "kernels/sort/sort.h"

enum {
  TOP_FEW = 16,
  TOP_FEW_SHARE = 4,
  TOP_SHARE = 16 /* at most this part of a row */,
  TOP_CHUNK = 1 << 16,
  TOP_MAX_CHUNKS = 16
};

/* Of more than TOP_FEW: items that wait until they are sorted and cut to k. */
static inline int64_t iso__top_room(int64_t k) { return 2 * k + 128; }
/* Into how many a row is divided; each is at least TOP_SHARE/TOP_MAX_CHUNKS times as long as k. */
static inline int iso__top_chunks(const iso_sort_problem *p, int n_threads) {
  if (p->rows >= n_threads || p->n < 2 * TOP_CHUNK) return 1;
  return (int)iso__min(iso__min(n_threads, TOP_MAX_CHUNKS), p->n / TOP_CHUNK);
}
#endif
