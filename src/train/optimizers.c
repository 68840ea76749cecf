/* optimizers.c: the optimisers by name, with the learning rates that training uses where none is asked for. */
#include <string.h>
#include "train/trainer.h"

typedef iso_optimizer *open_fn(iso_context *ctx, size_t n, const iso_named_tensor *tensors, const iso__recipe *o);

static iso_optimizer *open_sgd(iso_context *ctx, size_t n, const iso_named_tensor *tensors, const iso__recipe *o) {
  return iso_sgd_new(
      ctx, n, tensors,
      &(iso_sgd_options){
          .lr = o->lr, .momentum = o->momentum, .weight_decay = o->weight_decay, .nesterov = o->nesterov});
}
static iso_optimizer *open_adam(iso_context *ctx, size_t n, const iso_named_tensor *tensors, const iso__recipe *o) {
  return iso_adam_new(ctx, n, tensors, &(iso_adam_options){.lr = o->lr, .weight_decay = o->weight_decay});
}
static iso_optimizer *open_adamw(iso_context *ctx, size_t n, const iso_named_tensor *tensors, const iso__recipe *o) {
  return iso_adam_new(ctx, n, tensors,
                      &(iso_adam_options){.lr = o->lr, .weight_decay = o->weight_decay, .decoupled = true});
}
static iso_optimizer *open_radam(iso_context *ctx, size_t n, const iso_named_tensor *tensors, const iso__recipe *o) {
  return iso_radam_new(ctx, n, tensors, &(iso_adam_options){.lr = o->lr, .weight_decay = o->weight_decay});
}
static iso_optimizer *open_adamax(iso_context *ctx, size_t n, const iso_named_tensor *tensors, const iso__recipe *o) {
  return iso_adamax_new(ctx, n, tensors, &(iso_adam_options){.lr = o->lr, .weight_decay = o->weight_decay});
}
static iso_optimizer *open_nadam(iso_context *ctx, size_t n, const iso_named_tensor *tensors, const iso__recipe *o) {
  return iso_nadam_new(ctx, n, tensors, &(iso_nadam_options){.lr = o->lr, .weight_decay = o->weight_decay});
}
static iso_optimizer *open_rmsprop(iso_context *ctx, size_t n, const iso_named_tensor *tensors, const iso__recipe *o) {
  return iso_rmsprop_new(ctx, n, tensors, &(iso_rmsprop_options){.lr = o->lr, .weight_decay = o->weight_decay});
}
static iso_optimizer *open_adagrad(iso_context *ctx, size_t n, const iso_named_tensor *tensors, const iso__recipe *o) {
  return iso_adagrad_new(ctx, n, tensors, &(iso_adagrad_options){.lr = o->lr, .weight_decay = o->weight_decay});
}
static iso_optimizer *open_adadelta(iso_context *ctx, size_t n, const iso_named_tensor *tensors, const iso__recipe *o) {
  return iso_adadelta_new(ctx, n, tensors, &(iso_adadelta_options){.lr = o->lr, .weight_decay = o->weight_decay});
}

static const struct {
  const char *name;
  double usual_lr;
  open_fn *open;
} optimizers[] = {{"sgd", 0.05, open_sgd},         {"adam", 1e-3, open_adam},       {"adamw", 1e-3, open_adamw},
                  {"rmsprop", 1e-2, open_rmsprop}, {"adagrad", 1e-2, open_adagrad}, {"adadelta", 1, open_adadelta},
                  {"adamax", 2e-3, open_adamax},   {"nadam", 2e-3, open_nadam},     {"radam", 1e-3, open_radam}};
enum { N_OPTIMIZERS = sizeof optimizers / sizeof *optimizers };

static int find(const char *name) {
  for (int i = 0; i < N_OPTIMIZERS; i++)
    if (!strcmp(name, optimizers[i].name)) return i;
  return -1;
}

double iso__usual_lr(const char *optimizer) {
  const int at = find(optimizer);
  return at < 0 ? 1e-3 : optimizers[at].usual_lr;
}

iso_optimizer *iso__optimizer_by_name(iso_context *ctx, size_t n, const iso_named_tensor *tensors,
                                      const iso__recipe *o) {
  const int at = find(o->optimizer);
  if (at >= 0) return optimizers[at].open(ctx, n, tensors, o);
  ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "train",
            "optimizer is '%s'; there are sgd, adam, adamw, rmsprop, adagrad, adadelta, adamax, nadam, radam",
            o->optimizer);
  return NULL;
}
