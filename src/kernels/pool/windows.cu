/* windows.cu: max and average pooling on CUDA devices: a thread a window (backward: an input position) and four
 * channels, in 32-bit arithmetic; small square windows of images in tiles.cuh. Gradients are gathered, so nobody adds to
 * what another writes. */
#include "kernels/cuda/divide.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/ordered.cuh"
#include "kernels/pool/pool.h"
#include "kernels/pool/tiles.cuh"

namespace {
struct axis {
  int in, out, kernel, stride, pad, dilation;
  bool adaptive;
  divider by_in, by_out, by_stride, by_dilation;
};
struct pool {
  const float *from;
  float *to;
  uint8_t *index; /* NULL: none, or wide */
  int64_t *wide;
  axis d, h, w;
  uint32_t n_threads;
  int channels; /* in groups of V */
  divider by_channels;
  int divisor;
  bool count_padding;
};
struct span {
  int begin, end;
};

/* Of numbers that are not negative. */
__device__ __forceinline__ int floor_div(int n, const divider &d) { return (int)quotient(d, (uint32_t)n); }
__device__ __forceinline__ int ceil_div(int n, const divider &d) { return (int)quotient(d, (uint32_t)n + d.by - 1); }
__device__ __forceinline__ int window_first(const axis &a, int o) {
  return a.adaptive ? floor_div(o * a.in, a.by_out) : o * a.stride - a.pad;
}
/* Kernel positions inside the input, and inside it and its padding; as in window.h. */
__device__ __forceinline__ span window_inside(const axis &a, int o) {
  const int first = window_first(a, o);
  if (a.adaptive) return {0, ceil_div((o + 1) * a.in, a.by_out) - first};
  if (a.dilation == 1) return {first < 0 ? -first : 0, min(a.kernel, max(a.in - first, 0))};
  return {first < 0 ? ceil_div(-first, a.by_dilation) : 0, a.in > first ? min(a.kernel, ceil_div(a.in - first, a.by_dilation)) : 0};
}
__device__ __forceinline__ span window_padded(const axis &a, int o) {
  if (a.adaptive) return window_inside(a, o);
  const int left = a.in + a.pad - window_first(a, o);
  return {0, min(a.kernel, a.dilation == 1 ? left : ceil_div(left, a.by_dilation))};
}
/* Windows that may see input position i, and the kernel position at which window o does; −1: it does not. */
__device__ __forceinline__ span windows_over(const axis &a, int i) {
  if (a.adaptive) return {floor_div(i * a.out, a.by_in), ceil_div((i + 1) * a.out, a.by_in)};
  const int low = i + a.pad - a.dilation * (a.kernel - 1);
  return {low > 0 ? ceil_div(low, a.by_stride) : 0, min(floor_div(i + a.pad, a.by_stride) + 1, a.out)};
}
__device__ __forceinline__ int window_position(const axis &a, int o, int i) {
  const int distance = i - window_first(a, o);
  if (a.dilation == 1) return distance;
  if (distance < 0) return -1;
  const int position = floor_div(distance, a.by_dilation);
  return position * a.dilation == distance ? position : -1;
}
__device__ __forceinline__ int window_divisor(const pool &p, int od, int oh, int ow) {
  if (p.divisor) return p.divisor;
  const span d = p.count_padding ? window_padded(p.d, od) : window_inside(p.d, od);
  const span h = p.count_padding ? window_padded(p.h, oh) : window_inside(p.h, oh);
  const span w = p.count_padding ? window_padded(p.w, ow) : window_inside(p.w, ow);
  return (d.end - d.begin) * (h.end - h.begin) * (w.end - w.begin);
}

/* Where this thread works: image, position, group of channels. */
struct place {
  int image, d, h, w, channel;
};
__device__ __forceinline__ bool place_of(const pool &p, const divider &nd, const divider &nh, const divider &nw, place *at) {
  uint32_t i = blockIdx.x * POOL_THREADS + threadIdx.x;
  if (i >= p.n_threads) return false;
  at->channel = (int)take_digit(p.by_channels, &i), at->w = (int)take_digit(nw, &i);
  at->h = (int)take_digit(nh, &i), at->d = (int)take_digit(nd, &i), at->image = (int)i;
  return true;
}
/* Of a position of a volume, in groups of channels. */
__device__ __forceinline__ int group_at(const pool &p, int image, int d, int h, int w, int nd, int nh, int nw, int channel) {
  return (((image * nd + d) * nh + h) * nw + w) * p.channels + channel;
}

template <int V> __global__ void __launch_bounds__(POOL_THREADS) max_forward(const __grid_constant__ pool p) {
  place o;
  if (!place_of(p, p.d.by_out, p.h.by_out, p.w.by_out, &o)) return;
  const span d = window_inside(p.d, o.d), h = window_inside(p.h, o.h), w = window_inside(p.w, o.w);
  const int d0 = window_first(p.d, o.d), h0 = window_first(p.h, o.h), w0 = window_first(p.w, o.w);
  items<V> best;
  int winner[V];
#pragma unroll
  for (int k = 0; k < V; k++) winner[k] = -1, best.v[k] = 0;
  for (int i = d.begin; i < d.end; i++)
    for (int j = h.begin; j < h.end; j++)
      for (int l = w.begin; l < w.end; l++) {
        const int pd = d0 + i * p.d.dilation, ph = h0 + j * p.h.dilation, pw = w0 + l * p.w.dilation;
        const items<V> x = read<V>(p.from, group_at(p, o.image, pd, ph, pw, p.d.in, p.h.in, p.w.in, o.channel));
        const int number = p.wide ? (pd * p.h.in + ph) * p.w.in + pw : (i * p.h.kernel + j) * p.w.kernel + l;
#pragma unroll
        for (int k = 0; k < V; k++) {
          const bool loses = winner[k] >= 0 && !(x.v[k] > best.v[k] || (x.v[k] != x.v[k] && best.v[k] == best.v[k]));
          if (!loses) best.v[k] = x.v[k], winner[k] = number;
        }
      }
  const int at = group_at(p, o.image, o.d, o.h, o.w, p.d.out, p.h.out, p.w.out, o.channel);
  write<V>(p.to, at, best);
  if (p.wide) {
#pragma unroll
    for (int k = 0; k < V; k++) p.wide[(int64_t)at * V + k] = winner[k];
  } else if constexpr (V == 4) {
    ((uchar4 *)p.index)[at] = make_uchar4((uint8_t)winner[0], (uint8_t)winner[1], (uint8_t)winner[2], (uint8_t)winner[3]);
  } else {
    p.index[at] = (uint8_t)winner[0];
  }
}

template <int V> __global__ void __launch_bounds__(POOL_THREADS) average_forward(const __grid_constant__ pool p) {
  place o;
  if (!place_of(p, p.d.by_out, p.h.by_out, p.w.by_out, &o)) return;
  const span d = window_inside(p.d, o.d), h = window_inside(p.h, o.h), w = window_inside(p.w, o.w);
  const span all_d = p.count_padding ? window_padded(p.d, o.d) : d, all_h = p.count_padding ? window_padded(p.h, o.h) : h,
             all_w = p.count_padding ? window_padded(p.w, o.w) : w;
  const int d0 = window_first(p.d, o.d), h0 = window_first(p.h, o.h), w0 = window_first(p.w, o.w);
  sums<V> s = {};
  for (int i = all_d.begin; i < all_d.end; i++)
    for (int j = all_h.begin; j < all_h.end; j++)
#pragma unroll 4
      for (int l = all_w.begin; l < all_w.end; l++) {
        if (i >= d.begin && i < d.end && j >= h.begin && j < h.end && l >= w.begin && l < w.end) {
          const int pd = d0 + i * p.d.dilation, ph = h0 + j * p.h.dilation, pw = w0 + l * p.w.dilation;
          const items<V> x = read<V>(p.from, group_at(p, o.image, pd, ph, pw, p.d.in, p.h.in, p.w.in, o.channel));
#pragma unroll
          for (int k = 0; k < V; k++) s.acc[k] = s.acc[k] + x.v[k];
        }
        sums_next(s);
      }
  const float divisor = (float)window_divisor(p, o.d, o.h, o.w);
  items<V> y;
#pragma unroll
  for (int k = 0; k < V; k++) y.v[k] = sums_end(s, k) / divisor;
  write<V>(p.to, group_at(p, o.image, o.d, o.h, o.w, p.d.out, p.h.out, p.w.out, o.channel), y);
}

/* `few`: at most a chunk of contributions, which are then one chain. */
template <int V, bool is_max, bool few> __global__ void __launch_bounds__(POOL_THREADS) backward(const __grid_constant__ pool p) {
  place i;
  if (!place_of(p, p.d.by_in, p.h.by_in, p.w.by_in, &i)) return;
  const span d = windows_over(p.d, i.d), h = windows_over(p.h, i.h), w = windows_over(p.w, i.w);
  constexpr int own = is_max && !few ? V : 1; /* max: each channel has contributions of its own */
  sums<V> s[own] = {};
  for (int od = d.begin; od < d.end; od++)
    for (int oh = h.begin; oh < h.end; oh++)
      for (int ow = w.begin; ow < w.end; ow++) {
        const int kd = window_position(p.d, od, i.d), kh = window_position(p.h, oh, i.h), kw = window_position(p.w, ow, i.w);
        if (kd < 0 || kh < 0 || kw < 0) continue;
        const int at = group_at(p, i.image, od, oh, ow, p.d.out, p.h.out, p.w.out, i.channel);
        const items<V> dy = read<V>(p.from, at);
        if constexpr (is_max) {
          const int number = (kd * p.h.kernel + kh) * p.w.kernel + kw;
          int winner[V];
          read_winners<V>(winner, p.index, at);
#pragma unroll
          for (int k = 0; k < V; k++) {
            if (winner[k] != number) continue;
            float &acc = few ? s[0].acc[k] : s[k % own].acc[0];
            acc = acc + dy.v[k];
            if constexpr (!few) sums_next(s[k % own]);
          }
        } else {
          const float divisor = (float)window_divisor(p, od, oh, ow);
#pragma unroll
          for (int k = 0; k < V; k++) s[0].acc[k] = s[0].acc[k] + dy.v[k] / divisor;
          if constexpr (!few) sums_next(s[0]);
        }
      }
  items<V> dx;
#pragma unroll
  for (int k = 0; k < V; k++) dx.v[k] = few ? s[0].acc[k] : is_max ? sums_end(s[k % own], 0) : sums_end(s[0], k);
  write<V>(p.to, group_at(p, i.image, i.d, i.h, i.w, p.d.in, p.h.in, p.w.in, i.channel), dx);
}

/* The most windows over one position of an axis. */
int64_t most_over(const iso_pool_axis *a, int64_t out) {
  const int64_t most = a->out ? a->out / a->in + 2 : (a->dilation * (a->kernel - 1)) / a->stride + 1;
  return most < out ? most : out;
}
axis axis_of(const iso_pool_problem *p, int d) {
  const iso_pool_axis *a = &p->axis[d];
  const int64_t out = iso__pool_out(p, d);
  return {(int)a->in,         (int)out,       (int)a->kernel,       (int)a->stride,         (int)a->pad, (int)a->dilation, a->out != 0,
          divide_by(a->in), divide_by(out), divide_by(a->stride), divide_by(a->dilation)};
}

typedef void tile_kernel(tiled);
bool is_backward(const iso_pool_problem *p) { return p->head.op == ISO__OP_MAX_POOL_BWD || p->head.op == ISO__OP_AVG_POOL_BWD; }
bool is_max_of(const iso_pool_problem *p) { return p->head.op == ISO__OP_MAX_POOL_BWD || p->head.op == ISO__OP_MAX_POOL_FWD; }
/* The kernel of tiles.cuh for these windows, or NULL. */
tile_kernel *tile_kernel_of(const iso_pool_problem *p) {
  const iso_pool_axis *d = &p->axis[0], *h = &p->axis[1], *w = &p->axis[2];
  const bool backwards = is_backward(p), is_max = is_max_of(p);
  if (d->in != 1 || d->kernel != 1 || d->pad || d->out || h->out || w->out || p->wide || h->dilation * w->dilation != 1) return NULL;
  if (h->kernel != w->kernel || (backwards && (h->stride != 2 || w->stride != 2))) return NULL;
  if (h->kernel == 2) return backwards ? (is_max ? tile_backward<2, 2, true> : tile_backward<2, 2, false>) : is_max ? tile_forward<2, true> : tile_forward<2, false>;
  if (h->kernel == 3) return backwards ? (is_max ? tile_backward<3, 2, true> : tile_backward<3, 2, false>) : is_max ? tile_forward<3, true> : tile_forward<3, false>;
  return NULL;
}
tile_axis tile_axis_of(const iso_pool_problem *p, int d) {
  const iso_pool_axis *a = &p->axis[d];
  const int64_t out = iso__pool_out(p, d), n = is_backward(p) ? (a->in + a->pad + a->stride - 1) / a->stride : out;
  return {(int)a->in, (int)out, (int)a->stride, (int)a->pad, divide_by(n)};
}
void launch_tiles(tile_kernel *kernel, const iso_pool_problem *p, const pool &q, cudaStream_t stream) {
  tiled t = {};
  t.from = q.from, t.to = q.to, t.index = q.index, t.h = tile_axis_of(p, 1), t.w = tile_axis_of(p, 2);
  t.channels = q.channels, t.by_channels = q.by_channels, t.divisor = q.divisor, t.count_padding = q.count_padding;
  t.n_threads = (uint32_t)(p->n * t.h.by.by * t.w.by.by * (uint32_t)q.channels);
  kernel<<<iso__cuda_blocks(t.n_threads, POOL_THREADS), POOL_THREADS, 0, stream>>>(t);
}
/* Whether every image has one window, of all of its positions, that averages. */
bool takes_whole(const iso_pool_problem *p) {
  if (is_max_of(p)) return false;
  for (int d = 0; d < 3; d++) {
    const iso_pool_axis *a = &p->axis[d];
    if (a->out ? a->out != 1 : a->kernel != a->in || a->pad || iso__pool_out(p, d) != 1) return false;
  }
  return iso__pool_in_positions(p) <= WHOLE_POSITIONS * 65535;
}
void launch_whole(const iso_pool_problem *p, const pool &q, bool fours, cudaStream_t stream) {
  whole w = {};
  w.from = q.from, w.to = q.to, w.n = (int)iso__pool_in_positions(p), w.channels = q.channels, w.by_channels = q.by_channels;
  w.divisor = (float)(p->divisor ? p->divisor : w.n), w.n_threads = (uint32_t)(p->n * q.channels);
  void (*const kernels[2][2])(whole) = {{average_whole<1>, average_whole<4>}, {average_whole_backward<1>, average_whole_backward<4>}};
  const dim3 grid(iso__cuda_blocks(w.n_threads, POOL_THREADS), is_backward(p) ? (unsigned)((w.n + WHOLE_POSITIONS - 1) / WHOLE_POSITIONS) : 1);
  kernels[is_backward(p)][fours]<<<grid, POOL_THREADS, 0, stream>>>(w);
}
} // namespace

