/* Where regions, bins and samples lie, once per precision: REAL is the type, NAMED(f) the name of f in it. See roi.h.
 */

/* A region in the map. */
struct NAMED(region) {
  int64_t image, rows, columns; /* samples of a bin */
  REAL y, x, bin_h, bin_w, count;
};
/* A sample: four taps of pixels y·w + x of its image, and their weights; none outside. */
struct NAMED(taps) {
  bool inside;
  int64_t pixel[4];
  REAL weight[4];
};

static inline int64_t NAMED(samples_of)(REAL bin, int64_t samples) {
  return samples > 0 ? samples : bin > 0 ? (int64_t)EXACT(ceil)(bin) : 0;
}

static inline struct NAMED(region) NAMED(region_at)(const iso_roi_problem *p, const REAL *rois, REAL scale, int64_t k) {
  const REAL *r = rois + 5 * k, offset = p->aligned ? (REAL)0.5 : 0;
  const REAL x1 = r[1] * scale - offset, y1 = r[2] * scale - offset;
  const REAL x2 = r[3] * scale - offset, y2 = r[4] * scale - offset;
  REAL width = x2 - x1, height = y2 - y1;
  if (!p->aligned) width = width > 1 ? width : 1, height = height > 1 ? height : 1;
  struct NAMED(region) region = {
      .image = (int64_t)r[0], .y = y1, .x = x1, .bin_h = height / (REAL)p->out_h, .bin_w = width / (REAL)p->out_w};
  region.rows = NAMED(samples_of)(region.bin_h, p->samples);
  region.columns = NAMED(samples_of)(region.bin_w, p->samples);
  const int64_t count = region.rows * region.columns;
  region.count = (REAL)(count > 1 ? count : 1);
  return region;
}

/* A sample's place along one axis. */
static inline REAL NAMED(place)(REAL first, int64_t bin, REAL bin_size, int64_t i, int64_t n) {
  return (first + (REAL)bin * bin_size) + (((REAL)i + (REAL)0.5) * bin_size) / (REAL)n;
}

/* The two taps along one axis and their weights; false: outside. */
static inline bool NAMED(taps_along)(REAL at, int64_t n, int64_t tap[2], REAL weight[2]) {
  if (!(at >= -1 && at <= (REAL)n)) return false;
  if (at < 0) at = 0;
  tap[0] = (int64_t)at;
  if (tap[0] >= n - 1) tap[0] = tap[1] = n - 1, at = (REAL)(n - 1);
  else tap[1] = tap[0] + 1;
  weight[1] = at - (REAL)tap[0], weight[0] = 1 - weight[1];
  return true;
}

static inline struct NAMED(taps) NAMED(taps_at)(const iso_roi_problem *p, const struct NAMED(region) * r, int64_t bin_y,
                                                int64_t bin_x, int64_t i, int64_t j) {
  struct NAMED(taps) t = {.inside = false};
  int64_t y[2], x[2];
  REAL v[2], u[2];
  if (!NAMED(taps_along)(NAMED(place)(r->y, bin_y, r->bin_h, i, r->rows), p->h, y, v) ||
      !NAMED(taps_along)(NAMED(place)(r->x, bin_x, r->bin_w, j, r->columns), p->w, x, u))
    return t;
  t.inside = true;
  for (int a = 0; a < 4; a++) t.pixel[a] = y[a / 2] * p->w + x[a % 2], t.weight[a] = v[a / 2] * u[a % 2];
  return t;
}
