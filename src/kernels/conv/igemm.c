/* igemm.c: the loop nest round the micro-tiles (igemm.h).
 *
 * For each product: B is packed in strips of columns (shared by all threads), then tasks run over boxes of grid
 * positions, groups and strips. A task copies the image rows its box reads into a buffer with real zeros round them,
 * lists its rows' base addresses, and walks strips outermost, so that a strip of B stays in L2 while the box's rows
 * pass. Images of at most 64 positions are walked position by position over many samples: rows of a micro-tile then
 * share their padding. */
#include "kernels/conv/igemm.h"
#include "base/pool.h"
#include "kernels/conv/geometry.h"
#include "kernels/gemm/gemm.h"
#include "numeric/order.h"
#include <stdatomic.h>

/* How a product is cut; a function of sizes and threads, of no effect on bits. */
typedef struct blocking {
  int64_t samples, rows, cols;    /* of a full box */
  int64_t n_sample, n_row, n_col; /* boxes along each */
  int64_t positions;              /* of a full box, rounded up to whole tiles */
  int64_t span_rows, span_cols;   /* of a full box's padded copy */
  int64_t buffer_floats;          /* 0: the image is read in place */
  bool in_place, samples_innermost;
  int64_t k, n_strips, strip_groups, strips_floats, max_segments;
} blocking;

static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
static int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }
/* Equal parts of at most `most`. */
static int64_t part(int64_t n, int64_t most) { return n <= most ? max64(n, 1) : ceil_div(n, ceil_div(n, most)); }

enum {
  TILES_PER_BOX = 32,
  SMALL_IMAGE = 64,
  BOX_BYTES_PER_ROW = 80 << 10,
  PACK_K = 512,
  MAX_TASKS = 1 << 16,
  MAX_PHASES = 4096
};

static int64_t box_bytes(const iso__conv_product *g, int64_t samples, int64_t rows, int64_t cols) {
  return samples * ((rows - 1) * g->row.step + iso__conv_reach(&g->row) + 1) *
         ((cols - 1) * g->col.step + iso__conv_reach(&g->col) + 1) * g->depth * (int64_t)sizeof(float);
}

/* Boxes of about TILES_PER_BOX micro-tiles whose part of the image leaves room for a strip of B in L2. */
static void choose_box(const iso__conv_tiles *tiles, const iso__conv_product *g, blocking *b) {
  const int64_t target = TILES_PER_BOX * tiles->mr, image = g->row.n_grid * g->col.n_grid;
  const int64_t most_bytes = (int64_t)tiles->mr * BOX_BYTES_PER_ROW;
  b->cols = part(g->col.n_grid, target);
  b->rows = b->samples = 1;
  if (image > target) {
    b->rows = part(g->row.n_grid, max64(1, target / b->cols));
    while (b->rows > 1 && box_bytes(g, 1, b->rows, b->cols) > most_bytes) b->rows--;
  } else {
    b->rows = g->row.n_grid;
    b->samples = max64(1, target / max64(image, 1));
    b->samples_innermost = image <= SMALL_IMAGE && g->n >= tiles->mr;
    const int64_t unit = b->samples_innermost ? tiles->mr : 1;
    b->samples = round_up(b->samples, unit);
    while (b->samples > unit && box_bytes(g, b->samples, b->rows, b->cols) > most_bytes) b->samples -= unit;
    b->samples = min64(b->samples, max64(g->n, 1));
  }
  b->n_sample = ceil_div(g->n, b->samples);
  b->n_row = ceil_div(g->row.n_grid, max64(b->rows, 1));
  b->n_col = ceil_div(g->col.n_grid, b->cols);
}

static int64_t strip_width(const iso__conv_tiles *tiles, int64_t columns_left) {
  return columns_left <= tiles->nr / 2 ? tiles->nr / 2 : tiles->nr;
}

