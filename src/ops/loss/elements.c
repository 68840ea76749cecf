/* elements.c: losses computed element by element, written in operators: regression, probabilities and margins of single
 * scores. The pieces are chosen so that each formula's gradient comes out of its operators' own: min(|d|, beta) has
 * slope 0 beyond beta and 1 before it, where smooth L1's other factor vanishes. */
#include "ops/loss/loss.h"

static const double LOG_2PI = 0x1.d67f1c864beb4p+0, TWO_PI = 0x1.921fb54442d18p+2;

/* ---- regression ---- */

iso_tensor *iso_mse_loss(iso_context *ctx, const iso_tensor *x, const iso_tensor *target,
                         const iso_loss_options *options) {
  ISO__AUTOCAST(ctx, "mse_loss", iso_mse_loss(ctx, x, target, options), &x, &target);
  if (!iso__loss_shapes(ctx, "mse_loss", x, target, "target")) return NULL;
  iso__enter(ctx);
  iso_tensor *d = iso_sub(ctx, x, target);
  if (options && (options->reduction == ISO_REDUCTION_NONE || options->weight))
    return iso__leave(ctx, iso__loss_reduce(ctx, iso_square(ctx, d), options));
  iso_tensor *sum = d ? iso__sum_squares(ctx, d, 0, NULL, false) : NULL;
  if (options && options->reduction == ISO_REDUCTION_SUM) return iso__leave(ctx, sum);
  const double n = options && options->count != 0 ? options->count : (double)iso__view_numel(&x->view);
  return iso__leave(ctx, iso_div_scalar(ctx, sum, n));
}

/* |x − target|; NULL after a refusal, else in a scope of its own. */
static iso_tensor *distance(iso_context *ctx, const char *op, const iso_tensor *x, const iso_tensor *target) {
  if (!iso__loss_shapes(ctx, op, x, target, "target")) return NULL;
  iso__enter(ctx);
  iso_tensor *d = iso_abs(ctx, iso_sub(ctx, x, target));
  if (!d) iso_scope_pop(ctx);
  return d;
}

iso_tensor *iso_l1_loss(iso_context *ctx, const iso_tensor *x, const iso_tensor *target,
                        const iso_loss_options *options) {
  ISO__AUTOCAST(ctx, "l1_loss", iso_l1_loss(ctx, x, target, options), &x, &target);
  iso_tensor *d = distance(ctx, "l1_loss", x, target);
  return d ? iso__leave(ctx, iso__loss_reduce(ctx, d, options)) : NULL;
}

/* m·(|d| − m/2), m = min(|d|, knee). */
static iso_tensor *rounded_off(iso_context *ctx, const iso_tensor *d, double knee) {
  iso_tensor *m = iso_clamp(ctx, d, -INFINITY, knee);
  return iso_mul(ctx, m, iso_sub(ctx, d, iso_mul_scalar(ctx, m, 0.5)));
}

iso_tensor *iso_smooth_l1_loss(iso_context *ctx, const iso_tensor *x, const iso_tensor *target, double beta,
                               const iso_loss_options *options) {
  ISO__AUTOCAST(ctx, "smooth_l1_loss", iso_smooth_l1_loss(ctx, x, target, beta, options), &x, &target);
  if (!iso__failed(ctx) && !(beta >= 0)) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "smooth_l1_loss", "beta is %g: at least 0 is needed", beta);
    return NULL;
  }
  iso_tensor *d = distance(ctx, "smooth_l1_loss", x, target);
  if (!d) return NULL;
  if (beta != 0) d = iso_div_scalar(ctx, rounded_off(ctx, d, beta), beta);
  return iso__leave(ctx, iso__loss_reduce(ctx, d, options));
}

