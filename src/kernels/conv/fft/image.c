/* image.c: forward and bwd_data of several channels a group: spectra of a chunk of tiles, one complex matrix product a
 * frequency with the kernels' spectra, and back.
 *
 * Kernels' spectra (frequency, block of lanes, term, unit) are transformed once a group and read once a chunk of tiles;
 * a chunk's own spectra stay in L2 or L3. The workspace doesn't grow with the batch. */
#include "kernels/conv/fft/fft.h"

typedef struct stage {
  int64_t group, first; /* of this chunk */
  int64_t n;            /* its tiles */
  const float *kernels; /* spectra */
  float *spectra;       /* the same, where they are being made */
} stage;

/* Unit i: block of lanes i / terms, term i mod terms. */
static void kernel_range(const iso__fft_job *j, const void *arg, int64_t begin, int64_t end, int thread) {
  const stage *s = arg;
  const iso_conv_problem *p = j->problem;
  const int64_t lanes = j->kernels->lanes, cg = p->c / p->groups, kernel = p->r * p->s * cg;
  float *scratch = iso__fft_mine(j, thread), *side = scratch + iso__fft_scratch_units(j->g.n) * j->unit;
  const float *w = (const float *)((const iso_conv_args *)j->call->args)->w + s->group * (p->k / p->groups) * kernel;
  for (int64_t i = begin; i < end; i++) {
    const int64_t lane = i / j->g.from * lanes, term = i % j->g.from;
    const int64_t n_lanes = j->g.to - lane < lanes ? j->g.to - lane : lanes;
    iso__fft_source source;
    if (p->head.op == ISO__OP_CONV_BWD_DATA) {
      source = iso__fft_kernel(j, w + term * kernel + lane, cg, n_lanes);
    } else {
      iso__fft_gather(j, w + lane * kernel + term, kernel, cg, n_lanes, p->r * p->s, side);
      source = iso__fft_kernel(j, side, lanes, lanes);
    }
    j->tile->transform(&source, scratch, s->spectra + i * j->unit, j->b_step * j->unit);
  }
}

void iso__fft_image_kernels(const iso__fft_job *j, int64_t group, float *spectra) {
  const stage s = {.group = group, .spectra = spectra};
  const int64_t n = j->to_blocks * j->g.from;
  iso__fft_share(j, n, (double)n * iso__fft_transform_flops(j), kernel_range, &s);
}

/* Unit i: tile i / blocks, block of channels i mod blocks. */
static void window_range(const iso__fft_job *j, const void *arg, int64_t begin, int64_t end, int thread) {
  const stage *s = arg;
  const iso_conv_args *args = j->call->args;
  const float *image = j->problem->head.op == ISO__OP_CONV_BWD_DATA ? args->dy : args->x;
  const int64_t lanes = j->kernels->lanes;
  for (int64_t i = begin; i < end; i++) {
    const int64_t lane = i % j->from_blocks * lanes, left = j->g.from - lane;
    const iso__fft_source source = iso__fft_window(j, image, s->first + i / j->from_blocks, s->group * j->g.from + lane,
                                                   left < lanes ? left : lanes);
    j->tile->transform(&source, iso__fft_mine(j, thread), iso__fft_units(j, j->a_at + i), j->a_step * j->unit);
  }
}

static void product_range(const iso__fft_job *j, const void *arg, int64_t begin, int64_t end, int thread) {
  const stage *s = arg;
  (void)thread;
  const iso__fft_product product = {.a = iso__fft_units(j, j->a_at),
                                    .b = s->kernels,
                                    .c = iso__fft_units(j, j->c_at),
                                    .a_frequency = j->a_step * j->unit,
                                    .b_frequency = j->b_step * j->unit,
                                    .c_frequency = j->c_step * j->unit,
                                    .n_rows = s->n,
                                    .row_block = s->n,
                                    .a_row = j->from_blocks * j->unit,
                                    .n_terms = j->g.from,
                                    .block = j->kernels->lanes,
                                    .a_block = j->unit,
                                    .a_term = 1,
                                    .n_lane_blocks = j->to_blocks,
                                    .b_block = j->g.from * j->unit,
                                    .c_row = j->to_blocks * j->unit};
  j->kernels->product(&product, begin, end);
}

static void result_range(const iso__fft_job *j, const void *arg, int64_t begin, int64_t end, int thread) {
  const stage *s = arg;
  const iso_conv_args *args = j->call->args;
  float *y = j->problem->head.op == ISO__OP_CONV_BWD_DATA ? args->dx : args->y;
  const int64_t lanes = j->kernels->lanes;
  for (int64_t i = begin; i < end; i++) {
    const int64_t lane = i % j->to_blocks * lanes, left = j->g.to - lane;
    const iso__fft_sink sink =
        iso__fft_results(j, y, s->first + i / j->to_blocks, s->group * j->g.to + lane, left < lanes ? left : lanes);
    j->tile->inverse(iso__fft_units(j, j->c_at + i), j->c_step * j->unit, false, iso__fft_mine(j, thread), &sink);
  }
}

static void run_chunk(const iso__fft_job *j, const stage *s) {
  const double one = iso__fft_transform_flops(j);
  const double flops = 8 * (double)(j->n_frequencies * s->n * j->g.from * j->g.to);
  iso__fft_share(j, s->n * j->from_blocks, (double)(s->n * j->from_blocks) * one, window_range, s);
  iso__fft_share(j, j->n_frequencies, flops, product_range, s);
  iso__fft_share(j, s->n * j->to_blocks, (double)(s->n * j->to_blocks) * one, result_range, s);
}

void iso__fft_image_run(const iso__fft_job *j) {
  if (j->g.n_tiles == 0 || j->g.to == 0) return;
  for (int64_t group = 0; group < j->g.groups; group++) {
    stage s = {.group = group};
    if (j->call->kept) {
      s.kernels = (const float *)j->call->kept + group * j->n_frequencies * j->b_step * j->unit;
    } else {
      iso__fft_image_kernels(j, group, iso__fft_units(j, j->b_at));
      s.kernels = iso__fft_units(j, j->b_at);
    }
    for (s.first = 0; s.first < j->g.n_tiles; s.first += j->chunk) {
      s.n = j->g.n_tiles - s.first < j->chunk ? j->g.n_tiles - s.first : j->chunk;
      run_chunk(j, &s);
    }
  }
}
