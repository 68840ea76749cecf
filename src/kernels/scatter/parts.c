/* parts.c: scatters of single elements to many destinations, by one pass of a stable radix partition.
 *
 * Contributions are first moved, in order, to buckets of neighbouring destinations; then each bucket adds its own, in
 * order, to accumulators that stay in the caches. Memory is walked in long streams where sums in place would miss the
 * cache at every step. Nothing is counted beforehand: a bucket is a list of blocks, taken from a pool as they fill up.
 * Every thread moves one part of the sources to lists of its own; a bucket then takes the lists part by part, so that
 * the order within it is that of the sources. */
#include "base/pool.h"
#include "kernels/scatter/engines.h"
#include "numeric/order.h"

/* Buckets: few, since each is a stream of stores, but no larger than what the second cache holds. */
enum { FEW_BUCKETS = 32, LEAST_BITS = 12, MOST_BITS = 16, LEAST_ITEMS = 16384 };
/* A block's first item lies at a multiple of its size; lists start at different lines, for the sake of the caches. */
enum { BLOCK = 512, LINE = 8 };

typedef struct item {
  uint32_t at; /* the destination */
  float value;
} item;
/* The items of one part in one bucket: in blocks first … last, from item `begin` of the first one to `end`. */
typedef struct list {
  item *end;
  uint32_t first, last, begin;
} list;
/* Of one bucket while it is added up: 256 terms a chunk, four chunks a panel. The arrays of chunks are only used, and
 * cleared, once a destination has a whole one. */
typedef struct sums {
  float *acc, *panel, *total;
  uint32_t *chunks;
  uint8_t *count; /* of terms, modulo 256 */
  bool has_chunks;
} sums;

typedef struct job {
  const iso_scatter_problem *p;
  const iso_scatter_args *a;
  int bits, n_parts, n_threads;
  int64_t n_buckets, n_destinations, n_items, part_blocks;
  list *lists;    /* (n_parts,n_buckets) */
  uint32_t *next; /* (n_parts·part_blocks): the block behind each */
  item *pool;     /* as many blocks */
  char *sums;     /* of each thread */
  size_t sums_bytes;
} job;

static size_t lay_out_sums(const job *j, char *memory, sums *s) {
  const int64_t m = INT64_C(1) << j->bits;
  size_t at = 0;
  const size_t acc = iso__take(&at, m, sizeof *s->acc), count = iso__take(&at, m, sizeof *s->count);
  const size_t panel = iso__take(&at, m, sizeof *s->panel), total = iso__take(&at, m, sizeof *s->total);
  const size_t chunks = iso__take(&at, m, sizeof *s->chunks);
  if (memory)
    *s = (sums){.acc = (float *)(void *)(memory + acc),
                .panel = (float *)(void *)(memory + panel),
                .total = (float *)(void *)(memory + total),
                .chunks = (uint32_t *)(void *)(memory + chunks),
                .count = (uint8_t *)(memory + count)};
  return at;
}

static size_t lay_out(const iso_scatter_problem *p, int n_threads, char *workspace, job *j) {
  const bool each = p->each;
  size_t at = 0;
  j->n_destinations = each ? p->outer * p->extent * p->inner : p->extent;
  j->n_items = each ? p->outer * p->n * p->inner : p->n;
  j->n_threads = n_threads;
  j->n_parts = j->n_items < LEAST_ITEMS ? 1 : n_threads;
  for (j->bits = LEAST_BITS; j->bits < MOST_BITS && j->n_destinations >> j->bits >= FEW_BUCKETS;) j->bits++;
  j->n_buckets = iso__ceil_div(j->n_destinations, INT64_C(1) << j->bits);
  j->part_blocks = iso__ceil_div(j->n_items, (int64_t)j->n_parts * BLOCK) + 2 * j->n_buckets;
  j->sums_bytes = lay_out_sums(j, NULL, NULL);
  const size_t lists = iso__take(&at, j->n_parts * j->n_buckets, sizeof *j->lists);
  const size_t next = iso__take(&at, j->n_parts * j->part_blocks, sizeof *j->next);
  const size_t all = iso__take(&at, n_threads, j->sums_bytes);
  const size_t pool = iso__take(&at, j->n_parts * j->part_blocks + 1, BLOCK * sizeof *j->pool);
  if (workspace) {
    j->lists = (list *)(void *)(workspace + lists), j->next = (uint32_t *)(void *)(workspace + next);
    j->sums = workspace + all;
    const uintptr_t block_bytes = BLOCK * sizeof *j->pool, skew = (uintptr_t)(workspace + pool) % block_bytes;
    j->pool = (item *)(void *)(workspace + pool + (skew ? block_bytes - skew : 0));
  }
  return at;
}
size_t iso__scatter_parts_workspace(const iso__problem *problem, int n_threads) {
  job j;
  return lay_out((const iso_scatter_problem *)problem, n_threads, NULL, &j);
}

