/* product.cu: the products of transformed tiles, C[slot][e] = A[e]ᵀ·B[e] over chunks of k, and the fold of chunk
 * sums. Both operands lie along m and n, so that a k is a row of each.
 *
 * A block computes 64 × 64 (or 32 × 64) sums of one chunk: as many threads as rows with 8 × 8 each, 16 k at a time
 * through three buffers of shared memory that cp.async fills two ahead. Eight (sixteen) blocks share a multiprocessor.
 * Lanes are mapped so that reads of A ignore one bit of the lane number and reads of B another: two wavefronts a
 * 16-byte load. Odd rows of a thread's tile run from right to left, which spares register-bank conflicts. Chains are
 * fma from +0 with k ascending; k beyond the chunk is zero and changes nothing. Complex B: a row is read once for its
 * two k. */
#include "kernels/conv/winograd/cuda/product.h"
#include <stdint.h>
#include "kernels/gemm/tile_params.cuh"

namespace {

enum { COLUMNS = 64, STEP = 16, STAGES = 3, AHEAD = STAGES - 1 };

__device__ __forceinline__ void copy_16(float *to, const float *from, bool inside) {
#if __CUDA_ARCH__ >= 800
  const int n_bytes = inside ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"((uint32_t)__cvta_generic_to_shared(to)),
               "l"(from), "r"(n_bytes));
#else
  *(float4 *)to = inside ? *(const float4 *)from : make_float4(0, 0, 0, 0);
#endif
}
__device__ __forceinline__ void copies_end() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;\n");
#endif
}
/* All but the newest AHEAD − 1 groups of copies have arrived. */
__device__ __forceinline__ void copies_wait() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;\n" ::"n"(AHEAD - 1));
#endif
}
/* Hides a number from the compiler, which would else compute one address for each of 16 steps. */
__device__ __forceinline__ void opaque(int &x) {
#ifdef __CUDA_ARCH__
  asm volatile("" : "+r"(x));
#endif
}

/* Copies `step` rows of `width` floats, 16 bytes a thread at a time. */
template <int width, int threads, int step> struct loader {
  static constexpr int ROWS = threads / (width / 4);
  const float *from;
  int64_t pitch;
  int row, at; /* row: beyond all k for columns outside */
  __device__ __forceinline__ loader(const float *base, int extent, int first, int k0) {
    const int column = threadIdx.x % (width / 4) * 4;
    row = threadIdx.x / (width / 4), pitch = extent, at = row * width + column;
    from = base + (int64_t)(k0 + row) * extent + first + column;
    if (first + column >= extent) row = 1 << 30;
  }
  __device__ __forceinline__ void issue(float *stage, int k_left) {
#pragma unroll
    for (int i = 0; i < step / ROWS; i++)
      copy_16(stage + at + i * ROWS * width, from + i * ROWS * pitch, row + i * ROWS < k_left);
    from += step * pitch;
  }
};

/* Copies 16 k of `rows` rows that lie along k: a row of a stage has its four float4 turned by its number, so that eight
 * rows are read without conflicts. */
template <int rows, int threads> struct row_loader {
  static constexpr int ROWS = threads / 4;
  const float *from;
  int64_t pitch;
  int k, at, rows_left;
  __device__ __forceinline__ row_loader(const float *base, int64_t pitch_, int m, int first, int k0) {
    const int row = threadIdx.x / 4, vector = threadIdx.x % 4;
    pitch = pitch_, k = vector * 4, rows_left = m - first - row;
    from = base + (first + row) * pitch + k0 + k;
    at = row * STEP + 4 * (vector ^ (row >> 1 & 3));
  }
  __device__ __forceinline__ void issue(float *stage, int k_left) {
#pragma unroll
    for (int i = 0; i < rows / ROWS; i++) {
      const bool inside = k < k_left && i * ROWS < rows_left;
      copy_16(stage + at + i * ROWS * STEP, inside ? from + i * ROWS * pitch : from, inside);
    }
    from += STEP;
  }
};

/* Eight floats of row k of a stage: four from `offset` on, four `apart` further. */
template <int width, int apart>
__device__ __forceinline__ void fragment(const float *stage, int offset, int k, float *f) {
  *(float4 *)f = *(const float4 *)(stage + offset + k * width);
  *(float4 *)(f + 4) = *(const float4 *)(stage + offset + k * width + apart);
}

__device__ __forceinline__ float of_quad(const float4 &v, int i) {
  return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w;
}

