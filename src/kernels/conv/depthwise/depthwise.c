/* depthwise.c: the nest round the micro-kernels of depthwise.h: rows of output, stride phases, runs of pixels.
 *
 * Both directions are products over a grid (geometry.h) with one channel to sum over. Threads share the output's rows;
 * within one, pixels are outermost and channels innermost, so that memory is read and written in the order it lies. */
#include "kernels/conv/depthwise/depthwise.h"
#include "base/pool.h"
#include "kernels/gemm/gemm.h"
#include "kernels/sizes.h"
#include "numeric/order.h"
#include <stdatomic.h>

enum { AHEAD_FLOATS = 2048, MAX_PHASES = 1024, ROW_NS = 60, GRAIN_NS = 20000 };

const char *iso__dw_is_depthwise(const iso_conv_problem *p) {
  const char *reason = iso__conv_plain_applicable(&p->head);
  if (reason) return reason;
  return p->groups == p->c && p->c == p->k ? NULL : "groups have more than one channel";
}

static const char *direct_applicable(const iso_conv_problem *p) {
  if (p->r > ISO__CHUNK || p->s > ISO__CHUNK || p->r * p->s * (p->c / p->groups) > ISO__CHUNK)
    return "a sum has more than 256 terms";
  if (p->stride_h > MAX_PHASES || p->stride_w > MAX_PHASES || iso__conv_n_products(p) > MAX_PHASES)
    return "the strides have more than 1024 phases";
  return NULL;
}

const char *iso__dw_applicable(const iso__problem *problem);
const char *iso__dw_applicable(const iso__problem *problem) {
  const iso_conv_problem *p = (const iso_conv_problem *)problem;
  const char *reason = iso__dw_is_depthwise(p);
  if (reason) return reason;
  return direct_applicable(p);
}

const char *iso__grouped_channels_applicable(int width, const iso_conv_problem *p) {
  const char *reason = iso__conv_plain_applicable(&p->head);
  if (reason) return reason;
  const int64_t depth = p->c / p->groups;
  if (p->c != p->k) return "groups have other numbers of channels in than out";
  if (depth < 2 || depth > width || (depth & (depth - 1)))
    return "a group's channels are not 2, 4, 8 or 16, at most as many as lanes";
  if (p->c % width) return "the channels are no multiple of the vector width";
  return NULL;
}

const char *iso__grouped_applicable(const iso__dw_kernels *kernels, const iso_conv_problem *p) {
  const char *reason = iso__grouped_channels_applicable(kernels->width, p);
  return reason ? reason : direct_applicable(p);
}

/* ---- workspace: the products, then the packed weights ---- */

/* One product, and the grid columns [first, end) all of whose taps lie in the image. */
typedef struct phase {
  iso__conv_product product;
  int64_t first, end;
  int64_t w_offset; /* into a channel vector's packed weights */
} phase;

static size_t phases_bytes(const iso_conv_problem *p) {
  return ((size_t)iso__conv_n_products(p) * sizeof(phase) + 63) / 64 * 64;
}
static int64_t depth_of(const iso_conv_problem *p) { return p->c / p->groups; }
static int64_t n_vectors(const iso__dw_kernels *kernels, const iso_conv_problem *p) {
  return iso__ceil_div(p->c, kernels->width);
}

size_t iso__dw_workspace(const iso__dw_kernels *kernels, const iso_conv_problem *p) {
  return phases_bytes(p) + (size_t)(n_vectors(kernels, p) * p->r * p->s * depth_of(p) * kernels->width) * sizeof(float);
}

/* A tap is one FMA on two units; a pixel's load, store and fold take as long as two taps. */
double iso__dw_cost(const iso__dw_kernels *kernels, const iso_conv_problem *p, int n_threads) {
  const bool backward = p->head.op == ISO__OP_CONV_BWD_DATA;
  const double in = (double)(p->n * p->h * p->w), out = (double)(p->n * iso__conv_out_h(p) * iso__conv_out_w(p));
  const double vectors = (double)n_vectors(kernels, p), taps = (double)(p->r * p->s * depth_of(p));
  /* A group of channels is spread over lanes; a vector that is not full takes masks. */
  const double grouped_ns = kernels->width > 8 ? 0.38 : 0.26, single_ns = p->c < kernels->width ? 0.5 : 0.2;
  const double fma_ns = depth_of(p) > 1 ? grouped_ns : single_ns;
  const double compute = vectors * (fma_ns * out * taps + 0.4 * (backward ? in : out));
  const double memory = (in + out * (p->has_residual ? 2 : 1)) * (double)p->c * 4 / 12;
  return 1000 + 0.5 * taps * (double)p->c + (compute > memory ? compute : memory) / n_threads;
}

/* ---- one call ---- */

