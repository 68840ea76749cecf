/* rows_impl.h: the functions that engines.def's rows of one instruction set name, for each N. */
#include "kernels/conv/fft/fft.h"

#define ROW_FUNCTIONS(N, ISA, KERNELS)                                                                                 \
  size_t iso__conv_fft##N##_workspace_##ISA(const iso__problem *problem, int n_threads);                               \
  double iso__conv_fft##N##_cost_##ISA(const iso__problem *problem, int n_threads);                                    \
  void iso__conv_fft##N##_run_##ISA(const iso__call *call);                                                            \
  size_t iso__conv_fft##N##_kept_bytes_##ISA(const iso__problem *problem);                                             \
  void iso__conv_fft##N##_prepare_##ISA(const iso__call *call, void *kept);                                            \
  size_t iso__conv_fft##N##_workspace_##ISA(const iso__problem *problem, int n_threads) {                              \
    return iso__fft_workspace(&KERNELS, problem, ISO__FFT_SIZE_##N, n_threads);                                        \
  }                                                                                                                    \
  double iso__conv_fft##N##_cost_##ISA(const iso__problem *problem, int n_threads) {                                   \
    return iso__fft_cost(&KERNELS, problem, ISO__FFT_SIZE_##N, n_threads);                                             \
  }                                                                                                                    \
  void iso__conv_fft##N##_run_##ISA(const iso__call *call) { iso__fft_run(&KERNELS, ISO__FFT_SIZE_##N, call); }        \
  size_t iso__conv_fft##N##_kept_bytes_##ISA(const iso__problem *problem) {                                            \
    return iso__fft_kept_bytes(&KERNELS, problem, ISO__FFT_SIZE_##N);                                                  \
  }                                                                                                                    \
  void iso__conv_fft##N##_prepare_##ISA(const iso__call *call, void *kept) {                                           \
    iso__fft_prepare(&KERNELS, ISO__FFT_SIZE_##N, call, kept);                                                         \
  }
