/* bwd_weights_impl.h: the weights' gradient in the Winograd classes (bwd_weights.h) for one instruction set; included
 * by bwd_weights_avx2.c and bwd_weights_avx512.c, which define WINO_ISA.
 *
 * The product's micro-tiles are gemm's (tile_impl.h), 6 × 16 and 14 × 32, with accumulators that can be taken up where
 * the last slice of a chunk left them. */
#include "kernels/conv/winograd/bwd_weights.h"
#include "kernels/conv/winograd/transforms_vec.h"
#include "kernels/gemm/tile.h"
#include "kernels/gemm/tile_vec.h"

enum {
  PANEL = 2 * VF_LANES,
  V_POINT = ISO__WINO_GROUP * PANEL, /* from one point to the next */
  Z_POINT = ISO__WINO_GROUP * ISO__WINO_BLOCK,
};
static const float zeros[ISO__WINO_BLOCK + PANEL]; /* what pixels in the padding read */

/* Keeps gcc from computing a whole tile before the first result is stored, which spills them all. */
#define IN_TURN __asm__ volatile("" ::: "memory")

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
enum { MAX_ROWS = 14, SOON = 4 };
#  define TILE_ROWS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13)
#  define TILE_HEIGHTS(X, V)                                                                                           \
    X(1, V) X(2, V) X(3, V) X(4, V) X(5, V) X(6, V) X(7, V) X(8, V) X(9, V) X(10, V) X(11, V) X(12, V) X(13, V) X(14, V)
#else
enum { MAX_ROWS = 6, SOON = 1 };
#  define TILE_ROWS(X) X(0) X(1) X(2) X(3) X(4) X(5)
#  define TILE_HEIGHTS(X, V) X(1, V) X(2, V) X(3, V) X(4, V) X(5, V) X(6, V)
#endif

/* Everything about a slice's product that micro-tiles share. */
typedef struct slice {
  int n_tiles;
  int64_t v_group, z_group; /* from four tiles to the next four */
} slice;

/* Sums of one micro-tile: `chain` points at its first element. `soon` is what to prefetch of every group. */
#define DECLARE(i) vf c##i = vf_zero(), d##i = c##i;
#define LOAD(i)                                                                                                        \
  if (rows > i) {                                                                                                      \
    c##i = vf_load(chain->from + i * LD);                                                                              \
    if (vectors > 1) d##i = vf_load(chain->from + i * LD + VF_LANES);                                                  \
  }
