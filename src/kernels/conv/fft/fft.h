/* fft.h: convolution by fast Fourier transforms on square tiles: the classes fft.16, fft.24, fft.32, fft.48, fft.64.
 *
 * A tile is an N×N window of the image. The products of its spectrum and the kernel's give, transformed back, up to
 * N − R + 1 by N − S + 1 outputs; where the image and the larger of its paddings fit into N, one tile gives all of
 * them, since what wraps round is padding then. Expressions: docs/numerics-fft.md. Reference: reference.c. What engines
 * share for each direction is here: where tiles lie (geometry), what a transform reads and writes (source, sink), and
 * the vector kernels of one instruction set (lines_impl.h, tiles_impl.h, product_impl.h). */
#ifndef ISO_KERNELS_CONV_FFT_H
#define ISO_KERNELS_CONV_FFT_H
#include "kernels/conv/conv.h"
#include "numeric/order.h"

enum { ISO__FFT_MAX = 64 };
#define ISO__FFT_SIZES(X) X(16) X(24) X(32) X(48) X(64)
typedef enum iso__fft_size {
#define ISO__FFT_SIZE_ENUM(n) ISO__FFT_SIZE_##n,
  ISO__FFT_SIZES(ISO__FFT_SIZE_ENUM)
#undef ISO__FFT_SIZE_ENUM
      ISO__FFT_N_SIZES
} iso__fft_size;
int iso__fft_n(iso__fft_size size); /* N */
/* The radix of a line's second pass, N/radix that of its first: known zeros are left out in groups of so many. */
static inline int iso__fft_second_radix(int n) { return n == 16 ? 4 : 8; }

/* One axis of the grid. Tile i's window begins at image position i·step − pad; it gives outputs i·step … i·step + step
 * − 1, as far as they exist. */
typedef struct iso__fft_axis {
  int64_t image, outputs, kernel, pad, step, n_tiles;
} iso__fft_axis;

/* A direction seen as: image (x, for bwd_data dy) against kernel, giving outputs. For bwd_weights the outputs' places
 * hold dy. */
typedef struct iso__fft_geometry {
  int n, n_columns; /* N; N/2 + 1 */
  iso__fft_axis row, col;
  int64_t groups, from, to; /* channels of a group: image's, outputs' */
  int64_t n_tiles;          /* of all samples */
  float scale;              /* 1/(4·N²) */
} iso__fft_geometry;

iso__fft_geometry iso__fft_geometry_of(const iso_conv_problem *p, int n);
/* NULL or why class fft.N is not for this problem. */
const char *iso__fft_applicable(const iso__problem *problem, int n);

/* Which window rows or columns lie inside: [first, end), empty where end ≤ first. */
typedef struct iso__fft_span {
  int first, end;
} iso__fft_span;
iso__fft_span iso__fft_image_span(const iso__fft_axis *axis, int n, int64_t tile);
int iso__fft_outputs_of(const iso__fft_axis *axis, int64_t tile);

/* What is transformed: element (i, j) of the window is base[i·row_step + j·col_step] in the spans, else +0; one lane a
 * channel. */
typedef struct iso__fft_source {
  const float *base;
  int64_t row_step, col_step;
  iso__fft_span rows, cols;
  int n_lanes;
} iso__fft_source;

/* Where results go, and what happens to them on their way. */
typedef struct iso__fft_sink {
  float *base;
  int64_t row_step, col_step;
  int n_rows, n_cols, n_lanes;
  float scale;
  const float *bias, *residual; /* NULL: none; residual lies like the results */
  bool relu;
} iso__fft_sink;

/* Products for frequencies: c[row][lane] = Σ over terms a[row][term]·conj(b[term][lane]), complex. Units are L real and
 * L imaginary parts, L the vector's lanes. a: scalars, the imaginary part a_im floats behind the real one; b: one unit
 * a term; c: one unit a row and block of lanes. */
