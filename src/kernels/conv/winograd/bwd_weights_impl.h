/* bwd_weights_impl.h: the weights' gradient in the Winograd classes (bwd_weights.h) for one instruction set; included
 * by bwd_weights_avx2.c and bwd_weights_avx512.c, which define WINO_ISA.
 *
 * The product's micro-tiles are gemm's (tile_impl.h), 6 × 16 and 14 × 32, with accumulators that can be taken up where
 * the last slice of a chunk left them. */
#include "kernels/conv/winograd/bwd_weights.h"
#include "kernels/conv/winograd/transforms_vec.h"
#include "kernels/gemm/tile.h"
#include "kernels/gemm/tile_vec.h"

enum { PANEL = 2 * VF_LANES };
static const float zeros[ISO__WINO_BLOCK + PANEL]; /* what pixels in the padding read */

/* ---- tiles in their order ---- */

typedef struct place {
  int64_t sample, row, column;
} place;
static inline place place_of(const iso__wino_block *b, int64_t tile) {
  return (place){.sample = tile / b->tile_columns / b->tile_rows,
                 .row = tile / b->tile_columns % b->tile_rows,
                 .column = tile % b->tile_columns};
}
static inline void place_step(const iso__wino_block *b, place *at) {
  if (++at->column < b->tile_columns) return;
  at->column = 0;
  if (++at->row < b->tile_rows) return;
  at->row = 0;
  at->sample++;
}

/* ---- products ---- */

#if WIDTH == 16
enum { MAX_ROWS = 14 };
#  define TILE_ROWS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13)
#  define TILE_HEIGHTS(X, V)                                                                                           \
    X(1, V) X(2, V) X(3, V) X(4, V) X(5, V) X(6, V) X(7, V) X(8, V) X(9, V) X(10, V) X(11, V) X(12, V) X(13, V) X(14, V)
#else
enum { MAX_ROWS = 6 };
#  define TILE_ROWS(X) X(0) X(1) X(2) X(3) X(4) X(5)
#  define TILE_HEIGHTS(X, V) X(1, V) X(2, V) X(3, V) X(4, V) X(5, V) X(6, V)
#endif

/* Sums of one micro-tile: `chain` points at its first element. */
#define DECLARE(i) vf c##i = vf_zero(), d##i = c##i;
#define LOAD(i)                                                                                                        \
  if (rows > i) {                                                                                                      \
    c##i = vf_load(chain->from + i * ld);                                                                              \
    if (vectors > 1) d##i = vf_load(chain->from + i * ld + VF_LANES);                                                  \
  }
