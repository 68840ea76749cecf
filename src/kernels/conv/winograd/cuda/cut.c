/* cut.c: cuts of Winograd problems (cut.h), and what the rows for CUDA ask besides running: where they apply, how much
 * workspace they take, what they cost. */
#include "kernels/conv/winograd/cuda/cut.h"
#include "kernels/conv/cuda_cut.h"
#include "kernels/conv/winograd/winograd.h"
#include "numeric/order.h"
#include <math.h>

enum { MAX_CHANNELS = 1 << 18 };

/* ---- where they apply ---- */

/* Offsets inside a tile and tile numbers inside an image are 32-bit numbers on the device, too. */
static const char *sizes_applicable(const iso_conv_problem *p) {
  if (p->c > MAX_CHANNELS || p->k > MAX_CHANNELS) return "a pixel has more than 2^18 channels";
  const char *reason = iso__cut_extents(p);
  if (reason) return reason;
  return iso__cut_row(p) >= ISO__CUT_EXTENT / 2 ? "a row of pixels has more than 2^27 elements" : NULL;
}

const char *iso__winograd_applicable_k3(const iso__problem *problem);
const char *iso__winograd_applicable_k5(const iso__problem *problem);
const char *iso__wino_bwd_weights_applicable_k3(const iso__problem *problem);
const char *iso__wino_bwd_weights_applicable_k5(const iso__problem *problem);
#define APPLICABLE(name, of_class)                                                                                     \
  const char *name(const iso__problem *problem);                                                                       \
  const char *name(const iso__problem *problem) {                                                                      \
    const char *reason = of_class(problem);                                                                            \
    return reason ? reason : sizes_applicable((const iso_conv_problem *)problem);                                      \
  }
APPLICABLE(iso__wino_cuda_applicable_k3, iso__winograd_applicable_k3)
APPLICABLE(iso__wino_cuda_applicable_k5, iso__winograd_applicable_k5)
APPLICABLE(iso__wino_cuda_weights_applicable_k3, iso__wino_bwd_weights_applicable_k3)
APPLICABLE(iso__wino_cuda_weights_applicable_k5, iso__wino_bwd_weights_applicable_k5)

/* ---- cuts ---- */

static iso__wino_cuda_cut begin_cut(const iso__winograd_grid *g, int m) {
  iso__wino_cuda_cut c = {.m = m, .r = (int)g->r, .points = (int)g->points, .groups = (int)g->groups};
  c.c = (int)g->c, c.k = (int)g->k, c.c_pad = (int)iso__round_up(g->c, 4), c.k_pad = (int)iso__round_up(g->k, 4);
  c.source = (iso__wino_cuda_image){.h = (int)g->source_h,
                                    .w = (int)g->source_w,
                                    .pitch = (int)g->source_pitch,
                                    .offset_h = (int)g->offset_h,
                                    .offset_w = (int)g->offset_w};
  c.result = (iso__wino_cuda_image){.h = (int)g->out_h, .w = (int)g->out_w, .pitch = (int)g->out_pitch};
  c.tiles_h = (int)g->tiles_h, c.tiles_w = (int)g->tiles_w, c.tiles = g->tiles;
  c.slab = (int)iso__min(g->groups, ISO__CUT_GRID / g->points);
  return c;
}

iso__wino_cuda_cut iso__wino_cuda_cut_images(const iso_conv_problem *p, int m) {
  const iso__winograd_grid g = iso__winograd_grid_of(p, m);
  iso__wino_cuda_cut c = begin_cut(&g, m);
  c.turned = g.turned;
  c.slots = (int)iso__max(iso__ceil_div(g.c, ISO__CHUNK), 1);
  const int64_t tile_floats = c.slab * g.points * (g.c + (int64_t)c.slots * c.k_pad);
  c.slice = iso__cut_slice(g.tiles, ISO__CUT_BYTES / (int64_t)sizeof(float) / iso__max(tile_floats, 1), ISO__CHUNK);
  const int64_t tiles = iso__round_up(c.slice, 4), slab_points = c.slab * g.points;
  c.u_floats = (size_t)(g.groups * g.points * g.c * c.k_pad);
  c.v = iso__cut_take(&c.floats, slab_points * g.c * tiles);
  c.m_or_z = iso__cut_take(&c.floats, c.slots * slab_points * tiles * c.k_pad);
  c.u = iso__cut_take(&c.floats, (int64_t)c.u_floats); /* kept forms are not always there */
  return c;
}

iso__wino_cuda_cut iso__wino_cuda_cut_weights(const iso_conv_problem *p, int m) {
  iso_conv_problem forward = *p;
  forward.head.op = ISO__OP_CONV_FWD;
  const iso__winograd_grid g = iso__winograd_grid_of(&forward, m);
  iso__wino_cuda_cut c = begin_cut(&g, m);
  /* A chunk's operands and its sums; whole panels in a slice where they fit, so that no panel waits between slices. */
  const int64_t slab_points = c.slab * g.points, sums = slab_points * c.k_pad * c.c_pad;
  const int64_t chunk_floats = slab_points * ISO__CHUNK * (c.c_pad + c.k_pad) + sums;
  const int64_t chunks = iso__max(ISO__CUT_BYTES / (int64_t)sizeof(float) / chunk_floats, 1);
  c.slice = iso__cut_slice(g.tiles, chunks * ISO__CHUNK, chunks >= ISO__PANEL / ISO__CHUNK ? ISO__PANEL : ISO__CHUNK);
  c.slots = (int)iso__ceil_div(c.slice, ISO__CHUNK);
  c.v = iso__cut_take(&c.floats, slab_points * c.slice * c.c_pad);
  c.m_or_z = iso__cut_take(&c.floats, slab_points * c.slice * c.k_pad);
  c.d = iso__cut_take(&c.floats, c.slots * sums);
  c.total = iso__cut_take(&c.floats, g.tiles > ISO__CHUNK ? sums : 0);
  c.panel = iso__cut_take(&c.floats, c.slice % ISO__PANEL && c.slice < g.tiles ? sums : 0);
  return c;
}

