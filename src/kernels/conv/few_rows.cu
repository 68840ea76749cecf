/* few_rows.cu: bwd_data of convolutions from at most four input channels (a network's first), class `ordered`, on CUDA.
 *
 * A tile of 64 columns would be empty but for three, so here a thread has one or two positions of a stride phase and
 * all their channels. A block's patch of dy, all output channels of 8×16 or 16×16 positions and what their taps reach,
 * lies in shared memory, for every tap reads nearly all of it again; the phase's weights beside it, four channels to a
 * vector. The terms ascend as the order says: taps, then output channels. */
#include "kernels/conv/image_params.cuh"
#include "kernels/gemm/tiles.cuh"

namespace iso__tiles {
namespace {
enum { threads = 128, tile_columns = 16, tile_rows = threads / tile_columns, max_phases = 16 };

struct few_axis {
  int n_grid, offset, tap_step, n_taps, first_tap, tap_stride, out_first, out_step;
};
struct few_params {
  const float *dy, *w;
  float *dx;
  int n, h, w_in, c, k, r, s, out_h, out_w, tiles_across, tiles_down;
  bool vectors;
  few_axis rows[max_phases], columns[max_phases];
};

__host__ __device__ inline int reach(const few_axis &a) {
  return a.n_taps ? (a.n_taps - 1) * (a.tap_step < 0 ? -a.tap_step : a.tap_step) : 0;
}
__device__ __forceinline__ int lowest(const few_axis &a) { return a.offset + (a.tap_step < 0 ? -reach(a) : 0); }

/* dy around the block's positions, real zeros outside. */
__device__ void load_patch(const few_params &p, float *patch, int sample, int row0, int column0, int n_rows,
                           int n_columns) {
  const int pitch = p.k + 4, vectors = p.k / 4;
  for (int i = threadIdx.x; i < n_rows * n_columns * vectors; i += threads) {
    const int pixel = i / vectors, v = i % vectors * 4, y = row0 + pixel / n_columns, x = column0 + pixel % n_columns;
    float4 value = make_float4(0, 0, 0, 0);
    if ((unsigned)y < (unsigned)p.out_h && (unsigned)x < (unsigned)p.out_w) {
      const float *from = p.dy + ((int64_t)(sample * p.out_h + y) * p.out_w + x) * p.k + v;
      value = p.vectors ? *(const float4 *)from : make_float4(from[0], from[1], from[2], from[3]);
    }
    *(float4 *)(patch + pixel * pitch + v) = value;
  }
}

/* (tap of the phase, output channel) → four input channels. */
__device__ void load_weights(const few_params &p, float4 *to, const few_axis &rows, const few_axis &columns) {
  for (int i = threadIdx.x; i < rows.n_taps * columns.n_taps * p.k; i += threads) {
    const int tap = i / p.k, k = i % p.k, r = rows.first_tap + tap / columns.n_taps * rows.tap_stride,
              s = columns.first_tap + tap % columns.n_taps * columns.tap_stride;
    const float *from = p.w + ((int64_t)(k * p.r + r) * p.s + s) * p.c;
    to[i] = make_float4(from[0], p.c > 1 ? from[1] : 0, p.c > 2 ? from[2] : 0, p.c > 3 ? from[3] : 0);
  }
}

/* `positions`: rows t and t + 8 of the tile. */
template <int positions> __global__ void __launch_bounds__(threads) few_kernel(const __grid_constant__ few_params p) {
  extern __shared__ __align__(128) float shared[];
  const few_axis &rows = p.rows[blockIdx.y], &columns = p.columns[blockIdx.y];
  const int tile = blockIdx.x % (p.tiles_across * p.tiles_down), sample = blockIdx.x / (p.tiles_across * p.tiles_down);
  const int t0 = tile / p.tiles_across * tile_rows * positions, u0 = tile % p.tiles_across * tile_columns;
  if (t0 >= rows.n_grid || u0 >= columns.n_grid) return;
  const int n_rows = tile_rows * positions + reach(rows), n_columns = tile_columns + reach(columns), pitch = p.k + 4;
  float4 *const weights = (float4 *)shared;
  float *const patch = shared + rows.n_taps * columns.n_taps * p.k * 4;
  if (rows.n_taps * columns.n_taps) {
    load_patch(p, patch, sample, t0 + lowest(rows), u0 + lowest(columns), n_rows, n_columns);
    load_weights(p, weights, rows, columns);
  }
  __syncthreads();
  const int t = threadIdx.x / tile_columns, u = threadIdx.x % tile_columns;
  float4 acc[positions], panel[positions], total[positions];
#pragma unroll
  for (int i = 0; i < positions; i++) acc[i] = panel[i] = total[i] = make_float4(0, 0, 0, 0);
  int left = 256, chunks = 4;
  const float4 *w = weights;
  for (int tap = 0; tap < rows.n_taps * columns.n_taps; tap++) {
    const int y = t + rows.offset - lowest(rows) + tap / columns.n_taps * rows.tap_step;
    const int x = u + columns.offset - lowest(columns) + tap % columns.n_taps * columns.tap_step;
    const float *from = patch + (y * n_columns + x) * pitch;
    for (int k = 0; k < p.k;) {
      const int run = p.k - k < left ? p.k - k : left, end = k + run;
      left -= run;
#pragma unroll 4
      for (; k < end; k += 4, w += 4) {
        const float4 w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3];
#pragma unroll
        for (int i = 0; i < positions; i++) {
          const float4 d = *(const float4 *)(from + i * tile_rows * n_columns * pitch + k);
          acc[i] = make_float4(
              __fmaf_rn(d.w, w3.x, __fmaf_rn(d.z, w2.x, __fmaf_rn(d.y, w1.x, __fmaf_rn(d.x, w0.x, acc[i].x)))),
              __fmaf_rn(d.w, w3.y, __fmaf_rn(d.z, w2.y, __fmaf_rn(d.y, w1.y, __fmaf_rn(d.x, w0.y, acc[i].y)))),
              __fmaf_rn(d.w, w3.z, __fmaf_rn(d.z, w2.z, __fmaf_rn(d.y, w1.z, __fmaf_rn(d.x, w0.z, acc[i].z)))),
              __fmaf_rn(d.w, w3.w, __fmaf_rn(d.z, w2.w, __fmaf_rn(d.y, w1.w, __fmaf_rn(d.x, w0.w, acc[i].w)))));
        }
      }
      if (left) continue;
      left = 256;
      const bool panel_ends = --chunks == 0;
      if (panel_ends) chunks = 4;
#pragma unroll
      for (int i = 0; i < positions; i++) {
        panel[i] = add4(panel[i], acc[i]), acc[i] = make_float4(0, 0, 0, 0);
        if (panel_ends) total[i] = add4(total[i], panel[i]), panel[i] = make_float4(0, 0, 0, 0);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < positions; i++) {
    const int tt = t0 + t + i * tile_rows, uu = u0 + u;
    if (tt >= rows.n_grid || uu >= columns.n_grid) continue;
    const float4 sum = add4(total[i], add4(panel[i], acc[i]));
    float *to = p.dx + ((int64_t)(sample * p.h + rows.out_first + tt * rows.out_step) * p.w_in + columns.out_first +
                        uu * columns.out_step) *
                           p.c;
    to[0] = sum.x;
    if (p.c > 1) to[1] = sum.y;
    if (p.c > 2) to[2] = sum.z;
    if (p.c > 3) to[3] = sum.w;
  }
}

few_axis few_axis_of(const iso__conv_axis &a) {
  return {(int)a.n_grid,    (int)a.offset,     (int)a.tap_step,  (int)a.n_taps,
          (int)a.first_tap, (int)a.tap_stride, (int)a.out_first, (int)a.out_step};
}
/* What a block with this many positions a thread needs: the largest of the phases. */
int64_t shared_bytes_of(const iso_conv_problem *p, int positions) {
  int64_t most = 0;
  for (int64_t i = 0; i < iso__conv_n_products(p); i++) {
    const iso__conv_product g = iso__conv_product_at(p, i);
    const int64_t n = iso__conv_taps(&g) * p->k * 16 + (tile_rows * positions + iso__conv_reach(&g.row)) *
                                                           (tile_columns + iso__conv_reach(&g.col)) * (p->k + 4) * 4;
    if (n > most) most = n;
  }
  return most;
}
enum { small_bytes = 96 << 10, large_bytes = 113 << 10 }; /* what every device since 2020 has; two blocks of an H200 */

template <int positions> void launch_few(few_params p, unsigned phases, int64_t n_bytes, cudaStream_t stream) {
  int rows = 0, columns = 0;
  for (unsigned i = 0; i < phases; i++) {
    if (p.rows[i].n_grid > rows) rows = p.rows[i].n_grid;
    if (p.columns[i].n_grid > columns) columns = p.columns[i].n_grid;
  }
  p.tiles_down = (rows + tile_rows * positions - 1) / (tile_rows * positions);
  p.tiles_across = (columns + tile_columns - 1) / tile_columns;
  iso__cuda_shared(few_kernel<positions>, (int)n_bytes);
  const dim3 grid((unsigned)(p.n * p.tiles_down * p.tiles_across), phases);
  if (grid.x) few_kernel<positions><<<grid, threads, (size_t)n_bytes, stream>>>(p);
}
} // namespace
} // namespace iso__tiles

using namespace iso__tiles;

extern "C" {
const char *iso__conv_few_cuda_applicable(const iso__problem *problem) {
  const iso_conv_problem *p = (const iso_conv_problem *)problem;
  if (p->c > 4 || p->c < 1) return "more than four input channels";
  if (p->groups != 1 || !iso__conv_is_flat(p)) return "groups or depth";
  if (p->k % 4 || p->k < 1) return "output channels are not in fours";
  if (iso__conv_n_products(p) > max_phases) return "more than 16 stride phases";
  const char *why = iso__image_tiles_applicable(p);
  if (why) return why;
  return shared_bytes_of(p, 1) > small_bytes ? "a patch of dy does not fit into shared memory" : NULL;
}
double iso__conv_few_cuda_cost(const iso__problem *problem, int n_multiprocessors) {
  const iso_conv_problem *p = (const iso_conv_problem *)problem;
  double terms = 0;
  for (int64_t i = 0; i < iso__conv_n_products(p); i++) {
    const iso__conv_product g = iso__conv_product_at(p, i);
    terms += (double)p->n * (double)g.row.n_grid * (double)g.col.n_grid * (double)iso__conv_k(&g);
  }
  return 6000 + terms / (20.0 * n_multiprocessors);
}
void iso__conv_few_cuda_run(const iso__call *call) {
  const iso_conv_problem *p = (const iso_conv_problem *)call->problem;
  const iso_conv_args *args = (const iso_conv_args *)call->args;
  few_params f = {};
  f.dy = (const float *)args->dy, f.w = (const float *)args->w, f.dx = (float *)args->dx;
  f.n = (int)p->n, f.h = (int)p->h, f.w_in = (int)p->w, f.c = (int)p->c, f.k = (int)p->k, f.r = (int)p->r,
  f.s = (int)p->s;
  f.out_h = (int)iso__conv_out_h(p), f.out_w = (int)iso__conv_out_w(p);
  f.vectors = aligned16(f.dy);
  const unsigned phases = (unsigned)iso__conv_n_products(p);
  for (unsigned i = 0; i < phases; i++) {
    const iso__conv_product g = iso__conv_product_at(p, i);
    f.rows[i] = few_axis_of(g.row), f.columns[i] = few_axis_of(g.col);
  }
  const int64_t two = shared_bytes_of(p, 2);
  if (two <= large_bytes && wide_fits()) launch_few<2>(f, phases, two, iso__cuda_stream(call));
  else launch_few<1>(f, phases, shared_bytes_of(p, 1), iso__cuda_stream(call));
  iso__cuda_launched(call);
}
}
