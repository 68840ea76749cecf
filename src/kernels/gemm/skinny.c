/* skinny.c: where `gemm_skinny` (skinny_impl.h) applies and what it costs. */
#include "kernels/gemm/skinny.h"
#include "kernels/gemm/nest.h"

const char *iso__gemm_skinny_applicable(const iso__problem *problem) {
  const iso_gemm_problem *p = (const iso_gemm_problem *)problem;
  return p->m <= ISO__SKINNY_MAX_ROWS ? NULL : "for at most 8 rows of C";
}

/* Reading B and the fmas: the latter wait for each other when there are few sums; a transposed B costs its shuffles. A
 * chunk's sums are stored, folded and loaded again. Least squares over `isobit bench --rule`. */
static double cost(const iso__problem *problem, double width, double gflops, int n_threads) {
  const iso_gemm_problem *p = (const iso_gemm_problem *)problem;
  const double m = (double)p->m, n = (double)p->n, k = (double)p->k, items = (double)p->batch;
  const double vectors = (double)((p->n + (int64_t)width - 1) / (int64_t)width),
               chains = m * (vectors < 8 ? vectors : 8),
               chunks = (double)((p->k + ISO__CHUNK_TERMS - 1) / ISO__CHUNK_TERMS);
  const double slow = chains < 8 ? 8 / chains : 1;
  const double products = 2 * m * vectors * width * k / gflops * slow;
  const double threads = items * n * k > (double)ISO__SKINNY_TASK_TERMS ? n_threads : 1;
  const double read = iso__gemm_read_cost(4 * n * k);
  const double strips = p->trans_b && !p->head.kept ? 0.065 * n * k : 0.09 * vectors * k;
  return 60 + (threads > 1 ? 3000 : 0) + items * (3 * m * vectors * chunks + products + read + strips) / threads;
}

#if defined(__x86_64__)
double iso__gemm_skinny_cost_avx2(const iso__problem *problem, int n_threads) {
  return cost(problem, 8, iso__gemm_blocking_of(&iso__tiles_avx2)->gflops, n_threads);
}
double iso__gemm_skinny_cost_avx512(const iso__problem *problem, int n_threads) {
  return cost(problem, 16, iso__gemm_blocking_of(&iso__tiles_avx512)->gflops, n_threads);
}
#endif
