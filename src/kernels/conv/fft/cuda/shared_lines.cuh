/* shared_lines.cuh: transforms of windows where the lines' second radix is a multiple of the first (N = 16, 32): the
 * expressions of line.cuh, but four threads share a line.
 *
 * Whole lines in a thread (tiles.cuh) take so many registers that a multiprocessor has few of them and waits. Here a
 * thread has the numbers t, t + 4, t + 8 … of a line: the first pass' butterflies take just these, and so do the second
 * one's results; between them four threads of a warp turn squares of 4×4. A block has sixteen lanes, eight in a warp at
 * a time: a warp has one line of each, twice. Eight lanes have 64 bytes of a row of shared memory and lie left or right
 * by turns, so that rows that are read together meet in no bank. */
#ifndef ISO_KERNELS_CONV_FFT_CUDA_SHARED_LINES_CUH
#define ISO_KERNELS_CONV_FFT_CUDA_SHARED_LINES_CUH
#include "kernels/conv/fft/cuda/windows.cuh"
#include "kernels/gemm/tile_params.cuh"

namespace {

template <int n> struct shared_block {
  static constexpr int first = 4, second = n / first,
                       groups = second / first; /* radices; first-pass groups of a thread */
  static constexpr int lanes = 16, lines = n / 2 + 1, threads = lines * 32;
  static constexpr int transform_bytes = n * (n / 2) * lanes * (int)sizeof(complex),
                       inverse_bytes = lines * n * lanes * (int)sizeof(complex);
  static_assert(second % first == 0 && (second == 4 || second == 8));
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  static constexpr int blocks = n == 32 ? 1 : 3; /* at once on a multiprocessor, which has 1024 threads */
#else
  static constexpr int blocks = n == 32 ? 2 : 4;
#endif
};

/* The twiddles of thread t: of p = t + 4·g, m = 1 … 3. */
template <int n> struct line_twiddles {
  static constexpr int groups = shared_block<n>::groups;
  complex w[groups][3]; /* cosine, sine */
  template <int t, int... i> __device__ __forceinline__ void set(std::integer_sequence<int, i...>) {
    constexpr int circle = ISO__FFT_CIRCLE;
    ((w[i / 3][i % 3] = {cosines[(t + i / 3 * 4) * (i % 3 + 1) * (circle / n)],
                         cosines[(t + i / 3 * 4) * (i % 3 + 1) * (circle / n) + circle / 4 * 3]}),
     ...);
  }
  __device__ __forceinline__ void init(int t) {
    using all = std::make_integer_sequence<int, groups * 3>;
    if (t == 0) set<0>(all());
    else if (t == 1) set<1>(all());
    else if (t == 2) set<2>(all());
    else set<3>(all());
  }
};

__device__ __forceinline__ complex from_lane(complex z, int mask) {
  return {__shfl_xor_sync(~0u, z.re, mask), __shfl_xor_sync(~0u, z.im, mask)};
}
/* a of one thread for b of the other, which is 8·`apart` lanes away. */
template <int apart> __device__ __forceinline__ void exchange(complex &a, complex &b, bool upper) {
  const complex got = from_lane(upper ? a : b, 8 * apart);
  if (upper) a = got;
  else b = got;
}

/* z[j] is number t + 4·j of the line, before and after. All 32 threads take part. */
template <int n>
__device__ __forceinline__ void shared_fft(complex (&z)[n / 4], int t, const line_twiddles<n> &twiddles) {
  constexpr int groups = shared_block<n>::groups, second = shared_block<n>::second;
  complex turned[second];
#pragma unroll
  for (int g = 0; g < groups; g++) {
    complex a[4], y[4];
#pragma unroll
    for (int m = 0; m < 4; m++) a[m] = z[g + groups * m];
    butterfly<4>(a, y);
#pragma unroll
    for (int m = 1; m < 4; m++) {
      const complex w = twiddles.w[g][m - 1];
      const complex moved = {fused(w.re, y[m].re, w.im * y[m].im), fused(w.re, y[m].im, -(w.im * y[m].re))};
      if (g > 0 || t > 0) y[m] = moved; /* no operation where the turn is 0 */
    }
    exchange<1>(y[0], y[1], t & 1), exchange<1>(y[2], y[3], t & 1);
    exchange<2>(y[0], y[2], t & 2), exchange<2>(y[1], y[3], t & 2);
#pragma unroll
    for (int m = 0; m < 4; m++) turned[4 * g + m] = y[m];
  }
  butterfly<second>(turned, z);
}
template <int n>
__device__ __forceinline__ void shared_line(complex (&z)[n / 4], bool backward, int t,
                                            const line_twiddles<n> &twiddles) {
#pragma unroll
  for (int i = 0; i < n / 4; i++)
    if (backward) z[i] = swap(z[i]);
  shared_fft<n>(z, t, twiddles);
#pragma unroll
  for (int i = 0; i < n / 4; i++)
    if (backward) z[i] = swap(z[i]);
}

/* Where row i of column u and half of the lanes begins; rows a column. */
template <int n> __device__ __forceinline__ int place_in_shared(int u, int i, int rows, int half) {
  return (u * rows + i) * shared_block<n>::lanes + ((half ^ u ^ i) & 1) * 8;
}

/* ---- windows → spectra ---- */

template <int n>
__global__ void __launch_bounds__(shared_block<n>::threads, shared_block<n>::blocks)
    shared_transform(const iso__fft_cuda_factor first, const iso__fft_cuda_factor second, int second_blocks,
                     const iso__fft_cuda_slice s) {
  iso__cuda_await_step();
  using B = shared_block<n>;
  extern __shared__ __align__(16) float shared[];
  complex *const rows = (complex *)shared; /* (u, pair of rows): both rows' line, not yet taken apart */
  const int in_warp = threadIdx.x & 31, line_of = threadIdx.x >> 5, t = in_warp >> 3, group = blockIdx.z;
  const factor_block b = factor_block_of(s, first, second, second_blocks, B::lanes);
  line_twiddles<n> twiddles;
  twiddles.init(t);
  if (line_of < n / 2)
#pragma unroll 1
    for (int half = 0; half < 2; half++) {
      const int i = 2 * line_of;
      const source x = b.source_of(s, n, group, half * 8 + (in_warp & 7));
      const bool absent = i + 1 < x.first_row || i >= x.end_row || x.first_row >= x.end_row;
      complex z[n / 4] = {};
      if (!__all_sync(~0u, absent)) {
        const float *upper = x.base + i * x.row_step + t * x.col_step, *lower = upper + x.row_step;
        const bool has_upper = x.has_row(i), has_lower = x.has_row(i + 1);
#pragma unroll
        for (int j = 0; j < n / 4; j++) {
          const bool inside = x.has_col(t + 4 * j);
          z[j] = {inside & has_upper ? *upper : 0.0f, inside & has_lower ? *lower : 0.0f};
          upper += 4 * x.col_step, lower += 4 * x.col_step;
        }
        shared_fft<n>(z, t, twiddles);
      }
#pragma unroll
      for (int j = 0; j < n / 4; j++)
        rows[place_in_shared<n>(t + 4 * j, line_of, n / 2, half) + (in_warp & 7)] = absent ? complex{0, 0} : z[j];
    }
  __syncthreads();
  const int u = line_of;
#pragma unroll 1
  for (int half = 0; half < 2; half++) {
    complex z[n / 4];
#pragma unroll
    for (int j = 0; j < n / 4; j++) { /* row t + 4·j of column u */
      const int pair = (t >> 1) + 2 * j;
      const complex a = rows[place_in_shared<n>(u, pair, n / 2, half) + (in_warp & 7)];
      const complex c = rows[place_in_shared<n>(u ? n - u : 0, pair, n / 2, half) + (in_warp & 7)];
      z[j] = t & 1 ? complex{a.im + c.im, c.re - a.re} : complex{a.re + c.re, a.im - c.im};
    }
    shared_fft<n>(z, t, twiddles);
    const int lane = half * 8 + (in_warp & 7);
    if (!b.is_stored(lane)) continue;
    float *to = b.place(s, group, u * n + t, lane);
#pragma unroll
    for (int j = 0; j < n / 4; j++) b.store(to + 4 * j * b.frequency_step(), z[j]);
  }
}

/* ---- sums → windows ---- */

/* As tiles.cuh's inverse. */
template <int n>
__global__ void __launch_bounds__(shared_block<n>::threads, shared_block<n>::blocks)
    shared_inverse(bool gradient, const iso__conv_cuda_slots slots, float *y, const iso__fft_cuda_slice s,
                   const iso__fft_cuda_epilogue e) {
  iso__cuda_await_step();
  using B = shared_block<n>;
  extern __shared__ __align__(16) float shared[];
  complex *const rows = (complex *)shared; /* (u, row) */
  const iso__fft_cuda_cut &c = s.cut;
  const int in_warp = threadIdx.x & 31, line_of = threadIdx.x >> 5, t = in_warp >> 3, group = blockIdx.z;
  const int n_lanes = gradient ? c.from : c.to, at0 = blockIdx.x * B::lanes + (in_warp & 7);
  const inverse_place place = inverse_place_of(s, gradient, blockIdx.y);
  line_twiddles<n> twiddles;
  twiddles.init(t);
#pragma unroll 1
  for (int half = 0; half < 2; half++) {
    const int at = at0 + half * 8, u = line_of;
    const int64_t f_step = (int64_t)c.left * c.right;
    const float *from =
        slots.sums + ((int64_t)group * c.frequencies + u * n + t) * f_step + (int64_t)blockIdx.y * c.right + 2 * at;
    complex z[n / 4];
    if (at < n_lanes) fold<n / 4>(from, 4 * f_step, slots, z);
    else
#pragma unroll
      for (int j = 0; j < n / 4; j++) z[j] = {0, 0};
    shared_line<n>(z, !gradient, t, twiddles);
#pragma unroll
    for (int j = 0; j < n / 4; j++) rows[place_in_shared<n>(u, t + 4 * j, n, half) + (in_warp & 7)] = z[j];
  }
  __syncthreads();
  const int i = 2 * line_of;
  if (i >= place.n_rows) return; /* a whole warp */
#pragma unroll 1
  for (int half = 0; half < 2; half++) {
    const int at = at0 + half * 8;
    complex z[n / 4];
#pragma unroll
    for (int j = 0; j < n / 4; j++) { /* number t + 4·j: of column u, or mirrored */
      const bool mirrored = t + 4 * j > n / 2;
      const int u = mirrored ? n - (t + 4 * j) : t + 4 * j;
      const complex a = rows[place_in_shared<n>(u, i, n, half) + (in_warp & 7)];
      const complex b = rows[place_in_shared<n>(u, i + 1, n, half) + (in_warp & 7)];
      z[j] = mirrored ? complex{a.re + b.im, b.re - a.im} : complex{a.re - b.im, a.im + b.re};
    }
    shared_line<n>(z, !gradient, t, twiddles);
    if (at < n_lanes) write_rows<n / 4>(s, gradient, place, e, y, z, i, t, 4, group, at);
  }
}

/* ---- launches ---- */

template <int n> bool shared_fits() { return iso__tiles::largest_shared_bytes() >= shared_block<n>::inverse_bytes; }
template <int n>
void launch_shared_transform(const iso__fft_cuda_factor *first, const iso__fft_cuda_factor *second,
                             const iso__fft_cuda_slice *s, cudaStream_t stream) {
  using B = shared_block<n>;
  const unsigned second_blocks = blocks_of(*s, *second, B::lanes);
  const dim3 grid(second_blocks + blocks_of(*s, *first, B::lanes), 1, (unsigned)s->n_groups);
  iso__cuda_shared(shared_transform<n>, B::transform_bytes);
  iso__cuda_launch_step(shared_transform<n>, grid, B::threads, B::transform_bytes, stream, *first, *second,
                        (int)second_blocks, *s);
}
template <int n>
void launch_shared_inverse(bool gradient, const iso__conv_cuda_slots *m, float *y, const iso__fft_cuda_slice *s,
                           const iso__fft_cuda_epilogue *e, cudaStream_t stream) {
  using B = shared_block<n>;
  const int n_lanes = gradient ? s->cut.from : s->cut.to, n_windows = gradient ? s->cut.to : s->n_tiles;
  const dim3 grid((unsigned)((n_lanes + B::lanes - 1) / B::lanes), (unsigned)n_windows, (unsigned)s->n_groups);
  iso__cuda_shared(shared_inverse<n>, B::inverse_bytes);
  iso__cuda_launch_step(shared_inverse<n>, grid, B::threads, B::inverse_bytes, stream, gradient, *m, y, *s, *e);
}

} // namespace
#endif
