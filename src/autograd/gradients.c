/* gradients.c: the gradients that a recorded backward left: taken from the leaves once, given back after each replay.
 */
#include "autograd/state.h"

#define EACH_LEAF(leaf, tape) for (iso__leaf *leaf = (tape)->leaves.next; leaf != &(tape)->leaves; leaf = leaf->next)

static size_t count(const iso_context *ctx) {
  size_t n = 0;
  EACH_LEAF(leaf, iso__tape_of(ctx)) n += leaf->grad != NULL;
  return n;
}

bool iso__gradients_are_there(const iso_context *ctx) { return count(ctx) > 0; }

bool iso__gradients_take(iso_context *ctx, iso__gradients *out) {
  *out = (iso__gradients){.n = count(ctx)};
  if (out->n && !(out->items = iso__alloc(ctx, out->n * sizeof *out->items))) return out->n = 0, false;
  size_t i = 0;
  EACH_LEAF(leaf, iso__tape_of(ctx)) {
    if (!leaf->grad) continue;
    out->items[i++] = (struct iso__leaf_gradient){.leaf = iso__var_retain(&leaf->head.base), .grad = leaf->grad};
    leaf->grad = NULL;
  }
  return true;
}

iso_status iso__gradients_give(iso_context *ctx, const iso__gradients *g) {
  for (size_t i = 0; i < g->n && !iso__failed(ctx); i++) {
    iso__leaf *leaf = (iso__leaf *)g->items[i].leaf;
    iso_tensor *grad = iso__own_alias(ctx, g->items[i].grad);
    if (!grad) break;
    iso__leaf_zero(leaf);
    leaf->grad = grad;
  }
  return ctx->error.code;
}

void iso__gradients_release(iso_context *ctx, iso__gradients *g) {
  for (size_t i = 0; i < g->n; i++) iso_release(g->items[i].grad), iso__var_release(g->items[i].leaf);
  iso__free(ctx, g->items, g->n * sizeof *g->items);
  *g = (iso__gradients){0};
}

bool iso__tape_is_clear(const iso_context *ctx) {
  const iso__tape *tape = iso__tape_of(ctx);
  return tape->n_nodes == 0 && !tape->step;
}

void iso__tape_abandon(iso_context *ctx) {
  iso__tape *tape = iso__tape_of(ctx);
  iso__step_free(tape);
  iso__tape_reset(tape);
  EACH_LEAF(leaf, tape) iso__leaf_zero(leaf);
}
