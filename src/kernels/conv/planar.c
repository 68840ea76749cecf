/* planar.c: boxes, phases and threads of the data's gradient with few channels (planar.h). */
#include "kernels/conv/planar.h"
#include "base/pool.h"
#include "kernels/conv/geometry.h"
#include "kernels/sizes.h"
#include "numeric/order.h"

enum {
  BUFFER_BYTES = 512 << 10, /* of the rows of dy that a thread holds: they stay in L2 */
  MAX_PLANAR_PHASES = 64,
};

/* How a problem is cut; of no effect on bits. Rows and columns of dy are counted from `row0`, `col0`: the lowest that
 * grid position 0 of any phase reads. */
typedef struct cut {
  int64_t out_h, out_w, n_phases, n_grid; /* n_grid: grid rows of the largest phase */
  int64_t row0, col0;
  int64_t pitch, row_floats;    /* between channels and rows of the buffer */
  int64_t rows, n_boxes, spans; /* grid rows of a full box; boxes of a sample; rows of the buffer */
  int64_t max_segments;         /* of a phase */
  int64_t steps;                /* segments that micro-tiles pass in a grid row of all phases */
} cut;

static int64_t n_tiles_of(const iso__planar_tiles *tiles, const iso_conv_problem *p, int64_t n_columns) {
  return iso__ceil_div(iso__ceil_div(n_columns, tiles->lanes), tiles->vectors[p->c]);
}

static cut choose_cut(const iso__planar_tiles *tiles, const iso_conv_problem *p, int n_threads) {
  cut c = {.out_h = iso__conv_out_h(p), .out_w = iso__conv_out_w(p), .n_phases = iso__conv_n_products(p)};
  int64_t row_end = 1, col_end = 1, most_columns = 0;
  c.row0 = c.col0 = INT64_MAX;
  for (int64_t i = 0; i < c.n_phases; i++) {
    const iso__conv_product g = iso__conv_product_at(p, i);
    c.n_grid = iso__max(c.n_grid, g.row.n_grid);
    most_columns = iso__max(most_columns, g.col.n_grid);
    c.row0 = iso__min(c.row0, iso__conv_lowest(&g.row)), c.col0 = iso__min(c.col0, iso__conv_lowest(&g.col));
    row_end = iso__max(row_end, iso__conv_lowest(&g.row) + iso__conv_reach(&g.row) + 1);
    col_end = iso__max(col_end, iso__conv_lowest(&g.col) + iso__conv_reach(&g.col) + 1);
    const int64_t segments = iso__conv_taps(&g) + iso__conv_k(&g) / ISO__CHUNK + 1;
    c.max_segments = iso__max(c.max_segments, segments);
    c.steps += iso__conv_taps(&g) * n_tiles_of(tiles, p, g.col.n_grid);
  }
  const int64_t reach_rows = row_end - c.row0;
  c.pitch = iso__round_up(iso__round_up(most_columns, tiles->lanes) + col_end - 1 - c.col0, 8);
  if (c.pitch % 64 == 0) c.pitch += 8; /* else channels share a few sets of the cache */
  c.row_floats = iso__max(p->k, 1) * c.pitch;
  c.rows = iso__max(BUFFER_BYTES / (int64_t)sizeof(float) / c.row_floats - reach_rows + 1, 1);
  while (c.rows > 1 && p->n * iso__ceil_div(c.n_grid, c.rows) < 4 * n_threads && n_threads > 1)
    c.rows = (c.rows + 1) / 2;
  c.rows = iso__max(iso__min(c.rows, c.n_grid), 1);
  c.n_boxes = iso__ceil_div(c.n_grid, c.rows);
  c.rows = iso__max(iso__ceil_div(c.n_grid, iso__max(c.n_boxes, 1)), 1);
  c.spans = c.rows + reach_rows - 1;
  return c;
}

/* ---- workspace: phases, weights, segments; then one part a thread ---- */

typedef struct phase {
  iso__conv_product product;
  int64_t n_segments;
  const iso__conv_segment *segments;
  float *weights; /* (k, c) */
} phase;

typedef struct layout {
  size_t phases, segments, weights, threads; /* offsets */
  size_t buffer, sums, out;                  /* offsets within a thread's part */
  size_t thread_bytes, total;
} layout;

