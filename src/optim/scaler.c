/* scaler.c: loss scaling for f16 (Micikevicius et al., "Mixed precision training", 2018), with the rules of
 * torch.amp.GradScaler, a floor, and the name of the tensor that overflowed.
 *
 * The scale that losses are multiplied by is a tensor where the context computes, written in place when it changes: a
 * captured step reads it there, so replays follow it. Whether a gradient is finite is asked of its sum of squares, one
 * pass over it and one transfer for all of them; only where such a sum is not finite are elements looked at, one by
 * one, on the host. */
#include <math.h>
#include "base/fenv.h"
#include "ops/ops.h"
#include "optim/optimizer.h"
#include "optim/scaler.h"

enum { SCALE, GROWTH_TRACKER, N_SKIPPED, N_STATE };
static const char *const state_names[N_STATE] = {"scale", "growth_tracker", "n_skipped"};

/* What happened to one optimiser's gradients since the last update. */
typedef struct seen {
  const iso_optimizer *o;
  bool found, stepped;
} seen;

struct iso_grad_scaler {
  iso_context *ctx;
  iso_grad_scaler_options options;
  iso_tensor *factor; /* f32 where the context computes: the scale … */
  double factor_is;   /* … that was written there */
  iso_named_tensor state[N_STATE];
  seen *seen;
  size_t n_seen, capacity;
  iso_grad_scaler_report report;
};

static double *scale_of(const iso_grad_scaler *s) { return iso__data(s->state[SCALE].tensor); }
static int64_t *count_of(const iso_grad_scaler *s, int which) { return iso__data(s->state[which].tensor); }

/* ---- life ---- */

static bool accepts(iso_context *ctx, const iso_grad_scaler_options *o) {
  if (o->init_scale >= 1 && isfinite((float)o->init_scale) && o->growth_factor > 1 && isfinite(o->growth_factor) &&
      o->backoff_factor > 0 && o->backoff_factor < 1 && o->growth_interval >= 1)
    return true;
  ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "iso_grad_scaler_new",
            "init_scale %g, growth_factor %g, backoff_factor %g, growth_interval %lld: at least 1 and finite in f32, "
            "above 1, in (0,1), and at least 1 are needed",
            o->init_scale, o->growth_factor, o->backoff_factor, (long long)o->growth_interval);
  return false;
}

static bool make_tensors(iso_grad_scaler *s) {
  iso_context *ctx = s->ctx;
  s->factor = iso_keep(iso_tensor_full(ctx, ISO_F32, 0, NULL, s->options.init_scale));
  const iso__device *device = iso__host_enter(ctx); /* the rest is the host's */
  for (int i = 0; i < N_STATE; i++) {
    iso_tensor *t = i == SCALE ? iso_tensor_full(ctx, ISO_F64, 0, NULL, (double)(float)s->options.init_scale)
                               : iso_tensor_zeros(ctx, ISO_I64, 0, NULL);
    s->state[i] = (iso_named_tensor){.name = state_names[i], .tensor = iso_keep(t)};
  }
  iso__host_leave(ctx, device);
  s->factor_is = (double)(float)s->options.init_scale;
  return !iso__failed(ctx);
}

iso_grad_scaler *iso_grad_scaler_new(iso_context *ctx, const iso_grad_scaler_options *options) {
  if (iso__failed(ctx)) return NULL;
  iso_grad_scaler_options o = options ? *options : (iso_grad_scaler_options){0};
  if (o.init_scale == 0) o.init_scale = 65536;
  if (o.growth_factor == 0) o.growth_factor = 2;
  if (o.backoff_factor == 0) o.backoff_factor = 0.5;
  if (o.growth_interval == 0) o.growth_interval = 2000;
  if (!accepts(ctx, &o)) return NULL;
  iso_grad_scaler *s = iso__zalloc(ctx, sizeof *s);
  if (!s) return NULL;
  s->ctx = ctx;
  s->options = o;
  if (make_tensors(s)) return s;
  iso_grad_scaler_free(s);
  return NULL;
}

void iso_grad_scaler_free(iso_grad_scaler *s) {
  if (!s) return;
  iso_release(s->factor);
  for (int i = 0; i < N_STATE; i++) iso_release(s->state[i].tensor);
  iso__free(s->ctx, s->seen, s->capacity * sizeof *s->seen);
  iso__free(s->ctx, s, sizeof *s);
}

double iso_grad_scaler_get_scale(const iso_grad_scaler *s) { return s ? *scale_of(s) : 1; }
const iso_named_tensor *iso_grad_scaler_state(iso_grad_scaler *s, size_t *n) {
  *n = s ? N_STATE : 0;
  return s ? s->state : NULL;
}
iso_grad_scaler_report iso_grad_scaler_get_report(const iso_grad_scaler *s) {
  if (!s) return (iso_grad_scaler_report){.found = false};
  iso_grad_scaler_report report = s->report;
  report.n_skipped = (uint64_t)*count_of(s, N_SKIPPED);
  return report;
}

