/* chain_impl.h: chains over f32, block by block: a block's intermediate results stay in L1, and each step is the very
 * kernel of its function. Only the first steps of a block read memory and only the last writes it, so the next block is
 * fetched while the others compute. Included after map_impl.h, once per instruction set. */
#include "kernels/map/chain.h"

enum { CHAIN_BLOCK = 512 };

typedef struct chain_job {
  const iso_chain_problem *p;
  const iso_chain_args *args;
  int last;
  int64_t n_blocks; /* of ROW_BLOCK elements a row */
  float scalar[ISO__CHAIN_STEPS][3];
} chain_job;

/* Asks for the block behind one at p of an operand that has `left` elements from p on. */
static inline void fetch_next(const float *p, int64_t left, int write) {
  const int64_t end = left < 2 * CHAIN_BLOCK ? left : 2 * CHAIN_BLOCK;
  if (write)
    for (int64_t q = CHAIN_BLOCK; q < end; q += 16) __builtin_prefetch(p + q, 1, 3);
  else
    for (int64_t q = CHAIN_BLOCK; q < end; q += 16) __builtin_prefetch(p + q, 0, 3);
}

/* m ≤ CHAIN_BLOCK elements; value[k]: where operand k lies, walk[k] as in span. */
static void run_steps(const chain_job *j, const float **value, int64_t *walk, float (*block)[CHAIN_BLOCK], float *out,
                      int64_t m) {
  const iso_chain_problem *p = j->p;
  for (int k = 0; k < p->n_steps; k++) {
    const int result = ISO__CHAIN_INPUTS + k;
    span s = {.out = k == p->n_steps - 1 ? out : block[result],
              .rows = 1,
              .n = m,
              .s0 = j->scalar[k][0],
              .s1 = j->scalar[k][1],
              .s2 = j->scalar[k][2]};
    for (int i = 0; i < 3; i++) s.in[i] = value[p->arg[k][i]], s.walk[i] = walk[p->arg[k][i]];
    kernels[p->fn[k]](&s);
    value[result] = s.out, walk[result] = 1;
  }
}

static void run_chain_row(const chain_job *j, float *out, const float *const *in, int64_t n) {
  const iso_chain_problem *p = j->p;
  float block[ISO__CHAIN_INPUTS + ISO__CHAIN_STEPS][CHAIN_BLOCK];
  const float *value[ISO__CHAIN_INPUTS + ISO__CHAIN_STEPS] = {NULL};
  int64_t walk[ISO__CHAIN_INPUTS + ISO__CHAIN_STEPS] = {0};
  const int64_t step_out = p->strides[0][j->last];
  for (int64_t i = 0; i < n; i += CHAIN_BLOCK) {
    const int64_t m = n - i < CHAIN_BLOCK ? n - i : CHAIN_BLOCK;
    for (int k = 0; k < p->n_inputs; k++) {
      const int64_t step = p->strides[k + 1][j->last];
      walk[k] = step != 0;
      value[k] = step == 1 ? in[k] + i : block[k];
      if (step == 1) fetch_next(in[k] + i, n - i, 0);
      if (step == 0) vf_store(block[k], vf_set1(*in[k]));
      else if (step != 1)
        for (int64_t q = 0; q < m; q++) block[k][q] = in[k][(i + q) * step];
    }
    float last[CHAIN_BLOCK];
    if (step_out == 1) fetch_next(out + i, n - i, 1);
    run_steps(j, value, walk, block, step_out == 1 ? out + i : last, m);
    for (int64_t q = 0; q < m && step_out != 1; q++) out[(i + q) * step_out] = last[q];
  }
}

static void run_chain_units(void *arg, int64_t begin, int64_t end, int thread) {
  const chain_job *j = arg;
  const iso_chain_problem *p = j->p;
  (void)thread;
  for (int64_t unit = begin; unit < end; unit++) {
    int64_t row = unit / j->n_blocks, offsets[1 + ISO__CHAIN_INPUTS] = {0};
    const int64_t first = unit % j->n_blocks * ROW_BLOCK, left = p->shape[j->last] - first;
    for (int d = j->last - 1; d >= 0 && row; d--) {
      const int64_t digit = row % p->shape[d];
      row /= p->shape[d];
      for (int o = 0; o <= p->n_inputs; o++) offsets[o] += digit * p->strides[o][d];
    }
    const float *in[ISO__CHAIN_INPUTS] = {NULL};
    for (int k = 0; k < p->n_inputs; k++)
      in[k] = (const float *)j->args->in[k] + offsets[k + 1] + first * p->strides[k + 1][j->last];
    run_chain_row(j, (float *)j->args->out + offsets[0] + first * p->strides[0][j->last], in,
                  left < ROW_BLOCK || j->n_blocks == 1 ? left : ROW_BLOCK);
  }
}

void ISA(iso__chain_run)(const iso__call *call) {
  const iso_chain_problem *p = (const iso_chain_problem *)call->problem;
  chain_job j = {.p = p, .args = call->args, .last = p->n_dims - 1, .n_blocks = 1};
  int64_t rows = 1, grain = 16384;
  for (int d = 0; d < j.last; d++) rows *= p->shape[d];
  const int64_t n = p->shape[j.last];
  if (rows == 0 || n == 0) return;
  for (int k = 0; k < p->n_steps; k++) {
    for (int i = 0; i < 3; i++) j.scalar[k][i] = (float)j.args->scalar[k][i];
    if (iso__map_grain((iso__map_fn)p->fn[k]) < grain) grain = iso__map_grain((iso__map_fn)p->fn[k]);
  }
  if (n > LONG_ROW) j.n_blocks = (n + ROW_BLOCK - 1) / ROW_BLOCK;
  const int64_t unit = j.n_blocks > 1 ? ROW_BLOCK : n;
  iso__parallel_range(call->ctx, rows * j.n_blocks, (grain / 2 + unit - 1) / unit, 1, run_chain_units, &j);
}
