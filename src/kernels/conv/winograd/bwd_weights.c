/* bwd_weights.c: cutting and summing of the weights' gradient in the Winograd classes (bwd_weights.h). */
#include "kernels/conv/winograd/bwd_weights.h"
#include "kernels/sizes.h"
#include "base/pool.h"
#include "numeric/order.h"
#include <math.h>

enum {
  SLICE_BYTES = 650 << 10, /* V and Z of a slice: with the sums they fit an L2 cache */
  LEAST_SLICE = 16,
  MAX_TASKS = 1 << 16,
};

/* How a problem is cut; of no effect on bits. */
typedef struct cut {
  int64_t out_h, out_w, tile_rows, tile_columns, n_tiles;
  int points;             /* of both axes */
  int64_t kg, cg;         /* channels of a group */
  int64_t k, c, n_k, n_c; /* channels of a block, blocks */
  int64_t pair;           /* blocks of output channels that one thread passes together, sharing V: 1 or 2 */
  int64_t n_units;        /* of work: groups × pairs × blocks of input channels */
  int slice;              /* tiles, a divisor of 256 */
  bool several_chunks, several_panels;
  double block_ns;
} cut;

/* The time of one block at 3.5 GHz: products at 0.85 of what two fma a cycle could do (0.78 of the wider ones),
 * transforms and what they store in L2 by the vector. */
static double block_ns(const iso__wino_weights *w, const cut *c, int64_t k, int64_t channels) {
  const double points = c->points, axis = w->m + w->r - 1, wide = w->width == 16 ? 1.35 : 1;
  const double k_vectors = (double)iso__ceil_div(k, w->width), c_vectors = (double)iso__ceil_div(channels, w->width);
  const double product = points * (double)k * c_vectors / (2 * (w->width == 16 ? 0.78 : 0.85));
  const double transforms = points * axis * (k_vectors * 0.55 + c_vectors * 0.75) * wide;
  const double dkernel = points * (double)k * c_vectors * 3 * wide;
  return ((product + transforms) * (double)c->n_tiles + dkernel) / 3.5;
}

/* Blocks as large as they get, or smaller ones where those keep the threads busier. */
static cut choose_cut(const iso__wino_weights *w, const iso_conv_problem *p, int n_threads) {
  cut c = {.out_h = iso__conv_out_h(p), .out_w = iso__conv_out_w(p)};
  c.tile_rows = iso__ceil_div(c.out_h, w->m);
  c.tile_columns = iso__ceil_div(c.out_w, w->m);
  c.n_tiles = p->n * c.tile_rows * c.tile_columns;
  c.points = (w->m + w->r - 1) * (w->m + w->r - 1);
  c.several_chunks = !w->one_chain && c.n_tiles > ISO__CHUNK;
  c.several_panels = !w->one_chain && c.n_tiles > ISO__PANEL;
  c.kg = p->k / p->groups, c.cg = p->c / p->groups;
  double best = INFINITY;
  for (int64_t most_k = ISO__WINO_BLOCK; most_k >= 8; most_k -= 8)
    for (int64_t most_c = ISO__WINO_BLOCK; most_c >= 16; most_c -= 16) {
      const int64_t n_k = iso__ceil_div(c.kg, most_k), n_c = iso__ceil_div(c.cg, most_c);
      const int64_t k = iso__ceil_div(c.kg, n_k), channels = iso__round_up(iso__ceil_div(c.cg, n_c), 16);
      const double ns = block_ns(w, &c, k, channels) * (double)iso__ceil_div(p->groups * n_k * n_c, n_threads);
      if (ns >= best * 0.999) continue;
      best = ns;
      c.k = k, c.c = channels, c.n_k = iso__ceil_div(c.kg, k), c.n_c = iso__ceil_div(c.cg, channels);
      c.block_ns = block_ns(w, &c, k, channels);
    }
  c.slice = ISO__CHUNK;
  while (c.slice > LEAST_SLICE &&
         (c.points * c.slice * (c.k + c.c) * (int64_t)sizeof(float) > SLICE_BYTES || c.slice / 2 >= c.n_tiles))
    c.slice /= 2;
  /* Two blocks' sums fit L2 where no chunk's sum has to wait; with one slice, blocks pass on Z instead. */
  const int64_t alone = p->groups * c.n_k * c.n_c, paired = p->groups * iso__ceil_div(c.n_k, 2) * c.n_c;
  c.pair = !c.several_chunks && c.n_tiles > c.slice && c.n_k > 1 &&
                   2 * iso__ceil_div(paired, n_threads) <= iso__ceil_div(alone, n_threads)
               ? 2
               : 1;
  c.n_units = c.pair == 2 ? paired : alone;
  return c;
}

