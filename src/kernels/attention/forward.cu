/* forward.cu: attention forward on CUDA devices, heads of up to 64 columns: a block is a tile of 64 queries of a head and
 * passes over blocks of 64 keys; see tiles.cuh. */
#include "kernels/attention/tiles.cuh"
#include "kernels/cuda/cost.h"

extern "C" void iso__attention_elements_cuda_run(const iso__call *call);

namespace {
/* Four rows of a thread's: greatest score and sum so far. */
struct state {
  float m[4], l[4];
};

/* Scores to weights; returns the factors of what came before in c. */
__device__ __forceinline__ void softmax_block(float (&s)[4][4], state &t, float (&c)[4]) {
#pragma unroll
  for (int a = 0; a < 4; a++) {
    float most = t.m[a]; /* NaNs are passed over: they come back as weights */
#pragma unroll
    for (int b = 0; b < 4; b++) most = s[a][b] > most ? s[a][b] : most;
#pragma unroll
    for (int d = 1; d < 16; d *= 2) {
      const float other = __shfl_xor_sync(0xffffffffu, most, d);
      most = other > most ? other : most;
    }
    const float from = most == -INFINITY ? 0.0f : most;
#pragma unroll
    for (int b = 0; b < 4; b++) s[a][b] = v_exp_below_0(s[a][b] - from);
    float sum = (s[a][0] + s[a][1]) + (s[a][2] + s[a][3]);
#pragma unroll
    for (int d = 1; d < 16; d *= 2) sum = sum + __shfl_xor_sync(0xffffffffu, sum, d);
    c[a] = v_exp_below_0(t.m[a] - from);
    t.l[a] = fmaf(t.l[a], c[a], sum + 0.0f);
    t.m[a] = most;
  }
}

template <int wide>
__global__ void __launch_bounds__(THREADS) forward(const __grid_constant__ iso_attention_problem p, const __grid_constant__ iso_attention_args a) {
  extern __shared__ __align__(16) float shared[];
  float *q = shared, *k = q + wide * PITCH, *v = k + wide * PITCH, *w = v + wide * PITCH;
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  const int64_t n_tiles = (p.l + TILE - 1) / TILE, row = blockIdx.x % n_tiles * TILE;
  const int64_t h = blockIdx.x / n_tiles % p.heads, b = blockIdx.x / n_tiles / p.heads;
  const strip keys = strip_of(a.k, p.k, b, h / p.group, p.s, 1, p.e), values = strip_of(a.v, p.v, b, h / p.group, p.s, 1, p.f);
  load_turned<wide>(q, strip_of(a.q, p.q, b, h, p.l, 1, p.e), row);
  /* Later queries see more, up to their length. */
  const lengths n = lengths_of(p, a, b);
  const int64_t last = (row + TILE < n.queries ? row + TILE : n.queries) - 1;
  const int64_t n_keys = last < row ? 0 : p.causal && last + 1 < n.keys ? last + 1 : n.keys;
  state t;
  float o[4][wide / 16] = {}, c[4];
#pragma unroll
  for (int r = 0; r < 4; r++) {
    t.m[r] = -INFINITY, t.l[r] = 0;
  }
  for (int64_t j0 = 0; j0 < n_keys; j0 += TILE) {
    __syncthreads();
    load_turned<wide>(k, keys, j0);
    const bool careful = __syncthreads_or(load_turned<wide>(v, values, j0));
    float s[4][4];
    multiply_pairs(s, q, k, (int)p.e);
    unsigned gone = 0;
#pragma unroll
    for (int r = 0; r < 4; r++)
#pragma unroll
      for (int x = 0; x < 4; x++) {
        const int64_t i = row + 4 * ty + r, j = j0 + 4 * tx + x;
        s[r][x] = score_of(p, a, s[r][x], b, h, i, j, sees(p, n, i, j));
        gone |= (unsigned)(s[r][x] == -INFINITY) << (4 * r + x);
      }
    softmax_block(s, t, c);
#pragma unroll
    for (int r = 0; r < 4; r++) {
#pragma unroll
      for (int x = 0; x < 4; x++) {
        bool there = !(gone >> (4 * r + x) & 1);
        if (p.dropout && there) {
          there = keeps(p, a, b, h, row + 4 * ty + r, j0 + 4 * tx + x);
          s[r][x] = there ? s[r][x] * (float)(1 / (1 - a.p)) : 0.0f;
        }
        if (careful && !there) s[r][x] = __uint_as_float(ABSENT);
      }
      *(float4 *)(w + (4 * ty + r) * PITCH + 4 * tx) = make_float4(s[r][0], s[r][1], s[r][2], s[r][3]);
#pragma unroll
      for (int x = 0; x < wide / 16; x++) o[r][x] = o[r][x] * c[r];
    }
    __syncwarp();
    add_weighted<wide / 16>(o, w, v, careful);
  }
#pragma unroll
  for (int r = 0; r < 4; r++) {
    const int64_t i = row + 4 * ty + r;
    if (i >= p.l) continue;
    const float factor = t.l[r] == 0 ? 0.0f : 1.0f / t.l[r];
    float *to = (float *)a.o + iso__attention_at(&p.o, b, h, i);
#pragma unroll
    for (int x = 0; x < wide / 16; x++)
      if (tx + 16 * x < p.f) to[tx + 16 * x] = o[r][x] * factor + 0.0f;
    if (tx == 0) ((float *)a.lse)[(b * p.heads + h) * p.l + i] = t.m[r] + v_log(t.l[r]);
  }
}

template <int wide> void launch(const iso__call *call) {
  const iso_attention_problem *p = (const iso_attention_problem *)call->problem;
  constexpr int n_bytes = (3 * wide + TILE) * PITCH * (int)sizeof(float);
  const int64_t blocks = p->batch * p->heads * ((p->l + TILE - 1) / TILE);
  iso__cuda_shared(forward<wide>, n_bytes);
  if (blocks > 0)
    forward<wide><<<(unsigned)blocks, THREADS, n_bytes, iso__cuda_stream(call)>>>(*p, *(const iso_attention_args *)call->args);
  iso__cuda_launched(call);
}
} // namespace

