/* distribution.c: numbers of other distributions, each a formula of one 64-bit draw, in f64 and rounded once.
 *
 * By inversion (Devroye, "Non-uniform random variate generation", 1986): one draw an element, no rejection, so that an
 * element's number decides its value. w = ((draw >> 12) + ½)·2^−52 is exact, symmetric about ½ and never 0 or 1. */
#include <math.h>
#include "base/fenv.h"
#include "base/pool.h"
#include "numeric/dtype.h"
#include "numeric/math_f64.h"
#include "ops/random/random.h"

enum { GRAIN_ELEMENTS = 1024 };

typedef struct law law;
struct law {
  double (*value)(const law *l, double w);
  double a, b, low, high; /* the distribution's parameters; of a truncated one the bounds */
  double from, width;     /* of a truncated one: where its part of [0, 1] begins, and its width */
  bool mirrored;
};

static double exponential(const law *l, double w) { return -iso__log_f64(w) / l->a; }
static double geometric(const law *l, double w) {
  const double trials = ceil(iso__log_f64(w) / l->b);
  return trials < 1 ? 1 : trials;
}
/* tan(π(w − ½)) */
static double cauchy(const law *l, double w) { return fma(l->b, -iso__cospi_f64(w) / iso__sinpi_f64(w), l->a); }

/* The inverse of the part of the normal distribution that lies between the bounds, from the side where its numbers are
 * small; clamped, since rounding may step over a bound. */
static double truncated_normal(const law *l, double w) {
  const double z = iso__ndtri_f64(fma(l->width, w, l->from));
  const double x = fma(l->b, l->mirrored ? -z : z, l->a);
  return x < l->low ? l->low : x > l->high ? l->high : x;
}

typedef struct draw_job {
  const law *l;
  const iso_philox *at;
  char *out;
  iso_dtype dtype;
} draw_job;
static void draw_range(void *arg, int64_t begin, int64_t end, int thread) {
  const draw_job *j = arg;
  const size_t item = iso_dtype_size(j->dtype);
  uint64_t draws[256];
  (void)thread;
  for (int64_t i = begin; i < end; i += 256) {
    const int64_t n = end - i < 256 ? end - i : 256;
    iso_philox_draws(j->at, (uint64_t)i, (uint64_t)(i + n), draws);
    for (int64_t k = 0; k < n; k++) {
      const double value = j->l->value(j->l, ((double)(draws[k] >> 12) + 0.5) * 0x1p-52);
      iso__cast_element(&value, ISO_F64, j->out + (size_t)(i + k) * item, j->dtype);
    }
  }
}

/* Fills t, in logical order. */
static iso_status draw_into(iso_context *ctx, const char *op, iso_tensor *t, const law *l, const iso_philox *at) {
  const int64_t n = iso__view_numel(&t->view);
  if (!iso__takes_floats(ctx, op, 1, ISO__TENSORS(t)) || !iso__random_check_count(ctx, op, n, 2))
    return ctx->error.code;
  const bool dense = iso__view_is_contiguous(&t->view);
  iso_tensor *target = dense ? t : iso_tensor_new(ctx, t->view.dtype, t->view.n_dims, t->view.shape);
  if (!target) return ctx->error.code;
  const iso__fenv saved = iso__fenv_enter();
  iso__parallel_range(ctx, n, GRAIN_ELEMENTS, 64, draw_range,
                      &(draw_job){.l = l, .at = at, .out = iso__data(target), .dtype = t->view.dtype});
  iso__fenv_leave(saved);
  if (!dense) {
    iso__view_copy(ctx, &t->view, &target->view);
    iso_release(target);
  }
  iso_tensor_touch(t);
  return ctx->error.code;
}

static iso_tensor *draw_new(iso_context *ctx, const char *op, iso_dtype dtype, int n_dims, const int64_t *shape,
                            const law *l) {
  iso_tensor *t = iso_tensor_new(ctx, dtype, n_dims, shape);
  if (!t) return NULL;
  const iso_philox at = iso__random_next_site(ctx);
  if (draw_into(ctx, op, t, l, &at) == ISO_OK) return t;
  iso_release(t);
  return NULL;
}

static bool refuse(iso_context *ctx, const char *op, const char *name, double value, const char *expected) {
  ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "%s is %g: %s is needed", name, value, expected);
  return false;
}

