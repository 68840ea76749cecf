/* image_lanes.cu: depthwise convolution on CUDA, class `ordered`, forward and bwd_data: channels in the lanes.
 *
 * A thread has four channels (one where they are not in aligned fours) of four neighbouring positions of a row, so that
 * a tap's weights are loaded once for four sums; x comes through L1, which holds what neighbours read again. Weights
 * are laid out (tap, channel) in the workspace first. bwd_data is the same for each stride phase (../geometry.h). */
#include "kernels/conv/image_params.cuh"
#include "kernels/gemm/gemm_tiles.cuh"
#include "kernels/gemm/tiles.cuh"

namespace iso__tiles {
namespace {
enum { threads = 128, positions = 4 };

struct lanes_params {
  params t;     /* rows, epilogue, gather; a: the image; b: weights (tap, channel), ld their pitch */
  int n_across; /* groups of positions in a row of the grid */
  int first_tap[3], tap_stride[3], kernel[3];
};

__device__ __forceinline__ float4 load_lanes(const float *from, bool vectors) {
  return vectors ? __ldg((const float4 *)from) : make_float4(__ldg(from), 0, 0, 0);
}

template <bool vectors>
__global__ void __launch_bounds__(threads) lanes_kernel(const __grid_constant__ lanes_params l) {
  const params &p = l.t;
  const gather &g = p.g;
  const int lanes = vectors ? p.n / 4 : p.n;
  const int64_t i = (int64_t)blockIdx.x * threads + threadIdx.x;
  const int channel = (int)(i % lanes) * (vectors ? 4 : 1);
  int64_t rest = i / lanes;
  const int u0 = (int)(rest % l.n_across) * positions;
  int row = (int)(rest / l.n_across); /* (n, o, t) of the grid */
  const int n_u = (int)g.grid[0].d, grid_row = row * n_u;
  if (grid_row >= p.m) return;
  const int t = split_off(row, g.grid[1]), o = split_off(row, g.grid[2]);
  const int d0 = o * g.step[0] + g.offset[0], h0 = t * g.step[1] + g.offset[1], w0 = u0 * g.step[2] + g.offset[2];
  const float *image = p.a.data + (int64_t)row * g.stride_n + channel;
  float4 acc[positions], panel[positions], total[positions];
#pragma unroll
  for (int q = 0; q < positions; q++) acc[q] = panel[q] = total[q] = make_float4(0, 0, 0, 0);
  int terms = 0;
  for (int a = 0; a < (int)g.taps[0].d; a++)
    for (int b = 0; b < (int)g.taps[1].d; b++) {
      const int d = d0 + a * g.tap_step[0], h = h0 + b * g.tap_step[1];
      const bool row_inside = (unsigned)d < (unsigned)g.extent[0] && (unsigned)h < (unsigned)g.extent[1];
      const float *line = image + (int64_t)d * g.stride[0] + (int64_t)h * g.stride[1];
      const int kernel_row =
          (l.first_tap[0] + a * l.tap_stride[0]) * l.kernel[1] + l.first_tap[1] + b * l.tap_stride[1];
#pragma unroll 1
      for (int c = 0; c < (int)g.taps[2].d; c++) {
        const int tap = kernel_row * l.kernel[2] + l.first_tap[2] + c * l.tap_stride[2];
        const float4 weight = load_lanes(p.b.data + (int64_t)tap * p.b.ld + channel, vectors);
#pragma unroll
        for (int q = 0; q < positions; q++) {
          const int w = w0 + q * g.step[2] + c * g.tap_step[2];
          float4 x = make_float4(0, 0, 0, 0);
          if (row_inside && (unsigned)w < (unsigned)g.extent[2])
            x = load_lanes(line + (int64_t)w * g.stride[2], vectors);
          acc[q].x = __fmaf_rn(x.x, weight.x, acc[q].x);
          if (!vectors) continue;
          acc[q].y = __fmaf_rn(x.y, weight.y, acc[q].y), acc[q].z = __fmaf_rn(x.z, weight.z, acc[q].z);
          acc[q].w = __fmaf_rn(x.w, weight.w, acc[q].w);
        }
        if (++terms % 256) continue;
#pragma unroll
        for (int q = 0; q < positions; q++) {
          panel[q] = add4(panel[q], acc[q]), acc[q] = make_float4(0, 0, 0, 0);
          if (terms % 1024 == 0) total[q] = add4(total[q], panel[q]), panel[q] = make_float4(0, 0, 0, 0);
        }
      }
    }
#pragma unroll
  for (int q = 0; q < positions; q++) {
    if (u0 + q >= n_u) break;
    const float4 sum = add4(total[q], add4(panel[q], acc[q]));
    const int64_t to = row_offset(p, grid_row + u0 + q);
    if (vectors) store_final(p, 0, to, channel, sum);
    else {
      float *c = p.c + to + channel;
      *c = finish(p.e, sum.x, 0, p.e.bias ? p.e.bias[channel] : 0, p.e.residual ? p.e.residual[to + channel] : 0);
    }
  }
}

void run_product(const iso__call *call, const iso__conv_product &g, const float *weights, int64_t pitch) {
  const iso_conv_problem *p = (const iso_conv_problem *)call->problem;
  const iso_conv_args *args = (const iso_conv_args *)call->args;
  const bool forward = p->head.op == ISO__OP_CONV_FWD;
  lanes_params l = {};
  params &t = l.t;
  t.m = (int)(g.n * g.plane.n_grid * g.row.n_grid * g.col.n_grid), t.n = (int)p->c;
  if (t.m == 0) return;
  t.c = (float *)(forward ? args->y : args->dx), t.ldc = (int)p->c;
  t.a.data = (const float *)(forward ? args->x : args->dy);
  t.b = {weights, 0, (int)pitch, t.n};
  t.g = gather_of(g, false), t.rows = row_map_of(g);
  t.e.bias = forward && p->has_bias ? (const float *)args->bias : NULL;
  t.e.residual = forward && p->has_residual ? (const float *)args->residual : NULL;
  t.e.activation = forward ? p->activation : (uint8_t)ISO__ACTIVATION_NONE;
  t.vector_c = t.n % 4 == 0 && aligned16(t.c) && (!t.e.residual || aligned16(t.e.residual));
  const iso__conv_axis *axes[3] = {&g.plane, &g.row, &g.col};
  const int64_t kernel[3] = {p->t, p->r, p->s};
  for (int i = 0; i < 3; i++) {
    l.first_tap[i] = (int)axes[i]->first_tap, l.tap_stride[i] = (int)axes[i]->tap_stride, l.kernel[i] = (int)kernel[i];
    t.g.taps[i].d = (uint32_t)axes[i]->n_taps; /* none at all, too */
  }
  l.n_across = (int)((g.col.n_grid + positions - 1) / positions);
  const bool vectors = t.n % 4 == 0 && aligned16(t.a.data);
  const int64_t n = (int64_t)(t.m / g.col.n_grid) * l.n_across * (vectors ? t.n / 4 : t.n);
  cudaStream_t stream = iso__cuda_stream(call);
  if (vectors) lanes_kernel<true><<<iso__cuda_blocks(n, threads), threads, 0, stream>>>(l);
  else lanes_kernel<false><<<iso__cuda_blocks(n, threads), threads, 0, stream>>>(l);
}
} // namespace
} // namespace iso__tiles

