/* channels.cu: batch normalisation on CUDA devices: chunk by chunk in shared memory (columns.cuh), folds, and passes in
 * which a thread keeps its channels and their constants. */
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/columns.cuh"
#include "kernels/norm/norm.h"

namespace {
enum mask { NO_MASK, MASK_OF_Y, MASK_OF_X };

/* ---- statistics ---- */

/* Of each chunk and channel the sum and the squares of the differences from the chunk's mean. */
template <int V>
__global__ void __launch_bounds__(TILE_THREADS)
    stats_chunks(const float *x, float *sums, float *squares, int64_t n_rows, int64_t n_channels) {
  __shared__ __align__(16) float values[ISO__CHUNK][TILE_COLUMNS];
  const tile_place tile = tile_at(blockIdx.x, n_rows, n_channels);
  const int t = threadIdx.x;
  fetch_tile<V>(tile, x, values);
  if (t >= TILE_COLUMNS || tile.column + t >= n_channels) return;
  float sum = 0, square = 0;
  walk_rows(tile, [&](int r) { sum = sum + values[r][t]; });
  const float mean = sum / (float)tile.n_rows;
  walk_rows(tile, [&](int r) {
    const float d = values[r][t] - mean;
    square = fmaf(d, d, square);
  });
  const int64_t slot = tile.row / ISO__CHUNK * n_channels + tile.column + t;
  sums[slot] = sum, squares[slot] = square;
}

__global__ void __launch_bounds__(1024, 1)
    stats_fold(const float *sums, const float *squares, float *mean, float *var, float *unbiased, int64_t n_rows,
               int64_t n_channels) {
  __shared__ float panels[FOLD_PANELS][FOLD_COLUMNS];
  const int64_t channel = (int64_t)blockIdx.x * FOLD_COLUMNS + threadIdx.x, n = (n_rows + ISO__CHUNK - 1) / ISO__CHUNK;
  const int64_t column = channel < n_channels ? channel : n_channels - 1;
  /* What this thread adds up is fetched once, unless that is several parts. */
  const bool once = panels_of_chunks(n) <= (int64_t)blockDim.y * FOLD_ROUNDS;
  float sum[FOLD_OWN], square[FOLD_OWN];
#pragma unroll
  for (int own = 0; own < FOLD_OWN; own++) {
    const int64_t number = fold_number(0, own), at = (number < n ? number : n - 1) * n_channels + column;
    sum[own] = n ? __ldg(sums + at) : 0, square[own] = n ? __ldg(squares + at) : 0;
  }
  const float centre = fold_columns(n, panels, [&](int own, int64_t i) { return once ? sum[own] : __ldg(sums + i * n_channels + column); }) / (float)n_rows;
  const float m2 = fold_columns(n, panels, [&](int own, int64_t i) {
    const float n_chunk = (float)(i + 1 < n ? ISO__CHUNK : n_rows - i * ISO__CHUNK);
    const float e = (once ? sum[own] : __ldg(sums + i * n_channels + column)) / n_chunk - centre;
    return fmaf(n_chunk * e, e, once ? square[own] : __ldg(squares + i * n_channels + column));
  });
  if (threadIdx.y || channel >= n_channels) return;
  mean[channel] = centre, var[channel] = m2 / (float)n_rows, unbiased[channel] = m2 / (float)(n_rows - 1);
}

/* ---- gradient sums ---- */

struct gradients {
  const float *x, *mean, *var, *gamma, *beta, *dy, *y;
  float *dz, *gamma_sums, *beta_sums;
  int64_t n_rows, n_channels;
  float eps;
};

__device__ __forceinline__ float relu_gradient(float y, float dy) { return y > 0 ? dy : y != y ? y : 0; }

template <int V, int which>
__global__ void __launch_bounds__(TILE_THREADS) gradient_chunks(const __grid_constant__ gradients g) {
  const tile_pair pair = shared_pair();
  float(*dys)[TILE_COLUMNS] = pair.first, (*hs)[TILE_COLUMNS] = pair.second;
  const tile_place tile = tile_at(blockIdx.x, g.n_rows, g.n_channels);
  const int first = tile_column<V>();
  float mean[V], rstd[V], gamma[V], beta[V];
#pragma unroll
  for (int k = 0; k < V; k++) {
    const int64_t channel = tile.column + first + k < g.n_channels ? tile.column + first + k : g.n_channels - 1;
    mean[k] = g.mean[channel], rstd[k] = 1 / sqrtf(g.var[channel] + g.eps);
    gamma[k] = which == MASK_OF_X ? g.gamma[channel] : 0, beta[k] = which == MASK_OF_X ? g.beta[channel] : 0;
  }
  /* x and dy to the tiles, y to registers, all under way at once; then h and the masked dy in their places. */
  constexpr int down = TILE_THREADS / (TILE_COLUMNS / V), turns = ISO__CHUNK / down;
  const int top = tile.column + first < g.n_channels ? (int)threadIdx.x / (TILE_COLUMNS / V) : ISO__CHUNK;
  const int64_t from = (tile.row + top) * g.n_channels + tile.column + first;
  float y[which == MASK_OF_Y ? turns : 1][V];
#pragma unroll
  for (int i = 0; i < turns; i++) {
    const int r = top + i * down;
    if (r >= tile.n_rows) continue;
    const int64_t at = from + (int64_t)(i * down) * g.n_channels;
    fetch<V>(&hs[r][first], g.x + at), fetch<V>(&dys[r][first], g.dy + at);
    if (which == MASK_OF_Y) load_items<V>(y[which == MASK_OF_Y ? i : 0], g.y + at);
  }
  fetched();
#pragma unroll
  for (int i = 0; i < turns; i++) {
    const int r = top + i * down;
    if (r >= tile.n_rows) continue;
    float dy[V], h[V];
#pragma unroll
    for (int k = 0; k < V; k++) {
      h[k] = (hs[r][first + k] - mean[k]) * rstd[k], dy[k] = dys[r][first + k];
      const float result = which == MASK_OF_X ? fmaf(h[k], gamma[k], beta[k]) : which == MASK_OF_Y ? y[which == MASK_OF_Y ? i : 0][k] : 0;
      if (which != NO_MASK) dy[k] = relu_gradient(result, dy[k]);
    }
    store_items<V>(&dys[r][first], dy), store_items<V>(&hs[r][first], h);
    if (g.dz) store_items<V>(g.dz + from + (int64_t)(i * down) * g.n_channels, dy);
  }
  __syncthreads();
  pair_sums(dys, hs, tile, g.gamma_sums, g.beta_sums);
}

/* ---- passes ---- */

enum { PASS_THREADS = 256, PASS_ROWS = 4, LIGHT_ROWS = 8 }; /* rows of a thread; of passes that read one array */
struct pass {
  const float *x, *mean, *var, *gamma, *beta, *residual, *dy, *y, *dgamma, *dbeta;
  float *out;
  int64_t n_rows, n_channels;
  float eps;
  int across; /* threads side by side, each with V channels */
  bool relu;
};

/* Calls take(which of its rows, place) for this thread's rows and channels. */
template <int rows = PASS_ROWS, class Take> __device__ __forceinline__ void each_row(const pass &p, int64_t row, int64_t channel, Take take) {
  const int down = PASS_THREADS / p.across;
#pragma unroll
  for (int i = 0; i < rows; i++)
    if (row + i * down < p.n_rows) take(i, (row + i * down) * p.n_channels + channel);
}
template <int V, int rows = PASS_ROWS> __device__ __forceinline__ bool pass_place(const pass &p, int64_t *row, int64_t *channel) {
  const int64_t blocks = (p.n_channels + p.across * V - 1) / (p.across * V);
  *channel = (blockIdx.x % blocks * p.across + threadIdx.x % p.across) * V;
  *row = blockIdx.x / blocks * (PASS_THREADS / p.across * rows) + threadIdx.x / p.across;
  return *channel < p.n_channels;
}

template <int V, bool adds> __global__ void __launch_bounds__(PASS_THREADS) forward(const __grid_constant__ pass p) {
  int64_t row, channel;
  constexpr int rows = adds ? PASS_ROWS : LIGHT_ROWS;
  if (!pass_place<V, rows>(p, &row, &channel)) return;
  float mean[V], rstd[V], gamma[V], beta[V], x[rows][V], residual[adds ? rows : 1][V];
  each_row<rows>(p, row, channel, [&](int i, int64_t at) {
    load_items<V>(x[i], p.x + at);
    if constexpr (adds) load_items<V>(residual[i], p.residual + at);
  });
#pragma unroll
  for (int k = 0; k < V; k++) {
    mean[k] = p.mean[channel + k], rstd[k] = 1 / sqrtf(p.var[channel + k] + p.eps);
    gamma[k] = p.gamma[channel + k], beta[k] = p.beta[channel + k];
  }
  each_row<rows>(p, row, channel, [&](int i, int64_t at) {
    float y[V];
#pragma unroll
    for (int k = 0; k < V; k++) {
      y[k] = fmaf((x[i][k] - mean[k]) * rstd[k], gamma[k], beta[k]);
      if constexpr (adds) y[k] = y[k] + residual[i][k];
      if (p.relu) y[k] = y[k] > 0 ? y[k] : y[k] != y[k] ? y[k] : 0;
    }
    store_items<V>(p.out + at, y);
  });
}

template <int V, int which, bool training>
__global__ void __launch_bounds__(PASS_THREADS) input_gradient(const __grid_constant__ pass p) {
  int64_t row, channel;
  if (!pass_place<V>(p, &row, &channel)) return;
  float mean[V], rstd[V], factor[V], gamma[V], beta[V], from_var[V], from_mean[V];
  float x[PASS_ROWS][V], dy[PASS_ROWS][V], y[PASS_ROWS][V];
  each_row(p, row, channel, [&](int i, int64_t at) {
    load_items<V>(dy[i], p.dy + at);
    if (training) load_items<V>(x[i], p.x + at);
    if (which == MASK_OF_Y) load_items<V>(y[i], p.y + at);
  });
#pragma unroll
  for (int k = 0; k < V; k++) {
    rstd[k] = 1 / sqrtf(p.var[channel + k] + p.eps), gamma[k] = p.gamma[channel + k], factor[k] = gamma[k] * rstd[k];
    if (training) {
      mean[k] = p.mean[channel + k], from_var[k] = p.dgamma[channel + k] / (float)p.n_rows;
      from_mean[k] = p.dbeta[channel + k] / (float)p.n_rows;
    }
    if (which == MASK_OF_X) beta[k] = p.beta[channel + k];
  }
  each_row(p, row, channel, [&](int i, int64_t at) {
    float dx[V];
#pragma unroll
    for (int k = 0; k < V; k++) {
      const float h = training ? (x[i][k] - mean[k]) * rstd[k] : 0;
      const float masked = which == MASK_OF_X   ? relu_gradient(fmaf(h, gamma[k], beta[k]), dy[i][k])
                           : which == MASK_OF_Y ? relu_gradient(y[i][k], dy[i][k])
                                                : dy[i][k];
      dx[k] = training ? factor[k] * fmaf(-h, from_var[k], masked - from_mean[k]) : masked * factor[k];
    }
    store_items<V>(p.out + at, dx);
  });
}

/* ---- launches ---- */

int mask_of(const iso_batch_norm_problem *p) { return p->recomputes ? MASK_OF_X : p->activation ? MASK_OF_Y : NO_MASK; }

template <int V> void launch_gradients(const iso__call *call, int which, const gradients &g) {
  void (*const kernels[])(gradients) = {gradient_chunks<V, NO_MASK>, gradient_chunks<V, MASK_OF_Y>, gradient_chunks<V, MASK_OF_X>};
  iso__cuda_shared(kernels[which], PAIR_BYTES);
  kernels[which]<<<(unsigned)tiles_of(g.n_rows, g.n_channels), TILE_THREADS, PAIR_BYTES, iso__cuda_stream(call)>>>(g);
}

pass pass_of(const iso__call *call, bool fours) {
  const iso_batch_norm_problem *p = (const iso_batch_norm_problem *)call->problem;
  const iso_batch_norm_args *a = (const iso_batch_norm_args *)call->args;
  const int64_t wide = fours ? p->c / 4 : p->c;
  pass s = {};
  s.x = (const float *)a->x, s.mean = (const float *)a->mean, s.var = (const float *)a->var;
  s.gamma = (const float *)a->gamma, s.beta = (const float *)a->beta, s.dy = (const float *)a->dy;
  s.y = (const float *)a->y_saved, s.dgamma = (const float *)a->dgamma, s.dbeta = (const float *)a->dbeta;
  s.n_rows = p->rows, s.n_channels = p->c, s.eps = (float)a->eps, s.relu = p->activation;
  s.across = 1;
  while (s.across < wide && s.across < 64) s.across *= 2;
  return s;
}
unsigned pass_blocks(const pass &s, int V, int n_rows = PASS_ROWS) {
  const int64_t rows = PASS_THREADS / s.across * n_rows, columns = s.across * V;
  return (unsigned)(((s.n_rows + rows - 1) / rows) * ((s.n_channels + columns - 1) / columns));
}
} // namespace

