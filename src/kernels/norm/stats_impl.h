/* stats_impl.h: batch-norm statistics by chunks of 256 rows; included once per instruction set, which names its exports
 * by ISA(name).
 *
 * A chunk is read from memory once: its column sums s give m = s/n_c, and the squared deviations q from m are summed
 * while the chunk still lies in L2. Two engines: `slots` keeps s and q of every chunk, so threads share chunks and
 * memory is read once; `twice` keeps nothing, folds the sums in a first pass over its channels and computes s, m and q
 * again in a second. */
#include "base/pool.h"
#include "kernels/norm/norm.h"
#include "kernels/norm/slots.h"
#include "numeric/vec.h"

enum { VISIT_ROWS = 8 };

/* acc (m) += rows of x */
static void add_rows(float *acc, const float *x, int64_t ld, int64_t rows, int64_t m) {
  for (int64_t k = 0; k < rows; k += VISIT_ROWS) {
    const float *row = x + k * ld;
    const int64_t visit = rows - k < VISIT_ROWS ? rows - k : VISIT_ROWS;
    int64_t j = 0;
    for (; visit == VISIT_ROWS && j + 2 * VF_LANES <= m; j += 2 * VF_LANES) {
      vf a = vf_load(acc + j), b = vf_load(acc + j + VF_LANES);
#pragma GCC unroll 8
      for (int q = 0; q < VISIT_ROWS; q++)
        a = vf_add(a, vf_load(row + q * ld + j)), b = vf_add(b, vf_load(row + q * ld + j + VF_LANES));
      vf_store(acc + j, a), vf_store(acc + j + VF_LANES, b);
    }
    for (; j < m; j += VF_LANES) {
      const size_t left = (size_t)(m - j);
      vf a = vf_load_n(acc + j, left);
      for (int64_t q = 0; q < visit; q++) a = vf_add(a, vf_load_n(row + q * ld + j, left));
      vf_store_n(acc + j, a, left);
    }
  }
}

/* acc (m) = fma(d, d, acc) with d = x − mean, row by row */
static void add_deviations(float *acc, const float *mean, const float *x, int64_t ld, int64_t rows, int64_t m) {
  for (int64_t k = 0; k < rows; k += VISIT_ROWS) {
    const float *row = x + k * ld;
    const int64_t visit = rows - k < VISIT_ROWS ? rows - k : VISIT_ROWS;
    int64_t j = 0;
    for (; visit == VISIT_ROWS && j + 2 * VF_LANES <= m; j += 2 * VF_LANES) {
      vf a = vf_load(acc + j), b = vf_load(acc + j + VF_LANES);
      const vf ma = vf_load(mean + j), mb = vf_load(mean + j + VF_LANES);
#pragma GCC unroll 8
      for (int q = 0; q < VISIT_ROWS; q++) {
        const vf da = vf_sub(vf_load(row + q * ld + j), ma), db = vf_sub(vf_load(row + q * ld + j + VF_LANES), mb);
        a = vf_fma(da, da, a), b = vf_fma(db, db, b);
      }
      vf_store(acc + j, a), vf_store(acc + j + VF_LANES, b);
    }
    for (; j < m; j += VF_LANES) {
      const size_t left = (size_t)(m - j);
      vf a = vf_load_n(acc + j, left);
      const vf mean_j = vf_load_n(mean + j, left);
      for (int64_t q = 0; q < visit; q++) {
        const vf d = vf_sub(vf_load_n(row + q * ld + j, left), mean_j);
        a = vf_fma(d, d, a);
      }
      vf_store_n(acc + j, a, left);
    }
  }
}

typedef struct job {
  const iso_batch_norm_problem *p;
  const float *x;
  float *mean, *var, *unbiased;
  float *sums, *deviations;   /* slots: (chunk, channel) */
  int64_t n_chunks, n_blocks; /* blocks of NORM_COLUMNS channels */
} job;

static int64_t chunk_rows(const iso_batch_norm_problem *p, int64_t chunk) {
  const int64_t left = p->rows - chunk * ISO__CHUNK;
  return left < ISO__CHUNK ? left : ISO__CHUNK;
}
static void zero(float *v, int64_t m) { memset(v, 0, (size_t)m * sizeof *v); }

/* Sum and squared deviations of one chunk's m channels, at most NORM_COLUMNS, from x on. */
static void chunk_moments(const float *x, int64_t ld, int64_t rows, int64_t m, float *sum, float *deviation) {
  float mean[NORM_COLUMNS];
  zero(sum, m), zero(deviation, m);
  add_rows(sum, x, ld, rows, m);
  for (int64_t j = 0; j < m; j++) mean[j] = sum[j] / (float)rows;
  add_deviations(deviation, mean, x, ld, rows, m);
}

