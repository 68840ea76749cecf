/* Products of few rows, for AVX2. */
#define THE_TILES iso__tiles_avx2
#define RUN_NAME iso__gemm_skinny_run_avx2
#define KEPT_BYTES_NAME iso__gemm_skinny_kept_bytes_avx2
#define PREPARE_NAME iso__gemm_skinny_prepare_avx2
#include "kernels/gemm/skinny_impl.h"
