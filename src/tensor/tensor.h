/* tensor.h (internal): storage, views and the tensor handle. */
#ifndef ISO_TENSOR_TENSOR_H
#define ISO_TENSOR_TENSOR_H
#include <isobit/tensor.h>
#include <stdatomic.h>
#include "base/context.h"
#include "base/hash.h"
#include "base/owner.h"
#include "device/device.h"

/* What is kept beside storage and freed with it. */
typedef struct iso__attached {
  void (*destroy)(struct iso__attached *attached);
  bool is_origin; /* where widened elements come from (origin.c); else forms that operators keep (ops/packed.c) */
} iso__attached;

/* Bytes with an owner. Reference counts are atomic: storage crosses threads, handles do not. */
typedef struct iso__storage {
  atomic_int n_refs;
  atomic_uint version; /* counts modifications; saved tensors compare it */
  void *data;          /* behind the struct, or a user's: then without a readable tail, of any alignment */
  size_t n_bytes;
  iso__heap *heap;             /* owner of the struct, and of data unless borrowed */
  const iso__device *device;   /* where data lies */
  void (*deleter)(void *user); /* never NULL for borrowed memory, NULL for our own */
  union {
    void *user;            /* of borrowed memory; of pinned memory the device (storage.c) */
    int64_t indices_below; /* of our own: > 0 where who filled it knows that all elements are i64 in [0, this) */
  };
  iso__attached *attached; /* NULL: nothing */
} iso__storage;

/* On the context's device; on a given one. */
iso__storage *iso__storage_new(iso_context *ctx, size_t n_bytes);
iso__storage *iso__storage_new_on(iso_context *ctx, const iso__device *device, size_t n_bytes);
/* On the CPU, for what a capture of the device's work brings there at each replay. */
iso__storage *iso__storage_new_pinned(iso_context *ctx, const iso__device *by, size_t n_bytes);
/* Waits for the work that may still be writing it; not OK: that failed, and the error is kept. */
iso_status iso__storage_settle(iso_context *ctx, const char *op, const iso__storage *s);
static inline void iso__storage_retain(iso__storage *s) {
  atomic_fetch_add_explicit(&s->n_refs, 1, memory_order_relaxed);
}
void iso__storage_release(iso__storage *s); /* NULL is fine */
/* Whose its memory is in reports, if it is our own. */
void iso__storage_set_owner(iso__storage *s, iso__owner owner);
/* Whether all elements are known to be i64 in [0, limit), without looking at them. */
static inline bool iso__storage_indexes(const iso__storage *s, int64_t limit) {
  return !s->deleter && s->indices_below > 0 && s->indices_below <= limit && atomic_load(&s->version) == 0;
}
static inline bool iso__storage_is_exclusive(const iso__storage *s) {
  return atomic_load_explicit(&s->n_refs, memory_order_acquire) == 1;
}

/* A view: what a kernel needs to know. Plain data; whoever stores one retains its storage. */
typedef struct iso__view {
  iso__storage *storage;
  int64_t offset; /* of the first element, in elements */
  iso_dtype dtype;
  int n_dims;
  int64_t shape[ISO_MAX_DIMS], strides[ISO_MAX_DIMS]; /* elements; strides may be 0 (broadcast) or negative (flip) */
} iso__view;

static inline void *iso__view_data(const iso__view *v) {
  return (char *)v->storage->data + v->offset * (int64_t)iso_dtype_size(v->dtype);
}
int64_t iso__view_numel(const iso__view *v);
bool iso__view_is_contiguous(const iso__view *v);
/* (N,C,L), (N,C,H,W) and (N,C,D,H,W): signals, images and volumes may lie channels-last. */
static inline bool iso__has_channels(int n_dims) { return n_dims >= 3 && n_dims <= 5; }
bool iso__view_is_channels_last(const iso__view *v);
void iso__strides_contiguous(int n_dims, const int64_t *shape, int64_t *strides);
/* numel of a shape; false for a bad number of dims, a negative extent, or more bytes than can be addressed. */
bool iso__shape_numel(int n_dims, const int64_t *shape, size_t item_bytes, int64_t *numel);
/* The same, and that dtype is one; the error that is kept names `op` and the extent. */
bool iso__shape_check(iso_context *ctx, const char *op, iso_dtype dtype, int n_dims, const int64_t *shape,
                      int64_t *numel);
/* "(2,3,4)" into text; returns text. */
char *iso__shape_text(int n_dims, const int64_t *shape, char *text, size_t n_bytes);

/* What autograd hangs on a tensor: a counted base that this room can retain and release without seeing autograd. */
typedef struct iso__var {
  int n_refs;
  void (*destroy)(struct iso__var *var);
} iso__var;
static inline iso__var *iso__var_retain(iso__var *var) { return var ? (var->n_refs++, var) : var; }
static inline void iso__var_release(iso__var *var) {
  if (var && --var->n_refs == 0) var->destroy(var);
}