static layout lay_out(const iso__planar_tiles *tiles, const iso_conv_problem *p, const cut *c, int n_threads) {
  const int64_t tile = ISO__PLANAR_CHANNELS * ISO__PLANAR_VECTORS * tiles->lanes;
  layout l;
  size_t at = 0;
  l.phases = iso__take(&at, c->n_phases, sizeof(phase));
  l.segments = iso__take(&at, c->n_phases * c->max_segments, sizeof(iso__conv_segment));
  l.weights = iso__take(&at, p->r * p->s * p->k * p->c, sizeof(float));
  l.threads = at;
  at = 0;
  l.buffer = iso__take(&at, c->spans * c->row_floats, sizeof(float));
  l.sums = iso__take(&at, 2 * tile, sizeof(float));
  l.out = iso__take(&at, tile, sizeof(float));
  l.thread_bytes = at + 64;
  l.total = l.threads + (size_t)n_threads * l.thread_bytes;
  return l;
}

static size_t workspace(const iso__planar_tiles *tiles, const iso_conv_problem *p, int n_threads) {
  const cut c = choose_cut(tiles, p, n_threads);
  return lay_out(tiles, p, &c, n_threads).total;
}

const char *iso__conv_planar_applicable(const iso__problem *problem);
const char *iso__conv_planar_applicable(const iso__problem *problem) {
  const iso_conv_problem *p = (const iso_conv_problem *)problem;
  const char *reason = iso__conv_igemm_applicable(problem);
  if (!reason) reason = iso__conv_plain_applicable(problem);
  if (reason) return reason;
  if (p->groups != 1) return "the convolution has groups";
  if (p->c > ISO__PLANAR_CHANNELS || p->c == 0) return "the image has more than 4 channels, or none";
  if (iso__conv_n_products(p) > MAX_PLANAR_PHASES) return "the strides have more than 64 phases";
  return NULL;
}

static double flops_of(const iso_conv_problem *p, const cut *c) {
  return 2.0 * (double)(p->n * c->out_h * c->out_w) * (double)(p->k * p->r * p->s * p->c);
}

/* Least squares over `isobit bench --rule`: products, rows of dy laid out as planes, and so much a row and channel. */
static double cost(const iso__planar_tiles *tiles, const iso_conv_problem *p, int n_threads) {
  const cut c = choose_cut(tiles, p, n_threads);
  const double flops_per_ns = tiles->lanes == 16 ? 150 : 106, element_ns = 0.1,
               row_ns = c.out_w < tiles->lanes ? 5 : 2.8; /* torn rows */
  double ns = 0;
  for (int64_t i = 0; i < c.n_phases; i++) {
    const iso__conv_product g = iso__conv_product_at(p, i);
    const double m = (double)(p->n * g.row.n_grid * iso__round_up(g.col.n_grid, tiles->lanes));
    ns += m * (double)p->c * (2 * (double)iso__conv_k(&g) / flops_per_ns + 0.5);
  }
  ns += (double)(p->n * c.out_h * p->k) * (element_ns * (double)c.out_w + row_ns) * (double)c.spans / (double)c.rows;
  const double flops = flops_of(p, &c);
  return 1000 + iso__conv_fork_ns(flops, n_threads) + ns / iso__conv_threads(flops, n_threads);
}

/* ---- one call ---- */

typedef struct shared {
  const iso__planar_tiles *tiles;
  const iso_conv_problem *problem;
  const iso_conv_args *args;
  const cut *cut;
  const layout *layout;
  char *workspace;
  phase *phases;
  int n_tasks, n_threads;
} shared;

/* The taps of a phase, cut at chunks, as offsets into the buffer from grid position (0, 0)'s place. */
static void list_phase(const shared *s, phase *f, iso__conv_segment *segments) {
  const iso__conv_product *g = &f->product;
  const cut *c = s->cut;
  f->segments = segments;
  f->n_segments = 0;
  for (int64_t row = 0; row < g->row.n_taps; row++)
    for (int64_t col = 0; col < g->col.n_taps; col++) {
      const int64_t tap = (g->row.offset + row * g->row.tap_step - c->row0) * c->row_floats + g->col.offset +
                          col * g->col.tap_step - c->col0;
      const int64_t first = (row * g->col.n_taps + col) * g->depth;
      for (int64_t channel = 0, now; channel < g->depth; channel += now) {
        const int64_t k = first + channel, end = iso__min(g->depth, channel + ISO__CHUNK - k % ISO__CHUNK);
        now = end - channel;
        segments[f->n_segments++] = (iso__conv_segment){.offset = tap + channel * c->pitch,
                                                        .k = k,
                                                        .n = (int32_t)now,
                                                        .fold = (k + now) % ISO__PANEL == 0   ? ISO__FOLD_PANEL
                                                                : (k + now) % ISO__CHUNK == 0 ? ISO__FOLD_CHUNK
                                                                                              : ISO__FOLD_NONE};
      }
    }
}

