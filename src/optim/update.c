/* update.c: a parameter's update of every kind, or that of many at once: which terms there are, and the numbers that
 * depend on the step.
 *
 * They are computed here in f64 and rounded once by the kernel (NUMERICS §5). */
#include <math.h>
#include "numeric/math_f64.h"
#include "ops/ops.h"
#include "optim/optimizer.h"

double iso__optimizer_decay(const iso_optimizer *o, size_t i) {
  return o->matrices_only && o->parameters[i]->view.n_dims < 2 ? 0 : o->hyper.weight_decay;
}

void iso__optimizer_problem(const iso_optimizer *o, iso_dtype dtype, int64_t n, double weight_decay,
                            iso_optim_problem *problem) {
  static const iso__op ops[] = {[ISO__SGD] = ISO__OP_SGD_STEP,           [ISO__ADAM] = ISO__OP_ADAM_STEP,
                                [ISO__RMSPROP] = ISO__OP_RMSPROP_STEP,   [ISO__ADAGRAD] = ISO__OP_ADAGRAD_STEP,
                                [ISO__ADADELTA] = ISO__OP_ADADELTA_STEP, [ISO__ADAMAX] = ISO__OP_ADAMAX_STEP,
                                [ISO__NADAM] = ISO__OP_NADAM_STEP,       [ISO__RADAM] = ISO__OP_RADAM_STEP};
  const iso__hyper *h = &o->hyper;
  ISO__PROBLEM_INIT(*problem, ops[o->kind], dtype);
  problem->n = n;
  problem->momentum = h->momentum != 0;
  problem->nesterov = h->nesterov;
  problem->weight_decay = weight_decay != 0;
  problem->decoupled = h->decoupled;
  problem->centered = h->centered;
}

/* NAdam's momentum of step t. */
static double momentum_of(const iso__hyper *h, double t) {
  return h->beta1 * (1 - 0.5 * iso__pow_f64(0.96, t * h->momentum_decay));
}

/* The factors of the gradient and of its mean; *product is that of the momenta up to this step. */
static void nadam_rates(const iso_optimizer *o, int64_t t, double *product, iso_optim_args *args) {
  const double mu = momentum_of(&o->hyper, (double)t), next = momentum_of(&o->hyper, (double)t + 1);
  *product = *product * mu;
  args->minus_gradient_rate = -o->lr * (1 - mu) / (1 - *product);
  args->minus_lr_over_bc1 = -o->lr * next / (1 - *product * next);
}

/* RAdam's length of the average, and the rectified rate where it exceeds 5. */
static void radam_rate(const iso_optimizer *o, int64_t t, double bc2, iso_optim_problem *problem,
                       iso_optim_args *args) {
  const double most = 2 / (1 - o->hyper.beta2) - 1;
  const double length = most - 2 * (double)t * iso__powi_f64(o->hyper.beta2, t) / bc2;
  problem->rectified = length > 5;
  if (!problem->rectified) return;
  const double share = (length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length);
  args->minus_lr_over_bc1 = args->minus_lr_over_bc1 * sqrt(share) * sqrt(bc2);
}

/* Update number t: what of problem and arguments all parameters share; *product is NADAM's up to it. */
static void fill(const iso_optimizer *o, int64_t t, iso_dtype dtype, int64_t n, double weight_decay,
                 iso_optim_problem *problem, iso_optim_args *args, double *product) {
  const iso__hyper *h = &o->hyper;
  const double bc1 = 1 - iso__powi_f64(h->beta1, t), bc2 = 1 - iso__powi_f64(h->beta2, t);
  *args = (iso_optim_args){.lr = o->lr,
                           .weight_decay = weight_decay,
                           .momentum = h->momentum,
                           .dampening = h->dampening,
                           .one_minus_b1 = 1 - h->beta1,
                           .b1 = h->beta1,
                           .one_minus_b2 = 1 - h->beta2,
                           .b2 = h->beta2,
                           .minus_lr_over_bc1 = -o->lr / bc1,
                           .inv_sqrt_bc2 = 1 / sqrt(bc2),
                           .eps = h->eps,
                           .decay = 1 - o->lr * weight_decay};
  iso__optimizer_problem(o, dtype, n, weight_decay, problem);
  problem->first_step = o->kind == ISO__SGD && problem->momentum && t == 1;
  if (o->kind == ISO__ADAGRAD) args->minus_lr_over_bc1 = -o->lr / (1 + (double)(t - 1) * h->lr_decay);
  if (o->kind == ISO__RADAM) radam_rate(o, t, bc2, problem, args);
  if (o->kind == ISO__NADAM) nadam_rates(o, t, product, args);
}

iso__optim_tensor iso__optimizer_tensor(const iso_optimizer *o, size_t i, const iso_tensor *grad) {
  const iso_tensor *p = o->parameters[i];
  void *state[ISO__N_OPTIM_STATES];
  for (int s = 0; s < ISO__N_OPTIM_STATES; s++) state[s] = o->state_of[s] ? iso__data(o->state_of[s][i]) : NULL;
  return (iso__optim_tensor){.p = iso__data(p),
                             .g = iso__data(grad),
                             .m = state[ISO__OPTIM_M],
                             .v = state[ISO__OPTIM_V],
                             .u = state[ISO__OPTIM_U],
                             .n = iso__view_numel(&p->view)};
}

iso_status iso__optimizer_update(iso_optimizer *o, size_t i, const iso_tensor *grad, int64_t t) {
  const iso__optim_tensor own = iso__optimizer_tensor(o, i, grad);
  double *products = iso__data(o->mu_products), product = products ? products[i] : 1;
  iso_optim_problem problem;
  iso_optim_args args;
  fill(o, t, o->parameters[i]->view.dtype, own.n, iso__optimizer_decay(o, i), &problem, &args, &product);
  args.p = own.p, args.g = own.g, args.m = own.m, args.v = own.v, args.u = own.u;
  const iso_status status = iso__execute(o->ctx, &problem.head, &args);
  if (products && status == ISO_OK) products[i] = product;
  return status;
}

iso_status iso__optimizer_update_list(iso_optimizer *o, size_t n, double weight_decay, int64_t t, double *product) {
  iso_optim_problem problem;
  iso_optim_args args;
  int64_t n_elements = 0;
  for (size_t i = 0; i < n; i++) n_elements += o->list[i].n;
  fill(o, t, ISO_F32, n_elements, weight_decay, &problem, &args, product);
  problem.n_tensors = (int64_t)n;
  args.list = o->list;
  return iso__execute(o->ctx, &problem.head, &args);
}
