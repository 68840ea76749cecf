/* winograd.h (internal): Winograd convolution, forward and backward to the data, in the classes winograd.MxMkR.
 *
 * The expressions are in transforms.h, the scalar specification in reference.c. The engines' loops (nest.c) know
 * neither class nor vector width: they walk tiles and blocks of output channels and call one table of kernels per
 * instruction set and class (kernels_impl.h, class_impl.h).
 *
 * Layouts in the workspace, t = one of the alpha² points of a transformed tile:
 *   V (t, chunk of 256 c, tile, c in the chunk)   transformed input, c padded to whole vectors
 *   U (t, strip of k, c, lanes of the strip)   transformed kernel
 *   M (t, tile, k of the block)   products, before the output transform
 * The strides between points are odd numbers of cache lines: otherwise the 16 … 64 streams that a transform writes
 * would share a few sets of L1. */
#ifndef ISO_KERNELS_CONV_WINOGRAD_H
#define ISO_KERNELS_CONV_WINOGRAD_H
#include "kernels/conv/conv.h"

/* Classes, by suffix: outputs and taps on an axis. */
#define ISO__WINOGRAD_CLASSES(X)                                                                                       \
  X(2k3, 2, 3)                                                                                                         \
  X(4k3, 4, 3)                                                                                                         \
  X(5k3, 5, 3)                                                                                                         \
  X(6k3, 6, 3)                                                                                                         \
  X(2k5, 2, 5)                                                                                                         \
  X(4k5, 4, 5)
typedef enum iso__winograd_id {
#define ISO__WINOGRAD_ENUM(suffix, m, r) ISO__WINOGRAD_##suffix,
  ISO__WINOGRAD_CLASSES(ISO__WINOGRAD_ENUM)
#undef ISO__WINOGRAD_ENUM
      ISO__N_WINOGRAD
} iso__winograd_id;

enum { ISO__WINOGRAD_MAX_ALPHA = 8 };

/* A direction as a correlation over tiles of m × m outputs, the first at output (0, 0). Tile row i reads source rows
 * i·m + offset_h …; backward to the data the source is dy, the output dx, the kernel turned, its channels swapped. */
typedef struct iso__winograd_grid {
  int64_t m, r, alpha, points; /* points = alpha² */
  int64_t n, groups, c, k;     /* c, k: source and output channels of a group */
  int64_t source_h, source_w, source_pitch, offset_h, offset_w;
  int64_t out_h, out_w, out_pitch;
  int64_t tiles_h, tiles_w, tiles; /* tiles: of all samples; number (sample, tile row, tile column) */
  bool turned;
} iso__winograd_grid;
iso__winograd_grid iso__winograd_grid_of(const iso_conv_problem *p, int64_t m);

/* The sample and the first output row and column of a tile. */
typedef struct iso__winograd_place {
  int64_t n, row, col;
} iso__winograd_place;
static inline iso__winograd_place iso__winograd_place_of(const iso__winograd_grid *g, int64_t tile) {
  return (iso__winograd_place){.n = tile / g->tiles_w / g->tiles_h,
                               .row = tile / g->tiles_w % g->tiles_h * g->m,
                               .col = tile % g->tiles_w * g->m};
}

/* What the output transform adds: each NULL or false if not asked for. Pointers as y: to the group's first channel. */
typedef struct iso__winograd_epilogue {
  const float *bias, *residual;
  bool relu;
} iso__winograd_epilogue;

/* Output channels are handled in strips of `lanes` = two vectors; the last strip of a kernel may be one vector wide. */
typedef struct iso__winograd_class_kernels {
  /* V of one tile: v[t·stride + c/256·chunk + c mod 256], c up to the next whole vector. x: the group's first channel;
   * zeros: c of them. */
  void (*data)(const iso__winograd_grid *g, const float *x, const float *zeros, int64_t tile, float *v, int64_t stride,
               int64_t chunk);
  /* U of output channels [k0, k1), k0 on a strip's edge, and source channels [c0, c1):
   * u[t·stride + (strip·(c1 − c0) + c − c0)·lanes + lane], strips counted from k0. w: the group's weights. */
  void (*kernel)(const iso__winograd_grid *g, const float *w, int64_t k0, int64_t k1, int64_t c0, int64_t c1, float *u,
                 int64_t stride);
  /* Outputs of one tile for channels [k0, k1): from m[t·stride + k − k0]. y: the group's first channel. */
  void (*output)(const iso__winograd_grid *g, const iso__winograd_epilogue *e, const float *m, int64_t stride,
                 int64_t tile, int64_t k0, int64_t k1, float *y);
} iso__winograd_class_kernels;

/* One point's sums over the channels [c0, c1), in chunks of 256 from c0, onto what m holds or (starts) onto +0:
 * m[tile·m_pitch + k] += v[c/256·v_chunk + tile·v_pitch + c mod 256]·u[(strip·u_channels + c)·lanes + lane]. */
typedef struct iso__winograd_product {
  int64_t tiles, k, c0, c1;
  bool starts;
  const float *v, *u;
  float *m;
  int64_t v_pitch, v_chunk, u_channels, m_pitch;
} iso__winograd_product;

typedef struct iso__winograd_kernels {
  int width, max_rows; /* floats in a vector; tiles in a micro-tile */
  void (*product)(const iso__winograd_product *p);
  void (*add)(float *to, const float *from, int64_t n); /* to += from */
  iso__winograd_class_kernels of[ISO__N_WINOGRAD];
} iso__winograd_kernels;
#if defined(__x86_64__)
extern const iso__winograd_kernels iso__winograd_avx2, iso__winograd_avx512;
#endif
#endif
