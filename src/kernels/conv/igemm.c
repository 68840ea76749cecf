/* igemm.c: the loop nest round the micro-tiles (igemm.h).
 *
 * Two nests. *Boxes outermost* (usual): B is packed in strips of columns, shared by all threads; then tasks run over
 * boxes of grid positions (box.h). Within a box a few strips, as many as L1 holds of B, stay while the box's
 * rows pass. *Strips
 * outermost* (small images with many channels, where B is larger than the image): every box is copied once, then tasks
 * run over strips of B, each packed by the task that uses it: B passes the caches once. */
#include "kernels/conv/igemm.h"
#include "base/pool.h"
#include "kernels/conv/box.h"
#include "kernels/conv/lines.h"
#include "kernels/gemm/gemm.h"
#include "kernels/sizes.h"
#include "numeric/order.h"
#include <stdatomic.h>

enum {
  LARGE_B_BYTES = 1 << 20,  /* more is read from beyond L2 once a box       */
  INNER_B_BYTES = 16 << 10, /* less stays in L2 beside everything else      */
  L2_B_BYTES = 256 << 10,   /* less stays in L2 beside a box                */
  COPIES_BYTES = 3 << 20,   /* of all boxes together, with strips outermost */
  PACK_K = 512,
  MAX_TASKS = 1 << 16,
  SHORT_RUN = 64,
  MAX_PHASES = 4096
};

/* How a product is cut; a function of sizes and threads, of no effect on bits. */
typedef struct blocking {
  iso__conv_boxing boxing;
  bool strips_outermost;
  bool gathered; /* runs of k are short: tiles read through a table of offsets */
  int64_t k, n_strips, strip_groups, strips_floats, max_segments;
  int64_t inner_strips; /* of one micro-tile's rows in turn */
} blocking;

static int64_t strip_width(const iso__conv_tiles *tiles, int64_t columns_left) {
  return columns_left <= tiles->nr / 2 ? tiles->nr / 2 : tiles->nr;
}

/* Neighbouring column taps are neighbours in memory. */
static bool taps_join(const iso__conv_product *g, int64_t pixel) { return g->col.tap_step * pixel == g->depth; }

static bool is_gathered(const iso__conv_product *g, const iso__conv_boxing *b) {
  const int64_t pixel = b->in_place ? g->source_pitch : g->depth,
                run = taps_join(g, pixel) ? g->col.n_taps * g->depth : g->depth;
  const int64_t wide = b->in_place ? g->col.n_source : b->span_cols,
                high = b->in_place ? g->row.n_source : b->span_rows,
                deep = b->in_place ? g->plane.n_source : b->span_planes;
  return run < SHORT_RUN && run < iso__conv_k(g) &&
         (double)deep * (double)high * (double)wide * (double)pixel < INT32_MAX;
}

static blocking choose_blocking(const iso__conv_tiles *tiles, const iso__conv_product *g, int n_threads) {
  blocking b = {.k = iso__conv_k(g), .n_strips = iso__ceil_div(g->width, tiles->nr), .strip_groups = 1};
  b.strips_floats =
      b.n_strips ? b.k * ((b.n_strips - 1) * tiles->nr + strip_width(tiles, g->width - (b.n_strips - 1) * tiles->nr))
                 : 0;
  b.max_segments = iso__conv_taps(g) + b.k / ISO__CHUNK + 1;
  b.inner_strips = iso__max(INNER_B_BYTES / (iso__max(b.k, 1) * tiles->nr * (int64_t)sizeof(float)), 1);
  const int64_t b_bytes = b.strips_floats * (int64_t)sizeof(float);
  int64_t positions = 48 * tiles->mr, bytes = 320 << 10;
  if (b_bytes > LARGE_B_BYTES) positions *= 2, bytes = 5 << 18;
  b.boxing = iso__conv_boxing_of(tiles, g, positions, bytes);
  const int64_t copies = iso__conv_n_boxes(&b.boxing) * b.boxing.buffer_floats * (int64_t)sizeof(float) * g->groups;
  b.strips_outermost = b_bytes > LARGE_B_BYTES && copies <= COPIES_BYTES && iso__conv_n_boxes(&b.boxing) <= 8 &&
                       g->groups * b.n_strips >= 4 * n_threads;
  b.gathered = is_gathered(g, &b.boxing);
  if (b.strips_outermost) return b;
  /* Smaller boxes, so that all threads have some; then strips are shared out too. */
  while (n_threads > 1 && positions > 12 * tiles->mr && iso__conv_n_boxes(&b.boxing) * g->groups < 8 * n_threads) {
    positions /= 2;
    b.boxing = iso__conv_boxing_of(tiles, g, positions, bytes);
  }
  const int64_t boxes = iso__conv_n_boxes(&b.boxing) * g->groups;
  while (n_threads > 1 && b.strip_groups < b.n_strips && boxes * b.strip_groups < 4 * n_threads) b.strip_groups++;
  b.gathered = is_gathered(g, &b.boxing);
  return b;
}

