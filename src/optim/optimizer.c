/* optimizer.c: the life of an optimiser: its parameters, its named state.
 *
 * State is made at once, zero-filled, and `steps` counts each parameter's updates: so a checkpoint is a list of
 * tensors, and a parameter that had no gradient at first starts its momentum later, after a resume too. */
#include "base/owner.h"
#include "optim/optimizer.h"
#include <stdio.h>
#include <string.h>

/* ---- life ---- */

static void free_tensors(iso_context *ctx, iso_tensor **list, size_t n) {
  for (size_t i = 0; list && i < n; i++) iso_release(list[i]);
  iso__free(ctx, list, n * sizeof(iso_tensor *));
}

void iso_optimizer_free(iso_optimizer *o) {
  if (!o) return;
  iso_context *ctx = o->ctx;
  free_tensors(ctx, o->parameters, o->n);
  iso__free(ctx, o->parameter_names, o->n_parameter_names_bytes);
  for (int s = 0; s < ISO__N_OPTIM_STATES; s++) free_tensors(ctx, o->state_of[s], o->n);
  iso_release(o->steps);
  iso_release(o->mu_products);
  iso__free(ctx, o->list, o->n * sizeof *o->list);
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
  const iso__owner before = iso__owner_enter(ISO__OWNER_OPTIMIZER);
  iso_tensor *t = iso__tensor_new_like(ctx, &p->view, p->view.dtype);
  iso__owner_leave(before);
  if (t) iso__device_of(ctx)->zero(iso__device_of(ctx), iso__view_data(&t->view), t->view.storage->n_bytes);
  return iso_keep(t);
}

static bool has_state(const iso_optimizer *o, int state) {
  iso_optim_problem problem;
  iso__optimizer_problem(o, ISO_F32, 0, o->hyper.weight_decay, &problem);
  return iso__optim_has(&problem, state);
}

static bool make_state(iso_optimizer *o, int state) {
  if (!(o->state_of[state] = iso__zalloc(o->ctx, o->n * sizeof(iso_tensor *)))) return false;
  for (size_t i = 0; i < o->n; i++) {
    iso_tensor *t = o->state_of[state][i] = zeros_like(o->ctx, o->parameters[i]);
    if (!t || (o->hyper.initial != 0 && iso_init_constant(t, o->hyper.initial) != ISO_OK)) return false;
  }
  return true;
}

static bool share_storage(const iso_optimizer *o) {
  for (size_t i = 0; i < o->n; i++)
    for (size_t k = 0; k < i; k++)
      if (o->parameters[i]->view.storage == o->parameters[k]->view.storage) return true;
  return false;
}

static bool name_parameters(iso_optimizer *o, size_t n, const iso_named_tensor *tensors) {
  size_t n_bytes = o->n * sizeof *o->parameter_names;
  for (size_t i = 0; i < n; i++)
    if (tensors[i].trainable) n_bytes += strlen(tensors[i].name ? tensors[i].name : "") + 1;
  if (!(o->parameter_names = iso__alloc(o->ctx, n_bytes))) return false;
  o->n_parameter_names_bytes = n_bytes;
  char *text = (char *)(o->parameter_names + o->n);
  for (size_t i = 0, k = 0; i < n; i++) {
    if (!tensors[i].trainable) continue;
    o->parameter_names[k++] = strcpy(text, tensors[i].name ? tensors[i].name : "");
    text += strlen(text) + 1;
  }
  return true;
}

