/* recompute.c: a gradient rule that records its operator's parts on a tape of their own and walks that. */
#include "autograd/state.h"

enum { MOST = 8 };

void iso__gradient_recomputed(iso__gradient *g, iso__recompute *f, int n, iso_tensor *const *inputs) {
  iso_context *ctx = g->ctx;
  iso__tape *outer = iso__tape_of(ctx);
  iso_tensor *grads[MOST] = {NULL};
  bool wanted[MOST];
  if (iso__failed(ctx)) return;
  for (int i = 0; i < n; i++) wanted[i] = iso__needs(g, i);
  if (iso__tape_attach(ctx, &outer->operators) != ISO_OK) {
    ctx->slot[ISO__SLOT_AUTOGRAD] = outer;
    return;
  }
  iso__tape *inner = iso__tape_of(ctx);
  inner->place = outer->place;
  iso_scope_push(ctx); /* the recomputed tensors' */
  for (int i = 0; i < n; i++)
    if (wanted[i]) iso_requires_grad(inputs[i], true);
  const iso_tensor *y = f(ctx, iso__attrs(g), (const iso_tensor *const *)inputs);
  const iso_tensor *targets[MOST];
  int n_targets = 0;
  for (int i = 0; i < n; i++)
    if (wanted[i]) targets[n_targets++] = inputs[i];
  if (y && n_targets) iso_grad_of(1, &y, (const iso_tensor *const[]){g->dy[0]}, n_targets, targets, NULL, grads);
  for (int i = 0; i < n_targets; i++) iso__own(grads[i]); /* they outlive the scope */
  iso_scope_pop(ctx);
  for (int i = 0; i < n; i++) /* leaves are a tape's own */
    if (wanted[i] && inputs[i]) iso__var_release(inputs[i]->var), inputs[i]->var = NULL;
  ctx->slot_free[ISO__SLOT_AUTOGRAD](ctx, inner);
  ctx->slot[ISO__SLOT_AUTOGRAD] = outer;
  for (int i = 0, k = 0; i < n; i++) {
    if (!wanted[i]) continue;
    if (grads[k]) iso__handle_enter(ctx, &grads[k]->handle);
    g->dx[i] = grads[k++];
  }
}