#define STEP(i)                                                                                                        \
  if (rows > i) {                                                                                                      \
    const vf s = vf_set1(z[i]);                                                                                        \
    VEC_FMA(c##i, s, b0);                                                                                              \
    if (vectors > 1) VEC_FMA(d##i, s, b1);                                                                             \
  }
#define FOLD_FIRST(i)                                                                                                  \
  if (rows > i) {                                                                                                      \
    c##i = vf_add(zero, c##i);                                                                                         \
    if (vectors > 1) d##i = vf_add(zero, d##i);                                                                        \
  }
#define FOLD_NEXT(i)                                                                                                   \
  if (rows > i) {                                                                                                      \
    c##i = vf_add(vf_load(chain->panel + i * ld), c##i);                                                               \
    if (vectors > 1) d##i = vf_add(vf_load(chain->panel + i * ld + VF_LANES), d##i);                                   \
  }
#define STORE(i)                                                                                                       \
  if (rows > i) {                                                                                                      \
    vf_store(chain->to + i * ld, c##i);                                                                                \
    if (vectors > 1) vf_store(chain->to + i * ld + VF_LANES, d##i);                                                    \
  }
VEC_FN void tile(const int rows, const int vectors, int n_tiles, const float *z, int64_t z_tile, const float *v,
                 int64_t ld, const iso__wino_chain *chain) {
  const vf zero = vf_zero();
  TILE_ROWS(DECLARE)
  if (chain->from) { TILE_ROWS(LOAD) }
  UNROLL_4 for (int t = 0; t < n_tiles; t++) {
    const vf b0 = vf_load(v), b1 = vectors > 1 ? vf_load(v + VF_LANES) : b0;
    TILE_ROWS(STEP)
    v += PANEL;
    z += z_tile;
  }
  if (chain->chunk_ends) {
    if (chain->panel) {
      TILE_ROWS(FOLD_NEXT)
    } else {
      TILE_ROWS(FOLD_FIRST)
    }
  }
  TILE_ROWS(STORE)
}

#define TILE(ROWS, VECTORS)                                                                                            \
  static void tile_##ROWS##x##VECTORS(int n_tiles, const float *z, int64_t z_tile, const float *v, int64_t ld,         \
                                      const iso__wino_chain *chain) {                                                  \
    tile(ROWS, VECTORS, n_tiles, z, z_tile, v, ld, chain);                                                             \
  }
TILE_HEIGHTS(TILE, 1)
TILE_HEIGHTS(TILE, 2)
#define ENTRY(ROWS, VECTORS) [VECTORS][ROWS] = tile_##ROWS##x##VECTORS,
static void (*const tiles[3][MAX_ROWS + 1])(int, const float *, int64_t, const float *, int64_t,
                                            const iso__wino_chain *) = {TILE_HEIGHTS(ENTRY, 1) TILE_HEIGHTS(ENTRY, 2)};

static void product(const iso__wino_block *b, int n_points, int n_tiles, const float *z, const float *v,
                    const iso__wino_chain *chain) {
  const int64_t n_rows = iso__tile_count(b->n_k, MAX_ROWS);
  for (int t = 0; t < n_points; t++)
    for (int c = 0; c < b->n_c; c += PANEL) {
      const float *panel = v + t * b->v_point + c / PANEL * b->v_panel;
      const int vectors = b->n_c - c > VF_LANES ? 2 : 1;
      for (int64_t i = 0; i < n_rows; i++) {
        const int64_t k = iso__tile_begin(b->n_k, n_rows, i), end = iso__tile_begin(b->n_k, n_rows, i + 1);
        const int64_t at = t * b->sums_point + k * b->sums_k + c;
        const iso__wino_chain here = {.from = chain->from ? chain->from + at : NULL,
                                      .panel = chain->panel ? chain->panel + at : NULL,
                                      .chunk_ends = chain->chunk_ends,
                                      .to = chain->to + at};
        tiles[vectors][end - k](n_tiles, z + t * b->z_point + k, b->z_tile, panel, b->sums_k, &here);
      }
    }
}

static void add(const iso__wino_block *b, int n_points, float *total, const float *panel) {
  for (int t = 0; t < n_points; t++)
    for (int k = 0; k < b->n_k; k++) {
      const int64_t at = t * b->sums_point + k * b->sums_k;
      for (int64_t c = at; c < at + b->n_c; c += VF_LANES)
        vf_store(total + c, vf_add(vf_load(total + c), vf_load(panel + c)));
    }
}

/* ---- the classes ---- */

#define WINO_M 2
#define WINO_R 3
#include "kernels/conv/winograd/bwd_weights_class_impl.h"
#define WINO_M 4
#define WINO_R 3
#include "kernels/conv/winograd/bwd_weights_class_impl.h"
#define WINO_M 5
#define WINO_R 3
#include "kernels/conv/winograd/bwd_weights_class_impl.h"
#define WINO_M 6
#define WINO_R 3
#include "kernels/conv/winograd/bwd_weights_class_impl.h"
#define WINO_M 2
#define WINO_R 5
#include "kernels/conv/winograd/bwd_weights_class_impl.h"
#define WINO_M 4
#define WINO_R 5
#include "kernels/conv/winograd/bwd_weights_class_impl.h"
