/* run.c: what the FFT engines share: memory, threads, and where windows, kernels and results lie. */
#include "base/context.h"
#include "kernels/conv/fft/fft.h"
#include "kernels/gemm/gemm.h"
#include "kernels/sizes.h"

enum {
  COLUMN_BYTES = 512 << 10, /* of a chunk's spectra of one column and of its products */
  KERNEL_BYTES = 256 << 10, /* of kernels' spectra of one column made at a time */
  MIN_CHUNK = 16,           /* tiles: fewer would transform the kernels' columns too often */
  MAX_CHUNK = 256,          /* terms of the order's chunk: whole numbers of ours */
  SMALL_FLOPS = 2000000,    /* not worth waking a thread */
  SPARE = 8,                /* units after the last item of inverse_columns */
};

int iso__fft_n(iso__fft_size size) {
  static const int sizes[] = {
#define SIZE(n) n,
      ISO__FFT_SIZES(SIZE)
#undef SIZE
  };
  return sizes[size];
}

static int max_int(int a, int b) { return a > b ? a : b; }

/* ---- memory ---- */

/* Tiles at a time; a power of two where there are more, so that chunks of 256 terms are whole numbers of them. */
static void choose_chunk(iso__fft_job *j) {
  const int64_t tile_bytes = j->g.n * (j->from_blocks + j->to_blocks) * j->unit * (int64_t)sizeof(float);
  const int64_t tiles = iso__max(j->g.n_tiles, 1);
  j->chunk = MIN_CHUNK;
  while (2 * j->chunk <= MAX_CHUNK && 2 * j->chunk * tile_bytes <= COLUMN_BYTES) j->chunk *= 2;
  j->one_chunk = tiles <= j->chunk;
  if (j->one_chunk) j->chunk = tiles;
}

/* Rows of whole groups that hold all of [0, end). */
static int whole_groups(const iso__fft_job *j, int end) {
  const int group = iso__fft_second_radix(j->g.n);
  return max_int(end + group - 1, group) / group * group;
}
static int window_rows(const iso__fft_job *j) {
  return j->g.row.n_tiles == 1 ? whole_groups(j, iso__fft_image_span(&j->g.row, j->g.n, 0).end) : j->g.n;
}
static int output_rows(const iso__fft_job *j) { return (int)iso__min(j->g.row.step, iso__max(j->g.row.outputs, 1)); }

/* a: windows (tile, block); b: kernels (block, term); c: results (tile, block). */
static void lay_out_image(iso__fft_job *j, int64_t *at) {
  const int64_t columns = j->g.n_columns, n = j->g.n, kernels = j->to_blocks * j->g.from;
  const bool on_the_way = !j->problem->head.kept;
  j->a_rows = window_rows(j), j->b_rows = whole_groups(j, (int)j->g.row.kernel);
  j->c_rows = (output_rows(j) + 1) / 2 * 2;
  j->a_column = iso__fft_odd(j->chunk * j->from_blocks * j->a_rows);
  j->b_column = iso__fft_odd(kernels * j->b_rows);
  j->c_column = iso__fft_odd(j->chunk * j->to_blocks * j->c_rows + SPARE);
  j->a_at = iso__fft_take(at, columns * j->a_column);
  j->b_at = iso__fft_take(at, on_the_way ? columns * j->b_column : 0);
  j->c_at = iso__fft_take(at, columns * j->c_column);
  j->b_step = iso__fft_odd(kernels);
  j->a_step = iso__fft_odd(j->chunk * j->from_blocks), j->c_step = iso__fft_odd(j->chunk * j->to_blocks);
  const int64_t block_bytes = n * j->g.from * j->unit * (int64_t)sizeof(float);
  j->block_group = on_the_way
                       ? iso__min(iso__max(KERNEL_BYTES / iso__max(block_bytes, 1), 1), iso__max(j->to_blocks, 1))
                       : iso__max(j->to_blocks, 1);
  j->my_a = iso__fft_take(&j->thread_units, n * j->a_step);
  j->my_b = iso__fft_take(&j->thread_units, on_the_way ? n * iso__fft_odd(j->block_group * j->g.from) : 0);
  j->my_c = iso__fft_take(&j->thread_units, n * j->c_step);
}

