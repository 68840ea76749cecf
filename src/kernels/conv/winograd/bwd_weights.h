/* bwd_weights.h: the weights' gradient in the Winograd classes: dw = Gᵀ[ Σ over tiles (Bᵀ d B)·(A dy Aᵀ) ]G.
 *
 * Winograd's minimal filtering, transposed (Lavin and Gray 2015): output tiles of dy act as kernels. The sum over
 * (sample, tile row, tile column) is `ordered`, chunks of 256 tiles; the inverse transform comes last.
 *
 * The work is cut into blocks of at most 64 × 64 (output × input channels), each from first to last by one thread: a
 * slice of tiles is transformed into V and Z, multiplied for every point into sums, and so on to the last tile; then dw
 * is written. Slice and sums stay in the L2 cache, whatever the batch; blocks share nothing, so threads never wait for
 * one another. The price is that a tile is transformed once for each block of the other operand's channels: some 20 %
 * of the products' time with 64 × 64, for 36 points. Where sums are small enough, two blocks of output channels share
 * V.
 *
 * Four tiles lie together, all their points in a row (the layouts below), so that a transform's stores are near one
 * another and at constant distances; a product finds four terms at a time. A chain of fma runs through a chunk although
 * a slice is shorter: the tile's accumulators are stored as they are and loaded again. Vectors run over input channels,
 * so that no transform needs a transposition. */
#ifndef ISO_KERNELS_CONV_WINOGRAD_BWD_WEIGHTS_H
#define ISO_KERNELS_CONV_WINOGRAD_BWD_WEIGHTS_H
#include "kernels/conv/conv.h"

/* In floats; POINTS is 36 for 4x4k3. A panel is two vectors of input channels.
 *   v[panel][tile / 4][POINTS | 1][tile % 4][panel width]
 *   z[tile / 4][POINTS | 1][tile % 4][64]
 *   sums[POINTS][k][64], 64·64 + 16 a point
 * The odd numbers keep neighbours in different sets of a cache. */
enum {
  ISO__WINO_BLOCK = 64, /* channels of a block, at most */
  ISO__WINO_GROUP = 4,  /* tiles */
  ISO__WINO_SUMS = ISO__WINO_BLOCK * ISO__WINO_BLOCK + 16,
};

/* One block. */
typedef struct iso__wino_block {
  const iso_conv_problem *problem;
  const float *x, *dy;
  float *dw;
  int64_t out_h, out_w, tile_rows, tile_columns;
  int64_t k, c;       /* its first channels, of dy and of x */
  int64_t c_of_group; /* c within its group, as dw counts */
  int n_k, n_c;       /* and how many */
  int64_t v_panel;    /* from one panel of V to the next: of as many tiles as a slice may have */
} iso__wino_block;

/* How a product over one slice begins and ends: acc = from or +0; acc = fma(z, v, acc), tiles ascending; where the
 * chunk ends, acc = (panel or +0) + acc, and where the panel ends after the first, acc = total + acc; to = acc. */
typedef struct iso__wino_chain {
  const float *from, *panel, *total; /* sums, or NULL */
  bool chunk_ends;
  float *to;
} iso__wino_chain;

/* One class on one instruction set. */
typedef struct iso__wino_weights {
  int m, r;       /* outputs of a tile, taps, along one axis */
  int width;      /* floats of a vector; a panel is two vectors wide */
  bool one_chain; /* class `free`: no chunks, one chain over all tiles; as accurate here, less to load and store */
  void (*data)(const iso__wino_block *b, int64_t tile, int n_tiles, float *v); /* v of tiles from `tile` on */
  void (*grad)(const iso__wino_block *b, int64_t tile, int n_tiles, float *z);
  void (*product)(const iso__wino_block *b, int n_points, int n_tiles, const float *z, const float *v,
                  const iso__wino_chain *chain);
  void (*dkernel)(const iso__wino_block *b, const float *sums); /* dw of the block */
} iso__wino_weights;

size_t iso__wino_weights_workspace(const iso__wino_weights *w, const iso_conv_problem *p, int n_threads);
double iso__wino_weights_cost(const iso__wino_weights *w, const iso_conv_problem *p, int n_threads);
void iso__wino_weights_run(const iso__wino_weights *w, const iso__call *call);
#endif