extern "C" const char *iso__norm_cuda_applicable(const iso__problem *problem) {
  const iso_batch_norm_problem *p = (const iso_batch_norm_problem *)problem;
  return p->rows / 4 * p->c >= INT32_MAX || p->c >= INT32_MAX / 64 ? "numbers blocks in 31 bits" : NULL;
}
/* Two values of each chunk and channel. */
extern "C" size_t iso__norm_cuda_workspace(const iso__problem *problem, int n_multiprocessors) {
  const iso_batch_norm_problem *p = (const iso_batch_norm_problem *)problem;
  (void)n_multiprocessors;
  return 2 * (size_t)((p->rows + ISO__CHUNK - 1) / ISO__CHUNK) * (size_t)p->c * sizeof(float);
}

extern "C" void iso__norm_stats_cuda_run(const iso__call *call) {
  const iso_batch_norm_problem *p = (const iso_batch_norm_problem *)call->problem;
  const iso_batch_norm_args *a = (const iso_batch_norm_args *)call->args;
  if (p->c == 0) return;
  const int64_t n = (p->rows + ISO__CHUNK - 1) / ISO__CHUNK;
  float *sums = (float *)call->workspace, *squares = sums + n * p->c;
  const float *x = (const float *)a->x;
  if (n) {
    void (*const kernel)(const float *, float *, float *, int64_t, int64_t) =
        is_in_fours(p->c, x) ? stats_chunks<4> : stats_chunks<1>;
    kernel<<<(unsigned)tiles_of(p->rows, p->c), TILE_THREADS, 0, iso__cuda_stream(call)>>>(x, sums, squares, p->rows, p->c);
  }
  stats_fold<<<fold_blocks(p->c), fold_block(n), 0, iso__cuda_stream(call)>>>(
      sums, squares, (float *)a->mean, (float *)a->var, (float *)a->unbiased, p->rows, p->c);
  iso__cuda_launched(call);
}