static blocking choose_blocking(const iso__conv_tiles *tiles, const iso__conv_product *g, int n_threads) {
  blocking b = {0};
  choose_box(tiles, g, &b);
  b.k = iso__conv_k(g);
  b.in_place = b.k == 0 || (iso__conv_stays_inside(&g->row) && iso__conv_stays_inside(&g->col));
  b.span_rows = (b.rows - 1) * g->row.step + iso__conv_reach(&g->row) + 1;
  b.span_cols = (b.cols - 1) * g->col.step + iso__conv_reach(&g->col) + 1;
  b.buffer_floats = b.in_place ? 0 : round_up(b.samples * b.span_rows * b.span_cols * g->depth, 16);
  b.positions = round_up(b.samples * b.rows * b.cols, tiles->mr);
  b.n_strips = ceil_div(g->width, tiles->nr);
  b.strips_floats =
      b.n_strips ? b.k * ((b.n_strips - 1) * tiles->nr + strip_width(tiles, g->width - (b.n_strips - 1) * tiles->nr))
                 : 0;
  b.max_segments = g->row.n_taps * g->col.n_taps + b.k / ISO__CHUNK + 1;
  const int64_t boxes = b.n_sample * b.n_row * b.n_col * g->groups;
  b.strip_groups = 1;
  while (n_threads > 1 && b.strip_groups < b.n_strips && boxes * b.strip_groups < 4 * n_threads) b.strip_groups++;
  return b;
}

/* ---- workspace: shared part, then one part a thread ---- */

typedef struct tile_taps {
  iso__conv_range row, col;
} tile_taps;

typedef struct layout {
  size_t row_taps, col_taps, b, threads;                       /* offsets */
  size_t buffer, row_offset, out_offset, taps, segments, sums; /* offsets within a thread's part */
  size_t thread_bytes;
} layout;

static size_t take(size_t *at, int64_t n, size_t item_bytes) {
  const size_t begin = *at;
  *at = (begin + (size_t)n * item_bytes + 63) / 64 * 64;
  return begin;
}

static layout lay_out(const iso__conv_tiles *tiles, const iso__conv_product *g, const blocking *b) {
  layout l;
  size_t at = 0;
  l.row_taps = take(&at, g->row.n_grid, sizeof(iso__conv_range));
  l.col_taps = take(&at, g->col.n_grid, sizeof(iso__conv_range));
  l.b = take(&at, g->groups * b->strips_floats, sizeof(float));
  l.threads = at;
  at = 0;
  l.buffer = take(&at, b->buffer_floats, sizeof(float));
  l.row_offset = take(&at, b->positions, sizeof(int64_t));
  l.out_offset = take(&at, b->positions, sizeof(int64_t));
  l.taps = take(&at, b->positions / tiles->mr, sizeof(tile_taps));
  l.segments = take(&at, b->max_segments, sizeof(iso__conv_segment));
  l.sums = take(&at, 2 * tiles->mr * tiles->nr, sizeof(float));
  l.thread_bytes = at + 64; /* threads' parts begin in lines of different sets */
  return l;
}

size_t iso__conv_igemm_workspace(const iso__conv_tiles *tiles, const iso_conv_problem *p, int n_threads) {
  size_t most = 0;
  for (int64_t i = 0; i < iso__conv_n_products(p); i++) {
    const iso__conv_product g = iso__conv_product_at(p, i);
    const blocking b = choose_blocking(tiles, &g, n_threads);
    const layout l = lay_out(tiles, &g, &b);
    const size_t n_bytes = l.threads + (size_t)n_threads * l.thread_bytes;
    if (n_bytes > most) most = n_bytes;
  }
  return most;
}

const char *iso__conv_igemm_applicable(const iso__problem *problem) {
  const iso_conv_problem *p = (const iso_conv_problem *)problem;
  const char *reason = iso__conv_plain_applicable(problem);
  if (reason) return reason;
  int64_t elements;
  const int64_t high = p->h + p->pad_top + p->pad_bottom, wide = p->w + p->pad_left + p->pad_right;
  const bool overflows =
      __builtin_mul_overflow(high, wide, &elements) || __builtin_mul_overflow(elements, p->c + p->k, &elements);
  if (overflows || elements > INT64_C(1) << 40) return "a padded image has more than 2^40 elements";
  if (iso__conv_n_products(p) > MAX_PHASES) return "the strides have more than 4096 phases";
  return NULL;
}

