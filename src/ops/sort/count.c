/* count.c: how often values, or values of equal parts of a range, are there. Every element gets the number of its bin,
 * −1 for none, and the kernel counts numbers: integers, so that no order matters. */
#include <math.h>
#include "base/fenv.h"
#include "base/pool.h"
#include "kernels/sizes.h"
#include "ops/index/index.h"
#include "ops/sort/sort.h"

iso_tensor *iso__count(iso_context *ctx, const iso_tensor *bin, int64_t bins) {
  iso_tensor *counts = bin ? iso_tensor_new(ctx, ISO_I64, 1, &bins) : NULL;
  iso_count_problem p;
  ISO__PROBLEM_INIT(p, ISO__OP_COUNT, ISO_I64);
  if (!counts) return NULL;
  p.n = iso__view_numel(&bin->view), p.bins = bins;
  const iso_count_args args = {.index = iso__data(bin), .count = iso__data(counts)};
  return iso__execute(ctx, &p.head, &args) == ISO_OK ? counts : iso__drop(NULL, counts);
}

static bool check_bins(iso_context *ctx, const char *op, int64_t bins) {
  if (bins >= 1 && bins < (int64_t)1 << 40) return true;
  ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "%lld bins", (long long)bins);
  return false;
}

/* ---- bincount ---- */

iso_tensor *iso_bincount(iso_context *ctx, const iso_tensor *x, int64_t min_length) {
  if (!iso__takes(ctx, "bincount", 1, &x)) return NULL;
  const iso_dtype dtype = x->view.dtype;
  if (dtype != ISO_I64 && dtype != ISO_I32 && dtype != ISO_U8)
    ISO__FAIL(ctx, ISO_DTYPE_MISMATCH, "bincount", "x is %s: i64, i32 or u8 is needed", iso_dtype_name(dtype));
  else if (x->view.n_dims != 1)
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "bincount", "x has %d dimensions: one is needed", x->view.n_dims);
  else if (min_length < 0)
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "bincount", "min_length is %lld", (long long)min_length);
  if (iso__failed(ctx)) return NULL;
  int64_t largest;
  iso_tensor *wide = dtype == ISO_U8 ? iso_cast(ctx, x, ISO_I64) : iso_tensor_alias(ctx, x);
  iso_tensor *number = iso__index_read_bins(ctx, "bincount", "x", wide, &largest);
  iso_tensor *y = number ? iso__count(ctx, number, iso__max(largest + 1, min_length)) : NULL;
  iso_release(wide);
  return iso__drop(y, number);
}

/* ---- bins of a range ---- */

typedef struct range {
  const void *x;
  iso_dtype dtype;
  int64_t n;
  double low, high;
} range;

/* Least and largest of all elements, rounded nowhere. False with an error for NaN and infinities. */
static bool own_range(iso_context *ctx, const char *op, range *r) {
  for (int64_t i = 0; i < r->n; i++) {
    const double v = iso__real_at(r->x, r->dtype, i);
    if (!isfinite(v)) {
      ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "x[%lld] is %g: its range cannot be divided into bins", (long long)i, v);
      return false;
    }
    if (i == 0 || v < r->low) r->low = v;
    if (i == 0 || v > r->high) r->high = v;
  }
  return true;
}

/* Whether (x − low)·bins/(high − low) is a number for every x of the range. */
static bool divides(const range *r, double bins) {
  if (r->dtype == ISO_F64) return r->high > r->low && isfinite((r->high - r->low) * bins);
  const float low = (float)r->low, high = (float)r->high;
  return high > low && isfinite((high - low) * (float)bins);
}

/* Where it is empty it is widened by `margin` each way. In the default environment. */
static bool find_range(iso_context *ctx, const char *op, range *r, int64_t bins, double margin) {
  if (!isfinite(r->low) || !isfinite(r->high) || r->low > r->high) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "the range %g to %g cannot be divided into bins", r->low, r->high);
    return false;
  }
  if (r->low == r->high && !own_range(ctx, op, r)) return false;
  if (r->low == r->high) {
    r->low = iso__fenv_pin(iso__fenv_pin(r->low) - margin);
    r->high = iso__fenv_pin(iso__fenv_pin(r->high) + margin);
  }
  if (divides(r, (double)bins)) return true;
  ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "the range %g to %g cannot be divided into %lld bins of %s", r->low, r->high,
            (long long)bins, iso_dtype_name(r->dtype));
  return false;
}

