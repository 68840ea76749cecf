/* optimizer.h (internal): a list of parameters, their state, and the kind of step. */
#ifndef ISO_OPTIM_OPTIMIZER_H
#define ISO_OPTIM_OPTIMIZER_H
#include <isobit/nn.h>
#include "autograd/tape.h"
#include "kernels/optim/optim.h"

typedef enum iso__optimizer_kind { ISO__SGD, ISO__ADAM } iso__optimizer_kind;

struct iso_optimizer {
  iso_context *ctx;
  iso__optimizer_kind kind;
  iso_sgd_options sgd;
  iso_adam_options adam;
  double lr;
  size_t n;                /* parameters */
  iso_tensor **parameters; /* own handles, in no scope's care but the context's */
  iso_tensor **first;      /* momentum, or m; NULL entries: SGD without momentum */
  iso_tensor **second;     /* ADAM: v */
  iso_tensor *steps;       /* i64 (n): updates of each parameter so far */
  iso_named_tensor *state; /* the list for checkpoints; names lie in `names` */
  size_t n_state;
  char *names;
  size_t n_names_bytes;
};
#endif