static bool make_tensors(iso_optimizer *o, size_t n, const iso_named_tensor *tensors) {
  iso_context *ctx = o->ctx;
  const int64_t count[] = {(int64_t)o->n};
  if (!(o->parameters = iso__zalloc(ctx, o->n * sizeof(iso_tensor *)))) return false;
  if (!(o->list = iso__zalloc(ctx, o->n * sizeof *o->list))) return false;
  for (size_t i = 0, k = 0; i < n; i++)
    if (tensors[i].trainable && !(o->parameters[k++] = iso_keep(iso_tensor_alias(ctx, tensors[i].tensor))))
      return false;
  o->shares = share_storage(o);
  for (int s = 0; s < ISO__N_OPTIM_STATES; s++)
    if (has_state(o, s) && !make_state(o, s)) return false;
  const iso__device *device = iso__host_enter(ctx); /* counts and products are the host's */
  o->steps = iso_keep(iso_tensor_zeros(ctx, ISO_I64, 1, count));
  if (o->kind == ISO__NADAM) o->mu_products = iso_keep(iso_tensor_full(ctx, ISO_F64, 1, count, 1));
  iso__host_leave(ctx, device);
  return o->steps && (o->mu_products || o->kind != ISO__NADAM);
}

/* ---- names ---- */

/* Writes (or, with list NULL, counts) NAME.suffix for each tensor of `from`. */
static void name_state(iso_optimizer *o, size_t n, const iso_named_tensor *tensors, iso_tensor *const *from,
                       const char *suffix, iso_named_tensor *list, size_t *n_list, size_t *n_bytes) {
  for (size_t i = 0, k = 0; i < n; i++) {
    if (!tensors[i].trainable) continue;
    iso_tensor *t = from[k++];
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

/* "momentum" is what users of SGD and RMSprop call it. */
static const char *suffix_of(const iso_optimizer *o, int state) {
  if (state == ISO__OPTIM_V) return o->kind == ISO__SGD ? "momentum" : "v";
  return state == ISO__OPTIM_M ? "m" : o->kind == ISO__RMSPROP ? "momentum" : "u";
}

static bool make_state_list(iso_optimizer *o, size_t n, const iso_named_tensor *tensors) {
  for (int pass = 0; pass < 2; pass++) {
    size_t n_list = 0, n_bytes = 0;
    for (int s = 0; s < ISO__N_OPTIM_STATES; s++)
      if (o->state_of[s]) name_state(o, n, tensors, o->state_of[s], suffix_of(o, s), o->state, &n_list, &n_bytes);
    if (pass == 1) {
      if (o->mu_products) o->state[n_list++] = (iso_named_tensor){.name = "mu_products", .tensor = o->mu_products};
      o->state[n_list] = (iso_named_tensor){.name = "steps", .tensor = o->steps};
      return true;
    }
    if (!(o->names = iso__alloc(o->ctx, n_bytes))) return false;
    o->n_names_bytes = n_bytes;
    o->n_state = n_list + 1 + (o->mu_products != NULL);
    if (!(o->state = iso__zalloc(o->ctx, o->n_state * sizeof *o->state))) return o->n_state = 0, false;
  }
  return false;
}

iso_optimizer *iso__optimizer_new(iso_context *ctx, const iso_optimizer *like, size_t n,
                                  const iso_named_tensor *tensors, const char *op) {
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
  if (name_parameters(o, n, tensors) && make_tensors(o, n, tensors) && make_state_list(o, n, tensors)) return o;
  iso_optimizer_free(o);
  return NULL;
}

/* ---- what all have ---- */

const char *iso_optimizer_name(const iso_optimizer *o) {
  static const char *const names[] = {"sgd", "adam", "rmsprop", "adagrad", "adadelta", "adamax", "nadam", "radam"};
  return !o ? "" : o->kind == ISO__ADAM && o->hyper.decoupled ? "adamw" : names[o->kind];
}
double iso_optimizer_lr(const iso_optimizer *o) { return o ? o->lr : 0; }
void iso_optimizer_set_lr(iso_optimizer *o, double lr) {
  if (o) o->lr = lr;
}
void iso_optimizer_decay_matrices_only(iso_optimizer *o, bool matrices_only) {
  if (o) o->matrices_only = matrices_only;
}
const iso_named_tensor *iso_optimizer_state(iso_optimizer *o, size_t *n) {
  *n = o ? o->n_state : 0;
  return o ? o->state : NULL;
}
void iso_optimizer_zero_grad(iso_optimizer *o) {
  for (size_t i = 0; o && i < o->n; i++) iso_grad_zero(o->parameters[i]);
}
