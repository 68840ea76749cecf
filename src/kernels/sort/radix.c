/* radix.c: rows sorted whole, whatever the window: the engine `cpu.scalar.sort`.
 *
 * Many rows: threads take rows, each sorted serially (items.h). A long row: all threads take a chunk of it each, and go
 * through it least significant digit first, 11 bits at a time: every thread counts the digits of its chunk, the counts
 * of (digit, chunk) are added up in that order, every thread moves its items to their places. That is stable, and the
 * result has no trace of how many chunks there were. */
#include <math.h>
#include "base/context.h"
#include "base/pool.h"
#include "kernels/sort/items.h"

enum { DIGIT_BITS = 11, N_DIGITS = 1 << DIGIT_BITS, LONG_ROW = 1 << 18, SHARED_ROW = 1 << 14, MAX_CHUNKS = 64 };

static bool is_shared(const iso_sort_problem *p, int n_threads) {
  return p->n >= LONG_ROW || (p->n >= SHARED_ROW && p->rows < n_threads);
}
static int n_chunks(int n_threads) { return n_threads < MAX_CHUNKS ? n_threads : MAX_CHUNKS; }

const char *iso__sort_radix_applicable(const iso__problem *problem) {
  return ((const iso_sort_problem *)problem)->n < UINT32_MAX ? NULL : "rows have more than 2^32 elements";
}

static size_t row_bytes(const iso_sort_problem *p) {
  size_t at = 0;
  iso__take(&at, 2 * p->n, iso__item_bytes((iso_dtype)p->head.dtype));
  return at;
}
size_t iso__sort_radix_workspace(const iso__problem *problem, int n_threads) {
  const iso_sort_problem *p = (const iso_sort_problem *)problem;
  if (is_shared(p, n_threads)) return row_bytes(p) + sizeof(uint32_t) * N_DIGITS * (size_t)n_chunks(n_threads);
  return row_bytes(p) * (size_t)n_threads;
}

double iso__sort_radix_cost(const iso__problem *problem, int n_threads) {
  const iso_sort_problem *p = (const iso_sort_problem *)problem;
  const double n = (double)p->n, per_item = p->n < ITEMS_RADIX ? 1.5 + 1.2 * iso_f64_log2(n + 1) : 9;
  const double work = (double)p->rows * n * per_item * (double)iso__item_bytes((iso_dtype)p->head.dtype) / 8;
  return 300 + (work > 30000 ? 5000 + work / n_threads : work);
}

typedef struct job {
  const iso_sort_problem *p;
  const iso_sort_args *a;
  char *workspace;
  size_t row_bytes;
  /* of the row that is shared */
  int64_t row;
  void *from, *to; /* items */
  uint32_t *counts;
  int chunks, shift;
} job;

/* ---- rows of one thread ---- */

static void sort_rows(void *arg, int64_t begin, int64_t end, int thread) {
  const job *j = arg;
  const iso_sort_problem *p = j->p;
  const iso_dtype dtype = (iso_dtype)p->head.dtype;
  const size_t item = iso_dtype_size(dtype);
  const uint64_t flip = iso__key_flip(p);
  char *items = j->workspace + j->row_bytes * (size_t)thread;
  for (int64_t row = begin; row < end; row++) {
    const char *x = (const char *)j->a->x + (size_t)(row * p->n) * item;
    char *y = (char *)j->a->y + (size_t)(row * p->count) * item;
    int64_t *index = j->a->index + row * p->count;
    if (iso__items_are_wide(dtype)) {
      iso__item64 *a = (iso__item64 *)items;
      items64_build(a, x, dtype, flip, 0, p->n);
      items64_emit(items64_sort(a, a + p->n, p->n, 64) + p->begin, p->count, x, item, y, index);
    } else {
      uint64_t *a = (uint64_t *)items;
      items32_build(a, x, dtype, flip, 0, p->n);
      items32_emit(items32_sort(a, a + p->n, p->n, iso__key_bits(dtype)) + p->begin, p->count, x, item, y, index);
    }
  }
}

/* ---- one row of all threads ---- */

static int64_t chunk_at(const job *j, int64_t n, int chunk) { return n * chunk / j->chunks; }

static void build_chunk(void *arg, int chunk, int thread) {
  const job *j = arg;
  const iso_dtype dtype = (iso_dtype)j->p->head.dtype;
  const char *x = (const char *)j->a->x + (size_t)(j->row * j->p->n) * iso_dtype_size(dtype);
  const int64_t begin = chunk_at(j, j->p->n, chunk), end = chunk_at(j, j->p->n, chunk + 1);
  (void)thread;
  if (iso__items_are_wide(dtype)) items64_build(j->from, x, dtype, iso__key_flip(j->p), begin, end);
  else items32_build(j->from, x, dtype, iso__key_flip(j->p), begin, end);
}