extern "C" void iso__norm_bwd_reduce_cuda_run(const iso__call *call) {
  const iso_batch_norm_problem *p = (const iso_batch_norm_problem *)call->problem;
  const iso_batch_norm_args *a = (const iso_batch_norm_args *)call->args;
  if (p->c == 0) return;
  const int64_t n = (p->rows + ISO__CHUNK - 1) / ISO__CHUNK;
  const int which = mask_of(p);
  gradients g = {};
  g.x = (const float *)a->x, g.mean = (const float *)a->mean, g.var = (const float *)a->var;
  g.gamma = (const float *)a->gamma, g.beta = (const float *)a->beta, g.dy = (const float *)a->dy;
  g.y = which == MASK_OF_Y ? (const float *)a->y_saved : NULL, g.dz = p->has_residual ? (float *)a->dz : NULL;
  g.gamma_sums = (float *)call->workspace, g.beta_sums = g.gamma_sums + n * p->c;
  g.n_rows = p->rows, g.n_channels = p->c, g.eps = (float)a->eps;
  if (n && is_in_fours(p->c, g.x, g.dy, g.y, g.dz)) launch_gradients<4>(call, which, g);
  else if (n) launch_gradients<1>(call, which, g);
  fold_pairs<<<dim3(fold_blocks(p->c), 2), fold_block(n), 0, iso__cuda_stream(call)>>>(
      g.gamma_sums, g.beta_sums, (float *)a->dgamma, (float *)a->dbeta, n, p->c);
  iso__cuda_launched(call);
}

