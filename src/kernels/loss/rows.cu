/* rows.cu: cross entropy on CUDA devices: a log-softmax that leaves the row's loss too (softmax/forward.cuh); the
 * gradient in fours of all rows' elements, from one end to the other. */
#include "kernels/cuda/divide.cuh"
#include "kernels/cuda/fours.cuh"
#include "kernels/loss/loss.h"
#include "kernels/softmax/forward.cuh"

namespace {
struct gradients {
  const float *y, *weights, *scale;
  const int64_t *target;
  float *dx;
  uint32_t n_items, n;
  divider by_n;
  bool whole, row_scale;
};
/* What a row's elements share: which is the target, and what all are multiplied by. */
struct row_gradient {
  uint32_t target;
  float factor;
};
__device__ __forceinline__ row_gradient gradient_of_row(const gradients &g, uint32_t row) {
  const uint32_t target = (uint32_t)__ldg(g.target + row);
  const float scale = __ldg(g.scale + (g.row_scale ? row : 0));
  return {target, g.weights && target != g.n ? scale * __ldg(g.weights + target) : scale};
}
/* Of four of one row, from `column` on. A log-softmax is not positive where it was computed here; but it is the caller's. */
__device__ __forceinline__ void gradients_of_four(float (&v)[4], const gradients &g, const row_gradient &of, uint32_t column) {
  if (max_or_nan(max_or_nan(v[0], v[1]), max_or_nan(v[2], v[3])) <= 0) {
#pragma unroll
    for (int k = 0; k < 4; k++) v[k] = v_exp_of_negative(v[k]);
  } else {
#pragma unroll
    for (int k = 0; k < 4; k++) v[k] = v_exp(v[k]);
  }
  const uint32_t hit = of.target - column; /* 0 … 3: it is one of these */
#pragma unroll
  for (int k = 0; k < 4; k++) v[k] = of.target == g.n ? 0 : (v[k] - (hit == k ? 1.0f : 0.0f)) * of.factor; /* a target n is ignored */
}

__global__ void __launch_bounds__(FOURS_THREADS) loss_backward(const __grid_constant__ gradients g) {
  const uint32_t i = 4 * (blockIdx.x * FOURS_THREADS + threadIdx.x);
  if (i >= g.n_items) return;
  float v[4];
  read_four(v, g.y, i, g.n_items, g.whole);
  uint32_t row = quotient(g.by_n, i), column = i - row * g.n;
  row_gradient of = gradient_of_row(g, row);
  if (column + 4 <= g.n) {
    gradients_of_four(v, g, of, column);
  } else {
#pragma unroll 1
    for (int k = 0; k < 4; k++) {
      float four[4] = {k == 0 ? v[0] : k == 1 ? v[1] : k == 2 ? v[2] : v[3], 0, 0, 0};
      gradients_of_four(four, g, of, column);
      v[0] = k == 0 ? four[0] : v[0], v[1] = k == 1 ? four[0] : v[1], v[2] = k == 2 ? four[0] : v[2], v[3] = k == 3 ? four[0] : v[3];
      if (++column == g.n && i + k + 1 < g.n_items) column = 0, of = gradient_of_row(g, ++row);
    }
  }
  write_four(g.dx, i, g.n_items, g.whole, v);
}
} // namespace

extern "C" const char *iso__cross_entropy_cuda_applicable(const iso__problem *problem) {
  const iso_cross_entropy_problem *p = (const iso_cross_entropy_problem *)problem;
  return p->rows >= INT32_MAX ? "numbers rows in 31 bits" : p->n >= INT32_MAX / 8 ? "numbers some rows' elements in 31 bits" : NULL;
}
extern "C" void iso__cross_entropy_fwd_cuda_run(const iso__call *call) {
  const iso_cross_entropy_problem *p = (const iso_cross_entropy_problem *)call->problem;
  const iso_cross_entropy_args *a = (const iso_cross_entropy_args *)call->args;
  softmax_rows r = {};
  r.x = (const float *)a->x, r.weights = p->has_weights ? (const float *)a->weights : NULL, r.target = a->target;
  r.y = (float *)a->y, r.row_loss = (float *)a->row_loss, r.n_rows = p->rows, r.n = p->n;
  softmax_launch<true>(call, r);
}
/* Some rows at a time, a multiple of four, so that they begin where fours do. */
extern "C" void iso__cross_entropy_bwd_cuda_run(const iso__call *call) {
  const iso_cross_entropy_problem *p = (const iso_cross_entropy_problem *)call->problem;
  const iso_cross_entropy_args *a = (const iso_cross_entropy_args *)call->args;
  if (p->rows == 0 || p->n == 0) return;
  const int64_t most = (INT32_MAX / 2 / p->n + 3) / 4 * 4;
  for (int64_t row = 0; row < p->rows; row += most) {
    const int64_t rows = p->rows - row < most ? p->rows - row : most;
    gradients g = {};
    g.y = (const float *)a->y_saved + row * p->n, g.dx = (float *)a->dx + row * p->n, g.target = a->target + row;
    g.weights = p->has_weights ? (const float *)a->weights : NULL;
    g.scale = (const float *)a->scale + (p->row_scale ? row : 0), g.row_scale = p->row_scale;
    g.n_items = (uint32_t)(rows * p->n), g.n = (uint32_t)p->n, g.by_n = divide_by(p->n);
    g.whole = lies_in_fours(g.y) && lies_in_fours(g.dx);
    loss_backward<<<iso__cuda_blocks((g.n_items + 3) / 4, FOURS_THREADS), FOURS_THREADS, 0, iso__cuda_stream(call)>>>(g);
  }
  iso__cuda_launched(call);
}
