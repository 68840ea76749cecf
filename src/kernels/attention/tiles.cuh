/* tiles.cuh: what attention's kernels on CUDA devices share: 64 × 64 pairs are a tile of 256 threads, each of 4 × 4.
 *
 * Both factors of a product lie turned in shared memory, [column][row], rows padded to 68 so that 16-byte loads of
 * columns 16 apart do not collide. Thread (ty,tx) has rows 4·ty … of the tile's rows and 4·tx … of what is looped over;
 * of a sum over these, rows 4·ty … and columns tx, tx + 16 …. The 16 threads of a row are half a warp, so that a row's
 * maximum and the tree over its 64 keys are shuffles: neighbours within a thread, then threads 1, 2, 4, 8 apart. */
#ifndef ISO_KERNELS_ATTENTION_TILES_CUH
#define ISO_KERNELS_ATTENTION_TILES_CUH
#include "kernels/cuda/launch.cuh"
#include "kernels/attention/attention.h"
#include "numeric/math_f32.h"
#include "numeric/order.h"
#include "numeric/philox.h"
#include "numeric/sigmoid_f32.h"

namespace {
constexpr int TILE = 64, PITCH = 68, THREADS = 256, WIDTH = 64;
constexpr unsigned ABSENT = 0xffc0deadu; /* a NaN that no operation makes: marks pairs that are not there */

/* The rows of an operand: row r of head r % group of those that share one of k and v. */
struct strip {
  const float *data;
  int64_t row, head; /* strides */
  int64_t n;         /* rows, of all the group's heads */
  int group, columns;
};
__device__ __forceinline__ strip strip_of(const void *data, const iso__attention_strides &t, int64_t b, int64_t h, int64_t rows, int group,
                                          int64_t columns) {
  return {(const float *)data + b * t.batch + h * t.head, t.row, t.head, rows * group, group, (int)columns};
}
__device__ __forceinline__ const float *row_of(const strip &x, int64_t r) {
  return x.group == 1 ? x.data + r * x.row : x.data + r / x.group * x.row + r % x.group * x.head;
}

/* Rows first … first + 63, turned; zeros beyond the last and behind their `wide` columns. Whether one of its elements is
 * not finite. */
template <int wide> __device__ __forceinline__ bool load_turned(float *to, const strip &x, int64_t first) {
  bool strange = false;
  const int r = threadIdx.x % TILE;
  const bool there = first + r < x.n;
  const float *row = row_of(x, there ? first + r : 0);
  const bool fours = x.columns % 4 == 0 && (uintptr_t)row % 16 == 0;
#pragma unroll
  for (int i = 0; i < wide / 4; i += THREADS / TILE) {
    const int c = (i + threadIdx.x / TILE) * 4;
    float v[4] = {};
    if (there && fours && c < x.columns) {
      const float4 four = __ldg((const float4 *)(row + c));
      v[0] = four.x, v[1] = four.y, v[2] = four.z, v[3] = four.w;
    } else if (there) {
#pragma unroll
      for (int k = 0; k < 4; k++)
        if (c + k < x.columns) v[k] = __ldg(row + c + k);
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
      to[(c + k) * PITCH + r] = v[k];
      strange = strange || !(fabsf(v[k]) < INFINITY);
    }
  }
  return strange;
}

/* sum[a][b] = Σ_c x[c][4·ty + a]·y[c][4·tx + b], c ascending, + 0 (the fold of one chunk). */
__device__ __forceinline__ void multiply_pairs(float (&sum)[4][4], const float *x, const float *y, int n) {
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
#pragma unroll
  for (int i = 0; i < 16; i++) sum[i / 4][i % 4] = 0;
#pragma unroll 8
  for (int c = 0; c < n; c++) {
    const float4 p = *(const float4 *)(x + c * PITCH + 4 * ty), q = *(const float4 *)(y + c * PITCH + 4 * tx);
    const float u[4] = {p.x, p.y, p.z, p.w}, v[4] = {q.x, q.y, q.z, q.w};
#pragma unroll
    for (int i = 0; i < 16; i++) sum[i / 4][i % 4] = fmaf(u[i / 4], v[i % 4], sum[i / 4][i % 4]);
  }
#pragma unroll
  for (int i = 0; i < 16; i++) sum[i / 4][i % 4] = sum[i / 4][i % 4] + 0.0f;
}

/* sum[a][x] continues Σ_k w[4·ty + a][k]·y[tx + 16·x][k], k ascending over 64; `careful`: pairs marked ABSENT are left
 * out, where y may hold what is not finite. */
template <int each> __device__ __forceinline__ void add_weighted(float (&sum)[4][each], const float *w, const float *y, bool careful) {
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
#pragma unroll 4
  for (int k = 0; k < TILE; k += 4) {
    float u[4][4], v[each][4];
#pragma unroll
    for (int a = 0; a < 4; a++) {
      const float4 four = *(const float4 *)(w + (4 * ty + a) * PITCH + k);
      u[a][0] = four.x, u[a][1] = four.y, u[a][2] = four.z, u[a][3] = four.w;
    }
#pragma unroll
    for (int x = 0; x < each; x++) {
      const float4 four = *(const float4 *)(y + (tx + 16 * x) * PITCH + k);
      v[x][0] = four.x, v[x][1] = four.y, v[x][2] = four.z, v[x][3] = four.w;
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
      for (int a = 0; a < 4; a++) {
        if (careful && __float_as_uint(u[a][i]) == ABSENT) continue;
#pragma unroll
        for (int x = 0; x < each; x++) sum[a][x] = fmaf(u[a][i], v[x][i], sum[a][x]);
      }
  }
}

/* Of a batch item, within the extents. */
struct lengths {
  int64_t keys, queries;
};
__device__ __forceinline__ lengths lengths_of(const iso_attention_problem &p, const iso_attention_args &a, int64_t b) {
  lengths n = {p.s, p.l};
  if (p.lengths & ISO__KEY_LENGTHS) n.keys = a.key_lengths[b / p.repeat] < n.keys ? a.key_lengths[b / p.repeat] : n.keys;
  if (p.lengths & ISO__QUERY_LENGTHS) n.queries = a.query_lengths[b / p.repeat] < n.queries ? a.query_lengths[b / p.repeat] : n.queries;
  return n;
}
__device__ __forceinline__ bool sees(const iso_attention_problem &p, const lengths &n, int64_t i, int64_t j) {
  return i < n.queries && j < n.keys && (!p.causal || j <= i);
}

/* s of a pair that is seen, or −inf: absent. */
__device__ __forceinline__ float score_of(const iso_attention_problem &p, const iso_attention_args &a, float product, int64_t b, int64_t h,
                                          int64_t i, int64_t j, bool seen) {
  if (!seen) return -INFINITY;
  if (p.mask == ISO__MASK_BOOL && !((const uint8_t *)a.mask)[iso__attention_mask_at(&p, b, h, i, j)]) return -INFINITY;
  const float s = product * (float)a.scale;
  return p.mask == ISO__MASK_ADDED ? s + ((const float *)a.mask)[iso__attention_mask_at(&p, b, h, i, j)] : s;
}
/* Whether dropout keeps the weight of query i and key j. */
__device__ __forceinline__ bool keeps(const iso_attention_problem &p, const iso_attention_args &a, int64_t b, int64_t h, int64_t i, int64_t j) {
  const iso_philox at = iso__attention_noise(&a);
  const uint64_t element = (uint64_t)(((b * p.heads + h) * p.l + i) * p.s + j);
  return (int32_t)(philox_word(&at, element) >> 8) >= philox_drop_threshold(a.p);
}
} // namespace
#endif
