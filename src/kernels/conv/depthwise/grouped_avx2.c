/* grouped_avx2.c: convolution by groups of a few channels, forward and bwd_data. */
#include "kernels/conv/depthwise/grouped_impl.h"

const iso__dw_kernels iso__grouped_kernels_avx2 = GROUPED_KERNELS;

const char *iso__grouped_applicable_avx2(const iso__problem *problem);
size_t iso__grouped_workspace_avx2(const iso__problem *problem, int n_threads);
double iso__grouped_cost_avx2(const iso__problem *problem, int n_threads);
void iso__grouped_run_avx2(const iso__call *call);

const char *iso__grouped_applicable_avx2(const iso__problem *problem) {
  return iso__grouped_applicable(&iso__grouped_kernels_avx2, (const iso_conv_problem *)problem);
}
size_t iso__grouped_workspace_avx2(const iso__problem *problem, int n_threads) {
  (void)n_threads;
  return iso__dw_workspace(&iso__grouped_kernels_avx2, (const iso_conv_problem *)problem);
}
double iso__grouped_cost_avx2(const iso__problem *problem, int n_threads) {
  return iso__dw_cost(&iso__grouped_kernels_avx2, (const iso_conv_problem *)problem, n_threads);
}
void iso__grouped_run_avx2(const iso__call *call) { iso__dw_run_problem(&iso__grouped_kernels_avx2, call); }
