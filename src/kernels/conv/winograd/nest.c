/* nest.c: blocking, workspace, threads and loops of Winograd convolution (nest.h, winograd.h). */
#include "kernels/conv/winograd/nest.h"
#include "base/pool.h"
#include "kernels/gemm/tile.h"
#include "kernels/sizes.h"
#include "numeric/order.h"

/* Equal parts of at most `most`. */
static int64_t part(int64_t n, int64_t most) {
  return n <= most ? iso__max(n, 1) : iso__ceil_div(n, iso__ceil_div(n, most));
}
/* An odd number of cache lines. */
static int64_t odd_lines(int64_t floats) { return (iso__ceil_div(floats, 16) | 1) * 16; }

iso__winograd_grid iso__winograd_grid_of(const iso_conv_problem *p, int64_t m) {
  const bool back = p->head.op == ISO__OP_CONV_BWD_DATA;
  const int64_t y_h = iso__conv_out_h(p), y_w = iso__conv_out_w(p), cg = p->c / p->groups, kg = p->k / p->groups;
  iso__winograd_grid g = {.m = m, .r = p->r, .alpha = m + p->r - 1, .n = p->n, .groups = p->groups, .turned = back};
  g.points = g.alpha * g.alpha;
  if (back) {
    g.c = kg, g.k = cg;
    g.source_h = y_h, g.source_w = y_w, g.source_pitch = p->k;
    g.out_h = p->h, g.out_w = p->w, g.out_pitch = p->c;
    g.offset_h = p->pad_top - (p->r - 1), g.offset_w = p->pad_left - (p->s - 1);
  } else {
    g.c = cg, g.k = kg;
    g.source_h = p->h, g.source_w = p->w, g.source_pitch = p->c;
    g.out_h = y_h, g.out_w = y_w, g.out_pitch = p->k;
    g.offset_h = -p->pad_top, g.offset_w = -p->pad_left;
  }
  g.tiles_h = iso__ceil_div(g.out_h, m), g.tiles_w = iso__ceil_div(g.out_w, m);
  g.tiles = g.n * g.tiles_h * g.tiles_w;
  return g;
}

/* ---- blocking: a function of sizes and threads, of no effect on bits ---- */

enum {
  SMALL_U_BYTES = 2 << 20,    /* tiles: a U up to this stays in L2 … */
  V_BYTES = 512 << 10,        /* … beside so much of V; */
  STREAMED_V_BYTES = 5 << 20, /* a larger one is read anew for each block of tiles: few, large blocks */
  FILTERS_V_BYTES = 16 << 20, /* filters: V of all tiles in work */
  U_BYTES = 640 << 10,        /* filters: U of a block of channels, to stay in L2 */
  MIN_TILES = 24,
  MAX_TILES = 128,
  M_BYTES = 640 << 10,  /* M of a block; beside a streamed U as much as of V */
  TASK_FLOPS = 1 << 20, /* less is not worth another thread */
};

typedef struct blocking {
  int64_t v_channels, v_pitch;   /* c in whole vectors: all, of a chunk */
  int64_t u_stride;              /* floats of a point of the whole U */
  int64_t k_block, n_k_blocks;   /* output channels that M has at once */
  int64_t n_super, super_tiles;  /* tiles whose V is alive at once, in how many turns */
  int64_t n_blocks, tiles_block; /* blocks of tiles in them */
  int64_t n_splits;              /* tiles: parts of the channel blocks; filters: parts of the tile blocks */
  int64_t c_block, own_stride;   /* filters, own U: source channels of a kernel transform, floats of a point */
  int64_t v_chunk, v_stride, m_stride, m_tiles;
  bool has_part; /* more than one panel: sums of later panels wait beside M */
  bool streamed; /* U passes from beyond L2 for each block of tiles */
  bool serial;   /* too little work for a second thread */
} blocking;

static int64_t lanes_of(const iso__winograd_engine *e) { return 2 * e->kernels->width; }

