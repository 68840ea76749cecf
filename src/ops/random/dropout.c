/* dropout.c: dropout of elements, of whole channels, and the kinds that keep mean and variance.
 *
 * Plain dropout is a kernel that leaves a bit of each element for the gradient, where there will be one: reading it is
 * cheaper than making the random word again. The others are compositions on the tape over a
 * mask that is drawn once: what is dropped is filled in, not multiplied, so that an infinity or NaN leaves no trace. */
#include <math.h>
#include "base/fenv.h"
#include "kernels/rng/rng.h"
#include "ops/random/random.h"

typedef struct noise {
  iso_philox at;
  double p;
} noise;

/* kept: the bits of a call before, or NULL. */
static iso_tensor *drop(iso_context *ctx, const iso_tensor *x, const noise *n, iso_tensor *kept) {
  if (iso__failed(ctx) || !x) return NULL;
  iso_tensor *copy = iso__contiguous_copy(ctx, x);
  if (copy) x = copy;
  const int64_t numel = iso__view_numel(&x->view), n_bytes = iso__dropout_bytes(numel);
  const bool writes = !kept && iso__is_recorded(ctx, 1, &x);
  iso_tensor *written = writes ? iso_tensor_new(ctx, ISO_U8, 1, &n_bytes) : NULL, *bits = kept ? kept : written;
  iso_tensor *y = iso__failed(ctx) ? NULL : iso_tensor_new(ctx, x->view.dtype, x->view.n_dims, x->view.shape);
  iso_rng_problem p;
  ISO__PROBLEM_INIT(p, ISO__OP_DROPOUT, x->view.dtype);
  p.n = numel;
  p.bits = (uint8_t)(kept ? ISO__BITS_READ : writes ? ISO__BITS_WRITTEN : ISO__BITS_NONE);
  const iso_rng_args args = {.seed = n->at.seed,
                             .stream = n->at.stream,
                             .site = n->at.site,
                             .leaf = n->at.leaf,
                             .step = n->at.step,
                             .step_at = iso__random_step_at(ctx),
                             .a = n->p,
                             .x = iso__data(x),
                             .y = iso__data(y),
                             .bits = iso__data(bits)};
  y = iso__finish(ctx, y, y ? iso__execute(ctx, &p.head, &args) : ISO_OUT_OF_MEMORY, ISO__RULE_DROPOUT,
                  &(iso__finish_options){.inputs = ISO__TENSORS(x),
                                         .n_inputs = 1,
                                         .saved = ISO__TENSORS(bits),
                                         .n_saved = 1,
                                         .attrs = n,
                                         .attr_bytes = sizeof *n});
  iso_release(written);
  return iso__drop(y, copy);
}

/* The same elements of the gradient are kept. */
void iso__dropout_gradient(iso__gradient *g) {
  iso_tensor *bits = iso__saved(g, 0);
  if (bits) g->dx[0] = drop(g->ctx, g->dy[0], iso__attrs(g), bits);
}

static bool check(iso_context *ctx, const char *op, const iso_tensor *x, double p) {
  if (!iso__takes_floats(ctx, op, 1, ISO__TENSORS(x))) return false;
  if (p >= 0 && p <= 1) return iso__random_check_count(ctx, op, iso__view_numel(&x->view), 1);
  ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "p is %g: 0 ≤ p ≤ 1 is needed", p);
  return false;
}

/* Where x is dropped, bool: (a,b,1,…) by whole channels, else each element for itself. */
static iso_tensor *dropped(iso_context *ctx, const char *op, const iso_tensor *x, double p, int n_leading) {
  int64_t shape[ISO_MAX_DIMS];
  for (int d = 0; d < x->view.n_dims; d++) shape[d] = d < n_leading ? x->view.shape[d] : 1;
  const iso_philox at = iso__random_next_site(ctx);
  return iso_cast(ctx, iso__random_bernoulli_at(ctx, op, ISO_F32, x->view.n_dims, shape, p, &at), ISO_BOOL);
}

/* All of them: what is left when p is 1. */
static iso_tensor *nothing(iso_context *ctx, const iso_tensor *x) {
  return iso_masked_fill(ctx, x, iso_tensor_full(ctx, ISO_BOOL, 0, NULL, 1), 0);
}

iso_tensor *iso_dropout(iso_context *ctx, const iso_tensor *x, double p, bool training) {
  ISO__AUTOCAST(ctx, "dropout", iso_dropout(ctx, x, p, training), &x);
  ISO__HALVES(ctx, iso_dropout(ctx, x, p, training), &x);
  if (!check(ctx, "dropout", x, p)) return NULL;
  if (!training) return iso_tensor_alias(ctx, x);
  if (p < 1) return drop(ctx, x, &(noise){.at = iso__random_next_site(ctx), .p = p}, NULL);
  iso__enter(ctx);
  return iso__leave(ctx, nothing(ctx, x));
}