const char *iso__scatter_parts_applicable(const iso__problem *problem) {
  const iso_scatter_problem *p = (const iso_scatter_problem *)problem;
  if (p->fn != ISO__SCATTER_ADD || p->has_scale || p->sources) return "adds plain sources only";
  if (p->base == ISO__SCATTER_EXCLUDED) return "includes the base or has none";
  if (!p->each && (p->inner != 1 || p->outer != 1)) return "moves single elements";
  job j;
  lay_out(p, 1, NULL, &j);
  return j.n_items >= UINT32_MAX || j.n_destinations >= UINT32_MAX ? "numbers sources and destinations in 32 bits"
                                                                   : NULL;
}
double iso__scatter_parts_cost(const iso__problem *problem, int n_threads) {
  job j;
  lay_out((const iso_scatter_problem *)problem, 1, NULL, &j);
  const double move = (2 + 0.01 * (double)j.n_buckets) * (double)j.n_items;
  const double add = (1.2 + 0.15 * (j.bits - LEAST_BITS)) * (double)j.n_items + 0.6 * (double)j.n_destinations;
  const int adders = (int)iso__max(1, iso__min(n_threads, j.n_buckets));
  return 2000 + 30 * (double)j.n_buckets + (n_threads > 1 ? 8000 + move / n_threads + add / adders : move + add);
}

/* Calls STEP(source, destination) for the sources begin … end−1. */
#define EACH_SOURCE(j, begin, end, STEP)                                                                               \
  do {                                                                                                                 \
    const int64_t *index = (j)->a->index;                                                                              \
    const int64_t inner = (j)->p->inner, n = (j)->p->n, extent = (j)->p->extent;                                       \
    if (!(j)->p->each || (inner == 1 && (j)->p->outer == 1)) {                                                         \
      for (int64_t s = begin; s < end; s++) STEP(s, index[s]);                                                         \
    } else {                                                                                                           \
      int64_t i = begin % inner, k = begin / inner % n, o = begin / inner / n;                                         \
      for (int64_t s = begin; s < end; s++) {                                                                          \
        STEP(s, (o * extent + index[s]) * inner + i);                                                                  \
        if (++i == inner && (i = 0, ++k == n)) k = 0, o++;                                                             \
      }                                                                                                                \
    }                                                                                                                  \
  } while (0)

