/* sort.c: a stable counting sort of contributions by destination: starts of all destinations, then every contribution
 * to the next place of its destination, in ascending order. */
#include "kernels/scatter/engines.h"

size_t iso__scatter_sort_place(const iso_scatter_problem *p, void *workspace, iso__scatter_sort *sort) {
  const int64_t lines = p->each ? p->outer * p->inner : 1;
  size_t at = 0;
  *sort = (iso__scatter_sort){.n_items = lines * p->n, .n_slots = lines * p->extent};
  const size_t starts = iso__take(&at, sort->n_slots + 1, sizeof *sort->starts);
  const size_t order = iso__take(&at, sort->n_items, sizeof *sort->order);
  if (!workspace) return at;
  sort->starts = (uint32_t *)((char *)workspace + starts), sort->order = (uint32_t *)((char *)workspace + order);
  return at;
}

/* Calls STEP(item, destination) for all contributions, ascending. Where every element has an index of its own, an
 * item's destination is its place in y. */
#define EACH_ITEM(p, index, STEP)                                                                                      \
  do {                                                                                                                 \
    uint32_t item = 0;                                                                                                 \
    if (!(p)->each) {                                                                                                  \
      for (; item < (p)->n; item++) STEP(item, (index)[item]);                                                         \
    } else {                                                                                                           \
      for (int64_t o = 0; o < (p)->outer; o++)                                                                         \
        for (int64_t k = 0; k < (p)->n; k++)                                                                           \
          for (int64_t i = 0; i < (p)->inner; i++, item++)                                                             \
            STEP(item, (o * (p)->extent + (index)[item]) * (p)->inner + i);                                            \
    }                                                                                                                  \
  } while (0)

void iso__scatter_sort_run(const iso_scatter_problem *p, const int64_t *index, const iso__scatter_sort *sort) {
  uint32_t *starts = sort->starts, *order = sort->order, sum = 0;
  memset(starts, 0, (size_t)(sort->n_slots + 1) * sizeof *starts);
#define COUNT(item, d) starts[d]++
  EACH_ITEM(p, index, COUNT);
#undef COUNT
  for (int64_t d = 0; d < sort->n_slots; d++) {
    const uint32_t n = starts[d];
    starts[d] = sum;
    sum += n;
  }
#define PLACE(item, d) order[starts[d]++] = item
  EACH_ITEM(p, index, PLACE);
#undef PLACE
  /* Each start has moved to the next one's place. */
  for (int64_t d = sort->n_slots; d > 0; d--) starts[d] = starts[d - 1];
  starts[0] = 0;
}

int64_t iso__scatter_sort_cut(const iso__scatter_sort *sort, int64_t share, int64_t n_shares, int64_t slot_work) {
  const double whole = (double)sort->n_items + (double)sort->n_slots * (double)slot_work;
  const double wanted = whole * (double)share / (double)n_shares;
  int64_t low = 0, high = sort->n_slots;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if ((double)sort->starts[middle] + (double)middle * (double)slot_work < wanted) low = middle + 1;
    else high = middle;
  }
  return share >= n_shares ? sort->n_slots : low;
}
