/* context.h: the context's inside. Rooms above keep their state in its slots; base knows none of them. */
#ifndef ISO_BASE_CONTEXT_H
#define ISO_BASE_CONTEXT_H
#include <isobit/base.h>
#include "base/heap.h"
#include "base/pool.h"

/* One slot a room. The room attaches its state with a destructor; slots are freed in descending order,
 * after all handles: a slot's destructor must not touch handles. */
typedef enum iso__slot {
  ISO__SLOT_DEVICE,
  ISO__SLOT_POLICY,
  ISO__SLOT_PLAN,
  ISO__SLOT_ARENA,
  ISO__SLOT_TENSOR,
  ISO__SLOT_AUTOGRAD,
  ISO__SLOT_RANDOM,
  ISO__SLOT_TRACE,
  ISO__N_SLOTS
} iso__slot;

/* What a scope owns: the first member of a handle. */
typedef struct iso__handle {
  struct iso__handle *prev, *next;
  struct iso__scope *scope; /* NULL: kept */
  void (*destroy)(struct iso__handle *handle);
} iso__handle;

/* A list of handles and the scope around it; the context's own, `root`, is never popped. */
typedef struct iso__scope {
  iso__handle head;
  struct iso__scope *outer;
  bool of_operator; /* pushed by an operator for its own intermediates: recorded history outlives it */
} iso__scope;

typedef struct iso__error {
  iso_status code;
  char message[512];
} iso__error;

struct iso_context {
  iso__heap *heap;
  iso__pool *pool; /* shared by nobody; NULL with one thread */
  int n_threads;
  iso_isa isa;
  const struct iso__device *device;         /* what operators compute on; NULL: the CPU (device/device.h) */
  void (*device_changes)(iso_context *ctx); /* drops what is kept in its memory; NULL: nothing is */
  bool is_capturing;                        /* its device's work is recorded, not run (ops/capture.c)   */
  iso__error error;
  iso_warning_fn *warn; /* NULL: nobody listens; the first sentence waits */
  void *warn_user;
  char waiting_warning[320];
  iso__scope *scope;    /* innermost */
  iso__scope root;      /* outermost */
  int n_missing_scopes; /* pushed without memory for them */
  iso__handle kept;     /* list head of handles taken out of scopes: freed with the context */
  void *slot[ISO__N_SLOTS];
  void (*slot_free[ISO__N_SLOTS])(iso_context *ctx, void *state);
};

/* The bare context: no policy, no tape. n_threads 0: as many as the machine gives; heap NULL: a new one from `source`.
 */
iso_status iso__context_new(const iso_allocator *source, iso__heap *heap, int n_threads, iso_isa isa,
                            iso_context **out);
void iso__context_free(iso_context *ctx);

/* Keeps the first error (later ones are dropped) and returns the context's code. ctx NULL: returns code. */
iso_status iso__fail(iso_context *ctx, iso_status code, const char *file, int line, const char *op, const char *format,
                     ...) ISO_PRINTF(6, 7);
#define ISO__FAIL(ctx, code, op, ...) iso__fail((ctx), (code), __FILE__, __LINE__, (op), __VA_ARGS__)
/* Says a sentence to the context's warning handler. What is to be said once is its caller's matter. */
void iso__warn(iso_context *ctx, const char *format, ...) ISO_PRINTF(2, 3);
/* Whether calls with this context should do nothing. */
static inline bool iso__failed(const iso_context *ctx) { return !ctx || ctx->error.code != ISO_OK; }

/* Keeps the error of an allocation of n_bytes that failed with `status`, and returns the context's code. */
iso_status iso__fail_memory(iso_context *ctx, iso_status status, size_t n_bytes);

/* Memory of the context's heap; on failure the error is kept and NULL returned. zalloc: zero-filled. */
void *iso__alloc(iso_context *ctx, size_t n_bytes);
void *iso__zalloc(iso_context *ctx, size_t n_bytes);
void iso__free(iso_context *ctx, void *block, size_t n_bytes);
/* *block grows to hold at least n_wanted items (doubling); false and error kept when there is no memory. */
bool iso__grow(iso_context *ctx, void **block, size_t *capacity, size_t n_wanted, size_t item_bytes);

/* iso_scope_push for the inside of one operator call. */
void iso__operator_scope_push(iso_context *ctx);
void iso__handle_enter(iso_context *ctx, iso__handle *handle); /* into the innermost scope */
void iso__handle_keep(iso_context *ctx, iso__handle *handle);
void iso__handle_escape(iso_context *ctx, iso__handle *handle);
void iso__handle_leave(iso__handle *handle); /* unlinks it; the caller destroys */

#endif
