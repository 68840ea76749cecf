/* rows.cu: layer, RMS, group and instance norm on CUDA devices: a group of threads a row (cuda/rows.cuh) for the forward
 * and the input's gradient: short rows of a layer norm in registers (layer.cuh), in the gradient by way of shared memory
 * (staged.cuh), others read several times, all but the first from the caches; chunks of columns (cuda/columns.cuh) for
 * the parameters' gradients. */
#include "kernels/cuda/columns.cuh"
#include "kernels/cuda/divide.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/rows.cuh"
#include "kernels/row_norm/layer.cuh"
#include "kernels/row_norm/row_norm.h"
#include "kernels/row_norm/staged.cuh"

namespace {
struct rows {
  const float *x, *gamma, *beta, *dy;
  float *mean, *rstd, *out;
  int64_t n_rows;
  int positions, channels, groups, width, n; /* width: channels of a group; n: elements of a row */
  float eps;
  bool rms, whole;
};

/* A row's first element and channel; where its element i lies. */
struct place {
  int64_t first;
  int channel;
};
__device__ __forceinline__ place row_place(const rows &r, int64_t row) {
  const int group = (int)(row % r.groups);
  return {row / r.groups * r.positions * r.channels + group * r.width, group * r.width};
}
__device__ __forceinline__ int64_t element_at(const rows &r, const place &p, int64_t i) {
  if (r.positions == 1 || r.groups == 1) return p.first + i;
  return p.first + (int64_t)((int)i / r.width) * r.channels + (int)i % r.width;
}
__device__ __forceinline__ int channel_at(const rows &r, const place &p, int64_t i) {
  return p.channel + (r.positions == 1 ? (int)i : (int)i % r.width);
}
/* V elements from i on; `whole`: they lie side by side on V items. */
template <int V> __device__ __forceinline__ void elements(float (&v)[V], const rows &r, const place &p, const float *from, int64_t i) {
  if (r.whole) {
    row_items<V>(v, from + element_at(r, p, i), 0, V, true, 0);
  } else {
#pragma unroll
    for (int k = 0; k < V; k++) v[k] = i + k < r.n ? __ldg(from + element_at(r, p, i + k)) : 0;
  }
}
template <int V> __device__ __forceinline__ void parameters(float (&v)[V], const rows &r, const place &p, const float *from, int64_t i) {
  if (r.whole) {
    row_items<V>(v, from + channel_at(r, p, i), 0, V, true, 0);
  } else {
#pragma unroll
    for (int k = 0; k < V; k++) v[k] = i + k < r.n ? __ldg(from + channel_at(r, p, i + k)) : 0;
  }
}
template <int V> __device__ __forceinline__ void put(const rows &r, const place &p, int64_t i, const float (&v)[V]) {
  if (r.whole) {
    row_store<V>(r.out + element_at(r, p, i), 0, V, true, v);
  } else {
#pragma unroll
    for (int k = 0; k < V; k++)
      if (i + k < r.n) r.out[element_at(r, p, i + k)] = v[k];
  }
}
template <int V> __device__ __forceinline__ bool row_of_thread(const rows &r, int64_t *row) {
  const int64_t number = ((int64_t)blockIdx.x * ROWS_THREADS + threadIdx.x) / (ISO__LANES / V);
  *row = number < r.n_rows ? number : r.n_rows - 1; /* shuffles need all of a warp */
  return number == *row;
}

template <int V> __global__ void __launch_bounds__(ROWS_THREADS) norm_forward(const __grid_constant__ rows r) {
  int64_t row;
  const bool is_there = row_of_thread<V>(r, &row);
  const place p = row_place(r, row);
  float mean = 0;
  if (!r.rms) mean = lanes_of_row<V>(r.n, [&](float(&lane)[V], int64_t i) {
    float v[V];
    elements<V>(v, r, p, r.x, i);
#pragma unroll
    for (int k = 0; k < V; k++)
      if (r.whole || i + k < r.n) lane[k] = lane[k] + v[k];
  }) / (float)r.n;
  const float squares = lanes_of_row<V>(r.n, [&](float(&lane)[V], int64_t i) {
    float v[V];
    elements<V>(v, r, p, r.x, i);
#pragma unroll
    for (int k = 0; k < V; k++) {
      const float d = r.rms ? v[k] : v[k] - mean;
      if (r.whole || i + k < r.n) lane[k] = fmaf(d, d, lane[k]);
    }
  });
  const float rstd = 1 / sqrtf(squares / (float)r.n + r.eps);
  if (!is_there) return;
  if (threadIdx.x % (ISO__LANES / V) == 0) {
    if (!r.rms) r.mean[row] = mean;
    r.rstd[row] = rstd;
  }
  for (int64_t i = (int)threadIdx.x % (ISO__LANES / V) * V; i < r.n; i += ISO__LANES) {
    float v[V], gamma[V], beta[V];
    elements<V>(v, r, p, r.x, i);
    if (r.gamma) parameters<V>(gamma, r, p, r.gamma, i);
    if (r.beta) parameters<V>(beta, r, p, r.beta, i);
#pragma unroll
    for (int k = 0; k < V; k++) {
      const float h = (r.rms ? v[k] : v[k] - mean) * rstd;
      v[k] = r.gamma && r.beta ? fmaf(h, gamma[k], beta[k]) : r.gamma ? h * gamma[k] : r.beta ? h + beta[k] : h;
    }
    put<V>(r, p, i, v);
  }
}

/* h and g = dy·γ of V elements. */
template <int V>
__device__ __forceinline__ void h_and_g(float (&h)[V], float (&g)[V], const rows &r, const place &p, float mean, float rstd, int64_t i) {
  float gamma[V];
  elements<V>(h, r, p, r.x, i), elements<V>(g, r, p, r.dy, i);
  if (r.gamma) parameters<V>(gamma, r, p, r.gamma, i);
#pragma unroll
  for (int k = 0; k < V; k++) {
    h[k] = (r.rms ? h[k] : h[k] - mean) * rstd;
    if (r.gamma) g[k] = g[k] * gamma[k];
  }
}
template <int V> __global__ void __launch_bounds__(ROWS_THREADS) norm_backward(const __grid_constant__ rows r) {
  int64_t row;
  const bool is_there = row_of_thread<V>(r, &row);
  const place p = row_place(r, row);
  const float mean = r.rms ? 0 : r.mean[row], rstd = r.rstd[row];
  const float gh = lanes_of_row<V>(r.n, [&](float(&lane)[V], int64_t i) {
    float h[V], g[V];
    h_and_g<V>(h, g, r, p, mean, rstd, i);
#pragma unroll
    for (int k = 0; k < V; k++)
      if (r.whole || i + k < r.n) lane[k] = fmaf(g[k], h[k], lane[k]);
  }) / (float)r.n;
  float mean_g = 0;
  if (!r.rms) mean_g = lanes_of_row<V>(r.n, [&](float(&lane)[V], int64_t i) {
    float h[V], g[V];
    h_and_g<V>(h, g, r, p, mean, rstd, i);
#pragma unroll
    for (int k = 0; k < V; k++)
      if (r.whole || i + k < r.n) lane[k] = lane[k] + g[k];
  }) / (float)r.n;
  if (!is_there) return;
  for (int64_t i = (int)threadIdx.x % (ISO__LANES / V) * V; i < r.n; i += ISO__LANES) {
    float h[V], g[V];
    h_and_g<V>(h, g, r, p, mean, rstd, i);
#pragma unroll
    for (int k = 0; k < V; k++) h[k] = rstd * fmaf(-h[k], gh, r.rms ? g[k] : g[k] - mean_g);
    put<V>(r, p, i, h);
  }
}

/* Chunks' sums of dy·h and dy by channel; rows of the matrix are positions of all samples. */
struct weights {
  const float *x, *mean, *rstd, *dy;
  float *gamma_sums, *beta_sums;
  int64_t n_rows, channels;
  int positions, groups, width;
  divider by_positions; /* of rows that 31 bits number */
  bool rms, is_short;
};
/* The sample of a row of the matrix. */
__device__ __forceinline__ int64_t sample_of(const weights &w, int64_t row) {
  return w.is_short ? quotient(w.by_positions, (uint32_t)row) : row / w.positions;
}
template <int V> __global__ void __launch_bounds__(TILE_THREADS) weight_chunks(const __grid_constant__ weights w) {
  const tile_pair pair = shared_pair();
  float(*dys)[TILE_COLUMNS] = pair.first, (*hs)[TILE_COLUMNS] = pair.second;
  const tile_place tile = tile_at(blockIdx.x, w.n_rows, w.channels);
  const int first = tile_column<V>();
  int group[V];
#pragma unroll
  for (int k = 0; k < V; k++) group[k] = (int)(tile.column + first + k) / w.width;
  each_of_tile<V>(tile, [&](int r, int64_t at) {
    float h[V], dy[V];
    load_items<V>(h, w.x + at), load_items<V>(dy, w.dy + at);
    const int64_t sample = sample_of(w, tile.row + r) * w.groups;
#pragma unroll
    for (int k = 0; k < V; k++) {
      const int64_t row = sample + group[k];
      h[k] = (w.rms ? h[k] : h[k] - w.mean[row]) * w.rstd[row];
    }
    store_items<V>(&dys[r][first], dy), store_items<V>(&hs[r][first], h);
  });
  __syncthreads();
  pair_sums(dys, hs, tile, w.gamma_sums, w.beta_sums);
}

/* The same where a row of the matrix is one of the norm, too, in fours: x and dy come as they are, all under way at once;
 * the walk down the columns makes h of x. */
struct row_scale {
  float mean, rstd;
};
__global__ void __launch_bounds__(TILE_THREADS) layer_chunks(const __grid_constant__ weights w) {
  __shared__ row_scale scales[ISO__CHUNK];
  const tile_pair pair = shared_pair();
  float(*dys)[TILE_COLUMNS] = pair.first, (*xs)[TILE_COLUMNS] = pair.second;
  const tile_place tile = tile_at(blockIdx.x, w.n_rows, w.channels);
  const int first = tile_column<4>(), t = (int)threadIdx.x % TILE_COLUMNS, warp = (int)threadIdx.x / TILE_COLUMNS;
  each_of_tile<4>(tile, [&](int r, int64_t at) { fetch<4>(&xs[r][first], w.x + at), fetch<4>(&dys[r][first], w.dy + at); });
  if ((int)threadIdx.x < tile.n_rows)
    scales[threadIdx.x] = {w.rms ? 0 : __ldg(w.mean + tile.row + threadIdx.x), __ldg(w.rstd + tile.row + threadIdx.x)};
  fetched();
  __syncthreads();
  if (warp > 1 || tile.column + t >= tile.pitch) return;
  float sum = 0;
  if (warp == 0) walk_rows(tile, [&](int r) { sum = fmaf(dys[r][t], (xs[r][t] - scales[r].mean) * scales[r].rstd, sum); });
  else walk_rows(tile, [&](int r) { sum = sum + dys[r][t]; });
  (warp == 0 ? w.gamma_sums : w.beta_sums)[tile.row / ISO__CHUNK * tile.pitch + tile.column + t] = sum;
}

/* Shared memory before cache, so that as many blocks fit as it has room for: left to itself the driver may choose a split
 * that holds one. */
template <class Kernel> void prefer_shared(Kernel *kernel) {
  cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared);
}

