/* select.c: a part of a row's order without sorting the rest: the engine `cpu.scalar.sort_select`, and the descriptions
 * of sort_top and sort_rank.
 *
 * Counting the keys' first 11 bits tells which of these digits the window lies in, and how many elements come before
 * them. Only elements with such a digit are sorted: a few where values are spread, at worst all of them. */
#include <math.h>
#include "base/context.h"
#include "base/pool.h"
#include "kernels/sort/items.h"
#include "kernels/sort/rank.h"
#include "kernels/sort/top.h"

enum { SELECT_BITS = 11, SELECT_SHARE = 4 };

/* ---- the first of a row ---- */

const char *iso__sort_top_applicable(const iso__problem *problem) {
  const iso_sort_problem *p = (const iso_sort_problem *)problem;
  if (p->begin != 0 || p->count < 1) return "the window does not begin the row";
  if (p->count > p->n / (p->count <= TOP_FEW ? TOP_FEW_SHARE : TOP_SHARE)) return "the window is too much of the row";
  return p->n < UINT32_MAX ? NULL : "rows have more than 2^32 elements";
}
size_t iso__sort_top_workspace(const iso__problem *problem, int n_threads) {
  const iso_sort_problem *p = (const iso_sort_problem *)problem;
  const int chunks = iso__top_chunks(p, n_threads);
  const int64_t scans = 2 * iso__top_room(p->count) * (chunks > 1 ? chunks : n_threads);
  return sizeof(uint64_t) * (size_t)(scans + (chunks > 1 ? 2 * p->count * chunks : 0));
}
static double top_cost(const iso__problem *problem, int n_threads, double ns_per_element) {
  const iso_sort_problem *p = (const iso_sort_problem *)problem;
  const double refills = iso_f64_log2((double)p->n / (double)p->count) + 1;
  const double refill = p->count <= TOP_FEW ? 10 * (double)p->count : 20 * (double)iso__top_room(p->count);
  const double work = (double)p->rows * (100 + (double)p->n * ns_per_element + refills * refill);
  return 300 + (work > 30000 ? 5000 + work / n_threads : work);
}
double iso__sort_top_cost_avx2(const iso__problem *problem, int n_threads) { return top_cost(problem, n_threads, 0.3); }
double iso__sort_top_cost_avx512(const iso__problem *problem, int n_threads) {
  return top_cost(problem, n_threads, 0.2);
}

/* ---- short rows ---- */

const char *iso__sort_rank_applicable(const iso__problem *problem) {
  const iso_sort_problem *p = (const iso_sort_problem *)problem;
  return p->n < 1 || p->n > RANK_MOST ? "rows have none, or more than 128 elements" : NULL;
}
static double rank_cost(const iso__problem *problem, int n_threads, double lanes) {
  const iso_sort_problem *p = (const iso_sort_problem *)problem;
  const double n = (double)p->n, vectors = floor(n / lanes) + 1;
  const double work = (double)p->rows * (10 + n * vectors * 0.4 + n * 0.5 + (double)p->count);
  return 300 + (work > 30000 ? 5000 + work / n_threads : work);
}
double iso__sort_rank_cost_avx2(const iso__problem *problem, int n_threads) { return rank_cost(problem, n_threads, 8); }
double iso__sort_rank_cost_avx512(const iso__problem *problem, int n_threads) {
  return rank_cost(problem, n_threads, 16);
}

/* ---- any part of a row ---- */

const char *iso__sort_select_applicable(const iso__problem *problem) {
  const iso_sort_problem *p = (const iso_sort_problem *)problem;
  if (p->count < 1 || p->count > p->n / SELECT_SHARE) return "the window is more than a quarter of the row";
  if (p->n < 512) return "rows are shorter than 512";
  return p->n < UINT32_MAX ? NULL : "rows have more than 2^32 elements";
}
static size_t row_bytes(const iso_sort_problem *p) {
  size_t at = 0;
  iso__take(&at, 2 * p->n, iso__item_bytes((iso_dtype)p->head.dtype));
  return at;
}
size_t iso__sort_select_workspace(const iso__problem *problem, int n_threads) {
  return row_bytes((const iso_sort_problem *)problem) * (size_t)n_threads;
}
double iso__sort_select_cost(const iso__problem *problem, int n_threads) {
  const iso_sort_problem *p = (const iso_sort_problem *)problem;
  const double work = (double)p->rows * (2000 + 3 * (double)p->n + 20 * (double)p->count);
  return 300 + (p->rows > 1 && work > 30000 ? 5000 + work / n_threads : work);
}

