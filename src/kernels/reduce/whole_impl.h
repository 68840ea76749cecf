/* whole_impl.h: sums, products and extrema of integers, and truths of any dtype; included once per instruction set,
 * which names its exports by ISA(name).
 *
 * No order matters here, so these are plain loops that the compiler turns into vectors, one text for every element type
 * (whole_body.h). Truths stop at the first block that decides. A row that is longer than all others together is cut
 * into segments for the threads; their values are joined in order, so the first of equal extrema wins. */
#include <stdbool.h>
#include "base/pool.h"
#include "kernels/reduce/reduce.h"

enum { WHOLE_BLOCK = 2048, WHOLE_COLUMNS = 512, WHOLE_GRAIN = 32768, MAX_SEGMENTS = 64 };

/* What is known of a part of a row. */
typedef struct part {
  int64_t sum;  /* SUM, PROD, COUNT; ANY, ALL: 0 or 1 */
  int64_t best; /* extrema: the value, */
  int64_t at;   /* and where */
} part;

#define TYPE int64_t
#define NAME(f) f##_i64
#include "kernels/reduce/whole_body.h"
#define TYPE int32_t
#define NAME(f) f##_i32
#include "kernels/reduce/whole_body.h"
#define TYPE uint8_t
#define NAME(f) f##_u8
#include "kernels/reduce/whole_body.h"
#define TYPE float
#define NAME(f) f##_f32
#define TRUTHS_ONLY
#include "kernels/reduce/whole_body.h"
#define TYPE double
#define NAME(f) f##_f64
#define TRUTHS_ONLY
#include "kernels/reduce/whole_body.h"

/* ---- rows ---- */

/* n ≥ 0 elements from element `first`. */
static part part_of(const iso_reduce_problem *p, const void *x, int64_t first, int64_t n) {
  switch ((iso_dtype)p->head.dtype) {
  case ISO_I64: return part_of_i64(p, (const int64_t *)x + first, n);
  case ISO_I32: return part_of_i32(p, (const int32_t *)x + first, n);
  case ISO_F32: return part_of_f32(p, (const float *)x + first, n);
  case ISO_F64: return part_of_f64(p, (const double *)x + first, n);
  default: return part_of_u8(p, (const uint8_t *)x + first, n);
  }
}
static void store_part(const iso_reduce_problem *p, const iso_reduce_args *a, int64_t r, const part *v) {
  const iso__reduce_fn fn = (iso__reduce_fn)p->fn;
  if (iso__reduce_has_index(fn)) ((int64_t *)(iso__reduce_is_index(fn) ? a->y : a->index))[r] = v->at;
  if (iso__reduce_is_index(fn)) return;
  const int64_t y = iso__reduce_is_extremum(fn) ? v->best : v->sum;
  switch (iso__reduce_result(fn, (iso_dtype)p->head.dtype)) {
  case ISO_I64: ((int64_t *)a->y)[r] = y; break;
  case ISO_I32: ((int32_t *)a->y)[r] = (int32_t)y; break;
  default: ((uint8_t *)a->y)[r] = (uint8_t)y; break;
  }
}
static void join_parts(const iso_reduce_problem *p, part *v, const part *next, int64_t first) {
  switch ((iso__reduce_fn)p->fn) {
  case ISO__REDUCE_SUM:
  case ISO__REDUCE_COUNT: v->sum = (int64_t)((uint64_t)v->sum + (uint64_t)next->sum); return;
  case ISO__REDUCE_PROD: v->sum = (int64_t)((uint64_t)v->sum * (uint64_t)next->sum); return;
  case ISO__REDUCE_ANY: v->sum |= next->sum; return;
  case ISO__REDUCE_ALL: v->sum &= next->sum; return;
  default: break;
  }
  if (iso__reduce_is_largest((iso__reduce_fn)p->fn) ? next->best > v->best : next->best < v->best)
    v->best = next->best, v->at = first + next->at;
}

