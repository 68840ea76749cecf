/* image.c: forward and bwd_data of several channels a group.
 *
 * Three stages a chunk of tiles: row spectra of all windows; for each column of the spectra the transforms down it, the
 * complex matrix product of each of its N frequencies, and the transforms back; rows back into results. A column's
 * spectra stay in L2, and the kernels' are made column by column too, again for every chunk: a kernel's rows are R of
 * N, so that what passes through memory is a fraction of its spectrum. The workspace doesn't grow with the batch. */
#include "kernels/conv/fft/fft.h"

typedef struct stage {
  int64_t group, first; /* of this chunk */
  int64_t n;            /* its tiles */
  const float *whole;   /* the kernels' spectra, if they were kept; NULL: made on the way, from their row spectra */
  float *spectra;       /* the same, while they are being made */
} stage;

/* Kernel i: block of lanes i / terms, term i mod terms. */
static iso__fft_source kernel_of(const iso__fft_job *j, int64_t group, int64_t i, float *side) {
  const iso_conv_problem *p = j->problem;
  const int64_t lanes = j->kernels->lanes, cg = p->c / p->groups, kernel = p->r * p->s * cg;
  const float *w = (const float *)((const iso_conv_args *)j->call->args)->w + group * (p->k / p->groups) * kernel;
  const int64_t lane = i / j->g.from * lanes, term = i % j->g.from;
  const int64_t n_lanes = j->g.to - lane < lanes ? j->g.to - lane : lanes;
  if (p->head.op == ISO__OP_CONV_BWD_DATA) return iso__fft_kernel(j, w + term * kernel + lane, cg, n_lanes);
  iso__fft_gather(j, w + lane * kernel + term, kernel, cg, n_lanes, p->r * p->s, side);
  return iso__fft_kernel(j, side, lanes, lanes);
}

static void kernel_range(const iso__fft_job *j, const void *arg, int64_t begin, int64_t end, int thread) {
  const stage *s = arg;
  for (int64_t i = begin; i < end; i++) {
    const iso__fft_source kernel = kernel_of(j, s->group, i, iso__fft_mine(j, thread, j->my_side));
    j->tile->transform(&kernel, iso__fft_mine(j, thread, 0), s->spectra + i * j->unit, j->b_step * j->unit);
  }
}

void iso__fft_image_kernels(const iso__fft_job *j, int64_t group, float *spectra) {
  const stage s = {.group = group, .spectra = spectra};
  const int64_t n = j->to_blocks * j->g.from;
  iso__fft_share(j, n, (double)n * iso__fft_transform_flops(j), kernel_range, &s);
}

static void kernel_rows_range(const iso__fft_job *j, const void *arg, int64_t begin, int64_t end, int thread) {
  const stage *s = arg;
  for (int64_t i = begin; i < end; i++) {
    const iso__fft_source kernel = kernel_of(j, s->group, i, iso__fft_mine(j, thread, j->my_side));
    j->tile->rows(&kernel, j->b_rows, iso__fft_units(j, j->b_at + i * j->b_rows), j->b_column * j->unit);
  }
}

/* Unit i: tile i / blocks, block of channels i mod blocks. */
static void window_range(const iso__fft_job *j, const void *arg, int64_t begin, int64_t end, int thread) {
  const stage *s = arg;
  const iso_conv_args *args = j->call->args;
  const float *image = j->problem->head.op == ISO__OP_CONV_BWD_DATA ? args->dy : args->x;
  const int64_t lanes = j->kernels->lanes;
  (void)thread;
  for (int64_t i = begin; i < end; i++) {
    const int64_t lane = i % j->from_blocks * lanes, left = j->g.from - lane;
    const iso__fft_source source = iso__fft_window(j, image, s->first + i / j->from_blocks, s->group * j->g.from + lane,
                                                   left < lanes ? left : lanes);
    j->tile->rows(&source, j->a_rows, iso__fft_units(j, j->a_at + i * j->a_rows), j->a_column * j->unit);
  }
}