/* A box made ready in memory of its own. */
typedef struct ready_box {
  iso__conv_box box;
  iso__conv_view view;
  iso__conv_rows rows;
  int32_t *table;
} ready_box;

/* ---- workspace: shared part, then one part a thread ---- */

typedef struct layout {
  size_t plane_taps, row_taps, col_taps, b, boxes, threads;  /* offsets */
  size_t ready, buffer, row_offset, out_offset, taps, table; /* offsets within a box's part */
  size_t box_bytes;
  size_t box, strip, segments, sums; /* offsets within a thread's part */
  size_t thread_bytes, total;
} layout;

static layout lay_out(const iso__conv_tiles *tiles, const iso__conv_product *g, const blocking *b, int n_threads) {
  layout l;
  size_t at = 0;
  l.ready = iso__take(&at, 1, sizeof(ready_box));
  l.buffer = iso__take(&at, b->boxing.buffer_floats, sizeof(float));
  l.row_offset = iso__take(&at, b->boxing.positions, sizeof(int64_t));
  l.out_offset = iso__take(&at, b->boxing.positions, sizeof(int64_t));
  l.taps = iso__take(&at, b->boxing.positions / tiles->mr, sizeof(iso__conv_tile_taps));
  l.table = iso__take(&at, b->gathered ? b->k : 0, sizeof(int32_t));
  l.box_bytes = at + 64; /* parts begin in lines of different sets */
  at = 0;
  l.box = iso__take(&at, b->strips_outermost ? 0 : (int64_t)l.box_bytes, 1);
  l.strip = iso__take(&at, b->strips_outermost ? b->k * tiles->nr : 0, sizeof(float));
  l.segments = iso__take(&at, b->max_segments, sizeof(iso__conv_segment));
  l.sums = iso__take(&at, 2 * tiles->mr * tiles->nr, sizeof(float));
  l.thread_bytes = at + 64;
  at = 0;
  l.plane_taps = iso__take(&at, g->plane.n_grid, sizeof(iso__conv_range));
  l.row_taps = iso__take(&at, g->row.n_grid, sizeof(iso__conv_range));
  l.col_taps = iso__take(&at, g->col.n_grid, sizeof(iso__conv_range));
  l.b = iso__take(&at, b->strips_outermost ? 0 : g->groups * b->strips_floats, sizeof(float));
  l.boxes = iso__take(&at, b->strips_outermost ? iso__conv_n_boxes(&b->boxing) * g->groups : 0, l.box_bytes);
  l.threads = at;
  l.total = l.threads + (size_t)n_threads * l.thread_bytes;
  return l;
}

size_t iso__conv_igemm_workspace(const iso__conv_tiles *tiles, const iso_conv_problem *p, int n_threads) {
  size_t most = 0;
  for (int64_t i = 0; i < iso__conv_n_products(p); i++) {
    const iso__conv_product g = iso__conv_product_at(p, i);
    const blocking b = choose_blocking(tiles, &g, n_threads);
    const size_t n_bytes = lay_out(tiles, &g, &b, n_threads).total;
    if (n_bytes > most) most = n_bytes;
  }
  return most;
}