/* Blocks of tiles, and of channels where there are too few tiles for all threads. */
static void block_tiles(const iso__winograd_engine *e, const iso__winograd_grid *g, int n_threads, blocking *b) {
  const int64_t tile_bytes = iso__max(g->points * b->v_channels * (int64_t)sizeof(float), 1),
                rows = e->kernels->max_rows;
  b->streamed = g->points * g->c * g->k * (int64_t)sizeof(float) > SMALL_U_BYTES;
  int64_t most = iso__min(iso__max((b->streamed ? STREAMED_V_BYTES : V_BYTES) / tile_bytes, MIN_TILES), MAX_TILES);
  if (most >= rows) most = most / rows * rows;
  b->super_tiles = e->filters ? part(g->tiles, iso__max(FILTERS_V_BYTES / tile_bytes, most)) : g->tiles;
  b->n_super = g->tiles ? iso__ceil_div(g->tiles, b->super_tiles) : 0;
  b->tiles_block = part(b->super_tiles, most);
  b->n_blocks = iso__ceil_div(b->super_tiles, b->tiles_block);
  if (e->filters || n_threads == 1 || b->n_blocks * g->groups >= 4 * n_threads) return;
  const int64_t finer = iso__ceil_div(b->super_tiles, iso__round_up(iso__max(b->n_blocks, 1), n_threads));
  if (finer >= MIN_TILES) {
    b->tiles_block = finer;
    b->n_blocks = iso__ceil_div(b->super_tiles, finer);
  } else if (b->n_blocks * g->groups % n_threads) b->n_splits = n_threads;
}

static void block_channels(const iso__winograd_engine *e, const iso__winograd_grid *g, bool kept, int n_threads,
                           blocking *b) {
  const int64_t lanes = lanes_of(e), all = iso__round_up(iso__max(g->k, 1), e->kernels->width);
  const int64_t m_bytes = g->points * b->tiles_block * (int64_t)sizeof(float);
  int64_t most = (b->streamed ? STREAMED_V_BYTES : M_BYTES) / iso__max(m_bytes * lanes, 1) * lanes;
  if (e->filters && !kept) most = lanes;
  else if (e->filters && n_threads > 1) most = iso__min(most, iso__ceil_div(all, 2 * n_threads));
  else most = iso__min(most, iso__ceil_div(all, b->n_splits));
  b->k_block = iso__min(iso__round_up(iso__max(most, 1), lanes), all);
  b->n_k_blocks = iso__ceil_div(g->k, b->k_block);
  if (!e->filters) b->n_splits = iso__max(iso__min(b->n_splits, b->n_k_blocks), 1);
  else if (n_threads > 1 && b->n_k_blocks < 2 * n_threads)
    b->n_splits = iso__min(iso__ceil_div(2 * n_threads, iso__max(b->n_k_blocks, 1)), b->n_blocks);
}

static blocking choose_blocking(const iso__winograd_engine *e, const iso__winograd_grid *g, bool kept, int n_threads) {
  blocking b = {.v_channels = iso__round_up(g->c, e->kernels->width), .n_splits = 1};
  b.v_pitch = iso__min(b.v_channels, ISO__CHUNK);
  b.u_stride = odd_lines(g->c * iso__round_up(g->k, e->kernels->width));
  b.serial = 2.0 * (double)(g->points * g->tiles * g->groups) * (double)g->c * (double)g->k < TASK_FLOPS;
  if (b.serial) n_threads = 1;
  block_tiles(e, g, n_threads, &b);
  block_channels(e, g, kept, n_threads, &b);
  b.c_block = g->c;
  if (e->filters && !kept) {
    const int64_t fit = U_BYTES / (g->points * b.k_block * (int64_t)sizeof(float));
    b.c_block = iso__min(g->c, iso__max(fit / ISO__CHUNK, 1) * ISO__CHUNK);
  }
  b.own_stride = odd_lines(b.c_block * b.k_block);
  b.v_chunk = (e->filters ? b.super_tiles : b.tiles_block) * b.v_pitch;
  b.v_stride = odd_lines(iso__ceil_div(g->c, ISO__CHUNK) * b.v_chunk);
  b.m_tiles = b.c_block < g->c ? b.super_tiles : b.tiles_block;
  b.m_stride = odd_lines(b.m_tiles * b.k_block);
  b.has_part = g->c > ISO__PANEL;
  return b;
}

/* ---- workspace: shared part, then one part a thread ---- */

