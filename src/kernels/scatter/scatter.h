/* scatter.h: rows that are sent to destinations by index (`scatter`), and rows that are listed segment by segment
 * (`segment`): the two directions of embeddings, of gathers and their gradients. NUMERICS §3.
 *
 * scatter: x (outer,n,inner) -> y (outer,extent,inner), both contiguous. Contribution k of destination d:
 *   each 0: index (n): x[o,k,:] goes to y[o,index[k],:]; with `sources` > 0, source (n) says which of the rows of
 *           x (outer,sources,inner) it is, or with `run` > 0 (n = sources·run) row k/run, without a list; and with
 *           has_scale it is multiplied: fma(scale[k], x, acc).
 *   each 1: index (outer,n,inner): x[o,k,i] goes to y[o,index[o,k,i],i].
 * A destination's contributions are numbered 0, 1, … in ascending k. ADD, MEAN and MUL: class `ordered` (products: the
 * same chunks and panels of products from 1). AMAX, AMIN: class `extremum`. SET: class `last`, the last one wins.
 * base: `none`: y starts from zeros; `excluded`: where nothing arrives y = base, elsewhere base has no part in it;
 * `included`: y = base + sum, base·product, (base + sum)/(count+1), max(base, …), everywhere. Zeros of extrema are +0.
 *
 * segment: y[s,:] = over k = offsets[s] … offsets[s+1]−1 (none if that is empty), or with `each` > 0 (n =
 * segments·each) k = s·each … (s+1)·each−1 without offsets, of row index[k] (or k) of x (rows,inner). SUM by
 * fma(scale[k], x, acc) with has_scale; MEAN = sum/count; PROD, MAX, MIN; with has_at also the k that was chosen: first
 * NaN, else the lowest of equals, −1 if there is none. Rows equal to skip−1 are absent (the others keep their numbers).
 * An empty segment: SUM +0, PROD 1, MEAN NaN, MAX −inf, MIN +inf; with empty_zero all 0. With has_count (of means)
 * count[s] is how many rows were present, at least 1, in y's dtype. */
#ifndef ISO_KERNELS_SCATTER_H
#define ISO_KERNELS_SCATTER_H
#include "plan/plan.h"
#include "numeric/hd.h"

#define ISO__SCATTER_LIST(X) X(ADD, "add") X(MEAN, "mean") X(MUL, "mul") X(AMAX, "amax") X(AMIN, "amin") X(SET, "set")
typedef enum iso__scatter_fn {
#define ISO__SCATTER_ENUM(id, name) ISO__SCATTER_##id,
  ISO__SCATTER_LIST(ISO__SCATTER_ENUM)
#undef ISO__SCATTER_ENUM
      ISO__N_SCATTERS
} iso__scatter_fn;
typedef enum iso__scatter_base {
  ISO__SCATTER_NONE,
  ISO__SCATTER_EXCLUDED,
  ISO__SCATTER_INCLUDED,
} iso__scatter_base;

typedef struct iso_scatter_problem {
  iso__problem head;
  int64_t outer, n, inner, extent, sources;
  uint8_t fn, base, each, has_scale;
  uint8_t reserved[4];
  int64_t run;
} iso_scatter_problem;
typedef struct iso_scatter_args {
  const void *x, *base, *scale;
  const int64_t *index, *source;
  void *y;
} iso_scatter_args;

typedef struct iso_segment_problem {
  iso__problem head;
  int64_t segments, n, inner, rows, skip; /* n: listed rows; rows: of x */
  uint8_t fn;                             /* iso__scatter_fn but SET */
  uint8_t has_index, has_scale, has_at, empty_zero, has_count;
  uint8_t reserved[2];
  int64_t each;
} iso_segment_problem;
typedef struct iso_segment_args {
  const void *x, *scale;
  const int64_t *index, *offsets; /* offsets (segments+1), each in [0,n] */
  void *y, *count;
  int64_t *at;
} iso_segment_args;

/* The row that contribution k is, within one outer index. */
static inline ISO__HD int64_t iso__scatter_source(const iso_scatter_problem *p, const iso_scatter_args *a, int64_t k) {
  return !p->sources ? k : p->run ? k / p->run : a->source[k];
}
static inline ISO__HD int64_t iso__segment_begin(const iso_segment_problem *p, const iso_segment_args *a, int64_t s) {
  return p->each ? s * p->each : a->offsets[s];
}
static inline ISO__HD int64_t iso__segment_end(const iso_segment_problem *p, const iso_segment_args *a, int64_t s) {
  return iso__segment_begin(p, a, s + 1);
}

static inline ISO__HD bool iso__scatter_is_extremum(int fn) {
  return fn == ISO__SCATTER_AMAX || fn == ISO__SCATTER_AMIN;
}
#endif