template <int rows, bool complex, bool in_rows>
__global__ void __launch_bounds__(rows, (in_rows ? 384 : 512) / rows) product_kernel(const iso__conv_cuda_product p) {
  iso__cuda_await_step();
  extern __shared__ __align__(128) float stages[]; /* A's three, then B's */
  constexpr int STEP_B = complex ? STEP / 2 : STEP, STAGE_A = rows * STEP, STAGE_B = COLUMNS * STEP_B;
  constexpr int B = STAGES * STAGE_A;
  const int n_columns = (p.n + COLUMNS - 1) / COLUMNS;
  const int m0 = blockIdx.x / n_columns * rows, n0 = blockIdx.x % n_columns * COLUMNS;
  const int k0 = blockIdx.y * p.chunk, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  /* A warp has 32 rows, four lanes of two float4 16 apart, and 64 columns, eight lanes of two float4 32 apart. */
  const int of_4 = (lane >> 1 & 1) | (lane >> 4 & 1) << 1, of_8 = (lane & 1) | (lane >> 2 & 3) << 1;
  const int row = warp * 32 + (in_rows ? of_4 : of_4 * 4), column = of_8 * 4;
  int k_left = min(p.k - k0, p.chunk);
  const int n_steps = (k_left + STEP - 1) / STEP;
  const auto loader_of_a = [&] {
    if constexpr (in_rows) {
      const int64_t pitch = (p.k + 3) / 4 * 4;
      return row_loader<rows, rows>(p.a + blockIdx.z * pitch * p.m, pitch, p.m, m0, k0);
    } else return loader<rows, rows, STEP>(p.a + (int64_t)blockIdx.z * p.k * p.m, p.m, m0, k0);
  };
  auto load_a = loader_of_a();
  constexpr int terms = complex ? 2 : 1; /* of k in a row of B */
  loader<COLUMNS, rows, STEP_B> load_b(p.b + (int64_t)blockIdx.z * (p.k / terms) * p.n, p.n, n0, k0 / terms);
  float sum[8][8], a[2][in_rows ? 1 : 8], b[2][8];
  float4 quad[in_rows ? 8 : 1]; /* four k of each row */
#pragma unroll
  for (int i = 0; i < 8; i++)
#pragma unroll
    for (int j = 0; j < 8; j++) sum[i][j] = 0;
#pragma unroll
  for (int s = 0; s < AHEAD; s++, k_left -= STEP) {
    load_a.issue(stages + s * STAGE_A, k_left);
    load_b.issue(stages + B + s * STAGE_B, k_left / terms);
    copies_end();
  }
  const int a0 = in_rows ? row * STEP + 4 * (row >> 1 & 3) : row;
  int reads = 0, writes = AHEAD, a_at = a0, b_at = B + column, a_next = 0, b_next = 0;
  opaque(a_at), opaque(b_at);
  copies_wait();
  __syncthreads();
  if constexpr (!in_rows) fragment<rows, 16>(stages, a_at, 0, a[0]);
  fragment<COLUMNS, 32>(stages, b_at, 0, b[0]);
  /* Before term k: what the next one takes of A's columns, or four terms of A's rows. */
  const auto fetch_a = [&](int from, int k) {
    if constexpr (in_rows) {
      if (k % 4) return;
#pragma unroll
      for (int i = 0; i < 8; i++)
        quad[i] = *(const float4 *)(stages + (from ^ ((k / 4 ^ (i * 2 & 3)) * 4)) + i * 4 * STEP);
    } else {
      fragment<rows, 16>(stages, from, (k + 1) % STEP, a[(k + 1) & 1]);
    }
  };
#pragma unroll 1
  for (int step = 0; step < n_steps; step++) {
#pragma unroll
    for (int k4 = 0; k4 < STEP; k4 += 4)
#pragma unroll
      for (int e = 0; e < 4; e++) { /* by fours, of which the compiler sees what is the same */
        const int k = k4 + e;
        if (k == STEP - 1) {
          copies_wait();
          __syncthreads();
          reads = reads + 1 == STAGES ? 0 : reads + 1;
          a_next = a0 + reads * STAGE_A, b_next = B + column + reads * STAGE_B;
          opaque(a_next), opaque(b_next);
        }
        fetch_a(k == STEP - 1 ? a_next : a_at, k);
        if (!complex) fragment<COLUMNS, 32>(stages, k == STEP - 1 ? b_next : b_at, (k + 1) % STEP, b[(k + 1) & 1]);
        else if (k % 2)
          fragment<COLUMNS, 32>(stages, k == STEP - 1 ? b_next : b_at, (k + 1) % STEP / 2, b[(k + 1) / 2 & 1]);
        if (k == 0) {
          load_a.issue(stages + writes * STAGE_A, k_left);
          load_b.issue(stages + B + writes * STAGE_B, k_left / terms);
          copies_end();
          k_left -= STEP;
        }
#pragma unroll
        for (int i = 0; i < 8; i++)
#pragma unroll
          for (int jj = 0; jj < 8; jj++) {
            const int j = i & 1 ? 7 - jj : jj;
            constexpr int terms_of_b = complex ? 2 : 1;
            const int of = (k4 + e) / terms_of_b & 1;
            const float factor = !complex ? b[of][j] : e % 2 ? b[of][j ^ 1] : j % 2 ? -b[of][j] : b[of][j];
            float value;
            if constexpr (in_rows) value = of_quad(quad[i], e);
            else value = a[k & 1][i];
            sum[i][j] = __fmaf_rn(value, factor, sum[i][j]);
          }
      }
    writes = writes + 1 == STAGES ? 0 : writes + 1;
    a_at = a_next, b_at = b_next;
  }
  float *out = p.c + ((int64_t)blockIdx.y * p.batch + blockIdx.z) * p.m * p.n;
#pragma unroll
  for (int i = 0; i < 8; i++) {
    const int m = m0 + row + (in_rows ? i * 4 : i / 4 * 16 + i % 4);
#pragma unroll
    for (int j = 0; j < 8; j += 4) {
      const int n = n0 + column + j / 4 * 32;
      if (m < p.m && n < p.n)
        *(float4 *)(out + (int64_t)m * p.n + n) = make_float4(sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]);
    }
  }
}

