/* packed.c: weights that a user called constant, and the forms that engines keep of them (plan/kept.h). */
#include "ops/ops.h"
#include "plan/kept.h"

typedef struct packed {
  iso__attached attached; /* first */
  iso__heap *heap;
  iso__kept *kept;
} packed;

static void destroy(iso__attached *attached) {
  packed *p = (packed *)attached;
  iso__kept_free(p->kept);
  iso__heap_free(p->heap, p, sizeof *p);
}

static packed *packed_of(const iso_tensor *w) {
  iso__attached *attached = w->view.storage->attached;
  return attached && !attached->is_origin ? (packed *)attached : NULL;
}

static bool is_whole(const iso__view *v) {
  return v->offset == 0 && (size_t)iso__view_numel(v) * iso_dtype_size(v->dtype) == v->storage->n_bytes;
}

iso_status iso_tensor_pack(iso_tensor *w) {
  if (!iso__tensor_is_usable(w, __func__)) return w ? iso_error_code(w->ctx) : ISO_INVALID_ARGUMENT;
  if (iso__failed(w->ctx)) return iso_error_code(w->ctx);
  iso__storage *s = w->view.storage;
  if (packed_of(w)) return ISO_OK;
  if (!is_whole(&w->view))
    return ISO__FAIL(w->ctx, ISO_INVALID_ARGUMENT, "iso_tensor_pack",
                     "w is a part of another tensor's storage (%zu bytes)", s->n_bytes);
  packed *p = iso__heap_alloc(s->heap, sizeof *p, NULL);
  iso__kept *kept = p ? iso__kept_new(s->heap, s->device) : NULL;
  if (!kept) {
    if (p) iso__heap_free(s->heap, p, sizeof *p);
    return ISO__FAIL(w->ctx, ISO_OUT_OF_MEMORY, "iso_tensor_pack", "no memory for %zu bytes", sizeof *p);
  }
  *p = (packed){.attached = {.destroy = destroy}, .heap = s->heap, .kept = kept};
  if (s->attached) s->attached->destroy(s->attached); /* what it was widened from */
  s->attached = &p->attached;
  return ISO_OK;
}

void iso_tensor_unpack(iso_tensor *w) {
  if (!w || !iso__tensor_is_usable(w, __func__) || !packed_of(w)) return;
  destroy(w->view.storage->attached);
  w->view.storage->attached = NULL;
}

size_t iso_tensor_packed_bytes(const iso_tensor *w) {
  if (!w || !iso__tensor_is_usable(w, __func__) || !packed_of(w)) return 0;
  return iso__kept_bytes(packed_of(w)->kept);
}

iso_status iso__execute_with(iso_context *ctx, const iso__problem *problem, const void *args, const iso_tensor *w) {
  const packed *p = packed_of(w);
  if (!p || !is_whole(&w->view)) return iso__execute(ctx, problem, args);
  return iso__execute_kept(ctx, problem, args, p->kept,
                           atomic_load_explicit(&w->view.storage->version, memory_order_relaxed));
}
