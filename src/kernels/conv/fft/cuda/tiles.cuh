/* tiles.cuh: two-dimensional transforms of the class fft.N on a CUDA device (cut.h).
 *
 * A block has a window of each of a few lanes: tiles or channels that lie side by side in the spectra. A thread
 * computes whole lines in registers: pairs of rows, whose spectra go to shared memory, then columns; the inverse goes
 * back the same way. Lanes run fastest, so that spectra are read and written in sectors of 32 bytes. */
#include "kernels/conv/fft/cuda/launch_table.h"
#include "kernels/conv/fft/cuda/line.cuh"
#include <stdint.h>

namespace {

/* Lanes of a block: as many as leave row spectra of all columns within 48 KiB. */
template <int n> struct block {
  static constexpr int lanes = n <= 16 ? 16 : n <= 32 ? 8 : n <= 48 ? 4 : 2, lines = n / 2 + 1, threads = lanes * lines;
  static constexpr int column = n * lanes + 8; /* complex numbers; columns begin in different banks */
};

struct source {
  const float *base;
  int row_step, col_step, first_row, end_row, first_col, end_col;
  __device__ __forceinline__ float at(int i, int j) const {
    const bool inside = i >= first_row && i < end_row && j >= first_col && j < end_col;
    return inside ? base[i * row_step + j * col_step] : 0;
  }
};

struct tile_place {
  int64_t sample;
  int row, col;
};
__device__ __forceinline__ tile_place place_of(const iso__fft_cuda_slice &s, int tile) {
  const int64_t number = s.first + tile, rows = number / s.cut.col.n_tiles;
  return {rows / s.cut.row.n_tiles, (int)(rows % s.cut.row.n_tiles), (int)(number % s.cut.col.n_tiles)};
}

__device__ source window_of(const iso__fft_cuda_slice &s, const float *image, int n, int tile, int channel) {
  const iso__fft_cuda_cut &c = s.cut;
  const tile_place t = place_of(s, tile);
  const int h = t.row * c.row.step - c.row.pad, w = t.col * c.col.step - c.col.pad, pitch = c.from * c.groups;
  return {image + ((t.sample * c.row.image + h) * c.col.image + w) * pitch + channel,
          c.col.image * pitch,
          pitch,
          min(max(-h, 0), n),
          max(min(c.row.image - h, n), 0),
          min(max(-w, 0), n),
          max(min(c.col.image - w, n), 0)};
}
__device__ source outputs_of(const iso__fft_cuda_slice &s, const float *dy, int tile, int channel) {
  const iso__fft_cuda_cut &c = s.cut;
  const tile_place t = place_of(s, tile);
  const int row = t.row * c.row.step, col = t.col * c.col.step, pitch = c.to * c.groups;
  return {dy + ((t.sample * c.row.outputs + row) * c.col.outputs + col) * pitch + channel,
          c.col.outputs * pitch,
          pitch,
          0,
          min(c.row.step, c.row.outputs - row),
          0,
          min(c.col.step, c.col.outputs - col)};
}
/* Between source channel `from` and output channel `to` of a group; turned by 180° for backward to the data. */
__device__ source kernel_of(const iso__fft_cuda_slice &s, const float *w, int group, int from, int to) {
  const iso__fft_cuda_cut &c = s.cut;
  const int taps = c.row.kernel * c.col.kernel, inner = c.turned ? c.to : c.from;
  const int64_t outer = c.turned ? (int64_t)group * c.from + from : (int64_t)group * c.to + to;
  const float *base = w + outer * taps * inner + (c.turned ? to : from);
  const int sign = c.turned ? -1 : 1;
  if (c.turned) base += (int64_t)(taps - 1) * inner;
  return {base, sign * c.col.kernel * inner, sign * inner, 0, c.row.kernel, 0, c.col.kernel};
}

/* ---- windows → spectra ---- */

__host__ __device__ inline int lanes_of(const iso__fft_cuda_slice &s, iso__fft_cuda_what w) {
  return w == ISO__FFT_CUDA_WINDOWS ? s.n_tiles : w == ISO__FFT_CUDA_X ? s.cut.from : s.cut.to;
}

/* Both factors' transforms at once. Spectra lie along tiles (or output channels), tensors along input channels: there a
 * block has lanes of both, two channels each. Blocks below `first_blocks` along x have the first one. What a factor is
 * decides at run time: lines are long to compile, and what differs is short. */
template <int n>
__global__ void __launch_bounds__(block<n>::threads, n <= 32 ? 4 : 1)
    transform(const iso__fft_cuda_factor first, const iso__fft_cuda_factor second, int first_blocks,
              const iso__fft_cuda_slice s, int n_terms) {
  using B = block<n>;
  __shared__ complex rows[B::lines * B::column];
  const int lane = threadIdx.x % B::lanes, line_of = threadIdx.x / B::lanes, group = blockIdx.z;
  const bool is_first = (int)blockIdx.x < first_blocks;
  const iso__fft_cuda_what w = is_first ? first.what : second.what;
  const float *__restrict__ from = is_first ? first.from : second.from;
  float *__restrict__ to = is_first ? first.to : second.to;
  const bool images = w == ISO__FFT_CUDA_KERNEL || w == ISO__FFT_CUDA_WINDOWS;
  const int n_side = images ? B::lanes / 2 : B::lanes, term = blockIdx.y * (images ? 2 : 1) + lane / n_side;
  const int at = ((int)blockIdx.x - (is_first ? 0 : first_blocks)) * n_side + lane % n_side;
  const bool on = at < lanes_of(s, w) && term < n_terms;
  source x = {from, 0, 0, 0, 0, 0, 0};
  if (on) {
    if (w == ISO__FFT_CUDA_KERNEL) x = kernel_of(s, from, group, term, at);
    else if (w == ISO__FFT_CUDA_WINDOWS) x = window_of(s, from, n, at, group * s.cut.from + term);
    else if (w == ISO__FFT_CUDA_X) x = window_of(s, from, n, term, group * s.cut.from + at);
    else x = outputs_of(s, from, term, group * s.cut.to + at);
  }
  if (line_of < n / 2) {
    const int i = 2 * line_of;
    const bool absent = i + 1 < x.first_row || i >= x.end_row || x.first_row >= x.end_row;
    complex *out = rows + i * B::lanes + lane;
    if (absent) {
#pragma unroll 1
      for (int u = 0; u <= n / 2; u++) out[u * B::column] = out[u * B::column + B::lanes] = {0, 0};
    } else {
      complex z[n];
#pragma unroll
      for (int j = 0; j < n; j++) z[j] = {x.at(i, j), x.at(i + 1, j)};
      fft<n>(z);
#pragma unroll
      for (int u = 0; u <= n / 2; u++) {
        const complex a = z[u], b = z[u ? n - u : 0];
        out[u * B::column] = {a.re + b.re, a.im - b.im};
        out[u * B::column + B::lanes] = {a.im + b.im, b.re - a.re};
      }
    }
  }
  __syncthreads();
  const bool right = w == ISO__FFT_CUDA_KERNEL || w == ISO__FFT_CUDA_X;
  const int pitch = right ? s.cut.right : s.cut.left;
  if (term >= n_terms || (right ? 2 * at >= pitch : at >= pitch)) return;
  complex z[n];
#pragma unroll
  for (int v = 0; v < n; v++) z[v] = rows[line_of * B::column + v * B::lanes + lane];
  fft<n>(z);
  const int rows_of_term = right ? 1 : 2;
  const int64_t f_step = (int64_t)rows_of_term * n_terms * pitch;
  float *out = to + ((int64_t)group * s.cut.frequencies + line_of * n) * f_step + (int64_t)rows_of_term * term * pitch;
#pragma unroll
  for (int v = 0; v < n; v++) {
    float *here = out + v * f_step;
    if (right) {
      *(complex *)(here + 2 * at) = z[v];
    } else {
      here[at] = z[v].re, here[pitch + at] = z[v].im;
    }
  }
}

/* ---- sums → windows ---- */

/* The fold of n frequencies' chunk sums, f_step floats apart. One chunk, the usual case: all loads are in flight at
 * once. */
template <int n>
__device__ __forceinline__ void fold(const float *from, int64_t f_step, const iso__conv_cuda_slots &slots, complex *z) {
  if (slots.n == 1) {
#pragma unroll
    for (int v = 0; v < n; v++) z[v] = *(const complex *)(from + v * f_step);
#pragma unroll
    for (int v = 0; v < n; v++) z[v] = add({0, 0}, z[v]);
    return;
  }
#pragma unroll
  for (int v = 0; v < n; v++) {
    complex sum = {0, 0}, panel = {0, 0};
#pragma unroll 4
    for (int slot = 0; slot < slots.n; slot++) {
      panel = add(panel, *(const complex *)(from + v * f_step + slot * slots.stride));
      if (slot % 4 == 3) sum = add(sum, panel), panel = {0, 0};
    }
    z[v] = add(sum, panel);
  }
}

/* A lane is an output channel of tile blockIdx.y, or of the gradient an input channel under output channel blockIdx.y.
 */
template <int n>
__global__ void __launch_bounds__(block<n>::threads, n <= 32 ? 4 : 1)
    inverse(bool gradient, const iso__conv_cuda_slots slots, float *y, const iso__fft_cuda_slice s,
            const iso__fft_cuda_epilogue e) {
  using B = block<n>;
  __shared__ complex rows[B::lines * B::column];
  const iso__fft_cuda_cut &c = s.cut;
  const int lane = threadIdx.x % B::lanes, line_of = threadIdx.x / B::lanes, group = blockIdx.z;
  const int at = blockIdx.x * B::lanes + lane, n_lanes = gradient ? c.from : c.to;
  const bool on = at < n_lanes;
  const tile_place t = place_of(s, gradient ? 0 : blockIdx.y);
  const int row0 = t.row * c.row.step, col0 = t.col * c.col.step;
  const int n_rows = gradient ? c.row.kernel : min(c.row.step, c.row.outputs - row0);
  const int n_cols = gradient ? c.col.kernel : min(c.col.step, c.col.outputs - col0);
  if (on) {
    const int64_t f_step = (int64_t)c.left * c.right;
    const float *from =
        slots.sums + ((int64_t)group * c.frequencies + line_of * n) * f_step + (int64_t)blockIdx.y * c.right + 2 * at;
    complex z[n];
    fold<n>(from, f_step, slots, z);
    line<n>(z, !gradient);
#pragma unroll
    for (int v = 0; v < n; v++)
      if (v < n_rows + n_rows % 2) rows[line_of * B::column + v * B::lanes + lane] = z[v];
  }
  __syncthreads();
  const int i = 2 * line_of;
  if (!on || i >= n_rows) return;
  complex z[n];
#pragma unroll
  for (int u = 0; u <= n / 2; u++) {
    const complex *of = rows + u * B::column + i * B::lanes + lane;
    const complex a = of[0], b = of[B::lanes];
    z[u] = {a.re - b.im, a.im + b.re};
    if (u > 0 && 2 * u < n) z[n - u] = {a.re + b.im, b.re - a.im};
  }
  line<n>(z, !gradient);
  const int pitch = gradient ? c.from : c.to * c.groups, row_step = (gradient ? c.col.kernel : c.col.outputs) * pitch;
  const int64_t begin =
      gradient ? ((int64_t)group * c.to + blockIdx.y) * c.row.kernel * row_step + at
               : ((t.sample * c.row.outputs + row0) * c.col.outputs + col0) * pitch + (int64_t)group * c.to + at;
  const auto write = [&](auto finish) {
    float *const to = y + begin + (int64_t)i * row_step;
    const bool both = i + 1 < n_rows;
#pragma unroll
    for (int j = 0; j < n; j++) {
      if (j >= n_cols) break;
      to[j * pitch] = finish(c.scale * z[j].re, i * row_step + j * pitch);
      if (both) to[row_step + j * pitch] = finish(c.scale * z[j].im, (i + 1) * row_step + j * pitch);
    }
  };
  if (gradient || !(e.bias || e.residual || e.relu)) {
    write([](float value, int) { return value; });
    return;
  }
  const float bias = e.bias ? e.bias[group * c.to + at] : 0;
  write([&](float value, int place) {
    if (e.bias) value += bias;
    if (e.residual) value += e.residual[begin + place];
    return e.relu ? (value > 0 ? value : value != value ? value : 0.0f) : value;
  });
}

/* ---- launches ---- */

template <int n>
void launch_transform(const iso__fft_cuda_factor *first, const iso__fft_cuda_factor *second,
                      const iso__fft_cuda_slice *s, cudaStream_t stream) {
  using B = block<n>;
  const bool images = second->what == ISO__FFT_CUDA_WINDOWS || first->what == ISO__FFT_CUDA_KERNEL;
  const int side = images ? 2 : 1, lanes = B::lanes / side;
  const auto blocks_of = [&](const iso__fft_cuda_factor *f) {
    return f->what == ISO__FFT_CUDA_NOTHING ? 0 : (lanes_of(*s, f->what) + lanes - 1) / lanes;
  };
  const int n_terms = images ? s->cut.from : s->n_tiles, first_blocks = blocks_of(first);
  const dim3 grid((unsigned)(first_blocks + blocks_of(second)), (unsigned)((n_terms + side - 1) / side),
                  (unsigned)s->n_groups);
  transform<n><<<grid, B::threads, 0, stream>>>(*first, *second, first_blocks, *s, n_terms);
}

template <int n>
void launch_result(const iso__conv_cuda_slots *m, float *y, const iso__fft_cuda_slice *s,
                   const iso__fft_cuda_epilogue *e, cudaStream_t stream) {
  using B = block<n>;
  const dim3 grid((unsigned)((s->cut.to + B::lanes - 1) / B::lanes), (unsigned)s->n_tiles, (unsigned)s->n_groups);
  inverse<n><<<grid, B::threads, 0, stream>>>(false, *m, y, *s, *e);
}
template <int n>
void launch_dkernel(const iso__conv_cuda_slots *m, float *dw, const iso__fft_cuda_slice *s, cudaStream_t stream) {
  using B = block<n>;
  const dim3 grid((unsigned)((s->cut.from + B::lanes - 1) / B::lanes), (unsigned)s->cut.to, (unsigned)s->n_groups);
  const iso__fft_cuda_epilogue none = {};
  inverse<n><<<grid, B::threads, 0, stream>>>(true, *m, dw, *s, none);
}

} // namespace

#define ISO__FFT_CUDA_KERNELS(n)                                                                                       \
  extern const iso__fft_cuda_kernels iso__fft_cuda_kernels_##n;                                                        \
  const iso__fft_cuda_kernels iso__fft_cuda_kernels_##n = {launch_transform<n>, launch_result<n>, launch_dkernel<n>};
