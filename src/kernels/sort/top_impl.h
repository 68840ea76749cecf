/* top_impl.h: the first few of a row's order, without sorting it: the engines `cpu.*.sort_top`; included once per
 * instruction set, which names its exports by ISA(name).
 *
 * Elements are taken in blocks of 64. Once k items are known, only keys below the k-th can matter (an equal key later
 * in the row comes after it), so that nearly every block is passed over after one comparison of its keys. The others'
 * items are appended; when the buffer is full it is sorted and cut to k, which lowers the limit. A row of one problem
 * is shared by threads in chunks, whose k first are then sorted together. */
#include "base/context.h"
#include "base/pool.h"
#include "kernels/sort/items.h"
#include "kernels/sort/top.h"

enum { TOP_BLOCK = 64 };

typedef struct top_job {
  const iso_sort_problem *p;
  const iso_sort_args *a;
  uint64_t *workspace;
  int64_t row; /* that is shared */
  int chunks;
} top_job;

/* Keys of x[i … i+m), and whether one of them is at most `limit`. */
static inline __attribute__((always_inline)) bool top_keys(const float *x, int64_t m, uint32_t flip, uint32_t limit,
                                                           uint32_t *key) {
  uint32_t within = 0;
  memcpy(key, x, sizeof *key * (size_t)m);
  for (int64_t l = 0; l < m; l++) key[l] = iso__key_f32(key[l]) ^ flip;
  for (int64_t l = 0; l < m; l++) within |= key[l] <= limit;
  return within;
}
/* The first k items, few, of x[begin … end), which are no fewer: a sorted list, into which the block's candidates are
 * put one by one. Items grow with their place, so that a later one of an equal key has no chance. */
static void top_few(const float *x, int64_t begin, int64_t end, int64_t k, uint32_t flip, uint64_t *items) {
  for (int64_t l = 0; l < k; l++) items[l] = UINT64_MAX; /* behind every item */
  for (int64_t i = begin; i < end; i += TOP_BLOCK) {
    uint32_t key[TOP_BLOCK];
    uint64_t candidates[TOP_BLOCK];
    const int64_t m = iso__min(TOP_BLOCK, end - i);
    const uint32_t limit = (uint32_t)(items[k - 1] >> 32);
    if (!(m == TOP_BLOCK ? top_keys(x + i, TOP_BLOCK, flip, limit, key) : top_keys(x + i, m, flip, limit, key)))
      continue;
    int64_t n = 0;
    for (int64_t l = 0; l < m; l++) {
      candidates[n] = (uint64_t)key[l] << 32 | (uint32_t)(i + l);
      n += key[l] <= limit;
    }
    for (int64_t c = 0; c < n; c++) {
      const uint64_t item = candidates[c];
      if (item >= items[k - 1]) continue;
      int64_t at = k - 1;
      for (; at > 0 && items[at - 1] > item; at--) items[at] = items[at - 1];
      items[at] = item;
    }
  }
}

/* The first k (or all, if fewer) items of x[begin … end), in order, at `items`; returns how many. */
static int64_t top_scan(const float *x, int64_t begin, int64_t end, int64_t k, uint32_t flip, uint64_t *items) {
  if (k <= TOP_FEW) {
    top_few(x, begin, end, k, flip, items);
    return k;
  }
  const int64_t room = iso__top_room(k);
  uint64_t *const spare = items + room;
  uint32_t limit = UINT32_MAX;
  bool limited = false;
  int64_t n = 0;
  for (int64_t i = begin; i < end; i += TOP_BLOCK) {
    uint32_t key[TOP_BLOCK], below = 0;
    const int64_t m = iso__min(TOP_BLOCK, end - i);
    if (m == TOP_BLOCK) {
      memcpy(key, x + i, sizeof key);
      for (int l = 0; l < TOP_BLOCK; l++) key[l] = iso__key_f32(key[l]) ^ flip;
      for (int l = 0; l < TOP_BLOCK; l++) below |= key[l] < limit;
    } else {
      memcpy(key, x + i, sizeof *key * (size_t)m);
      for (int64_t l = 0; l < m; l++) key[l] = iso__key_f32(key[l]) ^ flip, below |= key[l] < limit;
    }
    if (limited && !below) continue;
    for (int64_t l = 0; l < m; l++) {
      items[n] = (uint64_t)key[l] << 32 | (uint32_t)(i + l);
      n += !limited || key[l] < limit;
    }
    if (n + TOP_BLOCK < room) continue;
    const uint64_t *sorted = items32_sort(items, spare, n, 32);
    if (sorted != items) memcpy(items, sorted, sizeof *items * (size_t)k);
    n = k, limit = (uint32_t)(items[k - 1] >> 32), limited = true;
  }
  const uint64_t *sorted = items32_sort(items, spare, n, 32);
  n = iso__min(n, k);
  if (sorted != items) memcpy(items, sorted, sizeof *items * (size_t)n);
  return n;
}

static void top_emit(const top_job *j, int64_t row, const uint64_t *items) {
  const int64_t out = row * j->p->count;
  items32_emit(items, j->p->count, (const float *)j->a->x + row * j->p->n, 4, (float *)j->a->y + out,
               j->a->index + out);
}

static void top_rows(void *arg, int64_t begin, int64_t end, int thread) {
  const top_job *j = arg;
  uint64_t *items = j->workspace + 2 * iso__top_room(j->p->count) * thread;
  for (int64_t row = begin; row < end; row++) {
    top_scan((const float *)j->a->x + row * j->p->n, 0, j->p->n, j->p->count, (uint32_t)iso__key_flip(j->p), items);
    top_emit(j, row, items);
  }
}

static void top_chunk(void *arg, int chunk, int thread) {
  const top_job *j = arg;
  const int64_t n = j->p->n;
  (void)thread;
  top_scan((const float *)j->a->x + j->row * n, n * chunk / j->chunks, n * (chunk + 1) / j->chunks, j->p->count,
           (uint32_t)iso__key_flip(j->p), j->workspace + 2 * iso__top_room(j->p->count) * chunk);
}

void ISA(iso__sort_top_run)(const iso__call *call) {
  const iso_sort_problem *p = (const iso_sort_problem *)call->problem;
  top_job j = {.p = p, .a = call->args, .workspace = call->workspace};
  const int64_t room = iso__top_room(p->count);
  j.chunks = iso__top_chunks(p, call->ctx->n_threads);
  if (j.chunks == 1) {
    iso__parallel_range(call->ctx, p->rows, 1 + 32768 / p->n, 1, top_rows, &j);
    return;
  }
  uint64_t *all = j.workspace + 2 * room * j.chunks;
  for (j.row = 0; j.row < p->rows; j.row++) {
    iso__parallel(call->ctx, j.chunks, top_chunk, &j);
    for (int c = 0; c < j.chunks; c++) /* a chunk is longer than k */
      memcpy(all + p->count * c, j.workspace + 2 * room * c, sizeof *all * (size_t)p->count);
    top_emit(&j, j.row, items32_sort(all, all + p->count * j.chunks, p->count * j.chunks, 32));
  }
}
