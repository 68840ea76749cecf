/* image_params.cuh: a convolution's product (geometry.h) as the product kernel's parameters. */
#ifndef ISO_KERNELS_CONV_IMAGE_PARAMS_CUH
#define ISO_KERNELS_CONV_IMAGE_PARAMS_CUH
#include "kernels/conv/image_tiles.cuh"
extern "C" {
#include "kernels/conv/geometry.h"
extern const iso__operator *iso__problem_operator(const iso__problem *problem);
}

namespace iso__tiles {
static inline size_t take_bytes(size_t &n_bytes, size_t more) {
  const size_t at = n_bytes;
  n_bytes += (more + 63) & ~(size_t)63;
  return at;
}

/* The image that a product reads; `first`: it is stored channels-first. */
static inline gather gather_of(const iso__conv_product &g, bool first) {
  const iso__conv_axis *axes[3] = {&g.plane, &g.row, &g.col};
  gather a = {};
  const int64_t volume = g.plane.n_source * g.row.n_source * g.col.n_source, pitch = first ? 1 : g.source_pitch;
  for (int i = 0; i < 3; i++) {
    a.grid[i] = divisor_of(axes[2 - i]->n_grid), a.taps[i] = divisor_of(axes[i]->n_taps);
    a.step[i] = (int)axes[i]->step, a.offset[i] = (int)axes[i]->offset, a.tap_step[i] = (int)axes[i]->tap_step;
    a.extent[i] = (int)axes[i]->n_source;
  }
  a.stride[2] = (int)pitch, a.stride[1] = (int)(pitch * g.col.n_source);
  a.stride[0] = (int)(pitch * g.col.n_source * g.row.n_source);
  a.stride_n = (int)(volume * g.source_pitch), a.stride_c = first ? (int)volume : 1;
  a.channels = divisor_of(g.depth);
  a.n_positions = (int)(g.n * g.plane.n_grid * g.row.n_grid * g.col.n_grid), a.n_taps = (int)iso__conv_taps(&g);
  for (int j = 0; j < a.n_taps && j < max_fast_taps; j++) {
    const int64_t w = j % g.col.n_taps, h = j / g.col.n_taps % g.row.n_taps, d = j / g.col.n_taps / g.row.n_taps;
    a.tap_offset[j] =
        (int)(d * g.plane.tap_step * a.stride[0] + h * g.row.tap_step * a.stride[1] + w * g.col.tap_step * a.stride[2]);
  }
  return a;
}

/* Whether the image can be read four channels at a time. */
static inline bool image_has_vectors(const iso__conv_product &g, const void *image, bool first) {
  return !first && aligned16(image) && g.source_pitch % 4 == 0 && g.depth % 4 == 0;
}
/* One tap and every position its own: the image is a plain matrix. */
static inline bool is_plain_matrix(const iso__conv_product &g) {
  const iso__conv_axis *axes[3] = {&g.plane, &g.row, &g.col};
  for (int i = 0; i < 3; i++)
    if (axes[i]->n_taps != 1 || axes[i]->step != 1 || axes[i]->offset != 0 || axes[i]->n_grid != axes[i]->n_source)
      return false;
  return true;
}
/* Where the rows of C, positions of the grid, lie in the output. */
static inline row_map row_map_of(const iso__conv_product &g) {
  row_map r = {};
  const iso__conv_axis *axes[3] = {&g.plane, &g.row, &g.col};
  int64_t stride = g.output_pitch;
  for (int i = 2; i >= 0; i--) {
    r.mapped |= axes[i]->out_step != 1;
    r.grid[2 - i] = divisor_of(axes[i]->n_grid);
    r.stride[i + 1] = axes[i]->out_step * stride;
    r.first += axes[i]->out_first * stride;
    stride *= axes[i]->n_out;
  }
  r.stride[0] = stride;
  return r;
}
} // namespace iso__tiles

/* NULL or why the product kernels cannot compute this convolution: sizes beyond 32 bits. */
const char *iso__image_tiles_applicable(const iso_conv_problem *p);
#endif