typedef struct shared {
  const iso__dw_kernels *kernels;
  const iso_conv_problem *problem;
  const iso_conv_args *args;
  const float *source;
  float *output;
  phase *phases;
  float *weights;
  int64_t w_vector;
  atomic_bool not_finite;
} shared;

/* Grid positions [first, end) of an axis all of whose taps read inside the source. */
static void find_inside(const iso__conv_axis *a, int64_t *first, int64_t *end) {
  const int64_t low = iso__conv_lowest(a), high = low + iso__conv_reach(a);
  *first = iso__min(low < 0 ? iso__ceil_div(-low, a->step) : 0, a->n_grid);
  *end = high < a->n_source ? iso__min((a->n_source - 1 - high) / a->step + 1, a->n_grid) : 0;
  *end = iso__max(*end, *first);
}

static void list_phases(shared *s) {
  int64_t w_offset = 0;
  for (int64_t i = 0; i < iso__conv_n_products(s->problem); i++) {
    phase *f = &s->phases[i];
    f->product = iso__conv_product_at(s->problem, i);
    find_inside(&f->product.col, &f->first, &f->end);
    f->w_offset = w_offset;
    w_offset += f->product.row.n_taps * f->product.col.n_taps * depth_of(s->problem) * s->kernels->width;
  }
}

static void pack_vectors(void *arg, int64_t begin, int64_t end, int thread) {
  (void)thread;
  shared *s = arg;
  for (int64_t v = begin; v < end; v++)
    for (int64_t i = 0; i < iso__conv_n_products(s->problem); i++) {
      const phase *f = &s->phases[i];
      if (!s->kernels->pack(&f->product, s->args->w, v, s->weights + v * s->w_vector + f->w_offset))
        atomic_store_explicit(&s->not_finite, true, memory_order_relaxed);
    }
}

/* One row of the output in one column phase. */
typedef struct row {
  const shared *shared;
  const phase *phase;
  const float *x; /* tap (0, 0) of grid column 0 */
  int64_t y;      /* offset of grid column 0 */
  iso__conv_range row_taps;
} row;

static iso__dw_run run_of(const row *a, int64_t u, iso__conv_range rows, iso__conv_range cols) {
  const shared *s = a->shared;
  const iso__conv_product *g = &a->phase->product;
  const iso_conv_problem *p = s->problem;
  const int64_t w_tap = depth_of(p) * s->kernels->width;
  iso__dw_run run = {.x_row = g->row.tap_step * g->col.n_source * p->c,
                     .x_tap = g->col.tap_step * p->c,
                     .x_pixel = g->col.step * p->c,
                     .w_vector = s->w_vector,
                     .w_row = g->col.n_taps * w_tap,
                     .n_rows = rows.end - rows.first,
                     .n_taps = cols.end - cols.first,
                     .n_pixels = 1,
                     .y_pixel = g->col.out_step * p->c,
                     .bias = p->has_bias ? s->args->bias : NULL,
                     .relu = p->activation == ISO__ACTIVATION_RELU,
                     .depth = (int)depth_of(p),
                     .n_channels = p->c};
  run.x = a->x + u * run.x_pixel + rows.first * run.x_row + cols.first * run.x_tap;
  run.w = s->weights + a->phase->w_offset + rows.first * run.w_row + cols.first * w_tap;
  run.y = s->output + a->y + u * run.y_pixel;
  run.residual = p->has_residual ? (const float *)s->args->residual + a->y + u * run.y_pixel : NULL;
  return run;
}

/* The same pixels from the last to the first. */
static iso__dw_run reversed(iso__dw_run run) {
  const int64_t last = run.n_pixels - 1;
  run.x += last * run.x_pixel;
  run.y += last * run.y_pixel;
  if (run.residual) run.residual += last * run.y_pixel;
  run.x_pixel = -run.x_pixel, run.y_pixel = -run.y_pixel;
  return run;
}

/* How many taps two neighbouring pixels are apart, where kernels for that exist; else 0. */
static int apart(const iso__dw_run *run) {
  return run->x_pixel == run->x_tap ? 1 : run->x_pixel == 2 * run->x_tap ? 2 : 0;
}

static void run_block(const iso__dw_kernels *kernels, const iso__dw_run *run) {
  const int steps = run->n_taps >= 1 && run->n_taps <= ISO__DW_MAX_TAPS ? apart(run) : 0;
  iso__dw_run_fn *const *const fixed = steps ? kernels->fixed[run->n_taps - 1][steps - 1] : NULL;
  (fixed && fixed[0] ? fixed : kernels->any)[run->n_pixels - 1](run);
  if (run->n_channels % kernels->width) kernels->tail[run->n_pixels - 1](run);
}

/* Pixels [first, end) with the same taps, in about equal blocks. Where taps go left, pixels of a block do so too:
 * kernels then share columns. */
