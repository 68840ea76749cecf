/* classes.c: integer classes as targets: their check, their weights, and the elements of x that they pick.
 *
 * Picking and its adjoint, placing, are recorded and are each other's gradient. An ignored target is the number of
 * classes: it picks +0 and places nothing. */
#include "base/fenv.h"
#include "ops/loss/loss.h"

static iso__class_form form_of(const iso__view *x) {
  const int axis = x->n_dims > 1;
  iso__class_form f = {.n = axis ? x->shape[0] : 1, .classes = x->shape[axis], .inner = 1, .axis = axis};
  for (int d = axis + 1; d < x->n_dims; d++) f.inner *= x->shape[d];
  return f;
}

bool iso__class_form_of(iso_context *ctx, const char *op, const iso_tensor *x, const iso_tensor *target,
                        iso__class_form *form) {
  const iso__view *v = &x->view, *t = &target->view;
  char tx[128], tt[128];
  const int axis = v->n_dims > 1;
  bool fits = v->n_dims >= 1 && t->n_dims == v->n_dims - 1;
  for (int d = 0; fits && d < t->n_dims; d++) fits = t->shape[d] == v->shape[d < axis ? d : d + 1];
  if (t->dtype != ISO_I64) {
    ISO__FAIL(ctx, ISO_DTYPE_MISMATCH, op, "target is %s: i64 is needed", iso_dtype_name(t->dtype));
    return false;
  }
  if (!fits) {
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op,
              "x is %s and target %s: (N,classes,…) and (N,…), or (classes) and (), are needed",
              iso__shape_text(v->n_dims, v->shape, tx, sizeof tx), iso__shape_text(t->n_dims, t->shape, tt, sizeof tt));
    return false;
  }
  *form = form_of(v);
  return true;
}

/* A copy of the targets in which those that are ignored are `classes`; NULL with the error kept. */
static iso_tensor *checked_targets(iso_context *ctx, const iso_tensor *target, const iso__index_check *check) {
  iso_tensor *t = iso_tensor_new(ctx, ISO_I64, target->view.n_dims, target->view.shape);
  if (!t) return NULL;
  iso__view_copy(ctx, &t->view, &target->view);
  int64_t *value = iso__data(t);
  const int64_t n = iso__view_numel(&t->view);
  for (int64_t i = 0; i < n; i++) {
    if (check->ignores && value[i] == check->ignored) {
      value[i] = check->extent;
    } else if (value[i] < 0 || value[i] >= check->extent) {
      iso__index_fail(ctx, check, i, value[i]);
      return iso__drop(NULL, t);
    }
  }
  return t;
}

iso_tensor *iso__class_targets(iso_context *ctx, const char *op, const iso_tensor *target, int64_t classes,
                               const int64_t *ignored) {
  if (!ignored && iso__storage_indexes(target->view.storage, classes)) return iso_contiguous(ctx, target);
  iso__index_check check = {.op = op,
                            .name = "target",
                            .is_class = true,
                            .ignores = ignored != NULL,
                            .ignored = ignored ? *ignored : 0,
                            .extent = classes,
                            .n_dims = target->view.n_dims};
  memcpy(check.shape, target->view.shape, sizeof check.shape[0] * (size_t)check.n_dims);
  return iso__is_on_cpu(ctx) ? checked_targets(ctx, target, &check) : iso__indices_on_device(ctx, target, &check);
}

/* w[i] = factor·from[t[i]], or factor; 0 for the class that is ignored. Not inlined: in the environment it is called
 * in. */
#define WEIGH(real)                                                                                                    \
  {                                                                                                                    \
    const real f = (real)factor;                                                                                       \
    for (int64_t i = 0; i < n; i++) ((real *)w)[i] = t[i] == classes ? 0 : from ? f * ((const real *)from)[t[i]] : f;  \
  }
static __attribute__((noinline)) void weigh(void *w, iso_dtype dtype, const void *from, const int64_t *t, int64_t n,
                                            int64_t classes, double factor) {
  if (dtype == ISO_F64) WEIGH(double) else WEIGH(float)
}
#undef WEIGH

