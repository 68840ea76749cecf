/* depthwise.c: one channel in and out of every group: lanes are groups, a product has one term, and between reading a
 * tile and writing it nothing leaves L2. */
#include <string.h>
#include "kernels/conv/fft/fft.h"

static int64_t lanes_of(const iso__fft_job *j, int64_t block) {
  const int64_t lanes = j->kernels->lanes, left = j->g.groups - block * lanes;
  return left < lanes ? left : lanes;
}
static int64_t n_blocks(const iso__fft_job *j) { return iso__fft_blocks(j->g.groups, j->kernels->lanes); }

/* ---- forward and bwd_data ---- */

static void kernel_range(const iso__fft_job *j, const void *arg, int64_t begin, int64_t end, int thread) {
  float *const *spectra = arg;
  const int64_t lanes = j->kernels->lanes, taps = j->problem->r * j->problem->s;
  float *scratch = iso__fft_mine(j, thread, 0), *side = iso__fft_mine(j, thread, j->my_side);
  const float *w = ((const iso_conv_args *)j->call->args)->w;
  for (int64_t block = begin; block < end; block++) {
    iso__fft_gather(j, w + block * lanes * taps, taps, 1, lanes_of(j, block), taps, side);
    const iso__fft_source source = iso__fft_kernel(j, side, lanes, lanes);
    j->tile->transform(&source, scratch, *spectra + block * j->n_frequencies * j->unit, j->unit);
  }
}

void iso__fft_depthwise_kernels(const iso__fft_job *j, float *spectra) {
  iso__fft_share(j, n_blocks(j), (double)n_blocks(j) * iso__fft_transform_flops(j), kernel_range, &spectra);
}

/* Unit i: block of channels i / tiles, tile i mod tiles: a kernel's spectrum serves all samples. */
static void tile_range(const iso__fft_job *j, const void *arg, int64_t begin, int64_t end, int thread) {
  const float *const *spectra = arg;
  const iso_conv_args *args = j->call->args;
  const bool backward = j->problem->head.op == ISO__OP_CONV_BWD_DATA;
  const int64_t lanes = j->kernels->lanes;
  for (int64_t i = begin; i < end; i++) {
    const int64_t block = i / j->g.n_tiles, tile = i % j->g.n_tiles;
    const iso__fft_source source =
        iso__fft_window(j, backward ? args->dy : args->x, tile, block * lanes, lanes_of(j, block));
    const iso__fft_sink sink =
        iso__fft_results(j, backward ? args->dx : args->y, tile, block * lanes, lanes_of(j, block));
    j->tile->pointwise(&source, *spectra + block * j->n_frequencies * j->unit, iso__fft_mine(j, thread, 0), &sink);
  }
}

void iso__fft_depthwise_run(const iso__fft_job *j) {
  const float *spectra = j->call->kept;
  if (!spectra) {
    iso__fft_depthwise_kernels(j, iso__fft_units(j, j->whole_at));
    spectra = iso__fft_units(j, j->whole_at);
  }
  const int64_t n = n_blocks(j) * j->g.n_tiles;
  iso__fft_share(j, n, 2 * (double)n * iso__fft_transform_flops(j), tile_range, &spectra);
}

/* ---- bwd_weights ---- */

static void scatter(const iso__fft_job *j, const float *side, int64_t n_lanes, int64_t taps, float *dw) {
  for (int64_t i = 0; i < taps; i++)
    for (int64_t lane = 0; lane < n_lanes; lane++) dw[lane * taps + i] = side[i * j->kernels->lanes + lane];
}

static void weights_range(const iso__fft_job *j, const void *arg, int64_t begin, int64_t end, int thread) {
  (void)arg;
  const iso_conv_args *args = j->call->args;
  const int64_t lanes = j->kernels->lanes, spectrum = j->n_frequencies * j->unit;
  const int64_t kernel_cols = j->problem->s, taps = j->problem->r * kernel_cols;
  float *scratch = iso__fft_mine(j, thread, 0), *side = iso__fft_mine(j, thread, j->my_side),
        *dy = iso__fft_mine(j, thread, j->my_a);
  float *x = dy + spectrum, *sum = x + spectrum, *panel = sum + spectrum, *total = panel + spectrum;
  for (int64_t block = begin; block < end; block++) {
    const int64_t n_lanes = lanes_of(j, block);
    memset(sum, 0, (size_t)spectrum * sizeof *sum);
    for (int64_t tile = 0; tile < j->g.n_tiles; tile++) {
      const iso__fft_source left = iso__fft_outputs(j, args->dy, tile, block * lanes, n_lanes),
                            right = iso__fft_window(j, args->x, tile, block * lanes, n_lanes);
      j->tile->transform(&left, scratch, dy, j->unit);
      j->tile->transform(&right, scratch, x, j->unit);
      j->kernels->accumulate(sum, dy, x, j->n_frequencies);
      iso__fft_fold(j, tile + 1, sum, panel, total, spectrum);
    }
    const iso__fft_sink sink = {.base = side,
                                .row_step = kernel_cols * lanes,
                                .col_step = lanes,
                                .n_rows = (int)j->problem->r,
                                .n_cols = (int)kernel_cols,
                                .n_lanes = (int)lanes,
                                .scale = j->g.scale};
    j->tile->inverse(sum, j->unit, true, scratch, &sink);
    scatter(j, side, n_lanes, taps, (float *)args->dw + block * lanes * taps);
  }
}

void iso__fft_depthwise_weights_run(const iso__fft_job *j) {
  const double flops = 2 * (double)(n_blocks(j) * j->g.n_tiles) * iso__fft_transform_flops(j);
  iso__fft_share(j, n_blocks(j), flops, weights_range, NULL);
}
