/* cut.c: cuts of FFT convolutions (cut.h), and what the rows for CUDA ask besides running. */
#include "kernels/conv/fft/cuda/cut.h"
#include "kernels/conv/cuda_cut.h"
#include "kernels/conv/fft/fft.h"
#include <math.h>

enum { MAX_CHANNELS = 1 << 15 };

/* Offsets inside a window are 32-bit numbers on the device, too, and channels are blocks of a grid. */
static const char *applicable(const iso__problem *problem, int n) {
  const char *reason = iso__fft_applicable(problem, n);
  const iso_conv_problem *p = (const iso_conv_problem *)problem;
  if (!reason && (p->c > MAX_CHANNELS || p->k > MAX_CHANNELS)) return "a pixel has more than 2^15 channels";
  if (!reason) reason = iso__cut_extents(p);
  if (reason) return reason;
  return iso__cut_row(p) > ISO__CUT_EXTENT / 16 ? "a row of pixels has more than 2^24 elements" : NULL;
}

static iso__fft_cuda_axis axis_of(const iso__fft_axis *a) {
  return (iso__fft_cuda_axis){.image = (int)a->image,
                              .outputs = (int)a->outputs,
                              .kernel = (int)a->kernel,
                              .pad = (int)a->pad,
                              .step = (int)a->step,
                              .n_tiles = (int)a->n_tiles};
}

static iso__fft_cuda_cut begin_cut(const iso_conv_problem *p, int n) {
  const iso__fft_geometry g = iso__fft_geometry_of(p, n);
  iso__fft_cuda_cut c = {.n = n, .frequencies = n * g.n_columns, .row = axis_of(&g.row), .col = axis_of(&g.col)};
  c.groups = (int)g.groups, c.from = (int)g.from, c.to = (int)g.to, c.scale = g.scale, c.tiles = g.n_tiles;
  c.turned = p->head.op == ISO__OP_CONV_BWD_DATA;
  c.slab = (int)iso__min(g.groups, ISO__CUT_GRID / c.frequencies);
  return c;
}

iso__fft_cuda_cut iso__fft_cuda_cut_images(const iso_conv_problem *p, int n) {
  iso__fft_cuda_cut c = begin_cut(p, n);
  const int64_t batch = (int64_t)c.slab * c.frequencies;
  c.slots = (int)iso__max(iso__ceil_div(c.from, ISO__CHUNK), 1);
  c.right = (int)iso__round_up(2 * (int64_t)c.to, 4);
  const int64_t window = iso__round_up(2 * (int64_t)c.from, 4);
  const int64_t tile_floats = batch * (window + (int64_t)c.slots * c.right);
  c.slice = iso__cut_slice(
      c.tiles, iso__min(ISO__CUT_BYTES / (int64_t)sizeof(float) / iso__max(tile_floats, 1), ISO__CUT_GRID), 64);
  c.left = c.slice;
  c.u_floats = (size_t)((int64_t)c.groups * c.frequencies * c.from * c.right);
  c.a = iso__cut_take(&c.n_floats, batch * c.left * window);
  c.m = iso__cut_take(&c.n_floats, c.slots * batch * c.left * c.right);
  c.u = iso__cut_take(&c.n_floats, (int64_t)c.u_floats); /* kept forms are not always there */
  return c;
}

iso__fft_cuda_cut iso__fft_cuda_cut_weights(const iso_conv_problem *p, int n) {
  iso__fft_cuda_cut c = begin_cut(p, n);
  const int64_t batch = (int64_t)c.slab * c.frequencies;
  c.left = (int)iso__round_up(c.to, 4), c.right = (int)iso__round_up(2 * (int64_t)c.from, 4);
  const int64_t sums = batch * c.left * c.right;
  const int64_t chunk_floats = batch * ISO__CHUNK * (2 * (int64_t)c.left + c.right) + sums;
  const int64_t chunks = iso__max(ISO__CUT_BYTES / (int64_t)sizeof(float) / iso__max(chunk_floats, 1), 1);
  c.slice = iso__cut_slice(c.tiles, chunks * ISO__CHUNK, chunks >= ISO__PANEL / ISO__CHUNK ? ISO__PANEL : ISO__CHUNK);
  c.slots = (int)iso__ceil_div(c.slice, ISO__CHUNK);
  c.a = iso__cut_take(&c.n_floats, batch * 2 * c.slice * c.left);
  c.b = iso__cut_take(&c.n_floats, batch * c.slice * c.right);
  c.m = iso__cut_take(&c.n_floats, c.slots * sums);
  c.total = iso__cut_take(&c.n_floats, c.tiles > ISO__CHUNK ? sums : 0);
  c.panel = iso__cut_take(&c.n_floats, c.slice % ISO__PANEL && c.slice < c.tiles ? sums : 0);
  return c;
}