extern "C" const char *iso__pool_cuda_applicable(const iso__problem *problem) {
  const iso_pool_problem *p = (const iso_pool_problem *)problem;
  bool small = p->divisor < INT32_MAX;
  for (int d = 0; d < 3; d++) {
    const iso_pool_axis *a = &p->axis[d];
    small &= a->in < 32768 && iso__pool_out(p, d) < 32768 && a->kernel < 32768 && a->stride < 32768 && a->pad < 32768 && a->dilation < 32768;
    small &= a->dilation * a->kernel < 65536;
  }
  const double in = (double)iso__pool_in_positions(p), out = (double)iso__pool_out_positions(p);
  small &= in < INT32_MAX && (double)p->n * (double)p->c * (in > out ? in : out) < INT32_MAX;
  return small ? NULL : "numbers positions in 31 bits";
}

extern "C" void iso__pool_cuda_run(const iso__call *call) {
  const iso_pool_problem *p = (const iso_pool_problem *)call->problem;
  const iso_pool_args *a = (const iso_pool_args *)call->args;
  const bool backwards = is_backward(p), is_max = is_max_of(p);
  pool q = {};
  q.from = (const float *)(backwards ? a->dy : a->x), q.to = (float *)(backwards ? a->dx : a->y);
  q.wide = is_max && p->wide ? (int64_t *)a->index : NULL, q.index = is_max && !p->wide ? (uint8_t *)a->index : NULL;
  q.d = axis_of(p, 0), q.h = axis_of(p, 1), q.w = axis_of(p, 2);
  q.divisor = (int)p->divisor, q.count_padding = p->count_padding;
  bool fours = p->c % 4 == 0 && (((uintptr_t)q.from | (uintptr_t)q.to) & 15) == 0;
  fours &= ((uintptr_t)q.index & 3) == 0; /* NULL where there is none */
  const bool few = most_over(&p->axis[0], q.d.out) * most_over(&p->axis[1], q.h.out) * most_over(&p->axis[2], q.w.out) <= ISO__CHUNK;
  fours &= !backwards || few;
  q.channels = (int)(fours ? p->c / 4 : p->c);
  q.by_channels = divide_by(q.channels);
  const int64_t n = p->n * (backwards ? iso__pool_in_positions(p) : iso__pool_out_positions(p)) * q.channels;
  if (n == 0) return;
  q.n_threads = (uint32_t)n;
  cudaStream_t stream = iso__cuda_stream(call);
  tile_kernel *const tiles = fours ? tile_kernel_of(p) : NULL;
  if (tiles) return launch_tiles(tiles, p, q, stream), iso__cuda_launched(call);
  if (takes_whole(p)) return launch_whole(p, q, fours, stream), iso__cuda_launched(call);
  void (*kernel)(pool);
  if (backwards && is_max) kernel = !few ? backward<1, true, false> : fours ? backward<4, true, true> : backward<1, true, true>;
  else if (backwards) kernel = !few ? backward<1, false, false> : fours ? backward<4, false, true> : backward<1, false, true>;
  else if (is_max) kernel = fours ? max_forward<4> : max_forward<1>;
  else kernel = fours ? average_forward<4> : average_forward<1>;
  kernel<<<iso__cuda_blocks(n, POOL_THREADS), POOL_THREADS, 0, stream>>>(q);
  iso__cuda_launched(call);
}
