/* optimizer.h (internal): a list of parameters, their state, and the kind of step. */
#ifndef ISO_OPTIM_OPTIMIZER_H
#define ISO_OPTIM_OPTIMIZER_H
#include <isobit/nn.h>
#include "autograd/tape.h"
#include "kernels/optim/optim.h"

typedef enum iso__optimizer_kind {
  ISO__SGD,
  ISO__ADAM,
  ISO__RMSPROP,
  ISO__ADAGRAD,
  ISO__ADADELTA,
  ISO__ADAMAX,
  ISO__NADAM,
  ISO__RADAM
} iso__optimizer_kind;

/* What the kinds' public options say, with the defaults filled in; each kind reads some. */
typedef struct iso__hyper {
  double momentum, dampening, weight_decay;
  double beta1, beta2, eps;                 /* RMSprop's alpha and Adadelta's rho are beta2 */
  double lr_decay, initial, momentum_decay; /* Adagrad, Adagrad, NAdam */
  bool nesterov, decoupled, centered;
} iso__hyper;

struct iso_optimizer {
  iso_context *ctx;
  iso__optimizer_kind kind;
  iso__hyper hyper;
  double lr;
  size_t n;                     /* parameters */
  iso_tensor **parameters;      /* own handles, in no scope's care but the context's */
  const char **parameter_names; /* in front of their text: one block of n_parameter_names_bytes */
  size_t n_parameter_names_bytes;
  iso_tensor **state_of[ISO__N_OPTIM_STATES]; /* m, v, u of each; NULL lists: this kind has none */
  iso_tensor *steps;                          /* i64 (n): updates of each parameter so far */
  iso_tensor *mu_products;                    /* NADAM: f64 (n), the product of its momenta so far */
  iso__optim_tensor *list;                    /* room for n: those that are updated together */
  bool matrices_only;                         /* parameters of fewer than two axes are not decayed */
  bool shares;                                /* two parameters have storage in common: one after the other */
  iso_named_tensor *state;                    /* the list for checkpoints; names lie in `names` */
  size_t n_state;
  char *names;
  size_t n_names_bytes;
};

/* The weight decay of parameter i. */
double iso__optimizer_decay(const iso_optimizer *o, size_t i);
/* The problem of a step of n elements, but for what a step's number decides. */
void iso__optimizer_problem(const iso_optimizer *o, iso_dtype dtype, int64_t n, double weight_decay,
                            iso_optim_problem *problem);
/* Update number t (from 1) of parameter i. Called in the default floating-point environment. */
iso_status iso__optimizer_update(iso_optimizer *o, size_t i, const iso_tensor *grad, int64_t t);
/* Where parameter i, its gradient and its state lie. */
iso__optim_tensor iso__optimizer_tensor(const iso_optimizer *o, size_t i, const iso_tensor *grad);
/* The same for the first n of o->list, f32 on a device, which share decay, t and, NADAM's, *product. */
iso_status iso__optimizer_update_list(iso_optimizer *o, size_t n, double weight_decay, int64_t t, double *product);
/* `like` with its parameters and state; `op` names the constructor in errors. */
iso_optimizer *iso__optimizer_new(iso_context *ctx, const iso_optimizer *like, size_t n,
                                  const iso_named_tensor *tensors, const char *op);
#endif
