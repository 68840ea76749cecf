/* handle.c: the handle's life: made in a scope, kept, escaped, released, dead.
 *
 * Debug builds let dead handles lie in the heap's quarantine with their magic changed, so that using one is the error
 * ISO_STALE_HANDLE and not a crash. */
#include <string.h>
#include "tensor/tensor.h"

static iso_tensor *tensor_of(iso__handle *handle) { return (iso_tensor *)(void *)handle; /* its first member */ }

static void destroy(iso__handle *handle) {
  iso_tensor *t = tensor_of(handle);
  iso_context *ctx = t->ctx;
  iso__var_release(t->var);
  iso__storage_release(t->view.storage);
  t->magic = ISO__TENSOR_DEAD;
#ifdef ISO_DEBUG
  iso__heap_quarantine(ctx->heap, t, sizeof *t);
#else
  iso__free(ctx, t, sizeof *t);
#endif
}

bool iso__tensor_is_usable(const iso_tensor *t, const char *op) {
#ifdef ISO_DEBUG
  if (t && t->magic != ISO__TENSOR_ALIVE) {
    ISO__FAIL(t->ctx, ISO_STALE_HANDLE, op, "the tensor's scope has ended or it was released");
    return false;
  }
#endif
  (void)op;
  return t != NULL;
}

iso_tensor *iso__tensor_adopt(iso_context *ctx, const iso__view *view) {
  iso_tensor *t = iso__alloc(ctx, sizeof *t);
  if (!t) {
    iso__storage_release(view->storage);
    return NULL;
  }
  *t = (iso_tensor){.handle = {.destroy = destroy}, .magic = ISO__TENSOR_ALIVE, .ctx = ctx, .view = *view};
  iso__handle_enter(ctx, &t->handle);
  return t;
}

iso_tensor *iso__tensor_from_view(iso_context *ctx, const iso__view *view) {
  iso__storage_retain(view->storage);
  return iso__tensor_adopt(ctx, view);
}

iso_tensor *iso_tensor_alias(iso_context *ctx, const iso_tensor *t) {
  if (iso__failed(ctx) || !iso__tensor_is_usable(t, "iso_tensor_alias")) return NULL;
  iso_tensor *alias = iso__tensor_from_view(ctx, &t->view);
  if (alias) alias->var = iso__var_retain(t->var);
  return alias;
}

iso_tensor *iso_keep(iso_tensor *tensor) {
  if (!iso__tensor_is_usable(tensor, "iso_keep")) return NULL;
  iso__handle_keep(tensor->ctx, &tensor->handle);
  return tensor;
}

iso_tensor *iso_escape(iso_tensor *tensor) {
  if (!iso__tensor_is_usable(tensor, "iso_escape")) return NULL;
  iso__handle_escape(tensor->ctx, &tensor->handle);
  return tensor;
}

void iso_release(iso_tensor *tensor) {
  if (!iso__tensor_is_usable(tensor, "iso_release")) return;
  iso__handle_leave(&tensor->handle);
  destroy(&tensor->handle);
}
