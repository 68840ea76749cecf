/* pointwise.c: convolution by 1×1 kernels, stride 1, no padding: products of the matrices as they lie in memory.
 *
 * All positions of all samples are the rows of x (·,c), y and dy (·,k); weights are (k,c). The product's order is the
 * convolution's: k ascending is input channel, output channel, or (sample, row, column). What the matrix engines do
 * about packing and threads is theirs; of the two, the one whose estimate is lower runs. */
#include "kernels/conv/conv.h"
#include "kernels/gemm/gemm.h"

#if defined(__x86_64__)

/* One matrix engine of kernels/gemm/engines.def. */
typedef struct product {
  const char *(*applicable)(const iso__problem *problem);
  size_t (*workspace)(const iso__problem *problem, int n_threads);
  double (*cost)(const iso__problem *problem, int n_threads);
  void (*run)(const iso__call *call);
} product;

const char *iso__gemm_split_k_applicable(const iso__problem *problem);
size_t iso__gemm_blocked_workspace_avx2(const iso__problem *problem, int n_threads);
size_t iso__gemm_blocked_workspace_avx512(const iso__problem *problem, int n_threads);
size_t iso__gemm_split_k_workspace_avx2(const iso__problem *problem, int n_threads);
size_t iso__gemm_split_k_workspace_avx512(const iso__problem *problem, int n_threads);
double iso__gemm_blocked_cost_avx2(const iso__problem *problem, int n_threads);
double iso__gemm_blocked_cost_avx512(const iso__problem *problem, int n_threads);
double iso__gemm_split_k_cost_avx2(const iso__problem *problem, int n_threads);
double iso__gemm_split_k_cost_avx512(const iso__problem *problem, int n_threads);
void iso__gemm_blocked_run_avx2(const iso__call *call);
void iso__gemm_blocked_run_avx512(const iso__call *call);
void iso__gemm_split_k_run_avx2(const iso__call *call);
void iso__gemm_split_k_run_avx512(const iso__call *call);

enum { BLOCKED, SPLIT_K, N_PRODUCTS };
static const product products_avx2[N_PRODUCTS] = {
    [BLOCKED] = {iso__always_applicable, iso__gemm_blocked_workspace_avx2, iso__gemm_blocked_cost_avx2,
                 iso__gemm_blocked_run_avx2},
    [SPLIT_K] = {iso__gemm_split_k_applicable, iso__gemm_split_k_workspace_avx2, iso__gemm_split_k_cost_avx2,
                 iso__gemm_split_k_run_avx2}};
static const product products_avx512[N_PRODUCTS] = {
    [BLOCKED] = {iso__always_applicable, iso__gemm_blocked_workspace_avx512, iso__gemm_blocked_cost_avx512,
                 iso__gemm_blocked_run_avx512},
    [SPLIT_K] = {iso__gemm_split_k_applicable, iso__gemm_split_k_workspace_avx512, iso__gemm_split_k_cost_avx512,
                 iso__gemm_split_k_run_avx512}};

static const iso_conv_problem *conv_of(const iso__problem *problem) { return (const iso_conv_problem *)problem; }

const char *iso__conv_pointwise_applicable(const iso__problem *problem);
const char *iso__conv_pointwise_applicable(const iso__problem *problem) {
  const iso_conv_problem *p = conv_of(problem);
  if (p->t != 1 || p->r != 1 || p->s != 1) return "the kernel is larger than 1×1";
  if (p->groups != 1) return "there are groups";
  if (p->stride_d != 1 || p->stride_h != 1 || p->stride_w != 1) return "strides are not 1";
  if (p->pad_front || p->pad_back || p->pad_top || p->pad_bottom || p->pad_left || p->pad_right)
    return "there is padding";
  if (p->x_first) return "x is channels-first";
  if (p->has_residual) return "adds no residual";
  return NULL;
}

