/* weights_lanes.cu: bwd_weights of depthwise convolution on CUDA, class `ordered`: channels in the lanes, a warp a
 * chunk of 256 positions and nine taps; every chunk's sums go to a slot, folded in order (../../gemm/fold.cu). Kernels
 * of 3×3 have a form of their own: it walks along rows and loads a column of x once for the taps that meet there. */
#include "kernels/conv/gather.cuh"
#include "kernels/conv/image_params.cuh"

namespace iso__tiles {
namespace {
enum { warps = 4, threads = warps * 32, taps_at_once = 9, chunk = 256 };

/* grid: x channels by 32, y taps by nine, z chunks by four (from first_z). a: dy, b: the image. */
__global__ void __launch_bounds__(threads) weights_lanes_kernel(const __grid_constant__ params p) {
  __shared__ int4 taps[taps_at_once];
  const int tap0 = blockIdx.y * taps_at_once;
  if (threadIdx.x < taps_at_once) taps[threadIdx.x] = tap_entry(p.g, tap0 + (int)threadIdx.x);
  __syncthreads();
  const int channel = blockIdx.x * 32 + threadIdx.x % 32, slot = (p.first_z + blockIdx.z) * warps + threadIdx.x / 32;
  if (channel >= p.m || slot >= p.n_slots) return;
  const int begin = slot * chunk, end = begin + chunk < p.k ? begin + chunk : p.k;
  float acc[taps_at_once];
#pragma unroll
  for (int j = 0; j < taps_at_once; j++) acc[j] = 0;
#pragma unroll 2
  for (int i = begin; i < end; i++) {
    const float dy = __ldg(p.a.data + (int64_t)i * p.a.ld + channel);
    const int4 at = position_entry(p.g, i);
#pragma unroll
    for (int j = 0; j < taps_at_once; j++) {
      const int4 tap = taps[j];
      const float x = is_inside(p.g, at, tap) ? __ldg(p.b.data + (at.x + tap.x) + channel) : 0.0f;
      acc[j] = __fmaf_rn(dy, x, acc[j]);
    }
  }
  float *to = p.slots + slot * p.slot_stride + (int64_t)channel * p.slot_ld + tap0;
#pragma unroll
  for (int j = 0; j < taps_at_once; j++)
    if (tap0 + j < p.n) to[j] = acc[j];
}

/* Two dimensions, 3×3, no dilation; grid: y rows of the kernel, so that there are enough warps to wait for memory. */
template <int step> __global__ void __launch_bounds__(threads) three_by_three_kernel(const __grid_constant__ params p) {
  constexpr int taps = 3, kept = taps - step; /* columns that the next position has too */
  const gather &g = p.g;
  const int channel = blockIdx.x * 32 + threadIdx.x % 32, slot = (p.first_z + blockIdx.z) * warps + threadIdx.x / 32;
  const int kernel_row = blockIdx.y;
  if (channel >= p.m || slot >= p.n_slots) return;
  const int begin = slot * chunk, end = begin + chunk < p.k ? begin + chunk : p.k;
  float acc[taps] = {0, 0, 0}, x[taps];
  for (int i = begin; i < end;) { /* the rest of a row, or of the chunk */
    int rest = i;
    const int u = split_off(rest, g.grid[0]), left = (int)g.grid[0].d - u, n = left < end - i ? left : end - i;
    const int4 at = position_entry(g, i);
    const float *dy = p.a.data + (int64_t)i * p.a.ld + channel;
    const float *line = p.b.data + (at.x + kernel_row * g.stride[1]) + channel;
    const bool inside = (unsigned)(at.z + kernel_row) < (unsigned)g.extent[1];
    const auto load = [&](int w, int c) {
      x[c] = inside & ((unsigned)(at.w + w) < (unsigned)g.extent[2]) ? __ldg(line + w * g.stride[2]) : 0.0f;
    };
#pragma unroll
    for (int c = 0; c < kept; c++) load(c, c);
#pragma unroll 8
    for (int q = 0; q < n; q++) {
      const float d = __ldg(dy + (int64_t)q * p.a.ld);
#pragma unroll
      for (int c = kept; c < taps; c++) load(q * step + c, c);
#pragma unroll
      for (int c = 0; c < taps; c++) acc[c] = __fmaf_rn(d, x[c], acc[c]);
#pragma unroll
      for (int c = 0; c < kept; c++) x[c] = x[c + step];
    }
    i += n;
  }
  float *to = p.slots + slot * p.slot_stride + (int64_t)channel * p.slot_ld + kernel_row * taps;
#pragma unroll
  for (int c = 0; c < taps; c++) to[c] = acc[c];
}

int64_t n_slots_of(const iso_conv_problem *p) {
  return (p->n * iso__conv_out_d(p) * iso__conv_out_h(p) * iso__conv_out_w(p) + chunk - 1) / chunk;
}
} // namespace
} // namespace iso__tiles

