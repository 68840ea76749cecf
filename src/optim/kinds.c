/* kinds.c: the constructors: defaults and what a kind refuses. Names and defaults are those of torch.optim.
 *
 * Robbins and Monro, 1951, with Sutskever et al.'s momentum, 2013 (SGD); Kingma and Ba, "Adam", 2015 (Adam, Adamax);
 * Loshchilov and Hutter, "Decoupled weight decay regularization", 2019 (AdamW); Tieleman and Hinton, 2012, and Graves,
 * 2013 (RMSprop, centred); Duchi, Hazan and Singer, "Adaptive subgradient methods", 2011 (Adagrad); Zeiler, "ADADELTA",
 * 2012; Dozat, "Incorporating Nesterov momentum into Adam", 2016 (NAdam); Liu et al., "On the variance of the adaptive
 * learning rate and beyond", 2020 (RAdam). */
#include "optim/optimizer.h"

static double or_else(double x, double usual) { return x != 0 ? x : usual; }
static bool is_share(double x) { return x >= 0 && x < 1; }

static bool accepts(iso_context *ctx, const iso_optimizer *o, const char *op) {
  const iso__hyper *h = &o->hyper;
  if (o->lr >= 0 && is_share(h->beta1) && is_share(h->beta2) && h->eps >= 0 && h->weight_decay >= 0 &&
      h->momentum >= 0 && h->lr_decay >= 0 && h->initial >= 0 && h->momentum_decay >= 0)
    return true;
  ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op,
            "lr %g, decay of the means %g and %g, eps %g, weight decay %g, momentum %g (its decay %g), decay of lr %g, "
            "initial sum %g: the second and third lie in [0,1), none is negative",
            o->lr, h->beta1, h->beta2, h->eps, h->weight_decay, h->momentum, h->momentum_decay, h->lr_decay,
            h->initial);
  return false;
}
static iso_optimizer *checked(iso_context *ctx, const iso_optimizer *o, size_t n, const iso_named_tensor *tensors,
                              const char *op) {
  return accepts(ctx, o, op) ? iso__optimizer_new(ctx, o, n, tensors, op) : NULL;
}

iso_optimizer *iso_sgd_new(iso_context *ctx, size_t n, const iso_named_tensor *tensors,
                           const iso_sgd_options *options) {
  if (iso__failed(ctx)) return NULL;
  const iso_sgd_options s = options ? *options : (iso_sgd_options){.lr = 0};
  const iso_optimizer o = {
      .kind = ISO__SGD,
      .lr = or_else(s.lr, 1e-3),
      .hyper = {
          .momentum = s.momentum, .dampening = s.dampening, .weight_decay = s.weight_decay, .nesterov = s.nesterov}};
  if (!(o.lr >= 0 && s.momentum >= 0 && s.weight_decay >= 0) || (s.nesterov && (s.momentum == 0 || s.dampening != 0))) {
    ISO__FAIL(
        ctx, ISO_INVALID_ARGUMENT, "iso_sgd_new",
        "lr %g, momentum %g, dampening %g, weight decay %g%s: none is negative, and Nesterov needs momentum without "
        "dampening",
        o.lr, s.momentum, s.dampening, s.weight_decay, s.nesterov ? ", Nesterov" : "");
    return NULL;
  }
  return iso__optimizer_new(ctx, &o, n, tensors, "iso_sgd_new");
}