typedef struct iso__fft_product {
  const float *a, *b;
  float *c;
  int64_t a_frequency, b_frequency, c_frequency; /* floats between frequencies */
  int64_t n_rows, n_terms, a_row, a_term, a_im;
  int64_t n_lane_blocks, b_block, c_row;
  bool resume; /* c holds sums that go on */
  bool raw;    /* the sums are not complete: no fold */
} iso__fft_product;

/* The transforms of one N and one instruction set. Row spectra: row i of column u, one unit, at rows[u·step + i·unit];
 * a spectrum: column u, row v at f_step·(u·N + v) floats; forward_sign: it is the conjugate. Scratch:
 * iso__fft_scratch_units. */
typedef struct iso__fft_tile_kernels {
  void (*transform)(const iso__fft_source *source, float *scratch, float *out, int64_t f_step);
  void (*inverse)(const float *spectrum, int64_t f_step, bool forward_sign, float *scratch, const iso__fft_sink *sink);
  /* transform, times the conjugates of `kernel` (units in order), inverse; nothing leaves the cache. */
  void (*pointwise)(const iso__fft_source *source, const float *kernel, float *scratch, const iso__fft_sink *sink);
  /* The same in steps. Columns are taken for n_items items, one unit apart in the spectra, of which `planes` at a time
   * have their real parts side by side before their imaginary ones. An item's rows are n_in (whole groups; the others
   * are +0) or n_out (even) units, one item after the other; after the last one up to 8 more units may be written. */
  void (*rows)(const iso__fft_source *source, int n_rows, float *rows, int64_t step);
  void (*columns)(const float *rows, int n_in, int64_t n_items, int64_t planes, float *out, int64_t f_step);
  void (*inverse_columns)(const float *spectra, int64_t f_step, bool forward_sign, int64_t n_items, float *rows,
                          int n_out);
  void (*results)(const float *rows, int64_t step, bool forward_sign, const iso__fft_sink *sink);
} iso__fft_tile_kernels;
typedef struct iso__fft_kernels {
  int lanes;
  iso__fft_tile_kernels size[ISO__FFT_N_SIZES];
  void (*product)(const iso__fft_product *product, int64_t f0, int64_t f1);
  /* sum += a·conj(b), unit by unit */
  void (*accumulate)(float *sum, const float *a, const float *b, int64_t n_units);
} iso__fft_kernels;
extern const iso__fft_kernels iso__fft_kernels_avx2, iso__fft_kernels_avx512;

/* ---- engines (run.c chooses; image.c, weights.c, depthwise.c) ---- */

size_t iso__fft_workspace(const iso__fft_kernels *kernels, const iso__problem *problem, iso__fft_size size,
                          int n_threads);
size_t iso__fft_kept_bytes(const iso__fft_kernels *kernels, const iso__problem *problem, iso__fft_size size);
void iso__fft_prepare(const iso__fft_kernels *kernels, iso__fft_size size, const iso__call *call, void *kept);
void iso__fft_run(const iso__fft_kernels *kernels, iso__fft_size size, const iso__call *call);
double iso__fft_cost(const iso__fft_kernels *kernels, const iso__problem *problem, iso__fft_size size, int n_threads);

/* One call's constants and memory, in units of L complex numbers. Left (a) and right (b) factors and products (c): row
 * spectra of all columns, items of `*_rows` units a column, then in each thread's part the spectra of one column.
 */
typedef struct iso__fft_job {
  const iso__call *call;
  const iso_conv_problem *problem;
  const iso__fft_kernels *kernels;
  const iso__fft_tile_kernels *tile;
  iso__fft_geometry g;
  int n_threads;
  int64_t unit; /* floats of one */
  int64_t n_frequencies;
  int64_t from_blocks, to_blocks;       /* blocks of lanes of a group's channels */
  int64_t chunk;                        /* tiles whose spectra are there at a time */
  bool one_chunk;                       /* all of them */
  int a_rows, b_rows, c_rows;           /* of an item */
  int64_t a_column, b_column, c_column; /* row spectra between columns */
  int64_t a_step, b_step, c_step;       /* spectra between frequencies */
  int64_t block_group;                  /* lane blocks of kernels transformed at a time */
  int64_t a_at, b_at, c_at;             /* row spectra */
  int64_t whole_at, panel_at, total_at; /* depthwise kernels' spectra, or the weights' sums if chunks share them */
  int64_t threads_at, thread_units;     /* a thread's part; within it: */
  int64_t my_side, my_a, my_b, my_c;
  int64_t n_units; /* of the workspace */
} iso__fft_job;

