/* leaf.c: tensors that want a gradient: making them, their gradients, hooks, detaching. */
#include "autograd/state.h"
#include <string.h>

static void leaf_destroy(iso__var *var) {
  iso__leaf *leaf = (iso__leaf *)var;
  leaf->prev->next = leaf->next;
  leaf->next->prev = leaf->prev;
  iso_release(leaf->grad);
  iso_release(leaf->pending);
  iso__hooks_free(leaf->head.ctx, leaf->hooks);
  iso__free(leaf->head.ctx, leaf, sizeof *leaf);
}

static iso__leaf *leaf_new(iso_tensor *t) {
  iso__leaf *leaf = iso__zalloc(t->ctx, sizeof *leaf);
  if (!leaf) return NULL;
  leaf->head = (iso__variable){.base = {.n_refs = 1, .destroy = leaf_destroy}, .ctx = t->ctx, .is_leaf = true};
  leaf->like = t->view;
  leaf->like.storage = NULL;
  leaf->like.offset = 0;
  if (!iso__view_is_channels_last(&t->view))
    iso__strides_contiguous(leaf->like.n_dims, leaf->like.shape, leaf->like.strides);
  iso__leaf *list = &iso__tape_of(t->ctx)->leaves;
  leaf->prev = list->prev;
  leaf->next = list;
  list->prev->next = leaf;
  list->prev = leaf;
  return leaf;
}

iso_tensor *iso_requires_grad(iso_tensor *t, bool on) {
  if (!t || iso__failed(t->ctx)) return NULL;
  if (!on && iso__result_of(t)) {
    ISO__FAIL(t->ctx, ISO_STATE, "iso_requires_grad",
              "the tensor is the result of a recorded operator: use iso_detach");
    return NULL;
  }
  if (!on) {
    iso__var_release(t->var);
    t->var = NULL;
    return t;
  }
  if (!iso_dtype_is_float(t->view.dtype)) {
    ISO__FAIL(t->ctx, ISO_DTYPE_MISMATCH, "iso_requires_grad", "%s has no gradient: only floating point has",
              iso_dtype_name(t->view.dtype));
    return NULL;
  }
  if (t->var) return t;
  iso__leaf *leaf = leaf_new(t);
  if (!leaf) return NULL;
  t->var = &leaf->head.base;
  return t;
}

bool iso_wants_grad(const iso_tensor *t) { return t && t->var; }

const iso_tensor *iso__leaf_gradient(const iso_tensor *t) {
  const iso__leaf *leaf = iso__leaf_of(t);
  return leaf ? leaf->grad : NULL;
}

bool iso__leaf_gradient_is_valid(const iso_tensor *t) {
  const iso__leaf *leaf = iso__leaf_of(t);
  return !leaf || !leaf->invalid;
}

iso_tensor *iso_grad(const iso_tensor *t) {
  const iso_tensor *grad = iso__leaf_gradient(t);
  return grad && !iso__failed(t->ctx) ? iso_tensor_alias(t->ctx, grad) : NULL;
}

void iso__leaf_zero(iso__leaf *leaf) {
  iso_release(leaf->grad);
  leaf->grad = NULL;
  leaf->invalid = false;
}

iso_status iso_grad_zero(iso_tensor *t) { return iso_grad_set(t, NULL); }

iso_status iso_grad_set(iso_tensor *t, const iso_tensor *grad) {
  if (!t) return ISO_INVALID_ARGUMENT;
  iso__leaf *leaf = iso__leaf_of(t);
  if (!grad) { /* zeroing is what follows an error, so it works in a failed context */
    if (leaf) iso__leaf_zero(leaf);
    return ISO_OK;
  }
  if (iso__failed(t->ctx)) return t->ctx->error.code;
  if (!leaf) return ISO__FAIL(t->ctx, ISO_STATE, "iso_grad_set", "the tensor is no leaf that wants a gradient");
  if (grad->view.dtype != leaf->like.dtype || grad->view.n_dims != leaf->like.n_dims ||
      memcmp(grad->view.shape, leaf->like.shape, sizeof grad->view.shape[0] * (size_t)grad->view.n_dims) != 0) {
    char a[160], b[160];
    iso_tensor_format(t, a, sizeof a);
    iso_tensor_format(grad, b, sizeof b);
    return ISO__FAIL(t->ctx, ISO_SHAPE_MISMATCH, "iso_grad_set", "the tensor is %s but the gradient %s", a, b);
  }
  iso_tensor *own = iso__own_alias(t->ctx, grad);
  if (!own) return t->ctx->error.code;
  iso__leaf_zero(leaf);
  leaf->grad = own;
  return ISO_OK;
}

iso_tensor *iso_detach(iso_context *ctx, const iso_tensor *t) {
  if (!t || iso__failed(ctx)) return NULL;
  return iso__tensor_from_view(ctx, &t->view);
}

iso_status iso__check_in_place(const iso_tensor *t, const char *op) {
  if (!t) return ISO_INVALID_ARGUMENT;
  if (iso__failed(t->ctx)) return t->ctx->error.code;
  if (t->var && iso_grad_is_enabled(t->ctx))
    return ISO__FAIL(t->ctx, ISO_STATE, op,
                     "writing in place is not recorded and the tensor wants a gradient: use iso_no_grad_push");
  for (int d = 0; d < t->view.n_dims; d++)
    if (t->view.strides[d] == 0 && t->view.shape[d] > 1)
      return ISO__FAIL(t->ctx, ISO_INVALID_ARGUMENT, op, "the tensor repeats elements along dim %d (an expanded view)",
                       d);
  return ISO_OK;
}

/* ---- hooks ---- */

iso_status iso_hook_add(const iso_tensor *t, iso_grad_hook *hook, void *user) {
  if (!t || !hook) return ISO_INVALID_ARGUMENT;
  iso_context *ctx = t->ctx;
  if (iso__failed(ctx)) return ctx->error.code;
  if (!t->var) return ISO__FAIL(ctx, ISO_STATE, "iso_hook_add", "the tensor wants no gradient");
  iso__tape *tape = iso__tape_of(ctx);
  const iso__result *result = iso__result_of(t);
  iso__hook **last, *h;
  if (tape->is_again && (!result || result->generation != tape->generation)) return ISO_OK; /* it has been added */
  if (tape->in_backward && result && result->generation != tape->generation)
    return ISO__FAIL(ctx, ISO_STATE, "iso_hook_add", "the tensor is outside of the block whose gradient is computed");
  if (((iso__variable *)t->var)->is_leaf) {
    last = &((iso__leaf *)t->var)->hooks;
    h = iso__alloc(ctx, sizeof *h);
  } else {
    const iso__result *r = (const iso__result *)t->var;
    iso__node *maker = iso__result_node(tape, r);
    if (tape->block_in && r->generation == tape->block_in->generation) return ISO_OK; /* added when it is recorded */
    if (!maker) return ISO__FAIL(ctx, ISO_STALE_HANDLE, "iso_hook_add", "the tensor's history was freed");
    last = &maker->outputs[r->output].hooks;
    h = iso__arena_alloc(tape, sizeof *h);
  }
  if (!h) return ctx->error.code;
  *h = (iso__hook){.call = hook, .user = user};
  while (*last) last = &(*last)->next;
  *last = h;
  return ISO_OK;
}