using namespace iso__tiles;

extern "C" {
size_t iso__depthwise_weights_cuda_workspace(const iso__problem *problem, int n_multiprocessors) {
  const iso_conv_problem *p = (const iso_conv_problem *)problem;
  (void)n_multiprocessors;
  return (size_t)(n_slots_of(p) * p->c * round_up(p->t * p->r * p->s, 4)) * 4;
}
double iso__depthwise_weights_cuda_cost(const iso__problem *problem, int n_multiprocessors) {
  const iso__operator *o = iso__problem_operator(problem);
  const double slots = (double)iso__depthwise_weights_cuda_workspace(problem, 1) * 2;
  const double memory = (o->bytes(problem) + slots) / 3500, work = o->flops(problem) / (25.0 * n_multiprocessors);
  return 20000 + (memory > work ? memory : work);
}
void iso__depthwise_weights_cuda_run(const iso__call *call) {
  const iso_conv_problem *p = (const iso_conv_problem *)call->problem;
  const iso_conv_args *args = (const iso_conv_args *)call->args;
  const iso__conv_product g = iso__conv_product_at(p, 0);
  cudaStream_t stream = iso__cuda_stream(call);
  params t = {};
  t.m = (int)p->c, t.n = (int)iso__conv_taps(&g), t.n_z = 1, t.c = (float *)args->dw, t.ldc = t.n;
  t.g = gather_of(g, false);
  t.k = t.g.n_positions, t.n_slots = (int)n_slots_of(p), t.chunks_per_slot = 1;
  t.slots = (float *)call->workspace, t.slot_ld = (int)round_up(t.n, 4), t.slot_stride = (int64_t)t.m * t.slot_ld;
  t.a = {(const float *)args->dy, 0, (int)p->k, t.m}, t.b = {(const float *)args->x, 0, (int)p->c, t.n};
  t.vector_c = aligned16(t.c) && t.n % 4 == 0;
  const bool three = iso__conv_is_flat(p) && p->r == 3 && p->s == 3 && p->dilation_h == 1 && p->dilation_w == 1;
  const int n_blocks = (t.n_slots + warps - 1) / warps;
  for (t.first_z = 0; t.first_z < n_blocks; t.first_z += 65535) {
    const unsigned blocks = (unsigned)(n_blocks - t.first_z < 65535 ? n_blocks - t.first_z : 65535);
    const bool by_row = three && p->stride_w <= 2;
    const dim3 grid((unsigned)(t.m + 31) / 32, by_row ? 3 : (unsigned)((t.n + taps_at_once - 1) / taps_at_once),
                    blocks);
    if (three && p->stride_w == 1) three_by_three_kernel<1><<<grid, threads, 0, stream>>>(t);
    else if (three && p->stride_w == 2) three_by_three_kernel<2><<<grid, threads, 0, stream>>>(t);
    else weights_lanes_kernel<<<grid, threads, 0, stream>>>(t);
  }
  fold(t, stream);
  iso__cuda_launched(call);
}
}
