/* optimizer.c: the life of an optimiser: its parameters, its named state.
 *
 * State is made at once, zero-filled, and `steps` counts each parameter's updates: so a checkpoint is a list of
 * tensors, and a parameter that had no gradient at first starts its momentum later, after a resume too. */
#include "optim/optimizer.h"
#include <stdio.h>
#include "base/fenv.h"

/* ---- life ---- */

static void free_tensors(iso_context *ctx, iso_tensor **list, size_t n) {
  for (size_t i = 0; list && i < n; i++) iso_release(list[i]);
  iso__free(ctx, list, n * sizeof(iso_tensor *));
}

void iso_optimizer_free(iso_optimizer *o) {
  if (!o) return;
  iso_context *ctx = o->ctx;
  free_tensors(ctx, o->parameters, o->n);
  free_tensors(ctx, o->first, o->n);
  free_tensors(ctx, o->second, o->n);
  iso_release(o->steps);
  iso__free(ctx, o->state, o->n_state * sizeof *o->state);
  iso__free(ctx, o->names, o->n_names_bytes);
  iso__free(ctx, o, sizeof *o);
}

/* The kernels walk parameter, gradient and state in one memory order. */
static bool check_parameter(iso_context *ctx, const char *op, const iso_named_tensor *t) {
  const iso_tensor *p = t->tensor;
  if (p && iso_dtype_is_float(p->view.dtype) && iso_wants_grad(p) &&
      (iso__view_is_contiguous(&p->view) || iso__view_is_channels_last(&p->view)))
    return true;
  char text[160] = "";
  if (p) iso_tensor_format(p, text, sizeof text);
  ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "'%s' (%s) is no dense floating-point leaf that wants a gradient",
            t->name ? t->name : "", text);
  return false;
}

static iso_tensor *zeros_like(iso_context *ctx, const iso_tensor *p) {
  iso_tensor *t = iso__tensor_new_like(ctx, &p->view, p->view.dtype);
  if (t) memset(iso__view_data(&t->view), 0, t->view.storage->n_bytes);
  return iso_keep(t);
}

static bool make_tensors(iso_optimizer *o, size_t n, const iso_named_tensor *tensors, bool first, bool second) {
  iso_context *ctx = o->ctx;
  const size_t n_bytes = o->n * sizeof(iso_tensor *);
  o->parameters = iso__zalloc(ctx, n_bytes);
  o->first = o->parameters ? iso__zalloc(ctx, n_bytes) : NULL;
  o->second = o->first ? iso__zalloc(ctx, n_bytes) : NULL;
  if (!o->second) return false;
  for (size_t i = 0, k = 0; i < n; i++) {
    if (!tensors[i].trainable) continue;
    iso_tensor *p = o->parameters[k] = iso_keep(iso_tensor_alias(ctx, tensors[i].tensor));
    if (!p || (first && !(o->first[k] = zeros_like(ctx, p))) || (second && !(o->second[k] = zeros_like(ctx, p))))
      return false;
    k++;
  }
  o->steps = iso_keep(iso_tensor_zeros(ctx, ISO_I64, 1, (const int64_t[]){(int64_t)o->n}));
  return o->steps != NULL;
}

/* ---- names ---- */

/* Writes (or, with list NULL, counts) NAME.suffix for each tensor of `from`. */
static void name_state(iso_optimizer *o, size_t n, const iso_named_tensor *tensors, iso_tensor *const *from,
                       const char *suffix, iso_named_tensor *list, size_t *n_list, size_t *n_bytes) {
  for (size_t i = 0, k = 0; i < n; i++) {
    if (!tensors[i].trainable) continue;
    iso_tensor *t = from[k++];
    if (!t) continue;
    const int length = snprintf(NULL, 0, "%s.%s", tensors[i].name, suffix);
    if (list) {
      char *name = o->names + *n_bytes;
      snprintf(name, (size_t)length + 1, "%s.%s", tensors[i].name, suffix);
      list[*n_list] = (iso_named_tensor){.name = name, .tensor = t};
    }
    ++*n_list;
    *n_bytes += (size_t)length + 1;
  }
}

