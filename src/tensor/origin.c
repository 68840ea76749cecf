/* origin.c: widened storage remembers the half-precision storage that it was made from.
 *
 * Widening is exact, so whoever keeps f32 elements that were f16 or bf16 before (the tape, until backward) may keep
 * those and widen once more: half the memory for the same bits. */
#include "tensor/tensor.h"

typedef struct origin {
  iso__attached attached; /* first */
  iso__heap *heap;
  iso__storage *narrow; /* retained */
  int64_t offset;       /* of its element that lies first in the wide storage */
  iso_dtype dtype;
  unsigned version, wide_version;
} origin;

static void destroy(iso__attached *attached) {
  origin *o = (origin *)attached;
  iso__storage_release(o->narrow);
  iso__heap_free(o->heap, o, sizeof *o);
}

static unsigned version_of(const iso__storage *s) { return atomic_load_explicit(&s->version, memory_order_relaxed); }

static bool in_one_order(const iso__view *a, const iso__view *b) {
  for (int d = 0; d < a->n_dims; d++)
    if (a->shape[d] > 1 && a->strides[d] != b->strides[d]) return false;
  return true;
}

bool iso__view_widened(iso_context *ctx, const iso__view *wide, const iso__view *narrow) {
  if (!in_one_order(wide, narrow) || iso__view_numel(wide) == 0 || wide->storage->attached) return true;
  origin *o = iso__alloc(ctx, sizeof *o);
  if (!o) return false;
  *o = (origin){.attached = {.destroy = destroy, .is_origin = true},
                .heap = ctx->heap,
                .narrow = narrow->storage,
                .offset = narrow->offset,
                .dtype = narrow->dtype,
                .version = version_of(narrow->storage),
                .wide_version = version_of(wide->storage)};
  iso__storage_retain(narrow->storage);
  wide->storage->attached = &o->attached;
  return true;
}

bool iso__view_origin(const iso__view *v, iso__view *out) {
  const iso__storage *s = v->storage;
  if (!s->attached || !s->attached->is_origin) return false;
  const origin *o = (const origin *)s->attached;
  if (version_of(s) != o->wide_version || version_of(o->narrow) != o->version) return false;
  *out = *v;
  out->storage = o->narrow;
  out->offset = o->offset + v->offset;
  out->dtype = o->dtype;
  return true;
}