/* (k, c) of a phase from (k, r, s, c). */
static void pack_phase(const shared *s, const phase *f) {
  const iso_conv_problem *p = s->problem;
  const iso__conv_product *g = &f->product;
  const float *w = s->args->w;
  float *to = f->weights;
  for (int64_t row = 0; row < g->row.n_taps; row++)
    for (int64_t col = 0; col < g->col.n_taps; col++) {
      const int64_t tap =
          (g->row.first_tap + row * g->row.tap_stride) * p->s + g->col.first_tap + col * g->col.tap_stride;
      for (int64_t k = 0; k < p->k; k++, to += p->c)
        for (int64_t i = 0; i < p->c; i++) to[i] = w[(k * p->r * p->s + tap) * p->c + i];
    }
}

static void prepare_phases(const shared *s) {
  iso__conv_segment *segments = (iso__conv_segment *)(void *)(s->workspace + s->layout->segments);
  float *weights = (float *)(void *)(s->workspace + s->layout->weights);
  for (int64_t i = 0; i < s->cut->n_phases; i++, segments += s->cut->max_segments) {
    phase *f = &s->phases[i];
    f->product = iso__conv_product_at(s->problem, i);
    f->weights = weights;
    weights += iso__conv_k(&f->product) * s->problem->c;
    list_phase(s, f, segments);
    pack_phase(s, f);
  }
}

/* The rows of dy that grid rows from t0 on read, channels apart, zeros outside. */
static void fill_buffer(const shared *s, int64_t n, int64_t t0, float *buffer) {
  const iso_conv_problem *p = s->problem;
  const cut *c = s->cut;
  const int64_t left = iso__min(iso__max(-c->col0, 0), c->pitch),
                right = iso__max(iso__min(c->out_w - c->col0, c->pitch), left);
  for (int64_t i = 0; i < c->spans; i++, buffer += c->row_floats) {
    const int64_t row = t0 + c->row0 + i;
    if (row < 0 || row >= c->out_h) {
      memset(buffer, 0, (size_t)c->row_floats * sizeof(float));
      continue;
    }
    for (int64_t k = 0; k < p->k; k++) {
      memset(buffer + k * c->pitch, 0, (size_t)left * sizeof(float));
      memset(buffer + k * c->pitch + right, 0, (size_t)(c->pitch - right) * sizeof(float));
    }
    const float *from = (const float *)s->args->dy + ((n * c->out_h + row) * c->out_w + c->col0 + left) * p->k;
    if (right > left) s->tiles->separate(from, p->k, right - left, c->pitch, buffer + left);
  }
}

/* dx[u·step + c] = out[c][u] for n positions */
static void store_tile(const float *out, int64_t width, int64_t n, int64_t channels, int64_t step, float *dx) {
  if (channels == 3) {
    const float *second = out + width, *third = second + width;
    for (int64_t u = 0; u < n; u++, dx += step) dx[0] = out[u], dx[1] = second[u], dx[2] = third[u];
    return;
  }
  for (int64_t u = 0; u < n; u++, dx += step)
    for (int64_t i = 0; i < channels; i++) dx[i] = out[i * width + u];
}

static void run_row(const shared *s, const phase *f, int64_t n, int64_t t, iso__planar_tile *tile) {
  const iso_conv_problem *p = s->problem;
  const iso__conv_product *g = &f->product;
  const int64_t lanes = s->tiles->lanes, vectors = iso__ceil_div(g->col.n_grid, lanes),
                n_tiles = n_tiles_of(s->tiles, p, g->col.n_grid);
  float *dx =
      (float *)s->args->dx + ((n * p->h + g->row.out_first + t * g->row.out_step) * p->w + g->col.out_first) * p->c;
  const float *row = tile->source;
  for (int64_t i = 0; i < n_tiles; i++) {
    const int64_t first = vectors * i / n_tiles, end = vectors * (i + 1) / n_tiles, u = first * lanes;
    tile->source = row + u;
    s->tiles->tile[p->c][end - first](tile);
    store_tile(tile->out, (end - first) * lanes, iso__min(end * lanes, g->col.n_grid) - u, p->c, g->col.out_step * p->c,
               dx + u * g->col.out_step * p->c);
  }
  tile->source = row;
}