static iso_tensor *drop_channels(iso_context *ctx, const char *op, const iso_tensor *x, double p, bool training,
                                 int n_leading) {
  if (!training) return iso_tensor_alias(ctx, x);
  iso__enter(ctx);
  if (p == 1) return iso__leave(ctx, nothing(ctx, x));
  const iso__fenv saved = iso__fenv_enter();
  const double scale = iso__fenv_pin(1 / iso__fenv_pin(1 - iso__fenv_pin(p)));
  iso__fenv_leave(saved);
  iso_tensor *mask = dropped(ctx, op, x, p, n_leading);
  return iso__leave(ctx, iso_masked_fill(ctx, iso_mul_scalar(ctx, x, scale), mask, 0));
}

static bool check_dims(iso_context *ctx, const char *op, const iso_tensor *x, int low, int high) {
  char text[128];
  const iso__view *v = &x->view;
  if (v->n_dims >= low && v->n_dims <= high) return true;
  ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op, "%s has %d axes: %d to %d are needed",
            iso__shape_text(v->n_dims, v->shape, text, sizeof text), v->n_dims, low, high);
  return false;
}

iso_tensor *iso_feature_dropout(iso_context *ctx, const iso_tensor *x, double p, bool training) {
  ISO__AUTOCAST(ctx, "feature_dropout", iso_feature_dropout(ctx, x, p, training), &x);
  ISO__HALVES(ctx, iso_feature_dropout(ctx, x, p, training), &x);
  if (!check(ctx, "feature_dropout", x, p) || !check_dims(ctx, "feature_dropout", x, 2, ISO_MAX_DIMS)) return NULL;
  return drop_channels(ctx, "feature_dropout", x, p, training, 2);
}
/* (C,L) without a batch; (C,H,W) counts as (N,C,L), as in PyTorch. */
iso_tensor *iso_dropout1d(iso_context *ctx, const iso_tensor *x, double p, bool training) {
  ISO__AUTOCAST(ctx, "dropout1d", iso_dropout1d(ctx, x, p, training), &x);
  ISO__HALVES(ctx, iso_dropout1d(ctx, x, p, training), &x);
  if (!check(ctx, "dropout1d", x, p) || !check_dims(ctx, "dropout1d", x, 2, 3)) return NULL;
  return drop_channels(ctx, "dropout1d", x, p, training, x->view.n_dims - 1);
}
iso_tensor *iso_dropout2d(iso_context *ctx, const iso_tensor *x, double p, bool training) {
  ISO__AUTOCAST(ctx, "dropout2d", iso_dropout2d(ctx, x, p, training), &x);
  ISO__HALVES(ctx, iso_dropout2d(ctx, x, p, training), &x);
  if (!check(ctx, "dropout2d", x, p) || !check_dims(ctx, "dropout2d", x, 3, 4)) return NULL;
  return drop_channels(ctx, "dropout2d", x, p, training, 2);
}
iso_tensor *iso_dropout3d(iso_context *ctx, const iso_tensor *x, double p, bool training) {
  ISO__AUTOCAST(ctx, "dropout3d", iso_dropout3d(ctx, x, p, training), &x);
  ISO__HALVES(ctx, iso_dropout3d(ctx, x, p, training), &x);
  if (!check(ctx, "dropout3d", x, p) || !check_dims(ctx, "dropout3d", x, 4, 5)) return NULL;
  return drop_channels(ctx, "dropout3d", x, p, training, x->view.n_dims - 3);
}

/* Klambauer et al., "Self-normalizing neural networks", 2017: what is dropped becomes selu's lower limit −λ·α, then an
 * affine map restores mean 0 and variance 1. */
static iso_tensor *drop_alpha(iso_context *ctx, const char *op, const iso_tensor *x, double p, bool training,
                              int n_leading) {
  static const double limit = -1.7580993408473766;
  if (!training) return iso_tensor_alias(ctx, x);
  iso__enter(ctx);
  if (p == 1) return iso__leave(ctx, nothing(ctx, x));
  const iso__fenv saved = iso__fenv_enter();
  const double share = iso__fenv_pin(p), q = iso__fenv_pin(1 - share);
  const double a = iso__fenv_pin(1 / sqrt(iso__fenv_pin(q * (1 + share * limit * limit))));
  const double b = iso__fenv_pin(-iso__fenv_pin(a) * limit * share);
  iso__fenv_leave(saved);
  iso_tensor *filled = iso_masked_fill(ctx, x, dropped(ctx, op, x, p, n_leading), limit);
  return iso__leave(ctx, iso_add_scalar(ctx, iso_mul_scalar(ctx, filled, a), b));
}
iso_tensor *iso_alpha_dropout(iso_context *ctx, const iso_tensor *x, double p, bool training) {
  if (!check(ctx, "alpha_dropout", x, p)) return NULL;
  return drop_alpha(ctx, "alpha_dropout", x, p, training, x->view.n_dims);
}
iso_tensor *iso_feature_alpha_dropout(iso_context *ctx, const iso_tensor *x, double p, bool training) {
  if (!check(ctx, "feature_alpha_dropout", x, p) ||
      (training && !check_dims(ctx, "feature_alpha_dropout", x, 2, ISO_MAX_DIMS)))
    return NULL;
  return drop_alpha(ctx, "feature_alpha_dropout", x, p, training, 2);
}