/* Each micro-tile costs its full width and height, every product its packing. */
double iso__conv_igemm_cost(const iso__conv_tiles *tiles, const iso_conv_problem *p, int n_threads) {
  const double flops_per_ns = 12.0 * (tiles->nr / 2), bytes_per_ns = 10.0;
  double ns = 2000;
  for (int64_t i = 0; i < iso__conv_n_products(p); i++) {
    const iso__conv_product g = iso__conv_product_at(p, i);
    const double m = (double)(g.n * g.row.n_grid * g.col.n_grid * g.groups), k = (double)iso__conv_k(&g);
    const double columns = (double)round_up(g.width, tiles->nr / 2);
    const double pack = 8 * (double)g.groups * k * columns, copy = 8 * m * (double)(g.depth + g.width);
    ns += (2 * m * columns * (k + 8) / flops_per_ns + (pack + copy) / bytes_per_ns) / n_threads;
  }
  return ns;
}

/* ---- one call ---- */

typedef struct shared {
  const iso__conv_tiles *tiles;
  const iso_conv_args *args;
  const iso__conv_product *product;
  const blocking *blocking;
  const layout *layout;
  char *workspace;
  const float *source;
  float *output;
  atomic_bool not_finite; /* some weight: then no tap may be left out */
  int64_t n_units;
  int n_tasks;
} shared;

static float *strip_of(const shared *s, int64_t group, int64_t strip) {
  return (float *)(void *)(s->workspace + s->layout->b) + group * s->blocking->strips_floats +
         strip * s->tiles->nr * s->blocking->k;
}

static void pack_task(void *arg, int task, int thread) {
  (void)thread;
  shared *s = arg;
  const iso__conv_product *g = s->product;
  const int64_t parts = ceil_div(s->blocking->k, PACK_K);
  for (int64_t unit = s->n_units * task / s->n_tasks; unit < s->n_units * (task + 1) / s->n_tasks; unit++) {
    const int64_t k0 = unit % parts * PACK_K, strip = unit / parts % s->blocking->n_strips,
                  group = unit / parts / s->blocking->n_strips;
    const int64_t column = strip * s->tiles->nr, columns = min64(s->tiles->nr, g->width - column);
    const int64_t width = strip_width(s->tiles, g->width - column);
    const float *w =
        (const float *)s->args->w + (g->transposed ? group * g->depth * g->problem->r * g->problem->s * g->width
                                                   : group * g->width * s->blocking->k);
    if (!s->tiles->pack(g, w, column, (int)columns, (int)width, k0, min64(k0 + PACK_K, s->blocking->k),
                        strip_of(s, group, strip) + k0 * width))
      atomic_store_explicit(&s->not_finite, true, memory_order_relaxed);
  }
}

/* What a task works on: samples [n0, n1), grid rows [t0, t1), grid columns [u0, u1). */
typedef struct box {
  int64_t n0, n1, t0, t1, u0, u1, group;
} box;

/* Where addresses count from: the image in place or the task's padded copy. */
typedef struct view {
  const float *base;
  int64_t sample, row, pixel; /* floats between them */
} view;

