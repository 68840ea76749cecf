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

/* A thread's place: channels from `channel`, positions (row, u0 … u0 + 3) of the grid; row is a sample in the end. */
struct lanes_place {
  int channel, u0, grid_row, sample, d, h, w;
};
template <bool vectors> __device__ __forceinline__ bool find_place(const lanes_params &l, lanes_place &at) {
  const gather &g = l.t.g;
  const int lanes = vectors ? l.t.n / 4 : l.t.n;
  const int64_t i = (int64_t)blockIdx.x * threads + threadIdx.x;
  at.channel = (int)(i % lanes) * (vectors ? 4 : 1);
  at.u0 = (int)(i / lanes % l.n_across) * positions;
  int row = (int)(i / lanes / l.n_across); /* (n, o, t) of the grid */
  at.grid_row = row * (int)g.grid[0].d;
  if (at.grid_row >= l.t.m) return false;
  const int t = split_off(row, g.grid[1]), o = split_off(row, g.grid[2]);
  at.sample = row;
  at.d = o * g.step[0] + g.offset[0], at.h = t * g.step[1] + g.offset[1], at.w = at.u0 * g.step[2] + g.offset[2];
  return true;
}
__device__ __forceinline__ int first_tap_of_row(const lanes_params &l, int a, int b) {
  return ((l.first_tap[0] + a * l.tap_stride[0]) * l.kernel[1] + l.first_tap[1] + b * l.tap_stride[1]) * l.kernel[2] +
         l.first_tap[2];
}
template <bool vectors>
__device__ __forceinline__ void store_lanes(const params &p, const lanes_place &at, int q, float4 sum) {
  if (at.u0 + q >= (int)p.g.grid[0].d) return;
  const int64_t to = row_offset(p, at.grid_row + at.u0 + q);
  if (vectors) {
    if (p.plain) *(float4 *)(p.c + to + at.channel) = sum;
    else store_final(p, 0, to, at.channel, sum);
    return;
  }
  float *c = p.c + to + at.channel;
  *c = finish(p.e, sum.x, 0, p.e.bias ? p.e.bias[at.channel] : 0, p.e.residual ? p.e.residual[to + at.channel] : 0);
}
__device__ __forceinline__ float4 fma_lanes(float4 x, float4 w, float4 acc) {
  return make_float4(__fmaf_rn(x.x, w.x, acc.x), __fmaf_rn(x.y, w.y, acc.y), __fmaf_rn(x.z, w.z, acc.z),
                     __fmaf_rn(x.w, w.w, acc.w));
}