/* ---- cost: ns on a chip of 4 TB/s and 65 TFLOP/s ---- */

static const double transform_bytes = 3000, product_flops = 46e3, launch = 3e3; /* a ns; ns */

/* Products of `blocks` tiles of 64 × 64: the last wave of blocks is as long as a full one, eight on a multiprocessor.
 */
static double product_ns(double blocks, double terms, int n_multiprocessors) {
  const double at_once = 8.0 * n_multiprocessors, waves = blocks / at_once;
  const double whole = waves < 1 ? 1 : waves + 0.5;
  return whole * at_once * 64 * 64 * 2 * terms / product_flops;
}

static double images_cost(const iso_conv_problem *p, int m, int n_multiprocessors) {
  const iso__wino_cuda_cut c = iso__wino_cuda_cut_images(p, m);
  const double tiles = (double)c.tiles, points = (double)c.groups * c.points;
  const double pixels = (double)p->n * ((double)c.source.h * c.source.w * c.c + (double)c.result.h * c.result.w * c.k);
  const double moved = pixels * c.groups + points * tiles * (c.c + (double)c.slots * c.k_pad);
  const double kernel = p->head.kept ? 0 : launch + (double)c.u_floats * 8 / transform_bytes;
  const double blocks = points * (double)(iso__ceil_div(c.tiles, 64) * iso__ceil_div(c.k_pad, 64) * c.slots);
  const double n_slices = (double)iso__ceil_div(c.tiles, c.slice);
  return 3 * n_slices * launch + kernel + moved * 4 / transform_bytes +
         product_ns(blocks, (double)c.c / c.slots, n_multiprocessors);
}

static double weights_cost(const iso_conv_problem *p, int m, int n_multiprocessors) {
  const iso__wino_cuda_cut c = iso__wino_cuda_cut_weights(p, m);
  const double tiles = (double)c.tiles, points = (double)c.groups * c.points, chunks = ceil(tiles / ISO__CHUNK);
  const double pixels = (double)p->n * ((double)c.source.h * c.source.w * c.c + (double)c.result.h * c.result.w * c.k);
  const double sums = points * c.k_pad * (double)c.c_pad;
  const double moved = pixels * c.groups + points * tiles * (c.c_pad + c.k_pad) + sums * (chunks + 2);
  const double blocks = points * (double)(iso__ceil_div(c.k_pad, 64) * iso__ceil_div(c.c_pad, 64)) * chunks;
  const double n_slices = (double)iso__ceil_div(c.tiles, c.slice);
  return (4 * n_slices + 1) * launch + moved * 4 / transform_bytes +
         product_ns(blocks, tiles / chunks, n_multiprocessors);
}

/* ---- the rows' functions, by class ---- */

#define IMAGES(suffix, m, r)                                                                                           \
  size_t iso__wino_cuda_workspace_##suffix(const iso__problem *problem, int n_threads);                                \
  double iso__wino_cuda_cost_##suffix(const iso__problem *problem, int n_threads);                                     \
  size_t iso__wino_cuda_kept_bytes_##suffix(const iso__problem *problem);                                              \
  size_t iso__wino_cuda_workspace_##suffix(const iso__problem *problem, int n_threads) {                               \
    (void)n_threads;                                                                                                   \
    return iso__wino_cuda_cut_images((const iso_conv_problem *)problem, m).floats * sizeof(float);                     \
  }                                                                                                                    \
  double iso__wino_cuda_cost_##suffix(const iso__problem *problem, int n_threads) {                                    \
    return images_cost((const iso_conv_problem *)problem, m, n_threads);                                               \
  }                                                                                                                    \
  size_t iso__wino_cuda_kept_bytes_##suffix(const iso__problem *problem) {                                             \
    return iso__wino_cuda_cut_images((const iso_conv_problem *)problem, m).u_floats * sizeof(float);                   \
  }
#define WEIGHTS(suffix, m, r)                                                                                          \
  size_t iso__wino_cuda_weights_workspace_##suffix(const iso__problem *problem, int n_threads);                        \
  double iso__wino_cuda_weights_cost_##suffix(const iso__problem *problem, int n_threads);                             \
  size_t iso__wino_cuda_weights_workspace_##suffix(const iso__problem *problem, int n_threads) {                       \
    (void)n_threads;                                                                                                   \
    return iso__wino_cuda_cut_weights((const iso_conv_problem *)problem, m).floats * sizeof(float);                    \
  }                                                                                                                    \
  double iso__wino_cuda_weights_cost_##suffix(const iso__problem *problem, int n_threads) {                            \
    return weights_cost((const iso_conv_problem *)problem, m, n_threads);                                              \
  }
ISO__WINOGRAD_CLASSES(IMAGES)
ISO__WINOGRAD_CLASSES(WEIGHTS)