extern "C" void iso__norm_fwd_cuda_run(const iso__call *call) {
  const iso_batch_norm_problem *p = (const iso_batch_norm_problem *)call->problem;
  const iso_batch_norm_args *a = (const iso_batch_norm_args *)call->args;
  if (p->rows == 0 || p->c == 0) return;
  const void *residual = p->has_residual ? a->residual : NULL;
  const bool fours = is_in_fours(p->c, a->x, a->y, residual);
  pass s = pass_of(call, fours);
  s.residual = (const float *)residual, s.out = (float *)a->y;
  void (*const kernel)(pass) = residual ? (fours ? forward<4, true> : forward<1, true>) : fours ? forward<4, false> : forward<1, false>;
  kernel<<<pass_blocks(s, fours ? 4 : 1, residual ? (int)PASS_ROWS : (int)LIGHT_ROWS), PASS_THREADS, 0, iso__cuda_stream(call)>>>(s);
  iso__cuda_launched(call);
}

extern "C" void iso__norm_bwd_data_cuda_run(const iso__call *call) {
  const iso_batch_norm_problem *p = (const iso_batch_norm_problem *)call->problem;
  const iso_batch_norm_args *a = (const iso_batch_norm_args *)call->args;
  if (p->rows == 0 || p->c == 0) return;
  const int which = mask_of(p), kernel = p->training ? which : 3 + which; /* not training: nothing is recomputed */
  const bool fours = is_in_fours(p->c, p->training ? a->x : NULL, a->dy, a->dx, which == MASK_OF_Y ? a->y_saved : NULL);
  pass s = pass_of(call, fours);
  s.out = (float *)a->dx;
  static void (*const by_fours[])(pass) = {input_gradient<4, NO_MASK, true>,   input_gradient<4, MASK_OF_Y, true>,
                                           input_gradient<4, MASK_OF_X, true>, input_gradient<4, NO_MASK, false>,
                                           input_gradient<4, MASK_OF_Y, false>};
  static void (*const by_ones[])(pass) = {input_gradient<1, NO_MASK, true>,   input_gradient<1, MASK_OF_Y, true>,
                                          input_gradient<1, MASK_OF_X, true>, input_gradient<1, NO_MASK, false>,
                                          input_gradient<1, MASK_OF_Y, false>};
  (fours ? by_fours : by_ones)[kernel]<<<pass_blocks(s, fours ? 4 : 1), PASS_THREADS, 0, iso__cuda_stream(call)>>>(s);
  iso__cuda_launched(call);
}
