/* bwd_weights_impl.h: the tiles of bwd_weights.h for one instruction set; included by bwd_weights_avx2.c and
 * bwd_weights_avx512.c. */
#include "kernels/conv/depthwise/bwd_weights.h"
#include "numeric/vec.h"

#if defined(__clang__)
#  define UNROLL _Pragma("clang loop unroll(full)")
#else
#  define UNROLL _Pragma("GCC unroll 32")
#endif

enum { TILE = ISO__DW_TILE, POSITIONS = 4 /* at a time */ };
static const float zeros[VF_LANES];

/* Where the tile's rows lie for one segment; rows in the padding are zeros that stay where they are. */
typedef struct tile_rows {
  const float *x[ISO__DW_TILE_ROWS];
  int64_t tap[ISO__DW_TILE_ROWS], pixel[ISO__DW_TILE_ROWS];
} tile_rows;

/* `n` positions whose columns are inside, from the i-th on. */
VEC_FN void add_inside(vf *acc, const tile_rows *rows, const float *dy, int64_t dy_pixel, int64_t i, const int n_rows,
                       const int n_taps, const int apart, const int n) {
  vf d[POSITIONS];
  UNROLL for (int o = 0; o < n; o++) d[o] = vf_load(dy + (i + o) * dy_pixel);
  if (apart) {
    UNROLL for (int j = 0; j < (n - 1) * apart + n_taps; j++) {
      if (j % apart >= n_taps) continue; /* between positions */
      UNROLL for (int r = 0; r < n_rows; r++) {
        const vf xv = vf_load(rows->x[r] + i * rows->pixel[r] + j * rows->tap[r]);
        UNROLL for (int o = 0; o < n; o++) {
          const int s = j - o * apart;
          if (s >= 0 && s < n_taps) acc[r * n_taps + s] = vf_fma(d[o], xv, acc[r * n_taps + s]);
        }
      }
    }
  } else {
    UNROLL for (int o = 0; o < n; o++) UNROLL for (int s = 0; s < n_taps; s++) UNROLL for (int r = 0; r < n_rows; r++) {
      const vf xv = vf_load(rows->x[r] + (i + o) * rows->pixel[r] + s * rows->tap[r]);
      acc[r * n_taps + s] = vf_fma(d[o], xv, acc[r * n_taps + s]);
    }
  }
}

/* One position some of whose columns may be outside. */
VEC_FN void add_edge(vf *acc, const tile_rows *rows, const float *dy, const iso__dw_sums *t, int64_t column, int64_t i,
                     const int n_rows, const int n_taps) {
  const vf d = vf_load(dy + i * t->dy_pixel);
  UNROLL for (int s = 0; s < n_taps; s++) {
    const int64_t at = column + i * t->pixel_step + s * t->tap_step;
    const bool inside = at >= 0 && at < t->width;
    UNROLL for (int r = 0; r < n_rows; r++) {
      const float *x = inside ? rows->x[r] + i * rows->pixel[r] + s * rows->tap[r] : zeros;
      acc[r * n_taps + s] = vf_fma(d, vf_load(x), acc[r * n_taps + s]);
    }
  }
}

VEC_FN void add_segment(vf *acc, const iso__dw_sums *t, const iso__dw_segment *g, int64_t row, int64_t tap, int64_t c,
                        const int n_rows, const int n_taps, const int apart) {
  tile_rows rows;
  UNROLL for (int r = 0; r < n_rows; r++) {
    const bool inside = row + r >= g->rows.first && row + r < g->rows.end;
    rows.x[r] = inside ? t->x + (g->x + (row + r) * t->x_row + tap * t->x_tap + c) : zeros;
    rows.tap[r] = inside ? t->x_tap : 0;
    rows.pixel[r] = inside ? t->x_pixel : 0;
  }
  const float *dy = t->dy + g->dy + c;
  const int64_t column = g->column + tap * t->tap_step;
  int64_t i = 0;
  for (; i < g->inside; i++) add_edge(acc, &rows, dy, t, column, i, n_rows, n_taps);
  for (; i + POSITIONS <= g->inside_end; i += POSITIONS)
    add_inside(acc, &rows, dy, t->dy_pixel, i, n_rows, n_taps, apart, POSITIONS);
  for (; i < g->inside_end; i++) add_inside(acc, &rows, dy, t->dy_pixel, i, n_rows, n_taps, apart, 1);
  for (; i < g->n; i++) add_edge(acc, &rows, dy, t, column, i, n_rows, n_taps);
}