iso_tensor *iso_random_exponential(iso_context *ctx, iso_dtype dtype, int n_dims, const int64_t *shape, double rate) {
  static const char op[] = "random_exponential";
  if (iso__failed(ctx)) return NULL;
  if (!(rate > 0 && isfinite(rate))) return refuse(ctx, op, "the rate", rate, "a finite number above 0"), NULL;
  return draw_new(ctx, op, dtype, n_dims, shape, &(law){.value = exponential, .a = rate});
}

iso_tensor *iso_random_geometric(iso_context *ctx, iso_dtype dtype, int n_dims, const int64_t *shape, double p) {
  static const char op[] = "random_geometric";
  if (iso__failed(ctx)) return NULL;
  if (!(p > 0 && p <= 1)) return refuse(ctx, op, "p", p, "0 < p ≤ 1"), NULL;
  return draw_new(ctx, op, dtype, n_dims, shape, &(law){.value = geometric, .b = iso_f64_log1p(-p)});
}

iso_tensor *iso_random_cauchy(iso_context *ctx, iso_dtype dtype, int n_dims, const int64_t *shape, double median,
                              double scale) {
  static const char op[] = "random_cauchy";
  if (iso__failed(ctx)) return NULL;
  if (!isfinite(median)) return refuse(ctx, op, "the median", median, "a finite number"), NULL;
  if (!(scale > 0 && isfinite(scale))) return refuse(ctx, op, "the scale", scale, "a finite number above 0"), NULL;
  return draw_new(ctx, op, dtype, n_dims, shape, &(law){.value = cauchy, .a = median, .b = scale});
}

iso_tensor *iso_random_log_normal(iso_context *ctx, iso_dtype dtype, int n_dims, const int64_t *shape, double mean,
                                  double sd) {
  static const char op[] = "random_log_normal";
  if (iso__failed(ctx)) return NULL;
  if (!isfinite(mean)) return refuse(ctx, op, "the mean", mean, "a finite number"), NULL;
  if (!(sd > 0 && isfinite(sd))) return refuse(ctx, op, "the standard deviation", sd, "a finite number above 0"), NULL;
  iso__enter(ctx);
  return iso__leave(ctx, iso_exp(ctx, iso_random_normal(ctx, dtype, n_dims, shape, mean, sd)));
}

/* Φ(x) */
static double distribution(double x) { return 0.5 * iso__erfc_f64(-x * 0x1.6a09e667f3bcdp-1); }

static bool truncated_law(iso_context *ctx, const char *op, double mean, double sd, double a, double b, law *l) {
  if (iso__failed(ctx)) return false;
  if (!isfinite(mean)) return refuse(ctx, op, "the mean", mean, "a finite number");
  if (!(sd > 0 && isfinite(sd))) return refuse(ctx, op, "the standard deviation", sd, "a finite number above 0");
  if (!(a < b)) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "the bounds are %g and %g: the first must be the smaller", a, b);
    return false;
  }
  const iso__fenv saved = iso__fenv_enter();
  const double low = iso__fenv_pin((a - iso__fenv_pin(mean)) / sd),
               high = iso__fenv_pin((b - iso__fenv_pin(mean)) / sd);
  const bool mirrored = low + high > 0;
  const double from = iso__fenv_pin(distribution(mirrored ? -high : low));
  const double width = iso__fenv_pin(distribution(mirrored ? -low : high) - from);
  iso__fenv_leave(saved);
  *l = (law){.value = truncated_normal,
             .a = mean,
             .b = sd,
             .low = a,
             .high = b,
             .from = from,
             .width = width,
             .mirrored = mirrored};
  if (width > 0) return true;
  ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "the normal distribution has no numbers between %g and %g", a, b);
  return false;
}

iso_tensor *iso_random_truncated_normal(iso_context *ctx, iso_dtype dtype, int n_dims, const int64_t *shape,
                                        const iso_truncated_normal_options *options) {
  const iso_truncated_normal_options o = options ? *options : (iso_truncated_normal_options){0};
  const bool standard = o.low == 0 && o.high == 0;
  law l;
  if (!truncated_law(ctx, "random_truncated_normal", o.mean, o.sd == 0 ? 1 : o.sd, standard ? -2 : o.low,
                     standard ? 2 : o.high, &l))
    return NULL;
  return draw_new(ctx, "random_truncated_normal", dtype, n_dims, shape, &l);
}

