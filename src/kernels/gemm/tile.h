/* tile.h: the ordered micro-kernels that every product is built from (gemm, convolution), one table per instruction
 * set.
 *
 * A *tile* is `rows` × `vectors` vectors of C held in registers. A call adds up one chunk (at most 256 terms, k
 * ascending, one fma chain per element from +0) and then *folds* the chunk sum by NUMERICS §2:
 *
 *     p = (first chunk of the panel ? +0 : *panel) + acc        not the last chunk of the panel: *panel = p, done
 *     t = (first panel              ? +0 : *total) + p          not the last panel:              *total = t, done
 *     *c = epilogue(t)
 *
 * The addition of +0 is kept: an underflowing fma leaves −0 in acc, and no sum of the order is −0.
 *
 * Where running sums wait is the caller's choice. With K ≤ 256 nothing waits. Usual: in the first panel `panel` = `c`
 * (the total does not live yet) and `total` = `c` throughout, so K ≤ 1024 needs no buffer and more needs one tile
 * buffer for the panels after the first. If the epilogue reads C (beta), neither may be `c`. To split K over threads
 * let `panel` or `total` be slots and fold them later with `fold`: a chunk sum stored with first_chunk && !last_chunk,
 * or a panel sum stored with first_panel && !last_panel, may be added by anyone later (the +0 added on the way changes
 * no later sum).
 *
 * Everything is f32, but for what the epilogue reads and writes. A table's functions need the instruction set they are
 * named after; callers are plain C. */
#ifndef ISO_KERNELS_GEMM_TILE_H
#define ISO_KERNELS_GEMM_TILE_H
#include "kernels/gemm/gemm.h"

enum { ISO__CHUNK_TERMS = 256, ISO__PANEL_TERMS = 1024, ISO__TILE_MAX_ROWS = 14, ISO__TILE_MAX_VECTORS = 2 };

/* alpha·t, + beta·c (that product rounded), + bias, + residual, ·scale, activation: each only if asked for, in this
 * order. */
typedef struct iso__epilogue {
  uint8_t dtype;        /* of bias, residual and c: ISO_F32, or ISO_F16 or ISO_BF16, to which the result is rounded */
  const void *bias;     /* of the tile's first column, or NULL */
  const void *residual; /* of the tile's first element, rows ld_residual apart, or NULL */
  int64_t ld_residual;
  float alpha, beta, scale;
  bool has_alpha, has_beta, has_scale;
  uint8_t activation; /* iso__activation */
} iso__epilogue;

/* What happens to the chunk sum of one tile. Pointers are to the tile's first element, ld in elements between its rows.
 */
typedef struct iso__fold {
  bool first_chunk, last_chunk; /* of its panel  */
  bool first_panel, last_panel; /* of the sum    */
  int columns;                  /* valid ones, 1 … vectors·width: no others are read or written in panel, total, c */
  float *panel, *total, *c;     /* those not needed by the flags may be NULL */
  int64_t ld_panel, ld_total, ldc;
  const float *from; /* where the panel's sum so far waits, if not in `panel`; NULL: there */
  int64_t ld_from;
  const char *ahead; /* asked for while products run, `ahead_step` bytes further every four terms; NULL: nothing */
  int64_t ahead_step;
  const iso__epilogue *epilogue; /* read if last_chunk && last_panel; NULL: none */
} iso__fold;

/* Sets the four flags for the chunk of terms [begin, begin + 256) of n_terms; begin a multiple of 256. */
static inline void iso__fold_place(iso__fold *fold, int64_t begin, int64_t n_terms) {
  const int64_t end = begin + ISO__CHUNK_TERMS;
  fold->first_chunk = begin % ISO__PANEL_TERMS == 0;
  fold->last_chunk = end >= n_terms || end % ISO__PANEL_TERMS == 0;
  fold->first_panel = begin < ISO__PANEL_TERMS;
  fold->last_panel = (begin / ISO__PANEL_TERMS + 1) * ISO__PANEL_TERMS >= n_terms;
}

/* One chunk of one tile: acc[i][j] = Σ_p A(i,p)·B(p,j), then the fold. k in 0 … 256.
 * B(p,j) = b[p·b_step + j]: all vectors·width columns are read, whatever fold->columns says. No alignment is needed.
 * A(i,p) by the kind of table entry: `strip`: a[p·a_step + i] (packed strips: a_step = rows; a matrix stored (k,m): its
 * ld); `row`: a[i·a_step + p] (a matrix stored (m,k), unpacked). Only the elements of the tile's rows are read. */
typedef void iso__tile_fn(int64_t k, const float *a, int64_t a_step, const float *b, int64_t b_step,
                          const iso__fold *fold);

/* Packs n ≤ width lines × k terms into a strip dst[p·width + i], lines n … width−1 zero. dst: k·width floats, no more
 * is written; no alignment needed (64 bytes is faster). X(i,p) = x[i·ld + p] for `pack_transposing`, x[p·ld + i] for
 * `pack_copying`. */
typedef void iso__pack_fn(float *dst, int width, const float *x, int64_t ld, int n, int64_t k);

typedef struct iso__tiles {
  int width;                                                              /* floats in a vector: 8, 16 */
  int max_rows;                                                           /* 6, 14 */
  iso__tile_fn *strip[ISO__TILE_MAX_VECTORS + 1][ISO__TILE_MAX_ROWS + 1]; /* [vectors][rows], both from 1 */
  iso__tile_fn *row[ISO__TILE_MAX_VECTORS + 1][ISO__TILE_MAX_ROWS + 1];
  iso__pack_fn *pack_transposing, *pack_copying;
  /* The epilogue alone: c[j] = epilogue(t[j]) for n elements of a row; t may be c. */
  void (*finish)(const float *t, float *c, int64_t n, const iso__epilogue *epilogue);
  /* The fold alone, for sums that waited: acc (rows, vectors·width) dense takes the place of the chunk sum. */
  void (*fold)(int rows, int vectors, const float *acc, const iso__fold *fold);
} iso__tiles;

#if defined(__x86_64__)
extern const iso__tiles iso__tiles_avx2, iso__tiles_avx512;
#endif

/* Rows are cut evenly, so that no tile is left with a row or two (too few accumulators to hide an fma's latency): of
 * m rows in ceil(m / max_rows) tiles, tile t begins at iso__tile_begin(m, n_tiles, t). */
static inline int64_t iso__tile_count(int64_t m, int max_rows) { return (m + max_rows - 1) / max_rows; }
static inline int64_t iso__tile_begin(int64_t m, int64_t n_tiles, int64_t t) {
  return m / n_tiles * t + (t < m % n_tiles ? t : m % n_tiles);
}
#endif