bool lies_on(const void *p, unsigned n_bytes) { return ((uintptr_t)p & (n_bytes - 1)) == 0; }
bool is_layer(const iso_row_norm_problem *p) { return p->positions == 1 && p->groups == 1; }
/* Bytes of shared memory of the current device's multiprocessor. */
int shared_of_one() {
  int device = 0, n_bytes = 0;
  cudaGetDevice(&device), cudaDeviceGetAttribute(&n_bytes, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device);
  return n_bytes;
}
int64_t chunks_of(const iso_row_norm_problem *p) { return (p->samples * p->positions + ISO__CHUNK - 1) / ISO__CHUNK; }

void run_weights(const iso__call *call) {
  const iso_row_norm_problem *p = (const iso_row_norm_problem *)call->problem;
  const iso_row_norm_args *a = (const iso_row_norm_args *)call->args;
  const bool wants_gamma = p->has_gamma || p->head.op == ISO__OP_ROW_NORM_BWD, wants_beta = p->has_beta;
  if (p->channels == 0 || (!wants_gamma && !wants_beta)) return;
  const int64_t n = chunks_of(p);
  weights w = {};
  w.x = (const float *)a->x, w.mean = (const float *)a->mean, w.rstd = (const float *)a->rstd, w.dy = (const float *)a->dy;
  w.gamma_sums = (float *)call->workspace, w.beta_sums = w.gamma_sums + n * p->channels;
  w.n_rows = p->samples * p->positions, w.channels = p->channels, w.rms = p->rms;
  w.positions = (int)p->positions, w.groups = (int)p->groups, w.width = (int)(p->channels / p->groups);
  w.is_short = w.n_rows < INT32_MAX, w.by_positions = divide_by(w.positions);
  if (n) {
    /* layer_chunks keeps its rows' scales in shared memory too, for which Turing has no room. */
    const bool has_room = shared_of_one() >= PAIR_BYTES + 2 * ISO__CHUNK * (int)sizeof(float) + 1024;
    void (*const kernel)(weights) = !is_in_fours(p->channels, w.x, w.dy)  ? weight_chunks<1>
                                    : is_layer(p) && has_room ? layer_chunks
                                                              : weight_chunks<4>;
    iso__cuda_shared(kernel, PAIR_BYTES), prefer_shared(kernel);
    kernel<<<(unsigned)tiles_of(w.n_rows, w.channels), TILE_THREADS, PAIR_BYTES, iso__cuda_stream(call)>>>(w);
  }
  const float *from[2] = {wants_gamma ? w.gamma_sums : w.beta_sums, w.beta_sums};
  float *to[2] = {(float *)(wants_gamma ? a->dgamma : a->dbeta), (float *)a->dbeta};
  fold_pairs<<<dim3(fold_blocks(p->channels), wants_gamma && wants_beta ? 2 : 1), fold_block(n), 0, iso__cuda_stream(call)>>>(from[0], from[1], to[0], to[1], n, p->channels);
}

