/* last.c: overwriting scatters of any dtype, class `last`: the last source wins.
 *
 * Whole rows: one pass over the indices leaves the last source of every destination in a table; then every row of y is
 * copied once, from its winner or from the base, by whichever thread. Single elements: y starts as the base, and each
 * thread stores the sources of its own lines (outer, i) in ascending order. */
#include "base/pool.h"
#include "kernels/scatter/scatter.h"
#include "kernels/sizes.h"

enum { GRAIN_BYTES = 65536 };

typedef struct job {
  const iso_scatter_problem *p;
  const iso_scatter_args *a;
  const uint32_t *winner; /* (extent): 1 + the last source, or 0 */
  size_t item;
} job;

size_t iso__scatter_last_workspace(const iso__problem *problem, int n_threads) {
  const iso_scatter_problem *p = (const iso_scatter_problem *)problem;
  (void)n_threads;
  return p->each ? 0 : (size_t)p->extent * sizeof(uint32_t);
}

/* Rows begin … end−1 of (outer,extent). */
static void copy_rows(void *arg, int64_t begin, int64_t end, int thread) {
  const job *j = arg;
  const iso_scatter_problem *p = j->p;
  const size_t row_bytes = (size_t)p->inner * j->item;
  const int64_t n_sources = p->sources ? p->sources : p->n;
  (void)thread;
  for (int64_t row = begin; row < end; row++) {
    const int64_t o = row / p->extent, winner = j->winner[row % p->extent];
    char *y = (char *)j->a->y + (size_t)row * row_bytes;
    if (winner) {
      const int64_t k = iso__scatter_source(p, j->a, winner - 1);
      memcpy(y, (const char *)j->a->x + (size_t)(o * n_sources + k) * row_bytes, row_bytes);
    } else if (p->base) {
      memcpy(y, (const char *)j->a->base + (size_t)row * row_bytes, row_bytes);
    } else {
      memset(y, 0, row_bytes);
    }
  }
}

static void start_elements(void *arg, int64_t begin, int64_t end, int thread) {
  const job *j = arg;
  char *y = (char *)j->a->y + (size_t)begin * j->item;
  const size_t n_bytes = (size_t)(end - begin) * j->item;
  (void)thread;
  if (j->p->base) memcpy(y, (const char *)j->a->base + (size_t)begin * j->item, n_bytes);
  else memset(y, 0, n_bytes);
}

/* Lines begin … end−1 of (outer,inner): of each outer index some neighbouring columns. */
#define STORE(type)                                                                                                    \
  static void store_##type(const iso_scatter_problem *p, const iso_scatter_args *a, int64_t begin, int64_t end) {      \
    for (int64_t line = begin; line < end;) {                                                                          \
      const int64_t o = line / p->inner, first = line % p->inner, m = iso__min(end - line, p->inner - first);          \
      const int64_t from = o * p->n * p->inner + first;                                                                \
      const type *x = (const type *)a->x + from;                                                                       \
      const int64_t *index = a->index + from;                                                                          \
      type *y = (type *)a->y + o * p->extent * p->inner + first;                                                       \
      for (int64_t k = 0; k < p->n; k++, x += p->inner, index += p->inner)                                             \
        for (int64_t i = 0; i < m; i++) y[index[i] * p->inner + i] = x[i];                                             \
      line += m;                                                                                                       \
    }                                                                                                                  \
  }
STORE(uint8_t)
STORE(uint16_t)
STORE(uint32_t)
STORE(uint64_t)

static void store_lines(void *arg, int64_t begin, int64_t end, int thread) {
  const job *j = arg;
  (void)thread;
  switch (j->item) {
  case 1: store_uint8_t(j->p, j->a, begin, end); break;
  case 2: store_uint16_t(j->p, j->a, begin, end); break;
  case 4: store_uint32_t(j->p, j->a, begin, end); break;
  default: store_uint64_t(j->p, j->a, begin, end); break;
  }
}

void iso__scatter_last_run(const iso__call *call) {
  const iso_scatter_problem *p = (const iso_scatter_problem *)call->problem;
  job j = {.p = p, .a = call->args, .item = iso_dtype_size((iso_dtype)p->head.dtype)};
  const int64_t item = (int64_t)j.item;
  if (p->outer == 0 || p->inner == 0 || p->extent == 0) return;
  if (p->each) {
    iso__parallel_range(call->ctx, p->outer * p->extent * p->inner, GRAIN_BYTES / item, 64, start_elements, &j);
    const int64_t grain = iso__ceil_div(GRAIN_BYTES, (item + 8) * iso__max(1, p->n));
    iso__parallel_range(call->ctx, p->outer * p->inner, grain, 1, store_lines, &j);
    return;
  }
  uint32_t *winner = call->workspace;
  memset(winner, 0, (size_t)p->extent * sizeof *winner);
  for (int64_t k = 0; k < p->n; k++) winner[j.a->index[k]] = (uint32_t)k + 1;
  j.winner = winner;
  iso__parallel_range(call->ctx, p->outer * p->extent, iso__ceil_div(GRAIN_BYTES, p->inner * item), 1, copy_rows, &j);
}
