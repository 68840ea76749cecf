/* depthwise.h: convolution with one channel a group, in and out, or a few, directly, in place; class `ordered`.
 *
 * Channels lie in the lanes, so that neither shuffles nor a packed image are needed: an output pixel's chain takes one
 * vector of x and one of w a tap. A *run* is a row of output pixels that have the same taps inside the image. Its
 * micro-kernel holds up to 8 pixels of one channel vector in registers and sweeps over the image's columns: a column is
 * loaded once and feeds every pixel that it belongs to, and since columns go the way taps go, every chain's taps
 * ascend. Pixels near the border are runs of their own with fewer taps: terms in the padding are left out, which is
 * allowed where weights are finite; packing the weights finds out, and if some are not, all taps are walked, with real
 * zeros. The weights' gradient is in bwd_weights.h. */
#ifndef ISO_KERNELS_CONV_DEPTHWISE_H
#define ISO_KERNELS_CONV_DEPTHWISE_H
#include "kernels/conv/geometry.h"

enum { ISO__DW_PIXELS = 8, ISO__DW_MAX_TAPS = 7 };

/* Pixels with the same taps, in one output row. All steps are in floats and may be negative. */
typedef struct iso__dw_run {
  const float *x;                /* first tap of the first pixel, channel 0 */
  int64_t x_row, x_tap, x_pixel; /* between kernel rows, kernel columns, pixels */
  int64_t ahead;                 /* from x to what blocks soon read first, to be prefetched; 0: nothing */
  const float *w;                /* first tap, first channel vector */
  int64_t w_vector, w_row;       /* between channel vectors, kernel rows; taps follow each other */
  int n_rows, n_taps;            /* kernel rows and columns */
  int n_pixels;                  /* 1 … ISO__DW_PIXELS */
  float *y;                      /* first pixel, channel 0 */
  const float *residual;         /* like y, or NULL */
  int64_t y_pixel;
  const float *bias; /* or NULL */
  bool relu;
  int depth; /* channels of a group: a tap has as many vectors of w */
  int64_t n_channels;
} iso__dw_run;

/* A pixel whose taps may lie in the padding: real zeros there. */
typedef struct iso__dw_pixel {
  iso__dw_run run;          /* x at tap (0, 0), wherever that is */
  iso__conv_range row, col; /* taps inside */
} iso__dw_pixel;

typedef void iso__dw_run_fn(const iso__dw_run *run);

/* The micro-kernels of one instruction set. */
typedef struct iso__dw_kernels {
  int width; /* lanes */
  /* By n_taps − 1 (NULL: none), by how many taps apart pixels are (1, 2), by n_pixels − 1. */
  iso__dw_run_fn *fixed[ISO__DW_MAX_TAPS][2][ISO__DW_PIXELS];
  iso__dw_run_fn *any[ISO__DW_PIXELS];  /* any number of taps, any steps */
  iso__dw_run_fn *tail[ISO__DW_PIXELS]; /* the same for the channels beyond whole vectors; NULL: there are none */
  void (*padded)(const iso__dw_pixel *pixel);
  /* Channel vector `v` of one product's weights (finish_impl.h); false if one is not finite. */
  bool (*pack)(const iso__conv_product *product, const float *w, int64_t v, float *out);
} iso__dw_kernels;
extern const iso__dw_kernels iso__dw_kernels_avx2, iso__dw_kernels_avx512; /* one channel a group */
extern const iso__dw_kernels iso__grouped_kernels_avx2, iso__grouped_kernels_avx512;

size_t iso__dw_workspace(const iso__dw_kernels *kernels, const iso_conv_problem *problem);
double iso__dw_cost(const iso__dw_kernels *kernels, const iso_conv_problem *problem, int n_threads);
void iso__dw_run_problem(const iso__dw_kernels *kernels, const iso__call *call);
/* One channel a group, one or two dimensions. */
const char *iso__dw_is_depthwise(const iso_conv_problem *problem);
/* 2, 4, 8 or 16 channels a group, in and out, in whole vectors. */
const char *iso__grouped_channels_applicable(int width, const iso_conv_problem *problem);
const char *iso__grouped_applicable(const iso__dw_kernels *kernels, const iso_conv_problem *problem);
#endif
