/* step.cu: optimiser steps on CUDA devices: four elements a thread, in place. */
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/fours.cuh"
#include "kernels/optim/optim.h"

namespace {
struct step {
  float *p, *m, *v;
  const float *g, *grad_scale;
  int64_t n;
  float lr, weight_decay, momentum, undamped;                                     /* SGD */
  float one_minus_b1, b1, one_minus_b2, b2, minus_lr_over_bc1, inv_sqrt_bc2, eps, decay; /* ADAM */
  bool whole, has_momentum, nesterov, first, has_decay, decoupled;
};

__device__ __forceinline__ void read_gradients(const step &s, int64_t i, float (&g)[4], float (&p)[4]) {
  read_four(g, s.g, i, s.n, s.whole), read_four(p, s.p, i, s.n, s.whole);
  const float scale = s.grad_scale ? *s.grad_scale : 1;
#pragma unroll
  for (int k = 0; k < 4; k++) {
    if (s.grad_scale) g[k] = g[k] * scale;
    if (s.has_decay && !s.decoupled) g[k] = fmaf(s.weight_decay, p[k], g[k]);
  }
}

__global__ void __launch_bounds__(FOURS_THREADS) sgd(const __grid_constant__ step s) {
  const int64_t i = first_of_four();
  if (i >= s.n) return;
  float g[4], p[4], v[4];
  read_gradients(s, i, g, p);
  if (s.has_momentum) {
    if (!s.first) read_four(v, s.v, i, s.n, s.whole);
#pragma unroll
    for (int k = 0; k < 4; k++) {
      v[k] = s.first ? g[k] : fmaf(s.momentum, v[k], s.undamped * g[k]);
      g[k] = s.nesterov ? fmaf(s.momentum, v[k], g[k]) : v[k];
    }
    write_four(s.v, i, s.n, s.whole, v);
  }
#pragma unroll
  for (int k = 0; k < 4; k++) p[k] = fmaf(-s.lr, g[k], p[k]);
  write_four(s.p, i, s.n, s.whole, p);
}

__global__ void __launch_bounds__(FOURS_THREADS) adam(const __grid_constant__ step s) {
  const int64_t i = first_of_four();
  if (i >= s.n) return;
  float g[4], p[4], m[4], v[4];
  read_gradients(s, i, g, p);
  read_four(m, s.m, i, s.n, s.whole), read_four(v, s.v, i, s.n, s.whole);
#pragma unroll
  for (int k = 0; k < 4; k++) {
    m[k] = fmaf(s.one_minus_b1, g[k], s.b1 * m[k]);
    v[k] = fmaf(s.one_minus_b2, g[k] * g[k], s.b2 * v[k]);
    const float size = fmaf(sqrtf(v[k]), s.inv_sqrt_bc2, s.eps);
    p[k] = fmaf(s.minus_lr_over_bc1, m[k] / size, s.decoupled ? p[k] * s.decay : p[k]);
  }
  write_four(s.p, i, s.n, s.whole, p), write_four(s.m, i, s.n, s.whole, m), write_four(s.v, i, s.n, s.whole, v);
}
} // namespace

extern "C" void iso__optim_cuda_run(const iso__call *call) {
  const iso_optim_problem *o = (const iso_optim_problem *)call->problem;
  const iso_optim_args *a = (const iso_optim_args *)call->args;
  if (o->n == 0) return;
  const bool is_sgd = o->head.op == ISO__OP_SGD_STEP;
  step s = {};
  s.p = (float *)a->p, s.g = (const float *)a->g, s.n = o->n;
  s.grad_scale = o->has_scale ? (const float *)a->grad_scale : NULL;
  s.m = is_sgd ? NULL : (float *)a->m, s.v = is_sgd && !o->momentum ? NULL : (float *)a->v;
  s.lr = (float)a->lr, s.weight_decay = (float)a->weight_decay, s.momentum = (float)a->momentum;
  s.undamped = (float)(1 - a->dampening);
  s.one_minus_b1 = (float)a->one_minus_b1, s.b1 = (float)a->b1, s.one_minus_b2 = (float)a->one_minus_b2;
  s.b2 = (float)a->b2, s.minus_lr_over_bc1 = (float)a->minus_lr_over_bc1, s.inv_sqrt_bc2 = (float)a->inv_sqrt_bc2;
  s.eps = (float)a->eps, s.decay = (float)a->decay;
  s.has_momentum = o->momentum, s.nesterov = o->nesterov, s.first = o->first_step;
  s.has_decay = o->weight_decay, s.decoupled = o->decoupled;
  s.whole = lies_in_fours(s.p) && lies_in_fours(s.g) && lies_in_fours(s.m) && lies_in_fours(s.v);
  const unsigned blocks = iso__cuda_blocks((s.n + 3) / 4, FOURS_THREADS);
  (is_sgd ? sgd : adam)<<<blocks, FOURS_THREADS, 0, iso__cuda_stream(call)>>>(s);
  iso__cuda_launched(call);
}