typedef struct job {
  const iso_reduce_problem *p;
  const iso_reduce_args *a;
  int64_t row, segment;
  part *parts;
} job;
static void run_rows(void *arg, int64_t begin, int64_t end, int thread) {
  const job *j = arg;
  (void)thread;
  for (int64_t r = begin; r < end; r++) {
    const part v = part_of(j->p, j->a->x, r * j->p->n, j->p->n);
    store_part(j->p, j->a, r, &v);
  }
}
static void run_segments(void *arg, int64_t begin, int64_t end, int thread) {
  const job *j = arg;
  (void)thread;
  for (int64_t s = begin; s < end; s++) {
    const int64_t first = s * j->segment, left = j->p->n - first;
    j->parts[s] = part_of(j->p, j->a->x, j->row * j->p->n + first, left < j->segment ? left : j->segment);
  }
}

void ISA(iso__reduce_whole_rows_run)(const iso__call *call) {
  const iso_reduce_problem *p = (const iso_reduce_problem *)call->problem;
  job j = {.p = p, .a = call->args};
  if (p->outer >= call->ctx->n_threads || p->n < 2 * WHOLE_GRAIN) {
    iso__parallel_range(call->ctx, p->outer, WHOLE_GRAIN / (p->n + 64) + 1, 1, run_rows, &j);
    return;
  }
  part parts[MAX_SEGMENTS];
  j.parts = parts;
  j.segment = (p->n + MAX_SEGMENTS - 1) / MAX_SEGMENTS;
  const int64_t n_segments = (p->n + j.segment - 1) / j.segment;
  for (j.row = 0; j.row < p->outer; j.row++) {
    iso__parallel_range(call->ctx, n_segments, WHOLE_GRAIN / j.segment + 1, 1, run_segments, &j);
    for (int64_t s = 1; s < n_segments; s++) join_parts(p, &parts[0], &parts[s], s * j.segment);
    store_part(p, j.a, j.row, &parts[0]);
  }
}

/* ---- columns, numbered through all outer indices ---- */

static void run_columns(void *arg, int64_t begin, int64_t end, int thread) {
  const job *j = arg;
  const iso_reduce_problem *p = j->p;
  const iso__reduce_fn fn = (iso__reduce_fn)p->fn;
  (void)thread;
  for (int64_t c = begin; c < end;) {
    const int64_t inner = c % p->inner, left = p->inner - inner;
    int64_t m = end - c < left ? end - c : left;
    if (m > WHOLE_COLUMNS) m = WHOLE_COLUMNS;
    const int64_t first = c / p->inner * p->n * p->inner + inner;
    int64_t sum[WHOLE_COLUMNS], best[WHOLE_COLUMNS], at[WHOLE_COLUMNS];
    switch ((iso_dtype)p->head.dtype) {
    case ISO_I64: columns_i64(p, (const int64_t *)j->a->x + first, m, sum, best, at); break;
    case ISO_I32: columns_i32(p, (const int32_t *)j->a->x + first, m, sum, best, at); break;
    case ISO_F32: columns_f32(p, (const float *)j->a->x + first, m, sum, best, at); break;
    case ISO_F64: columns_f64(p, (const double *)j->a->x + first, m, sum, best, at); break;
    default: columns_u8(p, (const uint8_t *)j->a->x + first, m, sum, best, at); break;
    }
    for (int64_t i = 0; i < m; i++) {
      part v = {0};
      if (iso__reduce_is_extremum(fn)) v.best = best[i], v.at = at[i];
      else v.sum = fn == ISO__REDUCE_ANY ? sum[i] > 0 : fn == ISO__REDUCE_ALL ? sum[i] == p->n : sum[i];
      store_part(p, j->a, c + i, &v);
    }
    c += m;
  }
}

void ISA(iso__reduce_whole_columns_run)(const iso__call *call) {
  const iso_reduce_problem *p = (const iso_reduce_problem *)call->problem;
  job j = {.p = p, .a = call->args};
  if (p->outer == 0 || p->inner == 0) return;
  const int64_t grain = WHOLE_GRAIN / (p->n + 1);
  iso__parallel_range(call->ctx, p->outer * p->inner, grain > 16 ? grain : 16, 16, run_columns, &j);
}
