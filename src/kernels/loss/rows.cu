/* rows.cu: cross entropy on CUDA devices: log-softmax and loss of a row by a group of threads (softmax/rows.cuh), the
 * gradient likewise. */
#include "kernels/cuda/launch.cuh"
#include "kernels/loss/loss.h"
#include "kernels/softmax/rows.cuh"

namespace {
struct rows {
  const float *x, *weights, *scale;
  const int64_t *target;
  float *out, *row_loss;
  int64_t n_rows, n;
  bool whole, row_scale;
};

/* This thread's row, and whether it is there; the others work along on the last, since all of a warp shuffle. */
template <int V> __device__ __forceinline__ bool row_of_thread(const rows &r, int64_t *row) {
  const int64_t number = ((int64_t)blockIdx.x * ROWS_THREADS + threadIdx.x) / (ISO__LANES / V);
  *row = number < r.n_rows ? number : r.n_rows - 1;
  return number == *row;
}
template <int V> __device__ __forceinline__ void put_loss(const rows &r, int64_t row, const softmax_row &s) {
  if (threadIdx.x % (ISO__LANES / V)) return;
  const int64_t target = r.target[row];
  const float loss = target == r.n ? 0 : -log_softmax_at(s, r.x[row * r.n + target]);
  r.row_loss[row] = r.weights && target != r.n ? r.weights[target] * loss : loss;
}
template <int V, bool whole, int rounds>
__global__ void __launch_bounds__(ROWS_THREADS, 3) forward_registers(const __grid_constant__ rows r) {
  int64_t row;
  const bool is_there = row_of_thread<V>(r, &row);
  const int64_t target = r.target[row];
  float v[rounds][V];
  load_row<V, whole>(v, r.x + row * r.n, (int)r.n, -INFINITY);
  const float weight = r.weights && target != r.n ? r.weights[target] : 1;
  const softmax_row s = softmax_of_registers(v, false);
  if (!is_there) return;
  const float log_sum = v_log(s.sum);
  const int first = (int)threadIdx.x % (ISO__LANES / V) * V;
  if (target == r.n && first == 0) r.row_loss[row] = 0; /* ignored */
#pragma unroll
  for (int i = 0; i < rounds; i++)
#pragma unroll
    for (int k = 0; k < V; k++) {
      v[i][k] = s.m == -INFINITY ? 0 : v[i][k] - log_sum;
      if (i * ISO__LANES + first + k == target && target != r.n) r.row_loss[row] = r.weights ? weight * -v[i][k] : -v[i][k];
    }
  store_row<V, whole>(r.out + row * r.n, (int)r.n, v);
}
template <int V> __global__ void __launch_bounds__(ROWS_THREADS) forward_streamed(const __grid_constant__ rows r) {
  int64_t row;
  const bool is_there = row_of_thread<V>(r, &row);
  const float *x = r.x + row * r.n;
  const softmax_row s = softmax_of_row<V>(x, NULL, r.n, r.whole);
  if (!is_there) return;
  put_loss<V>(r, row, s);
  log_softmax_row<V>(s, x, r.out + row * r.n, r.n, r.whole);
}

template <int V, bool whole> __global__ void __launch_bounds__(ROWS_THREADS) loss_backward(const __grid_constant__ rows r) {
  const int64_t row = ((int64_t)blockIdx.x * ROWS_THREADS + threadIdx.x) / (ISO__LANES / V);
  if (row >= r.n_rows) return;
  const int64_t target = r.target[row];
  const bool ignored = target == r.n;
  const float scale = r.scale[r.row_scale ? row : 0], factor = r.weights && !ignored ? scale * r.weights[target] : scale;
  const float *y = r.x + row * r.n;
#pragma unroll 4
  for (int64_t i = (int)threadIdx.x % (ISO__LANES / V) * V; i < r.n; i += ISO__LANES) {
    float v[V];
    row_items<V>(v, y, i, r.n, whole, 0);
#pragma unroll
    for (int k = 0; k < V; k++) {
      const float hit = i + k == target;
      v[k] = ignored ? 0 : (v_exp(v[k]) - hit) * factor;
    }
    row_store<V>(r.out + row * r.n, i, r.n, whole, v);
  }
}
} // namespace

extern "C" const char *iso__cross_entropy_cuda_applicable(const iso__problem *problem) {
  const iso_cross_entropy_problem *p = (const iso_cross_entropy_problem *)problem;
  return p->rows >= INT32_MAX ? "numbers rows in 31 bits" : NULL;
}
extern "C" void iso__cross_entropy_fwd_cuda_run(const iso__call *call) {
  const iso_cross_entropy_problem *p = (const iso_cross_entropy_problem *)call->problem;
  const iso_cross_entropy_args *a = (const iso_cross_entropy_args *)call->args;
  if (p->rows == 0) return;
  rows r = {};
  r.x = (const float *)a->x, r.weights = p->has_weights ? (const float *)a->weights : NULL, r.target = a->target;
  r.out = (float *)a->y, r.row_loss = (float *)a->row_loss, r.n_rows = p->rows, r.n = p->n;
  void (*const kernels[ROW_KERNELS])(rows) = {forward_registers<4, true, 2>,   forward_registers<4, true, 8>,
                                              forward_registers<2, true, 16>,  forward_registers<2, false, 2>,
                                              forward_registers<2, false, 16>, forward_streamed<2>};
  r.whole = rows_are_whole(2, r.n, r.x, r.out);
  const int which = row_kernel(r.n, rows_are_whole(4, r.n, r.x, r.out), r.whole);
  kernels[which]<<<iso__cuda_blocks(r.n_rows * row_group(which), ROWS_THREADS), ROWS_THREADS, 0, iso__cuda_stream(call)>>>(r);
  iso__cuda_launched(call);
}
extern "C" void iso__cross_entropy_bwd_cuda_run(const iso__call *call) {
  const iso_cross_entropy_problem *p = (const iso_cross_entropy_problem *)call->problem;
  const iso_cross_entropy_args *a = (const iso_cross_entropy_args *)call->args;
  if (p->rows == 0 || p->n == 0) return;
  rows r = {};
  r.x = (const float *)a->y_saved, r.weights = p->has_weights ? (const float *)a->weights : NULL, r.target = a->target;
  r.scale = (const float *)a->scale, r.out = (float *)a->dx, r.n_rows = p->rows, r.n = p->n, r.row_scale = p->row_scale;
  const bool whole = rows_are_whole(4, r.n, r.x, r.out);
  (whole ? loss_backward<4, true> : loss_backward<4, false>)<<<iso__cuda_blocks(r.n_rows * 16, ROWS_THREADS), ROWS_THREADS, 0,
                                                               iso__cuda_stream(call)>>>(r);
  iso__cuda_launched(call);
}
