/* parts.c: scatters of single elements to many destinations, by one pass of a stable radix partition.
 *
 * Contributions are first moved, in order, to buckets of neighbouring destinations; then each bucket adds its own, in
 * order, to accumulators that lie in L1. Memory is walked in long streams where sums in place would miss the cache at
 * every step. Every part of the sources counts and moves its own share, at places that the counts of all parts before
 * it leave free, so the order within a bucket is that of the sources; threads share parts, then buckets. */
#include "base/pool.h"
#include "kernels/scatter/engines.h"
#include "numeric/order.h"

enum { BUCKET_BITS = 12, BUCKET = 1 << BUCKET_BITS, PARTS = 8, LEAST_ITEMS = 16384 };

typedef struct item {
  uint32_t at; /* the destination */
  float value;
} item;
/* Of one bucket while it is added up: 256 terms a chunk, four chunks a panel. */
typedef struct sums {
  float acc[BUCKET], panel[BUCKET], total[BUCKET];
  uint32_t count[BUCKET];
} sums;

typedef struct job {
  const iso_scatter_problem *p;
  const iso_scatter_args *a;
  int64_t n_buckets, n_destinations, n_items;
  uint32_t *places; /* (PARTS,n_buckets): counts, then where each part's next contribution to a bucket goes */
  uint32_t *begins; /* (n_buckets+1) */
  item *items;
  sums *sums; /* one a thread */
} job;

static size_t lay_out(const iso_scatter_problem *p, int n_threads, char *workspace, job *j) {
  size_t at = 0;
  j->n_destinations = p->each ? p->outer * p->extent * p->inner : p->extent;
  j->n_items = p->each ? p->outer * p->n * p->inner : p->n;
  j->n_buckets = iso__ceil_div(j->n_destinations, BUCKET);
  const size_t places = iso__take(&at, PARTS * j->n_buckets, sizeof *j->places);
  const size_t begins = iso__take(&at, j->n_buckets + 1, sizeof *j->begins);
  const size_t items = iso__take(&at, j->n_items, sizeof *j->items);
  const size_t each = iso__take(&at, n_threads, sizeof *j->sums);
  if (workspace) {
    j->places = (uint32_t *)(void *)(workspace + places), j->begins = (uint32_t *)(void *)(workspace + begins);
    j->items = (item *)(void *)(workspace + items), j->sums = (sums *)(void *)(workspace + each);
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
  const double move = 3 * (double)j.n_items, add = 1.5 * (double)(j.n_items + j.n_destinations);
  const int adders = (int)iso__max(1, iso__min(n_threads, j.n_buckets));
  return 4000 + 4 * (double)j.n_buckets + (n_threads > 1 ? 8000 + move / n_threads + add / adders : move + add);
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

static void part_of(const job *j, int part, int64_t *begin, int64_t *end) {
  *begin = j->n_items * part / PARTS, *end = j->n_items * (part + 1) / PARTS;
}
static void count_part(void *arg, int part, int thread) {
  const job *j = arg;
  int64_t begin, end;
  uint32_t *count = j->places + part * j->n_buckets;
  (void)thread;
  part_of(j, part, &begin, &end);
  memset(count, 0, (size_t)j->n_buckets * sizeof *count);
#define COUNT(s, d) count[(d) >> BUCKET_BITS]++
  EACH_SOURCE(j, begin, end, COUNT);
#undef COUNT
}
static void move_part(void *arg, int part, int thread) {
  const job *j = arg;
  const float *x = j->a->x;
  int64_t begin, end;
  uint32_t *place = j->places + part * j->n_buckets;
  item *items = j->items;
  (void)thread;
  part_of(j, part, &begin, &end);
#define MOVE(s, d)                                                                                                     \
  do {                                                                                                                 \
    const int64_t to = (d);                                                                                            \
    items[place[to >> BUCKET_BITS]++] = (item){.at = (uint32_t)to, .value = x[s]};                                     \
  } while (0)
  EACH_SOURCE(j, begin, end, MOVE);
#undef MOVE
}

/* 256 contributions are in, or a multiple. */
static void join(sums *s, uint32_t d) {
  s->panel[d] = s->panel[d] + s->acc[d], s->acc[d] = 0;
  if (s->count[d] % ISO__PANEL == 0) s->total[d] = s->total[d] + s->panel[d], s->panel[d] = 0;
}
static void add_bucket(void *arg, int bucket, int thread) {
  const job *j = arg;
  sums *s = &j->sums[thread];
  const int64_t first = (int64_t)bucket << BUCKET_BITS, m = iso__min(BUCKET, j->n_destinations - first);
  const uint32_t begin = j->begins[bucket], end = j->begins[bucket + 1];
  const float *base = j->p->base ? (const float *)j->a->base + first : NULL;
  float *y = (float *)j->a->y + first;
  const bool many = end - begin >= ISO__CHUNK;
  memset(s->acc, 0, (size_t)m * sizeof *s->acc);
  if (many)
    memset(s->panel, 0, sizeof s->panel), memset(s->total, 0, sizeof s->total), memset(s->count, 0, sizeof s->count);
  for (uint32_t k = begin; k < end; k++) {
    const uint32_t d = j->items[k].at & (BUCKET - 1);
    s->acc[d] = s->acc[d] + j->items[k].value;
    if (many && ++s->count[d] % ISO__CHUNK == 0) join(s, d);
  }
  if (many)
    for (int64_t d = 0; d < m; d++) s->acc[d] = s->total[d] + (s->panel[d] + s->acc[d]);
  for (int64_t d = 0; d < m; d++) y[d] = base ? base[d] + s->acc[d] : s->acc[d];
}

void iso__scatter_parts_run(const iso__call *call) {
  const iso_scatter_problem *p = (const iso_scatter_problem *)call->problem;
  job j = {.p = p, .a = call->args};
  lay_out(p, iso_n_threads(call->ctx), call->workspace, &j);
  if (j.n_destinations == 0) return;
  const bool few = j.n_items + j.n_destinations < LEAST_ITEMS;
  for (int part = 0; few && part < PARTS; part++) count_part(&j, part, 0);
  if (!few) iso__parallel(call->ctx, PARTS, count_part, &j);
  uint32_t sum = 0;
  for (int64_t b = 0; b < j.n_buckets; b++) {
    j.begins[b] = sum;
    for (int part = 0; part < PARTS; part++) {
      uint32_t *place = &j.places[part * j.n_buckets + b], count = *place;
      *place = sum;
      sum += count;
    }
  }
  j.begins[j.n_buckets] = sum;
  for (int part = 0; few && part < PARTS; part++) move_part(&j, part, 0);
  if (!few) iso__parallel(call->ctx, PARTS, move_part, &j);
  for (int b = 0; few && b < j.n_buckets; b++) add_bucket(&j, b, 0);
  if (!few) iso__parallel(call->ctx, (int)j.n_buckets, add_bucket, &j);
}
