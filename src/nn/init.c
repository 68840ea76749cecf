/* init.c: initialisers, in place, each element's number a function of (seed, site, logical element) alone.
 *
 * He et al., "Delving deep into rectifiers", 2015; Glorot and Bengio, "Understanding the difficulty of training deep
 * feedforward neural networks", 2010. Bounds are f64, computed in the default environment, rounded once by the fill. */
#include "nn/init.h"
#include <math.h>
#include "base/fenv.h"
#include "tensor/tensor.h"

typedef struct fans {
  double in, out;
} fans;

/* Weights are (out, in, kernel…). */
static bool fans_of(const iso_tensor *t, const char *op, fans *f) {
  const iso__view *v = &t->view;
  if (v->n_dims < 2) {
    char text[128];
    ISO__FAIL(t->ctx, ISO_SHAPE_MISMATCH, op, "%s has no fan: weights are (out, in, …)",
              iso__shape_text(v->n_dims, v->shape, text, sizeof text));
    return false;
  }
  double kernel = 1;
  for (int d = 2; d < v->n_dims; d++) kernel *= (double)v->shape[d];
  f->in = (double)v->shape[1] * kernel;
  f->out = (double)v->shape[0] * kernel;
  return true;
}

iso_philox iso__init_place(const iso_tensor *t, uint32_t site) {
  return (iso_philox){.seed = iso_policy_current(t->ctx)->seed, .stream = ISO_PHILOX_INIT, .site = site};
}

iso_status iso_init_uniform(iso_tensor *t, double a, double b, uint32_t site) {
  if (!t) return ISO_INVALID_ARGUMENT;
  const iso_philox at = iso__init_place(t, site);
  iso_no_grad_push(t->ctx);
  const iso_status status = iso_fill_uniform(t, &at, a, b);
  iso_no_grad_pop(t->ctx);
  return status;
}

iso_status iso_init_normal(iso_tensor *t, double mean, double sd, uint32_t site) {
  if (!t) return ISO_INVALID_ARGUMENT;
  const iso_philox at = iso__init_place(t, site);
  iso_no_grad_push(t->ctx);
  const iso_status status = iso_fill_normal(t, &at, mean, sd);
  iso_no_grad_pop(t->ctx);
  return status;
}

iso_status iso_init_trunc_normal(iso_tensor *t, const iso_truncated_normal_options *options, uint32_t site) {
  if (!t) return ISO_INVALID_ARGUMENT;
  const iso_philox at = iso__init_place(t, site);
  iso_no_grad_push(t->ctx);
  const iso_status status = iso_fill_truncated_normal(t, &at, options);
  iso_no_grad_pop(t->ctx);
  return status;
}

iso_status iso_init_constant(iso_tensor *t, double value) {
  if (!t || iso__failed(t->ctx)) return t ? t->ctx->error.code : ISO_INVALID_ARGUMENT;
  iso_tensor *one = iso_tensor_full(t->ctx, t->view.dtype, 0, NULL, value);
  iso__view everywhere;
  if (!one || !iso__view_expand(t->ctx, &one->view, t->view.n_dims, t->view.shape, &everywhere))
    return t->ctx->error.code;
  iso__view_copy(t->ctx, &t->view, &everywhere);
  iso_tensor_touch(t);
  iso_release(one);
  return ISO_OK;
}

iso_status iso_init_ones(iso_tensor *t) { return iso_init_constant(t, 1); }
iso_status iso_init_zeros(iso_tensor *t) { return iso_init_constant(t, 0); }

/* gain·sqrt(numerator/fan) */
static double spread(double gain, double numerator, double fan) {
  const iso__fenv saved = iso__fenv_enter();
  const double s = iso__fenv_pin(iso__fenv_pin(gain) * sqrt(iso__fenv_pin(numerator) / iso__fenv_pin(fan)));
  iso__fenv_leave(saved);
  return s;
}

static double gain_or(double gain, double usual) { return gain != 0 ? gain : usual; }
static const double SQRT2 = 0x1.6a09e667f3bcdp+0;

double iso_init_gain(iso_nonlinearity nonlinearity, double slope) {
  switch (nonlinearity) {
  case ISO_NONLINEARITY_LINEAR:
  case ISO_NONLINEARITY_SIGMOID: return 1;
  case ISO_NONLINEARITY_TANH: return 5.0 / 3;
  case ISO_NONLINEARITY_RELU: return SQRT2;
  case ISO_NONLINEARITY_LEAKY_RELU: return spread(1, 2, iso__fenv_sub(1, -iso__fenv_mul(slope, slope)));
  case ISO_NONLINEARITY_SELU: return 0.75;
  }
  return 1;
}

iso_status iso_init_kaiming_uniform(iso_tensor *t, double gain, iso_fan fan, uint32_t site) {
  fans f;
  if (!t || !fans_of(t, "init_kaiming_uniform", &f)) return t ? t->ctx->error.code : ISO_INVALID_ARGUMENT;
  const double b = spread(gain_or(gain, SQRT2), 3, fan == ISO_FAN_OUT ? f.out : f.in);
  return iso_init_uniform(t, -b, b, site);
}
iso_status iso_init_kaiming_normal(iso_tensor *t, double gain, iso_fan fan, uint32_t site) {
  fans f;
  if (!t || !fans_of(t, "init_kaiming_normal", &f)) return t ? t->ctx->error.code : ISO_INVALID_ARGUMENT;
  return iso_init_normal(t, 0, spread(gain_or(gain, SQRT2), 1, fan == ISO_FAN_OUT ? f.out : f.in), site);
}
iso_status iso_init_xavier_uniform(iso_tensor *t, double gain, uint32_t site) {
  fans f;
  if (!t || !fans_of(t, "init_xavier_uniform", &f)) return t ? t->ctx->error.code : ISO_INVALID_ARGUMENT;
  const double b = spread(gain_or(gain, 1), 6, f.in + f.out);
  return iso_init_uniform(t, -b, b, site);
}
iso_status iso_init_xavier_normal(iso_tensor *t, double gain, uint32_t site) {
  fans f;
  if (!t || !fans_of(t, "init_xavier_normal", &f)) return t ? t->ctx->error.code : ISO_INVALID_ARGUMENT;
  return iso_init_normal(t, 0, spread(gain_or(gain, 1), 2, f.in + f.out), site);
}

uint32_t iso_init_next_site(iso_context *ctx) { return ctx ? iso__place_of(ctx)->init_site++ : 0; }
void iso_init_restart(iso_context *ctx) {
  if (ctx) iso__place_of(ctx)->init_site = 0;
}

iso_tensor *iso__init_default(iso_context *ctx, iso_tensor *t, double fan_in) {
  if (!t) return NULL;
  const double b = fan_in > 0 ? spread(1, 1, fan_in) : 0;
  if (iso_init_uniform(t, -b, b, iso_init_next_site(ctx)) == ISO_OK) return t;
  iso_release(t);
  return NULL;
}
