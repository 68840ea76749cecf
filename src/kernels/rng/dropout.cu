/* dropout.cu: dropout on CUDA devices: four elements a thread, one Philox block or half a byte of kept bits. */
#include "kernels/cuda/fours.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/rng/rng.h"
#include "numeric/philox.h"

namespace {
struct drop {
  iso_philox at;
  const uint32_t *step_at;
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
  const int64_t i = first_of_four();
  const bool is_there = i < d.n;
  float v[4];
  unsigned kept = 0;
  if (is_there) read_four(v, d.x, i, d.n, d.whole);
  if (d.how == ISO__BITS_READ) {
    if (is_there) kept = d.bits[i / 8] >> i % 8;
  } else {
    uint32_t words[4];
    iso_philox at = d.at;
    if (d.step_at) at.step = *d.step_at;
    philox_block_at(&at, (uint32_t)(i >> 2), words);
#pragma unroll
    for (int k = 0; k < 4; k++) kept |= (unsigned)(i + k < d.n && words[k] >> 8 >= d.threshold) << k;
    if (d.how == ISO__BITS_WRITTEN) { /* neighbours make a byte */
      const unsigned upper = __shfl_down_sync(0xffffffffu, kept, 1);
      if (is_there && threadIdx.x % 2 == 0) d.bits[i / 8] = (uint8_t)(kept | upper << 4);
    }
  }
  if (!is_there) return;
#pragma unroll
  for (int k = 0; k < 4; k++) v[k] = kept >> k & 1 ? v[k] * d.scale : 0;
  write_four(d.y, i, d.n, d.whole, v);
}
} // namespace

extern "C" void iso__dropout_cuda_run(const iso__call *call) {
  const iso_rng_args *a = (const iso_rng_args *)call->args;
  const iso_rng_problem *p = (const iso_rng_problem *)call->problem;
  if (p->n == 0) return;
  drop d = {};
  d.at = {.seed = a->seed, .stream = a->stream, .site = a->site, .leaf = a->leaf, .step = a->step};
  d.step_at = a->step_at;
  d.x = (const float *)a->x, d.y = (float *)a->y, d.bits = (uint8_t *)a->bits, d.n = p->n, d.how = p->bits;
  d.threshold = (uint32_t)rint(a->a * 0x1p24), d.scale = (float)(1 / (1 - a->a));
  d.whole = lies_in_fours(a->x) && lies_in_fours(a->y);
  dropout<<<iso__cuda_blocks((p->n + 3) / 4, FOURS_THREADS), FOURS_THREADS, 0, iso__cuda_stream(call)>>>(d);
  iso__cuda_launched(call);
}