typedef struct layout {
  size_t zeros, shared, threads; /* shared: U (tiles) or V (filters) */
  size_t own, sums, part_sums;   /* within a thread's part: V or U; M; M of a later panel */
  size_t thread_bytes;
} layout;

static layout lay_out(const iso__winograd_engine *e, const iso__winograd_grid *g, const blocking *b, bool kept) {
  layout l;
  size_t at = 0;
  const int64_t u_all = kept ? 0 : g->groups * g->points * b->u_stride;
  l.zeros = iso__take(&at, b->v_channels, sizeof(float));
  l.shared = iso__take(&at, e->filters ? g->points * b->v_stride : u_all, sizeof(float));
  l.threads = at;
  at = 0;
  l.own = iso__take(&at, !e->filters ? g->points * b->v_stride : kept ? 0 : g->points * b->own_stride, sizeof(float));
  l.sums = iso__take(&at, g->points * b->m_stride, sizeof(float));
  l.part_sums = iso__take(&at, b->has_part ? g->points * b->m_stride : 0, sizeof(float));
  l.thread_bytes = at + 64; /* threads' parts begin in lines of different sets */
  return l;
}

size_t iso__winograd_workspace(const iso__winograd_engine *e, const iso_conv_problem *p, int n_threads) {
  const iso__winograd_grid g = iso__winograd_grid_of(p, e->m);
  const blocking b = choose_blocking(e, &g, p->head.kept, n_threads);
  const layout l = lay_out(e, &g, &b, p->head.kept);
  return l.threads + (size_t)n_threads * l.thread_bytes;
}

/* ---- one call ---- */

typedef struct shared {
  const iso__winograd_engine *engine;
  const iso__winograd_class_kernels *kernels;
  iso__winograd_grid grid;
  blocking blocking;
  layout layout;
  char *workspace;
  const float *source, *weights, *u; /* u: NULL if each thread transforms its own */
  float *out, *u_made;
  iso__winograd_epilogue epilogue;
  int64_t group, first_tile, n_tiles; /* filters: of this turn */
  int n_tasks;
} shared;

static float *floats_at(char *workspace, size_t offset) { return (float *)(void *)(workspace + offset); }
static char *mine(const shared *s, int thread) {
  return s->workspace + s->layout.threads + (size_t)thread * s->layout.thread_bytes;
}

static const float *weights_of(const shared *s, int64_t group) {
  const iso__winograd_grid *g = &s->grid;
  return s->weights + group * g->c * g->k * g->r * g->r;
}

/* The whole U by units of a strip. */
static void kernel_task(void *arg, int task, int thread) {
  (void)thread;
  const shared *s = arg;
  const iso__winograd_grid *g = &s->grid;
  const int64_t strip = lanes_of(s->engine), n_strips = iso__ceil_div(g->k, strip), units = g->groups * n_strips;
  for (int64_t unit = units * task / s->n_tasks; unit < units * (task + 1) / s->n_tasks; unit++) {
    const int64_t group = unit / n_strips, k = unit % n_strips * strip;
    s->kernels->kernel(g, weights_of(s, group), k, iso__min(k + strip, g->k), 0, g->c,
                       s->u_made + group * g->points * s->blocking.u_stride + k * g->c, s->blocking.u_stride);
  }
}

/* What is multiplied: tiles of V, a block of channels, source channels [c0, c1), whose U has u_channels from c0 on. */
typedef struct block_product {
  int64_t n_tiles, n_k, c0, c1, u_channels;
  int64_t u_stride;
  const float *v, *u;
  float *m, *part;
} block_product;

