/* tiles.cuh: the product kernel of class `ordered` on CUDA: C = epilogue(A·B), A and B fetched by loaders.
 *
 * A block computes one tile of C. Terms come 16 at a time through three stages of shared memory (cp.async); a thread
 * keeps 8×8 sums in registers and multiplies in serpentine order, so that the operand at a turn is still in the
 * register file's cache. Loops nest as the order does: chunk { tiles of 16 terms }, then the chunk's sums are added to
 * the panel's in shared memory, and panels are added to the running total in C itself (in shared memory where C is an
 * input too). A long K is cut between chunks: every panel or chunk sum goes to a slot of its own and fold.cu adds the
 * slots in order. Loaders (tile_loaders.cuh, ../conv/gather.cuh) differ in where an operand's elements lie; all fill
 * what is outside with zeros, which changes no bit. Lanes lie so that a warp's reads of A and of B take two wavefronts
 * each. */
#ifndef ISO_KERNELS_GEMM_TILES_CUH
#define ISO_KERNELS_GEMM_TILES_CUH
#include "kernels/gemm/tile_params.cuh"

namespace iso__tiles {

/* ---- asynchronous copies into shared memory; zeros for what is outside, which is not read ---- */
__device__ __forceinline__ void copy16(uint32_t to, const float *from, bool inside) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(to), "l"(from), "r"(inside ? 16 : 0));
#else
  *(float4 *)__cvta_shared_to_generic(to) = inside ? *(const float4 *)from : make_float4(0, 0, 0, 0);
#endif
}
__device__ __forceinline__ void copy4(uint32_t to, const float *from, bool inside) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;\n" ::"r"(to), "l"(from), "r"(inside ? 4 : 0));
#else
  *(float *)__cvta_shared_to_generic(to) = inside ? *from : 0.0f;
#endif
}
template <int n> __device__ __forceinline__ void copy_floats(uint32_t to, const float *from, bool inside) {
  static_assert(n == 1 || n == 4);
  if constexpr (n == 4) copy16(to, from, inside);
  else copy4(to, from, inside);
}
__device__ __forceinline__ void copies_commit() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;\n");
#endif
}
template <int n> __device__ __forceinline__ void copies_wait() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;\n" ::"n"(n) : "memory");
#endif
}

/* ---- what may follow the sum, in the order of NUMERICS §4 ---- */
__device__ __forceinline__ float finish(const epilogue &e, float t, float old, float bias, float residual) {
  if (e.has_alpha) t = __fmul_rn(e.alpha, t);
  if (e.has_beta) t = __fadd_rn(t, __fmul_rn(e.beta, old));
  if (e.bias) t = __fadd_rn(t, bias);
  if (e.residual) t = __fadd_rn(t, residual);
  if (e.has_scale) t = __fmul_rn(t, e.scale);
  return activate(e.activation, t);
}

/* Stores the final values of columns n … n+3 of a row of C; `row` is the row's offset from C. */
__device__ __forceinline__ void store_final(const params &p, int z, int64_t row, int n, float4 v) {
  const int64_t at = row + n;
  float *c = p.c + z * p.stride_c + at;
  const float *residual = p.e.residual ? p.e.residual + z * p.stride_c + at : NULL;
  const float *bias = p.e.bias ? p.e.bias + z * p.e.bias_stride + n : NULL;
  float t[4] = {v.x, v.y, v.z, v.w}, o[4] = {0, 0, 0, 0}, b[4] = {0, 0, 0, 0}, r[4] = {0, 0, 0, 0};
  const int width = p.n - n < 4 ? p.n - n : 4;
  const bool whole = p.vector_c && width == 4;
  if (whole) {
    if (p.e.has_beta) *(float4 *)o = *(const float4 *)c;
    if (residual) *(float4 *)r = *(const float4 *)residual;
  }
#pragma unroll
  for (int j = 0; j < 4; j++) {
    if (j >= width) break;
    if (!whole && p.e.has_beta) o[j] = c[j];
    if (!whole && residual) r[j] = residual[j];
    if (bias) b[j] = __ldg(bias + j);
    t[j] = finish(p.e, t[j], o[j], b[j], r[j]);
  }
  if (whole) *(float4 *)c = make_float4(t[0], t[1], t[2], t[3]);
  else
#pragma unroll
    for (int j = 0; j < 4; j++)
      if (j < width) c[j] = t[j];
}