typedef struct linear {
  const range *r;
  int64_t bins, *bin;
} linear;

#define BIN(real)                                                                                                      \
  {                                                                                                                    \
    const real *x = r->x, low = (real)r->low, high = (real)r->high, bins = (real)l->bins;                              \
    for (int64_t i = begin; i < end; i++) {                                                                            \
      const bool inside = x[i] >= low && x[i] <= high;                                                                 \
      const real at = (x[i] - low) * bins / (high - low);                                                              \
      const int64_t bin = !inside ? -1 : at < bins ? (int64_t)at : l->bins - 1;                                        \
      l->bin[i] = bin < l->bins ? bin : l->bins - 1;                                                                   \
    }                                                                                                                  \
  }
static void bin_range(void *arg, int64_t begin, int64_t end, int thread) {
  const linear *l = arg;
  const range *r = l->r;
  (void)thread;
  if (r->dtype == ISO_F64) BIN(double) else BIN(float)
}

/* x as a contiguous (n), and its range. */
static iso_tensor *take_range(iso_context *ctx, const char *op, const iso_tensor *x, int64_t bins, double low,
                              double high, double margin, range *r) {
  if (!iso__takes_floats(ctx, op, 1, &x) || !check_bins(ctx, op, bins)) return NULL;
  iso_no_grad_push(ctx);
  iso_tensor *flat = iso_reshape(ctx, x, 1, (const int64_t[]){-1});
  iso_tensor *dense = flat ? iso__drop(iso_contiguous(ctx, flat), flat) : NULL;
  iso_no_grad_pop(ctx);
  if (!dense) return NULL;
  *r = (range){.x = iso__data(dense), .dtype = x->view.dtype, .n = iso__view_numel(&x->view), .low = low, .high = high};
  const iso__fenv saved = iso__fenv_enter();
  const bool found = find_range(ctx, op, r, bins, margin);
  iso__fenv_leave(saved);
  return found ? dense : iso__drop(NULL, dense);
}

iso_tensor *iso_histc(iso_context *ctx, const iso_tensor *x, int64_t bins, double low, double high) {
  range r;
  iso_tensor *dense = take_range(ctx, "histc", x, bins, low, high, 1, &r);
  iso_tensor *bin = dense ? iso_tensor_new(ctx, ISO_I64, 1, &r.n) : NULL;
  if (bin) iso__parallel_range(ctx, r.n, 8192, 64, bin_range, &(linear){.r = &r, .bins = bins, .bin = iso__data(bin)});
  iso_tensor *counts = iso__count(ctx, bin, bins), *y = counts ? iso_cast(ctx, counts, x->view.dtype) : NULL;
  iso_release(dense), iso_release(bin), iso_release(counts);
  return y;
}

#define EDGES(real)                                                                                                    \
  {                                                                                                                    \
    real *to = iso__data(edges);                                                                                       \
    const real low_ = (real)r.low, high_ = (real)r.high, step = (high_ - low_) / (real)bins;                           \
    for (int64_t i = 0; i <= bins; i++)                                                                                \
      to[i] = i < (bins + 1) / 2 ? low_ + step * (real)i : high_ - step * (real)(bins - i);                            \
  }
iso_tensor *iso_histogram_edges(iso_context *ctx, const iso_tensor *x, int64_t bins, double low, double high) {
  range r;
  const bool open = low == high && iso_tensor_numel(x) == 0; /* nothing to take a range from: 0 to 1 */
  iso_tensor *dense = take_range(ctx, "histogram_edges", x, bins, open ? 0 : low, open ? 1 : high, 0.5, &r);
  iso_tensor *edges = dense ? iso_tensor_new(ctx, x->view.dtype, 1, (const int64_t[]){bins + 1}) : NULL;
  if (edges) {
    const iso__fenv saved = iso__fenv_enter();
    r.low = iso__fenv_pin(r.low), r.high = iso__fenv_pin(r.high);
    if (r.dtype == ISO_F64) EDGES(double) else EDGES(float) iso__fenv_leave(saved);
  }
  return iso__drop(edges, dense);
}