static void run_range(const row *a, int64_t first, int64_t end, iso__conv_range cols) {
  iso__dw_run run = run_of(a, first, a->row_taps, cols);
  const bool left = run.x_tap < 0;
  if (run.n_taps == 1) run.x_tap = left ? -run.x_pixel : run.x_pixel;
  const int64_t new_row = run.x_row < 0 ? 0 : (run.n_rows - 1) * run.x_row; /* that no block above has read */
  if (a->phase->product.col.out_step == 1) run.ahead = new_row + iso__max(ISO__DW_PIXELS * run.x_pixel, AHEAD_FLOATS);
  for (int64_t n = end - first; n;) {
    const int64_t now = iso__ceil_div(n, iso__ceil_div(n, ISO__DW_PIXELS));
    run.n_pixels = (int)now;
    const iso__dw_run block = left ? reversed(run) : run;
    run_block(a->shared->kernels, &block);
    run.x += now * run.x_pixel;
    run.y += now * run.y_pixel;
    if (run.residual) run.residual += now * run.y_pixel;
    n -= now;
  }
}

static void run_edge(const row *a, int64_t first, int64_t end) {
  const iso__conv_axis *col = &a->phase->product.col;
  while (first < end) {
    const iso__conv_range cols = iso__conv_taps_inside(col, first);
    int64_t stop = first + 1;
    for (; stop < end; stop++) {
      const iso__conv_range next = iso__conv_taps_inside(col, stop);
      if (next.first != cols.first || next.end != cols.end) break;
    }
    run_range(a, first, stop, cols);
    first = stop;
  }
}

static void run_padded(const row *a) {
  const iso__conv_product *g = &a->phase->product;
  const iso__conv_range rows = {0, (int32_t)g->row.n_taps}, cols = {0, (int32_t)g->col.n_taps};
  for (int64_t u = 0; u < g->col.n_grid; u++) {
    const iso__dw_pixel pixel = {
        .run = run_of(a, u, rows, cols), .row = a->row_taps, .col = iso__conv_taps_inside(&g->col, u)};
    a->shared->kernels->padded(&pixel);
  }
}

static void run_row(const shared *s, int64_t n, const phase *f, int64_t h) {
  const iso__conv_product *g = &f->product;
  const int64_t t = (h - g->row.out_first) / g->row.out_step;
  const row a = {.shared = s,
                 .phase = f,
                 .x = s->source +
                      ((n * g->row.n_source + t * g->row.step + g->row.offset) * g->col.n_source + g->col.offset) *
                          s->problem->c,
                 .y = ((n * g->row.n_out + h) * g->col.n_out + g->col.out_first) * s->problem->c,
                 .row_taps = iso__conv_taps_inside(&g->row, t)};
  if (atomic_load_explicit(&s->not_finite, memory_order_relaxed)) {
    run_padded(&a);
    return;
  }
  run_edge(&a, 0, f->first);
  if (f->first < f->end) run_range(&a, f->first, f->end, (iso__conv_range){0, (int32_t)g->col.n_taps});
  run_edge(&a, f->end, g->col.n_grid);
}

static void run_rows(void *arg, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const shared *s = arg;
  const iso_conv_problem *p = s->problem;
  const bool backward = p->head.op == ISO__OP_CONV_BWD_DATA;
  const int64_t n_rows = s->phases[0].product.row.n_out, n_cols = backward ? p->stride_w : 1;
  for (int64_t at = begin; at < end; at++) {
    const int64_t n = at / n_rows, h = at % n_rows, first = backward ? (h + p->pad_top) % p->stride_h * n_cols : 0;
    for (int64_t i = 0; i < n_cols; i++) run_row(s, n, &s->phases[first + i], h);
  }
}

void iso__dw_run_problem(const iso__dw_kernels *kernels, const iso__call *call) {
  const iso_conv_problem *p = (const iso_conv_problem *)call->problem;
  const iso_conv_args *args = call->args;
  const bool backward = p->head.op == ISO__OP_CONV_BWD_DATA;
  const int64_t n_rows = p->n * (backward ? p->h : iso__conv_out_h(p));
  if (n_rows == 0 || p->c == 0 || p->k == 0) return;
  shared s = {.kernels = kernels,
              .problem = p,
              .args = args,
              .source = backward ? args->dy : args->x,
              .output = backward ? args->dx : args->y,
              .phases = call->workspace,
              .weights = (float *)(void *)((char *)call->workspace + phases_bytes(p)),
              .w_vector = p->r * p->s * depth_of(p) * kernels->width};
  atomic_init(&s.not_finite, false);
  list_phases(&s);
  iso__parallel_range(call->ctx, n_vectors(kernels, p), 1 + GRAIN_NS / s.w_vector, 1, pack_vectors, &s);
  const double row_ns = ROW_NS + iso__dw_cost(kernels, p, 1) / (double)n_rows;
  iso__parallel_range(call->ctx, n_rows, 1 + (int64_t)(GRAIN_NS / row_ns), 1, run_rows, &s);
}