/* a: dy (tile, block); b: windows (block, tile); c: weights (block of input channels, output channel). */
static void lay_out_weights(iso__fft_job *j, int64_t *at) {
  const int64_t columns = j->g.n_columns, n = j->g.n, weights = j->from_blocks * j->g.to;
  j->a_rows = whole_groups(j, output_rows(j)), j->b_rows = window_rows(j);
  j->c_rows = (int)(j->g.row.kernel + 1) / 2 * 2;
  j->a_column = iso__fft_odd(j->chunk * j->to_blocks * j->a_rows);
  j->b_column = iso__fft_odd(j->chunk * j->from_blocks * j->b_rows);
  j->c_column = iso__fft_odd(weights * j->c_rows + SPARE);
  j->a_at = iso__fft_take(at, columns * j->a_column);
  j->b_at = iso__fft_take(at, columns * j->b_column);
  j->c_at = iso__fft_take(at, columns * j->c_column);
  j->a_step = iso__fft_odd(j->chunk * j->to_blocks), j->b_step = iso__fft_odd(j->chunk * j->from_blocks);
  j->c_step = iso__fft_odd(j->g.to);
  const int64_t sums = columns * j->from_blocks * n * j->c_step, n_folds = j->g.n_tiles > ISO__CHUNK ? 1 : 0;
  j->whole_at = iso__fft_take(at, j->one_chunk ? 0 : sums);
  j->panel_at = iso__fft_take(at, n_folds * sums);
  j->total_at = iso__fft_take(at, n_folds * sums);
  j->my_a = iso__fft_take(&j->thread_units, n * j->a_step);
  j->my_b = iso__fft_take(&j->thread_units, n * j->b_step);
  j->my_c = iso__fft_take(&j->thread_units, j->one_chunk ? n * j->c_step : 0);
}

iso__fft_job iso__fft_job_of(const iso__fft_kernels *kernels, const iso__problem *problem, iso__fft_size size,
                             int n_threads) {
  const iso_conv_problem *p = (const iso_conv_problem *)problem;
  const int n = iso__fft_n(size);
  iso__fft_job j = {.problem = p,
                    .kernels = kernels,
                    .tile = &kernels->size[size],
                    .g = iso__fft_geometry_of(p, n),
                    .n_threads = n_threads};
  const bool gradient = p->head.op == ISO__OP_CONV_BWD_WEIGHTS;
  const int64_t lanes = kernels->lanes;
  j.unit = 2 * lanes;
  j.n_frequencies = (int64_t)n * j.g.n_columns;
  j.from_blocks = iso__fft_blocks(j.g.from, lanes), j.to_blocks = iso__fft_blocks(j.g.to, lanes);
  iso__fft_take(&j.thread_units, iso__fft_scratch_units(n));
  j.my_side = iso__fft_take(&j.thread_units, iso__fft_blocks(p->r * p->s, 2)); /* a kernel, its lanes side by side */
  int64_t at = 0;
  if (!iso__fft_is_depthwise(&j.g)) {
    choose_chunk(&j);
    if (gradient) lay_out_weights(&j, &at);
    else lay_out_image(&j, &at);
  } else if (gradient) {
    j.my_a = iso__fft_take(&j.thread_units, 5 * j.n_frequencies); /* both spectra, sum, panel, total */
  } else {
    const int64_t blocks = iso__fft_blocks(j.g.groups, lanes);
    j.whole_at = iso__fft_take(&at, p->head.kept ? 0 : j.n_frequencies * blocks);
  }
  j.threads_at = at;
  j.n_units = at + n_threads * j.thread_units;
  return j;
}

size_t iso__fft_workspace(const iso__fft_kernels *kernels, const iso__problem *problem, iso__fft_size size,
                          int n_threads) {
  const iso__fft_job j = iso__fft_job_of(kernels, problem, size, n_threads);
  return (size_t)(j.n_units * j.unit) * sizeof(float);
}

/* Sees the weights' shape only. */
size_t iso__fft_kept_bytes(const iso__fft_kernels *kernels, const iso__problem *problem, iso__fft_size size) {
  const iso_conv_problem *p = (const iso_conv_problem *)problem;
  const bool backward = p->head.op == ISO__OP_CONV_BWD_DATA;
  const int64_t cg = p->c / p->groups, kg = p->k / p->groups, lanes = kernels->lanes;
  const int64_t from = backward ? kg : cg, to = backward ? cg : kg, n = iso__fft_n(size), frequencies = n * (n / 2 + 1);
  const int64_t units = from == 1 && to == 1 ? iso__fft_blocks(p->groups, lanes)
                                             : p->groups * iso__fft_odd(iso__fft_blocks(to, lanes) * from);
  return (size_t)(frequencies * units * 2 * lanes) * sizeof(float);
}

/* ---- threads ---- */

typedef struct shared {
  const iso__fft_job *job;
  const void *arg;
  iso__fft_range_fn *fn;
  int64_t n;
  int n_tasks;
} shared;