#define DIGIT_OF(key) ((uint32_t)((key) >> j->shift) & (N_DIGITS - 1))

static void count_chunk(void *arg, int chunk, int thread) {
  const job *j = arg;
  const int64_t begin = chunk_at(j, j->p->n, chunk), end = chunk_at(j, j->p->n, chunk + 1);
  uint32_t *counts = j->counts + (size_t)chunk * N_DIGITS;
  (void)thread;
  memset(counts, 0, sizeof *counts * N_DIGITS);
  if (iso__items_are_wide((iso_dtype)j->p->head.dtype))
    for (int64_t i = begin; i < end; i++) counts[DIGIT_OF(((const iso__item64 *)j->from)[i].key)]++;
  else
    for (int64_t i = begin; i < end; i++) counts[DIGIT_OF(((const uint64_t *)j->from)[i] >> 32)]++;
}

static void move_chunk(void *arg, int chunk, int thread) {
  const job *j = arg;
  const int64_t begin = chunk_at(j, j->p->n, chunk), end = chunk_at(j, j->p->n, chunk + 1);
  uint32_t *at = j->counts + (size_t)chunk * N_DIGITS;
  (void)thread;
  if (iso__items_are_wide((iso_dtype)j->p->head.dtype)) {
    const iso__item64 *from = j->from;
    for (int64_t i = begin; i < end; i++) ((iso__item64 *)j->to)[at[DIGIT_OF(from[i].key)]++] = from[i];
  } else {
    const uint64_t *from = j->from;
    for (int64_t i = begin; i < end; i++) ((uint64_t *)j->to)[at[DIGIT_OF(from[i] >> 32)]++] = from[i];
  }
}

static void emit_chunk(void *arg, int chunk, int thread) {
  const job *j = arg;
  const iso_dtype dtype = (iso_dtype)j->p->head.dtype;
  const size_t item = iso_dtype_size(dtype);
  const int64_t begin = chunk_at(j, j->p->count, chunk), n = chunk_at(j, j->p->count, chunk + 1) - begin;
  const int64_t out = j->row * j->p->count + begin, from = j->p->begin + begin;
  const char *x = (const char *)j->a->x + (size_t)(j->row * j->p->n) * item;
  char *y = (char *)j->a->y + (size_t)out * item;
  (void)thread;
  if (iso__items_are_wide(dtype)) items64_emit((const iso__item64 *)j->from + from, n, x, item, y, j->a->index + out);
  else items32_emit((const uint64_t *)j->from + from, n, x, item, y, j->a->index + out);
}

/* Counts become places; false where all items share the digit, so that nothing has to move. */
static bool add_up(job *j) {
  uint32_t sum = 0;
  for (int d = 0; d < N_DIGITS; d++) {
    const uint32_t before = sum;
    for (int c = 0; c < j->chunks; c++) {
      uint32_t *at = &j->counts[(size_t)c * N_DIGITS + (size_t)d];
      const uint32_t here = *at;
      *at = sum, sum += here;
    }
    if (sum - before == j->p->n) return false;
  }
  return true;
}

static void sort_shared_row(const iso__call *call, job *j) {
  const int bits = iso__key_bits((iso_dtype)j->p->head.dtype);
  iso__parallel(call->ctx, j->chunks, build_chunk, j);
  for (j->shift = 0; j->shift < bits; j->shift += DIGIT_BITS) {
    iso__parallel(call->ctx, j->chunks, count_chunk, j);
    if (!add_up(j)) continue;
    iso__parallel(call->ctx, j->chunks, move_chunk, j);
    void *const done = j->to;
    j->to = j->from, j->from = done;
  }
  iso__parallel(call->ctx, j->chunks, emit_chunk, j);
}

void iso__sort_radix_run(const iso__call *call) {
  const iso_sort_problem *p = (const iso_sort_problem *)call->problem;
  job j = {.p = p, .a = call->args, .workspace = call->workspace, .row_bytes = row_bytes(p)};
  if (p->n == 0 || p->count == 0) return;
  if (!is_shared(p, call->ctx->n_threads)) {
    iso__parallel_range(call->ctx, p->rows, 1 + 4096 / p->n, 1, sort_rows, &j);
    return;
  }
  j.chunks = n_chunks(call->ctx->n_threads);
  j.from = j.workspace;
  j.to = j.workspace + iso__item_bytes((iso_dtype)p->head.dtype) * (size_t)p->n;
  j.counts = (uint32_t *)(void *)(j.workspace + j.row_bytes);
  for (j.row = 0; j.row < p->rows; j.row++) sort_shared_row(call, &j);
}