/* The same for column n alone. */
__device__ __forceinline__ void store_final_one(const params &p, int z, int64_t row, int n, float v) {
  const int64_t at = z * p.stride_c + row + n;
  p.c[at] = finish(p.e, v, p.e.has_beta ? p.c[at] : 0, p.e.bias ? p.e.bias[z * p.e.bias_stride + n] : 0,
                   p.e.residual ? p.e.residual[at] : 0);
}

__device__ __forceinline__ float4 load_columns(const float *c, int width, bool vector) {
  if (vector && width >= 4) return *(const float4 *)c;
  return make_float4(c[0], width > 1 ? c[1] : 0, width > 2 ? c[2] : 0, width > 3 ? c[3] : 0);
}
__device__ __forceinline__ void store_columns(float *c, int width, bool vector, float4 v) {
  if (vector && width >= 4) {
    *(float4 *)c = v;
    return;
  }
  c[0] = v.x;
  if (width > 1) c[1] = v.y;
  if (width > 2) c[2] = v.z;
  if (width > 3) c[3] = v.w;
}
__device__ __forceinline__ float4 add4(float4 a, float4 b) {
  return make_float4(__fadd_rn(a.x, b.x), __fadd_rn(a.y, b.y), __fadd_rn(a.z, b.z), __fadd_rn(a.w, b.w));
}

/* Tile shapes: 8×8 sums a thread, a warp covers 32×64; at least `min_blocks` blocks a multiprocessor. Sums are added to
 * row by row or column by column, whichever ptxas made more of. */
template <int rows_, int columns_, int min_blocks_, bool by_column_ = false> struct shape {
  static constexpr int rows = rows_, columns = columns_, min_blocks = min_blocks_;
  static constexpr bool by_column = by_column_;
  static constexpr int warp_rows = 32, warp_columns = 64, lane_rows = 4, lane_columns = 8;
  static constexpr int vectors = 2; /* of a thread's row */
  static constexpr int warps = (rows / warp_rows) * (columns / warp_columns), threads = warps * 32;
};
using small_shape = shape<64, 64, 4>;
using wide_shape = shape<128, 64, 3>;
/* For operands that both lie along x: quicker ones. */
using small_flat_shape = shape<64, 64, 5, true>;
using wide_flat_shape = shape<64, 128, 3, true>;
using large_flat_shape = shape<128, 128, 2, true>;

/* A tile is `depth` terms deep. Tiles in shared memory: three; two where a block less would fit beside the panels; or,
 * where a block has one chunk and so needs no room for panels, as many as hide memory's latency behind few terms.
 * k-major operands are read four terms ahead, so one more. */
enum { depth = 16, ring_tiles = 4, tiles_a_chunk = 256 / depth };
template <class S, class A, class B, bool one_chunk> constexpr int n_stages() {
  if (one_chunk) return A::k_major || B::k_major ? 5 : 4;
  return S::by_column && S::rows == S::columns ? 2 : 3;
}

template <class S, class A, class B> constexpr int stage_floats() { return depth * (A::pitch + B::pitch); }
template <class S, class A, class B, bool one_chunk> constexpr int shared_bytes(bool total_in_shared) {
  return (n_stages<S, A, B, one_chunk>() * stage_floats<S, A, B>() + S::rows * S::columns *
                                                                         (one_chunk         ? 0
                                                                          : total_in_shared ? 2
                                                                                            : 1)) *
             4 +
         A::ring_bytes + B::ring_bytes;
}

/* The row and column, from the thread's first, of its i-th row and v-th vector. */
template <class S, bool k_major> __device__ __forceinline__ int row_of(int i) {
  return k_major ? i * S::lane_rows : (i / 4) * S::lane_rows * 4 + i % 4;
}
template <class S> __device__ __forceinline__ int column_of(int v) { return v * S::lane_columns * 4; }