/* ---- the loss ---- */

iso_status iso__grad_scaler_settle(iso_grad_scaler *s) {
  iso_context *ctx = s->ctx;
  if (iso__failed(ctx)) return ctx->error.code;
  if (ctx->is_capturing)
    return ISO__FAIL(ctx, ISO_STATE, "iso_grad_scaler_update", "the scale is written beside a capture, not in it");
  iso_tensor *scale = iso_tensor_full(ctx, ISO_F32, 0, NULL, *scale_of(s));
  const iso_status status = scale ? iso_tensor_assign(s->factor, scale) : ctx->error.code;
  if (status == ISO_OK) s->factor_is = *scale_of(s);
  iso_release(scale);
  return status;
}

iso_tensor *iso_grad_scaler_scale(iso_grad_scaler *s, const iso_tensor *loss) {
  if (!s || !iso__takes_floats(s->ctx, "grad_scaler_scale", 1, &loss)) return NULL;
  if (s->factor_is != *scale_of(s) && iso__grad_scaler_settle(s)) return NULL; /* its state was loaded */
  iso_tensor *factor = iso_cast(s->ctx, s->factor, loss->view.dtype);
  return iso__drop(iso_mul(s->ctx, loss, factor), factor);
}

/* ---- the gradients ---- */

static seen *seen_of(iso_grad_scaler *s, const iso_optimizer *o) {
  for (size_t i = 0; i < s->n_seen; i++)
    if (s->seen[i].o == o) return &s->seen[i];
  return NULL;
}

/* grad·(1/scale), in its own memory where nobody else sees that. */
static void unscale_one(iso_context *ctx, iso_tensor *parameter, double inverse) {
  const iso_tensor *grad = iso__leaf_gradient(parameter);
  const double scalars[3] = {inverse};
  const bool is_own = grad && iso__storage_is_exclusive(grad->view.storage) &&
                      (iso__view_is_contiguous(&grad->view) || iso__view_is_channels_last(&grad->view));
  if (!grad) return;
  if (is_own) {
    iso_tensor *own = (iso_tensor *)(uintptr_t)grad;
    iso__map(ctx, "unscale", ISO__MAP_MUL_SCALAR, 1, &grad, scalars, own);
    iso_tensor_touch(own);
    return;
  }
  iso_tensor *unscaled = iso__map(ctx, "unscale", ISO__MAP_MUL_SCALAR, 1, &grad, scalars, NULL);
  if (unscaled) iso_grad_set(parameter, unscaled);
  iso_release(unscaled);
}

/* The sums of squares of all gradients, f64, on the host; ones of no gradient are 0. */
static bool sums_of_squares(iso_optimizer *o, double *sums) {
  iso_context *ctx = o->ctx;
  const iso_tensor **each = iso__zalloc(ctx, o->n * sizeof *each);
  if (!each) return false;
  size_t n = 0;
  iso__enter(ctx);
  for (size_t i = 0; i < o->n; i++) {
    const iso_tensor *grad = iso__leaf_gradient(o->parameters[i]);
    if (grad) each[n++] = iso_cast(ctx, iso__sum_squares(ctx, grad, 0, NULL, false), ISO_F64);
  }
  iso_tensor *all = n ? iso_stack(ctx, (int)n, each, 0) : NULL;
  if (all) iso_tensor_copy_to(all, sums, n * sizeof *sums);
  iso__leave(ctx, NULL);
  iso__free(ctx, each, o->n * sizeof *each);
  for (size_t i = o->n; i-- > 0 && n < o->n;) /* from the last on: into their parameters' places */
    sums[i] = iso__leaf_gradient(o->parameters[i]) ? sums[--n] : 0;
  return !iso__failed(ctx);
}

/* The first element that is not finite into the report; false: only their squares' sum is too large. */
static bool find_element(iso_grad_scaler *s, const iso_tensor *grad) {
  iso_context *ctx = s->ctx;
  bool found = false;
  iso__enter(ctx);
  const iso_tensor *host = iso_to(ctx, iso_contiguous(ctx, grad), "cpu");
  const int64_t n = host ? iso__view_numel(&host->view) : 0;
  for (int64_t i = 0; i < n && !found; i++) {
    const double value = iso__real_at(iso__data(host), host->view.dtype, i);
    if (isfinite(value)) continue;
    s->report.element = i, s->report.value = value;
    found = true;
  }
  iso__leave(ctx, NULL);
  return found;
}

