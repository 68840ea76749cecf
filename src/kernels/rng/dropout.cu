/* dropout.cu: dropout on CUDA devices: four elements a thread, one Philox block. */
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/fours.cuh"
#include "kernels/rng/rng.h"
#include "numeric/philox.h"

namespace {
__global__ void __launch_bounds__(FOURS_THREADS)
    dropout(const __grid_constant__ iso_philox at, const float *x, float *y, int64_t n, uint32_t threshold, float scale, bool whole) {
  const int64_t i = first_of_four();
  if (i >= n) return;
  float v[4];
  uint32_t words[4];
  read_four(v, x, i, n, whole);
  philox_block_at(&at, (uint32_t)(i >> 2), words);
#pragma unroll
  for (int k = 0; k < 4; k++) v[k] = words[k] >> 8 >= threshold ? v[k] * scale : 0;
  write_four(y, i, n, whole, v);
}
} // namespace

extern "C" void iso__dropout_cuda_run(const iso__call *call) {
  const iso_rng_args *a = (const iso_rng_args *)call->args;
  const int64_t n = ((const iso_rng_problem *)call->problem)->n;
  if (n == 0) return;
  const iso_philox at = {.seed = a->seed, .stream = a->stream, .site = a->site, .leaf = a->leaf, .step = a->step};
  dropout<<<iso__cuda_blocks((n + 3) / 4, FOURS_THREADS), FOURS_THREADS, 0, iso__cuda_stream(call)>>>(
      at, (const float *)a->x, (float *)a->y, n, (uint32_t)rint(a->a * 0x1p24), (float)(1 / (1 - a->a)),
      lies_in_fours(a->x) && lies_in_fours(a->y));
  iso__cuda_launched(call);
}