/* The rows of dy that will be new in a box. */
static iso__conv_lines lines_of_box(const shared *s, int64_t box, int64_t n_steps) {
  const cut *c = s->cut;
  const int64_t t0 = box % c->n_boxes * c->rows, size = c->out_w * s->problem->k;
  const float *image = (const float *)s->args->dy + box / c->n_boxes * c->out_h * size;
  const int64_t first = iso__min(iso__max(t0 + c->row0, 0), c->out_h),
                end = iso__max(iso__min(t0 + c->row0 + c->spans, c->out_h), first);
  return iso__conv_lines_of(image + first * size, image + end * size, n_steps);
}

static void box_task(void *arg, int task, int thread) {
  const shared *s = arg;
  const cut *c = s->cut;
  char *mine = s->workspace + s->layout->threads + (size_t)thread * s->layout->thread_bytes;
  float *buffer = (float *)(void *)(mine + s->layout->buffer);
  const int64_t total = s->problem->n * c->n_boxes, n_threads = s->n_tasks == 1 ? 1 : s->n_threads;
  for (int64_t box = total * task / s->n_tasks; box < total * (task + 1) / s->n_tasks; box++) {
    const int64_t n = box / c->n_boxes, t0 = box % c->n_boxes * c->rows, t1 = iso__min(t0 + c->rows, c->n_grid);
    fill_buffer(s, n, t0, buffer);
    iso__conv_lines ahead = {0};
    if (box + n_threads < total) ahead = lines_of_box(s, box + n_threads, (t1 - t0) * c->steps);
    for (int64_t i = 0; i < c->n_phases; i++) {
      const phase *f = &s->phases[i];
      iso__planar_tile tile = {.segments = f->segments,
                               .n_segments = f->n_segments,
                               .pitch = c->pitch,
                               .weights = f->weights,
                               .sums = (float *)(void *)(mine + s->layout->sums),
                               .out = (float *)(void *)(mine + s->layout->out),
                               .ahead = &ahead};
      for (int64_t t = t0; t < iso__min(t1, f->product.row.n_grid); t++) {
        tile.source = buffer + (t - t0) * c->row_floats;
        run_row(s, f, n, t, &tile);
      }
    }
  }
}

static void run(const iso__planar_tiles *tiles, const iso__call *call) {
  const iso_conv_problem *p = (const iso_conv_problem *)call->problem;
  const int n_threads = iso_n_threads(call->ctx);
  const cut c = choose_cut(tiles, p, n_threads);
  const layout l = lay_out(tiles, p, &c, n_threads);
  const int64_t boxes = p->n * c.n_boxes;
  if (boxes == 0) return;
  char *memory = call->workspace;
  shared s = {.tiles = tiles,
              .problem = p,
              .args = call->args,
              .cut = &c,
              .layout = &l,
              .workspace = memory,
              .phases = (phase *)(void *)(memory + l.phases),
              .n_threads = n_threads};
  prepare_phases(&s);
  s.n_tasks = flops_of(p, &c) < ISO__CONV_SHARED_FLOPS ? 1 : (int)iso__min(boxes, 1 << 16);
  if (s.n_tasks == 1) box_task(&s, 0, 0);
  else iso__parallel(call->ctx, s.n_tasks, box_task, &s);
}

#if defined(__x86_64__)
#  define PLANAR_ROW(isa)                                                                                              \
    size_t iso__conv_planar_workspace_##isa(const iso__problem *problem, int n_threads);                               \
    double iso__conv_planar_cost_##isa(const iso__problem *problem, int n_threads);                                    \
    void iso__conv_planar_run_##isa(const iso__call *call);                                                            \
    size_t iso__conv_planar_workspace_##isa(const iso__problem *problem, int n_threads) {                              \
      return workspace(&iso__planar_tiles_##isa, (const iso_conv_problem *)problem, n_threads);                        \
    }                                                                                                                  \
    double iso__conv_planar_cost_##isa(const iso__problem *problem, int n_threads) {                                   \
      return cost(&iso__planar_tiles_##isa, (const iso_conv_problem *)problem, n_threads);                             \
    }                                                                                                                  \
    void iso__conv_planar_run_##isa(const iso__call *call) { run(&iso__planar_tiles_##isa, call); }
PLANAR_ROW(avx2)
PLANAR_ROW(avx512)
#endif