static void run_task(void *arg, int task, int thread) {
  const shared *s = arg;
  s->fn(s->job, s->arg, s->n * task / s->n_tasks, s->n * (task + 1) / s->n_tasks, thread);
}

void iso__fft_share(const iso__fft_job *job, int64_t n, double flops, iso__fft_range_fn *fn, const void *arg) {
  if (n == 0) return;
  shared s = {.job = job, .arg = arg, .fn = fn, .n = n, .n_tasks = 1};
  if (job->n_threads > 1 && flops > SMALL_FLOPS) s.n_tasks = (int)iso__min(n, 8 * job->n_threads);
  if (s.n_tasks == 1) run_task(&s, 0, 0);
  else iso__parallel(job->call->ctx, s.n_tasks, run_task, &s);
}

double iso__fft_transform_flops(const iso__fft_job *j) {
  const double n = j->g.n; /* about 14 instructions a point */
  return 28 * n * n * (double)j->kernels->lanes;
}

/* ---- where things lie ---- */

typedef struct place {
  int64_t sample, row, col;
} place;
static place place_of(const iso__fft_geometry *g, int64_t tile) {
  const int64_t per_sample = g->row.n_tiles * g->col.n_tiles;
  return (place){tile / per_sample, tile % per_sample / g->col.n_tiles, tile % g->col.n_tiles};
}

iso__fft_source iso__fft_window(const iso__fft_job *j, const float *image, int64_t tile, int64_t channel,
                                int64_t n_lanes) {
  const iso__fft_geometry *g = &j->g;
  const place at = place_of(g, tile);
  const int64_t h = at.row * g->row.step - g->row.pad, w = at.col * g->col.step - g->col.pad,
                channels = g->from * g->groups;
  return (iso__fft_source){.base = image + ((at.sample * g->row.image + h) * g->col.image + w) * channels + channel,
                           .row_step = g->col.image * channels,
                           .col_step = channels,
                           .rows = iso__fft_image_span(&g->row, g->n, at.row),
                           .cols = iso__fft_image_span(&g->col, g->n, at.col),
                           .n_lanes = (int)n_lanes};
}

static int64_t output_at(const iso__fft_geometry *g, place at, int64_t channel) {
  const int64_t h = at.row * g->row.step, w = at.col * g->col.step;
  return ((at.sample * g->row.outputs + h) * g->col.outputs + w) * g->to * g->groups + channel;
}

iso__fft_source iso__fft_outputs(const iso__fft_job *j, const float *y, int64_t tile, int64_t channel,
                                 int64_t n_lanes) {
  const iso__fft_geometry *g = &j->g;
  const place at = place_of(g, tile);
  return (iso__fft_source){.base = y + output_at(g, at, channel),
                           .row_step = g->col.outputs * g->to * g->groups,
                           .col_step = g->to * g->groups,
                           .rows = {0, iso__fft_outputs_of(&g->row, at.row)},
                           .cols = {0, iso__fft_outputs_of(&g->col, at.col)},
                           .n_lanes = (int)n_lanes};
}

iso__fft_sink iso__fft_results(const iso__fft_job *j, float *y, int64_t tile, int64_t channel, int64_t n_lanes) {
  const iso__fft_geometry *g = &j->g;
  const iso_conv_args *args = j->call->args;
  const place at = place_of(g, tile);
  const int64_t begin = output_at(g, at, channel);
  return (iso__fft_sink){.base = y + begin,
                         .row_step = g->col.outputs * g->to * g->groups,
                         .col_step = g->to * g->groups,
                         .n_rows = iso__fft_outputs_of(&g->row, at.row),
                         .n_cols = iso__fft_outputs_of(&g->col, at.col),
                         .n_lanes = (int)n_lanes,
                         .scale = g->scale,
                         .bias = j->problem->has_bias ? (const float *)args->bias + channel : NULL,
                         .residual = j->problem->has_residual ? (const float *)args->residual + begin : NULL,
                         .relu = j->problem->activation == ISO__ACTIVATION_RELU};
}

void iso__fft_gather(const iso__fft_job *j, const float *from, int64_t lane_step, int64_t step, int64_t n_lanes,
                     int64_t n, float *to) {
  const int64_t lanes = j->kernels->lanes;
  for (int64_t i = 0; i < n; i++, from += step, to += lanes)
    for (int64_t lane = 0; lane < lanes; lane++) to[lane] = lane < n_lanes ? from[lane * lane_step] : 0;
}