iso_tensor *iso_huber_loss(iso_context *ctx, const iso_tensor *x, const iso_tensor *target, double delta,
                           const iso_loss_options *options) {
  ISO__AUTOCAST(ctx, "huber_loss", iso_huber_loss(ctx, x, target, delta, options), &x, &target);
  if (!iso__failed(ctx) && !(delta > 0)) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "huber_loss", "delta is %g: more than 0 is needed", delta);
    return NULL;
  }
  iso_tensor *d = distance(ctx, "huber_loss", x, target);
  return d ? iso__leave(ctx, iso__loss_reduce(ctx, rounded_off(ctx, d, delta), options)) : NULL;
}

/* t·log t where t ≠ 0, else 0. */
static iso_tensor *t_log_t(iso_context *ctx, const iso_tensor *t) {
  if (!t) return NULL;
  iso_tensor *one = iso__scalar(ctx, t->view.dtype, 1), *zero = iso__scalar(ctx, t->view.dtype, 0);
  return iso_mul(ctx, t, iso_log(ctx, iso_where(ctx, iso_eq(ctx, t, zero), one, t)));
}

/* t·log t − t + log(2πt)/2 where t > 1, else 0. */
static iso_tensor *stirling(iso_context *ctx, const iso_tensor *t) {
  iso_tensor *one = iso__scalar(ctx, t->view.dtype, 1), *large = iso_gt(ctx, t, one);
  iso_tensor *safe = iso_where(ctx, large, t, one), *log = iso_log(ctx, safe);
  iso_tensor *half = iso_mul_scalar(ctx, iso_log(ctx, iso_mul_scalar(ctx, safe, TWO_PI)), 0.5);
  iso_tensor *sum = iso_add(ctx, iso_sub(ctx, iso_mul(ctx, safe, log), safe), half);
  return iso_where(ctx, large, sum, iso__scalar(ctx, t->view.dtype, 0));
}

iso_tensor *iso_poisson_nll_loss(iso_context *ctx, const iso_tensor *x, const iso_tensor *target,
                                 const iso_poisson_nll_options *options) {
  ISO__AUTOCAST(ctx, "poisson_nll_loss", iso_poisson_nll_loss(ctx, x, target, options), &x, &target);
  const iso_poisson_nll_options none = {0}, *o = options ? options : &none;
  if (!iso__loss_shapes(ctx, "poisson_nll_loss", x, target, "target")) return NULL;
  iso__enter(ctx);
  iso_tensor *loss;
  if (o->rate) {
    const double eps = o->eps != 0 ? o->eps : 1e-8;
    loss = iso_sub(ctx, x, iso_mul(ctx, target, iso_log(ctx, iso_add_scalar(ctx, x, eps))));
  } else {
    iso_tensor *rate = iso_exp(ctx, x);
    loss = iso_sub(ctx, rate, iso_mul(ctx, target, x));
  }
  if (o->full) loss = iso_add(ctx, loss, stirling(ctx, target));
  return iso__leave(ctx, iso__loss_reduce(ctx, loss, &o->loss));
}

/* Whether var is x's shape without its last axis. */
static bool lacks_last_axis(const iso__view *var, const iso__view *x) {
  return var->n_dims == x->n_dims - 1 && !memcmp(var->shape, x->shape, (size_t)var->n_dims * sizeof *var->shape);
}

iso_tensor *iso_gaussian_nll_loss(iso_context *ctx, const iso_tensor *x, const iso_tensor *target,
                                  const iso_tensor *var, const iso_gaussian_nll_options *options) {
  ISO__AUTOCAST(ctx, "gaussian_nll_loss", iso_gaussian_nll_loss(ctx, x, target, var, options), &x, &target, &var);
  const iso_gaussian_nll_options none = {0}, *o = options ? options : &none;
  if (!iso__takes(ctx, "gaussian_nll_loss", 3, ISO__TENSORS(x, target, var)) ||
      !iso__takes_floats(ctx, "gaussian_nll_loss", 3, ISO__TENSORS(x, target, var)))
    return NULL;
  iso__enter(ctx);
  if (lacks_last_axis(&var->view, &x->view)) var = iso_unsqueeze(ctx, var, -1);
  iso_tensor *v = iso_clamp(ctx, var, o->eps != 0 ? o->eps : 1e-6, INFINITY);
  iso_tensor *ratio = iso_div(ctx, iso_square(ctx, iso_sub(ctx, x, target)), v);
  iso_tensor *loss = iso_mul_scalar(ctx, iso_add(ctx, iso_log(ctx, v), ratio), 0.5);
  if (o->full) loss = iso_add_scalar(ctx, loss, LOG_2PI / 2);
  return iso__leave(ctx, iso__loss_reduce(ctx, loss, &o->loss));
}