/* ---- cost: ns on a chip of 4 TB/s and 65 TFLOP/s ---- */

static const double spectra_bytes = 2200, product_flops = 40e3, launch = 3e3; /* a ns; ns */

static double product_ns(double m, double n, double terms, double batch) {
  return ceil(m / 64) * 64 * ceil(n / 64) * 64 * 2 * terms * batch / product_flops;
}

static double images_cost(const iso_conv_problem *p, int n) {
  const iso__fft_cuda_cut c = iso__fft_cuda_cut_images(p, n);
  const double batch = (double)c.groups * c.frequencies, tiles = (double)c.tiles;
  const double moved = batch * tiles * (2.0 * c.from * 2 + 2.0 * c.slots * c.right);
  const double kernel = p->head.kept ? 0 : launch + 8 * (double)c.u_floats / spectra_bytes;
  return 3 * launch * ceil(tiles / c.slice) + kernel + 4 * moved / spectra_bytes +
         product_ns(tiles, c.right, 2.0 * c.from, batch);
}

static double weights_cost(const iso_conv_problem *p, int n) {
  const iso__fft_cuda_cut c = iso__fft_cuda_cut_weights(p, n);
  const double batch = (double)c.groups * c.frequencies, tiles = (double)c.tiles, chunks = ceil(tiles / ISO__CHUNK);
  const double moved = batch * (tiles * 2 * (2.0 * c.left + c.right) + (chunks + 1) * 2 * c.left * (double)c.right);
  return (4 * ceil(tiles / c.slice) + 1) * launch + 4 * moved / spectra_bytes +
         product_ns(c.left, c.right, 2 * tiles, batch);
}

/* ---- the rows' functions, by class ---- */

#define ROWS(n)                                                                                                        \
  const char *iso__fft_cuda_applicable_##n(const iso__problem *problem);                                               \
  size_t iso__fft_cuda_workspace_##n(const iso__problem *problem, int n_threads);                                      \
  double iso__fft_cuda_cost_##n(const iso__problem *problem, int n_threads);                                           \
  size_t iso__fft_cuda_kept_bytes_##n(const iso__problem *problem);                                                    \
  size_t iso__fft_cuda_weights_workspace_##n(const iso__problem *problem, int n_threads);                              \
  double iso__fft_cuda_weights_cost_##n(const iso__problem *problem, int n_threads);                                   \
  const char *iso__fft_cuda_applicable_##n(const iso__problem *problem) { return applicable(problem, n); }             \
  size_t iso__fft_cuda_workspace_##n(const iso__problem *problem, int n_threads) {                                     \
    (void)n_threads;                                                                                                   \
    return iso__fft_cuda_cut_images((const iso_conv_problem *)problem, n).n_floats * sizeof(float);                    \
  }                                                                                                                    \
  double iso__fft_cuda_cost_##n(const iso__problem *problem, int n_threads) {                                          \
    (void)n_threads;                                                                                                   \
    return images_cost((const iso_conv_problem *)problem, n);                                                          \
  }                                                                                                                    \
  size_t iso__fft_cuda_kept_bytes_##n(const iso__problem *problem) {                                                   \
    return iso__fft_cuda_cut_images((const iso_conv_problem *)problem, n).u_floats * sizeof(float);                    \
  }                                                                                                                    \
  size_t iso__fft_cuda_weights_workspace_##n(const iso__problem *problem, int n_threads) {                             \
    (void)n_threads;                                                                                                   \
    return iso__fft_cuda_cut_weights((const iso_conv_problem *)problem, n).n_floats * sizeof(float);                   \
  }                                                                                                                    \
  double iso__fft_cuda_weights_cost_##n(const iso__problem *problem, int n_threads) {                                  \
    (void)n_threads;                                                                                                   \
    return weights_cost((const iso_conv_problem *)problem, n);                                                         \
  }
ISO__FFT_SIZES(ROWS)