typedef void layer_kernel(layer);
layer layer_of(const iso__call *call, const float *gamma, const float *beta, float *out) {
  const iso_row_norm_problem *p = (const iso_row_norm_problem *)call->problem;
  const iso_row_norm_args *a = (const iso_row_norm_args *)call->args;
  layer l = {};
  l.x = (const float *)a->x, l.gamma = gamma, l.beta = beta;
  l.dy = call->problem->op == ISO__OP_ROW_NORM_FWD ? NULL : (const float *)a->dy;
  l.mean = p->rms ? NULL : (float *)a->mean, l.rstd = (float *)a->rstd, l.out = out;
  l.n_rows = p->samples, l.n = (int)p->channels, l.eps = (float)a->eps, l.rms = p->rms;
  return l;
}
/* The input's gradient of a layer norm by staged.cuh; false: short or long rows, or not in fours, or a device with little
 * shared memory. */
bool launch_staged(const iso__call *call, const float *gamma, float *out) {
  const iso_row_norm_problem *p = (const iso_row_norm_problem *)call->problem;
  if (!is_layer(p) || p->channels <= 128 || p->channels > STAGED_LONGEST || p->samples == 0) return false;
  const layer l = layer_of(call, gamma, NULL, out);
  if (!rows_are_whole(4, l.n, l.x, gamma, l.dy, out)) return false;
  const int shared = shared_of_one();
  if (shared < STAGED_LEAST_SHARED) return false;
  const int n_warps = l.n <= 1024 ? 4 : 2, n_bytes = staged_bytes(l.n, n_warps), n_blocks = min(16, shared / (n_bytes + 1024));
  const int64_t needed = (l.n_rows + n_warps - 1) / n_warps, most = (int64_t)n_blocks * iso__cuda_multiprocessors(call->ctx);
  iso__cuda_shared(layer_backward_staged, n_bytes), prefer_shared(layer_backward_staged);
  layer_backward_staged<<<(unsigned)min(needed, most), 32 * n_warps, n_bytes, iso__cuda_stream(call)>>>(l);
  return true;
}
/* A layer norm in registers; false: the rows are none, or too long. */
bool launch_layer(const iso__call *call, layer_kernel *const kernels[], const float *gamma, const float *beta, float *out) {
  const iso_row_norm_problem *p = (const iso_row_norm_problem *)call->problem;
  if (!is_layer(p) || p->channels > 1024) return false;
  const layer l = layer_of(call, gamma, beta, out);
  if (l.n_rows == 0) return true;
  const void *dy = l.dy;
  const int which = row_kernel(l.n, rows_are_whole(4, l.n, l.x, gamma, beta, out) && lies_on(dy, 16),
                               rows_are_whole(2, l.n, l.x, gamma, beta, out) && lies_on(dy, 8));
  kernels[which]<<<iso__cuda_blocks(l.n_rows * row_group(which), ROWS_THREADS), ROWS_THREADS, 0, iso__cuda_stream(call)>>>(l);
  return true;
}
template <class Kernel> void launch(const iso__call *call, Kernel by_fours, Kernel by_twos, const float *gamma, const float *beta, float *out) {
  const iso_row_norm_problem *p = (const iso_row_norm_problem *)call->problem;
  const iso_row_norm_args *a = (const iso_row_norm_args *)call->args;
  rows r = {};
  r.x = (const float *)a->x, r.gamma = gamma, r.beta = beta, r.dy = (const float *)a->dy;
  r.mean = p->rms ? NULL : (float *)a->mean, r.rstd = (float *)a->rstd, r.out = out;
  r.n_rows = p->samples * p->groups, r.positions = (int)p->positions, r.channels = (int)p->channels;
  r.groups = (int)p->groups, r.width = r.channels / r.groups, r.n = (int)iso__row_norm_n(p);
  r.eps = (float)a->eps, r.rms = p->rms;
  if (r.n_rows == 0) return;
  const void *dy = call->problem->op == ISO__OP_ROW_NORM_FWD ? NULL : a->dy;
  const bool fours = rows_are_whole(4, r.width, r.x, gamma, beta, out) && lies_on(dy, 16);
  const bool twos = !fours || r.n >= 512;
  r.whole = twos ? rows_are_whole(2, r.width, r.x, gamma, beta, out) && lies_on(dy, 8) : fours;
  const int64_t group = ISO__LANES / (twos ? 2 : 4);
  (twos ? by_twos : by_fours)<<<iso__cuda_blocks(r.n_rows * group, ROWS_THREADS), ROWS_THREADS, 0, iso__cuda_stream(call)>>>(r);
}
void run_backward(const iso__call *call) {
  const iso_row_norm_problem *p = (const iso_row_norm_problem *)call->problem;
  const iso_row_norm_args *a = (const iso_row_norm_args *)call->args;
  layer_kernel *const kernels[] = {layer_backward<4, true, 2>, layer_backward<4, true, 8>, layer_backward<2, true, 16>, layer_backward<2, false, 2>,
                                  layer_backward<2, false, 16>};
  const float *gamma = p->has_gamma ? (const float *)a->gamma : NULL;
  if (launch_staged(call, gamma, (float *)a->dx)) return;
  if (!launch_layer(call, kernels, gamma, NULL, (float *)a->dx))
    launch(call, norm_backward<4>, norm_backward<2>, gamma, NULL, (float *)a->dx);
}
} // namespace