static void move_part(void *arg, int part, int thread) {
  const job *j = arg;
  const float *x = j->a->x;
  const int64_t begin = j->n_items * part / j->n_parts, end = j->n_items * (part + 1) / j->n_parts;
  const int bits = j->bits;
  list *lists = j->lists + part * j->n_buckets;
  uint32_t *next = j->next, used = (uint32_t)(part * j->part_blocks);
  item *pool = j->pool;
  (void)thread;
  for (int64_t b = 0; b < j->n_buckets; b++) {
    const uint32_t first = used++, skipped = (uint32_t)(b * 3 * LINE % BLOCK);
    lists[b] = (list){.end = pool + (size_t)first * BLOCK + skipped, .first = first, .last = first, .begin = skipped};
  }
#define MOVE(s, d)                                                                                                     \
  do {                                                                                                                 \
    const int64_t to = (d);                                                                                            \
    list *l = lists + (to >> bits);                                                                                    \
    *l->end++ = (item){.at = (uint32_t)to, .value = x[s]};                                                             \
    if ((uintptr_t)l->end % (BLOCK * sizeof(item)) == 0) { /* the block is full */                                     \
      next[l->last] = used;                                                                                            \
      l->last = used++;                                                                                                \
      l->end = pool + (size_t)l->last * BLOCK;                                                                         \
    }                                                                                                                  \
  } while (0)
  EACH_SOURCE(j, begin, end, MOVE);
#undef MOVE
}

/* 256 terms are in, or a multiple. */
static __attribute__((noinline)) void join(sums *s, uint32_t d, int64_t m) {
  if (!s->has_chunks) {
    memset(s->panel, 0, (size_t)m * sizeof *s->panel), memset(s->total, 0, (size_t)m * sizeof *s->total);
    memset(s->chunks, 0, (size_t)m * sizeof *s->chunks);
    s->has_chunks = true;
  }
  s->panel[d] = s->panel[d] + s->acc[d], s->acc[d] = 0;
  if (++s->chunks[d] % (ISO__PANEL / ISO__CHUNK) == 0) s->total[d] = s->total[d] + s->panel[d], s->panel[d] = 0;
}
static void add_list(const job *j, const list *l, sums *s, int64_t m) {
  const uint32_t mask = (UINT32_C(1) << j->bits) - 1;
  float *acc = s->acc;
  uint8_t *count = s->count;
  uint32_t block = l->first, begin = l->begin;
  for (;;) {
    const item *items = j->pool + (size_t)block * BLOCK, *end = block == l->last ? l->end : items + BLOCK;
    for (const item *i = items + begin; i < end; i++) {
      const uint32_t d = i->at & mask;
      acc[d] = acc[d] + i->value;
      if (!++count[d]) join(s, d, m);
    }
    if (block == l->last) break;
    block = j->next[block], begin = 0;
  }
}
static void add_bucket(void *arg, int bucket, int thread) {
  const job *j = arg;
  sums s = {0};
  lay_out_sums(j, j->sums + (size_t)thread * j->sums_bytes, &s);
  const int64_t first = (int64_t)bucket << j->bits, m = iso__min(INT64_C(1) << j->bits, j->n_destinations - first);
  const float *base = j->p->base ? (const float *)j->a->base + first : NULL;
  float *y = (float *)j->a->y + first;
  memset(s.acc, 0, (size_t)m * sizeof *s.acc), memset(s.count, 0, (size_t)m * sizeof *s.count);
  for (int part = 0; part < j->n_parts; part++) add_list(j, &j->lists[part * j->n_buckets + bucket], &s, m);
  if (s.has_chunks)
    for (int64_t d = 0; d < m; d++) s.acc[d] = s.total[d] + (s.panel[d] + s.acc[d]);
  if (base)
    for (int64_t d = 0; d < m; d++) y[d] = base[d] + s.acc[d];
  else memcpy(y, s.acc, (size_t)m * sizeof *y);
}

void iso__scatter_parts_run(const iso__call *call) {
  const iso_scatter_problem *p = (const iso_scatter_problem *)call->problem;
  job j = {.p = p, .a = call->args};
  lay_out(p, iso_n_threads(call->ctx), call->workspace, &j);
  if (j.n_destinations == 0) return;
  if (j.n_items + j.n_destinations < LEAST_ITEMS) {
    move_part(&j, 0, 0);
    for (int b = 0; b < j.n_buckets; b++) add_bucket(&j, b, 0);
    return;
  }
  iso__parallel(call->ctx, j.n_parts, move_part, &j);
  iso__parallel(call->ctx, (int)j.n_buckets, add_bucket, &j);
}
