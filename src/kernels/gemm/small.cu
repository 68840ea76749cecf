/* small.cu: products of few elements and at most one chunk of K, class `ordered`, on CUDA: what a small model asks for,
 * where a kernel's latency is all that counts.
 *
 * A block has 4 rows and 32 columns, a thread each. All of its operands come to shared memory in one go, many loads under
 * way at once, in whichever order they are stored; then a thread's chain of K fma waits for nothing but itself. */
#include "kernels/gemm/gemm_tiles.cuh"
#include "kernels/gemm/tiles.cuh"

namespace iso__tiles {
namespace {
enum { rows = 4, columns = 32, chunk = 256, at_once = 128, pitch = chunk + 1, each = columns * at_once / 128 /* of B, a thread */ };

struct small_params {
  params t;
  bool trans_a, trans_b; /* A stored (k,m), B stored (n,k) */
};

__global__ void __launch_bounds__(128) small(const __grid_constant__ small_params s) {
  __shared__ float of_a[rows][chunk], of_b[columns][pitch];
  const params &p = s.t;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, z = p.first_z + blockIdx.z;
  const int row = blockIdx.y * rows + warp, n0 = blockIdx.x * columns, column = n0 + lane;
  const float *a = p.a.data + z * p.a.stride_z, *b = p.b.data + z * p.b.stride_z;
  for (int k0 = 0; k0 < p.k; k0 += at_once) {
    float x[at_once / 32], v[each];
#pragma unroll
    for (int u = 0; u < at_once / 32; u++) { /* a warp has its row of A */
      const int k = k0 + u * 32 + lane;
      x[u] = row < p.m && k < p.k ? __ldg(a + (s.trans_a ? (int64_t)k * p.a.ld + row : (int64_t)row * p.a.ld + k)) : 0;
    }
#pragma unroll
    for (int u = 0; u < each; u++) { /* neighbours in memory are neighbouring lanes */
      const int k = s.trans_b ? k0 + u % 4 * 32 + lane : k0 + u * 4 + warp;
      const int n = s.trans_b ? n0 + u / 4 * 4 + warp : column;
      v[u] = n < p.n && k < p.k ? __ldg(b + (s.trans_b ? (int64_t)n * p.b.ld + k : (int64_t)k * p.b.ld + n)) : 0;
    }
#pragma unroll
    for (int u = 0; u < at_once / 32; u++) of_a[warp][k0 + u * 32 + lane] = x[u];
#pragma unroll
    for (int u = 0; u < each; u++) {
      const int k = s.trans_b ? k0 + u % 4 * 32 + lane : k0 + u * 4 + warp;
      of_b[s.trans_b ? u / 4 * 4 + warp : lane][k] = v[u];
    }
  }
  __syncthreads();
  if (row >= p.m || column >= p.n) return;
  float acc = 0;
#pragma unroll 8
  for (int k = 0; k < p.k; k++) acc = __fmaf_rn(of_a[warp][k], of_b[lane][k], acc);
  store_final_one(p, z, row_offset(p, row), column, __fadd_rn(0.0f, __fadd_rn(0.0f, acc)));
}
} // namespace

void launch_small(const params &t, bool trans_a, bool trans_b, cudaStream_t stream) {
  small_params s = {t, trans_a, trans_b};
  params &p = s.t;
  for (p.first_z = 0; p.first_z < p.n_z; p.first_z += 65535)
    small<<<dim3((unsigned)((p.n + columns - 1) / columns), (unsigned)((p.m + rows - 1) / rows),
                 (unsigned)(p.n_z - p.first_z < 65535 ? p.n_z - p.first_z : 65535)),
            128, 0, stream>>>(s);
}
} // namespace iso__tiles
