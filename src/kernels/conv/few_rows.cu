/* few_rows.cu: bwd_data of convolutions from at most four input channels (a network's first), class `ordered`, on CUDA.
 *
 * A tile of 64 columns would be empty but for three, so here a thread has two positions of a stride phase and all their
 * channels. A block's patch of dy, all output channels of 16×8 (one phase: 16×16) positions and what their taps reach,
 * lies in shared memory, for every tap reads nearly all of it again, beside the weights of all phases, four channels to
 * a vector. Up to four phases are computed side by side from one patch, and blocks stay for many patches. The terms
 * ascend as the order says: taps, then output channels. */
#include "kernels/conv/image_params.cuh"
#include "kernels/gemm/tiles.cuh"

namespace iso__tiles {
namespace {
constexpr int half_rows = 8, positions = 2, tile_rows = half_rows * positions; /* a thread: rows t and t + 8 */
constexpr int max_phases = 16, at_once = 2;
constexpr int most_bytes = 113 << 10; /* two blocks of an H200 */

struct few_axis {
  int n_grid, offset, tap_step, n_taps, first_tap, tap_stride, out_first, out_step;
};
struct few_span { /* of source positions that the taps of all phases reach, relative to the grid's */
  int lowest, reach;
};
struct few_params {
  const float *dy, *w;
  float *dx;
  int h, w_in, c, k, r, s, out_h, out_w, tiles_across, tiles_down, n_tiles, n_phases, n_groups, weights_floats;
  bool vectors;
  few_span down, across;
  few_axis rows[max_phases], columns[max_phases];
  int weights_at[max_phases]; /* floats */
};

/* dy around the block's positions, real zeros outside. */
__device__ __forceinline__ void fetch_patch(const few_params &p, uint32_t to, int sample, int row0, int column0,
                                            int n_rows, int n_columns) {
  const int pitch = p.k + 4, width = p.vectors ? 4 : 1, across = p.k / width;
  for (int i = threadIdx.x; i < n_rows * n_columns * across; i += blockDim.x) {
    const int pixel = i / across, v = i % across * width, y = row0 + pixel / n_columns, x = column0 + pixel % n_columns;
    const bool inside = (unsigned)y < (unsigned)p.out_h && (unsigned)x < (unsigned)p.out_w;
    const float *from = p.dy + (inside ? ((int64_t)(sample * p.out_h + y) * p.out_w + x) * p.k + v : 0);
    if (p.vectors) copy16(to + (pixel * pitch + v) * 4, from, inside);
    else copy4(to + (pixel * pitch + v) * 4, from, inside);
  }
  copies_commit();
}

/* (tap of the phase, output channel / 4, input channel, output channel mod 4); zeros beyond the last input channel. */
template <int channels>
__device__ void load_weights(const few_params &p, float *to, const few_axis &rows, const few_axis &columns) {
  for (int i = threadIdx.x; i < rows.n_taps * columns.n_taps * p.k; i += blockDim.x) {
    const int tap = i / p.k, k = i % p.k, r = rows.first_tap + tap / columns.n_taps * rows.tap_stride,
              s = columns.first_tap + tap % columns.n_taps * columns.tap_stride;
    const float *from = p.w + ((int64_t)(k * p.r + r) * p.s + s) * p.c;
#pragma unroll
    for (int c = 0; c < channels; c++) to[(i / 4 * channels + c) * 4 + i % 4] = c < p.c ? from[c] : 0.0f;
  }
}

/* The sums of one phase; `from` and `step`: the thread's first position in the patch, and from one to the next. */
template <int channels>
__device__ __forceinline__ void sum_phase(const few_params &p, const few_axis &rows, const few_axis &columns,
                                          const float4 *w, const float *patch, int t, int u, int n_columns,
                                          float (&total)[positions][channels]) {
  const int pitch = p.k + 4, step = half_rows * n_columns * pitch;
  float acc[positions][channels], panel[positions][channels];
#pragma unroll
  for (int i = 0; i < positions; i++)
#pragma unroll
    for (int c = 0; c < channels; c++) acc[i][c] = panel[i][c] = total[i][c] = 0;
  int left = 256, chunks = 4;
  for (int tap = 0; tap < rows.n_taps * columns.n_taps; tap++) {
    const int y = t + rows.offset - p.down.lowest + tap / columns.n_taps * rows.tap_step;
    const int x = u + columns.offset - p.across.lowest + tap % columns.n_taps * columns.tap_step;
    const float *from = patch + (y * n_columns + x) * pitch;
    for (int k = 0; k < p.k;) {
      const int run = p.k - k < left ? p.k - k : left, end = k + run;
      left -= run;
#pragma unroll 4
      for (; k < end; k += 4, w += channels) {
        float4 d[positions];
#pragma unroll
        for (int i = 0; i < positions; i++) d[i] = *(const float4 *)(from + i * step + k);
#pragma unroll
        for (int c = 0; c < channels; c++) {
          const float4 v = w[c];
#pragma unroll
          for (int i = 0; i < positions; i++)
            acc[i][c] = __fmaf_rn(d[i].w, v.w,
                                  __fmaf_rn(d[i].z, v.z, __fmaf_rn(d[i].y, v.y, __fmaf_rn(d[i].x, v.x, acc[i][c]))));
        }
      }
      if (left) continue;
      left = 256;
      const bool panel_ends = --chunks == 0;
      if (panel_ends) chunks = 4;
#pragma unroll
      for (int i = 0; i < positions; i++)
#pragma unroll
        for (int c = 0; c < channels; c++) {
          panel[i][c] = __fadd_rn(panel[i][c], acc[i][c]), acc[i][c] = 0;
          if (panel_ends) total[i][c] = __fadd_rn(total[i][c], panel[i][c]), panel[i][c] = 0;
        }
    }
  }
#pragma unroll
  for (int i = 0; i < positions; i++)
#pragma unroll
    for (int c = 0; c < channels; c++) total[i][c] = __fadd_rn(total[i][c], __fadd_rn(panel[i][c], acc[i][c]));
}

/* Groups of threads, each with every n_groups-th phase. */
template <int tile_columns, int channels>
__global__ void __launch_bounds__(half_rows *tile_columns *(tile_columns == 8 ? 4 : 1), at_once)
    few_kernel(const __grid_constant__ few_params p) {
  extern __shared__ __align__(128) float shared[];
  const int group = threadIdx.x / (half_rows * tile_columns), in_group = threadIdx.x % (half_rows * tile_columns);
  const int t = in_group / tile_columns, u = in_group % tile_columns;
  const int n_rows = tile_rows + p.down.reach, n_columns = tile_columns + p.across.reach;
  float *const patch = shared + p.weights_floats;
  const uint32_t patch_at = (uint32_t)__cvta_generic_to_shared(patch);
  for (int phase = 0; phase < p.n_phases; phase++)
    load_weights<channels>(p, shared + p.weights_at[phase], p.rows[phase], p.columns[phase]);
  for (int tile = blockIdx.x; tile < p.n_tiles; tile += gridDim.x) {
    const int across = tile % p.tiles_across, down = tile / p.tiles_across % p.tiles_down,
              sample = tile / p.tiles_across / p.tiles_down, t0 = down * tile_rows, u0 = across * tile_columns;
    fetch_patch(p, patch_at, sample, t0 + p.down.lowest, u0 + p.across.lowest, n_rows, n_columns);
    copies_wait<0>();
    __syncthreads();
    for (int phase = group; phase < p.n_phases; phase += p.n_groups) {
      const few_axis &rows = p.rows[phase], &columns = p.columns[phase];
      float total[positions][channels];
      sum_phase<channels>(p, rows, columns, (const float4 *)(shared + p.weights_at[phase]), patch, t, u, n_columns,
                          total);
#pragma unroll
      for (int i = 0; i < positions; i++) {
        const int tt = t0 + t + i * half_rows, uu = u0 + u;
        if (tt >= rows.n_grid || uu >= columns.n_grid) continue;
        const int row = rows.out_first + tt * rows.out_step, column = columns.out_first + uu * columns.out_step;
        float *to = p.dx + ((int64_t)(sample * p.h + row) * p.w_in + column) * p.c;
#pragma unroll
        for (int c = 0; c < channels; c++)
          if (c < p.c) to[c] = total[i][c];
      }
    }
    __syncthreads();
  }
}

few_axis few_axis_of(const iso__conv_axis &a) {
  return {(int)a.n_grid,    (int)a.offset,     (int)a.tap_step,  (int)a.n_taps,
          (int)a.first_tap, (int)a.tap_stride, (int)a.out_first, (int)a.out_step};
}
int channels_of(int64_t c) { return c == 1 ? 1 : c <= 3 ? 3 : 4; }

int columns_of(const iso_conv_problem *p) { return iso__conv_n_products(p) > 1 ? 8 : 16; } /* of a tile */
few_span span_of(const iso_conv_problem *p, bool down) {
  int64_t low = INT32_MAX, high = -INT32_MAX;
  for (int64_t i = 0; i < iso__conv_n_products(p); i++) {
    const iso__conv_product g = iso__conv_product_at(p, i);
    const iso__conv_axis &a = down ? g.row : g.col;
    if (!a.n_taps) continue;
    const int64_t lowest = iso__conv_lowest(&a), highest = lowest + iso__conv_reach(&a);
    if (lowest < low) low = lowest;
    if (highest > high) high = highest;
  }
  return low > high ? few_span{0, 0} : few_span{(int)low, (int)(high - low)};
}
int64_t weights_floats_of(const iso__conv_product &g, const iso_conv_problem *p) {
  return iso__conv_k(&g) * channels_of(p->c);
}
int64_t weights_floats_of(const iso_conv_problem *p) {
  int64_t all = 0;
  for (int64_t i = 0; i < iso__conv_n_products(p); i++) all += weights_floats_of(iso__conv_product_at(p, i), p);
  return all;
}
int64_t shared_bytes_of(const iso_conv_problem *p) {
  const int64_t n_rows = tile_rows + span_of(p, true).reach, n_columns = columns_of(p) + span_of(p, false).reach;
  return (weights_floats_of(p) + n_rows * n_columns * (p->k + 4)) * 4;
}

template <int tile_columns, int channels>
void launch_few(const few_params &p, int64_t n_bytes, int n_multiprocessors, cudaStream_t stream) {
  iso__cuda_shared(few_kernel<tile_columns, channels>, (int)n_bytes);
  const int room = n_multiprocessors * (n_bytes > most_bytes / 2 ? at_once : at_once * 2);
  const unsigned blocks = (unsigned)(p.n_tiles < room ? p.n_tiles : room);
  const int threads = half_rows * tile_columns * p.n_groups;
  if (blocks) few_kernel<tile_columns, channels><<<blocks, threads, (size_t)n_bytes, stream>>>(p);
}
template <int tile_columns>
void launch_columns(few_params p, int64_t n_bytes, int n_multiprocessors, cudaStream_t stream) {
  int rows = 0, columns = 0;
  for (int i = 0; i < p.n_phases; i++) {
    if (p.rows[i].n_grid > rows) rows = p.rows[i].n_grid;
    if (p.columns[i].n_grid > columns) columns = p.columns[i].n_grid;
  }
  p.tiles_down = (rows + tile_rows - 1) / tile_rows, p.tiles_across = (columns + tile_columns - 1) / tile_columns;
  p.n_tiles *= p.tiles_down * p.tiles_across;
  p.n_groups = tile_columns == 8 && p.n_phases < 4 ? p.n_phases : tile_columns == 8 ? 4 : 1;
  if (channels_of(p.c) == 1) launch_few<tile_columns, 1>(p, n_bytes, n_multiprocessors, stream);
  else if (channels_of(p.c) == 3) launch_few<tile_columns, 3>(p, n_bytes, n_multiprocessors, stream);
  else launch_few<tile_columns, 4>(p, n_bytes, n_multiprocessors, stream);
}
} // namespace
} // namespace iso__tiles