iso__fft_source iso__fft_kernel(const iso__fft_job *j, const float *from, int64_t step, int64_t n_lanes) {
  const iso_conv_problem *p = j->problem;
  iso__fft_source s = {.base = from,
                       .row_step = p->s * step,
                       .col_step = step,
                       .rows = {0, (int)p->r},
                       .cols = {0, (int)p->s},
                       .n_lanes = (int)n_lanes};
  if (p->head.op != ISO__OP_CONV_BWD_DATA) return s;
  s.base += (p->r * p->s - 1) * step;
  s.row_step = -s.row_step, s.col_step = -s.col_step;
  return s;
}

void iso__fft_fold(const iso__fft_job *j, int64_t n_done, float *sum, float *panel, float *total, int64_t n_floats) {
  const int64_t n_tiles = j->g.n_tiles, chunk = iso__fft_blocks(n_done, ISO__CHUNK) - 1;
  const bool last = n_done == n_tiles;
  if (!last && n_done % ISO__CHUNK) return;
  if (n_tiles <= ISO__CHUNK) {
    for (int64_t i = 0; i < n_floats; i++) sum[i] = sum[i] + 0.0f;
    return;
  }
  enum { CHUNKS = ISO__PANEL / ISO__CHUNK }; /* of a panel */
  const bool first_of_panel = chunk % CHUNKS == 0, end_of_panel = (chunk + 1) % CHUNKS == 0 || last,
             first_panel = chunk < CHUNKS;
  for (int64_t i = 0; i < n_floats; i++) {
    const float p = (first_of_panel ? 0.0f : panel[i]) + sum[i];
    if (end_of_panel) total[i] = (first_panel ? 0.0f : total[i]) + p;
    panel[i] = p;
    sum[i] = last ? total[i] : 0.0f;
  }
}

/* ---- the row's functions ---- */

static iso__fft_job job_of_call(const iso__fft_kernels *kernels, iso__fft_size size, const iso__call *call) {
  iso__fft_job j = iso__fft_job_of(kernels, call->problem, size, iso_n_threads(call->ctx));
  j.call = call;
  return j;
}

void iso__fft_prepare(const iso__fft_kernels *kernels, iso__fft_size size, const iso__call *call, void *kept) {
  const iso__fft_job j = job_of_call(kernels, size, call);
  if (iso__fft_is_depthwise(&j.g)) {
    iso__fft_depthwise_kernels(&j, kept);
    return;
  }
  for (int64_t group = 0; group < j.g.groups; group++)
    iso__fft_image_kernels(&j, group, (float *)kept + group * j.n_frequencies * j.b_step * j.unit);
}

void iso__fft_run(const iso__fft_kernels *kernels, iso__fft_size size, const iso__call *call) {
  const iso__fft_job j = job_of_call(kernels, size, call);
  const bool gradient = j.problem->head.op == ISO__OP_CONV_BWD_WEIGHTS;
  if (iso__fft_is_depthwise(&j.g)) (gradient ? iso__fft_depthwise_weights_run : iso__fft_depthwise_run)(&j);
  else (gradient ? iso__fft_weights_run : iso__fft_image_run)(&j);
}

/* Rates as measured at 100 GFLOP/s a core of AVX2: products near the peak, transforms bound by L1 and L2. A kernel's
 * transform costs the less the fewer of its rows there are. */
double iso__fft_cost(const iso__fft_kernels *kernels, const iso__problem *problem, iso__fft_size size, int n_threads) {
  const iso__fft_job j = iso__fft_job_of(kernels, problem, size, n_threads);
  const iso_conv_problem *p = (const iso_conv_problem *)problem;
  const double lanes = (double)kernels->lanes, tiles = (double)j.g.n_tiles;
  const double transform_ns = iso__fft_transform_flops(&j) / ((lanes > 8 ? 5 : 7) * lanes);
  if (iso__fft_is_depthwise(&j.g))
    return 3000 + (double)iso__fft_blocks(p->c, kernels->lanes) * transform_ns * (2 * tiles + 1) / n_threads;
  const bool gradient = problem->op == ISO__OP_CONV_BWD_WEIGHTS;
  const double pairs = (double)(gradient ? j.g.to * j.from_blocks : j.g.from * j.to_blocks);
  const double kernel_ns = (0.3 + 0.6 * (double)p->r / j.g.n) * transform_ns;
  const double products = 8 * (double)j.n_frequencies * tiles * pairs * lanes;
  const double ns = (double)(j.from_blocks + j.to_blocks) * tiles * transform_ns +
                    (problem->kept ? 0 : pairs * kernel_ns) + products / ((lanes > 8 ? 9 : 10) * lanes);
  return 5000 + (double)j.g.groups * ns / n_threads;
}