/* A panel has ended: its sums, in shared memory, go to their slot or into the total; after the last one C gets what the
 * epilogue makes of the total. Two rows at a time, so that several loads of C are in flight. */
template <class S, bool k_major>
__device__ __forceinline__ void end_panel(const params &p, float4 *panel, int z, int slot, bool first, bool last,
                                          int row0, int column0) {
  constexpr int n = 2 * S::vectors;
  float *slots = p.split ? p.slots + ((int64_t)slot * p.n_z + z) * p.slot_stride : NULL;
  float *c = p.c + z * p.stride_c;
  float4 *total = panel + 8 * S::vectors * S::threads;
#pragma unroll 1
  for (int i = 0; i < 8; i += 2) {
    float4 sum[n], before[n];
    int64_t offset[n];
    int width[n];
#pragma unroll
    for (int e = 0; e < n; e++) {
      const int row = row0 + row_of<S, k_major>(i + e / S::vectors), column = column0 + column_of<S>(e % S::vectors);
      const int at = (i * S::vectors + e) * S::threads + threadIdx.x;
      width[e] = row < p.m ? p.n - column : 0;
      sum[e] = panel[at];
      before[e] = make_float4(0, 0, 0, 0);
      offset[e] = width[e] <= 0 ? 0 : slots ? (int64_t)row * p.slot_ld + column : row_offset(p, row) + column;
      if (first || slots || width[e] <= 0) continue;
      before[e] = p.total_in_shared ? total[at] : load_columns(c + offset[e], width[e], p.vector_c);
    }
#pragma unroll
    for (int e = 0; e < n; e++) {
      if (width[e] <= 0) continue;
      const int column = column0 + column_of<S>(e % S::vectors), at = (i * S::vectors + e) * S::threads + threadIdx.x;
      const float4 t = add4(before[e], sum[e]);
      if (slots) *(float4 *)(slots + offset[e]) = t;
      else if (last) store_final(p, z, offset[e] - column, column, t);
      else if (p.total_in_shared) total[at] = t;
      else store_columns(c + offset[e], width[e], p.vector_c, t);
    }
  }
}

/* The only chunk has ended: its sums, in registers, go to their slot or through the epilogue to C. With B k-major a
 * thread's columns are apart. */
template <class S, bool k_major, bool k_major_b>
__device__ __forceinline__ void end_only_chunk(const params &p, const float (&acc)[8][8], int z, int slot, int row0,
                                               int column0) {
  const auto each = [&](auto offset_of, auto store) {
#pragma unroll
    for (int i = 0; i < 8; i++) {
      const int row = row0 + row_of<S, k_major>(i);
      if (row >= p.m) continue;
      const int64_t offset = offset_of(row);
      if constexpr (k_major_b) {
#pragma unroll
        for (int j = 0; j < 8; j++) {
          const int column = column0 + j * S::lane_columns;
          const float sum = __fadd_rn(0.0f, acc[i][j]);
          if (column >= p.n) continue;
          if (p.split) p.slots[((int64_t)slot * p.n_z + z) * p.slot_stride + offset + column] = sum;
          else store_final_one(p, z, offset, column, sum);
        }
      } else {
#pragma unroll
        for (int v = 0; v < S::vectors; v++) {
          const int column = column0 + column_of<S>(v);
          if (column >= p.n) continue;
          const float4 chunk = make_float4(acc[i][v * 4], acc[i][v * 4 + 1], acc[i][v * 4 + 2], acc[i][v * 4 + 3]);
          store(offset, column, add4(make_float4(0, 0, 0, 0), chunk));
        }
      }
    }
  };
  if (p.split || p.plain) { /* a slot, or C as it is */
    float *to = p.split ? p.slots + ((int64_t)slot * p.n_z + z) * p.slot_stride : p.c + z * p.stride_c;
    each([&](int row) { return p.split ? (int64_t)row * p.slot_ld : row_offset(p, row); },
         [&](int64_t offset, int column, float4 sum) { *(float4 *)(to + offset + column) = sum; });
  } else
    each([&](int row) { return row_offset(p, row); },
         [&](int64_t offset, int column, float4 sum) { store_final(p, z, offset, column, sum); });
}

