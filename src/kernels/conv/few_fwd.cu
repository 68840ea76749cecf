/* few_fwd.cu: forward convolution from at most four input channels (a network's first), class `ordered`, on CUDA.
 *
 * With so few channels an image cannot be read in whole vectors, and gathering (../gemm/tiles.cuh) would copy it float
 * by float as often as there are taps. Here a block of 8×16 positions has what their taps reach in shared memory,
 * beside the weights of 64 output channels; a thread has 8×8 sums, and a term is one float of the patch for each of its
 * positions: the terms of a kernel row lie side by side there as the order has them. Blocks stay for many tiles: the
 * weights are laid out once, and the next patch comes while this one is used. One chunk of terms at most. */
#include "kernels/conv/image_params.cuh"
#include "kernels/gemm/tiles.cuh"

namespace iso__tiles {
namespace {
constexpr int threads = 128, tile_rows = 8, tile_columns = 16, columns = 64, at_once = 4, max_terms = 256;
constexpr int most_bytes = 64 << 10; /* what every device has */

struct patch_params {
  params t; /* a: the image, b: the weights as they are */
  int h, w, c, out_h, out_w, terms;
  int step_h, step_w, pad_top, pad_left;
  int n_rows, n_columns, run, run_step,
      row_step;          /* of kernel; a run: neighbouring terms of a row, floats of the patch */
  int patch_rows, pitch; /* of a patch, floats */
  int tiles_down, tiles_across, n_tiles;
  bool first; /* channels first */
  divisor channels;
};

struct patch_place {
  int sample, row, column; /* of the tile's first position */
};
__device__ __forceinline__ patch_place place_of(const patch_params &p, int tile) {
  const int down = tile / p.tiles_across;
  return {down / p.tiles_down, down % p.tiles_down * tile_rows, tile % p.tiles_across * tile_columns};
}

/* The image around a tile, real zeros outside. */
__device__ __forceinline__ void fetch_patch(const patch_params &p, int tile, uint32_t to) {
  const patch_place at = place_of(p, tile);
  const int y0 = at.row * p.step_h - p.pad_top, x0 = at.column * p.step_w - p.pad_left;
  const float *image = p.t.a.data + (int64_t)at.sample * p.h * p.w * p.c;
  for (int row = threadIdx.x / 32; row < p.patch_rows; row += threads / 32) {
    const int y = y0 + row;
    const bool row_inside = (unsigned)y < (unsigned)p.h;
    for (int j = threadIdx.x % 32; j < p.pitch; j += 32) {
      int column = j;
      const int channel = split_off(column, p.channels), x = x0 + column;
      const bool inside = row_inside & ((unsigned)x < (unsigned)p.w);
      const int offset = p.first ? (channel * p.h + y) * p.w + x : (y * p.w + x) * p.c + channel;
      copy4(to + (row * p.pitch + j) * 4, image + (inside ? offset : 0), inside);
    }
  }
}

/* (term, column); zeros beyond the last column. Eight terms side by side are a sector of the weights. */
__device__ __forceinline__ void load_weights(const patch_params &p, float *to, int n0) {
  const int groups = (p.terms + 7) / 8;
  for (int i = threadIdx.x; i < groups * columns * 8; i += threads) {
    const int term = i / (columns * 8) * 8 + i % 8, n = i / 8 % columns;
    if (term >= p.terms) continue;
    to[term * columns + n] = n0 + n < p.t.n ? p.t.b.data[(int64_t)(n0 + n) * p.terms + term] : 0.0f;
  }
}

template <int n> __device__ __forceinline__ void add_terms(const float *(&x)[8], const float *w, float (&acc)[8][8]) {
#pragma unroll
  for (int j = 0; j < n; j++) {
    float a[8], b[8];
#pragma unroll
    for (int i = 0; i < 8; i++) a[i] = x[i][j];
    *(float4 *)b = *(const float4 *)(w + j * columns), *(float4 *)(b + 4) = *(const float4 *)(w + j * columns + 32);
#pragma unroll
    for (int i = 0; i < 8; i++)
#pragma unroll
      for (int q = 0; q < 8; q++) {
        const int column = i & 1 ? 7 - q : q;
        acc[i][column] = __fmaf_rn(a[i], b[column], acc[i][column]);
      }
  }
}

/* grid: x blocks that share the tiles, y columns by 64. */
__global__ void __launch_bounds__(threads, at_once) patch_kernel(const __grid_constant__ patch_params p) {
  extern __shared__ __align__(128) float shared[];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, n0 = blockIdx.y * columns;
  const int lane_row = (lane >> 1 & 1) | (lane >> 4 & 1) << 1;
  const int lane_column = (lane & 1) | (lane >> 2 & 1) << 1 | (lane >> 3 & 1) << 2;
  const int patch_floats = p.patch_rows * p.pitch, position = p.step_w * p.c;
  float *const patches = shared + p.terms * columns;
  const uint32_t patches_at = (uint32_t)__cvta_generic_to_shared(patches);
  /* Positions of a thread: rows 2·warp and 2·warp + 1, columns lane_row, + 4, + 8, + 12. */
  const int mine = warp * 2 * p.step_h * p.pitch + lane_row * position;
  if ((int)blockIdx.x < p.n_tiles) fetch_patch(p, blockIdx.x, patches_at);
  copies_commit();
  load_weights(p, shared, n0);
  int buffer = 0;
  for (int tile = blockIdx.x; tile < p.n_tiles; tile += gridDim.x, buffer ^= 1) {
    if (tile + (int)gridDim.x < p.n_tiles)
      fetch_patch(p, tile + gridDim.x, patches_at + (buffer ^ 1) * patch_floats * 4);
    copies_commit();
    copies_wait<1>();
    __syncthreads();
    float acc[8][8];
#pragma unroll
    for (int i = 0; i < 8; i++)
#pragma unroll
      for (int j = 0; j < 8; j++) acc[i][j] = 0.0f;
    const float *w = shared + lane_column * 4;
    for (int r = 0; r < p.n_rows; r++)
      for (int s = 0; s < p.n_columns; s++) {
        const float *x[8];
#pragma unroll
        for (int i = 0; i < 8; i++)
          x[i] = patches + (buffer * patch_floats + mine + r * p.row_step + s * p.run_step +
                            (i / 4) * p.step_h * p.pitch + (i % 4) * 4 * position);
        int left = p.run;
#pragma unroll 1
        for (; left >= 3; left -= 3, w += 3 * columns) {
          add_terms<3>(x, w, acc);
#pragma unroll
          for (int i = 0; i < 8; i++) x[i] += 3;
        }
#pragma unroll 1
        for (; left > 0; left--, w += columns) {
          add_terms<1>(x, w, acc);
#pragma unroll
          for (int i = 0; i < 8; i++) x[i]++;
        }
      }
    const patch_place at = place_of(p, tile);
#pragma unroll
    for (int i = 0; i < 8; i++) {
      const int row = at.row + warp * 2 + i / 4, column = at.column + lane_row + i % 4 * 4;
      if (row >= p.out_h || column >= p.out_w) continue;
      const int64_t to = ((int64_t)(at.sample * p.out_h + row) * p.out_w + column) * p.t.ldc;
#pragma unroll
      for (int v = 0; v < 2; v++) {
        const int n = n0 + lane_column * 4 + v * 32;
        const float4 sum = make_float4(acc[i][v * 4], acc[i][v * 4 + 1], acc[i][v * 4 + 2], acc[i][v * 4 + 3]);
        if (n < p.t.n) store_final(p.t, 0, to, n, add4(make_float4(0, 0, 0, 0), sum));
      }
    }
    __syncthreads();
  }
}

int64_t patch_rows_of(const iso_conv_problem *p) {
  return (tile_rows - 1) * p->stride_h + (p->r - 1) * p->dilation_h + 1;
}
int64_t patch_pitch_of(const iso_conv_problem *p) {
  return ((tile_columns - 1) * p->stride_w + (p->s - 1) * p->dilation_w + 1) * p->c;
}
int64_t shared_bytes_of(const iso_conv_problem *p) {
  return (p->r * p->s * p->c * columns + 2 * patch_rows_of(p) * patch_pitch_of(p)) * 4;
}
int64_t tiles_of(const iso_conv_problem *p) {
  return p->n * ((iso__conv_out_h(p) + tile_rows - 1) / tile_rows) *
         ((iso__conv_out_w(p) + tile_columns - 1) / tile_columns);
}
int64_t blocks_across(const iso_conv_problem *p) { return (p->k + columns - 1) / columns; }
} // namespace
} // namespace iso__tiles

