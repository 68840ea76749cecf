/* grouped_bwd_weights_avx512.c: the weights' gradient of convolution by groups of a few channels. */
#define SPREADS true
#include "kernels/conv/depthwise/bwd_weights_impl.h"

const iso__dw_summers iso__grouped_summers_avx512 = DEPTHWISE_SUMMERS;

const char *iso__grouped_bwd_weights_applicable_avx512(const iso__problem *problem);
size_t iso__grouped_bwd_weights_workspace_avx512(const iso__problem *problem, int n_threads);
double iso__grouped_bwd_weights_cost_avx512(const iso__problem *problem, int n_threads);
void iso__grouped_bwd_weights_run_avx512(const iso__call *call);

const char *iso__grouped_bwd_weights_applicable_avx512(const iso__problem *problem) {
  return iso__grouped_bwd_weights_applicable(&iso__grouped_summers_avx512, (const iso_conv_problem *)problem);
}
size_t iso__grouped_bwd_weights_workspace_avx512(const iso__problem *problem, int n_threads) {
  return iso__dw_bwd_weights_workspace(&iso__grouped_summers_avx512, (const iso_conv_problem *)problem, n_threads);
}
double iso__grouped_bwd_weights_cost_avx512(const iso__problem *problem, int n_threads) {
  return iso__dw_bwd_weights_cost(&iso__grouped_summers_avx512, (const iso_conv_problem *)problem, n_threads);
}
void iso__grouped_bwd_weights_run_avx512(const iso__call *call) {
  iso__dw_bwd_weights_run(&iso__grouped_summers_avx512, call);
}