/* First row and column of a tile; tiles are numbered in groups of eight tile rows, so that neighbours share operands in
 * L2. */
template <class S> __device__ __forceinline__ int2 place_of(const params &p, int tile) {
  const int group_size = 8 * p.n_tiles, group = tile / group_size, first_row = group * 8, in_group = tile % group_size;
  const int rows = p.m_tiles - first_row < 8 ? p.m_tiles - first_row : 8;
  return make_int2((first_row + in_group % rows) * S::rows, in_group / rows * S::columns);
}

/* grid: x tiles; y parts of K; z items. */
template <class S, class A, class B, bool one_chunk>
__global__ void __launch_bounds__(S::threads, S::min_blocks) tile_kernel(const __grid_constant__ params p) {
  iso__cuda_await_step();
  constexpr int threads = S::threads, lane_rows = S::lane_rows, lane_columns = S::lane_columns;
  constexpr int stages = n_stages<S, A, B, one_chunk>();
  constexpr bool k_major = A::k_major, k_major_b = B::k_major, reads_ahead = k_major || k_major_b;
  static_assert(!k_major_b || one_chunk, "columns that are apart have no panels");
  constexpr int in_flight = reads_ahead ? stages - 2 : stages - 1; /* k-major: four terms ahead, in the next stage */
  extern __shared__ __align__(128) float shared[];
  float4 *const panel = (float4 *)(shared + stages * stage_floats<S, A, B>());
  int4 *const ring = (int4 *)(panel + (one_chunk ? 0 : S::rows * S::columns / 4 * (p.total_in_shared ? 2 : 1)));
  const uint32_t stage_a = (uint32_t)__cvta_generic_to_shared(shared),
                 stage_b = stage_a + stages * depth * A::pitch * 4;

  const int z = p.first_z + blockIdx.z;
  const int slot0 = blockIdx.y * p.slots_per_block;
  const int slot_end = slot0 + p.slots_per_block < p.n_slots ? slot0 + p.slots_per_block : p.n_slots;
  const int slot_terms = p.chunks_per_slot * 256;
  const int k0 = slot0 * slot_terms, k_end = slot_end == p.n_slots ? p.k : slot_end * slot_terms;

  const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
  const int lane_row = (lane >> 1 & 1) | (lane >> 4 & 1) << 1;
  const int lane_column = (lane & 1) | (lane >> 2 & 1) << 1 | (lane >> 3 & 1) << 2;
  const int am = warp / (S::columns / S::warp_columns) * S::warp_rows + (k_major ? lane_row : lane_row * 4);
  const int bn = warp % (S::columns / S::warp_columns) * S::warp_columns + (k_major_b ? lane_column : lane_column * 4);

  A load_a;
  B load_b;
  const int2 place = place_of<S>(p, blockIdx.x);
  load_a.init(p, p.a, z, place.x, k0, ring);
  load_b.init(p, p.b, z, place.y, k0, ring);
  float acc[8][8], fa[2][k_major ? 1 : 8], fb[2][k_major_b ? 1 : 8];
  float4 qa[2][k_major ? 8 : 1], qb[2][k_major_b ? 8 : 1];
#pragma unroll
  for (int i = 0; i < 8; i++)
#pragma unroll
    for (int j = 0; j < 8; j++) acc[i][j] = 0.0f;

  if constexpr (A::ring_bytes + B::ring_bytes > 0) {
#pragma unroll
    for (int s = 0; s <= in_flight; s++) load_a.prepare(p), load_b.prepare(p);
    __syncthreads();
  }
  int k_left = k_end - k0;
  const auto fetch = [&](int stage) {
    load_a.issue(p, stage_a + stage * depth * A::pitch * 4, k_left);
    load_b.issue(p, stage_b + stage * depth * B::pitch * 4, k_left);
    copies_commit();
    k_left -= depth;
  };
#pragma unroll
  for (int s = 0; s < in_flight; s++) fetch(s);
  /* Byte offsets of this lane's fragments in stage 0, opaque so that they stay in registers. */
  const int a0 = k_major ? (am * depth + 4 * ((am >> 1) & 3)) * 4 : am * 4;
  const int b0 = stages * depth * A::pitch * 4 + (k_major_b ? (bn * depth + 4 * ((bn >> 1) & 3)) * 4 : bn * 4);
  int a_at = a0, b_at = b0, a_next, b_next;
  asm volatile("" : "+r"(a_at), "+r"(b_at));
  const auto at = [&](int offset) { return *(const float4 *)((const char *)shared + offset); };
  const auto fragment_a = [&](int offset, int kk) {
    if constexpr (!k_major)
#pragma unroll
      for (int i = 0; i < 2; i++) *(float4 *)&fa[kk & 1][i * 4] = at(offset + i * lane_rows * 16 + kk * A::pitch * 4);
  };
  const auto fragment_b = [&](int offset, int kk) {
    if constexpr (!k_major_b)
#pragma unroll
      for (int j = 0; j < S::vectors; j++)
        *(float4 *)&fb[kk & 1][j * 4] = at(offset + j * lane_columns * 16 + kk * B::pitch * 4);
  };
  /* k-major: terms 4·quad … 4·quad+3 of two of the eight rows. */
  const auto quad_a = [&](int offset, int quad, int part) {
    if constexpr (k_major)
#pragma unroll
      for (int i = part * 2; i < part * 2 + 2; i++)
        qa[quad & 1][i] = at((offset ^ ((quad ^ ((i * lane_rows >> 1) & 3)) * 16)) + i * lane_rows * depth * 4);
  };
  const auto quad_b = [&](int offset, int quad, int part) {
    if constexpr (k_major_b)
#pragma unroll
      for (int j = part * 2; j < part * 2 + 2; j++)
        qb[quad & 1][j] = at((offset ^ ((quad ^ ((j * lane_columns >> 1) & 3)) * 16)) + j * lane_columns * depth * 4);
  };
  const auto of_quad = [](const float4 &v, int kk) {
    return kk % 4 == 0 ? v.x : kk % 4 == 1 ? v.y : kk % 4 == 2 ? v.z : v.w;
  };
  copies_wait<in_flight - 1>();
  __syncthreads();
  int read_stage = 0, write_stage = in_flight, slot = slot0, chunks_left = p.chunks_per_slot;
  bool fresh = true; /* the panel has no sums yet */
  fragment_a(a_at, 0), fragment_b(b_at, 0);
#pragma unroll
  for (int part = 0; part < 4; part++) quad_a(a_at, 0, part), quad_b(b_at, 0, part);

  for (int left = (k_end - k0 + depth - 1) / depth; left > 0;) {
    int run = left < tiles_a_chunk ? left : tiles_a_chunk;
    left -= run;
#pragma unroll 1
    for (; run > 0; run--) {
#pragma unroll
      for (int kk = 0; kk < depth; kk++) {
        if (kk == (reads_ahead ? depth - 4 : depth - 1)) { /* the next tile is read from here on */
          copies_wait<in_flight - 1>();
          __syncthreads();
          read_stage = read_stage + 1 == stages ? 0 : read_stage + 1;
          a_next = a0 + read_stage * (depth * A::pitch * 4), b_next = b0 + read_stage * (depth * B::pitch * 4);
          asm volatile("" : "+r"(a_next), "+r"(b_next));
        }
        const bool last_term = kk == depth - 1;
        const bool last_quad = kk / 4 == depth / 4 - 1;
        quad_a(last_quad ? a_next : a_at, (kk / 4 + 1) % (depth / 4), kk % 4);
        quad_b(last_quad ? b_next : b_at, (kk / 4 + 1) % (depth / 4), kk % 4);
        fragment_a(last_term ? a_next : a_at, (kk + 1) % depth),
            fragment_b(last_term ? b_next : b_at, (kk + 1) % depth);
        if (kk == 0) {
          fetch(write_stage);
          load_a.prepare(p), load_b.prepare(p);
        }
        const auto a_value = [&](int i) {
          if constexpr (k_major) return of_quad(qa[kk / 4 & 1][i], kk);
          else return fa[kk & 1][i];
        };
        const auto b_value = [&](int j) {
          if constexpr (k_major_b) return of_quad(qb[kk / 4 & 1][j], kk);
          else return fb[kk & 1][j];
        };
#pragma unroll
        for (int outer = 0; outer < 8; outer++)
#pragma unroll
          for (int inner = 0; inner < 8; inner++) {
            const int turned = outer & 1 ? 7 - inner : inner;
            const int i = S::by_column ? turned : outer, j = S::by_column ? outer : turned;
            acc[i][j] = __fmaf_rn(a_value(i), b_value(j), acc[i][j]);
          }
      }
      write_stage = write_stage + 1 == stages ? 0 : write_stage + 1;
      a_at = a_next, b_at = b_next;
    }
    if constexpr (one_chunk) {
      end_only_chunk<S, k_major, k_major_b>(p, acc, z, slot, place.x + am, place.y + bn);
    } else { /* panel = panel + chunk */
#pragma unroll
      for (int i = 0; i < 8; i++)
#pragma unroll
        for (int v = 0; v < S::vectors; v++) {
          float4 *to = panel + (i * S::vectors + v) * threads + threadIdx.x;
          float *sum = &acc[i][v * 4];
          *to = add4(fresh ? make_float4(0, 0, 0, 0) : *to, make_float4(sum[0], sum[1], sum[2], sum[3]));
          sum[0] = sum[1] = sum[2] = sum[3] = 0.0f;
        }
      fresh = --chunks_left == 0 || left <= 0;
      if (fresh) {
        end_panel<S, k_major>(p, panel, z, slot, slot == slot0, left <= 0, place.x + am, place.y + bn);
        chunks_left = p.chunks_per_slot;
        slot++;
      }
    }
  }
}