/* Chunks of the first panel gather in M, those of each later one beside it. No channels at all: M is +0. */
static void multiply(const shared *s, const block_product *q) {
  const blocking *b = &s->blocking;
  int64_t c = q->c0;
  do {
    const int64_t panel = c / ISO__PANEL * ISO__PANEL, end = iso__min(panel + ISO__PANEL, q->c1);
    float *to = panel ? q->part : q->m;
    for (int64_t t = 0; t < s->grid.points; t++) {
      const iso__winograd_product product = {.tiles = q->n_tiles,
                                             .k = q->n_k,
                                             .c0 = c - q->c0,
                                             .c1 = end - q->c0,
                                             .starts = c == panel,
                                             .v = q->v + t * b->v_stride + q->c0 / ISO__CHUNK * b->v_chunk,
                                             .u = q->u + t * q->u_stride,
                                             .m = to + t * b->m_stride,
                                             .v_pitch = b->v_pitch,
                                             .v_chunk = b->v_chunk,
                                             .u_channels = q->u_channels,
                                             .m_pitch = b->k_block};
      s->engine->kernels->product(&product);
      if (panel && (end == s->grid.c || end % ISO__PANEL == 0))
        s->engine->kernels->add(q->m + t * b->m_stride, q->part + t * b->m_stride, q->n_tiles * b->k_block);
    }
    c = end;
  } while (c < q->c1);
}

static void transform_output(const shared *s, int64_t group, int64_t tile, int64_t n_tiles, int64_t block,
                             const float *m) {
  const iso__winograd_grid *g = &s->grid;
  const int64_t k0 = block * s->blocking.k_block, k1 = iso__min(k0 + s->blocking.k_block, g->k), first = group * g->k;
  const iso__winograd_epilogue e = {.bias = s->epilogue.bias ? s->epilogue.bias + first : NULL,
                                    .residual = s->epilogue.residual ? s->epilogue.residual + first : NULL,
                                    .relu = s->epilogue.relu};
  for (int64_t i = 0; i < n_tiles; i++)
    s->kernels->output(g, &e, m + i * s->blocking.k_block, s->blocking.m_stride, tile + i, k0, k1, s->out + first);
}

static void transform_data(const shared *s, int64_t group, int64_t tile, int64_t n_tiles, float *v) {
  for (int64_t i = 0; i < n_tiles; i++)
    s->kernels->data(&s->grid, s->source + group * s->grid.c, floats_at(s->workspace, s->layout.zeros), tile + i,
                     v + i * s->blocking.v_pitch, s->blocking.v_stride, s->blocking.v_chunk);
}

/* tiles: a block of tiles through a part of the channel blocks. */
static void tiles_task(void *arg, int task, int thread) {
  const shared *s = arg;
  const blocking *b = &s->blocking;
  const int64_t split = task % b->n_splits, block = task / b->n_splits % b->n_blocks,
                group = task / b->n_splits / b->n_blocks;
  const int64_t tile = block * b->tiles_block, n_tiles = iso__min(b->tiles_block, s->grid.tiles - tile);
  float *v = floats_at(mine(s, thread), s->layout.own), *m = floats_at(mine(s, thread), s->layout.sums);
  if (n_tiles <= 0) return;
  transform_data(s, group, tile, n_tiles, v);
  for (int64_t k = b->n_k_blocks * split / b->n_splits; k < b->n_k_blocks * (split + 1) / b->n_splits; k++) {
    multiply(s, &(block_product){.n_tiles = n_tiles,
                                 .n_k = iso__min(b->k_block, s->grid.k - k * b->k_block),
                                 .c1 = s->grid.c,
                                 .u_channels = s->grid.c,
                                 .u_stride = b->u_stride,
                                 .v = v,
                                 .u = s->u + group * s->grid.points * b->u_stride + k * b->k_block * s->grid.c,
                                 .m = m,
                                 .part = floats_at(mine(s, thread), s->layout.part_sums)});
    transform_output(s, group, tile, n_tiles, k, m);
  }
}

static void data_task(void *arg, int task, int thread) {
  (void)thread;
  const shared *s = arg;
  const int64_t begin = s->n_tiles * task / s->n_tasks, end = s->n_tiles * (task + 1) / s->n_tasks;
  transform_data(s, s->group, s->first_tile + begin, end - begin,
                 floats_at(s->workspace, s->layout.shared) + begin * s->blocking.v_pitch);
}