/* Products of one column for lane blocks [block, block + n). */
static void multiply(const iso__fft_job *j, const stage *s, int thread, const float *kernels, int64_t step,
                     int64_t block, int64_t n) {
  const iso__fft_product product = {.a = iso__fft_mine(j, thread, j->my_a),
                                    .b = kernels,
                                    .c = iso__fft_mine(j, thread, j->my_c + block),
                                    .a_frequency = j->a_step * j->unit,
                                    .b_frequency = step * j->unit,
                                    .c_frequency = j->c_step * j->unit,
                                    .n_rows = s->n,
                                    .n_terms = j->g.from,
                                    .a_row = j->from_blocks * j->unit,
                                    .a_term = 1,
                                    .a_im = j->from_blocks * j->kernels->lanes,
                                    .n_lane_blocks = n,
                                    .b_block = j->g.from * j->unit,
                                    .c_row = j->to_blocks * j->unit};
  j->kernels->product(&product, 0, j->g.n);
}

static void column_range(const iso__fft_job *j, const void *arg, int64_t begin, int64_t end, int thread) {
  const stage *s = arg;
  for (int64_t u = begin; u < end; u++) {
    j->tile->columns(iso__fft_units(j, j->a_at + u * j->a_column), j->a_rows, s->n * j->from_blocks, j->from_blocks,
                     iso__fft_mine(j, thread, j->my_a), j->a_step * j->unit);
    for (int64_t block = 0; block < j->to_blocks; block += j->block_group) {
      const int64_t left = j->to_blocks - block, n = left < j->block_group ? left : j->block_group;
      if (s->whole) {
        multiply(j, s, thread, s->whole + u * j->g.n * j->b_step * j->unit, j->b_step, block, n);
      } else {
        const int64_t step = iso__fft_odd(j->block_group * j->g.from);
        float *kernels = iso__fft_mine(j, thread, j->my_b);
        j->tile->columns(iso__fft_units(j, j->b_at + u * j->b_column + block * j->g.from * j->b_rows), j->b_rows,
                         n * j->g.from, 1, kernels, step * j->unit);
        multiply(j, s, thread, kernels, step, block, n);
      }
    }
    j->tile->inverse_columns(iso__fft_mine(j, thread, j->my_c), j->c_step * j->unit, false, s->n * j->to_blocks,
                             iso__fft_units(j, j->c_at + u * j->c_column), j->c_rows);
  }
}

static void result_range(const iso__fft_job *j, const void *arg, int64_t begin, int64_t end, int thread) {
  const stage *s = arg;
  const iso_conv_args *args = j->call->args;
  float *y = j->problem->head.op == ISO__OP_CONV_BWD_DATA ? args->dx : args->y;
  const int64_t lanes = j->kernels->lanes;
  (void)thread;
  for (int64_t i = begin; i < end; i++) {
    const int64_t lane = i % j->to_blocks * lanes, left = j->g.to - lane;
    const iso__fft_sink sink =
        iso__fft_results(j, y, s->first + i / j->to_blocks, s->group * j->g.to + lane, left < lanes ? left : lanes);
    j->tile->results(iso__fft_units(j, j->c_at + i * j->c_rows), j->c_column * j->unit, false, &sink);
  }
}

static void run_chunk(const iso__fft_job *j, const stage *s) {
  const double one = iso__fft_transform_flops(j);
  const int64_t n_windows = s->n * j->from_blocks, n_results = s->n * j->to_blocks;
  const double products = 8 * (double)(j->n_frequencies * s->n * j->g.from * j->g.to);
  iso__fft_share(j, n_windows, (double)n_windows * one / 2, window_range, s);
  iso__fft_share(j, j->g.n_columns, products + (double)(n_windows + n_results) * one / 2, column_range, s);
  iso__fft_share(j, n_results, (double)n_results * one / 2, result_range, s);
}

void iso__fft_image_run(const iso__fft_job *j) {
  if (j->g.n_tiles == 0 || j->g.to == 0) return;
  const int64_t spectra = j->n_frequencies * j->b_step * j->unit, n_kernels = j->to_blocks * j->g.from;
  for (int64_t group = 0; group < j->g.groups; group++) {
    stage s = {.group = group};
    if (j->call->kept) {
      s.whole = (const float *)j->call->kept + group * spectra;
    } else {
      iso__fft_share(j, n_kernels, (double)n_kernels * iso__fft_transform_flops(j) / 8, kernel_rows_range, &s);
    }
    for (s.first = 0; s.first < j->g.n_tiles; s.first += j->chunk) {
      s.n = j->g.n_tiles - s.first < j->chunk ? j->g.n_tiles - s.first : j->chunk;
      run_chunk(j, &s);
    }
  }
}
