/* step.cu: optimiser steps on CUDA devices, of one tensor or of many in one launch.
 *
 * A launch takes a table of tensors with its parameters (4 KiB in all), so nothing has to lie on the device first; blocks
 * of CHUNK elements find theirs in it by halving. SGD and Adam, which large models are trained by, read and write four
 * elements at a time, two such a thread before any is written; the others are the reference's own code. */
#include <math.h>
#include "kernels/cuda/fours.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/optim/optim.h"

namespace {
#include "numeric/real_f32.h"
#include "kernels/optim/reference_body.h"

enum { UNROLL = 2, CHUNK = 4 * UNROLL * FOURS_THREADS, MOST_TENSORS = 64 };

struct table {
  int n;
  uint32_t first[MOST_TENSORS + 1]; /* block of each tensor; the last: of all */
  iso__optim_tensor of[MOST_TENSORS];
};

struct scalars {
  const float *grad_scale;
  float lr, weight_decay, momentum, undamped;                                           /* SGD */
  float one_minus_b1, b1, one_minus_b2, b2, minus_lr_over_bc1, inv_sqrt_bc2, eps, decay; /* ADAM */
  bool has_momentum, nesterov, first, has_decay, decoupled;
};

/* The tensor of this block, and the block's first element in it. */
__device__ __forceinline__ const iso__optim_tensor &tensor_of(const table &t, int64_t *begin) {
  int low = 0, high = t.n - 1; /* first[low] <= blockIdx.x */
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    if (t.first[middle] <= blockIdx.x) low = middle;
    else high = middle - 1;
  }
  *begin = (int64_t)(blockIdx.x - t.first[low]) * CHUNK;
  return t.of[low];
}

__device__ __forceinline__ bool lies_whole(const iso__optim_tensor &t) {
  return (((uintptr_t)t.p | (uintptr_t)t.g | (uintptr_t)t.m | (uintptr_t)t.v) & 15) == 0;
}

__device__ __forceinline__ void scale_and_decay(const scalars &s, float scale, float (&g)[4], const float (&p)[4]) {
#pragma unroll
  for (int k = 0; k < 4; k++) {
    if (s.grad_scale) g[k] = g[k] * scale;
    if (s.has_decay && !s.decoupled) g[k] = fmaf(s.weight_decay, p[k], g[k]);
  }
}

__device__ __forceinline__ void sgd_four(const scalars &s, float (&p)[4], float (&g)[4], float (&v)[4]) {
#pragma unroll
  for (int k = 0; k < 4; k++) {
    if (s.has_momentum) {
      v[k] = s.first ? g[k] : fmaf(s.momentum, v[k], s.undamped * g[k]);
      g[k] = s.nesterov ? fmaf(s.momentum, v[k], g[k]) : v[k];
    }
    p[k] = fmaf(-s.lr, g[k], p[k]);
  }
}

__device__ __forceinline__ void adam_four(const scalars &s, float (&p)[4], const float (&g)[4], float (&m)[4],
                                          float (&v)[4]) {
#pragma unroll
  for (int k = 0; k < 4; k++) {
    m[k] = fmaf(s.one_minus_b1, g[k], s.b1 * m[k]);
    v[k] = fmaf(s.one_minus_b2, g[k] * g[k], s.b2 * v[k]);
    const float size = fmaf(sqrtf(v[k]), s.inv_sqrt_bc2, s.eps);
    p[k] = fmaf(s.minus_lr_over_bc1, m[k] / size, s.decoupled ? p[k] * s.decay : p[k]);
  }
}

template <bool is_adam>
__global__ void __launch_bounds__(FOURS_THREADS) in_fours(const __grid_constant__ table tensors,
                                                          const __grid_constant__ scalars s) {
  int64_t begin;
  const iso__optim_tensor &t = tensor_of(tensors, &begin);
  const bool whole = lies_whole(t), reads_v = is_adam || (s.has_momentum && !s.first);
  const float scale = s.grad_scale ? *s.grad_scale : 1;
  float p[UNROLL][4], g[UNROLL][4], m[UNROLL][4], v[UNROLL][4];
#pragma unroll
  for (int u = 0; u < UNROLL; u++) {
    const int64_t i = begin + 4 * (u * FOURS_THREADS + threadIdx.x);
    if (i >= t.n) break;
    read_four(g[u], (const float *)t.g, i, t.n, whole), read_four(p[u], (const float *)t.p, i, t.n, whole);
    if (is_adam) read_four(m[u], (const float *)t.m, i, t.n, whole);
    if (reads_v) read_four(v[u], (const float *)t.v, i, t.n, whole);
  }
#pragma unroll
  for (int u = 0; u < UNROLL; u++) {
    const int64_t i = begin + 4 * (u * FOURS_THREADS + threadIdx.x);
    if (i >= t.n) break;
    scale_and_decay(s, scale, g[u], p[u]);
    if (is_adam) adam_four(s, p[u], g[u], m[u], v[u]);
    else sgd_four(s, p[u], g[u], v[u]);
    write_four((float *)t.p, i, t.n, whole, p[u]);
    if (is_adam) write_four((float *)t.m, i, t.n, whole, m[u]);
    if (is_adam || s.has_momentum) write_four((float *)t.v, i, t.n, whole, v[u]);
  }
}