/* filters: a block of channels through a part of the tile blocks. */
static void filters_task(void *arg, int task, int thread) {
  const shared *s = arg;
  const blocking *b = &s->blocking;
  const iso__winograd_grid *g = &s->grid;
  const int64_t split = task % b->n_splits, k = task / b->n_splits, k0 = k * b->k_block,
                k1 = iso__min(k0 + b->k_block, g->k);
  const int64_t first = b->n_blocks * split / b->n_splits, last = b->n_blocks * (split + 1) / b->n_splits;
  const float *v = floats_at(s->workspace, s->layout.shared);
  float *made = floats_at(mine(s, thread), s->layout.own), *sums = floats_at(mine(s, thread), s->layout.sums),
        *part_sums = floats_at(mine(s, thread), s->layout.part_sums);
  int64_t c = 0;
  do {
    const int64_t c1 = iso__min(c + b->c_block, g->c);
    if (!s->u) s->kernels->kernel(g, weights_of(s, s->group), k0, k1, c, c1, made, b->own_stride);
    for (int64_t block = first; block < last; block++) {
      const int64_t tile = block * b->tiles_block, n_tiles = iso__min(b->tiles_block, s->n_tiles - tile);
      if (n_tiles <= 0) continue;
      const int64_t at = b->m_tiles > b->tiles_block ? tile * b->k_block : 0;
      multiply(s, &(block_product){.n_tiles = n_tiles,
                                   .n_k = k1 - k0,
                                   .c0 = c,
                                   .c1 = c1,
                                   .u_channels = c1 - c,
                                   .u_stride = s->u ? b->u_stride : b->own_stride,
                                   .v = v + tile * b->v_pitch,
                                   .u = s->u ? s->u + s->group * g->points * b->u_stride + k0 * g->c : made,
                                   .m = sums + at,
                                   .part = part_sums + at});
      if (c1 == g->c) transform_output(s, s->group, s->first_tile + tile, n_tiles, k, sums + at);
    }
    c = c1;
  } while (c < g->c);
}

static shared begin_call(const iso__winograd_engine *e, const iso__call *call, bool kept) {
  const iso_conv_problem *p = (const iso_conv_problem *)call->problem;
  const iso_conv_args *a = call->args;
  shared s = {.engine = e, .kernels = &e->kernels->of[e->id], .grid = iso__winograd_grid_of(p, e->m)};
  s.blocking = choose_blocking(e, &s.grid, kept, call->ctx->n_threads);
  s.layout = lay_out(e, &s.grid, &s.blocking, kept);
  s.workspace = call->workspace;
  s.source = s.grid.turned ? a->dy : a->x;
  s.weights = a->w;
  s.out = s.grid.turned ? a->dx : a->y;
  s.epilogue = (iso__winograd_epilogue){.bias = p->has_bias ? a->bias : NULL,
                                        .residual = p->has_residual ? a->residual : NULL,
                                        .relu = p->activation == ISO__ACTIVATION_RELU};
  return s;
}

static void make_kernel(shared *s, iso_context *ctx, float *u) {
  const int64_t units = s->grid.groups * iso__ceil_div(s->grid.k, lanes_of(s->engine));
  s->u_made = u;
  s->n_tasks = (int)(s->blocking.serial ? 1 : iso__min(units, 4 * ctx->n_threads));
  iso__parallel(ctx, s->n_tasks, kernel_task, s);
}

static void run_filters(shared *s, iso_context *ctx) {
  const blocking *b = &s->blocking;
  for (s->group = 0; s->group < s->grid.groups; s->group++)
    for (s->first_tile = 0; s->first_tile < s->grid.tiles; s->first_tile += b->super_tiles) {
      s->n_tiles = iso__min(b->super_tiles, s->grid.tiles - s->first_tile);
      s->n_tasks = (int)(b->serial ? 1 : iso__min(s->n_tiles, 4 * ctx->n_threads));
      iso__parallel(ctx, s->n_tasks, data_task, s);
      iso__parallel(ctx, (int)(b->n_k_blocks * b->n_splits), filters_task, s);
    }
}

void iso__winograd_run(const iso__winograd_engine *e, const iso__call *call) {
  shared s = begin_call(e, call, call->problem->kept);
  const iso__winograd_grid *g = &s.grid;
  if (g->tiles == 0 || g->k == 0 || g->groups == 0) return;
  s.u = call->kept;
  memset(floats_at(s.workspace, s.layout.zeros), 0, (size_t)s.blocking.v_channels * sizeof(float));
  if (e->filters) {
    run_filters(&s, call->ctx);
    return;
  }
  if (!s.u) {
    make_kernel(&s, call->ctx, floats_at(s.workspace, s.layout.shared));
    s.u = s.u_made;
  }
  iso__parallel(call->ctx, (int)(g->groups * s.blocking.n_blocks * s.blocking.n_splits), tiles_task, &s);
}

