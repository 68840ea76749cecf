/* gradients_impl.h: batch norm's dγ and dβ, with relu's gradient taken on the way; included once per instruction set,
 * which names its exports by ISA(name).
 *
 * One pass over x and dy (and y where relu follows). Accumulators of a block of channels stay in L1 and take 8 rows a
 * visit, as in reduce's columns. Threads share (chunk, block) units whose sums wait in slots, 64 chunks at a time, so
 * the workspace doesn't grow with the rows; one thread folds as it goes. */
#include "base/pool.h"
#include "kernels/norm/mask.h"
#include "kernels/norm/norm.h"
#include "kernels/norm/slots.h"
#include "numeric/vec.h"

enum { VISIT_ROWS = 8 };

typedef struct task {
  const iso_batch_norm_problem *p;
  const iso_batch_norm_args *a;
  float *slots; /* (chunk of the wave, 2, channel): sums of dy·h, of dy */
  int64_t first_chunk, n_blocks;
} task;

/* One block's rows: pointers to its first row and channel. */
typedef struct block {
  const float *x, *dy, *y_saved;
  float *dz;
  const float *mean, *r, *gamma, *beta;
  float *gamma_sum, *beta_sum;
  int64_t ld, rows, m;
} block;

/* n of VF_LANES channels at j through `visit` rows from `row` on. */
VEC_FN void visit(const block *b, const mask m, bool writes, int64_t row, int64_t n_rows, int64_t j, size_t n) {
  vf gamma = vf_load_n(b->gamma_sum + j, n), beta = vf_load_n(b->beta_sum + j, n);
  const vf mean = vf_load_n(b->mean + j, n), r = vf_load_n(b->r + j, n);
  const vf scale = m == MASK_OF_X ? vf_load_n(b->gamma + j, n) : r,
           shift = m == MASK_OF_X ? vf_load_n(b->beta + j, n) : r;
  for (int64_t q = row; q < row + n_rows; q++) {
    const int64_t at = q * b->ld + j;
    vf dy = vf_load_n(b->dy + at, n);
    const vf h = vf_mul(vf_sub(vf_load_n(b->x + at, n), mean), r);
    if (m == MASK_OF_Y) dy = vf_relu_gradient(vf_load_n(b->y_saved + at, n), dy);
    if (m == MASK_OF_X) dy = vf_relu_gradient(vf_fma(h, scale, shift), dy);
    if (writes) vf_store_n(b->dz + at, dy, n);
    gamma = vf_fma(dy, h, gamma);
    beta = vf_add(beta, dy);
  }
  vf_store_n(b->gamma_sum + j, gamma, n), vf_store_n(b->beta_sum + j, beta, n);
}
VEC_FN void block_rows(const block *b, const mask m, bool writes) {
  for (int64_t row = 0; row < b->rows; row += VISIT_ROWS) {
    const int64_t n_rows = b->rows - row < VISIT_ROWS ? b->rows - row : VISIT_ROWS;
    int64_t j = 0;
    for (; j + VF_LANES <= b->m; j += VF_LANES) visit(b, m, writes, row, n_rows, j, VF_LANES);
    if (j < b->m) visit(b, m, writes, row, n_rows, j, (size_t)(b->m - j));
  }
}
static void block_plain(const block *b) { block_rows(b, NO_MASK, false); }
static void block_dz(const block *b) { block_rows(b, NO_MASK, true); }
static void block_relu(const block *b) { block_rows(b, MASK_OF_Y, false); }
static void block_relu_dz(const block *b) { block_rows(b, MASK_OF_Y, true); }
static void block_recompute(const block *b) { block_rows(b, MASK_OF_X, false); }

/* Adds one chunk's rows of channels first … first + m − 1 to gamma_sum and beta_sum. */
static void add_chunk(const task *job, int64_t chunk, int64_t first, int64_t m, const float *r, float *gamma_sum,
                      float *beta_sum) {
  static void (*const variants[3][2])(const block *) = {
      [NO_MASK] = {block_plain, block_dz}, [MASK_OF_Y] = {block_relu, block_relu_dz}, [MASK_OF_X] = {block_recompute}};
  const iso_batch_norm_problem *p = job->p;
  const iso_batch_norm_args *a = job->a;
  const int64_t at = chunk * ISO__CHUNK * p->c + first, left = p->rows - chunk * ISO__CHUNK;
  const block b = {.x = (const float *)a->x + at,
                   .dy = (const float *)a->dy + at,
                   .y_saved = p->activation && !p->recomputes ? (const float *)a->y_saved + at : NULL,
                   .gamma = p->recomputes ? (const float *)a->gamma + first : NULL,
                   .beta = p->recomputes ? (const float *)a->beta + first : NULL,
                   .dz = p->has_residual ? (float *)a->dz + at : NULL,
                   .mean = (const float *)a->mean + first,
                   .r = r,
                   .gamma_sum = gamma_sum,
                   .beta_sum = beta_sum,
                   .ld = p->c,
                   .rows = left < ISO__CHUNK ? left : ISO__CHUNK,
                   .m = m};
  variants[mask_of(p)][p->has_residual != 0](&b);
}

