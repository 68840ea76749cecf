/* igemm.h: implicit matrix products for convolution: forward and bwd_data in class `ordered`.
 *
 * One product computes, for every sample and every position (o, t, u) of a grid, `width` destination channels as a sum
 * over (plane tap, row tap, column tap, source channel): C[(n,o,t,u)][j] = Σ_k A[(n,o,t,u)][k]·B[k][j]. Forward is one
 * such product; bwd_data is one for each stride phase, with the taps of that phase. A is never formed: a row of A is a
 * base address into a zero-padded copy of a few image rows (or the image itself where no tap leaves it), and every tap
 * is one offset that is the same for all rows, so a micro-tile needs one pointer a row and a list of segments (offset,
 * first k, number of k).
 *
 * Taps that lie in the padding for all rows of a micro-tile are left out when all weights are finite: then their terms
 * are zeros and change no bit (NUMERICS §2, Zero terms). On 4×4 images that saves three terms in ten. */
#ifndef ISO_KERNELS_CONV_IGEMM_H
#define ISO_KERNELS_CONV_IGEMM_H
#include "kernels/conv/conv.h"

/* One spatial axis: tap j at grid position t reads source position t·step + offset + j·tap_step. */
typedef struct iso__conv_axis {
  int64_t n_source, n_grid, step, offset, tap_step;
  int64_t n_taps, first_tap, tap_stride; /* tap j is kernel row (or column) first_tap + j·tap_stride */
  int64_t n_out, out_first, out_step;    /* grid position t is destination position out_first + t·out_step */
} iso__conv_axis;

typedef struct iso__conv_product {
  iso__conv_axis plane, row, col;
  int64_t n, groups;
  int64_t depth, width;               /* channels of one group: summed over, computed */
  int64_t source_pitch, output_pitch; /* channels of all groups */
  const iso_conv_problem *problem;
  bool transposed; /* weights as (k,t,r,s,c): false: width is k (forward), true: width is c (bwd_data) */
} iso__conv_product;

static inline int64_t iso__conv_taps(const iso__conv_product *g) {
  return g->plane.n_taps * g->row.n_taps * g->col.n_taps;
}
static inline int64_t iso__conv_k(const iso__conv_product *g) { return iso__conv_taps(g) * g->depth; }

/* A run of k with consecutive addresses, within one chunk. What ends with it: */
typedef enum iso__conv_fold { ISO__FOLD_NONE, ISO__FOLD_CHUNK, ISO__FOLD_PANEL } iso__conv_fold;
typedef struct iso__conv_segment {
  int64_t offset; /* into the source, from the row's base */
  int64_t k;      /* first k */
  int32_t n;
  int32_t fold; /* iso__conv_fold; of no meaning in the last segment, which ends all */
} iso__conv_segment;

/* One micro-tile: `mr` rows (some repeated when n_rows is less) by the columns of one strip. */
typedef struct iso__conv_tile {
  const float *source;
  const int64_t *row_offset; /* (mr) */
  const iso__conv_segment *segments;
  int64_t n_segments;
  const float *b;               /* (K, strip) */
  float *y;                     /* at the strip's first column */
  const int64_t *out_offset;    /* (mr) */
  const int64_t *next_offset;   /* (mr): rows of y that will be written next, on their way to the cache meanwhile */
  const float *bias, *residual; /* at the strip's first column, or NULL */
  float *sums;                  /* (2, mr, nr) scratch */
  const int32_t *table;         /* gathered tiles only: offset of every k, instead of the segments' offsets */
  int n_rows, n_columns;
  bool relu;
} iso__conv_tile;

/* What an instruction set brings. Strips are `nr` columns wide, a last one of at most `nr`/2 columns nr/2 wide. */
typedef struct iso__conv_tiles {
  int mr, nr;
  int rows[3];                                     /* heights of the tile functions, descending */
  void (*tile[3][2])(const iso__conv_tile *t);     /* [height][0: nr wide, 1: nr/2 wide] */
  void (*gathered[3][2])(const iso__conv_tile *t); /* the same with a table */
  /* B rows [k0, k1) of one strip from weights; false if a value of them is not finite. */
  bool (*pack)(const iso__conv_product *g, const float *w, int64_t column, int n_columns, int strip, int64_t k0,
               int64_t k1, float *b);
  /* Channels-first to channels-last: to[i·n_channels + c] = from[c·plane + i] for n pixels. */
  void (*interleave)(const float *from, int64_t plane, int64_t n_channels, int64_t n, float *to);
  /* to[i·strip + j] = from[i·pitch + j], strip nr or nr/2. */
  void (*copy_strip)(const float *from, int64_t pitch, int strip, int64_t n, float *to);
} iso__conv_tiles;

size_t iso__conv_igemm_workspace(const iso__conv_tiles *tiles, const iso_conv_problem *p, int n_threads);
double iso__conv_igemm_cost(const iso__conv_tiles *tiles, const iso_conv_problem *p, int n_threads);
void iso__conv_igemm_run(const iso__conv_tiles *tiles, const iso__call *call);
const char *iso__conv_igemm_applicable(const iso__problem *problem);

extern const iso__conv_tiles iso__conv_tiles_avx2, iso__conv_tiles_avx512;
#endif
