/* autocast.c: casting an operator's operands, and back. */
#include "ops/autocast.h"
#include "ops/ops.h"
#include "ops/shape/view.h"

static bool is_castable(const iso_tensor *t) { return t->view.dtype == ISO_F32 || iso__is_half(t->view.dtype); }

/* Whether operands are to be cast, and to what. */
static bool target_of(iso_context *ctx, const char *op, int n, const iso_tensor *const *t, iso_dtype *dtype) {
  const iso__autocast *a = iso__autocast_of(ctx);
  const iso_autocast_kind kind = iso__autocast_kind(a, op);
  const iso_tensor *first = NULL;
  bool differ = false;
  if (kind == ISO_AUTOCAST_AS_IS || iso__failed(ctx)) return false;
  for (int i = 0; i < n; i++) {
    if (!t[i]) continue;
    if (t[i]->view.dtype == ISO_F64 || !iso__takes(ctx, op, 1, &t[i])) return false;
    if (!is_castable(t[i])) continue;
    if (!first) first = t[i];
    differ |= t[i]->view.dtype != first->view.dtype;
  }
  *dtype = kind == ISO_AUTOCAST_LOW ? a->scope->dtype : ISO_F32;
  return kind == ISO_AUTOCAST_WIDEST ? differ : first != NULL;
}

/* A handle for the kept cast of t, recorded as a cast of its own: gradients of several uses add up in t's dtype. */
static iso_tensor *low_of(iso_context *ctx, const iso_tensor *t, iso_dtype dtype) {
  const iso_tensor *kept = iso__autocast_find(ctx, t);
  if (!kept) {
    iso_tensor *low = iso__cast_in_order(ctx, t, dtype);
    return low && !iso__autocast_keep(ctx, t, low) ? iso__drop(NULL, low) : low;
  }
  iso_tensor *low = iso__tensor_from_view(ctx, &kept->view);
  return low ? iso__copy_finish(ctx, t, low) : NULL;
}

/* NULL: t stays as it is, or an error is kept. */
static iso_tensor *cast(iso_context *ctx, const iso_tensor *t, iso_dtype dtype) {
  if (!t || !is_castable(t) || t->view.dtype == dtype || iso__failed(ctx)) return NULL;
  return dtype == ISO_F32 ? iso__cast_in_order(ctx, t, dtype) : low_of(ctx, t, dtype);
}

static void cast_all(iso_context *ctx, int n, const iso_tensor **const *operands, iso_dtype dtype, iso__casts *c) {
  *c = (iso__casts){.n = n};
  for (int i = 0; i < n; i++)
    if ((c->made[i] = cast(ctx, *operands[i], dtype))) *operands[i] = c->made[i];
}

bool iso__autocast_enter(iso_context *ctx, const char *op, int n, const iso_tensor **const *operands, iso__casts *c) {
  const iso_tensor *t[ISO__MOST_CASTS] = {NULL};
  iso_dtype dtype;
  for (int i = 0; i < n; i++) t[i] = *operands[i];
  if (!target_of(ctx, op, n, t, &dtype)) return false;
  cast_all(ctx, n, operands, dtype, c);
  iso__autocast_off(ctx);
  return true;
}
iso_tensor *iso__autocast_leave(iso_context *ctx, iso__casts *c, iso_tensor *result) {
  iso__autocast_on(ctx);
  for (int i = 0; i < c->n; i++) iso_release(c->made[i]);
  return result;
}

bool iso__halves_enter(iso_context *ctx, int n, const iso_tensor **const *operands, iso__casts *c) {
  const iso_tensor *first = *operands[0];
  if (iso__failed(ctx) || !first || !iso__is_half(first->view.dtype) || !iso__takes(ctx, "cast", 1, &first))
    return false;
  iso__autocast_off(ctx);
  cast_all(ctx, n, operands, ISO_F32, c);
  c->dtype = first->view.dtype;
  return true;
}
iso_tensor *iso__halves_leave(iso_context *ctx, iso__casts *c, iso_tensor *result) {
  iso_tensor *narrow = result ? iso__drop(iso__cast_in_order(ctx, result, c->dtype), result) : NULL;
  return iso__autocast_leave(ctx, c, narrow);
}

bool iso__autocast_enter_list(iso_context *ctx, const char *op, int n, const iso_tensor *const *operands,
                              iso__cast_list *c) {
  iso_dtype dtype;
  if (n < 1 || !operands || !target_of(ctx, op, n, operands, &dtype)) return false;
  iso_tensor **block = iso__zalloc(ctx, 2 * (size_t)n * sizeof *block);
  if (!block) return false;
  *c = (iso__cast_list){.n = n, .made = block, .operands = (const iso_tensor **)(void *)(block + n)};
  for (int i = 0; i < n; i++) {
    c->made[i] = cast(ctx, operands[i], dtype);
    c->operands[i] = c->made[i] ? c->made[i] : operands[i];
  }
  iso__autocast_off(ctx);
  return true;
}
iso_tensor *iso__autocast_leave_list(iso_context *ctx, iso__cast_list *c, iso_tensor *result) {
  iso__autocast_on(ctx);
  for (int i = 0; i < c->n; i++) iso_release(c->made[i]);
  iso__free(ctx, c->made, 2 * (size_t)c->n * sizeof *c->made);
  return result;
}