iso_status iso_fill_truncated_normal(iso_tensor *t, const iso_philox *at, const iso_truncated_normal_options *options) {
  static const char op[] = "fill_truncated_normal";
  const iso_truncated_normal_options o = options ? *options : (iso_truncated_normal_options){0};
  const bool standard = o.low == 0 && o.high == 0;
  law l;
  if (!at || iso__check_in_place(t, op) != ISO_OK) return t && at ? t->ctx->error.code : ISO_INVALID_ARGUMENT;
  if (!truncated_law(t->ctx, op, o.mean, o.sd == 0 ? 1 : o.sd, standard ? -2 : o.low, standard ? 2 : o.high, &l))
    return t->ctx->error.code;
  return draw_into(t->ctx, op, t, &l, at);
}

/* ---- parameters in tensors ---- */

typedef struct toss_job {
  const void *p;
  void *y;
  iso_philox at;
  iso_dtype dtype;
} toss_job;
static void toss_range(void *arg, int64_t begin, int64_t end, int thread) {
  const toss_job *j = arg;
  uint32_t words[256];
  (void)thread;
  for (int64_t i = begin; i < end; i += 256) {
    const int64_t n = end - i < 256 ? end - i : 256;
    iso_philox_words(&j->at, (uint64_t)i, (uint64_t)(i + n), words);
    for (int64_t k = 0; k < n; k++) {
      const bool one = (words[k] >> 8) < rint(iso__real_at(j->p, j->dtype, i + k) * 0x1p24);
      if (j->dtype == ISO_F64) ((double *)j->y)[i + k] = one;
      else ((float *)j->y)[i + k] = one;
    }
  }
}

iso_tensor *iso_bernoulli(iso_context *ctx, const iso_tensor *p) {
  static const char op[] = "bernoulli";
  if (!iso__takes_floats(ctx, op, 1, ISO__TENSORS(p))) return NULL;
  const int64_t n = iso__view_numel(&p->view);
  if (!iso__random_check_count(ctx, op, n, 1)) return NULL;
  iso__enter(ctx);
  iso_tensor *copy = iso__contiguous_copy(ctx, p);
  if (copy) p = copy;
  iso_tensor *y = iso__failed(ctx) ? NULL : iso_tensor_new(ctx, p->view.dtype, p->view.n_dims, p->view.shape);
  if (!y) return iso__leave(ctx, NULL);
  for (int64_t i = 0; i < n; i++) {
    const double value = iso__real_at(iso__data(p), p->view.dtype, i);
    if (value >= 0 && value <= 1) continue;
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "element %lld of p is %g: 0 ≤ p ≤ 1 is needed", (long long)i, value);
    return iso__leave(ctx, NULL);
  }
  toss_job job = {.p = iso__data(p), .y = iso__data(y), .at = iso__random_next_site(ctx), .dtype = p->view.dtype};
  const iso__fenv saved = iso__fenv_enter();
  iso__parallel_range(ctx, n, GRAIN_ELEMENTS, 64, toss_range, &job);
  iso__fenv_leave(saved);
  return iso__leave(ctx, y);
}

/* The first element below 0, or NaN, ends it. */
static bool check_deviations(iso_context *ctx, const char *op, const iso_tensor *sd) {
  iso_tensor *copy = iso__contiguous_copy(ctx, sd);
  if (iso__failed(ctx)) return false;
  const iso_tensor *dense = copy ? copy : sd;
  bool ok = true;
  for (int64_t i = 0, n = iso__view_numel(&dense->view); ok && i < n; i++) {
    const double value = iso__real_at(iso__data(dense), dense->view.dtype, i);
    ok = value >= 0;
    if (!ok)
      ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "element %lld of the standard deviations is %g: at least 0 is needed",
                (long long)i, value);
  }
  iso_release(copy);
  return ok;
}

iso_tensor *iso_normal(iso_context *ctx, const iso_tensor *mean, const iso_tensor *sd) {
  static const char op[] = "normal";
  int n_dims;
  int64_t shape[ISO_MAX_DIMS];
  if (!iso__takes(ctx, op, 2, ISO__TENSORS(mean, sd)) || !iso__takes_floats(ctx, op, 2, ISO__TENSORS(mean, sd)) ||
      !iso__broadcast(ctx, op, &mean->view, &sd->view, &n_dims, shape) || !check_deviations(ctx, op, sd))
    return NULL;
  iso__enter(ctx);
  iso_no_grad_push(ctx);
  iso_tensor *z = iso_random_normal(ctx, mean->view.dtype, n_dims, shape, 0, 1);
  iso_tensor *y = iso_add(ctx, mean, iso_mul(ctx, sd, z));
  iso_no_grad_pop(ctx);
  return iso__leave(ctx, y);
}