using namespace iso__tiles;

extern "C" {
const char *iso__conv_few_fwd_cuda_applicable(const iso__problem *problem) {
  const iso_conv_problem *p = (const iso_conv_problem *)problem;
  if (p->c > 4 || p->c < 1) return "more than four input channels";
  if (p->groups != 1 || !iso__conv_is_flat(p)) return "groups or depth";
  if (p->r * p->s < 1 || p->k < 1 || blocks_across(p) > 65535) return "no sums, or too many columns";
  const char *why = iso__image_tiles_applicable(p);
  if (why) return why;
  if (p->r * p->s * p->c > max_terms) return "more than a chunk of terms";
  return shared_bytes_of(p) > most_bytes ? "a patch of x does not fit into shared memory" : NULL;
}
/* Whole rounds of tiles at half the peak, and y at the speed of memory. */
double iso__conv_few_fwd_cuda_cost(const iso__problem *problem, int n_multiprocessors) {
  const iso_conv_problem *p = (const iso_conv_problem *)problem;
  const double at_a_time = at_once * (double)n_multiprocessors, tiles = (double)(tiles_of(p) * blocks_across(p));
  const double rounds = tiles > at_a_time ? tiles / at_a_time + 0.3 : 1;
  const double round = 2.0 * tile_rows * tile_columns * columns * (double)(p->r * p->s * p->c) * at_once / 250 + 500;
  const double memory = (double)p->n * (double)(iso__conv_out_h(p) * iso__conv_out_w(p)) * (double)p->k * 4 / 3500;
  return 6000 + (rounds * round > memory ? rounds * round : memory);
}
void iso__conv_few_fwd_cuda_run(const iso__call *call) {
  const iso_conv_problem *p = (const iso_conv_problem *)call->problem;
  const iso_conv_args *args = (const iso_conv_args *)call->args;
  const int64_t n_tiles = tiles_of(p);
  if (n_tiles == 0) return;
  patch_params f = {};
  params &t = f.t;
  t.n = t.ldc = (int)p->k, t.c = (float *)args->y;
  t.a.data = (const float *)args->x, t.b.data = (const float *)args->w;
  t.e.bias = p->has_bias ? (const float *)args->bias : NULL;
  t.e.residual = p->has_residual ? (const float *)args->residual : NULL;
  t.e.activation = p->activation;
  t.vector_c = aligned16(t.c) && t.ldc % 4 == 0 && (!t.e.residual || aligned16(t.e.residual));
  f.h = (int)p->h, f.w = (int)p->w, f.c = (int)p->c;
  f.out_h = (int)iso__conv_out_h(p), f.out_w = (int)iso__conv_out_w(p), f.terms = (int)(p->r * p->s * p->c);
  f.step_h = (int)p->stride_h, f.step_w = (int)p->stride_w, f.pad_top = (int)p->pad_top, f.pad_left = (int)p->pad_left;
  f.patch_rows = (int)patch_rows_of(p), f.pitch = (int)patch_pitch_of(p);
  const bool dense = p->dilation_w == 1; /* a kernel row is one run */
  f.n_rows = (int)p->r, f.n_columns = dense ? 1 : (int)p->s, f.run = (int)(dense ? p->s * p->c : p->c);
  f.run_step = (int)(p->dilation_w * p->c), f.row_step = (int)p->dilation_h * f.pitch;
  f.tiles_down = (f.out_h + tile_rows - 1) / tile_rows, f.tiles_across = (f.out_w + tile_columns - 1) / tile_columns;
  f.n_tiles = (int)n_tiles, f.first = p->x_first, f.channels = divisor_of(p->c);
  const int n_bytes = (int)shared_bytes_of(p);
  iso__cuda_shared(patch_kernel, n_bytes);
  const int64_t across = blocks_across(p), room = (int64_t)at_once * iso__cuda_multiprocessors(call->ctx) / across;
  const int64_t blocks = n_tiles < room || room < 1 ? n_tiles : room;
  patch_kernel<<<dim3((unsigned)blocks, (unsigned)across), threads, (size_t)n_bytes, iso__cuda_stream(call)>>>(f);
  iso__cuda_launched(call);
}
}