/* Rows [t0·step + lowest, …) of every sample, with zeros outside the image; only the group's channels. */
static void copy_padded(const shared *s, const box *x, float *buffer) {
  const iso__conv_product *g = s->product;
  const blocking *b = s->blocking;
  const int64_t depth = g->depth, row0 = x->t0 * g->row.step + iso__conv_lowest(&g->row),
                col0 = x->u0 * g->col.step + iso__conv_lowest(&g->col);
  const int64_t n_rows = (x->t1 - x->t0 - 1) * g->row.step + iso__conv_reach(&g->row) + 1;
  const int64_t left = min64(max64(-col0, 0), b->span_cols),
                right = max64(min64(g->col.n_source - col0, b->span_cols), left);
  for (int64_t n = x->n0; n < x->n1; n++)
    for (int64_t row = 0; row < n_rows; row++) {
      float *to = buffer + ((n - x->n0) * b->span_rows + row) * b->span_cols * depth;
      if (row0 + row < 0 || row0 + row >= g->row.n_source) {
        memset(to, 0, (size_t)(b->span_cols * depth) * sizeof(float));
        continue;
      }
      memset(to, 0, (size_t)(left * depth) * sizeof(float));
      const float *from = s->source +
                          ((n * g->row.n_source + row0 + row) * g->col.n_source + col0 + left) * g->source_pitch +
                          x->group * depth;
      if (g->groups == 1) memcpy(to + left * depth, from, (size_t)((right - left) * depth) * sizeof(float));
      else
        for (int64_t col = left; col < right; col++, from += g->source_pitch)
          memcpy(to + col * depth, from, (size_t)depth * sizeof(float));
      memset(to + right * depth, 0, (size_t)((b->span_cols - right) * depth) * sizeof(float));
    }
}

static view view_of(const shared *s, const box *x, char *mine) {
  const iso__conv_product *g = s->product;
  if (s->blocking->k == 0) return (view){.base = s->source}; /* nothing will be read */
  if (s->blocking->in_place) {
    const int64_t row = g->col.n_source * g->source_pitch;
    return (view){.base = s->source + x->n0 * g->row.n_source * row + (x->t0 * g->row.step + g->row.offset) * row +
                          (x->u0 * g->col.step + g->col.offset) * g->source_pitch + x->group * g->depth,
                  .sample = g->row.n_source * row,
                  .row = row,
                  .pixel = g->source_pitch};
  }
  float *buffer = (float *)(void *)(mine + s->layout->buffer);
  copy_padded(s, x, buffer);
  const int64_t row = s->blocking->span_cols * g->depth;
  return (view){.base = buffer + (g->row.offset - iso__conv_lowest(&g->row)) * row +
                        (g->col.offset - iso__conv_lowest(&g->col)) * g->depth,
                .sample = s->blocking->span_rows * row,
                .row = row,
                .pixel = g->depth};
}

/* Row lists of a box's micro-tiles. */
typedef struct rows {
  int64_t *row_offset, *out_offset;
  tile_taps *taps;
  const iso__conv_range *row_taps, *col_taps;
  int64_t n;
} rows;

static iso__conv_range join(iso__conv_range a, iso__conv_range b) {
  return (iso__conv_range){a.first < b.first ? a.first : b.first, a.end > b.end ? a.end : b.end};
}

static void add_row(const shared *s, rows *list, const box *x, const view *v, int64_t n, int64_t t, int64_t u) {
  const iso__conv_product *g = s->product;
  const int64_t at = list->n++, tile = at / s->tiles->mr;
  list->row_offset[at] =
      (n - x->n0) * v->sample + (t - x->t0) * g->row.step * v->row + (u - x->u0) * g->col.step * v->pixel;
  list->out_offset[at] = ((n * g->row.n_out + g->row.out_first + t * g->row.out_step) * g->col.n_out +
                          g->col.out_first + u * g->col.out_step) *
                         g->output_pitch;
  if (at == tile * s->tiles->mr) list->taps[tile] = (tile_taps){list->row_taps[t], list->col_taps[u]};
  else
    list->taps[tile] =
        (tile_taps){join(list->taps[tile].row, list->row_taps[t]), join(list->taps[tile].col, list->col_taps[u])};
}

static void list_rows(const shared *s, rows *list, const box *x, const view *v) {
  list->n = 0;
  if (s->blocking->samples_innermost) {
    for (int64_t t = x->t0; t < x->t1; t++)
      for (int64_t u = x->u0; u < x->u1; u++)
        for (int64_t n = x->n0; n < x->n1; n++) add_row(s, list, x, v, n, t, u);
  } else {
    for (int64_t n = x->n0; n < x->n1; n++)
      for (int64_t t = x->t0; t < x->t1; t++)
        for (int64_t u = x->u0; u < x->u1; u++) add_row(s, list, x, v, n, t, u);
  }
  for (int64_t at = list->n; at % s->tiles->mr; at++) list->row_offset[at] = list->row_offset[list->n - 1];
}