/* fold: value joins the panel; after four chunks, or the last, the panel joins the total. */
static void fold_next(const job *j, int64_t chunk, float *panel, float *total, const float *value, int64_t m) {
  for (int64_t i = 0; i < m; i++) panel[i] = panel[i] + value[i];
  if ((chunk + 1) % (ISO__PANEL / ISO__CHUNK) != 0 && chunk + 1 != j->n_chunks) return;
  for (int64_t i = 0; i < m; i++) total[i] = total[i] + panel[i], panel[i] = 0;
}
/* value = fma(n_c·e, e, q), e = s/n_c − mean */
static void join_moments(float *value, const float *sum, const float *deviation, const float *mean, float rows,
                         int64_t m) {
  for (int64_t i = 0; i < m; i += VF_LANES) {
    const size_t left = (size_t)(m - i);
    const vf n = vf_set1(rows), e = vf_sub(vf_div(vf_load_n(sum + i, left), n), vf_load_n(mean + i, left));
    vf_store_n(value + i, vf_fma(vf_mul(n, e), e, vf_load_n(deviation + i, left)), left);
  }
}
static void divide(float *y, const float *total, float rows, int64_t m) {
  for (int64_t i = 0; i < m; i++) y[i] = total[i] / rows;
}

/* ---- slots ---- */
static void run_units(void *arg, int64_t begin, int64_t end, int thread) {
  const job *j = arg;
  const int64_t c = j->p->c;
  (void)thread;
  for (int64_t unit = begin; unit < end; unit++) {
    const int64_t chunk = unit / j->n_blocks, first = unit % j->n_blocks * NORM_COLUMNS, at = chunk * c + first;
    const int64_t m = c - first < NORM_COLUMNS ? c - first : NORM_COLUMNS;
    chunk_moments(j->x + chunk * ISO__CHUNK * c + first, c, chunk_rows(j->p, chunk), m, j->sums + at,
                  j->deviations + at);
  }
}

static void fold_slots(const job *j) {
  const iso_batch_norm_problem *p = j->p;
  float panel[NORM_COLUMNS], total[NORM_COLUMNS], value[NORM_COLUMNS];
  for (int64_t first = 0; first < p->c; first += NORM_COLUMNS) {
    const int64_t m = p->c - first < NORM_COLUMNS ? p->c - first : NORM_COLUMNS;
    zero(panel, m), zero(total, m);
    for (int64_t k = 0; k < j->n_chunks; k++) fold_next(j, k, panel, total, j->sums + k * p->c + first, m);
    divide(j->mean + first, total, (float)p->rows, m);
    zero(panel, m), zero(total, m);
    for (int64_t k = 0; k < j->n_chunks; k++) {
      const int64_t at = k * p->c + first;
      join_moments(value, j->sums + at, j->deviations + at, j->mean + first, (float)chunk_rows(p, k), m);
      fold_next(j, k, panel, total, value, m);
    }
    divide(j->var + first, total, (float)p->rows, m);
    divide(j->unbiased + first, total, (float)(p->rows - 1), m);
  }
}

static job job_of(const iso__call *call) {
  const iso_batch_norm_problem *p = (const iso_batch_norm_problem *)call->problem;
  const iso_batch_norm_args *a = call->args;
  return (job){.p = p,
               .x = a->x,
               .mean = a->mean,
               .var = a->var,
               .unbiased = a->unbiased,
               .n_chunks = (p->rows + ISO__CHUNK - 1) / ISO__CHUNK,
               .n_blocks = (p->c + NORM_COLUMNS - 1) / NORM_COLUMNS};
}

void ISA(iso__norm_stats_run)(const iso__call *call) {
  job j = job_of(call);
  j.sums = call->workspace;
  if (j.sums) j.deviations = j.sums + j.n_chunks * j.p->c;
  const int64_t width = j.p->c < NORM_COLUMNS ? j.p->c : NORM_COLUMNS, grain = width ? 32768 / (width * ISO__CHUNK) : 1;
  iso__parallel_range(call->ctx, j.n_chunks * j.n_blocks, grain > 0 ? grain : 1, 1, run_units, &j);
  fold_slots(&j);
}

/* ---- twice ---- */
static void run_channels(void *arg, int64_t begin, int64_t end, int thread) {
  const job *j = arg;
  const iso_batch_norm_problem *p = j->p;
  float panel[NORM_COLUMNS], total[NORM_COLUMNS], value[NORM_COLUMNS], sum[NORM_COLUMNS], deviation[NORM_COLUMNS];
  (void)thread;
  for (int64_t first = begin; first < end; first += NORM_COLUMNS) {
    const int64_t m = end - first < NORM_COLUMNS ? end - first : NORM_COLUMNS;
    zero(panel, m), zero(total, m);
    for (int64_t k = 0; k < j->n_chunks; k++) {
      zero(sum, m);
      add_rows(sum, j->x + k * ISO__CHUNK * p->c + first, p->c, chunk_rows(p, k), m);
      fold_next(j, k, panel, total, sum, m);
    }
    divide(j->mean + first, total, (float)p->rows, m);
    zero(panel, m), zero(total, m);
    for (int64_t k = 0; k < j->n_chunks; k++) {
      chunk_moments(j->x + k * ISO__CHUNK * p->c + first, p->c, chunk_rows(p, k), m, sum, deviation);
      join_moments(value, sum, deviation, j->mean + first, (float)chunk_rows(p, k), m);
      fold_next(j, k, panel, total, value, m);
    }
    divide(j->var + first, total, (float)p->rows, m);
    divide(j->unbiased + first, total, (float)(p->rows - 1), m);
  }
}

void ISA(iso__norm_stats_twice_run)(const iso__call *call) {
  job j = job_of(call);
  const int64_t grain = j.p->rows ? 32768 / j.p->rows : j.p->c;
  iso__parallel_range(call->ctx, j.p->c, grain > 16 ? grain : 16, 16, run_channels, &j);
}