#define STEP(i)                                                                                                        \
  if (rows > i) {                                                                                                      \
    const vf x = vf_set1(z[t * LD + i]);                                                                               \
    VEC_FMA(c##i, x, b0);                                                                                              \
    if (vectors > 1) VEC_FMA(d##i, x, b1);                                                                             \
  }
#define FOLD_FIRST(i)                                                                                                  \
  if (rows > i) {                                                                                                      \
    c##i = vf_add(zero, c##i);                                                                                         \
    if (vectors > 1) d##i = vf_add(zero, d##i);                                                                        \
  }
#define FOLD_NEXT(i)                                                                                                   \
  if (rows > i) {                                                                                                      \
    c##i = vf_add(vf_load(chain->panel + i * LD), c##i);                                                               \
    if (vectors > 1) d##i = vf_add(vf_load(chain->panel + i * LD + VF_LANES), d##i);                                   \
  }
#define FOLD_TOTAL(i)                                                                                                  \
  if (rows > i) {                                                                                                      \
    c##i = vf_add(vf_load(chain->total + i * LD), c##i);                                                               \
    if (vectors > 1) d##i = vf_add(vf_load(chain->total + i * LD + VF_LANES), d##i);                                   \
  }
#define STORE(i)                                                                                                       \
  if (rows > i) {                                                                                                      \
    vf_store(chain->to + i * LD, c##i);                                                                                \
    if (vectors > 1) vf_store(chain->to + i * LD + VF_LANES, d##i);                                                    \
  }
enum { LD = ISO__WINO_BLOCK };

VEC_FN void fetch_rows(const int rows, const float *sums) {
  UNROLL_16 for (int i = 0; i < rows; i++) {
    __builtin_prefetch(sums + i * LD, 1, 3);
    if (PANEL > 16) __builtin_prefetch(sums + i * LD + 16, 1, 3);
  }
}

VEC_FN void tile(const int rows, const int vectors, const slice *s, const float *z, const float *v, const float *soon,
                 int64_t soon_step, const iso__wino_chain *chain) {
  const vf zero = vf_zero();
  TILE_ROWS(DECLARE)
  if (chain->from) {
    TILE_ROWS(LOAD)
    fetch_rows(rows, chain->from + rows * LD);
  }
  /* These were last used a chunk ago and lie in L3: asked for two micro-tiles ahead. */
  if (chain->panel) fetch_rows(rows, chain->panel + 2 * rows * LD);
  if (chain->total) fetch_rows(rows, chain->total + 2 * rows * LD);
  int left = s->n_tiles;
  for (; left >= ISO__WINO_GROUP; left -= ISO__WINO_GROUP, v += s->v_group, z += s->z_group, soon += soon_step) {
    UNROLL_4 for (int t = 0; t < ISO__WINO_GROUP; t++) {
      const vf b0 = vf_load(v + t * PANEL), b1 = vectors > 1 ? vf_load(v + t * PANEL + VF_LANES) : b0;
      if (t < SOON) __builtin_prefetch(soon + t * 16, 0, 3);
      TILE_ROWS(STEP)
    }
  }
  for (int t = 0; t < left; t++) {
    const vf b0 = vf_load(v + t * PANEL), b1 = vectors > 1 ? vf_load(v + t * PANEL + VF_LANES) : b0;
    TILE_ROWS(STEP)
  }
  if (chain->chunk_ends) {
    if (chain->panel) {
      TILE_ROWS(FOLD_NEXT)
    } else {
      TILE_ROWS(FOLD_FIRST)
    }
    if (chain->total) { TILE_ROWS(FOLD_TOTAL) }
  }
  TILE_ROWS(STORE)
}

#define TILE(ROWS, VECTORS)                                                                                            \
  static void tile_##ROWS##x##VECTORS(const slice *s, const float *z, const float *v, const float *soon,               \
                                      int64_t soon_step, const iso__wino_chain *chain) {                               \
    tile(ROWS, VECTORS, s, z, v, soon, soon_step, chain);                                                              \
  }
TILE_HEIGHTS(TILE, 1)
TILE_HEIGHTS(TILE, 2)
#define ENTRY(ROWS, VECTORS) [VECTORS][ROWS] = tile_##ROWS##x##VECTORS,
static void (*const tiles[3][MAX_ROWS + 1])(const slice *, const float *, const float *, const float *, int64_t,
                                            const iso__wino_chain *) = {TILE_HEIGHTS(ENTRY, 1) TILE_HEIGHTS(ENTRY, 2)};

/* While a panel's micro-tiles run, the next panel's V and a part of the next point's Z come into L1, SOON cache lines
 * of every group by each micro-tile: hardware does not follow these strides. */
static void product(const iso__wino_block *b, int n_points, int n_tiles, const float *z, const float *v,
                    const iso__wino_chain *chain) {
  const int64_t n_rows = iso__tile_count(b->n_k, MAX_ROWS), n_panels = (b->n_c + PANEL - 1) / PANEL;
  const slice s = {.n_tiles = n_tiles, .v_group = (n_points | 1) * V_POINT, .z_group = (n_points | 1) * Z_POINT};
  const int64_t v_soon = V_POINT / 16 / SOON, z_soon = (Z_POINT / 16 / SOON + n_panels - 1) / n_panels;
  int64_t begin[ISO__WINO_BLOCK + 1];
  for (int64_t i = 0; i <= n_rows; i++) begin[i] = iso__tile_begin(b->n_k, n_rows, i);
  for (int t = 0; t < n_points; t++)
    for (int64_t c = 0; c < n_panels; c++) {
      const float *panel = v + t * V_POINT + c * b->v_panel, *z_here = z + t * Z_POINT;
      const float *next = c + 1 < n_panels ? panel + b->v_panel : v + (t + 1) * V_POINT;
      const int vectors = b->n_c - c * PANEL > VF_LANES ? 2 : 1;
      for (int64_t i = 0; i < n_rows; i++) {
        const int64_t k = begin[i], at = t * ISO__WINO_SUMS + k * LD + c * PANEL;
        const iso__wino_chain here = {.from = chain->from ? chain->from + at : NULL,
                                      .panel = chain->panel ? chain->panel + at : NULL,
                                      .total = chain->total ? chain->total + at : NULL,
                                      .chunk_ends = chain->chunk_ends,
                                      .to = chain->to + at};
        const float *soon = panel;
        int64_t step = 0;
        if (i < v_soon) soon = next + i * SOON * 16, step = s.v_group;
        else if (i < v_soon + z_soon) soon = z_here + Z_POINT + (c * z_soon + i - v_soon) * SOON * 16, step = s.z_group;
        tiles[vectors][begin[i + 1] - k](&s, z_here + k, panel, soon, step, &here);
      }
    }
}

/* ---- the classes ---- */

#define WINO_M 2
#define WINO_R 3
#include "kernels/conv/winograd/bwd_weights_class_impl.h"
#define WINO_M 4
#define WINO_R 3
#define WINO_FREE /* the only one whose error is within the direct classes' bound everywhere */
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