__global__ void __launch_bounds__(FOURS_THREADS) by_reference(const __grid_constant__ table tensors,
                                                              const __grid_constant__ iso_optim_problem o,
                                                              const __grid_constant__ iso_optim_args scalars_alone) {
  int64_t begin;
  const iso__optim_tensor &t = tensor_of(tensors, &begin);
  iso_optim_args a = scalars_alone;
  a.p = t.p, a.g = t.g, a.m = t.m, a.v = t.v, a.u = t.u;
  float *const states[ISO__N_OPTIM_STATES] = {(float *)t.m, (float *)t.v, (float *)t.u};
  for (int64_t i = begin + threadIdx.x; i < begin + CHUNK && i < t.n; i += FOURS_THREADS) {
    const element_f32 e = step_f32(&o, &a, i);
    ((float *)t.p)[i] = e.p;
    for (int k = 0; k < ISO__N_OPTIM_STATES; k++)
      if (iso__optim_has(&o, k)) states[k][i] = e.state[k];
  }
}

scalars scalars_of(const iso_optim_problem *o, const iso_optim_args *a) {
  scalars s = {};
  s.grad_scale = o->has_scale ? (const float *)a->grad_scale : NULL;
  s.lr = (float)a->lr, s.weight_decay = (float)a->weight_decay, s.momentum = (float)a->momentum;
  s.undamped = (float)(1 - a->dampening);
  s.one_minus_b1 = (float)a->one_minus_b1, s.b1 = (float)a->b1, s.one_minus_b2 = (float)a->one_minus_b2;
  s.b2 = (float)a->b2, s.minus_lr_over_bc1 = (float)a->minus_lr_over_bc1, s.inv_sqrt_bc2 = (float)a->inv_sqrt_bc2;
  s.eps = (float)a->eps, s.decay = (float)a->decay;
  s.has_momentum = o->momentum, s.nesterov = o->nesterov, s.first = o->first_step;
  s.has_decay = o->weight_decay, s.decoupled = o->decoupled;
  return s;
}

void *behind(void *p, int64_t n) { return p ? (float *)p + n : NULL; }

/* Tensor number i of the call, without the states that its kind does not have. */
iso__optim_tensor tensor_at(const iso_optim_problem *o, const iso_optim_args *a, int64_t i) {
  iso__optim_tensor t = {a->p, a->g, a->m, a->v, a->u, o->n};
  if (o->n_tensors && a->list) {
    t = a->list[i];
  } else if (o->n_tensors) {
    const int64_t at = iso__optim_cut(o, i);
    t = {behind(a->p, at), behind((void *)a->g, at), behind(a->m, at), behind(a->v, at), behind(a->u, at),
         iso__optim_cut(o, i + 1) - at};
  }
  if (!iso__optim_has(o, ISO__OPTIM_M)) t.m = NULL;
  if (!iso__optim_has(o, ISO__OPTIM_V)) t.v = NULL;
  if (!iso__optim_has(o, ISO__OPTIM_U)) t.u = NULL;
  return t;
}

void launch(const iso__call *call, const table &t) {
  const iso_optim_problem *o = (const iso_optim_problem *)call->problem;
  const iso_optim_args *a = (const iso_optim_args *)call->args;
  cudaStream_t stream = iso__cuda_stream(call);
  const unsigned blocks = t.first[t.n];
  if (o->head.op == ISO__OP_SGD_STEP) in_fours<false><<<blocks, FOURS_THREADS, 0, stream>>>(t, scalars_of(o, a));
  else if (o->head.op == ISO__OP_ADAM_STEP) in_fours<true><<<blocks, FOURS_THREADS, 0, stream>>>(t, scalars_of(o, a));
  else by_reference<<<blocks, FOURS_THREADS, 0, stream>>>(t, *o, *a);
}
} // namespace

extern "C" void iso__optim_cuda_run(const iso__call *call) {
  enum { MOST_BLOCKS = 1 << 30 };
  const iso_optim_problem *o = (const iso_optim_problem *)call->problem;
  const int64_t n_tensors = o->n_tensors ? o->n_tensors : 1;
  table t = {};
  for (int64_t i = 0; i < n_tensors; i++) {
    const iso__optim_tensor tensor = tensor_at(o, (const iso_optim_args *)call->args, i);
    const int64_t blocks = (tensor.n + CHUNK - 1) / CHUNK;
    if (!tensor.n) continue;
    if (t.n == MOST_TENSORS || t.first[t.n] + blocks > MOST_BLOCKS) launch(call, t), t.n = 0;
    t.of[t.n] = tensor;
    t.first[t.n + 1] = t.first[t.n] + (uint32_t)blocks;
    t.n++;
  }
  if (t.n) launch(call, t);
  iso__cuda_launched(call);
}
