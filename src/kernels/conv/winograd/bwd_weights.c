/* bwd_weights.c: cutting and summing of the weights' gradient in the Winograd classes (bwd_weights.h). */
#include "kernels/conv/winograd/bwd_weights.h"
#include "base/pool.h"
#include "numeric/order.h"
#include <math.h>

enum {
  SLICE_BYTES = 650 << 10, /* V and Z of a slice: with the sums they fit an L2 cache */
  LEAST_SLICE = 16,
  MAX_TASKS = 1 << 16,
};

static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
static int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }

/* How a problem is cut; of no effect on bits. */
typedef struct cut {
  int64_t out_h, out_w, tile_rows, tile_columns, n_tiles;
  int points;             /* of both axes */
  int64_t kg, cg;         /* channels of a group */
  int64_t k, c, n_k, n_c; /* channels of a block, blocks */
  int slice;              /* tiles, a divisor of 256 */
  bool several_chunks, several_panels;
  double block_ns;
} cut;

/* The time of one block at 3.5 GHz: products at 0.85 of what two fma a cycle could do (0.78 of the wider ones),
 * transforms and what they store in L2 by the vector. */
static double block_ns(const iso__wino_weights *w, const cut *c, int64_t k, int64_t channels) {
  const double points = c->points, axis = w->m + w->r - 1, wide = w->width == 16 ? 1.35 : 1;
  const double k_vectors = (double)ceil_div(k, w->width), c_vectors = (double)ceil_div(channels, w->width);
  const double product = points * (double)k * c_vectors / (2 * (w->width == 16 ? 0.78 : 0.85));
  const double transforms = points * axis * (k_vectors * 0.55 + c_vectors * 0.75) * wide;
  const double dkernel = points * (double)k * c_vectors * 3 * wide;
  return ((product + transforms) * (double)c->n_tiles + dkernel) / 3.5;
}

/* Blocks as large as they get, or smaller ones where those keep the threads busier. */
static cut choose_cut(const iso__wino_weights *w, const iso_conv_problem *p, int n_threads) {
  cut c = {.out_h = iso__conv_out_h(p), .out_w = iso__conv_out_w(p)};
  c.tile_rows = ceil_div(c.out_h, w->m);
  c.tile_columns = ceil_div(c.out_w, w->m);
  c.n_tiles = p->n * c.tile_rows * c.tile_columns;
  c.points = (w->m + w->r - 1) * (w->m + w->r - 1);
  c.several_chunks = !w->one_chain && c.n_tiles > ISO__CHUNK;
  c.several_panels = !w->one_chain && c.n_tiles > ISO__PANEL;
  c.kg = p->k / p->groups, c.cg = p->c / p->groups;
  double best = INFINITY;
  for (int64_t most_k = ISO__WINO_BLOCK; most_k >= 8; most_k -= 8)
    for (int64_t most_c = ISO__WINO_BLOCK; most_c >= 16; most_c -= 16) {
      const int64_t n_k = ceil_div(c.kg, most_k), n_c = ceil_div(c.cg, most_c);
      const int64_t k = ceil_div(c.kg, n_k), channels = round_up(ceil_div(c.cg, n_c), 16);
      const double ns = block_ns(w, &c, k, channels) * (double)ceil_div(p->groups * n_k * n_c, n_threads);
      if (ns >= best * 0.999) continue;
      best = ns;
      c.k = k, c.c = channels, c.n_k = ceil_div(c.kg, k), c.n_c = ceil_div(c.cg, channels);
      c.block_ns = block_ns(w, &c, k, channels);
    }
  c.slice = ISO__CHUNK;
  while (c.slice > LEAST_SLICE &&
         (c.points * c.slice * (c.k + c.c) * (int64_t)sizeof(float) > SLICE_BYTES || c.slice / 2 >= c.n_tiles))
    c.slice /= 2;
  return c;
}

/* ---- workspace: each thread's v, z and sums ---- */

typedef struct layout {
  int64_t v_panel;
  int64_t v, z, sums, more_sums, total, thread; /* offsets and size of a thread's part, in floats */
} layout;

