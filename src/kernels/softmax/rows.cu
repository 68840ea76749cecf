/* rows.cu: softmax and its gradient on CUDA devices: a group of threads a row (rows.cuh). */
#include "kernels/cuda/launch.cuh"
#include "kernels/softmax/rows.cuh"
#include "kernels/softmax/softmax.h"

namespace {
struct rows {
  const float *x, *dy; /* backward: x is y */
  float *out;
  int64_t n_rows, n;
  bool log, whole;
};
/* This thread's row, and whether it is there; the others work along on the last. */
template <int V> __device__ __forceinline__ bool row_of_thread(const rows &r, int64_t *row) {
  const int64_t number = ((int64_t)blockIdx.x * ROWS_THREADS + threadIdx.x) / (ISO__LANES / V);
  *row = number < r.n_rows ? number : r.n_rows - 1;
  return number == *row;
}

template <int V> __global__ void __launch_bounds__(ROWS_THREADS) softmax_forward(const __grid_constant__ rows r) {
  int64_t row;
  const bool is_there = row_of_thread<V>(r, &row);
  const float *x = r.x + row * r.n;
  float *y = r.out + row * r.n;
  const softmax_row s = softmax_of_row<V>(x, r.log || !is_there ? NULL : y, r.n, r.whole);
  if (!is_there) return;
  if (r.log) {
    log_softmax_row<V>(s, x, y, r.n, r.whole);
    return;
  }
  const float factor = 1 / s.sum;
  for (int64_t i = (int)threadIdx.x % (ISO__LANES / V) * V; i < r.n; i += ISO__LANES) {
    float v[V];
#pragma unroll
    for (int k = 0; k < V; k++) v[k] = i + k < r.n && s.m != -INFINITY ? y[i + k] * factor : 0;
    row_store<V>(y, i, r.n, r.whole, v);
  }
}

template <int V> __global__ void __launch_bounds__(ROWS_THREADS) softmax_backward(const __grid_constant__ rows r) {
  int64_t row;
  const bool is_there = row_of_thread<V>(r, &row);
  const float *y = r.x + row * r.n, *dy = r.dy + row * r.n;
  float *dx = r.out + row * r.n;
  const float sum = lanes_of_row<V>(r.n, [&](float(&lane)[V], int64_t i) {
    float v[V], w[V] = {};
    row_items<V>(v, dy, i, r.n, r.whole, 0);
    if (!r.log) row_items<V>(w, y, i, r.n, r.whole, 0);
#pragma unroll
    for (int k = 0; k < V; k++) lane[k] = r.log ? lane[k] + v[k] : fmaf(v[k], w[k], lane[k]);
  });
  if (!is_there) return;
  for (int64_t i = (int)threadIdx.x % (ISO__LANES / V) * V; i < r.n; i += ISO__LANES) {
    float v[V], w[V];
    row_items<V>(v, dy, i, r.n, r.whole, 0);
    row_items<V>(w, y, i, r.n, r.whole, 0);
#pragma unroll
    for (int k = 0; k < V; k++) v[k] = r.log ? fmaf(-v_exp(w[k]), sum, v[k]) : w[k] * (v[k] - sum);
    row_store<V>(dx, i, r.n, r.whole, v);
  }
}

template <class Kernel> void launch(const iso__call *call, Kernel by_fours, Kernel by_twos, rows r) {
  if (r.n_rows == 0 || r.n == 0) return;
  const bool fours = rows_are_whole(4, r.n, r.x, r.dy, r.out), twos = !fours || r.n >= 512;
  r.whole = twos ? rows_are_whole(2, r.n, r.x, r.dy, r.out) : fours;
  const int64_t group = ISO__LANES / (twos ? 2 : 4);
  (twos ? by_twos : by_fours)<<<iso__cuda_blocks(r.n_rows * group, ROWS_THREADS), ROWS_THREADS, 0, iso__cuda_stream(call)>>>(r);
  iso__cuda_launched(call);
}
} // namespace

extern "C" const char *iso__softmax_cuda_applicable(const iso__problem *problem) {
  return ((const iso_softmax_problem *)problem)->rows >= INT32_MAX ? "numbers rows in 31 bits" : NULL;
}
extern "C" void iso__softmax_fwd_cuda_run(const iso__call *call) {
  const iso_softmax_problem *p = (const iso_softmax_problem *)call->problem;
  const iso_softmax_args *a = (const iso_softmax_args *)call->args;
  launch(call, softmax_forward<4>, softmax_forward<2>,
         {(const float *)a->x, NULL, (float *)a->y, p->rows, p->n, (bool)p->log, false});
}
extern "C" void iso__softmax_bwd_cuda_run(const iso__call *call) {
  const iso_softmax_problem *p = (const iso_softmax_problem *)call->problem;
  const iso_softmax_args *a = (const iso_softmax_args *)call->args;
  launch(call, softmax_backward<4>, softmax_backward<2>,
         {(const float *)a->y_saved, (const float *)a->dy, (float *)a->dx, p->rows, p->n, (bool)p->log, false});
}