static void rstd(const task *job, int64_t first, int64_t m, float *r) {
  const float *var = (const float *)job->a->var + first;
  for (int64_t j = 0; j < m; j += VF_LANES) {
    const size_t n = (size_t)(m - j);
    vf_store_n(r + j, vf_div(vf_set1(1), vf_sqrt(vf_add(vf_load_n(var + j, n), vf_set1((float)job->a->eps)))), n);
  }
}
static void zero(float *v, int64_t m) { memset(v, 0, (size_t)m * sizeof *v); }
static bool closes_panel(const iso_batch_norm_problem *p, int64_t chunk) {
  return (chunk + 1) % (ISO__PANEL / ISO__CHUNK) == 0 || (chunk + 1) * ISO__CHUNK >= p->rows;
}

static void run_units(void *arg, int64_t begin, int64_t end, int thread) {
  const task *j = arg;
  float r[NORM_COLUMNS];
  (void)thread;
  for (int64_t unit = begin; unit < end; unit++) {
    const int64_t chunk = unit / j->n_blocks, first = unit % j->n_blocks * NORM_COLUMNS;
    const int64_t m = j->p->c - first < NORM_COLUMNS ? j->p->c - first : NORM_COLUMNS;
    float *gamma_sum = j->slots + 2 * chunk * j->p->c + first, *beta_sum = gamma_sum + j->p->c;
    rstd(j, first, m, r);
    zero(gamma_sum, m), zero(beta_sum, m);
    add_chunk(j, j->first_chunk + chunk, first, m, r, gamma_sum, beta_sum);
  }
}

/* Waves of slots; the outputs hold the totals on the way. */
static void run_waves(iso_context *ctx, task *j, int64_t n_chunks) {
  const iso_batch_norm_problem *p = j->p;
  const int64_t c = p->c, width = c < NORM_COLUMNS ? c : NORM_COLUMNS, grain = 32768 / (width * ISO__CHUNK);
  float *dgamma = j->a->dgamma, *dbeta = j->a->dbeta;
  zero(dgamma, c), zero(dbeta, c);
  /* A wave is whole panels (64 chunks = 16 panels), so no panel is open between waves. */
  for (j->first_chunk = 0; j->first_chunk < n_chunks; j->first_chunk += NORM_WAVE) {
    const int64_t wave = n_chunks - j->first_chunk < NORM_WAVE ? n_chunks - j->first_chunk : NORM_WAVE;
    iso__parallel_range(ctx, wave * j->n_blocks, grain > 0 ? grain : 1, 1, run_units, j);
    for (int64_t k = 0; k < wave; k += ISO__PANEL / ISO__CHUNK) {
      float *panel = j->slots + 2 * k * c;
      /* +0 + the first chunk's sum is that sum: no chunk sum is −0. */
      for (int64_t q = k + 1; q < k + ISO__PANEL / ISO__CHUNK && q < wave; q++)
        vec_join(panel, j->slots + 2 * q * c, 2 * c);
      vec_join(dgamma, panel, c), vec_join(dbeta, panel + c, c);
    }
  }
}

static void run_alone(const task *j, int64_t n_chunks) {
  const iso_batch_norm_problem *p = j->p;
  float r[NORM_COLUMNS], sums[2 * NORM_COLUMNS], panel[2 * NORM_COLUMNS];
  for (int64_t first = 0; first < p->c; first += NORM_COLUMNS) {
    const int64_t m = p->c - first < NORM_COLUMNS ? p->c - first : NORM_COLUMNS;
    float *dgamma = (float *)j->a->dgamma + first, *dbeta = (float *)j->a->dbeta + first;
    rstd(j, first, m, r);
    zero(sums, 2 * m), zero(panel, 2 * m), zero(dgamma, m), zero(dbeta, m);
    for (int64_t k = 0; k < n_chunks; k++) {
      add_chunk(j, k, first, m, r, sums, sums + m);
      vec_join(panel, sums, 2 * m);
      if (closes_panel(p, k)) vec_join(dgamma, panel, m), vec_join(dbeta, panel + m, m);
    }
  }
}

void ISA(iso__norm_bwd_reduce_run)(const iso__call *call) {
  const iso_batch_norm_problem *p = (const iso_batch_norm_problem *)call->problem;
  task j = {.p = p, .a = call->args, .slots = call->workspace, .n_blocks = (p->c + NORM_COLUMNS - 1) / NORM_COLUMNS};
  const int64_t n_chunks = (p->rows + ISO__CHUNK - 1) / ISO__CHUNK;
  if (p->c == 0) return;
  if (call->workspace) run_waves(call->ctx, &j, n_chunks);
  else run_alone(&j, n_chunks);
}