extern "C" const char *iso__attention_cuda_applicable(const iso__problem *problem) {
  const iso_attention_problem *p = (const iso_attention_problem *)problem;
  if (p->e > WIDTH || p->f > WIDTH) return "heads wider than 64";
  if (p->ds) return "the gradient of the scores is not stored by tiles";
  const int64_t longer = p->l * p->group > p->s ? p->l * p->group : p->s;
  return p->batch * p->heads > 0 && (longer + TILE - 1) / TILE >= INT32_MAX / (p->batch * p->heads) ? "numbers tiles in 31 bits" : NULL;
}

/* A row's scores for every element of it. */
extern "C" double iso__attention_elements_cuda_cost(const iso__problem *problem, int n_multiprocessors) {
  const iso__operator *op = iso__the_registry.operators[problem->op];
  const iso_attention_problem *p = (const iso_attention_problem *)problem;
  const double rows = (double)p->batch * (double)p->heads * (double)(p->l > p->s ? p->l : p->s);
  return 10000 + rows * (double)(p->e + p->f) * op->element_flops(problem) * 132 / (400.0 * n_multiprocessors);
}
/* A third of an H200's peak; a tile's latency where there are few. */
extern "C" double iso__attention_cuda_cost(const iso__problem *problem, int n_multiprocessors) {
  const iso_attention_problem *p = (const iso_attention_problem *)problem;
  const double scores = (double)p->batch * (double)p->heads * (double)p->l * (double)p->s;
  const double flops = iso__the_registry.operators[problem->op]->flops(problem) + 60 * scores;
  return 5000 + 40 * (double)p->s + flops * 132 / (20000.0 * n_multiprocessors);
}

extern "C" void iso__attention_fwd_cuda_run(const iso__call *call) {
  const iso_attention_problem *p = (const iso_attention_problem *)call->problem;
  int device = 0, most = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  const bool narrow = p->e <= 32 && p->f <= 32;
  if (narrow) launch<32>(call);
  else if (most >= (3 * 64 + TILE) * PITCH * (int)sizeof(float)) launch<64>(call);
  else iso__attention_elements_cuda_run(call); /* Turing */
}
