/* tiles.cuh: two-dimensional transforms of the class fft.N on a CUDA device (cut.h).
 *
 * A block has a window of each of a few lanes: tiles or channels that lie side by side in the spectra. A thread
 * computes whole lines in registers: pairs of rows, whose spectra go to shared memory, then columns; the inverse goes
 * back the same way. Lanes run fastest, so that spectra are read and written in sectors of 32 bytes. */
#include "kernels/conv/fft/cuda/shared_lines.cuh"

namespace {

/* Lanes of a block: as many as leave row spectra of all columns within 48 KiB. */
template <int n> struct block {
  static constexpr int lanes = n <= 16 ? 16 : n <= 32 ? 8 : n <= 48 ? 4 : 2, lines = n / 2 + 1, threads = lanes * lines;
  static constexpr int column = n * lanes + 8; /* complex numbers; columns begin in different banks */
};

/* ---- windows → spectra ---- */

/* Both factors' transforms at once. What a factor is decides at run time: lines are long to compile, and what differs
 * is short. */
template <int n>
__global__ void __launch_bounds__(block<n>::threads, n <= 32 ? 4 : 1)
    transform(const iso__fft_cuda_factor first, const iso__fft_cuda_factor second, int second_blocks,
              const iso__fft_cuda_slice s) {
  iso__cuda_await_step();
  using B = block<n>;
  __shared__ complex rows[B::lines * B::column];
  const int lane = threadIdx.x % B::lanes, line_of = threadIdx.x / B::lanes, group = blockIdx.z;
  const factor_block b = factor_block_of(s, first, second, second_blocks, B::lanes);
  const source x = b.source_of(s, n, group, lane);
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
        const complex a = z[u], c = z[u ? n - u : 0];
        out[u * B::column] = {a.re + c.re, a.im - c.im};
        out[u * B::column + B::lanes] = {a.im + c.im, c.re - a.re};
      }
    }
  }
  __syncthreads();
  if (!b.is_stored(lane)) return;
  complex z[n];
#pragma unroll
  for (int v = 0; v < n; v++) z[v] = rows[line_of * B::column + v * B::lanes + lane];
  fft<n>(z);
  float *to = b.place(s, group, line_of * n, lane);
#pragma unroll
  for (int v = 0; v < n; v++) b.store(to + v * b.frequency_step(), z[v]);
}

/* ---- sums → windows ---- */

/* A lane is an output channel of tile blockIdx.y, or of the gradient an input channel under output channel blockIdx.y.
 */
template <int n>
__global__ void __launch_bounds__(block<n>::threads, n <= 32 ? 4 : 1)
    inverse(bool gradient, const iso__conv_cuda_slots slots, float *y, const iso__fft_cuda_slice s,
            const iso__fft_cuda_epilogue e) {
  iso__cuda_await_step();
  using B = block<n>;
  __shared__ complex rows[B::lines * B::column];
  const iso__fft_cuda_cut &c = s.cut;
  const int lane = threadIdx.x % B::lanes, line_of = threadIdx.x / B::lanes, group = blockIdx.z;
  const int at = blockIdx.x * B::lanes + lane, n_lanes = gradient ? c.from : c.to;
  const bool on = at < n_lanes;
  const inverse_place place = inverse_place_of(s, gradient, blockIdx.y);
  if (on) {
    const int64_t f_step = (int64_t)c.left * c.right;
    const float *from =
        slots.sums + ((int64_t)group * c.frequencies + line_of * n) * f_step + (int64_t)blockIdx.y * c.right + 2 * at;
    complex z[n];
    fold<n>(from, f_step, slots, z);
    line<n>(z, !gradient);
#pragma unroll
    for (int v = 0; v < n; v++)
      if (v < place.n_rows + place.n_rows % 2) rows[line_of * B::column + v * B::lanes + lane] = z[v];
  }
  __syncthreads();
  const int i = 2 * line_of;
  if (!on || i >= place.n_rows) return;
  complex z[n];
#pragma unroll
  for (int u = 0; u <= n / 2; u++) {
    const complex *of = rows + u * B::column + i * B::lanes + lane;
    const complex a = of[0], b = of[B::lanes];
    z[u] = {a.re - b.im, a.im + b.re};
    if (u > 0 && 2 * u < n) z[n - u] = {a.re + b.im, b.re - a.im};
  }
  line<n>(z, !gradient);
  write_rows<n>(s, gradient, place, e, y, z, i, 0, 1, group, at);
}

/* ---- launches ---- */

template <int n>
void launch_transform(const iso__fft_cuda_factor *first, const iso__fft_cuda_factor *second,
                      const iso__fft_cuda_slice *s, cudaStream_t stream) {
  if constexpr (n == 16 || n == 32)
    if (shared_fits<n>()) return launch_shared_transform<n>(first, second, s, stream);
  using B = block<n>;
  const unsigned second_blocks = blocks_of(*s, *second, B::lanes);
  const dim3 grid(second_blocks + blocks_of(*s, *first, B::lanes), 1, (unsigned)s->n_groups);
  iso__cuda_launch_step(transform<n>, grid, B::threads, 0, stream, *first, *second, (int)second_blocks, *s);
}

template <int n>
void launch_result(const iso__conv_cuda_slots *m, float *y, const iso__fft_cuda_slice *s,
                   const iso__fft_cuda_epilogue *e, cudaStream_t stream) {
  if constexpr (n == 16 || n == 32)
    if (shared_fits<n>()) return launch_shared_inverse<n>(false, m, y, s, e, stream);
  using B = block<n>;
  const dim3 grid((unsigned)((s->cut.to + B::lanes - 1) / B::lanes), (unsigned)s->n_tiles, (unsigned)s->n_groups);
  iso__cuda_launch_step(inverse<n>, grid, B::threads, 0, stream, false, *m, y, *s, *e);
}
template <int n>
void launch_dkernel(const iso__conv_cuda_slots *m, float *dw, const iso__fft_cuda_slice *s, cudaStream_t stream) {
  const iso__fft_cuda_epilogue none = {};
  if constexpr (n == 16 || n == 32)
    if (shared_fits<n>()) return launch_shared_inverse<n>(true, m, dw, s, &none, stream);
  using B = block<n>;
  const dim3 grid((unsigned)((s->cut.from + B::lanes - 1) / B::lanes), (unsigned)s->cut.to, (unsigned)s->n_groups);
  iso__cuda_launch_step(inverse<n>, grid, B::threads, 0, stream, true, *m, dw, *s, none);
}

} // namespace

#define ISO__FFT_CUDA_KERNELS(n)                                                                                       \
  extern const iso__fft_cuda_kernels iso__fft_cuda_kernels_##n;                                                        \
  const iso__fft_cuda_kernels iso__fft_cuda_kernels_##n = {launch_transform<n>, launch_result<n>, launch_dkernel<n>};