extern "C" const char *iso__row_norm_cuda_applicable(const iso__problem *problem) {
  const iso_row_norm_problem *p = (const iso_row_norm_problem *)problem;
  const bool fits = p->positions < INT32_MAX && p->channels < INT32_MAX && iso__row_norm_n(p) < INT32_MAX &&
                    p->samples * p->groups < INT32_MAX && p->samples * p->positions / 8 * (p->channels + 32) < INT32_MAX * INT64_C(32);
  return fits ? NULL : "numbers rows and elements of a row in 31 bits";
}
/* Two values of each chunk and channel. */
extern "C" size_t iso__row_norm_cuda_workspace(const iso__problem *problem, int n_multiprocessors) {
  const iso_row_norm_problem *p = (const iso_row_norm_problem *)problem;
  (void)n_multiprocessors;
  return 2 * (size_t)(chunks_of(p) * p->channels) * sizeof(float);
}
extern "C" void iso__row_norm_fwd_cuda_run(const iso__call *call) {
  const iso_row_norm_problem *p = (const iso_row_norm_problem *)call->problem;
  const iso_row_norm_args *a = (const iso_row_norm_args *)call->args;
  layer_kernel *const kernels[] = {layer_forward<4, true, 2>, layer_forward<4, true, 8>, layer_forward<2, true, 16>, layer_forward<2, false, 2>,
                                  layer_forward<2, false, 16>};
  const float *gamma = p->has_gamma ? (const float *)a->gamma : NULL, *beta = p->has_beta ? (const float *)a->beta : NULL;
  if (!launch_layer(call, kernels, gamma, beta, (float *)a->y))
    launch(call, norm_forward<4>, norm_forward<2>, gamma, beta, (float *)a->y);
  iso__cuda_launched(call);
}
extern "C" void iso__row_norm_bwd_data_cuda_run(const iso__call *call) {
  run_backward(call);
  iso__cuda_launched(call);
}
extern "C" void iso__row_norm_bwd_weights_cuda_run(const iso__call *call) {
  run_weights(call);
  iso__cuda_launched(call);
}
extern "C" void iso__row_norm_bwd_cuda_run(const iso__call *call) {
  run_backward(call);
  run_weights(call);
  iso__cuda_launched(call);
}
