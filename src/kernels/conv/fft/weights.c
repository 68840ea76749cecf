/* weights.c: bwd_weights of several channels a group: for each frequency the spectra of dy's tiles times those of x's
 * windows, summed over tiles; one inverse transform for each pair of channels at the end.
 *
 * Lanes are input channels, as the weights have them; rows are output channels. Sums stay in memory while chunks of
 * tiles pass, whose number divides the 256 terms of the order, and are folded where those end. */
#include "kernels/conv/fft/fft.h"

typedef struct stage {
  int64_t group, first, n; /* tiles of this chunk */
} stage;

/* Unit i: tile, then blocks of dy's channels, then blocks of x's. */
static void spectra_range(const iso__fft_job *j, const void *arg, int64_t begin, int64_t end, int thread) {
  const stage *s = arg;
  const iso_conv_args *args = j->call->args;
  const int64_t lanes = j->kernels->lanes, blocks = j->to_blocks + j->from_blocks;
  for (int64_t i = begin; i < end; i++) {
    const int64_t t = i / blocks, block = i % blocks;
    if (block < j->to_blocks) {
      const int64_t left = j->g.to - block * lanes;
      const iso__fft_source dy =
          iso__fft_outputs(j, args->dy, s->first + t, s->group * j->g.to + block * lanes, left < lanes ? left : lanes);
      float *out = iso__fft_units(j, j->a_at + t * j->to_blocks + block);
      j->tile->transform(&dy, iso__fft_mine(j, thread), out, j->a_step * j->unit);
    } else {
      const int64_t b = block - j->to_blocks, left = j->g.from - b * lanes;
      const iso__fft_source x =
          iso__fft_window(j, args->x, s->first + t, s->group * j->g.from + b * lanes, left < lanes ? left : lanes);
      j->tile->transform(&x, iso__fft_mine(j, thread), iso__fft_units(j, j->b_at + b * j->chunk + t),
                         j->b_step * j->unit);
    }
  }
}

static void product_range(const iso__fft_job *j, const void *arg, int64_t begin, int64_t end, int thread) {
  const stage *s = arg;
  (void)thread;
  const iso__fft_product product = {.a = iso__fft_units(j, j->a_at),
                                    .b = iso__fft_units(j, j->b_at),
                                    .c = iso__fft_units(j, j->c_at),
                                    .a_frequency = j->a_step * j->unit,
                                    .b_frequency = j->b_step * j->unit,
                                    .c_frequency = j->c_step * j->unit,
                                    .n_rows = j->g.to,
                                    .row_block = j->kernels->lanes,
                                    .a_row_block = j->unit,
                                    .a_row = 1,
                                    .n_terms = s->n,
                                    .block = s->n,
                                    .a_term = j->to_blocks * j->unit,
                                    .n_lane_blocks = j->from_blocks,
                                    .b_block = j->chunk * j->unit,
                                    .c_row = j->from_blocks * j->unit,
                                    .resume = s->first > 0,
                                    .raw = true};
  j->kernels->product(&product, begin, end);
  const int64_t step = j->c_step * j->unit, n = (end - begin) * step;
  const bool folds = j->g.n_tiles > ISO__FFT_CHUNK;
  iso__fft_fold(j, s->first + s->n, iso__fft_units(j, j->c_at) + begin * step,
                folds ? iso__fft_units(j, j->panel_at) + begin * step : NULL,
                folds ? iso__fft_units(j, j->total_at) + begin * step : NULL, n);
}

/* Unit i: output channel i / blocks, block of input channels i mod blocks. */
static void result_range(const iso__fft_job *j, const void *arg, int64_t begin, int64_t end, int thread) {
  const stage *s = arg;
  const iso_conv_problem *p = j->problem;
  const int64_t lanes = j->kernels->lanes, from = j->g.from;
  float *dw = (float *)((const iso_conv_args *)j->call->args)->dw + s->group * j->g.to * p->r * p->s * from;
  for (int64_t i = begin; i < end; i++) {
    const int64_t k = i / j->from_blocks, lane = i % j->from_blocks * lanes, left = from - lane;
    const iso__fft_sink sink = {.base = dw + k * p->r * p->s * from + lane,
                                .row_step = p->s * from,
                                .col_step = from,
                                .n_rows = (int)p->r,
                                .n_cols = (int)p->s,
                                .n_lanes = (int)(left < lanes ? left : lanes),
                                .scale = j->g.scale};
    j->tile->inverse(iso__fft_units(j, j->c_at + i), j->c_step * j->unit, true, iso__fft_mine(j, thread), &sink);
  }
}

void iso__fft_weights_run(const iso__fft_job *j) {
  const double one = iso__fft_transform_flops(j);
  const int64_t n_results = j->g.to * j->from_blocks;
  if (n_results == 0) return;
  for (stage s = {0}; s.group < j->g.groups; s.group++) {
    s.n = 0;
    if (j->g.n_tiles == 0) iso__fft_share(j, j->n_frequencies, 0, product_range, &s); /* no term: +0 */
    for (s.first = 0; s.first < j->g.n_tiles; s.first += j->chunk) {
      s.n = j->g.n_tiles - s.first < j->chunk ? j->g.n_tiles - s.first : j->chunk;
      const int64_t n_spectra = s.n * (j->to_blocks + j->from_blocks);
      iso__fft_share(j, n_spectra, (double)n_spectra * one, spectra_range, &s);
      const double flops = 8 * (double)(j->n_frequencies * s.n * j->g.from * j->g.to);
      iso__fft_share(j, j->n_frequencies, flops, product_range, &s);
    }
    s.first = 0;
    iso__fft_share(j, n_results, (double)n_results * one, result_range, &s);
  }
}
