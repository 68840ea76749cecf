/* slides.cuh: linear interpolation of images, and its gradient: a thread has one column and four channels and slides down
 * a few rows, so that it computes the column's weights once and keeps the rows that neighbours share in registers.
 *
 * Forward: an output row sees two input rows; the next one sees the same or the next two. Backward: rows of dy go by in
 * ascending order; each adds to at most two rows of dx, of which the upper one is written when dy has gone past it. */
#ifndef ISO_KERNELS_RESAMPLE_SLIDES_CUH
#define ISO_KERNELS_RESAMPLE_SLIDES_CUH
#include "kernels/cuda/divide.cuh"
#include "kernels/cuda/ordered.cuh"

enum { RESAMPLE_THREADS = 128, SLIDE_ROWS = 8, LONG_SLIDE_ROWS = 16 };

/* An axis' outputs: output o sees inputs first[o] … with `n[o]` weights at o·most; input i is seen by outputs low[i] …
 * high[i] − 1. */
struct axis_taps {
  int *first, *n, *low, *high;
  float *weight;
  int in, out, most;
  divider by_in, by_out;
};
struct lists {
  axis_taps axis[3];
};
struct resample {
  const float *from;
  float *to;
  uint32_t n_threads;
  int channels; /* in groups of V */
  divider by_channels;
  uint32_t row_items;          /* groups of a row of the result */
  divider by_segments, by_row_blocks; /* blocks of a row, and of an image */
  int slide_rows;                     /* of a block: SLIDE_ROWS, or more going backwards */
  bool copies;
};
/* Output o's weight of input i, which it sees. */
static __device__ __forceinline__ float weight_of(const axis_taps &t, int o, int i) {
  return __ldg(t.weight + (int64_t)o * t.most + (i - __ldg(t.first + o)));
}

/* A slide: image, rows first … end − 1 of the result, column, group of channels. */
struct slide {
  int image, first, end, column, channel;
};
static __device__ __forceinline__ bool slide_of(const resample &r, int n_rows, slide *at) {
  uint32_t block = blockIdx.x;
  uint32_t item = take_digit(r.by_segments, &block) * RESAMPLE_THREADS + threadIdx.x;
  if (item >= r.row_items) return false;
  at->first = (int)take_digit(r.by_row_blocks, &block) * r.slide_rows, at->end = min(at->first + r.slide_rows, n_rows);
  at->image = (int)block;
  at->channel = (int)take_digit(r.by_channels, &item), at->column = (int)item;
  return true;
}

static __global__ void __launch_bounds__(RESAMPLE_THREADS) slide_forward(const __grid_constant__ resample r, const __grid_constant__ lists l) {
  const axis_taps &h = l.axis[1], &w = l.axis[2];
  slide o;
  if (!slide_of(r, h.out, &o)) return;
  const bool two = __ldg(w.n + o.column) > 1;
  const float left = __ldg(w.weight + o.column * w.most), right = two ? __ldg(w.weight + o.column * w.most + 1) : 0;
  const int across = two ? r.channels : 0, pitch = w.in * r.channels;
  const int base = o.image * h.in * pitch + __ldg(w.first + o.column) * r.channels + o.channel;
  int to = ((o.image * h.out + o.first) * w.out + o.column) * r.channels + o.channel;
  const float depth = __ldg(l.axis[0].weight);
  items<4> x[2][2] = {}; /* rows `top` and `top` + 1, left and right */
  int top = -2;
#pragma unroll
  for (int k = 0; k < SLIDE_ROWS; k++, to += w.out * r.channels) {
    const int row = o.first + k;
    if (row >= o.end) break;
    const int first = __ldg(h.first + row);
    const bool lower = __ldg(h.n + row) > 1;
    if (first != top) {
      const int at = base + first * pitch;
      if (first == top + 1) x[0][0] = x[1][0], x[0][1] = x[1][1];
      else x[0][0] = read<4>(r.from, at), x[0][1] = read<4>(r.from, at + across);
      if (first + 1 < h.in) x[1][0] = read<4>(r.from, at + pitch), x[1][1] = read<4>(r.from, at + pitch + across);
      top = first;
    }
    items<4> y = {};
#pragma unroll
    for (int i = 0; i < 2; i++) {
      if (i == 1 && !lower) break;
      const float outer = depth * __ldg(h.weight + row * h.most + i), wl = outer * left, wr = outer * right;
#pragma unroll
      for (int c = 0; c < 4; c++) {
        y.v[c] = fmaf(wl, x[i][0].v[c], y.v[c]);
        if (two) y.v[c] = fmaf(wr, x[i][1].v[c], y.v[c]);
      }
    }
#pragma unroll
    for (int c = 0; c < 4; c++) y.v[c] = y.v[c] + 0.0f; /* the panel that the chain is added to */
    write<4>(r.to, to, y);
  }
}

/* most: columns of dy that see a column of dx, at most. */
template <int most> static __global__ void __launch_bounds__(RESAMPLE_THREADS) slide_backward(const __grid_constant__ resample r, const __grid_constant__ lists l) {
  const axis_taps &h = l.axis[1], &w = l.axis[2];
  slide i;
  if (!slide_of(r, h.in, &i)) return;
  const int low = min(__ldg(w.low + i.column), w.out - 1), n = __ldg(w.high + i.column) - low, pitch = w.out * r.channels;
  float columns[most];
#pragma unroll
  for (int k = 0; k < most; k++) columns[k] = k < n ? weight_of(w, low + k, i.column) : 0;
  const float depth = __ldg(l.axis[0].weight);
  const int from = __ldg(h.low + i.first), end = __ldg(h.high + i.end - 1);
  int at = (i.image * h.out + from) * pitch + low * r.channels + i.channel;
  int to = ((i.image * h.in + i.first) * w.in + i.column) * r.channels + i.channel;
  items<4> dx[2] = {}; /* of rows `row` and `row` + 1 */
  int row = i.first;
  const auto finish = [&] {
#pragma unroll
    for (int c = 0; c < 4; c++) dx[0].v[c] = dx[0].v[c] + 0.0f;
    write<4>(r.to, to, dx[0]);
    dx[0] = dx[1], dx[1] = {}, row++, to += w.in * r.channels;
  };
#pragma unroll 2
  for (int o = from; o < end; o++, at += pitch) {
    const int first = __ldg(h.first + o), n_rows = __ldg(h.n + o);
    items<4> dy[most];
#pragma unroll
    for (int k = 0; k < most; k++)
      if (k < n) dy[k] = read<4>(r.from, at + k * r.channels);
    while (first > row) finish();
#pragma unroll
    for (int j = 0; j < 2; j++) {
      const int tap = row + j - first; /* of this row of dy */
      if (tap < 0 || tap >= n_rows || row + j >= i.end) continue;
      const float outer = depth * __ldg(h.weight + o * h.most + tap);
#pragma unroll
      for (int k = 0; k < most; k++) {
        const float weight = outer * columns[k];
        if (k < n)
#pragma unroll
          for (int c = 0; c < 4; c++) dx[j].v[c] = fmaf(weight, dy[k].v[c], dx[j].v[c]);
      }
    }
  }
  while (row < i.end) finish();
}
#endif
