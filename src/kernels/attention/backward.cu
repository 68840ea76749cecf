/* backward.cu: attention's gradients on CUDA devices, heads of up to 64 columns: one kernel for D = ordered(dy·o), one
 * whose blocks are tiles of queries and pass over keys (dq), one whose blocks are tiles of keys and pass over queries (dk
 * and dv), so that nothing is added by atomics; both compute the scores of their tiles. See tiles.cuh. */
#include "kernels/attention/tiles.cuh"

extern "C" void iso__attention_elements_cuda_run(const iso__call *call);

namespace {
/* D of one row, one thread. */
__global__ void row_sums(const __grid_constant__ iso_attention_problem p, const __grid_constant__ iso_attention_args a, float *d) {
  const int64_t r = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= p.batch * p.heads * p.l) return;
  const int64_t b = r / p.l / p.heads, h = r / p.l % p.heads, i = r % p.l;
  const float *dy = (const float *)a.dy + iso__attention_at(&p.dy, b, h, i), *o = (const float *)a.o_saved + iso__attention_at(&p.o, b, h, i);
  float sum = 0;
  for (int64_t c = 0; c < p.f; c++) sum = fmaf(dy[c], o[c], sum);
  d[r] = sum + 0.0f;
}

/* A sum over rows or keys: the chunk of 256 under way, the panel of 1024, the total. */
template <int each> struct ordered {
  float chunk[4][each], panel[4][each], total[4][each];
};
template <int each> __device__ __forceinline__ void fold(ordered<each> &s, bool panel_ends) {
#pragma unroll
  for (int r = 0; r < 4; r++)
#pragma unroll
    for (int x = 0; x < each; x++) {
      s.panel[r][x] = s.panel[r][x] + s.chunk[r][x], s.chunk[r][x] = 0;
      if (panel_ends) s.total[r][x] = s.total[r][x] + s.panel[r][x], s.panel[r][x] = 0;
    }
}
template <int each>
__device__ __forceinline__ void store(const ordered<each> &s, float *data, const iso__attention_strides &t, int64_t b, int64_t h, int64_t row,
                                      int64_t n_rows, int64_t columns, float scale, bool scaled) {
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
#pragma unroll
  for (int r = 0; r < 4; r++)
#pragma unroll
    for (int x = 0; x < each; x++)
      if (row + 4 * ty + r < n_rows && tx + 16 * x < columns)
        data[iso__attention_at(&t, b, h, row + 4 * ty + r) + tx + 16 * x] = scaled ? s.total[r][x] * scale : s.total[r][x];
}

