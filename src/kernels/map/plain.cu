/* plain.cu: pointwise functions of f32 on CUDA devices, and their truths: four neighbours of the last dimension a thread,
 * where all operands have them side by side (or one for all); else one element a thread. Functions that models live on
 * are inlined for four at once, the others are called. */
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/divide.cuh"
#include "kernels/cuda/fours.cuh"
#include "kernels/map/functions.h"
#include "kernels/map/integer_functions.h"
#include "kernels/map/real_bits.h"
#include "kernels/map/real_functions.h"
#include "numeric/math_f32.h"
#include "numeric/real_f32.h"

namespace {
#include "kernels/map/reference_body.h"

struct grid {
  void *out; /* float, or uint8_t where truths are the result */
  const void *in[3]; /* float; in[0] uint8_t where it is a choice */
  uint32_t n_groups;
  divider shape[ISO__MAP_MAX_DIMS]; /* the last extent in groups */
  int64_t strides[4][ISO__MAP_MAX_DIMS];       /* the last ones of neighbours: 0 or 1 where four are taken */
  int64_t last;                                /* elements of the last dimension */
  float scalar[3];
  int fn, n_dims, n_inputs;
  bool whole; /* four at a time may be read at once */
  bool is_truth, is_choice;
};

__device__ __noinline__ float any_function(int fn, float a, float b, float c, float s0, float s1, float s2) {
  return map_f32((iso__map_fn)fn, a, b, c, s0, s1, s2);
}

/* Light functions leave all registers to loads; others that models live on are inlined, too. */
#define LIGHT(X)                                                                                                       \
  X(ADD) X(SUB) X(MUL) X(DIV) X(MAXIMUM) X(MINIMUM) X(ADD_SCALAR) X(MUL_SCALAR) X(RSUB_SCALAR) X(RDIV_SCALAR) X(CLAMP) \
  X(FMA) X(FMA_SCALAR) X(COPY) X(NEG) X(ABS) X(SIGN) X(SQUARE) X(SQRT) X(RECIPROCAL) X(RELU) X(RELU_BWD) X(ADD_RELU)   \
  X(TANH_BWD) X(SIGMOID_BWD) X(FLOOR) X(CEIL) X(TRUNC) X(ROUND) X(FRAC) X(FMAX) X(FMIN) X(LERP) X(LERP_SCALAR)         \
  X(ADDCMUL) X(ADDCDIV) X(LEAKY_RELU) X(PRELU) X(HARDSWISH) X(HARDSIGMOID) X(HARDSHRINK) X(SOFTSHRINK) X(THRESHOLD)    \
  X(SOFTSIGN) X(CLAMP_BWD) X(HARDTANH_BWD) X(LEAKY_RELU_BWD) X(HARDSWISH_BWD) X(HARDSIGMOID_BWD) X(SHRINK_BWD)         \
  X(THRESHOLD_BWD) X(SOFTSIGN_BWD) X(NAN_TO_NUM) X(WHERE) X(EQ) X(LT) X(LE) X(NE) X(LOGICAL_AND) X(LOGICAL_OR)         \
  X(LOGICAL_XOR) X(LOGICAL_NOT) X(NONZERO) X(ISNAN) X(ISINF) X(ISFINITE) X(SIGNBIT) X(ISPOSINF) X(ISNEGINF) X(ISCLOSE)
#define HEAVY(X)                                                                                                       \
  X(EXP) X(EXP2) X(EXPM1) X(LOG) X(LOG2) X(LOG1P) X(ERF) X(RSQRT) X(SIGMOID) X(TANH) X(SILU) X(GELU) X(GELU_TANH)      \
  X(SOFTPLUS) X(SOFTPLUS_BWD) X(GELU_BWD) X(GELU_TANH_BWD) X(SILU_BWD) X(ELU) X(ELU_BWD) X(LOGSIGMOID)                 \
  X(LOGSIGMOID_BWD) X(GLU) X(SWIGLU) X(GEGLU) X(GEGLU_TANH) X(GLU_BWD) X(SWIGLU_BWD) X(GEGLU_BWD) X(GEGLU_TANH_BWD)
/* In binary64, or with a rare way out: more registers. */
#define DEEP(X)                                                                                                        \
  X(SIN) X(COS) X(TAN) X(ATAN) X(ATAN2) X(POW) X(POW_SCALAR) X(MISH) X(MISH_BWD) X(ERFC) X(LOGADDEXP) X(REMAINDER)
enum { IS_LIGHT, IS_HEAVY, IS_DEEP, IS_ANY };
int kind_of(int fn) {
  switch (fn) {
#define CASE(id) case ISO__MAP_##id:
    LIGHT(CASE) return IS_LIGHT;
    HEAVY(CASE) return IS_HEAVY;
    DEEP(CASE) return IS_DEEP;
#undef CASE
  default: return IS_ANY;
  }
}
template <int function> __device__ __forceinline__ float one(float a, float b, float c, float s0, float s1, float s2) {
#define CASE(id, expression)                                                                                           \
  if constexpr (function == ISO__MAP_##id) return (float)(expression);
  ISO__MAP_REAL_FUNCTIONS(CASE)
#undef CASE
}
template <int kind, int V> __device__ __forceinline__ void compute(const grid &g, float (&y)[V], const float (&x)[3][V]) {
#define CASE(id)                                                                                                       \
  case ISO__MAP_##id:                                                                                                  \
    _Pragma("unroll") for (int k = 0; k < V; k++) y[k] =                                                               \
        one<ISO__MAP_##id>(x[0][k], x[1][k], x[2][k], g.scalar[0], g.scalar[1], g.scalar[2]);                          \
    break;
  if constexpr (kind == IS_LIGHT) {
    switch (g.fn) { LIGHT(CASE) }
  } else if constexpr (kind == IS_HEAVY) {
    switch (g.fn) { HEAVY(CASE) }
  } else if constexpr (kind == IS_DEEP) {
    switch (g.fn) { DEEP(CASE) }
  } else {
#pragma unroll
    for (int k = 0; k < V; k++)
      y[k] = any_function(g.fn, x[0][k], x[1][k], x[2][k], g.scalar[0], g.scalar[1], g.scalar[2]);
  }
#undef CASE
}

/* Offsets in elements of a group's first, in out and the inputs; returns the element's number in the last dimension. */
template <int V> __device__ __forceinline__ int64_t locate_group(const grid &g, uint32_t group, int64_t (&offset)[4]) {
  uint32_t digit = group;
  if (g.n_dims > 1) digit = take_digit(g.shape[g.n_dims - 1], &group);
  const int64_t first = (int64_t)digit * V;
#pragma unroll
  for (int o = 0; o < 4; o++) offset[o] = first * g.strides[o][g.n_dims - 1];
  for (int d = g.n_dims - 2; d >= 0; d--) {
    digit = group;
    if (d > 0) digit = take_digit(g.shape[d], &group);
#pragma unroll
    for (int o = 0; o < 4; o++) offset[o] += (int64_t)digit * g.strides[o][d];
  }
  return first;
}

/* Blocks that a multiprocessor shall hold: of light functions all of its threads. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
enum { LIGHT_BLOCKS = 4, HEAVY_BLOCKS = 4 };
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 860 && __CUDA_ARCH__ < 900
enum { LIGHT_BLOCKS = 6, HEAVY_BLOCKS = 6 };
#else
enum { LIGHT_BLOCKS = 8, HEAVY_BLOCKS = 8 };
#endif
/* V elements of input o from i on, of n; and of the result. Truths are bytes, and light functions' alone. */
template <int kind, int V> __device__ __forceinline__ void take(float (&x)[V], const grid &g, int o, int64_t i, int n, bool whole) {
  if constexpr (kind == IS_LIGHT) {
    if (o == 0 && g.is_choice) {
      const uint8_t *p = (const uint8_t *)g.in[0] + i;
      if (V == 4 && whole && n >= V) {
        const uchar4 w = __ldg((const uchar4 *)p);
        x[0] = w.x, x[V > 1] = w.y, x[V / 2] = w.z, x[V - 1] = w.w;
      } else {
#pragma unroll
        for (int k = 0; k < V; k++) x[k] = k < n ? __ldg(p + k) : 0;
      }
      return;
    }
  }
  const float *p = (const float *)g.in[o] + i;
  if constexpr (V == 4) read_four(x, p, 0, n, whole);
  else x[0] = __ldg(p);
}
template <int kind, int V> __device__ __forceinline__ void give(const float (&y)[V], const grid &g, int64_t i, int n, bool whole) {
  if constexpr (kind == IS_LIGHT) {
    if (g.is_truth) {
      uint8_t *p = (uint8_t *)g.out + i;
      if (V == 4 && whole && n >= V) {
        *(uchar4 *)p = make_uchar4(y[0] != 0, y[V > 1] != 0, y[V / 2] != 0, y[V - 1] != 0);
      } else {
#pragma unroll
        for (int k = 0; k < V; k++)
          if (k < n) p[k] = y[k] != 0;
      }
      return;
    }
  }
  float *p = (float *)g.out + i;
  if constexpr (V == 4) write_four(p, 0, n, whole, y);
  else p[0] = y[0];
}

template <int kind, int V> __global__ void __launch_bounds__(FOURS_THREADS, kind == IS_LIGHT ? (int)LIGHT_BLOCKS : 4) map_plain(const __grid_constant__ grid g) {
  const uint32_t group = blockIdx.x * FOURS_THREADS + threadIdx.x;
  if (group >= g.n_groups) return;
  int64_t offset[4];
  const int left = (int)min(g.last - locate_group<V>(g, group, offset), (int64_t)V);
  float x[3][V] = {}, y[V];
#pragma unroll
  for (int o = 0; o < 3; o++) {
    if (o >= g.n_inputs) break;
    if (V == 4 && !g.strides[o + 1][g.n_dims - 1]) {
      float one[1];
      take<kind, 1>(one, g, o, offset[o + 1], 1, false);
#pragma unroll
      for (int k = 0; k < V; k++) x[o][k] = one[0];
    } else {
      take<kind, V>(x[o], g, o, offset[o + 1], left, g.whole);
    }
  }
  compute<kind, V>(g, y, x);
  give<kind, V>(y, g, offset[0], left, g.whole);
}
/* Of operands that lie side by side from end to end: without a place to find. */
template <int kind> __global__ void __launch_bounds__(FOURS_THREADS, kind == IS_LIGHT ? (int)LIGHT_BLOCKS : kind == IS_HEAVY ? (int)HEAVY_BLOCKS : 4) map_flat(const __grid_constant__ grid g) {
  const uint32_t i = 4 * (blockIdx.x * FOURS_THREADS + threadIdx.x), n = (uint32_t)g.last; /* 31 bits */
  if (i >= n) return;
  const bool full = g.whole && n - i >= 4;
  float x[3][4] = {}, y[4];
  if (full) {
#pragma unroll
    for (int o = 0; o < 3; o++)
      if (o < g.n_inputs) take<kind, 4>(x[o], g, o, i, 4, true);
  } else {
#pragma unroll
    for (int o = 0; o < 3; o++)
      if (o < g.n_inputs) take<kind, 4>(x[o], g, o, i, (int)(n - i), false);
  }
  compute<kind, 4>(g, y, x);
  if (full) give<kind, 4>(y, g, i, 4, true);
  else give<kind, 4>(y, g, i, (int)(n - i), false);
}

int64_t elements_of(const iso_map_problem *p) {
  int64_t n = 1;
  for (int d = 0; d < p->n_dims; d++) n *= p->shape[d];
  return n;
}
/* Whether groups of four lie side by side in every operand (`whole`: on 16 bytes, too). */
bool has_fours(const iso_map_problem *problem, int n_inputs, bool *whole, const iso_map_args *a) {
  const int last = problem->n_dims - 1;
  *whole = true;
  for (int o = 0; o <= n_inputs; o++) {
    const int64_t stride = problem->strides[o][last];
    if (stride != 1 && (stride != 0 || o == 0)) return false;
    if (stride == 0) continue;
    const void *p = o ? a->in[o - 1] : a->out;
    *whole &= iso__map_operand_dtype((iso__map_fn)problem->fn, ISO_F32, o) == ISO_BOOL ? ((uintptr_t)p & 3) == 0 : lies_in_fours(p);
    for (int d = 0; d < last; d++) *whole &= problem->strides[o][d] % 4 == 0;
  }
  return true;
}
} // namespace

extern "C" const char *iso__map_plain_cuda_applicable(const iso__problem *problem) {
  const iso_map_problem *p = (const iso_map_problem *)problem;
  if (iso__map_kind_of((iso__map_fn)p->fn) == ISO__MAP_INTEGER) return "computes real numbers";
  return elements_of(p) >= INT32_MAX ? "numbers elements in 31 bits" : NULL;
}
extern "C" void iso__map_plain_cuda_run(const iso__call *call) {
  const iso_map_problem *p = (const iso_map_problem *)call->problem;
  const iso_map_args *a = (const iso_map_args *)call->args;
  const int64_t n = elements_of(p);
  if (n == 0) return;
  grid g = {};
  const iso__map_kind of = iso__map_kind_of((iso__map_fn)p->fn);
  g.out = a->out, g.is_truth = of == ISO__MAP_TRUTH, g.is_choice = of == ISO__MAP_CHOICE, g.fn = p->fn, g.n_inputs = iso__map_n_inputs((iso__map_fn)p->fn);
  g.n_dims = p->n_dims ? p->n_dims : 1, g.last = p->n_dims ? p->shape[p->n_dims - 1] : 1;
  for (int k = 0; k < 3; k++) g.in[k] = a->in[k], g.scalar[k] = iso__map_scalar_f32(a->scalar[k], ISO_F32);
  for (int o = 0; o <= g.n_inputs; o++)
    for (int d = 0; d < p->n_dims; d++) g.strides[o][d] = p->strides[o][d];
  const bool fours = p->n_dims && has_fours(p, g.n_inputs, &g.whole, a);
  const int V = fours ? 4 : 1;
  const int64_t across = (g.last + V - 1) / V;
  for (int d = 0; d < g.n_dims - 1; d++) g.shape[d] = divide_by(p->shape[d]);
  g.shape[g.n_dims - 1] = divide_by(across);
  g.n_groups = (uint32_t)(n / g.last * across);
  bool flat = fours && p->n_dims == 1;
  for (int o = 1; o <= g.n_inputs; o++) flat &= g.strides[o][0] == 1;
  static void (*const by_fours[])(grid) = {map_plain<IS_LIGHT, 4>, map_plain<IS_HEAVY, 4>, map_plain<IS_DEEP, 4>, map_plain<IS_ANY, 4>};
  static void (*const by_ones[])(grid) = {map_plain<IS_LIGHT, 1>, map_plain<IS_HEAVY, 1>, map_plain<IS_ANY, 1>, map_plain<IS_ANY, 1>};
  const int kind = kind_of(g.fn);
  static void (*const all_flat[])(grid) = {map_flat<IS_LIGHT>, map_flat<IS_HEAVY>, map_flat<IS_DEEP>, map_flat<IS_ANY>};
  void (*const kernel)(grid) = flat ? all_flat[kind] : fours ? by_fours[kind] : by_ones[kind];
  kernel<<<iso__cuda_blocks(g.n_groups, FOURS_THREADS), FOURS_THREADS, 0, iso__cuda_stream(call)>>>(g);
  iso__cuda_launched(call);
}