const char *iso__conv_igemm_applicable(const iso__problem *problem) {
  const iso_conv_problem *p = (const iso_conv_problem *)problem;
  int64_t elements, phases;
  const int64_t deep = p->d + p->pad_front + p->pad_back, high = p->h + p->pad_top + p->pad_bottom,
                wide = p->w + p->pad_left + p->pad_right;
  const bool overflows = __builtin_mul_overflow(high, wide, &elements) ||
                         __builtin_mul_overflow(elements, deep, &elements) ||
                         __builtin_mul_overflow(elements, p->c + p->k, &elements);
  if (overflows || elements > INT64_C(1) << 40) return "a padded image has more than 2^40 elements";
  if (__builtin_mul_overflow(p->stride_h, p->stride_w, &phases) ||
      __builtin_mul_overflow(phases, p->stride_d, &phases) ||
      (p->head.op == ISO__OP_CONV_BWD_DATA && phases > MAX_PHASES))
    return "the strides have more than 4096 phases";
  return NULL;
}

/* Each micro-tile costs its full width and height, packing passes memory, most of the output's way is hidden; a row of
 * a tile is gathered for each group, whatever its width. Least squares over `isobit bench --rule`: operations a ns,
 * bytes a ns. */
double iso__conv_igemm_cost(const iso__conv_tiles *tiles, const iso_conv_problem *p, int n_threads) {
  const double rate = tiles->nr == 32 ? 185 : 112, pack_rate = 16, output_rate = 50, row_ns = 6;
  double ns = 2000;
  for (int64_t i = 0; i < iso__conv_n_products(p); i++) {
    const iso__conv_product g = iso__conv_product_at(p, i);
    const double m = (double)(g.n * g.plane.n_grid * g.row.n_grid * g.col.n_grid * g.groups),
                 k = (double)iso__conv_k(&g), columns = (double)iso__round_up(g.width, tiles->nr / 2);
    const double flops = 2 * m * (double)g.width * k;
    ns += (2 * m * columns * (k + 8) / rate + 8 * (double)g.groups * k * columns / pack_rate +
           4 * m * (double)(g.depth + 2 * g.width) / output_rate + row_ns * m) /
              iso__conv_threads(flops, n_threads) +
          iso__conv_fork_ns(flops, n_threads);
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
  iso__conv_axis_taps axis_taps;
  atomic_bool not_finite; /* some weight: then no tap may be left out */
  int64_t n_units;
  int n_tasks, n_threads;
} shared;

static void *at_offset(char *base, size_t offset) { return base + offset; }

static int64_t first_unit(const shared *s, int task) { return s->n_units * task / s->n_tasks; }

static const float *weights_of(const shared *s, int64_t group) {
  const iso__conv_product *g = s->product;
  const iso_conv_problem *p = g->problem;
  return (const float *)s->args->w + group * g->depth * g->width * (p->t * p->r * p->s);
}

static bool pack_strip(const shared *s, int64_t group, int64_t strip, int64_t k0, int64_t k1, float *b) {
  const iso__conv_product *g = s->product;
  const int64_t column = strip * s->tiles->nr, left = g->width - column, width = strip_width(s->tiles, left);
  return s->tiles->pack(g, weights_of(s, group), column, (int)iso__min(s->tiles->nr, left), (int)width, k0, k1,
                        b + k0 * width);
}

static float *strip_of(const shared *s, int64_t group, int64_t strip) {
  return (float *)at_offset(s->workspace, s->layout->b) + group * s->blocking->strips_floats +
         strip * s->tiles->nr * s->blocking->k;
}

static void pack_task(void *arg, int task, int thread) {
  (void)thread;
  shared *s = arg;
  const int64_t parts = iso__ceil_div(s->blocking->k, PACK_K);
  for (int64_t unit = first_unit(s, task); unit < first_unit(s, task + 1); unit++) {
    /* Strips innermost: neighbours lie side by side in the weights of bwd_data. */
    const int64_t strip = unit % s->blocking->n_strips, k0 = unit / s->blocking->n_strips % parts * PACK_K,
                  group = unit / s->blocking->n_strips / parts;
    if (!pack_strip(s, group, strip, k0, iso__min(k0 + PACK_K, s->blocking->k), strip_of(s, group, strip)))
      atomic_store_explicit(&s->not_finite, true, memory_order_relaxed);
  }
}

static iso__conv_rows rows_in(const shared *s, char *memory) {
  const layout *l = s->layout;
  return (iso__conv_rows){.row_offset = at_offset(memory, l->row_offset),
                          .out_offset = at_offset(memory, l->out_offset),
                          .taps = s->blocking->gathered ? NULL : at_offset(memory, l->taps)};
}

/* Every k's offset. */
static void fill_table(const iso__conv_product *g, const iso__conv_view *v, int32_t *table) {
  for (int64_t plane = 0; plane < g->plane.n_taps; plane++)
    for (int64_t row = 0; row < g->row.n_taps; row++)
      for (int64_t col = 0; col < g->col.n_taps; col++) {
        const int64_t tap =
            plane * g->plane.tap_step * v->plane + row * g->row.tap_step * v->row + col * g->col.tap_step * v->pixel;
        for (int64_t channel = 0; channel < g->depth; channel++) *table++ = (int32_t)(tap + channel);
      }
}

static ready_box make_ready(const shared *s, const iso__conv_box *x, char *memory) {
  const iso__conv_boxing *boxing = &s->blocking->boxing;
  ready_box r = {.box = *x, .rows = rows_in(s, memory)};
  r.view = iso__conv_view_of(s->tiles, s->product, boxing, x, s->source, at_offset(memory, s->layout->buffer));
  iso__conv_rows_list(s->tiles, s->product, boxing, &s->axis_taps, x, &r.view, &r.rows);
  r.table = at_offset(memory, s->layout->table);
  if (s->blocking->gathered) fill_table(s->product, &r.view, r.table);
  return r;
}

/* Appends the segments of k … k + length, cut at chunks. */
static int64_t add_segments(iso__conv_segment *segments, int64_t n, int64_t k, int64_t length, int64_t offset) {
  while (length) {
    const int64_t now = iso__min(length, ISO__CHUNK - k % ISO__CHUNK);
    if (n)
      segments[n - 1].fold = k / ISO__CHUNK == segments[n - 1].k / ISO__CHUNK   ? ISO__FOLD_NONE
                             : k / ISO__PANEL == segments[n - 1].k / ISO__PANEL ? ISO__FOLD_CHUNK
                                                                                : ISO__FOLD_PANEL;
    segments[n++] = (iso__conv_segment){.offset = offset, .k = k, .n = (int32_t)now};
    k += now, offset += now, length -= now;
  }
  return n;
}

/* The segments of some taps: plane × row × column. */
static int64_t list_segments(const shared *s, const iso__conv_view *v, const iso__conv_tile_taps *taps,
                             iso__conv_segment *segments) {
  const iso__conv_product *g = s->product;
  const bool joined = taps_join(g, v->pixel);
  const int64_t n_cols = taps->col.end - taps->col.first, runs = joined ? 1 : n_cols,
                length = joined ? n_cols * g->depth : g->depth;
  const int64_t n_rows = taps->row.end - taps->row.first, n_planes = taps->plane.end - taps->plane.first;
  int64_t n = 0;
  if (length == 0) return 0;
  for (int64_t i = 0; i < n_planes * n_rows * runs; i++) {
    const int64_t plane = taps->plane.first + i / (n_rows * runs), row = taps->row.first + i / runs % n_rows,
                  col = taps->col.first + i % runs;
    const int64_t k = ((plane * g->row.n_taps + row) * g->col.n_taps + col) * g->depth;
    n = add_segments(segments, n, k, length,
                     plane * g->plane.tap_step * v->plane + row * g->row.tap_step * v->row +
                         col * g->col.tap_step * v->pixel);
  }
  return n;
}

static bool same_range(iso__conv_range a, iso__conv_range b) { return a.first == b.first && a.end == b.end; }
static bool same_taps(const iso__conv_tile_taps *a, const iso__conv_tile_taps *b) {
  return same_range(a->plane, b->plane) && same_range(a->row, b->row) && same_range(a->col, b->col);
}

/* What run_tiles walks over: a ready box and the tile under way. */
typedef struct walk {
  const shared *shared;
  const ready_box *ready;
  bool whole; /* no tap may be left out */
  iso__conv_tile_taps listed;
  iso__conv_segment *segments;
  iso__conv_tile tile;
} walk;

static walk walk_of(const shared *s, const ready_box *r, bool whole, char *mine) {
  walk w = {.shared = s,
            .ready = r,
            .whole = whole,
            .listed = {{-1, -1}, {-1, -1}, {-1, -1}},
            .segments = at_offset(mine, s->layout->segments)};
  w.tile = (iso__conv_tile){.source = r->view.base,
                            .segments = w.segments,
                            .table = r->table,
                            .sums = at_offset(mine, s->layout->sums),
                            .relu = s->product->problem->activation == ISO__ACTIVATION_RELU};
  if (s->blocking->gathered) w.tile.n_segments = add_segments(w.segments, 0, 0, s->blocking->k, 0);
  return w;
}

/* The tile of rows from `at` on. */
static void set_rows(walk *w, int64_t at) {
  const iso__conv_product *g = w->shared->product;
  const iso__conv_rows *list = &w->ready->rows;
  const int mr = w->shared->tiles->mr;
  const iso__conv_tile_taps all = {
      {0, (int32_t)g->plane.n_taps}, {0, (int32_t)g->row.n_taps}, {0, (int32_t)g->col.n_taps}};
  if (list->taps) { /* else the segments are the same for all */
    const iso__conv_tile_taps *taps = w->whole ? &all : &list->taps[at / mr];
    if (!same_taps(taps, &w->listed)) {
      w->tile.n_segments = list_segments(w->shared, &w->ready->view, taps, w->segments);
      w->listed = *taps;
    }
  }
  w->tile.row_offset = list->row_offset + at;
  w->tile.out_offset = list->out_offset + at;
  w->tile.next_offset = at + mr < list->n ? w->tile.out_offset + mr : w->tile.out_offset;
  w->tile.n_rows = (int)iso__min(mr, list->n - at);
}

static void set_strip(walk *w, int64_t strip, const float *b) {
  const shared *s = w->shared;
  const iso__conv_product *g = s->product;
  const int64_t column = w->ready->box.group * g->width + strip * s->tiles->nr;
  w->tile.n_columns = (int)iso__min(g->width - strip * s->tiles->nr, s->tiles->nr);
  w->tile.b = b;
  w->tile.y = s->output + column;
  w->tile.bias = g->problem->has_bias ? (const float *)s->args->bias + column : NULL;
  w->tile.residual = g->problem->has_residual ? (const float *)s->args->residual + column : NULL;
}

static void run_tile(const walk *w) {
  const iso__conv_tiles *tiles = w->shared->tiles;
  const iso__conv_tile *t = &w->tile;
  const int height = t->n_rows <= tiles->rows[2] ? 2 : t->n_rows <= tiles->rows[1] ? 1 : 0;
  const int narrow = t->n_columns <= tiles->nr / 2;
  if (w->shared->blocking->gathered) tiles->gathered[height][narrow](t);
  else tiles->tile[height][narrow](t);
}

static int64_t n_tiles_of(const shared *s, const iso__conv_box *x) {
  return iso__ceil_div((x->n1 - x->n0) * (x->o1 - x->o0) * (x->t1 - x->t0) * (x->u1 - x->u0), s->tiles->mr);
}

/* The strips of B that are read next, where all of B with the image and the output may not stay in L2. */
static iso__conv_lines next_strips(const shared *s, int64_t group, int64_t strip, int64_t n_steps) {
  const blocking *b = s->blocking;
  if (b->strips_floats * (int64_t)sizeof(float) < L2_B_BYTES) return (iso__conv_lines){0};
  const float *begin = strip_of(s, group, strip);
  const int64_t n_strips = iso__min(b->inner_strips, b->n_strips - strip);
  return iso__conv_lines_of(begin, begin + n_strips * b->k * s->tiles->nr, n_steps);
}

static void run_box(const shared *s, const ready_box *r, int64_t strip0, int64_t strip1, iso__conv_ahead *ahead,
                    char *mine) {
  const int64_t group = r->box.group, mr = s->tiles->mr;
  walk w = walk_of(s, r, atomic_load_explicit(&s->not_finite, memory_order_relaxed), mine);
  for (int64_t begin = strip0, end; begin < strip1; begin = end) {
    end = iso__min(begin + s->blocking->inner_strips, strip1);
    iso__conv_lines next_b = next_strips(s, group, end < strip1 ? end : strip0, iso__ceil_div(r->rows.n, mr));
    for (int64_t at = 0; at < r->rows.n; at += mr) {
      set_rows(&w, at);
      iso__conv_ahead_step(ahead, end - begin);
      iso__conv_lines_step(&next_b);
      for (int64_t strip = begin; strip < end; strip++) {
        set_strip(&w, strip, strip_of(s, group, strip));
        run_tile(&w);
      }
    }
  }
}

/* Boxes outermost. A unit is a box, a group and some of its strips. */
static iso__conv_box box_of_unit(const shared *s, int64_t unit) {
  const int64_t boxes = iso__conv_n_boxes(&s->blocking->boxing), box = unit / s->blocking->strip_groups;
  return iso__conv_box_at(s->product, &s->blocking->boxing, box % boxes, box / boxes);
}

static void box_task(void *arg, int task, int thread) {
  const shared *s = arg;
  const blocking *b = s->blocking;
  char *mine = s->workspace + s->layout->threads + (size_t)thread * s->layout->thread_bytes;
  for (int64_t unit = first_unit(s, task); unit < first_unit(s, task + 1); unit++) {
    const iso__conv_box x = box_of_unit(s, unit);
    const ready_box r = make_ready(s, &x, mine + s->layout->box);
    const int64_t part = unit % b->strip_groups, strip0 = b->n_strips * part / b->strip_groups,
                  strip1 = b->n_strips * (part + 1) / b->strip_groups;
    iso__conv_ahead ahead = {0};
    /* The box that this thread will probably take next. */
    const int64_t next = unit + b->strip_groups * s->n_threads;
    if (b->k && next < s->n_units) {
      const iso__conv_box y = box_of_unit(s, next);
      ahead = iso__conv_ahead_of(s->product, &y, s->source, n_tiles_of(s, &x) * (strip1 - strip0));
    }
    run_box(s, &r, strip0, strip1, &ahead, mine);
  }
}

/* Strips outermost: first every box ... */
static char *box_memory(const shared *s, int64_t index) {
  return s->workspace + s->layout->boxes + (size_t)index * s->layout->box_bytes;
}

static void ready_task(void *arg, int task, int thread) {
  (void)thread;
  const shared *s = arg;
  for (int64_t unit = first_unit(s, task); unit < first_unit(s, task + 1); unit++) {
    const iso__conv_box x = box_of_unit(s, unit);
    char *memory = box_memory(s, unit);
    *(ready_box *)at_offset(memory, s->layout->ready) = make_ready(s, &x, memory);
  }
}

/* The weights of a strip in bwd_data, called ahead in n_steps steps: (depth, taps, width), short pieces far apart. */
static iso__conv_ahead weights_ahead(const shared *s, int64_t unit, int64_t n_steps) {
  const iso__conv_product *g = s->product;
  const int64_t strip = unit % s->blocking->n_strips * s->tiles->nr, item = sizeof(float);
  const int64_t taps = g->problem->t * g->problem->r * g->problem->s,
                columns = iso__min(g->width - strip, s->tiles->nr);
  iso__conv_ahead a = {.at = (const char *)(weights_of(s, unit / s->blocking->n_strips) + strip),
                       .lines = iso__ceil_div(columns * item, 64),
                       .count = {taps, g->depth, 1, 1},
                       .pitch = {g->width * item, taps * g->width * item}};
  a.step = iso__ceil_div(a.lines * taps * g->depth, n_steps);
  return a;
}

/* ... then every strip. A unit is a group and a strip. */
static void strip_task(void *arg, int task, int thread) {
  const shared *s = arg;
  const blocking *b = s->blocking;
  char *mine = s->workspace + s->layout->threads + (size_t)thread * s->layout->thread_bytes;
  float *strip = at_offset(mine, s->layout->strip);
  const int64_t boxes = iso__conv_n_boxes(&b->boxing);
  for (int64_t unit = first_unit(s, task); unit < first_unit(s, task + 1); unit++) {
    const int64_t group = unit / b->n_strips, index = unit % b->n_strips;
    const bool finite = pack_strip(s, group, index, 0, b->k, strip);
    iso__conv_ahead ahead = {0};
    if (s->product->transposed && unit + s->n_threads < s->n_units)
      ahead = weights_ahead(s, unit + s->n_threads, boxes * b->boxing.positions / s->tiles->mr);
    for (int64_t box = 0; box < boxes; box++) {
      const ready_box *r = (const ready_box *)at_offset(box_memory(s, group * boxes + box), s->layout->ready);
      walk w = walk_of(s, r, !finite, mine);
      set_strip(&w, index, strip);
      for (int64_t at = 0; at < r->rows.n; at += s->tiles->mr) {
        set_rows(&w, at);
        iso__conv_ahead_step(&ahead, 1);
        run_tile(&w);
      }
    }
  }
}

/* Phases without taps: a unit is a row of the grid, whose positions become +0. */
static void zero_task(void *arg, int task, int thread) {
  (void)thread;
  const shared *s = arg;
  const iso__conv_product *g = s->product;
  for (int64_t unit = first_unit(s, task); unit < first_unit(s, task + 1); unit++) {
    const int64_t t = unit % g->row.n_grid, o = unit / g->row.n_grid % g->plane.n_grid,
                  n = unit / g->row.n_grid / g->plane.n_grid;
    const int64_t plane = n * g->plane.n_out + g->plane.out_first + o * g->plane.out_step,
                  row = plane * g->row.n_out + g->row.out_first + t * g->row.out_step;
    float *to = s->output + (row * g->col.n_out + g->col.out_first) * g->output_pitch;
    for (int64_t u = 0; u < g->col.n_grid; u++, to += g->col.out_step * g->output_pitch)
      memset(to, 0, (size_t)g->output_pitch * sizeof(float));
  }
}

static void share(iso_context *ctx, shared *s, int64_t n_units, double flops, iso__task_fn *fn) {
  s->n_units = n_units;
  s->n_tasks = flops < ISO__CONV_SHARED_FLOPS ? 1 : (int)iso__min(n_units, MAX_TASKS);
  if (n_units == 0) return;
  if (s->n_tasks == 1) fn(s, 0, 0);
  else iso__parallel(ctx, s->n_tasks, fn, s);
}

static const iso__conv_range *list_taps(const iso__conv_axis *axis, void *memory) {
  iso__conv_range *taps = memory;
  for (int64_t i = 0; i < axis->n_grid; i++) taps[i] = iso__conv_taps_inside(axis, i);
  return taps;
}

static void run_product(const iso__conv_tiles *tiles, const iso__call *call, const iso__conv_product *g) {
  const iso_conv_args *args = call->args;
  const int n_threads = iso_n_threads(call->ctx);
  const int64_t positions = g->n * g->plane.n_grid * g->row.n_grid * g->col.n_grid;
  if (positions == 0 || g->width == 0) return;
  const blocking b = choose_blocking(tiles, g, n_threads);
  const layout l = lay_out(tiles, g, &b, n_threads);
  char *workspace = call->workspace;
  shared s = {.tiles = tiles,
              .args = args,
              .product = g,
              .blocking = &b,
              .layout = &l,
              .workspace = workspace,
              .source = g->transposed ? args->dy : args->x,
              .output = g->transposed ? args->dx : args->y,
              .axis_taps = {.plane = list_taps(&g->plane, workspace + l.plane_taps),
                            .row = list_taps(&g->row, workspace + l.row_taps),
                            .col = list_taps(&g->col, workspace + l.col_taps)},
              .n_threads = n_threads};
  atomic_init(&s.not_finite, false);
  const double flops = 2.0 * (double)positions * (double)g->groups * (double)g->width * (double)(b.k + 1);
  const int64_t boxes = g->groups * iso__conv_n_boxes(&b.boxing);
  if (b.k == 0 && g->transposed) {
    share(call->ctx, &s, g->n * g->plane.n_grid * g->row.n_grid, (double)positions * (double)g->output_pitch,
          zero_task);
  } else if (b.strips_outermost) {
    share(call->ctx, &s, boxes, flops, ready_task);
    share(call->ctx, &s, g->groups * b.n_strips, flops, strip_task);
  } else {
    share(call->ctx, &s, g->groups * b.n_strips * iso__ceil_div(b.k, PACK_K), flops, pack_task);
    share(call->ctx, &s, boxes * b.strip_groups, flops, box_task);
  }
}

void iso__conv_igemm_run(const iso__conv_tiles *tiles, const iso__call *call) {
  const iso_conv_problem *p = (const iso_conv_problem *)call->problem;
  for (int64_t i = 0; i < iso__conv_n_products(p); i++) {
    const iso__conv_product g = iso__conv_product_at(p, i);
    run_product(tiles, call, &g);
  }
}
