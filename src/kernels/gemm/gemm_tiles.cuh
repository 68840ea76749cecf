/* gemm_tiles.cuh: the product kernels of matrices, by what their loaders need; and the copy that turns a matrix. */
#ifndef ISO_KERNELS_GEMM_GEMM_TILES_CUH
#define ISO_KERNELS_GEMM_GEMM_TILES_CUH
#include "kernels/gemm/tile_params.cuh"

namespace iso__tiles {
/* A stored (k,m), B (k,n); rows of both 16-byte aligned. */
void launch_tn(const params &p, tile_shape shape, cudaStream_t stream);
/* A stored (m,k), B (k,n); rows of both 16-byte aligned. */
void launch_nn(const params &p, tile_shape shape, cudaStream_t stream);
/* Any alignment. */
void launch_any(const params &p, bool trans_a, bool trans_b, cudaStream_t stream);

/* A stored (m,k), of few rows; rows of B 16-byte aligned, B stored (k,n) or (n,k). `vectors_a`: rows of A are too. */
void launch_skinny(const params &p, bool b_by_n, bool vectors_a, cudaStream_t stream);

/* A stored (m,k), at most 32 rows, B (k,n) or (n,k); rows of both 16-byte aligned. Blocks of one chunk. */
void launch_flat(const params &p, bool b_by_n, cudaStream_t stream);

/* At most 256 terms, any alignment. */
void launch_small(const params &p, bool trans_a, bool trans_b, cudaStream_t stream);

/* C = activation(C), for those that epilogues don't have: gelu, gelu_tanh, silu. */
void activate_all(const params &p, uint8_t activation, cudaStream_t stream);

/* to[c][r] = from[r][c] for n_z matrices of rows×columns. */
struct turning {
  const float *from;
  float *to;
  int64_t rows, columns, ld_from, ld_to, stride_from, stride_to, n_z;
};
void turn(const turning &t, cudaStream_t stream);
} // namespace iso__tiles
#endif
