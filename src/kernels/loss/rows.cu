/* rows.cu: cross entropy on CUDA devices: log-softmax and loss of a row by a group of threads (softmax/rows.cuh), the
 * gradient an element a thread. */
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

template <int V> __global__ void __launch_bounds__(ROWS_THREADS) loss_forward(const __grid_constant__ rows r) {
  const int64_t number = ((int64_t)blockIdx.x * ROWS_THREADS + threadIdx.x) / (ISO__LANES / V);
  const int64_t row = number < r.n_rows ? number : r.n_rows - 1; /* the last warp's others work along */
  const float *x = r.x + row * r.n;
  const softmax_row s = softmax_of_row<V>(x, NULL, r.n, r.whole);
  if (number != row) return;
  log_softmax_row<V>(s, x, r.out + row * r.n, r.n, r.whole);
  if (threadIdx.x % (ISO__LANES / V)) return;
  const int64_t target = r.target[row];
  const float loss = target == r.n ? 0 : -log_softmax_at(s, x[target]);
  r.row_loss[row] = r.weights && target != r.n ? r.weights[target] * loss : loss;
}

__global__ void __launch_bounds__(ROWS_THREADS) loss_backward(const __grid_constant__ rows r) {
  const int64_t i = (int64_t)blockIdx.x * ROWS_THREADS + threadIdx.x;
  if (i >= r.n_rows * r.n) return;
  const int64_t row = i < INT32_MAX && r.n < INT32_MAX ? (unsigned)i / (unsigned)r.n : i / r.n;
  const int64_t target = r.target[row];
  const float scale = r.scale[r.row_scale ? row : 0], hit = i - row * r.n == target;
  const float factor = r.weights && target != r.n ? scale * r.weights[target] : scale;
  r.out[i] = target == r.n ? 0 : (v_exp(r.x[i]) - hit) * factor;
}
} // namespace

extern "C" const char *iso__cross_entropy_cuda_applicable(const iso__problem *problem) {
  const iso_cross_entropy_problem *p = (const iso_cross_entropy_problem *)problem;
  return p->rows >= INT32_MAX || p->rows * p->n >= (int64_t)INT32_MAX * ROWS_THREADS ? "numbers blocks in 31 bits" : NULL;
}
extern "C" void iso__cross_entropy_fwd_cuda_run(const iso__call *call) {
  const iso_cross_entropy_problem *p = (const iso_cross_entropy_problem *)call->problem;
  const iso_cross_entropy_args *a = (const iso_cross_entropy_args *)call->args;
  if (p->rows == 0) return;
  rows r = {};
  r.x = (const float *)a->x, r.weights = p->has_weights ? (const float *)a->weights : NULL, r.target = a->target;
  r.out = (float *)a->y, r.row_loss = (float *)a->row_loss, r.n_rows = p->rows, r.n = p->n;
  const bool fours = rows_are_whole(4, r.n, r.x, r.out), twos = !fours || r.n >= 512;
  r.whole = twos ? rows_are_whole(2, r.n, r.x, r.out) : fours;
  if (twos) loss_forward<2><<<iso__cuda_blocks(r.n_rows * 32, ROWS_THREADS), ROWS_THREADS, 0, iso__cuda_stream(call)>>>(r);
  else loss_forward<4><<<iso__cuda_blocks(r.n_rows * 16, ROWS_THREADS), ROWS_THREADS, 0, iso__cuda_stream(call)>>>(r);
  iso__cuda_launched(call);
}
extern "C" void iso__cross_entropy_bwd_cuda_run(const iso__call *call) {
  const iso_cross_entropy_problem *p = (const iso_cross_entropy_problem *)call->problem;
  const iso_cross_entropy_args *a = (const iso_cross_entropy_args *)call->args;
  if (p->rows == 0 || p->n == 0) return;
  rows r = {};
  r.x = (const float *)a->y_saved, r.weights = p->has_weights ? (const float *)a->weights : NULL, r.target = a->target;
  r.scale = (const float *)a->scale, r.out = (float *)a->dx, r.n_rows = p->rows, r.n = p->n, r.row_scale = p->row_scale;
  loss_backward<<<iso__cuda_blocks(r.n_rows * r.n, ROWS_THREADS), ROWS_THREADS, 0, iso__cuda_stream(call)>>>(r);
  iso__cuda_launched(call);
}
