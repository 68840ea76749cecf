/* columns_impl.h: reductions over the middle of (outer, n, inner); included once per instruction set, which names its
 * exports by ISA(name).
 *
 * Sums in class `ordered`: accumulators of up to 1024 columns stay in L1 and take 8 rows a visit, so memory is read in
 * long pieces; after 256 rows a chunk joins its panel, after four chunks the panel joins the total. Threads share out
 * columns; where there are few columns and many rows (a bias gradient), chunks instead: their sums wait in slots, 64
 * chunks at a time, so the workspace doesn't grow with n. */
#include "base/pool.h"
#include "kernels/reduce/columns.h"
#include "numeric/order.h"
#include "numeric/vec.h"

enum { VISIT_ROWS = 8, COLUMN_GRAIN_ELEMENTS = 32768 };

typedef enum combine { ADD, ADD_SQUARE, MULTIPLY } combine;
VEC_FN vf take(combine how, vf acc, vf x) {
  return how == ADD ? vf_add(acc, x) : how == ADD_SQUARE ? vf_fma(x, x, acc) : vf_mul(acc, x);
}

/* acc (m) takes `rows` rows of x, which are `ld` elements apart. */
VEC_FN void take_rows_as(combine how, float *acc, const float *x, int64_t ld, int64_t rows, int64_t m) {
  int64_t k = 0;
  for (; k < rows; k += VISIT_ROWS) {
    const float *row = x + k * ld;
    const int64_t visit = rows - k < VISIT_ROWS ? rows - k : VISIT_ROWS;
    int64_t j = 0;
    for (; j + 2 * VF_LANES <= m; j += 2 * VF_LANES) {
      vf a = vf_load(acc + j), b = vf_load(acc + j + VF_LANES);
      if (visit == VISIT_ROWS) {
#pragma GCC unroll 8
        for (int q = 0; q < VISIT_ROWS; q++)
          a = take(how, a, vf_load(row + q * ld + j)), b = take(how, b, vf_load(row + q * ld + j + VF_LANES));
      } else {
        for (int64_t q = 0; q < visit; q++)
          a = take(how, a, vf_load(row + q * ld + j)), b = take(how, b, vf_load(row + q * ld + j + VF_LANES));
      }
      vf_store(acc + j, a), vf_store(acc + j + VF_LANES, b);
    }
    for (; j < m; j += VF_LANES) {
      const size_t left = (size_t)(m - j);
      vf a = vf_load_n(acc + j, left);
      for (int64_t q = 0; q < visit; q++) a = take(how, a, vf_load_n(row + q * ld + j, left));
      vf_store_n(acc + j, a, left);
    }
  }
}
static void take_rows(combine how, float *acc, const float *x, int64_t ld, int64_t rows, int64_t m) {
  switch (how) {
  case ADD: take_rows_as(ADD, acc, x, ld, rows, m); break;
  case ADD_SQUARE: take_rows_as(ADD_SQUARE, acc, x, ld, rows, m); break;
  default: take_rows_as(MULTIPLY, acc, x, ld, rows, m); break;
  }
}
static combine combine_of(const iso_reduce_problem *p) {
  return p->fn == ISO__REDUCE_PROD ? MULTIPLY : p->fn == ISO__REDUCE_SUM_SQUARES ? ADD_SQUARE : ADD;
}
static void fill(float *v, int64_t m, float value) {
  for (int64_t j = 0; j < m; j++) v[j] = value;
}
/* v = v + w or v · w, and w starts again. */
static void join(combine how, float *v, float *w, int64_t m) {
  if (how == MULTIPLY)
    for (int64_t j = 0; j < m; j++) v[j] = v[j] * w[j], w[j] = 1;
  else
    for (int64_t j = 0; j < m; j++) v[j] = v[j] + w[j], w[j] = 0;
}
static void finish(const iso_reduce_problem *p, float *y, const float *total, int64_t m) {
  if (p->fn == ISO__REDUCE_MEAN)
    for (int64_t j = 0; j < m; j++) y[j] = total[j] / (float)p->n;
  else memcpy(y, total, (size_t)m * sizeof *y);
}

/* ---- threads share columns ---- */

typedef struct job {
  const iso_reduce_problem *p;
  const float *x;
  void *y;
  float *slots;             /* chunk sums of one wave, (chunk, column) */
  int64_t chunk, column, m; /* first chunk of the wave, first column, columns */
} job;

/* Columns first … first + m − 1 of one outer index. */
static void sum_block(const iso_reduce_problem *p, const float *x, float *y, int64_t m) {
  float chunk[COLUMN_BLOCK], panel[COLUMN_BLOCK], total[COLUMN_BLOCK];
  const combine how = combine_of(p);
  const float start = how == MULTIPLY ? 1 : 0;
  fill(chunk, m, start), fill(panel, m, start), fill(total, m, start);
  for (int64_t k = 0; k < p->n; k += ISO__CHUNK) {
    const int64_t rows = p->n - k < ISO__CHUNK ? p->n - k : ISO__CHUNK;
    take_rows(how, chunk, x + k * p->inner, p->inner, rows, m);
    join(how, panel, chunk, m);
    if (k + rows == p->n || (k + rows) % ISO__PANEL == 0) join(how, total, panel, m);
  }
  finish(p, y, total, m);
}