static bool find(iso_grad_scaler *s, iso_optimizer *o, const double *sums) {
  for (size_t i = 0; i < o->n && !iso__failed(s->ctx); i++) {
    if (isfinite(sums[i]) || !find_element(s, iso__leaf_gradient(o->parameters[i]))) continue;
    s->report.found = true;
    s->report.tensor = o->parameter_names[i];
    return true;
  }
  return false;
}

static iso_status unscale(iso_grad_scaler *s, iso_optimizer *o, const char *op) {
  iso_context *ctx = s->ctx;
  for (size_t i = 0; i < o->n; i++)
    if (!iso__leaf_gradient_is_valid(o->parameters[i]))
      return ISO__FAIL(ctx, ISO_STATE, op, "backward failed and left gradients incomplete: zero them first");
  if (ctx->is_capturing)
    return ISO__FAIL(ctx, ISO_STATE, op, "it decides on the host what is done: it is called beside the capture");
  if (!iso__grow(ctx, (void **)&s->seen, &s->capacity, s->n_seen + 1, sizeof *s->seen)) return ctx->error.code;
  double *sums = iso__zalloc(ctx, o->n * sizeof *sums);
  if (!sums) return ctx->error.code;
  const iso__fenv saved = iso__fenv_enter();
  const double inverse = (double)iso__fenv_pin_f32((float)(1 / iso__fenv_pin(*scale_of(s))));
  iso_no_grad_push(ctx);
  iso__autocast_off(ctx);
  s->report = (iso_grad_scaler_report){.scale = *scale_of(s)};
  for (size_t i = 0; i < o->n && !iso__failed(ctx); i++) unscale_one(ctx, o->parameters[i], inverse);
  bool found = false;
  if (!iso__failed(ctx) && sums_of_squares(o, sums)) found = find(s, o, sums);
  iso__autocast_on(ctx);
  iso_no_grad_pop(ctx);
  iso__fenv_leave(saved);
  iso__free(ctx, sums, o->n * sizeof *sums);
  if (!iso__failed(ctx)) s->seen[s->n_seen++] = (seen){.o = o, .found = found};
  return ctx->error.code;
}

iso_status iso_grad_scaler_unscale(iso_grad_scaler *s, iso_optimizer *o) {
  if (!s || !o) return ISO_INVALID_ARGUMENT;
  if (iso__failed(s->ctx)) return s->ctx->error.code;
  if (seen_of(s, o))
    return ISO__FAIL(s->ctx, ISO_STATE, "iso_grad_scaler_unscale",
                     "this optimiser's gradients were unscaled since the last update");
  return unscale(s, o, "iso_grad_scaler_unscale");
}

/* ---- the step ---- */

iso_status iso_grad_scaler_step(iso_grad_scaler *s, iso_optimizer *o, bool *stepped) {
  if (stepped) *stepped = false;
  if (!s || !o) return ISO_INVALID_ARGUMENT;
  if (iso__failed(s->ctx)) return s->ctx->error.code;
  seen *one = seen_of(s, o);
  if (!one && unscale(s, o, "iso_grad_scaler_step")) return s->ctx->error.code;
  if (!one) one = seen_of(s, o);
  if (one->stepped)
    return ISO__FAIL(s->ctx, ISO_STATE, "iso_grad_scaler_step", "this optimiser made its step since the last update");
  one->stepped = true;
  if (one->found) {
    ++*count_of(s, N_SKIPPED);
    return ISO_OK;
  }
  if (stepped) *stepped = true;
  return iso_optimizer_step(o);
}

iso_status iso_grad_scaler_update(iso_grad_scaler *s) {
  if (!s) return ISO_INVALID_ARGUMENT;
  if (iso__failed(s->ctx)) return s->ctx->error.code;
  if (s->n_seen == 0)
    return ISO__FAIL(s->ctx, ISO_STATE, "iso_grad_scaler_update", "no gradients were unscaled since the last update");
  bool found = false;
  for (size_t i = 0; i < s->n_seen; i++) found |= s->seen[i].found;
  s->n_seen = 0;
  double *scale = scale_of(s);
  int64_t *tracker = count_of(s, GROWTH_TRACKER);
  const double before = *scale;
  const iso__fenv saved = iso__fenv_enter();
  if (found) {
    *scale = (double)iso__fenv_pin_f32((float)(before * s->options.backoff_factor));
    if (*scale < 1) *scale = 1;
    *tracker = 0;
  } else if (++*tracker == s->options.growth_interval) {
    const double grown = (double)iso__fenv_pin_f32((float)(before * s->options.growth_factor));
    if (isfinite(grown)) *scale = grown;
    *tracker = 0;
  }
  iso__fenv_leave(saved);
  return *scale == before ? ISO_OK : iso__grad_scaler_settle(s);
}
