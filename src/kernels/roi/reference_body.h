/* The regions' operators, one output element from its index, once per precision; see reference.c. */
#include "kernels/roi/geometry.h"

static REAL NAMED(bin_mean)(const iso_roi_problem *p, const iso_roi_args *a, int64_t index) {
  const int64_t c = index % p->c, bin_x = index / p->c % p->out_w, bin_y = index / p->c / p->out_w % p->out_h;
  const struct NAMED(region) r = NAMED(region_at)(p, a->rois, (REAL)a->scale, index / p->c / p->out_w / p->out_h);
  const REAL *x = (const REAL *)a->x + r.image * p->h * p->w * p->c + c;
  struct NAMED(iso__ordered) sum = {0};
  for (int64_t i = 0; i < r.rows; i++)
    for (int64_t j = 0; j < r.columns; j++) {
      const struct NAMED(taps) t = NAMED(taps_at)(p, &r, bin_y, bin_x, i, j);
      if (!t.inside) NAMED(iso__ordered_skip)(&sum, 4);
      for (int tap = 0; t.inside && tap < 4; tap++)
        NAMED(iso__ordered_fma)(&sum, t.weight[tap], x[t.pixel[tap] * p->c]);
    }
  return NAMED(iso__ordered_end)(&sum) / r.count;
}

/* What falls on one element of x, in order. */
static REAL NAMED(gradient_at)(const iso_roi_problem *p, const iso_roi_args *a, int64_t index) {
  const int64_t c = index % p->c, pixel = index / p->c % (p->h * p->w), image = index / p->c / (p->h * p->w);
  struct NAMED(iso__ordered) sum = {0};
  for (int64_t k = 0; k < p->k; k++) {
    const struct NAMED(region) r = NAMED(region_at)(p, a->rois, (REAL)a->scale, k);
    if (r.image != image) continue;
    for (int64_t bin = 0; bin < p->out_h * p->out_w; bin++)
      for (int64_t sample = 0; sample < r.rows * r.columns; sample++) {
        const struct NAMED(taps) t =
            NAMED(taps_at)(p, &r, bin / p->out_w, bin % p->out_w, sample / r.columns, sample % r.columns);
        const REAL dy = ((const REAL *)a->dy)[(k * p->out_h * p->out_w + bin) * p->c + c];
        for (int tap = 0; t.inside && tap < 4; tap++)
          if (t.pixel[tap] == pixel) NAMED(iso__ordered_fma)(&sum, t.weight[tap], dy / r.count);
      }
  }
  return NAMED(iso__ordered_end)(&sum);
}

/* Rounded to nearest, halves away from zero. */
static REAL NAMED(nearest)(REAL v) {
  const REAL whole = EXACT(trunc)(v);
  return EXACT(fabs)(v - whole) >= (REAL)0.5 ? whole + EXACT(copysign)(1, v) : whole;
}

/* First and last + 1 of a bin, within the map. */
static void NAMED(bin_extent)(REAL first, REAL last, int64_t bin, int64_t bins, int64_t n, int64_t *begin,
                              int64_t *end) {
  const REAL extent = last - first + 1 > 1 ? last - first + 1 : 1, size = extent / (REAL)bins;
  const REAL low = EXACT(floor)((REAL)bin * size) + first, high = EXACT(ceil)((REAL)(bin + 1) * size) + first;
  *begin = low > 0 ? low < (REAL)n ? (int64_t)low : n : 0;
  *end = high > 0 ? high < (REAL)n ? (int64_t)high : n : 0;
}

static int64_t NAMED(largest_at)(const iso_roi_problem *p, const iso_roi_args *a, int64_t index) {
  const int64_t c = index % p->c, bin_x = index / p->c % p->out_w, bin_y = index / p->c / p->out_w % p->out_h;
  const REAL *r = (const REAL *)a->rois + 5 * (index / p->c / p->out_w / p->out_h), scale = (REAL)a->scale;
  const int64_t image = (int64_t)r[0];
  const REAL *x = (const REAL *)a->x + image * p->h * p->w * p->c + c;
  int64_t top, bottom, left, right, best = -1;
  NAMED(bin_extent)(NAMED(nearest)(r[2] * scale), NAMED(nearest)(r[4] * scale), bin_y, p->out_h, p->h, &top, &bottom);
  NAMED(bin_extent)(NAMED(nearest)(r[1] * scale), NAMED(nearest)(r[3] * scale), bin_x, p->out_w, p->w, &left, &right);
  for (int64_t i = top; i < bottom; i++)
    for (int64_t j = left; j < right; j++) {
      const int64_t pixel = i * p->w + j;
      const REAL v = x[pixel * p->c], m = best < 0 ? v : x[best * p->c];
      if (best < 0 || v > m || (v != v && m == m)) best = pixel;
    }
  return best < 0 ? -1 : (image * p->c + c) * p->h * p->w + best;
}