/* The segments of taps [row.first, row.end) × [col.first, col.end), cut at chunks. */
static int64_t list_segments(const shared *s, const view *v, tile_taps taps, iso__conv_segment *segments) {
  const iso__conv_product *g = s->product;
  const bool joined = g->col.tap_step * v->pixel == g->depth; /* neighbouring taps are neighbours in memory */
  const int64_t n_cols = taps.col.end - taps.col.first, runs = joined ? 1 : n_cols,
                length = joined ? n_cols * g->depth : g->depth;
  int64_t n = 0;
  if (length == 0) return 0;
  for (int64_t r = taps.row.first; r < taps.row.end; r++)
    for (int64_t run = 0; run < runs; run++) {
      const int64_t col = taps.col.first + run;
      int64_t k = (r * g->col.n_taps + col) * g->depth, left = length,
              offset = r * g->row.tap_step * v->row + col * g->col.tap_step * v->pixel;
      while (left) {
        const int64_t now = min64(left, ISO__CHUNK - k % ISO__CHUNK);
        if (n)
          segments[n - 1].fold = k / ISO__CHUNK == segments[n - 1].k / ISO__CHUNK   ? ISO__FOLD_NONE
                                 : k / ISO__PANEL == segments[n - 1].k / ISO__PANEL ? ISO__FOLD_CHUNK
                                                                                    : ISO__FOLD_PANEL;
        segments[n++] = (iso__conv_segment){.offset = offset, .k = k, .n = (int32_t)now};
        k += now, offset += now, left -= now;
      }
    }
  return n;
}

static bool same_taps(tile_taps a, tile_taps b) {
  return a.row.first == b.row.first && a.row.end == b.row.end && a.col.first == b.col.first && a.col.end == b.col.end;
}

static void run_tiles(const shared *s, const box *x, const rows *list, const view *v, int64_t strip0, int64_t strip1,
                      iso__conv_segment *segments, float *sums) {
  const iso__conv_product *g = s->product;
  const iso__conv_tiles *tiles = s->tiles;
  const bool whole = atomic_load_explicit(&s->not_finite, memory_order_relaxed);
  const tile_taps all = {{0, (int32_t)g->row.n_taps}, {0, (int32_t)g->col.n_taps}};
  tile_taps listed = {{-1, -1}, {-1, -1}};
  iso__conv_tile t = {
      .source = v->base, .segments = segments, .sums = sums, .relu = g->problem->activation == ISO__ACTIVATION_RELU};
  for (int64_t strip = strip0; strip < strip1; strip++) {
    const int64_t column = x->group * g->width + strip * tiles->nr, left = g->width - strip * tiles->nr;
    const int narrow = strip_width(tiles, left) != tiles->nr;
    t.n_columns = (int)min64(left, tiles->nr);
    t.b = strip_of(s, x->group, strip);
    t.y = s->output + column;
    t.bias = g->problem->has_bias ? (const float *)s->args->bias + column : NULL;
    t.residual = g->problem->has_residual ? (const float *)s->args->residual + column : NULL;
    for (int64_t at = 0; at < list->n; at += tiles->mr) {
      const tile_taps taps = whole ? all : list->taps[at / tiles->mr];
      if (!same_taps(taps, listed)) t.n_segments = list_segments(s, v, taps, segments), listed = taps;
      t.row_offset = list->row_offset + at;
      t.out_offset = list->out_offset + at;
      t.n_rows = (int)min64(tiles->mr, list->n - at);
      const int height = t.n_rows <= tiles->rows[2] ? 2 : t.n_rows <= tiles->rows[1] ? 1 : 0;
      tiles->tile[height][narrow](&t);
    }
  }
}