iso_tensor *iso__class_weights(iso_context *ctx, const iso_tensor *targets, const iso_tensor *weights, iso_dtype dtype,
                               int64_t classes, double factor) {
  if (!iso__needs_cpu(ctx, "cross_entropy", "what takes weights, ignored classes or smoothed labels")) return NULL;
  iso_tensor *w = targets ? iso_tensor_new(ctx, dtype, targets->view.n_dims, targets->view.shape) : NULL;
  iso_tensor *copy = w && weights ? iso__contiguous_copy(ctx, weights) : NULL;
  if (!w || iso__failed(ctx)) return NULL;
  const iso__fenv saved = iso__fenv_enter();
  weigh(iso__data(w), dtype, iso__data(copy ? copy : weights), iso__data(targets), iso__view_numel(&w->view), classes,
        factor);
  iso__fenv_leave(saved);
  return iso__drop(w, copy);
}

/* Between x (N, classes, inner) and y (N, inner): the element of each target's class, to y if `picks`, else from y. */
static void copy_elements(const iso__class_form *f, const int64_t *t, size_t size, char *x, char *y, bool picks) {
  for (int64_t n = 0; n < f->n; n++)
    for (int64_t i = 0; i < f->inner; i++) {
      const int64_t q = n * f->inner + i;
      if (t[q] == f->classes) continue;
      char *in_x = x + (size_t)((n * f->classes + t[q]) * f->inner + i) * size, *in_y = y + (size_t)q * size;
      if (picks) memcpy(in_y, in_x, size);
      else memcpy(in_x, in_y, size);
    }
}

iso_tensor *iso__class_pick(iso_context *ctx, const iso_tensor *x, const iso_tensor *targets) {
  if (!iso__takes(ctx, "class_pick", 2, ISO__TENSORS(x, targets))) return NULL;
  iso_tensor *copy = iso__contiguous_copy(ctx, x);
  if (copy) x = copy;
  iso_tensor *y = iso_tensor_zeros(ctx, x->view.dtype, targets->view.n_dims, targets->view.shape);
  const iso__class_form f = form_of(&x->view);
  if (y) copy_elements(&f, iso__data(targets), iso_dtype_size(x->view.dtype), iso__data(x), iso__data(y), true);
  y = iso__finish(
      ctx, y, iso__failed(ctx) ? ISO_OUT_OF_MEMORY : ISO_OK, ISO__RULE_CLASS_PICK,
      &(iso__finish_options){.inputs = ISO__TENSORS(x), .n_inputs = 1, .saved = ISO__TENSORS(targets), .n_saved = 1});
  return iso__drop(y, copy);
}

/* Zeros in x's form with dy at the targets. */
static iso_tensor *place(iso_context *ctx, const iso_tensor *dy, const iso_tensor *targets, const iso__view *x) {
  if (!iso__takes(ctx, "class_place", 2, ISO__TENSORS(dy, targets))) return NULL;
  iso_tensor *copy = iso__contiguous_copy(ctx, dy);
  if (copy) dy = copy;
  iso_tensor *y = iso_tensor_zeros(ctx, x->dtype, x->n_dims, x->shape);
  const iso__class_form f = form_of(x);
  if (y) copy_elements(&f, iso__data(targets), iso_dtype_size(x->dtype), iso__data(y), iso__data(dy), false);
  y = iso__finish(
      ctx, y, iso__failed(ctx) ? ISO_OUT_OF_MEMORY : ISO_OK, ISO__RULE_CLASS_PLACE,
      &(iso__finish_options){.inputs = ISO__TENSORS(dy), .n_inputs = 1, .saved = ISO__TENSORS(targets), .n_saved = 1});
  return iso__drop(y, copy);
}
void iso__class_pick_gradient(iso__gradient *g) {
  g->dx[0] = place(g->ctx, g->dy[0], iso__saved(g, 0), iso__input_view(g, 0));
}
void iso__class_place_gradient(iso__gradient *g) { g->dx[0] = iso__class_pick(g->ctx, g->dy[0], iso__saved(g, 0)); }

iso_tensor *iso__class_one_hot(iso_context *ctx, const iso_tensor *x, const iso_tensor *targets) {
  iso_no_grad_push(ctx);
  iso_tensor *one = targets ? iso_tensor_full(ctx, x->view.dtype, targets->view.n_dims, targets->view.shape, 1) : NULL;
  iso_tensor *hot = one ? iso__drop(place(ctx, one, targets, &x->view), one) : NULL;
  iso_no_grad_pop(ctx);
  return hot;
}