size_t iso__winograd_kept_bytes(const iso__winograd_engine *e, const iso_conv_problem *p) {
  const iso__winograd_grid g = iso__winograd_grid_of(p, e->m);
  const blocking b = choose_blocking(e, &g, true, 1);
  return (size_t)(g.groups * g.points * b.u_stride) * sizeof(float);
}

void iso__winograd_prepare(const iso__winograd_engine *e, const iso__call *call, void *kept) {
  shared s = begin_call(e, call, true);
  s.blocking.serial = false;
  make_kernel(&s, call->ctx, kept);
}

/* ---- cost ---- */

/* A core's measured pace. Products: flops a ns; transforms: ns for each vector and point. */
typedef struct pace {
  double flops, data, output, kernel;
} pace;
static const pace pace_avx2 = {.flops = 115, .data = 1.5, .output = 1.6, .kernel = 1.3};
static const pace pace_avx512 = {.flops = 200, .data = 2.4, .output = 2.9, .kernel = 3};
/* Bytes a ns beyond L2: U written, U read by products, V and M read again while products run; U through L2. */
static const double l2_bytes = 1.5e6, u_written = 13, u_read = 25, v_read = 64, u_in_l2 = 60;

static double most(double a, double b) { return a > b ? a : b; }
static double beyond_l2(double bytes) { return bytes > l2_bytes ? bytes - l2_bytes : 0; }

/* How much longer the slowest thread works than an even share. */
static double imbalance(int64_t n_tasks, int n_threads) {
  return (double)(iso__ceil_div(n_tasks, n_threads) * n_threads) / (double)iso__max(n_tasks, 1);
}

double iso__winograd_cost(const iso__winograd_engine *e, const iso_conv_problem *p, int n_threads) {
  const iso__winograd_grid g = iso__winograd_grid_of(p, e->m);
  const bool kept = p->head.kept;
  const blocking b = choose_blocking(e, &g, kept, n_threads);
  const pace at = e->kernels->width == 16 ? pace_avx512 : pace_avx2;
  const double width = e->kernels->width, groups = (double)g.groups, points = (double)g.points;
  const double tiles = (double)g.tiles, c = (double)g.c, k = (double)iso__round_up(g.k, e->kernels->width);
  const double c_vectors = (double)b.v_channels / width, k_vectors = k / width;
  const double v_bytes = 4 * points * (double)((e->filters ? b.super_tiles : b.tiles_block) * b.v_channels);
  const double u_bytes = 4 * points * c * k, n_blocks = (double)(b.n_super * b.n_blocks);
  const double height = (double)b.tiles_block / (double)iso__tile_count(b.tiles_block, e->kernels->max_rows);
  double ns = 2 * points * tiles * c * k / at.flops * (height < 4 ? 4 / height : 1); /* fewer rows: fma latency */
  const double kernel = at.kernel * points * c * k_vectors;
  if (!e->filters || kept) ns = most(ns, n_blocks * beyond_l2(u_bytes) / u_read);
  if (!kept)
    ns += e->filters ? kernel * (double)(b.n_super * b.n_splits)
                     : most(kernel, beyond_l2(u_bytes) / u_written) + u_bytes / u_in_l2;
  if (e->filters) ns += (double)(b.n_super * (b.n_k_blocks + 1)) * beyond_l2(v_bytes) / v_read;
  else ns += 2 * n_blocks * beyond_l2(v_bytes + 4 * points * (double)(b.tiles_block * b.k_block)) / v_read;
  ns += points * tiles * (at.output * k_vectors + at.data * c_vectors * (e->filters ? 1 : (double)b.n_splits));
  const int64_t n_tasks = e->filters ? b.n_k_blocks * b.n_splits : b.n_blocks * b.n_splits * g.groups;
  const double share = b.serial ? 1 : imbalance(n_tasks, n_threads) / n_threads;
  return 2000 + groups * (ns * share + (e->filters ? 2000 * (double)b.n_super : 0));
}