/* of_keys: the tile's rows are keys, what is passed over are queries of all heads that share them. */
template <int wide, bool of_keys>
__global__ void __launch_bounds__(THREADS) backward(const __grid_constant__ iso_attention_problem p, const __grid_constant__ iso_attention_args a, const float *d) {
  extern __shared__ __align__(16) float shared[];
  constexpr int each = wide / 16;
  float *x0 = shared, *x1 = x0 + wide * PITCH, *y0 = x1 + wide * PITCH, *y1 = y0 + wide * PITCH;
  float *of_ds = y1 + wide * PITCH, *of_w = of_ds + TILE * PITCH; /* of_w: of keys alone */
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16, group = of_keys ? (int)p.group : 1;
  const int64_t heads = of_keys ? p.heads / p.group : p.heads, n_rows = of_keys ? p.s : p.l;
  const int64_t n_tiles = (n_rows + TILE - 1) / TILE, row = blockIdx.x % n_tiles * TILE;
  const int64_t h = blockIdx.x / n_tiles % heads, b = blockIdx.x / n_tiles / heads;
  const int64_t head = of_keys ? h * group : h, shared_head = of_keys ? h : h / p.group;
  const strip qs = strip_of(a.q, p.q, b, head, p.l, group, p.e), dys = strip_of(a.dy, p.dy, b, head, p.l, group, p.f);
  const strip ks = strip_of(a.k, p.k, b, shared_head, p.s, 1, p.e), vs = strip_of(a.v, p.v, b, shared_head, p.s, 1, p.f);
  load_turned<wide>(x0, of_keys ? ks : qs, row);
  load_turned<wide>(x1, of_keys ? vs : dys, row);
  const float scale = (float)a.scale, kept = (float)(1 / (1 - a.p));
  const lengths n = lengths_of(p, a, b);
  ordered<each> s0 = {}, s1 = {};
  /* What no row of the tile sees is not visited; an absent chunk is +0 and changes no sum. */
  int64_t first = 0, end = of_keys ? p.l * group : p.s;
  if (of_keys && p.causal) first = row * group / TILE * TILE;
  if (!of_keys && p.causal && row + TILE < end) end = row + TILE;
  for (int64_t c0 = first; c0 < end; c0 += TILE) {
    __syncthreads();
    bool strange = load_turned<wide>(y0, of_keys ? qs : ks, c0);
    strange = load_turned<wide>(y1, of_keys ? dys : vs, c0) && of_keys ? true : strange;
    const bool careful = __syncthreads_or(strange);
    float s[4][4], dp[4][4];
    multiply_pairs(s, x0, y0, (int)p.e);
    multiply_pairs(dp, x1, y1, (int)p.f);
#pragma unroll
    for (int r = 0; r < 4; r++)
#pragma unroll
      for (int x = 0; x < 4; x++) {
        const int64_t mine = row + 4 * ty + r, other = c0 + 4 * tx + x;
        const int64_t query = of_keys ? other : mine, key = of_keys ? mine : other; /* query: of the group */
        const int64_t i = group == 1 ? query : query / group, hq = head + (group == 1 ? 0 : query % group);
        const int64_t at = (b * p.heads + hq) * p.l + i;
        const bool inside = sees(p, n, i, key);
        const float lse = inside ? ((const float *)a.lse_saved)[at] : -INFINITY;
        const float score = score_of(p, a, s[r][x], b, hq, i, key, inside && lse != -INFINITY);
        float w = __uint_as_float(careful ? ABSENT : 0u), ds = w;
        if (score != -INFINITY) {
          w = v_exp(score - lse);
          float up = dp[r][x];
          const bool there = !p.dropout || keeps(p, a, b, hq, i, key);
          if (p.dropout) up = there ? up * kept : 0.0f;
          ds = w * (up - d[at]);
          if (p.dropout) w = there ? w * kept : __uint_as_float(careful ? ABSENT : 0u);
        }
        s[r][x] = w, dp[r][x] = ds;
      }
#pragma unroll
    for (int r = 0; r < 4; r++) {
      const int at = (4 * ty + r) * PITCH + 4 * tx;
      *(float4 *)(of_ds + at) = make_float4(dp[r][0], dp[r][1], dp[r][2], dp[r][3]);
      if (of_keys) *(float4 *)(of_w + at) = make_float4(s[r][0], s[r][1], s[r][2], s[r][3]);
    }
    __syncwarp();
    add_weighted<each>(s0.chunk, of_ds, y0, careful);
    if (of_keys) add_weighted<each>(s1.chunk, of_w, y1, careful);
    const int64_t done = c0 + TILE;
    if (done % ISO__CHUNK == 0 || done >= end) {
      const bool panel_ends = done % ISO__PANEL == 0 || done >= end;
      fold(s0, panel_ends);
      if (of_keys) fold(s1, panel_ends);
    }
  }
  if (of_keys) {
    store(s0, (float *)a.dk, p.dk, b, h, row, p.s, p.e, scale, true);
    store(s1, (float *)a.dv, p.dv, b, h, row, p.s, p.f, scale, false);
  } else store(s0, (float *)a.dq, p.dq, b, h, row, p.l, p.e, scale, true);
}

template <int wide, bool of_keys> constexpr int shared_bytes() { return (4 * wide + (of_keys ? 2 : 1) * TILE) * PITCH * (int)sizeof(float); }

template <int wide, bool of_keys> void launch_tiles(const iso__call *call, const float *d) {
  const iso_attention_problem *p = (const iso_attention_problem *)call->problem;
  const int64_t heads = of_keys ? p->heads / p->group : p->heads, rows = of_keys ? p->s : p->l;
  const int64_t blocks = p->batch * heads * ((rows + TILE - 1) / TILE);
  constexpr int n_bytes = shared_bytes<wide, of_keys>();
  iso__cuda_shared(backward<wide, of_keys>, n_bytes);
  if (blocks > 0)
    backward<wide, of_keys><<<(unsigned)blocks, THREADS, n_bytes, iso__cuda_stream(call)>>>(*p, *(const iso_attention_args *)call->args, d);
  iso__cuda_launched(call);
}
} // namespace

extern "C" size_t iso__attention_cuda_workspace(const iso__problem *problem, int n_multiprocessors) {
  const iso_attention_problem *p = (const iso_attention_problem *)problem;
  (void)n_multiprocessors;
  return (size_t)(p->batch * p->heads * p->l) * sizeof(float);
}

extern "C" void iso__attention_bwd_cuda_run(const iso__call *call) {
  const iso_attention_problem *p = (const iso_attention_problem *)call->problem;
  const int64_t rows = p->batch * p->heads * p->l;
  const bool narrow = p->e <= 32 && p->f <= 32;
  float *d = (float *)call->workspace;
  int device = 0, most = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  if (most < (narrow ? shared_bytes<32, true>() : shared_bytes<64, true>())) { /* Turing */
    iso__call plain = *call;
    plain.workspace = NULL; /* where elements would wait */
    iso__attention_elements_cuda_run(&plain);
    return;
  }
  if (rows > 0)
    row_sums<<<iso__cuda_blocks(rows, 128), 128, 0, iso__cuda_stream(call)>>>(*p, *(const iso_attention_args *)call->args, d);
  if (narrow) launch_tiles<32, false>(call, d), launch_tiles<32, true>(call, d);
  else launch_tiles<64, false>(call, d), launch_tiles<64, true>(call, d);
}