using namespace iso__tiles;

extern "C" {
void iso__conv_image_cuda_run(const iso__call *call); /* image_rows_cuda.cu; it uses the workspace */
const char *iso__conv_few_cuda_applicable(const iso__problem *problem) {
  const iso_conv_problem *p = (const iso_conv_problem *)problem;
  if (p->c > 4 || p->c < 1) return "more than four input channels";
  if (p->groups != 1 || !iso__conv_is_flat(p)) return "groups or depth";
  if (p->k % 4 || p->k < 1) return "output channels are not in fours";
  if (iso__conv_n_products(p) > max_phases) return "more than 16 stride phases";
  const char *why = iso__image_tiles_applicable(p);
  if (why) return why;
  return shared_bytes_of(p) > most_bytes ? "a patch of dy does not fit into shared memory" : NULL;
}
double iso__conv_few_cuda_cost(const iso__problem *problem, int n_multiprocessors) {
  const iso_conv_problem *p = (const iso_conv_problem *)problem;
  double terms = 0;
  for (int64_t i = 0; i < iso__conv_n_products(p); i++) {
    const iso__conv_product g = iso__conv_product_at(p, i);
    terms += (double)p->n * (double)g.row.n_grid * (double)g.col.n_grid * (double)iso__conv_k(&g);
  }
  return 6000 + terms / (25.0 * n_multiprocessors);
}
void iso__conv_few_cuda_run(const iso__call *call) {
  const iso_conv_problem *p = (const iso_conv_problem *)call->problem;
  const iso_conv_args *args = (const iso_conv_args *)call->args;
  const int64_t n_bytes = shared_bytes_of(p);
  if (n_bytes > largest_shared_bytes()) { /* a device from before 2020 */
    iso__conv_image_cuda_run(call);
    return;
  }
  few_params f = {};
  f.dy = (const float *)args->dy, f.w = (const float *)args->w, f.dx = (float *)args->dx;
  f.n_tiles = (int)p->n; /* of each place */
  f.h = (int)p->h, f.w_in = (int)p->w, f.c = (int)p->c, f.k = (int)p->k, f.r = (int)p->r, f.s = (int)p->s;
  f.out_h = (int)iso__conv_out_h(p), f.out_w = (int)iso__conv_out_w(p);
  f.vectors = aligned16(f.dy);
  f.n_phases = (int)iso__conv_n_products(p);
  f.down = span_of(p, true), f.across = span_of(p, false);
  for (int i = 0; i < f.n_phases; i++) {
    const iso__conv_product g = iso__conv_product_at(p, i);
    f.rows[i] = few_axis_of(g.row), f.columns[i] = few_axis_of(g.col);
    f.weights_at[i] = f.weights_floats, f.weights_floats += (int)weights_floats_of(g, p);
  }
  const int n_multiprocessors = iso__cuda_multiprocessors(call->ctx);
  if (columns_of(p) == 8) launch_columns<8>(f, n_bytes, n_multiprocessors, iso__cuda_stream(call));
  else launch_columns<16>(f, n_bytes, n_multiprocessors, iso__cuda_stream(call));
  iso__cuda_launched(call);
}
}
