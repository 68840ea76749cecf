/* skinny.cu: products of at most 32 rows, class `ordered`, on CUDA: B is read once, at the speed of memory.
 *
 * A block has 32 columns and up to 16 chunks of K at once. Where n are neighbours, eight lanes have one chunk, four
 * columns each. Where terms are neighbours, a warp has one chunk and turns it through shared memory, 32 columns by 32
 * terms at a time. Chunk sums meet in shared memory and are folded in order. Eight rows at most to a block: the blocks
 * of more rows run side by side and find B in L2. */
#include "kernels/gemm/gemm_tiles.cuh"
#include "kernels/gemm/tiles.cuh"

namespace iso__tiles {
namespace {
enum { columns = 32, chunk = 256, max_chunks = 16, slab = 32, slab_pitch = slab + 4 };

/* from[0 … 3], of which n are inside. */
__device__ __forceinline__ float4 load4(const float *from, int n, bool vectors) {
  if (n >= 4 && vectors) return __ldg((const float4 *)from);
  return make_float4(n > 0 ? __ldg(from) : 0, n > 1 ? __ldg(from + 1) : 0, n > 2 ? __ldg(from + 2) : 0,
                     n > 3 ? __ldg(from + 3) : 0);
}
__device__ __forceinline__ float4 load4_once(const float *from, int n) {
  return n >= 4 ? __ldcs((const float4 *)from) : load4(from, n, false);
}
__device__ __forceinline__ float4 fma4(float a, float4 b, float4 c) {
  return make_float4(__fmaf_rn(a, b.x, c.x), __fmaf_rn(a, b.y, c.y), __fmaf_rn(a, b.z, c.z), __fmaf_rn(a, b.w, c.w));
}

struct skinny_params {
  params t;
  bool vectors_a;
};

/* total += the panels of these chunks' sums; `sums` is this column's first, `step` from chunk to chunk. */
template <class T, class Add>
__device__ __forceinline__ T fold_chunks(T total, const T *sums, int step, int n_chunks, Add add) {
  T panel = T{};
  for (int c = 0; c < n_chunks; c++) {
    panel = add(panel, sums[c * step]);
    if (c % 4 != 3 && c + 1 < n_chunks) continue;
    total = add(total, panel);
    panel = T{};
  }
  return total;
}

/* B stored (k,n). Eight lanes a chunk. */
template <int rows> __global__ void __launch_bounds__(128) skinny_by_n(const __grid_constant__ skinny_params s) {
  constexpr int batch = rows == 1 ? 16 : 8, vectors = columns / 4, outputs = (rows * vectors + 31) / 32;
  __shared__ float4 sums[max_chunks][rows][vectors];
  const params &p = s.t;
  const int n_groups = blockDim.x / vectors, group = threadIdx.x / vectors, lane = threadIdx.x % vectors;
  const int n = blockIdx.x * columns + lane * 4, width = p.n - n, row0 = blockIdx.y * rows, z = p.first_z + blockIdx.z;
  const float *a = p.a.data + z * p.a.stride_z + (int64_t)row0 * p.a.ld;
  float4 totals[outputs];
#pragma unroll
  for (int e = 0; e < outputs; e++) totals[e] = make_float4(0, 0, 0, 0);
  for (int k_round = 0; k_round < p.k; k_round += n_groups * chunk) {
    float4 acc[rows];
#pragma unroll
    for (int m = 0; m < rows; m++) acc[m] = make_float4(0, 0, 0, 0);
    const int k0 = k_round + group * chunk, k1 = k0 + chunk < p.k ? k0 + chunk : p.k;
    const float *b = p.b.data + z * p.b.stride_z + (int64_t)k0 * p.b.ld + n;
    int k = k0;
    if (width >= 4)
      for (; k + batch <= k1; k += batch) {
        float4 v[batch];
#pragma unroll
        for (int u = 0; u < batch; u++) v[u] = __ldcs((const float4 *)(b + (int64_t)u * p.b.ld));
        b += (int64_t)batch * p.b.ld;
#pragma unroll
        for (int u = 0; u < batch; u += 4)
#pragma unroll
          for (int m = 0; m < rows; m++) {
            const float4 x = load4(a + (int64_t)m * p.a.ld + k + u, row0 + m < p.m ? 4 : 0, s.vectors_a);
            acc[m] = fma4(x.w, v[u + 3], fma4(x.z, v[u + 2], fma4(x.y, v[u + 1], fma4(x.x, v[u], acc[m]))));
          }
      }
    for (; k < k1; k++, b += p.b.ld) {
      const float4 v = width > 0 ? load4_once(b, width) : make_float4(0, 0, 0, 0);
#pragma unroll
      for (int m = 0; m < rows; m++)
        if (row0 + m < p.m) acc[m] = fma4(__ldg(a + (int64_t)m * p.a.ld + k), v, acc[m]);
    }
#pragma unroll
    for (int m = 0; m < rows; m++) sums[group][m][lane] = acc[m];
    __syncthreads();
    const int left = (p.k - k_round + chunk - 1) / chunk, n_chunks = left < n_groups ? left : n_groups;
#pragma unroll
    for (int e = 0; e < outputs; e++) {
      const int i = threadIdx.x + e * blockDim.x;
      if (i < rows * vectors) totals[e] = fold_chunks(totals[e], &sums[0][0][0] + i, rows * vectors, n_chunks, add4);
    }
    __syncthreads();
  }
#pragma unroll
  for (int e = 0; e < outputs; e++) {
    const int i = threadIdx.x + e * blockDim.x, m = row0 + i / vectors, column = blockIdx.x * columns + i % vectors * 4;
    if (i < rows * vectors && m < p.m && column < p.n) store_final(p, z, row_offset(p, m), column, totals[e]);
  }
}

/* B stored (n,k). A warp a chunk. */
template <int rows> __global__ void __launch_bounds__(512) skinny_by_k(const __grid_constant__ skinny_params s) {
  extern __shared__ __align__(128) float shared[];
  constexpr int outputs = rows; /* a thread folds, at most: blocks have a warp or more */
  const params &p = s.t;
  const int n_warps = blockDim.x / 32, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int n0 = blockIdx.x * columns, row0 = blockIdx.y * rows, z = p.first_z + blockIdx.z;
  float *turned = shared + warp * columns * slab_pitch, *sums = shared + n_warps * columns * slab_pitch;
  const float *a = p.a.data + z * p.a.stride_z + (int64_t)row0 * p.a.ld;
  float totals[outputs];
#pragma unroll
  for (int e = 0; e < outputs; e++) totals[e] = 0;
  for (int k_round = 0; k_round < p.k; k_round += n_warps * chunk) {
    float acc[rows];
#pragma unroll
    for (int m = 0; m < rows; m++) acc[m] = 0;
    const int k0 = k_round + warp * chunk, k1 = k0 + chunk < p.k ? k0 + chunk : p.k;
    const int my_k = lane % 8 * 4, my_n = lane / 8;
    const float *b = p.b.data + z * p.b.stride_z + (int64_t)(n0 + my_n) * p.b.ld + my_k;
    float4 even[8], odd[8]; /* the next two slabs, on their way */
    const auto fetch = [&](int k, float4(&to)[8]) {
#pragma unroll
      for (int i = 0; i < 8; i++)
        to[i] = load4_once(b + (int64_t)i * 4 * p.b.ld + k, n0 + my_n + i * 4 < p.n ? k1 - k - my_k : 0);
    };
    const auto add_slab = [&](int k, float4(&v)[8]) {
#pragma unroll
      for (int i = 0; i < 8; i++) *(float4 *)(turned + (i * 4 + my_n) * slab_pitch + my_k) = v[i];
      __syncwarp();
      if (k + 2 * slab < k1) fetch(k + 2 * slab, v);
      for (int q = 0; q < slab && k + q < k1; q += 4) {
        const float4 of_b = *(const float4 *)(turned + lane * slab_pitch + q);
#pragma unroll
        for (int m = 0; m < rows; m++) {
          const float4 x = load4(a + (int64_t)m * p.a.ld + k + q, row0 + m < p.m ? k1 - k - q : 0, s.vectors_a);
          acc[m] =
              __fmaf_rn(x.w, of_b.w, __fmaf_rn(x.z, of_b.z, __fmaf_rn(x.y, of_b.y, __fmaf_rn(x.x, of_b.x, acc[m]))));
        }
      }
      __syncwarp();
    };
    if (k0 < k1) fetch(k0, even);
    if (k0 + slab < k1) fetch(k0 + slab, odd);
    for (int k = k0; k < k1; k += 2 * slab) {
      add_slab(k, even);
      if (k + slab < k1) add_slab(k + slab, odd);
    }
#pragma unroll
    for (int m = 0; m < rows; m++) sums[(warp * rows + m) * columns + lane] = acc[m];
    __syncthreads();
    const int left = (p.k - k_round + chunk - 1) / chunk, n_chunks = left < n_warps ? left : n_warps;
#pragma unroll
    for (int e = 0; e < outputs; e++) {
      const int i = threadIdx.x + e * blockDim.x;
      if (i < rows * columns)
        totals[e] = fold_chunks(totals[e], sums + i, rows * columns, n_chunks,
                                [](float x, float y) { return __fadd_rn(x, y); });
    }
    __syncthreads();
  }
#pragma unroll
  for (int e = 0; e < outputs; e++) {
    const int i = threadIdx.x + e * blockDim.x, m = row0 + i / columns, n = n0 + i % columns;
    if (i >= rows * columns || m >= p.m || n >= p.n) continue;
    store_final_one(p, z, row_offset(p, m), n, totals[e]);
  }
}

template <int rows> void launch_rows(skinny_params s, bool b_by_n, cudaStream_t stream) {
  params &p = s.t;
  const int n_chunks = (p.k + chunk - 1) / chunk, chunk_bytes = (columns * slab_pitch + rows * columns) * 4;
  int at_once = n_chunks < max_chunks ? (n_chunks + 3) / 4 * 4 : max_chunks;
  while (at_once > 4 && at_once * chunk_bytes > largest_shared_bytes()) at_once -= 4; /* whole panels */
  const int n_bytes = at_once * chunk_bytes;
  if (!b_by_n) iso__cuda_shared(skinny_by_k<rows>, n_bytes);
  for (p.first_z = 0; p.first_z < p.n_z; p.first_z += 65535) {
    const dim3 grid((unsigned)((p.n + columns - 1) / columns), (unsigned)((p.m + rows - 1) / rows),
                    (unsigned)(p.n_z - p.first_z < 65535 ? p.n_z - p.first_z : 65535));
    if (b_by_n) skinny_by_n<rows><<<grid, (unsigned)(at_once * columns / 4), 0, stream>>>(s);
    else skinny_by_k<rows><<<grid, (unsigned)at_once * 32, (size_t)n_bytes, stream>>>(s);
  }
}
} // namespace

void launch_skinny(const params &p, bool b_by_n, bool vectors_a, cudaStream_t stream) {
  const skinny_params s = {p, vectors_a};
  if (p.m == 1) launch_rows<1>(s, b_by_n, stream);
  else if (p.m <= 4) launch_rows<4>(s, b_by_n, stream);
  else launch_rows<8>(s, b_by_n, stream);
}
} // namespace iso__tiles
