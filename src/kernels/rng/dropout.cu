/* dropout.cu: dropout on CUDA devices: eight elements a thread, two Philox blocks or one byte of kept bits. */
#include "kernels/cuda/fours.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/rng/rng.h"
#include "numeric/philox.h"

namespace {
struct drop {
  iso_philox at;
  const float *x;
  float *y;
  uint8_t *bits;
  int64_t n;
  uint32_t threshold;
  float scale;
  int how; /* iso__dropout_bits */
  bool whole;
};
__global__ void __launch_bounds__(FOURS_THREADS) dropout(const __grid_constant__ drop d) {
  const int64_t byte = (int64_t)blockIdx.x * FOURS_THREADS + threadIdx.x, i = 8 * byte;
  if (i >= d.n) return;
  float v[2][4];
  read_four(v[0], d.x, i, d.n, d.whole), read_four(v[1], d.x, i + 4, d.n, d.whole);
  unsigned kept = 0;
  if (d.how == ISO__BITS_READ) {
    kept = d.bits[byte];
  } else {
#pragma unroll
    for (int half = 0; half < 2; half++) {
      uint32_t words[4];
      philox_block_at(&d.at, (uint32_t)(2 * byte) + half, words);
#pragma unroll
      for (int k = 0; k < 4; k++) kept |= (unsigned)(words[k] >> 8 >= d.threshold) << (4 * half + k);
    }
    if (d.n - i < 8) kept &= (1u << (int)(d.n - i)) - 1;
    if (d.how == ISO__BITS_WRITTEN) d.bits[byte] = (uint8_t)kept;
  }
#pragma unroll
  for (int k = 0; k < 8; k++) v[k / 4][k % 4] = kept >> k & 1 ? v[k / 4][k % 4] * d.scale : 0;
  write_four(d.y, i, d.n, d.whole, v[0]), write_four(d.y, i + 4, d.n, d.whole, v[1]);
}
} // namespace

extern "C" void iso__dropout_cuda_run(const iso__call *call) {
  const iso_rng_args *a = (const iso_rng_args *)call->args;
  const iso_rng_problem *p = (const iso_rng_problem *)call->problem;
  if (p->n == 0) return;
  drop d = {};
  d.at = {.seed = a->seed, .stream = a->stream, .site = a->site, .leaf = a->leaf, .step = a->step};
  d.x = (const float *)a->x, d.y = (float *)a->y, d.bits = (uint8_t *)a->bits, d.n = p->n, d.how = p->bits;
  d.threshold = (uint32_t)rint(a->a * 0x1p24), d.scale = (float)(1 / (1 - a->a));
  d.whole = lies_in_fours(a->x) && lies_in_fours(a->y);
  dropout<<<iso__cuda_blocks((p->n + 7) / 8, FOURS_THREADS), FOURS_THREADS, 0, iso__cuda_stream(call)>>>(d);
  iso__cuda_launched(call);
}