/* ---- probabilities ---- */

/* log t − log 1−t at least −100 each: the two logarithms of binary cross entropy. */
static void logarithms(iso_context *ctx, const iso_tensor *p, iso_tensor **yes, iso_tensor **no) {
  *yes = iso_clamp(ctx, iso_log(ctx, p), -100, INFINITY);
  *no = iso_clamp(ctx, iso_log1p(ctx, iso_neg(ctx, p)), -100, INFINITY);
}

/* (t − 1)·max(log(1−p), −100) − t·max(log p, −100) */
static iso_tensor *binary(iso_context *ctx, const iso_tensor *p, const iso_tensor *t) {
  iso_tensor *yes, *no, *y;
  iso_no_grad_push(ctx);
  logarithms(ctx, p, &yes, &no);
  y = iso_mul(ctx, iso_add_scalar(ctx, t, -1), no);
  y = iso_sub(ctx, y, iso_mul(ctx, t, yes));
  iso_no_grad_pop(ctx);
  return iso__finish(
      ctx, y, ISO_OK, ISO__RULE_BINARY_CROSS_ENTROPY,
      &(iso__finish_options){.inputs = ISO__TENSORS(p, t), .n_inputs = 2, .saved = ISO__TENSORS(p, t), .n_saved = 2});
}
void iso__binary_cross_entropy_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  iso_tensor *p = iso__saved(g, 0), *t = iso__saved(g, 1), *yes, *no;
  if (iso__needs(g, 0)) {
    iso_tensor *spread = iso_clamp(ctx, iso_mul(ctx, p, iso_rsub_scalar(ctx, p, 1)), 1e-12, INFINITY);
    g->dx[0] = iso_mul(ctx, g->dy[0], iso_div(ctx, iso_sub(ctx, p, t), spread));
  }
  if (!iso__needs(g, 1)) return;
  logarithms(ctx, p, &yes, &no);
  g->dx[1] = iso_mul(ctx, g->dy[0], iso_sub(ctx, no, yes));
}

iso_tensor *iso_binary_cross_entropy(iso_context *ctx, const iso_tensor *p, const iso_tensor *target,
                                     const iso_loss_options *options) {
  ISO__AUTOCAST(ctx, "binary_cross_entropy", iso_binary_cross_entropy(ctx, p, target, options), &p, &target);
  if (!iso__loss_shapes(ctx, "binary_cross_entropy", p, target, "target")) return NULL;
  iso__enter(ctx);
  return iso__leave(ctx, iso__loss_reduce(ctx, binary(ctx, p, target), options));
}

iso_tensor *iso_binary_cross_entropy_with_logits(iso_context *ctx, const iso_tensor *x, const iso_tensor *target,
                                                 const iso_tensor *pos_weight, const iso_loss_options *options) {
  ISO__AUTOCAST(ctx, "binary_cross_entropy_with_logits",
                iso_binary_cross_entropy_with_logits(ctx, x, target, pos_weight, options), &x, &target, &pos_weight);
  if (!iso__loss_shapes(ctx, "binary_cross_entropy_with_logits", x, target, "target")) return NULL;
  iso__enter(ctx);
  iso_tensor *soft = iso_softplus(ctx, iso_neg(ctx, x)); /* −log sigmoid(x) */
  if (pos_weight) {
    iso_tensor *factor = iso_mul(ctx, iso_add_scalar(ctx, pos_weight, -1), target);
    soft = iso_mul(ctx, iso_add_scalar(ctx, factor, 1), soft);
  }
  iso_tensor *loss = iso_add(ctx, iso_mul(ctx, iso_rsub_scalar(ctx, target, 1), x), soft);
  return iso__leave(ctx, iso__loss_reduce(ctx, loss, options));
}