static inline int64_t iso__fft_blocks(int64_t n, int64_t size) { return (n + size - 1) / size; }
/* An odd number of units: frequencies then spread over all sets of a cache. */
static inline int64_t iso__fft_odd(int64_t n) { return n | 1; }
static inline bool iso__fft_is_depthwise(const iso__fft_geometry *g) { return g->from == 1 && g->to == 1; }
static inline int64_t iso__fft_take(int64_t *at, int64_t n) {
  const int64_t begin = *at;
  *at += n;
  return begin;
}

iso__fft_job iso__fft_job_of(const iso__fft_kernels *kernels, const iso__problem *problem, iso__fft_size size,
                             int n_threads);
static inline float *iso__fft_units(const iso__fft_job *j, int64_t at) {
  return (float *)j->call->workspace + at * j->unit;
}
/* In a thread's own part, which begins with scratch for a transform. */
static inline float *iso__fft_mine(const iso__fft_job *j, int thread, int64_t at) {
  return iso__fft_units(j, j->threads_at + thread * j->thread_units + at);
}
/* fn for unit ranges of [0, n), in parallel where `flops` are worth it. */
typedef void iso__fft_range_fn(const iso__fft_job *job, const void *arg, int64_t begin, int64_t end, int thread);
void iso__fft_share(const iso__fft_job *job, int64_t n, double flops, iso__fft_range_fn *fn, const void *arg);
/* Operations of one two-dimensional transform of a block of channels. */
double iso__fft_transform_flops(const iso__fft_job *job);

/* The window of tile `tile` (over all samples) at channel `channel` of the image. */
iso__fft_source iso__fft_window(const iso__fft_job *j, const float *image, int64_t tile, int64_t channel,
                                int64_t n_lanes);
/* The outputs' places of a tile: read (dy), or written. */
iso__fft_source iso__fft_outputs(const iso__fft_job *j, const float *y, int64_t tile, int64_t channel, int64_t n_lanes);
iso__fft_sink iso__fft_results(const iso__fft_job *j, float *y, int64_t tile, int64_t channel, int64_t n_lanes);
/* Lanes that lie lane_step apart, side by side: to[i·L + lane] = from[lane·lane_step + i·step]. */
void iso__fft_gather(const iso__fft_job *j, const float *from, int64_t lane_step, int64_t step, int64_t n_lanes,
                     int64_t n, float *to);
/* A kernel of n_lanes lanes as a source: element (r, s) at from[(r·S + s)·step], turned by 180° for bwd_data. */
iso__fft_source iso__fft_kernel(const iso__fft_job *j, const float *from, int64_t step, int64_t n_lanes);
/* After n_done tiles: at the end of a chunk of 256 its sums go into panels, every fourth time those into the total;
 * after the last tile `sum` is the total. */
void iso__fft_fold(const iso__fft_job *j, int64_t n_done, float *sum, float *panel, float *total, int64_t n_floats);

static inline int64_t iso__fft_scratch_units(int n) { return (int64_t)(n / 2 + 1) * (n + 1); }
/* The kernels' whole spectra of a group: (frequency, block of lanes, term), b_step units between frequencies. */
void iso__fft_image_kernels(const iso__fft_job *j, int64_t group, float *spectra);
void iso__fft_image_run(const iso__fft_job *j);
void iso__fft_weights_run(const iso__fft_job *j);
void iso__fft_depthwise_kernels(const iso__fft_job *j, float *spectra);
void iso__fft_depthwise_run(const iso__fft_job *j);
void iso__fft_depthwise_weights_run(const iso__fft_job *j);
#endif
