/* grid.h: sampling images and volumes at places of a grid (spatial transformers, Jaderberg et al., arXiv:1506.02025).
 *
 * x (n,depth,row,column,c) and grid (n,points,dims): (column, row[, depth]) from −1 to 1 across the input; y
 * (n,points,c). A place's taps along an axis and their weights: site.h. Forward: y = ordered(fma(w, x, acc)) over the
 * taps, ascending (depth, row, column); taps outside are absent. bwd_input: dx[i] = ordered(fma(w, dy, acc)) over the
 * taps that meet i, ascending by (point, tap). bwd_grid: per axis lanes over channels of dy·(ordered(fma(w', x, acc))
 * over the taps), w' with that axis' derivative, times what the place moves for the grid's coordinate. */
#ifndef ISO_KERNELS_GRID_H
#define ISO_KERNELS_GRID_H
#include "plan/plan.h"
#include "numeric/hd.h"

typedef enum iso__grid_mode { ISO__GRID_LINEAR, ISO__GRID_NEAREST, ISO__GRID_CUBIC } iso__grid_mode;
typedef enum iso__grid_padding { ISO__GRID_ZEROS, ISO__GRID_BORDER, ISO__GRID_REFLECTION } iso__grid_padding;

typedef struct iso_grid_problem {
  iso__problem head;
  int64_t n, c, extent[3], points;
  uint8_t dims, mode, padding, corners;
  uint8_t reserved[4];
} iso_grid_problem;
typedef struct iso_grid_args {
  const void *x, *grid, *dy;
  void *y, *dx, *dgrid;
} iso_grid_args;
const char *iso__grid_wrong(const iso_grid_problem *p);
static inline ISO__HD int64_t iso__grid_places(const iso_grid_problem *p) {
  return p->extent[0] * p->extent[1] * p->extent[2];
}
#endif