/* The handle. */
struct iso_tensor {
  iso__handle handle; /* first */
  uint32_t magic;     /* ISO__TENSOR_ALIVE, or ISO__TENSOR_DEAD in debug builds' quarantine */
  iso_context *ctx;
  iso__view view;
  iso__var *var; /* retained; NULL: a constant, no history and no gradient wanted */
};
enum { ISO__TENSOR_ALIVE = 0x150b17, ISO__TENSOR_DEAD = 0xdead17 };

/* Whether a handle can be used: not NULL and, in debug builds, not dead (ISO_STALE_HANDLE is then kept). */
bool iso__tensor_is_usable(const iso_tensor *t, const char *op);
/* A handle to a view (storage retained); NULL and error kept without memory. */
iso_tensor *iso__tensor_from_view(iso_context *ctx, const iso__view *view);
/* The same elements in new storage of a device, in v's memory order if it is dense, else contiguous: NULL with the
 * error kept. */
iso_tensor *iso__tensor_to(iso_context *ctx, const iso__view *v, const iso__device *device);
/* In between, the context computes on the CPU and new tensors lie there: for code that reads and writes elements. */
static inline const iso__device *iso__host_enter(iso_context *ctx) {
  const iso__device *device = ctx->device;
  ctx->device = NULL;
  return device;
}
static inline void iso__host_leave(iso_context *ctx, const iso__device *device) { ctx->device = device; }
/* iso_tensor_new on the CPU. */
static inline iso_tensor *iso__tensor_new_on_host(iso_context *ctx, iso_dtype dtype, int n_dims, const int64_t *shape) {
  const iso__device *device = iso__host_enter(ctx);
  iso_tensor *t = iso_tensor_new(ctx, dtype, n_dims, shape);
  iso__host_leave(ctx, device);
  return t;
}
/* The same, but takes the caller's reference to the storage over, on failure too. */
iso_tensor *iso__tensor_adopt(iso_context *ctx, const iso__view *view);
/* New storage of the given shape and strides order. */
iso_tensor *iso__tensor_new_like(iso_context *ctx, const iso__view *like,
                                 iso_dtype dtype); /* same shape; channels-last if like is */
/* Whether the elements, in the order of their strides, lie without holes. */
bool iso__view_is_dense(const iso__view *v);
/* New storage in which elements lie in the same order, if `like` is dense, else contiguous. */
iso_tensor *iso__tensor_new_in_order(iso_context *ctx, const iso__view *like, iso_dtype dtype);
/* Copies between views of one shape, any strides, any dtypes, any devices; runs on the context's threads. */
void iso__view_copy(iso_context *ctx, const iso__view *dst, const iso__view *src);
/* Hash of dtype, shape and elements by logical index (NaNs count as one), whatever the strides. */
iso__hash iso__view_hash(iso_context *ctx, const iso__view *v);
/* Of n elements in a row, on the calling thread; NaNs count as one. Not the hash of a tensor. */
iso__hash iso__hash_elements(iso_dtype dtype, const void *data, int64_t n);

/* Remembers that `wide`, the whole of new storage, holds `narrow`'s elements, each widened exactly, so that who keeps
 * the wide ones for long may keep the narrow ones instead. Where the two do not lie in one order, nothing is
 * remembered. False with the error kept: no memory. */
bool iso__view_widened(iso_context *ctx, const iso__view *wide, const iso__view *narrow);
/* The elements of v as they were before, if neither they nor those were modified since. */
bool iso__view_origin(const iso__view *v, iso__view *out);

/* View arithmetic without handles; each returns false with the error kept when arguments do not fit. */
bool iso__view_permute(iso_context *ctx, const iso__view *v, const int *axes, iso__view *out);
/* Elements begin, begin+step, … before end (step ≥ 1); negative begin and end count from the end; both are clipped. */
bool iso__view_slice(iso_context *ctx, const iso__view *v, int axis, int64_t begin, int64_t end, int64_t step,
                     iso__view *out);
/* One extent may be −1: inferred. False without an error: needs a copy; out's n_dims and shape are set even so. */
bool iso__view_reshape(iso_context *ctx, const iso__view *v, int n_dims, const int64_t *shape, iso__view *out);
bool iso__view_expand(iso_context *ctx, const iso__view *v, int n_dims, const int64_t *shape, iso__view *out);
/* The broadcast shape of two views. */
bool iso__broadcast(iso_context *ctx, const char *op, const iso__view *a, const iso__view *b, int *n_dims,
                    int64_t *shape);

#endif