/* The digits that hold the window's ends, and how many elements have smaller ones. */
typedef struct digits {
  uint32_t first, last;
  int64_t before;
} digits;

static digits find_digits(const uint32_t *counts, int64_t begin, int64_t end) {
  digits d = {0};
  int64_t sum = 0;
  for (uint32_t v = 0; v < 1u << SELECT_BITS; v++) {
    if (sum <= begin) d.first = v, d.before = sum;
    if (sum < end) d.last = v;
    sum += counts[v];
  }
  return d;
}

/* Counts, keeps, sorts and writes one row of items of a width. */
#define SELECT(items_, type, bits, make)                                                                               \
  {                                                                                                                    \
    type *items = workspace;                                                                                           \
    int64_t n = 0;                                                                                                     \
    for (int64_t i = 0; i < p->n; i++) counts[(iso__key_at(x, dtype, i) ^ flip) >> (bits - SELECT_BITS)]++;            \
    const digits d = find_digits(counts, p->begin, p->begin + p->count);                                               \
    for (int64_t i = 0; i < p->n; i++) {                                                                               \
      const uint64_t key = iso__key_at(x, dtype, i) ^ flip;                                                            \
      const uint32_t digit = (uint32_t)(key >> (bits - SELECT_BITS));                                                  \
      items[n] = make;                                                                                                 \
      n += digit >= d.first && digit <= d.last;                                                                        \
    }                                                                                                                  \
    items_##emit(items_##sort(items, items + p->n, n, bits) + (p->begin - d.before), p->count, x, item, y, index);     \
  }

static inline __attribute__((always_inline)) void select_row(const iso_sort_problem *p, const iso_sort_args *a,
                                                             int64_t row, void *workspace, iso_dtype dtype) {
  const size_t item = iso_dtype_size(dtype);
  const uint64_t flip = iso__key_flip(p);
  const char *x = (const char *)a->x + (size_t)(row * p->n) * item;
  char *y = (char *)a->y + (size_t)(row * p->count) * item;
  int64_t *index = a->index + row * p->count;
  uint32_t counts[1 << SELECT_BITS] = {0};
  if (iso__items_are_wide(dtype)) SELECT(items64_, iso__item64, 64, ((iso__item64){.key = key, .place = (uint64_t)i}))
  else SELECT(items32_, uint64_t, 32, (key << 32 | (uint32_t)i))
}

typedef struct job {
  const iso_sort_problem *p;
  const iso_sort_args *a;
  char *workspace;
} job;

static void select_rows(void *arg, int64_t begin, int64_t end, int thread) {
  const job *j = arg;
  char *workspace = j->workspace + row_bytes(j->p) * (size_t)thread;
  for (int64_t row = begin; row < end; row++) switch ((iso_dtype)j->p->head.dtype) {
    case ISO_F32: select_row(j->p, j->a, row, workspace, ISO_F32); break;
    case ISO_F64: select_row(j->p, j->a, row, workspace, ISO_F64); break;
    case ISO_I32: select_row(j->p, j->a, row, workspace, ISO_I32); break;
    default: select_row(j->p, j->a, row, workspace, ISO_I64); break;
    }
}

void iso__sort_select_run(const iso__call *call) {
  const iso_sort_problem *p = (const iso_sort_problem *)call->problem;
  job j = {.p = p, .a = call->args, .workspace = call->workspace};
  iso__parallel_range(call->ctx, p->rows, 1 + 8192 / p->n, 1, select_rows, &j);
}