/* ---- the fold ---- */

enum { FOLD_THREADS = 128, IN_FLIGHT = 16 };

__device__ __forceinline__ float plus(float a, float b) { return a + b; }
__device__ __forceinline__ float4 plus(float4 a, float4 b) {
  return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

template <class V>
__global__ void __launch_bounds__(FOLD_THREADS) fold_kernel(const V *__restrict__ slots, int n_slots, int64_t n,
                                                            int before, bool first, bool last, V *panel, V *total) {
  iso__cuda_await_step();
  const int64_t i = (int64_t)blockIdx.x * FOLD_THREADS + threadIdx.x;
  if (i >= n) return;
  V sum = {}, of_panel = {};
  if (!first) sum = total[i];
  if (before) of_panel = panel[i];
  for (int s0 = 0; s0 < n_slots; s0 += IN_FLIGHT) {
    V value[IN_FLIGHT];
#pragma unroll
    for (int s = 0; s < IN_FLIGHT; s++) {
      value[s] = V{};
      if (s0 + s < n_slots) value[s] = slots[(s0 + s) * n + i];
    }
#pragma unroll
    for (int s = 0; s < IN_FLIGHT; s++) {
      of_panel = plus(of_panel, value[s]); /* beyond the last slot +0, which changes nothing */
      if ((before + s) % 4 == 3 && s0 + s < n_slots) sum = plus(sum, of_panel), of_panel = V{};
    }
  }
  if (last) sum = plus(sum, of_panel);
  else if (panel) panel[i] = of_panel;
  total[i] = sum;
}

} // namespace

template <int rows, bool complex, bool in_rows>
static void multiply(const iso__conv_cuda_product *p, cudaStream_t stream) {
  const int64_t blocks = (int64_t)((p->m + rows - 1) / rows) * ((p->n + COLUMNS - 1) / COLUMNS);
  const dim3 grid((unsigned)blocks, (unsigned)(p->k > p->chunk ? (p->k + p->chunk - 1) / p->chunk : 1),
                  (unsigned)p->batch);
  const size_t n_bytes = STAGES * (rows + (complex ? COLUMNS / 2 : COLUMNS)) * STEP * sizeof(float);
  iso__cuda_launch_step(product_kernel<rows, complex, in_rows>, grid, rows, n_bytes, stream, *p);
}

/* 32 rows where 64 would compute a tenth more in vain, or where so few blocks would share the multiprocessors less
 * evenly. */
static bool is_narrow(const iso__conv_cuda_product *p) {
  const int by_32 = (p->m + 31) / 32 * 32, by_64 = (p->m + 63) / 64 * 64;
  if (by_32 * 10 <= by_64 * 9) return true;
  const int64_t slots = p->k > p->chunk ? (p->k + p->chunk - 1) / p->chunk : 1, n = iso__tiles::multiprocessors();
  const int64_t blocks = (int64_t)(by_64 / 64) * ((p->n + COLUMNS - 1) / COLUMNS) * slots * p->batch;
  const int64_t rounds = (blocks + n - 1) / n, narrow_rounds = (2 * blocks + n - 1) / n;
  return rounds <= 16 && 103 * narrow_rounds < 200 * rounds;
}
void iso__conv_cuda_multiply(const iso__conv_cuda_product *p, cudaStream_t stream) {
  const bool narrow = is_narrow(p);
  if (p->a_in_rows) narrow ? multiply<32, true, true>(p, stream) : multiply<64, true, true>(p, stream);
  else if (p->complex) narrow ? multiply<32, true, false>(p, stream) : multiply<64, true, false>(p, stream);
  else narrow ? multiply<32, false, false>(p, stream) : multiply<64, false, false>(p, stream);
}

void iso__conv_cuda_fold(const float *slots, int n_slots, size_t n, int64_t first_chunk, bool last, float *panel,
                         float *total, cudaStream_t stream) {
  enum { FEW = 1000000 }; /* elements that keep more multiprocessors busy one by one */
  const int before = (int)(first_chunk % 4);
  if (n < FEW)
    iso__cuda_launch_step(fold_kernel<float>, (unsigned)((n + FOLD_THREADS - 1) / FOLD_THREADS), FOLD_THREADS, 0,
                          stream, slots, n_slots, (int64_t)n, before, first_chunk == 0, last, panel, total);
  else
    iso__cuda_launch_step(fold_kernel<float4>, (unsigned)((n / 4 + FOLD_THREADS - 1) / FOLD_THREADS), FOLD_THREADS, 0,
                          stream, (const float4 *)slots, n_slots, (int64_t)(n / 4), before, first_chunk == 0, last,
                          (float4 *)panel, (float4 *)total);
}