static void box_task(void *arg, int task, int thread) {
  const shared *s = arg;
  const iso__conv_product *g = s->product;
  const blocking *b = s->blocking;
  char *mine = s->workspace + s->layout->threads + (size_t)thread * s->layout->thread_bytes;
  rows list = {.row_offset = (int64_t *)(void *)(mine + s->layout->row_offset),
               .out_offset = (int64_t *)(void *)(mine + s->layout->out_offset),
               .taps = (tile_taps *)(void *)(mine + s->layout->taps),
               .row_taps = (const iso__conv_range *)(void *)(s->workspace + s->layout->row_taps),
               .col_taps = (const iso__conv_range *)(void *)(s->workspace + s->layout->col_taps)};
  for (int64_t unit = s->n_units * task / s->n_tasks; unit < s->n_units * (task + 1) / s->n_tasks; unit++) {
    int64_t rest = unit;
    const int64_t strips = rest % b->strip_groups, col = (rest /= b->strip_groups) % b->n_col,
                  row = (rest /= b->n_col) % b->n_row, sample = (rest /= b->n_row) % b->n_sample;
    const box x = {.n0 = sample * b->samples,
                   .n1 = min64((sample + 1) * b->samples, g->n),
                   .t0 = row * b->rows,
                   .t1 = min64((row + 1) * b->rows, g->row.n_grid),
                   .u0 = col * b->cols,
                   .u1 = min64((col + 1) * b->cols, g->col.n_grid),
                   .group = rest / b->n_sample};
    const view v = view_of(s, &x, mine);
    list_rows(s, &list, &x, &v);
    run_tiles(s, &x, &list, &v, b->n_strips * strips / b->strip_groups, b->n_strips * (strips + 1) / b->strip_groups,
              (iso__conv_segment *)(void *)(mine + s->layout->segments), (float *)(void *)(mine + s->layout->sums));
  }
}

/* Below about 2 million operations waking another thread costs more than it saves. */
static void share(iso_context *ctx, shared *s, int64_t n_units, double flops, iso__task_fn *fn) {
  s->n_units = n_units;
  s->n_tasks = flops < 2e6 ? 1 : (int)min64(n_units, MAX_TASKS);
  if (n_units == 0) return;
  if (s->n_tasks == 1) fn(s, 0, 0);
  else iso__parallel(ctx, s->n_tasks, fn, s);
}

void iso__conv_igemm_run(const iso__conv_tiles *tiles, const iso__call *call) {
  const iso_conv_problem *p = (const iso_conv_problem *)call->problem;
  const bool backward = p->head.op == ISO__OP_CONV_BWD_DATA;
  const iso_conv_args *args = call->args;
  for (int64_t i = 0; i < iso__conv_n_products(p); i++) {
    const iso__conv_product g = iso__conv_product_at(p, i);
    const int64_t positions = g.n * g.row.n_grid * g.col.n_grid;
    if (positions == 0 || g.width == 0) continue;
    const blocking b = choose_blocking(tiles, &g, iso_n_threads(call->ctx));
    const layout l = lay_out(tiles, &g, &b);
    shared s = {.tiles = tiles,
                .args = args,
                .product = &g,
                .blocking = &b,
                .layout = &l,
                .workspace = call->workspace,
                .source = backward ? args->dy : args->x,
                .output = backward ? args->dx : args->y};
    atomic_init(&s.not_finite, false);
    iso__conv_range *row_taps = (iso__conv_range *)(void *)(s.workspace + l.row_taps),
                    *col_taps = (iso__conv_range *)(void *)(s.workspace + l.col_taps);
    for (int64_t t = 0; t < g.row.n_grid; t++) row_taps[t] = iso__conv_taps_inside(&g.row, t);
    for (int64_t u = 0; u < g.col.n_grid; u++) col_taps[u] = iso__conv_taps_inside(&g.col, u);
    const double flops = 2.0 * (double)positions * (double)g.groups * (double)g.width * (double)(b.k + 1);
    share(call->ctx, &s, g.groups * b.n_strips * ceil_div(b.k, PACK_K), flops, pack_task);
    share(call->ctx, &s, g.groups * b.n_sample * b.n_row * b.n_col * b.strip_groups, flops, box_task);
  }
}