template <bool vectors>
__global__ void __launch_bounds__(threads) lanes_kernel(const __grid_constant__ lanes_params l) {
  const params &p = l.t;
  const gather &g = p.g;
  lanes_place at;
  if (!find_place<vectors>(l, at)) return;
  const float *image = p.a.data + (int64_t)at.sample * g.stride_n + at.channel;
  float4 acc[positions], panel[positions], total[positions];
#pragma unroll
  for (int q = 0; q < positions; q++) acc[q] = panel[q] = total[q] = make_float4(0, 0, 0, 0);
  int terms = 0;
  for (int a = 0; a < (int)g.taps[0].d; a++)
    for (int b = 0; b < (int)g.taps[1].d; b++) {
      const int d = at.d + a * g.tap_step[0], h = at.h + b * g.tap_step[1], first = first_tap_of_row(l, a, b);
      const bool row_inside = (unsigned)d < (unsigned)g.extent[0] && (unsigned)h < (unsigned)g.extent[1];
      const float *line = image + (int64_t)d * g.stride[0] + (int64_t)h * g.stride[1];
#pragma unroll 1
      for (int c = 0; c < (int)g.taps[2].d; c++) {
        const int64_t tap = first + c * l.tap_stride[2];
        const float4 weight = load_lanes(p.b.data + tap * p.b.ld + at.channel, vectors);
#pragma unroll
        for (int q = 0; q < positions; q++) {
          const int w = at.w + q * g.step[2] + c * g.tap_step[2];
          float4 x = make_float4(0, 0, 0, 0);
          if (row_inside && (unsigned)w < (unsigned)g.extent[2])
            x = load_lanes(line + (int64_t)w * g.stride[2], vectors);
          acc[q] = fma_lanes(x, weight, acc[q]);
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
  for (int q = 0; q < positions; q++) store_lanes<vectors>(p, at, q, add4(total[q], add4(panel[q], acc[q])));
}

/* Three neighbouring columns, ascending or descending, in one chunk; vectors. */
template <int step>
__global__ void __launch_bounds__(threads) three_columns_kernel(const __grid_constant__ lanes_params l) {
  constexpr int taps = 3, columns = (positions - 1) * step + taps;
  const params &p = l.t;
  const gather &g = p.g;
  lanes_place at;
  if (!find_place<true>(l, at)) return;
  const bool ascending = g.tap_step[2] > 0;
  const int left = ascending ? at.w : at.w - (taps - 1);
  const float *image = p.a.data + (int64_t)at.sample * g.stride_n + at.channel;
  float4 acc[positions];
#pragma unroll
  for (int q = 0; q < positions; q++) acc[q] = make_float4(0, 0, 0, 0);
  for (int a = 0; a < (int)g.taps[0].d; a++)
    for (int b = 0; b < (int)g.taps[1].d; b++) {
      const int d = at.d + a * g.tap_step[0], h = at.h + b * g.tap_step[1];
      const bool row_inside = (unsigned)d < (unsigned)g.extent[0] && (unsigned)h < (unsigned)g.extent[1];
      const float *line = image + (int64_t)d * g.stride[0] + (int64_t)h * g.stride[1] + (int64_t)left * g.stride[2];
      const float *weights = p.b.data + (int64_t)first_tap_of_row(l, a, b) * p.b.ld + at.channel;
      float4 x[columns], w[taps];
#pragma unroll
      for (int c = 0; c < taps; c++) /* by column of the image, from the left */
        w[c] = __ldg((const float4 *)(weights + (int64_t)(ascending ? c : taps - 1 - c) * l.tap_stride[2] * p.b.ld));
#pragma unroll
      for (int c = 0; c < columns; c++) {
        x[c] = make_float4(0, 0, 0, 0);
        if (row_inside && (unsigned)(left + c) < (unsigned)g.extent[2])
          x[c] = __ldg((const float4 *)(line + (int64_t)c * g.stride[2]));
      }
      if (ascending)
#pragma unroll
        for (int c = 0; c < taps; c++)
#pragma unroll
          for (int q = 0; q < positions; q++) acc[q] = fma_lanes(x[q * step + c], w[c], acc[q]);
      else
#pragma unroll
        for (int c = taps - 1; c >= 0; c--)
#pragma unroll
          for (int q = 0; q < positions; q++) acc[q] = fma_lanes(x[q * step + c], w[c], acc[q]);
    }
#pragma unroll
  for (int q = 0; q < positions; q++) store_lanes<true>(p, at, q, add4(make_float4(0, 0, 0, 0), acc[q]));
}

/* 3×3 taps that are neighbours, stride 1, vectors: a thread has four rows of the grid, so that a row of the image is
 * loaded once for all the rows of sums it belongs to. Rows are taken from the first tap's side on: row i is tap row j
 * of sums i − j. */
constexpr int strip = 4;
template <bool ascending>
__global__ void __launch_bounds__(threads, 4) three_rows_kernel(const __grid_constant__ lanes_params l) {
  const params &p = l.t;
  const gather &g = p.g;
  const int lanes = p.n / 4, n_rows = (int)g.grid[1].d, n_strips = (n_rows + strip - 1) / strip;
  const int64_t thread = (int64_t)blockIdx.x * threads + threadIdx.x;
  const int strip_of_all = (int)(thread / lanes / l.n_across), sample = strip_of_all / n_strips;
  if ((int64_t)sample * n_rows * (int)g.grid[0].d >= p.m) return;
  lanes_place at = {(int)(thread % lanes) * 4, (int)(thread / lanes % l.n_across) * positions, 0, sample, 0, 0, 0};
  const int t0 = strip_of_all % n_strips * strip, first = ascending ? t0 : t0 + strip - 1; /* its first row */
  const int left = at.u0 + g.offset[2] - (ascending ? 0 : 2);
  const float *image = p.a.data + (int64_t)sample * g.stride_n + at.channel + (int64_t)left * g.stride[2];
  float4 w[3][3], acc[strip][positions];
#pragma unroll
  for (int tap = 0; tap < 9; tap++)
    w[tap / 3][tap % 3] = __ldg((const float4 *)(p.b.data + (int64_t)tap * p.b.ld + at.channel));
#pragma unroll
  for (int i = 0; i < strip + 2; i++) {
    float4 x[positions + 2];
    const int h = first + g.offset[1] + (ascending ? i : -i);
    const float *line = image + (int64_t)h * g.stride[1];
#pragma unroll
    for (int c = 0; c < positions + 2; c++) {
      x[c] = make_float4(0, 0, 0, 0);
      if ((unsigned)h < (unsigned)g.extent[1] && (unsigned)(left + c) < (unsigned)g.extent[2])
        x[c] = __ldg((const float4 *)(line + (int64_t)c * g.stride[2]));
    }
#pragma unroll
    for (int j = 0; j < 3; j++) {
      const int m = i - j;
      if (m < 0 || m >= strip) continue;
#pragma unroll
      for (int c = 0; c < 3; c++)
#pragma unroll
        for (int q = 0; q < positions; q++)
          acc[m][q] = fma_lanes(x[q + (ascending ? c : 2 - c)], w[j][c], j + c ? acc[m][q] : make_float4(0, 0, 0, 0));
    }
    const int row = ascending ? first + i - 2 : first - i + 2; /* its sums are complete */
    if (i < 2 || row >= n_rows) continue;
    at.grid_row = (sample * n_rows + row) * (int)g.grid[0].d;
#pragma unroll
    for (int q = 0; q < positions; q++) store_lanes<true>(p, at, q, add4(make_float4(0, 0, 0, 0), acc[i - 2][q]));
  }
}

/* What three_rows_kernel knows: all nine taps of one plane, without strides. */
bool is_three_by_three(const iso__conv_product &g) {
  const iso__conv_axis *axes[2] = {&g.row, &g.col};
  for (const iso__conv_axis *a : axes)
    if (a->n_taps != 3 || a->tap_stride != 1 || a->first_tap != 0 || a->step != 1 || a->out_step != 1) return false;
  const bool ascending = g.row.tap_step == 1 && g.col.tap_step == 1,
             descending = g.row.tap_step == -1 && g.col.tap_step == -1;
  return (ascending || descending) && g.plane.n_taps == 1 && g.plane.n_source == 1 && g.plane.n_grid == 1;
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
  t.plain = is_plain(t);
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
  if (vectors && is_three_by_three(g)) {
    const int64_t strips = g.n * ((g.row.n_grid + strip - 1) / strip);
    const unsigned strip_blocks = iso__cuda_blocks(strips * l.n_across * (t.n / 4), threads);
    if (g.row.tap_step > 0) three_rows_kernel<true><<<strip_blocks, threads, 0, stream>>>(l);
    else three_rows_kernel<false><<<strip_blocks, threads, 0, stream>>>(l);
    return;
  }
  const unsigned blocks = iso__cuda_blocks(n, threads);
  const bool three =
      vectors && g.col.n_taps == 3 && (g.col.tap_step == 1 || g.col.tap_step == -1) && iso__conv_taps(&g) <= 256;
  if (three && g.col.step == 1) three_columns_kernel<1><<<blocks, threads, 0, stream>>>(l);
  else if (three && g.col.step == 2) three_columns_kernel<2><<<blocks, threads, 0, stream>>>(l);
  else if (vectors) lanes_kernel<true><<<blocks, threads, 0, stream>>>(l);
  else lanes_kernel<false><<<blocks, threads, 0, stream>>>(l);
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