static bool make_state_list(iso_optimizer *o, size_t n, const iso_named_tensor *tensors) {
  const bool adam = o->kind == ISO__ADAM;
  for (int pass = 0; pass < 2; pass++) {
    size_t n_list = 0, n_bytes = 0;
    name_state(o, n, tensors, o->first, adam ? "m" : "momentum", o->state, &n_list, &n_bytes);
    name_state(o, n, tensors, o->second, "v", o->state, &n_list, &n_bytes);
    if (pass == 1) {
      o->state[n_list] = (iso_named_tensor){.name = "steps", .tensor = o->steps};
      return true;
    }
    if (!(o->names = iso__alloc(o->ctx, n_bytes))) return false;
    o->n_names_bytes = n_bytes;
    if (!(o->state = iso__zalloc(o->ctx, (n_list + 1) * sizeof *o->state))) return false;
    o->n_state = n_list + 1;
  }
  return false;
}

static iso_optimizer *optimizer_new(iso_context *ctx, const iso_optimizer *like, size_t n,
                                    const iso_named_tensor *tensors, const char *op, bool first, bool second) {
  size_t n_trainable = 0;
  for (size_t i = 0; i < n; i++) {
    if (!tensors[i].trainable) continue;
    if (!check_parameter(ctx, op, &tensors[i])) return NULL;
    n_trainable++;
  }
  iso_optimizer *o = iso__alloc(ctx, sizeof *o);
  if (!o) return NULL;
  *o = *like;
  o->ctx = ctx;
  o->n = n_trainable;
  if (make_tensors(o, n, tensors, first, second) && make_state_list(o, n, tensors)) return o;
  iso_optimizer_free(o);
  return NULL;
}

/* ---- the kinds ---- */

static const double default_lr = 1e-3;

iso_optimizer *iso_sgd_new(iso_context *ctx, size_t n, const iso_named_tensor *tensors,
                           const iso_sgd_options *options) {
  if (iso__failed(ctx)) return NULL;
  iso_optimizer o = {.kind = ISO__SGD, .lr = default_lr};
  if (options) o.sgd = *options;
  if (o.sgd.lr != 0) o.lr = o.sgd.lr;
  if (!(o.lr >= 0 && o.sgd.momentum >= 0 && o.sgd.weight_decay >= 0) ||
      (o.sgd.nesterov && (o.sgd.momentum == 0 || o.sgd.dampening != 0))) {
    ISO__FAIL(
        ctx, ISO_INVALID_ARGUMENT, "iso_sgd_new",
        "lr %g, momentum %g, dampening %g, weight decay %g%s: none is negative, and Nesterov needs momentum without "
        "dampening",
        o.lr, o.sgd.momentum, o.sgd.dampening, o.sgd.weight_decay, o.sgd.nesterov ? ", Nesterov" : "");
    return NULL;
  }
  return optimizer_new(ctx, &o, n, tensors, "iso_sgd_new", o.sgd.momentum != 0, false);
}

static double or_else(double x, double usual) { return x != 0 ? x : usual; }

iso_optimizer *iso_adam_new(iso_context *ctx, size_t n, const iso_named_tensor *tensors,
                            const iso_adam_options *options) {
  if (iso__failed(ctx)) return NULL;
  iso_optimizer o = {.kind = ISO__ADAM};
  if (options) o.adam = *options;
  iso_adam_options *a = &o.adam;
  o.lr = or_else(a->lr, default_lr);
  a->beta1 = or_else(a->beta1, 0.9), a->beta2 = or_else(a->beta2, 0.999), a->eps = or_else(a->eps, 1e-8);
  if (!(o.lr >= 0 && a->beta1 >= 0 && a->beta1 < 1 && a->beta2 >= 0 && a->beta2 < 1 && a->eps >= 0 &&
        a->weight_decay >= 0)) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "iso_adam_new",
              "lr %g, betas %g and %g, eps %g, weight decay %g: betas lie in [0,1), none is negative", o.lr, a->beta1,
              a->beta2, a->eps, a->weight_decay);
    return NULL;
  }
  return optimizer_new(ctx, &o, n, tensors, "iso_adam_new", true, true);
}

const char *iso_optimizer_name(const iso_optimizer *o) {
  if (!o) return "";
  return o->kind == ISO__SGD ? "sgd" : o->adam.decoupled ? "adamw" : "adam";
}
double iso_optimizer_lr(const iso_optimizer *o) { return o ? o->lr : 0; }
void iso_optimizer_set_lr(iso_optimizer *o, double lr) {
  if (o) o->lr = lr;
}
const iso_named_tensor *iso_optimizer_state(iso_optimizer *o, size_t *n) {
  *n = o ? o->n_state : 0;
  return o ? o->state : NULL;
}
void iso_optimizer_zero_grad(iso_optimizer *o) {
  for (size_t i = 0; o && i < o->n; i++) iso_grad_zero(o->parameters[i]);
}
