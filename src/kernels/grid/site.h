/* site.h: where a point of the grid lies, once for binary32 and binary64 (real_f32.h); reference and engines share it,
 * as it is the contract itself. Include numeric/real_f32.h or real_f64.h first. */

/* One axis of one point: up to four taps (index −1: outside, absent), their weights, the weights' derivatives by the
 * place, and what the place moves for the coordinate. */
typedef struct NAMED(axis_site) {
  int64_t at[4];
  REAL weight[4], slope[4], scale;
  int n;
} NAMED(axis_site);
/* Depth, row, column. */
typedef struct NAMED(site) {
  NAMED(axis_site) axis[3];
} NAMED(site);

/* A place folded at the ends of [low/2, high/2]; *sign turns where it runs backwards. */
static inline ISO__HD REAL NAMED(reflect)(REAL place, REAL low, REAL high, REAL *sign) {
  if (high <= low) return *sign = 0, (REAL)0;
  const REAL from = low / 2, length = (high - low) / 2;
  REAL distance = place - from;
  if (distance < 0) distance = -distance, *sign = -*sign;
  const REAL turns = EXACT(floor)(distance / length), rest = EXACT(fma)(-turns, length, distance);
  if (turns == 2 * EXACT(floor)(turns / 2)) return rest + from;
  *sign = -*sign;
  return (length - rest) + from;
}
/* No number is at 0, so that every place is one. */
static inline ISO__HD REAL NAMED(clip)(REAL place, int64_t extent, REAL *sign) {
  const REAL last = (REAL)(extent - 1);
  if (!(place > 0)) return *sign = 0, (REAL)0;
  if (place >= last) return *sign = 0, last;
  return place;
}
static inline ISO__HD REAL NAMED(padded)(const iso_grid_problem *p, REAL place, int64_t extent, REAL *sign) {
  if (p->padding == ISO__GRID_REFLECTION)
    place = p->corners ? NAMED(reflect)(place, 0, 2 * (REAL)(extent - 1), sign)
                       : NAMED(reflect)(place, -1, 2 * (REAL)extent - 1, sign);
  return p->padding == ISO__GRID_ZEROS ? place : NAMED(clip)(place, extent, sign);
}
static inline ISO__HD int64_t NAMED(inside)(REAL at, int64_t extent) {
  return at >= 0 && at < (REAL)extent ? (int64_t)at : -1;
}

/* Keys' kernel with a = −3/4 at distance x of its tap, and its derivative by x. */
static inline ISO__HD REAL NAMED(cubic)(REAL x, REAL *slope) {
  const REAL a = (REAL)-0.75;
  if (x <= 1) {
    *slope = (3 * (a + 2) * x - 2 * (a + 3)) * x;
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  }
  *slope = (3 * a * x - 10 * a) * x + 8 * a;
  return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

static inline ISO__HD void NAMED(axis_site_of)(const iso_grid_problem *p, REAL coordinate, int64_t extent,
                                               NAMED(axis_site) * s) {
  const REAL half = (REAL)(p->corners ? extent - 1 : extent) / 2;
  REAL sign = 1, ignored = 1;
  REAL place = p->corners ? ((coordinate + 1) / 2) * (REAL)(extent - 1) : ((coordinate + 1) * (REAL)extent - 1) / 2;
  if (p->mode != ISO__GRID_CUBIC) place = NAMED(padded)(p, place, extent, &sign);
  if (!(place > -0x1p30f && place < 0x1p30f)) place = -100, sign = 0; /* no number, or far outside */
  s->scale = half * sign;
  if (p->mode == ISO__GRID_NEAREST) {
    s->n = 1, s->weight[0] = 1, s->slope[0] = 0;
    s->at[0] = NAMED(inside)(EXACT(rint)(place), extent);
    return;
  }
  const REAL whole = EXACT(floor)(place), part = place - whole;
  if (p->mode == ISO__GRID_LINEAR) {
    s->n = 2;
    s->weight[0] = 1 - part, s->weight[1] = part, s->slope[0] = -1, s->slope[1] = 1;
    for (int k = 0; k < 2; k++) s->at[k] = NAMED(inside)(whole + (REAL)k, extent);
    return;
  }
  s->n = 4;
  for (int k = 0; k < 4; k++) {
    const REAL distance = part - (REAL)(k - 1);
    s->weight[k] = NAMED(cubic)(EXACT(fabs)(distance), &s->slope[k]);
    if (distance < 0) s->slope[k] = -s->slope[k];
    s->at[k] = NAMED(inside)(NAMED(padded)(p, whole + (REAL)(k - 1), extent, &ignored), extent);
  }
}
/* grid: the point's coordinates, column first. */
static inline ISO__HD void NAMED(site_of)(const iso_grid_problem *p, const REAL *grid, NAMED(site) * s) {
  if (p->dims == 2) {
    s->axis[0].n = 1, s->axis[0].at[0] = 0, s->axis[0].weight[0] = 1;
    s->axis[0].slope[0] = s->axis[0].scale = 0;
  }
  for (int i = 0; i < p->dims; i++) NAMED(axis_site_of)(p, grid[i], p->extent[2 - i], &s->axis[2 - i]);
}
