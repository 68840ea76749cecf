/* weights_impl.h: row normalisation's dγ and dβ; included once per instruction set, which names its exports by
 * ISA(name).
 *
 * One pass over x and dy, threads over blocks of channels, each folding as it goes: a block's sums stay in L1 and take
 * 8 positions a visit. Mean and 1/deviation belong to a row: one value for all channels of a layer norm, else spread
 * over the block's channels once a sample. */
#include "base/pool.h"
#include "kernels/row_norm/row_norm.h"
#include "numeric/order.h"
#include "numeric/vec.h"

enum { BLOCK_COLUMNS = 256, VISIT = 8 };

typedef struct task {
  const iso_row_norm_problem *p;
  const iso_row_norm_args *a;
} task;

/* The sums of one block of channels: of this chunk, and of this panel; and its rows' statistics. */
typedef struct block {
  const task *t;
  int64_t first, m, sample; /* channels first … first + m − 1; the sample whose statistics are spread */
  float gamma[BLOCK_COLUMNS], beta[BLOCK_COLUMNS], gamma_panel[BLOCK_COLUMNS], beta_panel[BLOCK_COLUMNS];
  float mean[BLOCK_COLUMNS], rstd[BLOCK_COLUMNS];
} block;

static void spread(block *b, int64_t sample) {
  const iso_row_norm_problem *p = b->t->p;
  const int64_t width = p->channels / p->groups;
  if (b->sample == sample) return;
  b->sample = sample;
  for (int64_t j = 0; j < b->m; j++) {
    const int64_t row = sample * p->groups + (b->first + j) / width;
    b->mean[j] = p->rms ? 0 : ((const float *)b->t->a->mean)[row];
    b->rstd[j] = ((const float *)b->t->a->rstd)[row];
  }
}

/* n of VF_LANES channels at j through n_k positions from k on; `one`: all channels share a row's statistics. */
VEC_FN void visit(block *b, bool one, bool rms, int64_t k, int64_t n_k, int64_t j, size_t n) {
  const iso_row_norm_problem *p = b->t->p;
  const iso_row_norm_args *a = b->t->a;
  vf gamma = vf_load_n(b->gamma + j, n), beta = vf_load_n(b->beta + j, n);
  vf mean = vf_load_n(b->mean + j, n), rstd = vf_load_n(b->rstd + j, n);
  for (int64_t q = k; q < k + n_k; q++) {
    const int64_t at = q * p->channels + b->first + j;
    if (one) {
      if (!rms) mean = vf_set1(((const float *)a->mean)[q / p->positions]);
      rstd = vf_set1(((const float *)a->rstd)[q / p->positions]);
    }
    const vf x = vf_load_n((const float *)a->x + at, n), dy = vf_load_n((const float *)a->dy + at, n);
    gamma = vf_fma(dy, vf_mul(rms ? x : vf_sub(x, mean), rstd), gamma);
    beta = vf_add(beta, dy);
  }
  vf_store_n(b->gamma + j, gamma, n), vf_store_n(b->beta + j, beta, n);
}
VEC_FN void visit_block(block *b, bool one, bool rms, int64_t k, int64_t n_k) {
  int64_t j = 0;
  for (; j + VF_LANES <= b->m; j += VF_LANES) visit(b, one, rms, k, n_k, j, VF_LANES);
  if (j < b->m) visit(b, one, rms, k, n_k, j, (size_t)(b->m - j));
}
static void visit_one(block *b, int64_t k, int64_t n_k) { visit_block(b, true, false, k, n_k); }
static void visit_one_rms(block *b, int64_t k, int64_t n_k) { visit_block(b, true, true, k, n_k); }
static void visit_many(block *b, int64_t k, int64_t n_k) { visit_block(b, false, false, k, n_k); }
static void visit_many_rms(block *b, int64_t k, int64_t n_k) { visit_block(b, false, true, k, n_k); }

static void run_block(const task *t, int64_t first, int64_t m) {
  static void (*const visits[2][2])(block *, int64_t, int64_t) = {{visit_many, visit_many_rms},
                                                                  {visit_one, visit_one_rms}};
  const iso_row_norm_problem *p = t->p;
  const int64_t n = p->samples * p->positions;
  float none[BLOCK_COLUMNS], *dgamma = p->has_gamma ? (float *)t->a->dgamma + first : none,
                             *dbeta = p->has_beta ? (float *)t->a->dbeta + first : none;
  block b;
  memset(&b, 0, sizeof b);
  b.t = t, b.first = first, b.m = m, b.sample = -1;
  memset(dgamma, 0, (size_t)m * sizeof *dgamma), memset(dbeta, 0, (size_t)m * sizeof *dbeta);
  for (int64_t k = 0; k < n;) {
    const int64_t sample = k / p->positions, chunk_end = (k / ISO__CHUNK + 1) * ISO__CHUNK;
    int64_t end = k + VISIT < chunk_end ? k + VISIT : chunk_end;
    if (p->groups > 1) {
      spread(&b, sample);
      if (end > (sample + 1) * p->positions) end = (sample + 1) * p->positions;
    }
    if (end > n) end = n;
    visits[p->groups == 1][p->rms](&b, k, end - k);
    k = end;
    if (k < n && k % ISO__CHUNK) continue;
    vec_join(b.gamma_panel, b.gamma, m), vec_join(b.beta_panel, b.beta, m);
    if (k < n && k % ISO__PANEL) continue;
    vec_join(dgamma, b.gamma_panel, m), vec_join(dbeta, b.beta_panel, m);
  }
}

static void run_range(void *arg, int64_t begin, int64_t end, int thread) {
  (void)thread;
  for (int64_t first = begin; first < end; first += BLOCK_COLUMNS)
    run_block(arg, first, end - first < BLOCK_COLUMNS ? end - first : BLOCK_COLUMNS);
}

void ISA(iso__row_norm_bwd_weights_run)(const iso__call *call) {
  const iso_row_norm_problem *p = (const iso_row_norm_problem *)call->problem;
  task t = {.p = p, .a = call->args};
  const int64_t n = p->samples * p->positions, grain = 32768 / (n + 1) + 1;
  iso__parallel_range(call->ctx, p->channels, grain, 16, run_range, &t);
}