/* C is stored in whole vectors, with nothing done to the sums. */
static inline bool is_plain(const params &p) {
  const epilogue &e = p.e;
  return p.vector_c && p.n % 4 == 0 && !e.bias && !e.residual && !e.has_alpha && !e.has_beta && !e.has_scale &&
         e.activation == ISO__ACTIVATION_NONE;
}

/* Launches for all items; a grid's z has at most 65,535. */
template <class S, class A, class B, bool one_chunk> static void launch_all(params p, cudaStream_t stream) {
  p.m_tiles = (p.m + S::rows - 1) / S::rows, p.n_tiles = (p.n + S::columns - 1) / S::columns;
  p.plain = is_plain(p);
  const int n_bytes = shared_bytes<S, A, B, one_chunk>(p.total_in_shared);
  iso__cuda_shared(tile_kernel<S, A, B, one_chunk>, n_bytes);
  const unsigned parts = (unsigned)((p.n_slots + p.slots_per_block - 1) / p.slots_per_block);
  for (p.first_z = 0; p.first_z < p.n_z; p.first_z += 65535) {
    const unsigned items = (unsigned)(p.n_z - p.first_z < 65535 ? p.n_z - p.first_z : 65535);
    const dim3 grid((unsigned)p.m_tiles * (unsigned)p.n_tiles, parts, items);
    iso__cuda_launch_step(tile_kernel<S, A, B, one_chunk>, grid, S::threads, n_bytes, stream, p);
  }
}
template <class S, class A, class B> static void launch(const params &p, cudaStream_t stream) {
  launch_all<S, A, B, false>(p, stream);
}
/* The same, with a kernel of its own for blocks of one chunk. */
static inline bool has_one_chunk(const params &p) {
  return p.k <= 256 || (p.split && p.chunks_per_slot == 1 && p.slots_per_block == 1);
}
template <class S, class A, class B> static void launch_short_too(const params &p, cudaStream_t stream) {
  if (has_one_chunk(p)) launch_all<S, A, B, true>(p, stream);
  else launch_all<S, A, B, false>(p, stream);
}

} // namespace iso__tiles
#endif