iso_tensor *iso_kl_div(iso_context *ctx, const iso_tensor *x, const iso_tensor *target, bool log_target,
                       const iso_loss_options *options) {
  ISO__AUTOCAST(ctx, "kl_div", iso_kl_div(ctx, x, target, log_target, options), &x, &target);
  if (!iso__loss_shapes(ctx, "kl_div", x, target, "target")) return NULL;
  iso__enter(ctx);
  iso_tensor *first = log_target ? iso_exp(ctx, target) : t_log_t(ctx, target), *loss;
  if (log_target) loss = iso_mul(ctx, first, iso_sub(ctx, target, x));
  else loss = iso_sub(ctx, first, iso_mul(ctx, target, x));
  return iso__leave(ctx, iso__loss_reduce(ctx, loss, options));
}

/* ---- margins of single scores ---- */

iso_tensor *iso_soft_margin_loss(iso_context *ctx, const iso_tensor *x, const iso_tensor *y,
                                 const iso_loss_options *options) {
  ISO__AUTOCAST(ctx, "soft_margin_loss", iso_soft_margin_loss(ctx, x, y, options), &x, &y);
  if (!iso__loss_shapes(ctx, "soft_margin_loss", x, y, "y")) return NULL;
  iso__enter(ctx);
  iso_tensor *loss = iso_softplus(ctx, iso_neg(ctx, iso_mul(ctx, y, x)));
  return iso__leave(ctx, iso__loss_reduce(ctx, loss, options));
}

iso_tensor *iso_hinge_embedding_loss(iso_context *ctx, const iso_tensor *x, const iso_tensor *y, double margin,
                                     const iso_loss_options *options) {
  ISO__AUTOCAST(ctx, "hinge_embedding_loss", iso_hinge_embedding_loss(ctx, x, y, margin, options), &x, &y);
  if (!iso__loss_shapes(ctx, "hinge_embedding_loss", x, y, "y")) return NULL;
  iso__enter(ctx);
  iso_tensor *zero = iso__scalar(ctx, x->view.dtype, 0), *one = iso__scalar(ctx, x->view.dtype, 1),
             *minus = iso__scalar(ctx, x->view.dtype, -1);
  iso_tensor *hinge = iso_clamp(ctx, iso_rsub_scalar(ctx, x, margin), 0, INFINITY);
  iso_tensor *far = iso_where(ctx, iso_eq(ctx, y, one), zero, hinge);
  iso_tensor *near = iso_where(ctx, iso_eq(ctx, y, minus), zero, x);
  return iso__leave(ctx, iso__loss_reduce(ctx, iso_add(ctx, far, near), options));
}

iso_tensor *iso_margin_ranking_loss(iso_context *ctx, const iso_tensor *a, const iso_tensor *b, const iso_tensor *y,
                                    double margin, const iso_loss_options *options) {
  ISO__AUTOCAST(ctx, "margin_ranking_loss", iso_margin_ranking_loss(ctx, a, b, y, margin, options), &a, &b, &y);
  if (!iso__takes(ctx, "margin_ranking_loss", 3, ISO__TENSORS(a, b, y)) ||
      !iso__takes_floats(ctx, "margin_ranking_loss", 3, ISO__TENSORS(a, b, y)))
    return NULL;
  iso__enter(ctx);
  iso_tensor *d = iso_mul(ctx, y, iso_sub(ctx, a, b));
  return iso__leave(ctx, iso__loss_reduce(ctx, iso_clamp(ctx, iso_rsub_scalar(ctx, d, margin), 0, INFINITY), options));
}
