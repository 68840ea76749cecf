/* base.h: status codes, contexts, scopes, memory.
 *
 * A context holds everything a computation needs: allocator, threads, policy, tape, plans. It belongs to one thread at
 * a time. Calls that make tensors return NULL when something is wrong and the context keeps the *first* error; until
 * iso_clear_error every later call with that context does nothing, so nested expressions need one check:
 *
 *   iso_context *ctx;
 *   if (iso_context_new(NULL, &ctx) != ISO_OK) return 1;
 *   iso_scope_push(ctx);
 *   iso_tensor *y = iso_matmul(ctx, iso_relu(ctx, a), b);
 *   if (!y) fprintf(stderr, "%s\n", iso_error_message(ctx));
 *   iso_scope_pop(ctx);               // every handle made since the push is gone
 *   iso_context_free(ctx);
 */
#ifndef ISOBIT_BASE_H
#define ISOBIT_BASE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#  define ISO_API
#else
#  define ISO_API __attribute__((visibility("default")))
#endif
#if defined(__GNUC__)
#  define ISO_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#  define ISO_PRINTF(f, a)
#endif
#ifdef __cplusplus
extern "C" {
#endif

#define ISO_VERSION_MAJOR 0
#define ISO_VERSION_MINOR 1
#define ISO_VERSION_PATCH 0

/* Every status: code, value, sentence. Values never change; new ones are appended. */
#define ISO_STATUS_LIST(X)                                                                                             \
  X(OK, 0, "no error")                                                                                                 \
  X(INVALID_ARGUMENT, 1, "an argument has a value that the call does not accept")                                      \
  X(SHAPE_MISMATCH, 2, "shapes do not fit each other")                                                                 \
  X(DTYPE_MISMATCH, 3, "element types do not fit each other or the operator")                                          \
  X(OUT_OF_MEMORY, 4, "the allocator has no more memory")                                                              \
  X(MEMORY_LIMIT, 5, "the context's memory limit would be exceeded")                                                   \
  X(WORKSPACE_LIMIT, 6, "no engine of the class fits under the workspace limit")                                       \
  X(NO_ENGINE, 7, "no engine can compute this problem")                                                                \
  X(NO_PLAN, 8, "the plan is not recorded and tuning is not allowed here")                                             \
  X(NOT_FOUND, 9, "a file, name or entry does not exist")                                                              \
  X(IO, 10, "reading or writing failed")                                                                               \
  X(CORRUPT, 11, "a file's content is not what its format says")                                                       \
  X(UNSUPPORTED, 12, "valid, but not supported here")                                                                  \
  X(STALE_HANDLE, 13, "the handle's scope has ended or its history was freed")                                         \
  X(MODIFIED, 14, "a tensor saved for the gradient was modified in place")                                             \
  X(STATE, 15, "the call is not allowed in this state")                                                                \
  X(INTERRUPTED, 16, "stopped on request")                                                                             \
  X(DIVERGED, 17, "a value that must be finite is not")                                                                \
  X(DEVICE_ERROR, 18, "the device reports an error")

typedef enum iso_status {
#define ISO_STATUS_ENUM(name, value, sentence) ISO_##name = value,
  ISO_STATUS_LIST(ISO_STATUS_ENUM)
#undef ISO_STATUS_ENUM
} iso_status;

/* The code's name ("SHAPE_MISMATCH") and its sentence. Never NULL. */
ISO_API const char *iso_status_name(iso_status status);
ISO_API const char *iso_status_sentence(iso_status status);

typedef struct iso_context iso_context;
typedef struct iso_tensor iso_tensor;

/* A source of memory. alloc returns NULL when there is none; alignment is a power of two ≤ 4096. Both may be called
 * from several threads. */
typedef struct iso_allocator {
  void *(*alloc)(void *user, size_t n_bytes, size_t alignment);
  void (*free)(void *user, void *block, size_t n_bytes);
  void *user;
} iso_allocator;

/* Instruction sets, in ascending order. A mask ("at most this") filters the engines; results do not depend on it. */
typedef enum iso_isa {
  ISO_ISA_SCALAR = 0,
  ISO_ISA_AVX2 = 1,
  ISO_ISA_AVX512 = 2,
  ISO_ISA_CUDA = 3 /* of engines: runs on a CUDA device, never on the CPU */
} iso_isa;
ISO_API const char *iso_isa_name(iso_isa isa); /* "scalar", "avx2", "avx512", "cuda" */

/* ---- errors ---- */
ISO_API iso_status iso_error_code(const iso_context *ctx);
/* "conv2d: x has 3 channels but w expects 4 (SHAPE_MISMATCH, conv_shape.c:41)"; "" without an error. Lives until
 * cleared.
 */
ISO_API const char *iso_error_message(const iso_context *ctx);
ISO_API void iso_clear_error(iso_context *ctx);

/* What deserves a sentence but is no error, said once: a folder that cannot be written, an older variable's name. The
 * library prints nothing itself: without a handler only the first sentence is kept, until there is one. The sentence
 * lives during the call; children inherit the handler. */
typedef void iso_warning_fn(void *user, const char *sentence);
ISO_API void iso_set_warning_handler(iso_context *ctx, iso_warning_fn *handler, void *user);

/* ---- scopes and ownership: a handle dies with the scope it was made in, unless kept ---- */
ISO_API void iso_scope_push(iso_context *ctx);
ISO_API void iso_scope_pop(iso_context *ctx);
/* Takes the handle out of its scope: it now lives until iso_release (or the context's end). Returns its argument. */
ISO_API iso_tensor *iso_keep(iso_tensor *tensor);
/* Moves the handle into the scope around the current one, so that a function can return it. Returns its argument. */
ISO_API iso_tensor *iso_escape(iso_tensor *tensor);
/* Ends a handle now, kept or not. NULL is fine. */
ISO_API void iso_release(iso_tensor *tensor);

/* ---- memory ---- */
/* Bytes by what they are for: blocks in use, rounded to what they take. */
typedef struct iso_memory_owners {
  size_t weights;     /* parameters and buffers of modules                                                  */
  size_t gradients;   /* all that backward makes                                                            */
  size_t optimizer;   /* optimisers' state                                                                  */
  size_t activations; /* results of operators, and tensors that nobody else claims                          */
  size_t workspace;   /* lent to engines                                                                    */
  size_t captures;    /* pools of captured steps, whole: their activations and gradients, in use or not     */
  size_t kept;        /* forms of weights that engines keep (packed for inference)                          */
  size_t data;        /* data sets, loaders and their batches                                               */
  size_t other;       /* contexts, modules, plans, the tape: what is no tensor                              */
} iso_memory_owners;
/* "weights 45 MiB, gradients 45 MiB, …"; the length like snprintf. */
ISO_API int iso_memory_owners_format(const iso_memory_owners *owners, char *text, size_t n_bytes);

/* Of the CPU's memory; a device's: iso_device_get_memory. */
typedef struct iso_memory_info {
  size_t live_bytes;   /* what the context and its children hold now                       */
  size_t peak_bytes;   /* the most they held since the start or iso_memory_reset_peak       */
  size_t cached_bytes; /* freed blocks kept for reuse, not counted in live_bytes            */
  size_t limit_bytes;  /* 0: none                                                           */
  uint64_t n_allocations;
  iso_memory_owners now, at_peak; /* of live_bytes, and of peak_bytes */
} iso_memory_info;
ISO_API iso_memory_info iso_memory_get_info(const iso_context *ctx);
ISO_API void iso_memory_reset_peak(iso_context *ctx);
/* Testing: the n-th allocation from now (1 = the next) fails, once; 0 switches it off. */
ISO_API void iso_memory_fail_at(iso_context *ctx, uint64_t n);
/* Testing: fills every block of the host's memory with this byte when it is handed out (255: f32 reads as NaN), so that
 * what reads memory before it is written gives itself away; −1 switches it off. Returns what was set before. */
ISO_API int iso_memory_set_fill(iso_context *ctx, int byte);

/* ---- the rest ---- */
ISO_API int iso_n_threads(const iso_context *ctx);
ISO_API iso_isa iso_context_isa(const iso_context *ctx);
ISO_API const char *iso_version(void);

/* What this process may use of the machine; probed once. */
typedef struct iso_machine_info {
  iso_isa isa; /* the best that CPU and operating system support */
  bool has_f16c, has_bf16;
  int n_online, n_affinity;            /* cores that are switched on; cores of the affinity mask                 */
  int n_cores;                         /* … and within the control group's quota (rounded up): what we may use    */
  size_t l1_bytes, l2_bytes, l3_bytes; /* per core, per core, shared; usual values if unknown                     */
  char model[64];
} iso_machine_info;
ISO_API const iso_machine_info *iso_machine_get_info(void);
/* Samples [*begin, *end) of leaf g of G when a step has B samples: floor(g·B/G) … floor((g+1)·B/G). Maybe empty. */
ISO_API void iso_leaf_range(int64_t n_samples, int n_leaves, int leaf, int64_t *begin, int64_t *end);

#ifdef __cplusplus
}
#endif
#endif
