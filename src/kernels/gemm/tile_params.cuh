/* tile_params.cuh: what a launch of the product kernel (tiles.cuh) is given, and the choice of tile and parts. */
#ifndef ISO_KERNELS_GEMM_TILE_PARAMS_CUH
#define ISO_KERNELS_GEMM_TILE_PARAMS_CUH
#include "kernels/cuda/launch.cuh"
#include "kernels/gemm/gemm.h"

namespace iso__tiles {

/* n / d for 0 ≤ n < 2³¹ by a multiplication (Granlund and Montgomery 1994). */
struct divisor {
  uint32_t d, magic, shift;
};
static inline divisor divisor_of(int64_t d) {
  divisor r = {(uint32_t)(d < 1 ? 1 : d), 0, 0};
  while (r.shift < 32 && (UINT64_C(1) << r.shift) < r.d) r.shift++;
  r.magic = (uint32_t)((UINT64_C(1) << 32) * ((UINT64_C(1) << r.shift) - r.d) / r.d + 1);
  return r;
}
__device__ __forceinline__ int divide(int n, const divisor &d) {
  return (int)((__umulhi((uint32_t)n, d.magic) + (uint32_t)n) >> d.shift);
}
/* n becomes n / d; returns the remainder. */
__device__ __forceinline__ int split_off(int &n, const divisor &d) {
  const int q = divide(n, d), rest = n - q * (int)d.d;
  n = q;
  return rest;
}

/* One operand as a matrix (its x, k): `extent` is how many x there are. What the loader makes of ld is its own. */
struct operand {
  const float *data;
  int64_t stride_z;
  int ld, extent;
};

struct epilogue {
  const float *bias, *residual; /* NULL: none; residual is laid out like C */
  int64_t bias_stride;          /* between items */
  float alpha, beta, scale;
  bool has_alpha, has_beta, has_scale;
  uint8_t activation;
};
__device__ __forceinline__ float activate(uint8_t activation, float x) {
  return activation == ISO__ACTIVATION_RELU ? (x > 0 ? x : x != x ? x : 0.0f) : x;
}

/* Rows of C that are positions of a grid in an image, not neighbours: row (n, o, t, u) is at n·stride[0] + o·stride[1]
 * + t·stride[2] + u·stride[3] + first. */
struct row_map {
  bool mapped;
  divisor grid[3]; /* of u, t, o */
  int64_t stride[4], first;
};

/* An image operand (../conv/gather.cuh): positions of a grid, and (tap, channel) pairs. Axes: depth, row, column. */
enum { max_fast_taps = 31 };
struct gather {
  divisor grid[3], taps[3], channels; /* taps[0] is not needed to decode */
  int step[3], offset[3], tap_step[3], extent[3];
  int stride[3], stride_n, stride_c;
  int n_positions, n_taps;
  int tap_offset[max_fast_taps + 1];
};

struct params {
  operand a, b;
  float *c, *slots;
  int64_t stride_c, slot_stride;
  int m, n, k, ldc, slot_ld;
  int m_tiles, n_tiles, n_z, first_z;
  int chunks_per_slot, n_slots, slots_per_block;
  bool split, total_in_shared, vector_c, plain; /* plain: see launch_all */
  epilogue e;
  row_map rows;
  gather g;
};
__device__ __forceinline__ int64_t row_offset(const params &p, int row) {
  if (!p.rows.mapped) return (int64_t)row * p.ldc;
  const int u = split_off(row, p.rows.grid[0]), t = split_off(row, p.rows.grid[1]), o = split_off(row, p.rows.grid[2]);
  return p.rows.first + row * p.rows.stride[0] + o * p.rows.stride[1] + t * p.rows.stride[2] + u * p.rows.stride[3];
}

/* 64×64, twice and, of matrices alone, four times that. */
enum tile_shape { SHAPE_SMALL, SHAPE_WIDE, SHAPE_LARGE };

/* How a product is cut: the tile's shape, what a slot holds (a panel or a chunk), how many slots a block computes. */
struct cut {
  tile_shape shape;
  bool split;
  int chunks_per_slot, n_slots, slots_per_block;
  double ns; /* estimated */
};
/* The quickest cut of an m×n×k product of n_z items; `may_split`: slots may be used. */
cut choose_cut(int64_t m, int64_t n, int64_t k, int64_t n_z, int n_multiprocessors, bool may_split);
/* Bytes of the slots of a cut; 0 if it is not split. */
size_t slot_bytes(const cut &c, int64_t m, int64_t n, int64_t n_z);
void apply_cut(params &p, const cut &c, void *slots);
/* The shape, or the small one where this device has too little shared memory for it. */
tile_shape shape_that_fits(tile_shape shape);
/* Shared memory that a block may have on this device, in bytes. */
int largest_shared_bytes(void);
int multiprocessors(void); /* of this device */

/* C from the slots, folded in order (fold.cu); no slots at all: from zeros, as a product over nothing. */
void fold(const params &p, cudaStream_t stream);

static inline int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }
static inline bool aligned16(const void *p) { return ((uintptr_t)p & 15) == 0; }

} // namespace iso__tiles
#endif