/* The matrix product: m × n, summed over k. */
static iso_gemm_problem matrices(const iso_conv_problem *p) {
  const int64_t positions = p->n * p->d * p->h * p->w;
  iso_gemm_problem g;
  ISO__PROBLEM_INIT(g, ISO__OP_GEMM, p->head.dtype);
  g.batch = 1;
  switch (p->head.op) {
  case ISO__OP_CONV_FWD: /* x·wᵀ */
    g.m = positions, g.n = p->k, g.k = p->c;
    g.lda = p->c, g.ldb = p->c, g.ldc = p->k;
    g.trans_b = 1;
    g.has_bias = p->has_bias;
    g.activation = p->activation;
    break;
  case ISO__OP_CONV_BWD_DATA: /* dy·w */
    g.m = positions, g.n = p->c, g.k = p->k;
    g.lda = p->k, g.ldb = p->c, g.ldc = p->c;
    break;
  default: /* dyᵀ·x */
    g.m = p->k, g.n = p->c, g.k = positions;
    g.lda = p->k, g.ldb = p->c, g.ldc = p->c;
    g.trans_a = 1;
  }
  return g;
}

static iso_gemm_args operands(const iso_conv_problem *p, const iso_conv_args *a) {
  switch (p->head.op) {
  case ISO__OP_CONV_FWD: return (iso_gemm_args){.a = a->x, .b = a->w, .c = a->y, .bias = a->bias};
  case ISO__OP_CONV_BWD_DATA: return (iso_gemm_args){.a = a->dy, .b = a->w, .c = a->dx};
  default: return (iso_gemm_args){.a = a->dy, .b = a->x, .c = a->dw};
  }
}

static const product *choose(const product *products, const iso_gemm_problem *g, int n_threads) {
  const product *best = &products[BLOCKED];
  for (int i = 1; i < N_PRODUCTS; i++)
    if (!products[i].applicable(&g->head) && products[i].cost(&g->head, n_threads) < best->cost(&g->head, n_threads))
      best = &products[i];
  return best;
}

static size_t workspace(const product *products, const iso__problem *problem, int n_threads) {
  const iso_gemm_problem g = matrices(conv_of(problem));
  return choose(products, &g, n_threads)->workspace(&g.head, n_threads);
}
static double cost(const product *products, const iso__problem *problem, int n_threads) {
  const iso_gemm_problem g = matrices(conv_of(problem));
  return choose(products, &g, n_threads)->cost(&g.head, n_threads);
}
static void run(const product *products, const iso__call *call) {
  const iso_conv_problem *p = conv_of(call->problem);
  const iso_gemm_problem g = matrices(p);
  const iso_gemm_args args = operands(p, call->args);
  iso__call inner = *call;
  inner.problem = &g.head;
  inner.args = &args;
  choose(products, &g, iso_n_threads(call->ctx))->run(&inner);
}

size_t iso__conv_pointwise_workspace_avx2(const iso__problem *problem, int n_threads);
size_t iso__conv_pointwise_workspace_avx512(const iso__problem *problem, int n_threads);
double iso__conv_pointwise_cost_avx2(const iso__problem *problem, int n_threads);
double iso__conv_pointwise_cost_avx512(const iso__problem *problem, int n_threads);
void iso__conv_pointwise_run_avx2(const iso__call *call);
void iso__conv_pointwise_run_avx512(const iso__call *call);

size_t iso__conv_pointwise_workspace_avx2(const iso__problem *problem, int n_threads) {
  return workspace(products_avx2, problem, n_threads);
}
size_t iso__conv_pointwise_workspace_avx512(const iso__problem *problem, int n_threads) {
  return workspace(products_avx512, problem, n_threads);
}
double iso__conv_pointwise_cost_avx2(const iso__problem *problem, int n_threads) {
  return cost(products_avx2, problem, n_threads);
}
double iso__conv_pointwise_cost_avx512(const iso__problem *problem, int n_threads) {
  return cost(products_avx512, problem, n_threads);
}
void iso__conv_pointwise_run_avx2(const iso__call *call) { run(products_avx2, call); }
void iso__conv_pointwise_run_avx512(const iso__call *call) { run(products_avx512, call); }

#endif