/* ---- workspace: each thread's v, z and sums ---- */

typedef struct layout {
  int64_t v_panel;
  int64_t sums_block;                           /* from one block of a pair to the other */
  int64_t v, z, sums, more_sums, total, thread; /* offsets and size of a thread's part, in floats */
} layout;

static layout lay_out(const iso__wino_weights *w, const cut *c) {
  const int64_t panel = 2 * w->width, groups = iso__ceil_div(c->slice, ISO__WINO_GROUP);
  const int64_t tiles = groups * ISO__WINO_GROUP * (c->points | 1), sums = c->points * ISO__WINO_SUMS;
  layout l = {.v_panel = tiles * panel, .sums_block = sums};
  l.z = iso__ceil_div(c->c, panel) * l.v_panel;
  l.sums = l.z + tiles * ISO__WINO_BLOCK;
  l.more_sums = l.sums + c->pair * sums;
  l.total = l.more_sums + (c->several_chunks ? sums : 0);
  l.thread = l.total + (c->several_panels ? sums : 0);
  return l;
}

size_t iso__wino_weights_workspace(const iso__wino_weights *w, const iso_conv_problem *p, int n_threads) {
  const cut c = choose_cut(w, p, n_threads);
  return (size_t)(lay_out(w, &c).thread * n_threads) * sizeof(float);
}

double iso__wino_weights_cost(const iso__wino_weights *w, const iso_conv_problem *p, int n_threads) {
  const cut c = choose_cut(w, p, n_threads);
  return 3000 + (w->one_chain ? 0.98 : 1) * c.block_ns * (double)iso__ceil_div(p->groups * c.n_k * c.n_c, n_threads);
}

/* ---- one call ---- */

typedef struct shared {
  const iso__wino_weights *w;
  const iso_conv_problem *problem;
  const iso_conv_args *args;
  const cut *cut;
  const layout *layout;
  float *workspace;
  int n_tasks;
} shared;

/* What becomes of a slice's sums, tiles [at, at + n): within a panel's first chunk no panel sum lives yet, so its chain
 * waits in the panel's place; with one panel only, the total is that. */
static iso__wino_chain chain_of(const shared *s, int64_t at, int64_t n, float *mine) {
  const cut *c = s->cut;
  float *panel = mine + s->layout->sums, *waiting = mine + s->layout->more_sums;
  if (s->w->one_chain) return (iso__wino_chain){.from = at ? panel : NULL, .to = panel};
  float *total = c->several_panels ? mine + s->layout->total : panel;
  const int64_t chunk = at / ISO__CHUNK * ISO__CHUNK, end = at + n;
  const bool first_chunk = chunk % ISO__PANEL == 0, chunk_ends = end == c->n_tiles || end % ISO__CHUNK == 0;
  const bool panel_ends = end == c->n_tiles || end % ISO__PANEL == 0;
  float *chain = first_chunk ? panel : waiting;
  return (iso__wino_chain){.from = at == chunk ? NULL : chain,
                           .panel = chunk_ends && !first_chunk ? panel : NULL,
                           .total = panel_ends && chunk >= ISO__PANEL ? total : NULL,
                           .chunk_ends = chunk_ends,
                           .to = panel_ends   ? total
                                 : chunk_ends ? panel
                                              : chain};
}

