/* depthwise_avx2.c: depthwise convolution, forward and bwd_data. */
#include "kernels/conv/depthwise/depthwise_impl.h"

const iso__dw_kernels iso__dw_kernels_avx2 = DEPTHWISE_KERNELS;

size_t iso__dw_workspace_avx2(const iso__problem *problem, int n_threads);
double iso__dw_cost_avx2(const iso__problem *problem, int n_threads);
void iso__dw_run_avx2(const iso__call *call);

size_t iso__dw_workspace_avx2(const iso__problem *problem, int n_threads) {
  (void)n_threads;
  return iso__dw_workspace(&iso__dw_kernels_avx2, (const iso_conv_problem *)problem);
}
double iso__dw_cost_avx2(const iso__problem *problem, int n_threads) {
  return iso__dw_cost(&iso__dw_kernels_avx2, (const iso_conv_problem *)problem, n_threads);
}
void iso__dw_run_avx2(const iso__call *call) { iso__dw_run_problem(&iso__dw_kernels_avx2, call); }
