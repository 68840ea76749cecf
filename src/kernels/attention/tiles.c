/* tiles.c: where the vectorised engines of attention can be used, their workspace and cost. */
#include "kernels/attention/tiles.h"

const char *iso__attention_tiles_applicable(const iso__problem *problem) {
  const iso_attention_problem *p = (const iso_attention_problem *)problem;
  if (p->e > ISO__TILE_WIDTH || p->f > ISO__TILE_WIDTH) return "heads wider than 256";
  if (p->ds) return "the gradient of the scores is not stored by tiles";
  return NULL;
}

int64_t iso__tiles_forward_floats(const iso_attention_problem *p) {
  const int64_t e = iso__tile_columns(p->e), f = iso__tile_columns(p->f);
  /* q, its transpose, k, v, o, scores, an added mask, and what a query has */
  return ISO__TILE * (3 * e + 2 * f + 2 * ISO__TILE + 8) + 256;
}
int64_t iso__tiles_backward_floats(const iso_attention_problem *p) {
  const int64_t e = iso__tile_columns(p->e), f = iso__tile_columns(p->f), rows = p->l * p->group;
  const int64_t tile = ISO__TILE * (3 * e + 4 * f + 3 * ISO__TILE + 8) + 256;
  /* k and v, and their gradients' chunk, panel and total; dq's panel and total */
  return tile + 4 * ISO__TILE_CHUNK * (e + f) + (p->s > ISO__TILE_CHUNK ? 2 * rows * e : 0);
}
size_t iso__attention_tiles_workspace(const iso__problem *problem, int n_threads) {
  const iso_attention_problem *p = (const iso_attention_problem *)problem;
  const int64_t floats =
      problem->op == ISO__OP_ATTENTION_FWD ? iso__tiles_forward_floats(p) : iso__tiles_backward_floats(p);
  return (size_t)n_threads * (((size_t)floats * sizeof(float) + 63) / 64 * 64);
}

/* Products run at so many operations a ns; an exponential and what goes with it is a few dozen more. Short tiles waste
 * lanes. */
static double cost(const iso__problem *problem, int n_threads, double flops_per_ns, int lanes) {
  const iso_attention_problem *p = (const iso_attention_problem *)problem;
  const double scores = (double)p->batch * (double)p->heads * (double)((p->l + lanes - 1) / lanes * lanes) *
                        (double)p->s * (p->causal ? 0.6 : 1);
  const double e = (double)p->e, f = (double)p->f;
  const bool forward = problem->op == ISO__OP_ATTENTION_FWD;
  const double work = scores * (2 * (forward ? e + f : 3 * e + 2 * f) + 48) / flops_per_ns;
  const bool shared = n_threads > 1 && work > 40000;
  return 500 + (shared ? 3000 : 0) + work / (shared ? n_threads : 1);
}
double iso__attention_tiles_cost_avx2(const iso__problem *problem, int n_threads) {
  return cost(problem, n_threads, 50, 8);
}
double iso__attention_tiles_cost_avx512(const iso__problem *problem, int n_threads) {
  return cost(problem, n_threads, 100, 16);
}
