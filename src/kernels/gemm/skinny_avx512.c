/* Products of few rows, for AVX-512. */
#define THE_TILES iso__tiles_avx512
#define RUN_NAME iso__gemm_skinny_run_avx512
#define KEPT_BYTES_NAME iso__gemm_skinny_kept_bytes_avx512
#define PREPARE_NAME iso__gemm_skinny_prepare_avx512
#include "kernels/gemm/skinny_impl.h"