VEC_FN vm wins(bool largest, vf x, vf best) {
  return vm_or(largest ? vf_gt(x, best) : vf_lt(x, best), vm_and(vf_isnan(x), vm_not(vf_isnan(best))));
}
static void extremum_block(const iso_reduce_problem *p, const float *x, void *y, int64_t m) {
  const bool largest = p->fn == ISO__REDUCE_MAX || p->fn == ISO__REDUCE_ARGMAX, index = p->fn >= ISO__REDUCE_ARGMAX;
  for (int64_t j = 0; j < m; j += VF_LANES) {
    const size_t left = (size_t)(m - j);
    vf best = vf_load_n(x + j, left);
    vi at = vi_set1(0);
    for (int64_t k = 1; k < p->n; k++) {
      const vf v = vf_load_n(x + k * p->inner + j, left);
      const vm better = wins(largest, v, best);
      best = vf_select(better, v, best);
      if (index) at = vi_select(better, vi_set1((int32_t)k), at);
    }
    if (!index) {
      vf_store_n((float *)y + j, vf_add(best, vf_zero()), left);
      continue;
    }
    int32_t lanes[VF_LANES];
    vi_store(lanes, at);
    for (size_t l = 0; l < left && l < VF_LANES; l++) ((int64_t *)y)[j + (int64_t)l] = lanes[l];
  }
}

/* Columns are numbered through all outer indices. */
static void run_columns(void *arg, int64_t begin, int64_t end, int thread) {
  const job *j = arg;
  const iso_reduce_problem *p = j->p;
  (void)thread;
  for (int64_t c = begin; c < end;) {
    const int64_t first = c % p->inner, left = p->inner - first;
    int64_t m = end - c < left ? end - c : left;
    if (m > COLUMN_BLOCK) m = COLUMN_BLOCK;
    const float *x = j->x + c / p->inner * p->n * p->inner + first;
    if (p->fn >= ISO__REDUCE_ARGMAX) extremum_block(p, x, (int64_t *)j->y + c, m);
    else if (p->fn >= ISO__REDUCE_MAX) extremum_block(p, x, (float *)j->y + c, m);
    else sum_block(p, x, (float *)j->y + c, m);
    c += m;
  }
}

/* ---- threads share chunks ---- */

static void run_chunks(void *arg, int64_t begin, int64_t end, int thread) {
  const job *j = arg;
  const iso_reduce_problem *p = j->p;
  const combine how = combine_of(p);
  (void)thread;
  for (int64_t c = begin; c < end; c++) {
    const int64_t k = (j->chunk + c) * ISO__CHUNK, rows = p->n - k < ISO__CHUNK ? p->n - k : ISO__CHUNK;
    float *slot = j->slots + c * j->m;
    fill(slot, j->m, how == MULTIPLY ? 1 : 0);
    take_rows(how, slot, j->x + k * p->inner + j->column, p->inner, rows, j->m);
  }
}

static void run_waves(iso_context *ctx, job *j) {
  const iso_reduce_problem *p = j->p;
  const int64_t n_chunks = (p->n + ISO__CHUNK - 1) / ISO__CHUNK;
  const combine how = combine_of(p);
  float panel[COLUMN_BLOCK], total[COLUMN_BLOCK];
  for (j->column = 0; j->column < p->inner; j->column += j->m) {
    j->m = p->inner - j->column < COLUMN_BLOCK ? p->inner - j->column : COLUMN_BLOCK;
    fill(panel, j->m, how == MULTIPLY ? 1 : 0), fill(total, j->m, how == MULTIPLY ? 1 : 0);
    for (j->chunk = 0; j->chunk < n_chunks; j->chunk += COLUMN_WAVE) {
      const int64_t wave = n_chunks - j->chunk < COLUMN_WAVE ? n_chunks - j->chunk : COLUMN_WAVE;
      const int64_t grain = COLUMN_GRAIN_ELEMENTS / (ISO__CHUNK * j->m);
      iso__parallel_range(ctx, wave, grain > 0 ? grain : 1, 1, run_chunks, j);
      for (int64_t c = 0; c < wave; c++) {
        join(how, panel, j->slots + c * j->m, j->m);
        const int64_t next = j->chunk + c + 1;
        if (next == n_chunks || next % (ISO__PANEL / ISO__CHUNK) == 0) join(how, total, panel, j->m);
      }
    }
    finish(p, (float *)j->y + j->column, total, j->m);
  }
}

void ISA(iso__reduce_columns_run)(const iso__call *call) {
  const iso_reduce_problem *p = (const iso_reduce_problem *)call->problem;
  const iso_reduce_args *args = call->args;
  job j = {.p = p, .x = args->x, .y = args->y, .slots = call->workspace};
  if (p->outer == 0 || p->inner == 0) return;
  if (call->workspace) {
    run_waves(call->ctx, &j);
    return;
  }
  const int64_t grain = COLUMN_GRAIN_ELEMENTS / (p->n > 0 ? p->n : 1);
  iso__parallel_range(call->ctx, p->outer * p->inner, grain > 64 ? grain : 64, 16, run_columns, &j);
}
