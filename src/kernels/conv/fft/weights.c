/* weights.c: bwd_weights of several channels a group: for each frequency the spectra of dy's tiles times those of x's
 * windows, summed over tiles; one inverse transform for each pair of channels at the end.
 *
 * Lanes are input channels, as the weights have them; rows are output channels. Stages as in image.c: what passes
 * through memory of the weights' spectra are the R wanted rows. Where chunks of tiles are several, sums stay in the
 * workspace while they pass; their number divides the 256 terms of the order, and sums are folded where those end. */
#include "kernels/conv/fft/fft.h"

typedef struct stage {
  int64_t group, first, n; /* tiles of this chunk */
} stage;

/* Unit i: tile i / blocks, block of channels i mod blocks. */
static void dy_range(const iso__fft_job *j, const void *arg, int64_t begin, int64_t end, int thread) {
  const stage *s = arg;
  const iso_conv_args *args = j->call->args;
  const int64_t lanes = j->kernels->lanes;
  (void)thread;
  for (int64_t i = begin; i < end; i++) {
    const int64_t lane = i % j->to_blocks * lanes, left = j->g.to - lane;
    const iso__fft_source dy = iso__fft_outputs(j, args->dy, s->first + i / j->to_blocks, s->group * j->g.to + lane,
                                                left < lanes ? left : lanes);
    j->tile->rows(&dy, j->a_rows, iso__fft_units(j, j->a_at + i * j->a_rows), j->a_column * j->unit);
  }
}

/* Unit i: block of channels i / tiles, tile i mod tiles. */
static void window_range(const iso__fft_job *j, const void *arg, int64_t begin, int64_t end, int thread) {
  const stage *s = arg;
  const iso_conv_args *args = j->call->args;
  const int64_t lanes = j->kernels->lanes;
  (void)thread;
  for (int64_t i = begin; i < end; i++) {
    const int64_t lane = i / s->n * lanes, left = j->g.from - lane;
    const iso__fft_source x =
        iso__fft_window(j, args->x, s->first + i % s->n, s->group * j->g.from + lane, left < lanes ? left : lanes);
    j->tile->rows(&x, j->b_rows, iso__fft_units(j, j->b_at + i * j->b_rows), j->b_column * j->unit);
  }
}

static void multiply(const iso__fft_job *j, const stage *s, int thread, int64_t block, float *sums) {
  const iso__fft_product product = {.a = iso__fft_mine(j, thread, j->my_a),
                                    .b = iso__fft_mine(j, thread, j->my_b + block * s->n),
                                    .c = sums,
                                    .a_frequency = j->a_step * j->unit,
                                    .b_frequency = j->b_step * j->unit,
                                    .c_frequency = j->c_step * j->unit,
                                    .n_rows = j->g.to,
                                    .n_terms = s->n,
                                    .a_row = 1,
                                    .a_term = j->to_blocks * j->unit,
                                    .a_im = j->to_blocks * j->kernels->lanes,
                                    .n_lane_blocks = 1,
                                    .c_row = j->unit,
                                    .resume = s->first > 0,
                                    .raw = !j->one_chunk};
  j->kernels->product(&product, 0, j->g.n);
}

/* One column: both factors' transforms, and for each block of input channels the sums and, at the end, their inverse.
 */
static void column_range(const iso__fft_job *j, const void *arg, int64_t begin, int64_t end, int thread) {
  const stage *s = arg;
  const int64_t slice = j->g.n * j->c_step;
  const bool folds = j->g.n_tiles > ISO__CHUNK;
  for (int64_t u = begin; u < end; u++) {
    j->tile->columns(iso__fft_units(j, j->a_at + u * j->a_column), j->a_rows, s->n * j->to_blocks, j->to_blocks,
                     iso__fft_mine(j, thread, j->my_a), j->a_step * j->unit);
    j->tile->columns(iso__fft_units(j, j->b_at + u * j->b_column), j->b_rows, s->n * j->from_blocks, 1,
                     iso__fft_mine(j, thread, j->my_b), j->b_step * j->unit);
    for (int64_t block = 0; block < j->from_blocks; block++) {
      const int64_t at = (u * j->from_blocks + block) * slice;
      float *sums = j->one_chunk ? iso__fft_mine(j, thread, j->my_c) : iso__fft_units(j, j->whole_at + at);
      multiply(j, s, thread, block, sums);
      if (!j->one_chunk)
        iso__fft_fold(j, s->first + s->n, sums, folds ? iso__fft_units(j, j->panel_at + at) : NULL,
                      folds ? iso__fft_units(j, j->total_at + at) : NULL, slice * j->unit);
      if (s->first + s->n == j->g.n_tiles)
        j->tile->inverse_columns(sums, j->c_step * j->unit, true, j->g.to,
                                 iso__fft_units(j, j->c_at + u * j->c_column + block * j->g.to * j->c_rows), j->c_rows);
    }
  }
}

/* Unit i: block of input channels i / outputs, output channel i mod outputs. */
static void result_range(const iso__fft_job *j, const void *arg, int64_t begin, int64_t end, int thread) {
  const stage *s = arg;
  const iso_conv_problem *p = j->problem;
  const int64_t lanes = j->kernels->lanes, from = j->g.from;
  float *dw = (float *)((const iso_conv_args *)j->call->args)->dw + s->group * j->g.to * p->r * p->s * from;
  (void)thread;
  for (int64_t i = begin; i < end; i++) {
    const int64_t k = i % j->g.to, lane = i / j->g.to * lanes, left = from - lane;
    const iso__fft_sink sink = {.base = dw + k * p->r * p->s * from + lane,
                                .row_step = p->s * from,
                                .col_step = from,
                                .n_rows = (int)p->r,
                                .n_cols = (int)p->s,
                                .n_lanes = (int)(left < lanes ? left : lanes),
                                .scale = j->g.scale};
    j->tile->results(iso__fft_units(j, j->c_at + i * j->c_rows), j->c_column * j->unit, true, &sink);
  }
}

static void run_chunk(const iso__fft_job *j, const stage *s) {
  const double one = iso__fft_transform_flops(j);
  const int64_t n_dy = s->n * j->to_blocks, n_windows = s->n * j->from_blocks;
  const double products = 8 * (double)(j->n_frequencies * s->n * j->g.from * j->g.to);
  iso__fft_share(j, n_dy, (double)n_dy * one / 2, dy_range, s);
  iso__fft_share(j, n_windows, (double)n_windows * one / 2, window_range, s);
  iso__fft_share(j, j->g.n_columns, products + (double)(n_dy + n_windows) * one / 2, column_range, s);
}

void iso__fft_weights_run(const iso__fft_job *j) {
  const int64_t n_results = j->g.to * j->from_blocks;
  if (n_results == 0) return;
  for (stage s = {0}; s.group < j->g.groups; s.group++) {
    s.first = s.n = 0;
    if (j->g.n_tiles == 0) run_chunk(j, &s); /* no term: +0 */
    for (; s.first < j->g.n_tiles; s.first += j->chunk) {
      s.n = j->g.n_tiles - s.first < j->chunk ? j->g.n_tiles - s.first : j->chunk;
      run_chunk(j, &s);
    }
    iso__fft_share(j, n_results, (double)n_results * iso__fft_transform_flops(j) / 8, result_range, &s);
  }
}
