/* windows.cuh: what the windows of an FFT convolution's transforms are (cut.h): where their rows come from, and where
 * those of the inverse go. */
#ifndef ISO_KERNELS_CONV_FFT_CUDA_WINDOWS_CUH
#define ISO_KERNELS_CONV_FFT_CUDA_WINDOWS_CUH
#include <stdint.h>
#include "kernels/conv/fft/cuda/launch_table.h"
#include "kernels/conv/fft/cuda/line.cuh"

namespace {

struct source {
  const float *base;
  int row_step, col_step, first_row, end_row, first_col, end_col;
  __device__ __forceinline__ float at(int i, int j) const {
    return has_row(i) & has_col(j) ? base[i * row_step + j * col_step] : 0;
  }
  __device__ __forceinline__ bool has_row(int i) const {
    return (unsigned)(i - first_row) < (unsigned)(end_row - first_row);
  }
  __device__ __forceinline__ bool has_col(int j) const {
    return (unsigned)(j - first_col) < (unsigned)(end_col - first_col);
  }
};

struct tile_place {
  int64_t sample;
  int row, col;
};
__device__ __forceinline__ tile_place place_of(const iso__fft_cuda_slice &s, int tile) {
  const int64_t number = s.first + tile;
  if (number < INT32_MAX) { /* division of 64 bits is long */
    const int n = (int)number, rows = n / s.cut.col.n_tiles;
    return {rows / s.cut.row.n_tiles, rows % s.cut.row.n_tiles, n % s.cut.col.n_tiles};
  }
  const int64_t rows = number / s.cut.col.n_tiles;
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

/* What lies side by side in a factor's spectra, and how many of those there are of each frequency. */
__host__ __device__ inline int lanes_of(const iso__fft_cuda_slice &s, iso__fft_cuda_what w) {
  return w == ISO__FFT_CUDA_WINDOWS || w == ISO__FFT_CUDA_X ? s.cut.from : s.cut.to;
}
__host__ __device__ inline int terms_of(const iso__fft_cuda_slice &s, iso__fft_cuda_what w) {
  return w == ISO__FFT_CUDA_KERNEL ? s.cut.from : s.n_tiles;
}
/* Floats of a row of spectra: real and imaginary parts in turn, but for dy, which has rows of each. */
__host__ __device__ inline int pitch_of(const iso__fft_cuda_slice &s, iso__fft_cuda_what w) {
  if (w == ISO__FFT_CUDA_WINDOWS) return (2 * s.cut.from + 3) / 4 * 4;
  return w == ISO__FFT_CUDA_DY ? s.cut.left : s.cut.right;
}
/* How a factor's windows are shared out: a block's lanes are `side` channels, what pads a row to its pitch included, of
 * as many terms as there is room for. */
struct factor_shares {
  int side, across, down, n_stored;
};
__host__ __device__ inline factor_shares shares_of(const iso__fft_cuda_slice &s, iso__fft_cuda_what w, int lanes) {
  factor_shares f = {1, 0, 0, w == ISO__FFT_CUDA_DY ? pitch_of(s, w) : pitch_of(s, w) / 2};
  while (f.side < lanes && f.side < f.n_stored) f.side *= 2;
  f.across = (f.n_stored + f.side - 1) / f.side;
  f.down = (terms_of(s, w) + lanes / f.side - 1) / (lanes / f.side);
  return f;
}
inline unsigned blocks_of(const iso__fft_cuda_slice &s, const iso__fft_cuda_factor &f, int lanes) {
  if (f.what == ISO__FFT_CUDA_NOTHING) return 0;
  const factor_shares shares = shares_of(s, f.what, lanes);
  return (unsigned)(shares.across * shares.down);
}

/* A block's part of the factors' transforms, and where it goes. The second factor, whose windows are fuller, has the
 * first blocks. */
struct factor_block {
  iso__fft_cuda_factor f;
  factor_shares shares;
  int first_channel, first_term, n_terms, pitch;
  bool complex_rows;
  __device__ __forceinline__ int channel(int lane) const { return first_channel + lane % shares.side; }
  __device__ __forceinline__ int term(int lane) const { return first_term + lane / shares.side; }
  __device__ __forceinline__ source source_of(const iso__fft_cuda_slice &s, int n, int group, int lane) const {
    const int c = channel(lane), t = term(lane);
    if (c >= lanes_of(s, f.what) || t >= n_terms) return {f.from, 0, 0, 0, 0, 0, 0};
    if (f.what == ISO__FFT_CUDA_KERNEL) return kernel_of(s, f.from, group, t, c);
    if (f.what == ISO__FFT_CUDA_DY) return outputs_of(s, f.from, t, group * s.cut.to + c);
    return window_of(s, f.from, n, t, group * s.cut.from + c);
  }
  __device__ __forceinline__ bool is_stored(int lane) const {
    return channel(lane) < shares.n_stored && term(lane) < n_terms;
  }
  __device__ __forceinline__ int64_t frequency_step() const {
    return (int64_t)(complex_rows ? 1 : 2) * n_terms * pitch;
  }
  /* Where a lane's number of a frequency is. */
  __device__ __forceinline__ float *place(const iso__fft_cuda_slice &s, int group, int frequency, int lane) const {
    return f.to + ((int64_t)group * s.cut.frequencies + frequency) * frequency_step() +
           (int64_t)(complex_rows ? 1 : 2) * term(lane) * pitch + (complex_rows ? 2 : 1) * channel(lane);
  }
  __device__ __forceinline__ void store(float *to, complex z) const {
    if (complex_rows) *(complex *)to = z;
    else to[0] = z.re, to[pitch] = z.im;
  }
};
__device__ __forceinline__ factor_block factor_block_of(const iso__fft_cuda_slice &s, const iso__fft_cuda_factor &first,
                                                        const iso__fft_cuda_factor &second, int second_blocks,
                                                        int lanes) {
  const bool is_first = (int)blockIdx.x >= second_blocks;
  const int block = (int)blockIdx.x - (is_first ? second_blocks : 0);
  factor_block b = {is_first ? first : second};
  b.shares = shares_of(s, b.f.what, lanes), b.n_terms = terms_of(s, b.f.what);
  b.first_channel = block % b.shares.across * b.shares.side;
  b.first_term = block / b.shares.across * (lanes / b.shares.side);
  b.complex_rows = b.f.what != ISO__FFT_CUDA_DY, b.pitch = pitch_of(s, b.f.what);
  return b;
}

/* ---- the inverse ---- */

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

/* A window of results: outputs of tile `window`, or of the gradient the kernel of output channel `window`. */
struct inverse_place {
  int64_t sample;
  int window, row, col, n_rows, n_cols;
};
__device__ inverse_place inverse_place_of(const iso__fft_cuda_slice &s, bool gradient, int window) {
  const iso__fft_cuda_cut &c = s.cut;
  if (gradient) return {0, window, 0, 0, c.row.kernel, c.col.kernel};
  const tile_place t = place_of(s, window);
  const int row = t.row * c.row.step, col = t.col * c.col.step;
  return {t.sample, window, row, col, min(c.row.step, c.row.outputs - row), min(c.col.step, c.col.outputs - col)};
}

/* Rows i and i + 1 of a window of channel `at`: z[j] has the two numbers of column first + j·step. */
template <int count>
__device__ __forceinline__ void write_rows(const iso__fft_cuda_slice &s, bool gradient, const inverse_place &p,
                                           const iso__fft_cuda_epilogue &e, float *y, const complex *z, int i,
                                           int first, int step, int group, int at) {
  const iso__fft_cuda_cut &c = s.cut;
  const int pitch = gradient ? c.from : c.to * c.groups, row_step = (gradient ? c.col.kernel : c.col.outputs) * pitch;
  const int64_t begin =
      gradient ? ((int64_t)group * c.to + p.window) * c.row.kernel * row_step + at
               : ((p.sample * c.row.outputs + p.row) * c.col.outputs + p.col) * pitch + (int64_t)group * c.to + at;
  const auto write = [&](auto finish) {
    float *const to = y + begin + (int64_t)i * row_step;
    const bool both = i + 1 < p.n_rows;
#pragma unroll
    for (int j = 0; j < count; j++) {
      const int column = first + j * step;
      if (column >= p.n_cols) break;
      to[column * pitch] = finish(c.scale * z[j].re, i * row_step + column * pitch);
      if (both) to[row_step + column * pitch] = finish(c.scale * z[j].im, (i + 1) * row_step + column * pitch);
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

} // namespace
#endif
