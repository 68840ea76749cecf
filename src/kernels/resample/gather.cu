/* gather.cu: interpolation and its gradient on CUDA devices. A first kernel makes each axis' lists of taps (places.c, in
 * binary64, as everywhere); then a thread gathers for one place and up to four channels, or, where linear images grow,
 * for a few rows of a column (slides.cuh). The gradient's inputs are the outputs that see a place, a contiguous list an
 * axis, so nobody adds to what another writes. */
#include "kernels/cuda/launch.cuh"
#include "kernels/resample/slides.cuh"
extern "C" {
#include "kernels/resample/taps.h"
}

namespace {
enum { THREADS = RESAMPLE_THREADS };

__global__ void __launch_bounds__(THREADS) make_lists(const __grid_constant__ iso_resample_problem p, const __grid_constant__ lists l) {
  const int axis = blockIdx.y, o = (int)(blockIdx.x * THREADS + threadIdx.x);
  const axis_taps &t = l.axis[axis];
  if (o >= t.out) return;
  const iso__tap_range r = iso__resample_range(&p, axis, o);
  t.first[o] = (int)r.begin, t.n[o] = (int)(r.end - r.begin);
  for (int64_t i = r.begin; i < r.end; i++)
    t.weight[(int64_t)o * t.most + (i - r.begin)] = (float)iso__resample_weight(&p, axis, o, &r, i);
  if (p.head.op != ISO__OP_RESAMPLE_BWD) return;
  /* Both ends ascend with o: it is the first to end beyond those since its predecessor's end, and to begin beyond those
   * since its predecessor's begin. */
  iso__tap_range before = {};
  if (o > 0) before = iso__resample_range(&p, axis, o - 1);
  for (int64_t i = before.end; i < r.end; i++) t.low[i] = o;
  for (int64_t i = before.begin; i < r.begin; i++) t.high[i] = o;
  if (o < t.out - 1) return;
  for (int64_t i = r.end; i < t.in; i++) t.low[i] = t.out;
  for (int64_t i = r.begin; i < t.in; i++) t.high[i] = t.out;
}

/* Where this thread works: image, position, group of channels. */
struct place {
  int64_t image;
  int d, h, w, channel;
};
__device__ __forceinline__ bool place_of(const resample &r, const divider &nd, const divider &nh, const divider &nw, place *at) {
  uint32_t i = blockIdx.x * THREADS + threadIdx.x;
  if (i >= r.n_threads) return false;
  at->channel = (int)take_digit(r.by_channels, &i), at->w = (int)take_digit(nw, &i);
  at->h = (int)take_digit(nh, &i), at->d = (int)take_digit(nd, &i), at->image = i;
  return true;
}

template <int V> __global__ void __launch_bounds__(THREADS) forward(const __grid_constant__ resample r, const __grid_constant__ lists l) {
  const axis_taps &d = l.axis[0], &h = l.axis[1], &w = l.axis[2];
  place o;
  if (!place_of(r, d.by_out, h.by_out, w.by_out, &o)) return;
  const int fd = d.first[o.d], fh = h.first[o.h], fw = w.first[o.w], nd = d.n[o.d], nh = h.n[o.h], nw = w.n[o.w];
  sums<V> s = {};
  items<V> v = {};
  for (int i = 0; i < nd; i++)
    for (int j = 0; j < nh; j++) {
      const float outer = d.weight[(int64_t)o.d * d.most + i] * h.weight[(int64_t)o.h * h.most + j];
      const int64_t row = ((o.image * d.in + fd + i) * h.in + fh + j) * w.in + fw;
      for (int k = 0; k < nw; k++) {
        const float weight = outer * w.weight[(int64_t)o.w * w.most + k];
        v = read<V>(r.from, (row + k) * r.channels + o.channel);
#pragma unroll
        for (int c = 0; c < V; c++) s.acc[c] = fmaf(weight, v.v[c], s.acc[c]);
        sums_next(s);
      }
    }
  if (!r.copies)
#pragma unroll
    for (int c = 0; c < V; c++) v.v[c] = sums_end(s, c);
  write<V>(r.to, (((o.image * d.out + o.d) * h.out + o.h) * w.out + o.w) * r.channels + o.channel, v);
}

template <int V> __global__ void __launch_bounds__(THREADS) backward(const __grid_constant__ resample r, const __grid_constant__ lists l) {
  const axis_taps &d = l.axis[0], &h = l.axis[1], &w = l.axis[2];
  place i;
  if (!place_of(r, d.by_in, h.by_in, w.by_in, &i)) return;
  sums<V> s = {};
  for (int od = d.low[i.d]; od < d.high[i.d]; od++)
    for (int oh = h.low[i.h]; oh < h.high[i.h]; oh++) {
      const float outer = weight_of(d, od, i.d) * weight_of(h, oh, i.h);
      const int64_t row = ((i.image * d.out + od) * h.out + oh) * w.out;
#pragma unroll 2
      for (int ow = w.low[i.w]; ow < w.high[i.w]; ow++) {
        const float weight = outer * weight_of(w, ow, i.w);
        const items<V> dy = read<V>(r.from, (row + ow) * r.channels + i.channel);
#pragma unroll
        for (int c = 0; c < V; c++) s.acc[c] = fmaf(weight, dy.v[c], s.acc[c]);
        sums_next(s);
      }
    }
  items<V> dx;
#pragma unroll
  for (int c = 0; c < V; c++) dx.v[c] = sums_end(s, c);
  write<V>(r.to, (((i.image * d.in + i.d) * h.in + i.h) * w.in + i.w) * r.channels + i.channel, dx);
}

size_t lists_of(const iso_resample_problem *p, char *base, lists *l) {
  size_t at = 0;
  const auto take = [&](int64_t n) {
    char *piece = base + at;
    at += ((size_t)n * 4 + 63) / 64 * 64;
    return piece;
  };
  for (int d = 0; d < 3; d++) {
    axis_taps *t = &l->axis[d];
    const iso_resample_axis *a = &p->axis[d];
    t->in = (int)a->in, t->out = (int)a->out, t->most = (int)iso__resample_most_taps(p, d);
    t->first = (int *)take(a->out), t->n = (int *)take(a->out), t->weight = (float *)take(a->out * t->most);
    t->low = (int *)take(a->in), t->high = (int *)take(a->in);
    t->by_in = divide_by(a->in), t->by_out = divide_by(a->out);
  }
  return at;
}
int64_t positions(const iso_resample_problem *p, bool inputs) {
  int64_t n = p->n;
  for (int d = 0; d < 3; d++) n *= inputs ? p->axis[d].in : p->axis[d].out;
  return n;
}
/* Whether slides serve: linear images of four channels and more that do not shrink. */
bool can_slide(const iso_resample_problem *p) {
  bool grows = p->mode == ISO__RESAMPLE_LINEAR && !p->smooth && p->axis[0].in == 1 && p->axis[0].out == 1;
  for (int d = 0; d < 3; d++) grows &= !p->axis[d].step && p->axis[d].out >= p->axis[d].in;
  return grows;
}
/* The columns of dy that see one of dx, at most: places within [−1, 1) of it, and of the second one's those before the
 * first, too, which lie half a column out at most. */
int64_t most_columns(const iso_resample_problem *p) {
  const iso_resample_axis *a = &p->axis[2];
  if (p->corners) return a->in > 1 ? (2 * (a->out - 1)) / (a->in - 1) + 1 : a->out;
  return a->in > 1 ? (5 * a->out + 2 * a->in - 1) / (2 * a->in) : a->out;
}
typedef void resample_kernel(resample, lists);
resample_kernel *slide_kernel(const iso_resample_problem *p) {
  if (!can_slide(p)) return NULL;
  if (p->head.op == ISO__OP_RESAMPLE_FWD) return slide_forward;
  const int64_t most = most_columns(p);
  return most <= 5 ? slide_backward<5> : most <= 10 ? slide_backward<10> : NULL;
}
} // namespace