using namespace iso__tiles;

extern "C" {
const char *iso__depthwise_cuda_applicable(const iso__problem *problem) {
  const iso_conv_problem *p = (const iso_conv_problem *)problem;
  if (p->groups != p->c || p->groups != p->k) return "not depthwise";
  if (p->x_first) return "channels are not neighbours";
  if (p->c == 0 || p->t * p->r * p->s == 0) return "empty";
  return iso__image_tiles_applicable(p);
}
size_t iso__depthwise_cuda_workspace(const iso__problem *problem, int n_multiprocessors) {
  const iso_conv_problem *p = (const iso_conv_problem *)problem;
  (void)n_multiprocessors;
  return (size_t)(p->t * p->r * p->s * round_up(p->c, 4)) * 4;
}
double iso__depthwise_cuda_cost(const iso__problem *problem, int n_multiprocessors) {
  const iso__operator *o = iso__problem_operator(problem);
  const double memory = o->bytes(problem) / 3500, work = o->flops(problem) / (40.0 * n_multiprocessors);
  return 3000 + 3000 * (double)iso__conv_n_products((const iso_conv_problem *)problem) +
         (memory > work ? memory : work);
}
void iso__depthwise_cuda_run(const iso__call *call) {
  const iso_conv_problem *p = (const iso_conv_problem *)call->problem;
  const iso_conv_args *args = (const iso_conv_args *)call->args;
  const int64_t taps = p->t * p->r * p->s, pitch = round_up(p->c, 4);
  turn({.from = (const float *)args->w,
        .to = (float *)call->workspace,
        .rows = p->c,
        .columns = taps,
        .ld_from = taps,
        .ld_to = pitch,
        .n_z = 1},
       iso__cuda_stream(call));
  for (int64_t i = 0; i < iso__conv_n_products(p); i++)
    run_product(call, iso__conv_product_at(p, i), (const float *)call->workspace, pitch);
  iso__cuda_launched(call);
}
}