/* Adam and those with its options. */
static iso_optimizer *adam_like(iso_context *ctx, iso__optimizer_kind kind, size_t n, const iso_named_tensor *tensors,
                                const iso_adam_options *options, double usual_lr, const char *op) {
  if (iso__failed(ctx)) return NULL;
  const iso_adam_options a = options ? *options : (iso_adam_options){.lr = 0};
  const iso_optimizer o = {.kind = kind,
                           .lr = or_else(a.lr, usual_lr),
                           .hyper = {.beta1 = or_else(a.beta1, 0.9),
                                     .beta2 = or_else(a.beta2, 0.999),
                                     .eps = or_else(a.eps, 1e-8),
                                     .weight_decay = a.weight_decay,
                                     .decoupled = a.decoupled}};
  return checked(ctx, &o, n, tensors, op);
}
iso_optimizer *iso_adam_new(iso_context *ctx, size_t n, const iso_named_tensor *tensors,
                            const iso_adam_options *options) {
  return adam_like(ctx, ISO__ADAM, n, tensors, options, 1e-3, "iso_adam_new");
}
iso_optimizer *iso_radam_new(iso_context *ctx, size_t n, const iso_named_tensor *tensors,
                             const iso_adam_options *options) {
  return adam_like(ctx, ISO__RADAM, n, tensors, options, 1e-3, "iso_radam_new");
}
iso_optimizer *iso_adamax_new(iso_context *ctx, size_t n, const iso_named_tensor *tensors,
                              const iso_adam_options *options) {
  if (!iso__failed(ctx) && options && options->decoupled) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "iso_adamax_new", "decoupled decay: Adamax has none");
    return NULL;
  }
  return adam_like(ctx, ISO__ADAMAX, n, tensors, options, 2e-3, "iso_adamax_new");
}

iso_optimizer *iso_nadam_new(iso_context *ctx, size_t n, const iso_named_tensor *tensors,
                             const iso_nadam_options *options) {
  if (iso__failed(ctx)) return NULL;
  const iso_nadam_options a = options ? *options : (iso_nadam_options){.lr = 0};
  const iso_optimizer o = {.kind = ISO__NADAM,
                           .lr = or_else(a.lr, 2e-3),
                           .hyper = {.beta1 = or_else(a.beta1, 0.9),
                                     .beta2 = or_else(a.beta2, 0.999),
                                     .eps = or_else(a.eps, 1e-8),
                                     .weight_decay = a.weight_decay,
                                     .momentum_decay = or_else(a.momentum_decay, 4e-3),
                                     .decoupled = a.decoupled}};
  return checked(ctx, &o, n, tensors, "iso_nadam_new");
}

iso_optimizer *iso_rmsprop_new(iso_context *ctx, size_t n, const iso_named_tensor *tensors,
                               const iso_rmsprop_options *options) {
  if (iso__failed(ctx)) return NULL;
  const iso_rmsprop_options r = options ? *options : (iso_rmsprop_options){.lr = 0};
  const double alpha = or_else(r.alpha, 0.99);
  const iso_optimizer o = {.kind = ISO__RMSPROP,
                           .lr = or_else(r.lr, 1e-2),
                           .hyper = {.beta1 = alpha,
                                     .beta2 = alpha,
                                     .eps = or_else(r.eps, 1e-8),
                                     .weight_decay = r.weight_decay,
                                     .momentum = r.momentum,
                                     .centered = r.centered}};
  return checked(ctx, &o, n, tensors, "iso_rmsprop_new");
}

iso_optimizer *iso_adagrad_new(iso_context *ctx, size_t n, const iso_named_tensor *tensors,
                               const iso_adagrad_options *options) {
  if (iso__failed(ctx)) return NULL;
  const iso_adagrad_options a = options ? *options : (iso_adagrad_options){.lr = 0};
  const iso_optimizer o = {
      .kind = ISO__ADAGRAD,
      .lr = or_else(a.lr, 1e-2),
      .hyper = {
          .eps = or_else(a.eps, 1e-10), .weight_decay = a.weight_decay, .lr_decay = a.lr_decay, .initial = a.initial}};
  return checked(ctx, &o, n, tensors, "iso_adagrad_new");
}

iso_optimizer *iso_adadelta_new(iso_context *ctx, size_t n, const iso_named_tensor *tensors,
                                const iso_adadelta_options *options) {
  if (iso__failed(ctx)) return NULL;
  const iso_adadelta_options a = options ? *options : (iso_adadelta_options){.lr = 0};
  const iso_optimizer o = {
      .kind = ISO__ADADELTA,
      .lr = or_else(a.lr, 1),
      .hyper = {.beta2 = or_else(a.rho, 0.9), .eps = or_else(a.eps, 1e-6), .weight_decay = a.weight_decay}};
  return checked(ctx, &o, n, tensors, "iso_adadelta_new");
}