extern "C" const char *iso__resample_cuda_applicable(const iso__problem *problem) {
  const iso_resample_problem *p = (const iso_resample_problem *)problem;
  bool fits = (double)positions(p, true) * (double)p->c < INT32_MAX && (double)positions(p, false) * (double)p->c < INT32_MAX;
  for (int d = 0; d < 3; d++) fits &= p->axis[d].in < INT32_MAX / 64 && p->axis[d].out < INT32_MAX / 64;
  return fits ? NULL : "numbers elements in 31 bits";
}
extern "C" size_t iso__resample_cuda_workspace(const iso__problem *problem, int n_multiprocessors) {
  lists l;
  (void)n_multiprocessors;
  return lists_of((const iso_resample_problem *)problem, NULL, &l);
}
extern "C" void iso__resample_cuda_run(const iso__call *call) {
  const iso_resample_problem *p = (const iso_resample_problem *)call->problem;
  const iso_resample_args *a = (const iso_resample_args *)call->args;
  const bool backwards = p->head.op == ISO__OP_RESAMPLE_BWD;
  lists l;
  lists_of(p, (char *)call->workspace, &l);
  resample r = {};
  r.from = (const float *)a->in, r.to = (float *)a->out, r.copies = iso__resample_copies(p);
  const bool fours = p->c % 4 == 0 && (((uintptr_t)a->in | (uintptr_t)a->out) & 15) == 0;
  r.channels = (int)(fours ? p->c / 4 : p->c);
  r.by_channels = divide_by(r.channels);
  int64_t n = positions(p, backwards) * r.channels;
  if (n == 0) return;
  const iso_resample_axis *h = &p->axis[1], *w = &p->axis[2];
  r.row_items = (uint32_t)((backwards ? w->in : w->out) * r.channels);
  resample_kernel *kernel = fours && r.row_items >= THREADS / 4 ? slide_kernel(p) : NULL;
  if (kernel) {
    const int64_t segments = (r.row_items + THREADS - 1) / THREADS, rows = backwards ? h->in : h->out;
    /* Long slides read fewer rows twice; they pay where they leave the device full. */
    const bool is_full = n / LONG_SLIDE_ROWS >= 1024 * (int64_t)iso__cuda_multiprocessors(call->ctx);
    r.slide_rows = backwards && is_full ? LONG_SLIDE_ROWS : SLIDE_ROWS;
    const int64_t row_blocks = (rows + r.slide_rows - 1) / r.slide_rows;
    r.by_segments = divide_by(segments), r.by_row_blocks = divide_by(row_blocks);
    n = p->n * row_blocks * segments * THREADS;
  } else {
    kernel = backwards ? (fours ? backward<4> : backward<1>) : (fours ? forward<4> : forward<1>);
  }
  r.n_threads = (uint32_t)n;
  int most = 1;
  for (int d = 0; d < 3; d++) most = max(most, l.axis[d].out);
  make_lists<<<dim3(iso__cuda_blocks(most, THREADS), 3), THREADS, 0, iso__cuda_stream(call)>>>(*p, l);
  kernel<<<iso__cuda_blocks(n, THREADS), THREADS, 0, iso__cuda_stream(call)>>>(r, l);
  iso__cuda_launched(call);
}