VEC_FN void tile(const iso__dw_sums *t, int64_t row, int64_t tap, const int n_rows, const int n_taps, const int apart) {
  for (int64_t v = t->first_vector; v < t->end_vector; v++) {
    const int64_t c = (v + 1) * VF_LANES <= t->n_channels ? v * VF_LANES : t->n_channels - VF_LANES;
    float *sums = t->sums + (((v - t->first_vector) * t->n_rows + row) * t->n_taps + tap) * VF_LANES;
    vf acc[TILE];
    UNROLL for (int r = 0; r < n_rows; r++) UNROLL for (int s = 0; s < n_taps; s++) acc[r * n_taps + s] =
        vf_load(sums + (r * t->n_taps + s) * VF_LANES);
    for (int g = 0; g < t->n_segments; g++) add_segment(acc, t, &t->segments[g], row, tap, c, n_rows, n_taps, apart);
    UNROLL for (int r = 0; r < n_rows; r++) UNROLL for (int s = 0; s < n_taps; s++)
        vf_store(sums + (r * t->n_taps + s) * VF_LANES, acc[r * n_taps + s]);
  }
}

static void fold(float *to, float *from, int64_t n, bool first) {
  for (int64_t i = 0; i < n; i += VF_LANES) {
    const vf before = first ? vf_zero() : vf_load(to + i);
    vf_store(to + i, vf_add(before, vf_load(from + i)));
    vf_store(from + i, vf_zero());
  }
}

#define TILE_APART(rows, taps, apart)                                                                                  \
  static void tile_##rows##_##taps##_##apart(const iso__dw_sums *sums, int64_t row, int64_t tap) {                     \
    tile(sums, row, tap, rows, taps, apart);                                                                           \
  }
#define TILE_OF(rows, taps)                                                                                            \
  TILE_APART(rows, taps, 0)                                                                                            \
  TILE_APART(rows, taps, 1)                                                                                            \
  TILE_APART(rows, taps, 2)
TILE_OF(1, 1)
TILE_OF(1, 2)
TILE_OF(1, 3)
TILE_OF(1, 4)
TILE_OF(1, 5)
TILE_OF(1, 6)
TILE_OF(1, 7)
TILE_OF(2, 1)
TILE_OF(2, 2)
TILE_OF(2, 3)
TILE_OF(2, 4)
TILE_OF(2, 5)
TILE_OF(3, 1)
TILE_OF(3, 2)
TILE_OF(3, 3)

#define THREE(rows, taps)                                                                                              \
  { tile_##rows##_##taps##_0, tile_##rows##_##taps##_1, tile_##rows##_##taps##_2 }
#define DEPTHWISE_SUMMERS                                                                                              \
  {                                                                                                                    \
    .width = VF_LANES,                                                                                                 \
    .tile = {{THREE(1, 1), THREE(1, 2), THREE(1, 3), THREE(1, 4), THREE(1, 5), THREE(1, 6), THREE(1, 7)},              \
             {THREE(2, 1), THREE(2, 2), THREE(2, 3), THREE(2, 4), THREE(2, 5)},                                        \
             {THREE(3, 1), THREE(3, 2), THREE(3, 3)}},                                                                 \
    .fold = fold,                                                                                                      \
  }
