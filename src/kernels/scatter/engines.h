/* engines.h: what the engines of scatters and segments share: blocks of destinations, stable sorting, listed rows. */
#ifndef ISO_KERNELS_SCATTER_ENGINES_H
#define ISO_KERNELS_SCATTER_ENGINES_H
#include "kernels/scatter/scatter.h"
#include "kernels/sizes.h"

/* direct: accumulators of one block of destinations and columns stay in cache while all indices go by. */
enum { ISO__DIRECT_ELEMENTS = 16384, ISO__DIRECT_COLUMNS = 64, ISO__DIRECT_MANY = 65536 };
typedef struct iso__scatter_blocks {
  int64_t rows, columns, n_rows, n_columns; /* of one block; blocks */
} iso__scatter_blocks;
/* Single elements, one of each source: the fast loop. */
static inline bool iso__scatter_is_plain_column(const iso_scatter_problem *p) {
  return p->inner == 1 && !p->sources && !p->has_scale;
}
static inline iso__scatter_blocks iso__scatter_blocks_of(const iso_scatter_problem *p, int n_threads) {
  iso__scatter_blocks b = {.columns = iso__max(1, iso__min(p->inner, ISO__DIRECT_COLUMNS))};
  b.rows = iso__max(1, iso__min(p->extent, ISO__DIRECT_ELEMENTS / b.columns));
  /* So many sources for one block that each thread had better take some of its destinations. */
  if (p->outer == 1 && p->extent == b.rows && p->n >= ISO__DIRECT_MANY && iso__scatter_is_plain_column(p))
    b.rows = iso__ceil_div(p->extent, iso__min(n_threads, p->extent));
  b.n_rows = iso__ceil_div(p->extent, b.rows), b.n_columns = iso__ceil_div(p->inner, b.columns);
  return b;
}
/* Of one thread: three accumulators and a count for each element of a block. */
static inline size_t iso__scatter_direct_bytes(const iso_scatter_problem *p) {
  const iso__scatter_blocks b = iso__scatter_blocks_of(p, 1);
  size_t at = 0;
  iso__take(&at, b.rows * b.columns + 1, 3 * iso_dtype_size((iso_dtype)p->head.dtype) + sizeof(uint32_t));
  return at;
}

/* sorted: contributions grouped by destination, in ascending order within each. */
typedef struct iso__scatter_sort {
  int64_t n_items, n_slots;
  uint32_t *starts; /* (n_slots+1): where a destination's contributions begin in `order` */
  uint32_t *order;  /* (n_items) */
} iso__scatter_sort;
/* Lays it out in the workspace (NULL: only sizes) and says how many bytes that takes. */
size_t iso__scatter_sort_place(const iso_scatter_problem *p, void *workspace, iso__scatter_sort *sort);
void iso__scatter_sort_run(const iso_scatter_problem *p, const int64_t *index, const iso__scatter_sort *sort);
/* The first destination at which the work of all before it reaches share/n_shares of the whole; a destination costs as
 * much as `slot_work` contributions. */
int64_t iso__scatter_sort_cut(const iso__scatter_sort *sort, int64_t share, int64_t n_shares, int64_t slot_work);

/* Rows of x in the order of their contribution: number k = order[first+j], or first+j; its row source[k], k/run, or k,
 * but skip is absent; scale[k]. */
typedef struct iso__row_list {
  const uint32_t *order;
  const int64_t *source;
  const void *scale;
  int64_t first, n, skip, run; /* run 0: none */
} iso__row_list;
static inline int64_t iso__row_number(const iso__row_list *l, int64_t j) {
  return l->order ? l->order[l->first + j] : l->first + j;
}
static inline int64_t iso__row_at(const iso__row_list *l, int64_t k) {
  return l->source ? l->source[k] : l->run ? k / l->run : k;
}
#endif