static iso__wino_block block_of(const shared *s, int64_t group, int64_t k_block, int64_t c_block) {
  const cut *c = s->cut;
  const int64_t k = k_block * c->k, channel = c_block * c->c; /* of the group */
  return (iso__wino_block){.problem = s->problem,
                           .x = s->args->x,
                           .dy = s->args->dy,
                           .dw = s->args->dw,
                           .out_h = c->out_h,
                           .out_w = c->out_w,
                           .tile_rows = c->tile_rows,
                           .tile_columns = c->tile_columns,
                           .k = group * c->kg + k,
                           .c = group * c->cg + channel,
                           .c_of_group = channel,
                           .n_k = (int)iso__min(c->k, c->kg - k),
                           .n_c = (int)iso__min(c->c, c->cg - channel),
                           .v_panel = s->layout->v_panel};
}

/* A unit from its first tile to dw. */
static void run_unit(const shared *s, int64_t pair, int64_t c_block, float *mine, bool z_is_ready) {
  const iso__wino_weights *w = s->w;
  const cut *c = s->cut;
  const layout *l = s->layout;
  const int64_t n_pairs = iso__ceil_div(c->n_k, c->pair), group = pair / n_pairs, first = pair % n_pairs * c->pair;
  const int n_blocks = (int)iso__min(c->pair, c->n_k - first);
  iso__wino_block blocks[2];
  for (int i = 0; i < n_blocks; i++) blocks[i] = block_of(s, group, first + i, c_block);
  float *v = mine + l->v, *z = mine + l->z;
  const float *sums = NULL;
  for (int64_t at = 0; at < c->n_tiles;) { /* slices end where chunks do: their size divides a chunk's */
    const int n = (int)iso__min(c->slice, c->n_tiles - at);
    w->data(blocks, at, n, v);
    for (int i = 0; i < n_blocks; i++) {
      if (!z_is_ready) w->grad(&blocks[i], at, n, z);
      const iso__wino_chain chain = chain_of(s, at, n, mine + i * l->sums_block);
      w->product(&blocks[i], c->points, n, z, v, &chain);
      if (i == 0) sums = chain.to;
    }
    at += n;
  }
  for (int i = 0; i < n_blocks; i++) w->dkernel(&blocks[i], sums + i * l->sums_block);
}

static void weights_task(void *arg, int task, int thread) {
  const shared *s = arg;
  const cut *c = s->cut;
  float *mine = s->workspace + thread * s->layout->thread;
  int64_t z_of = -1; /* the pair whose Z is there, if one slice holds all tiles */
  for (int64_t unit = c->n_units * task / s->n_tasks; unit < c->n_units * (task + 1) / s->n_tasks; unit++) {
    const int64_t pair = unit / c->n_c;
    run_unit(s, pair, unit % c->n_c, mine, z_of == pair);
    if (c->n_tiles <= c->slice) z_of = pair;
  }
}

void iso__wino_weights_run(const iso__wino_weights *w, const iso__call *call) {
  const iso_conv_problem *p = (const iso_conv_problem *)call->problem;
  const cut c = choose_cut(w, p, iso_n_threads(call->ctx));
  const layout l = lay_out(w, &c);
  shared s = {.w = w, .problem = p, .args = call->args, .cut = &c, .layout = &l, .workspace = call->workspace};
  const bool alone = c.block_ns * (double)(c.n_units * c.pair) < 2e4; /* waking others would cost more */
  s.n_tasks = alone
                  ? 1
                  : (int)iso__min(c.n_tiles <= c.slice ? iso__min(c.n_units, 8 * iso_n_threads(call->ctx)) : c.n_units,
                                  MAX_TASKS);
  if (alone) weights_task(&s, 0, 0);
  else iso__parallel(call->ctx, s.n_tasks, weights_task, &s);
}