static layout lay_out(const iso__wino_weights *w, const cut *c) {
  const int64_t panel = 2 * w->width, groups = ceil_div(c->slice, ISO__WINO_GROUP);
  const int64_t tiles = groups * ISO__WINO_GROUP * (c->points | 1), sums = c->points * ISO__WINO_SUMS;
  layout l = {.v_panel = tiles * panel};
  l.z = ceil_div(c->c, panel) * l.v_panel;
  l.sums = l.z + tiles * ISO__WINO_BLOCK;
  l.more_sums = l.sums + sums;
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
  return 3000 + (w->one_chain ? 0.98 : 1) * c.block_ns * (double)ceil_div(p->groups * c.n_k * c.n_c, n_threads);
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

/* Sums over all tiles of a block; returns where they are. Within a panel's first chunk no panel sum lives yet, so its
 * chain waits in the panel's place; with one panel only, the total is that. */
static const float *sum_tiles(const shared *s, const iso__wino_block *b, float *mine, bool z_is_ready) {
  const iso__wino_weights *w = s->w;
  const cut *c = s->cut;
  const layout *l = s->layout;
  float *v = mine + l->v, *z = mine + l->z, *panel = mine + l->sums, *waiting = mine + l->more_sums;
  float *total = c->several_panels ? mine + l->total : panel;
  for (int64_t at = 0; at < c->n_tiles;) {
    const int64_t chunk = at / ISO__CHUNK * ISO__CHUNK, chunk_end = min64(chunk + ISO__CHUNK, c->n_tiles);
    const int n = (int)min64(c->slice, chunk_end - at);
    const bool first_chunk = chunk % ISO__PANEL == 0, chunk_ends = at + n == chunk_end;
    const bool panel_ends = chunk_ends && (chunk_end == c->n_tiles || chunk_end % ISO__PANEL == 0);
    float *chain = first_chunk ? panel : waiting;
    w->data(b, at, n, v);
    if (!z_is_ready) w->grad(b, at, n, z);
    w->product(b, c->points, n, z, v,
               &(iso__wino_chain){.from = at == chunk ? NULL : chain,
                                  .panel = chunk_ends && !first_chunk ? panel : NULL,
                                  .total = panel_ends && chunk >= ISO__PANEL ? total : NULL,
                                  .chunk_ends = chunk_ends,
                                  .to = panel_ends   ? total
                                        : chunk_ends ? panel
                                                     : chain});
    at += n;
  }
  return total;
}

/* The same in one chain. */
static const float *sum_tiles_in_one(const shared *s, const iso__wino_block *b, float *mine, bool z_is_ready) {
  const iso__wino_weights *w = s->w;
  const cut *c = s->cut;
  float *v = mine + s->layout->v, *z = mine + s->layout->z, *sums = mine + s->layout->sums;
  for (int64_t at = 0; at < c->n_tiles; at += c->slice) {
    const int n = (int)min64(c->slice, c->n_tiles - at);
    w->data(b, at, n, v);
    if (!z_is_ready) w->grad(b, at, n, z);
    w->product(b, c->points, n, z, v, &(iso__wino_chain){.from = at ? sums : NULL, .to = sums});
  }
  return sums;
}

static void weights_task(void *arg, int task, int thread) {
  const shared *s = arg;
  const cut *c = s->cut;
  const layout *l = s->layout;
  const int64_t n_units = s->problem->groups * c->n_k * c->n_c;
  float *mine = s->workspace + thread * l->thread;
  int64_t z_of = -1; /* the block of output channels whose Z is there, if one slice holds all tiles */
  for (int64_t unit = n_units * task / s->n_tasks; unit < n_units * (task + 1) / s->n_tasks; unit++) {
    const int64_t k_block = unit / c->n_c, group = k_block / c->n_k;
    const int64_t k = k_block % c->n_k * c->k, channel = unit % c->n_c * c->c; /* of the group */
    const iso__wino_block b = {.problem = s->problem,
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
                               .n_k = (int)min64(c->k, c->kg - k),
                               .n_c = (int)min64(c->c, c->cg - channel),
                               .v_panel = l->v_panel};
    const float *sums = (s->w->one_chain ? sum_tiles_in_one : sum_tiles)(s, &b, mine, z_of == k_block);
    s->w->dkernel(&b, sums);
    if (c->n_tiles <= c->slice) z_of = k_block;
  }
}

void iso__wino_weights_run(const iso__wino_weights *w, const iso__call *call) {
  const iso_conv_problem *p = (const iso_conv_problem *)call->problem;
  const cut c = choose_cut(w, p, iso_n_threads(call->ctx));
  const layout l = lay_out(w, &c);
  shared s = {.w = w, .problem = p, .args = call->args, .cut = &c, .layout = &l, .workspace = call->workspace};
  const int64_t n_units = p->groups * c.n_k * c.n_c;
  const bool alone = c.block_ns * (double)n_units < 2e4; /* waking others would cost more */
  s.n_tasks =
      alone ? 1 : (int)min64(c.n_tiles <= c.slice ? min64(n_units, 8 * iso_n_threads(call->ctx)) : n_units, MAX_TASKS);
  if (alone) weights_task(&s, 0, 0);
  else iso__parallel(call->ctx, s.n_tasks, weights_task, &s);
}
