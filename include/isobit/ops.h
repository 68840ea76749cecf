/* ops.h: contexts, operators on tensors and their gradients.
 *
 *   iso_context *ctx;
 *   if (iso_context_new(NULL, &ctx) != ISO_OK) return 1;
 *   iso_scope_push(ctx);
 *   iso_tensor *w = iso_requires_grad(iso_tensor_full(ctx, ISO_F32, 2, ISO_DIMS(3, 2), 0.5), true);
 *   iso_tensor *x = iso_tensor_full(ctx, ISO_F32, 2, ISO_DIMS(4, 3), 1);
 *   iso_tensor *loss = iso_mean_all(ctx, iso_square(ctx, iso_matmul(ctx, x, w)));
 *   if (iso_backward(loss) != ISO_OK) fprintf(stderr, "%s\n", iso_error_message(ctx));
 *   iso_tensor *dw = iso_grad(w);       // (3,2)
 *   iso_scope_pop(ctx);
 *   iso_context_free(ctx);
 *
 * Every operator: takes handles, never changes its arguments, returns a new handle in the current scope, or NULL with
 * the context's first error kept (base.h); NULL arguments give NULL. Operators compute in f32 and f64, all operands of
 * one dtype, unless their comment says more. Results are contiguous; where the (first full-size) input is an image in
 * channels-last storage, so is the result. Gradients exist for every operator that returns floating point, unless its
 * comment says otherwise, and are themselves made of operators, so they can be differentiated again (create_graph).
 * Orders of summation: docs/numerics.md. */
#ifndef ISOBIT_OPS_H
#define ISOBIT_OPS_H
#include <isobit/base.h>
#include <isobit/numeric.h>
#include <isobit/policy.h>
#include <isobit/tensor.h>
#ifdef __cplusplus
extern "C" {
#endif

/* ---- contexts ---- */
typedef struct iso_context_options {
  const iso_allocator *allocator; /* NULL: the C library's                                                    */
  int n_threads;                  /* 0: as many as affinity mask and cgroup quota give; at most 4096           */
  const char *isa;                /* "scalar", "avx2", "avx512": at most this; NULL: ISOBIT_ISA, else the best */
  const iso_policy *policy;       /* NULL: preset "default", then the ISOBIT_… environment                     */
  const char *device;             /* as in iso_context_set_device; NULL: ISOBIT_DEVICE, else "cpu"             */
} iso_context_options;
/* A context with everything attached. options NULL: all defaults. On failure *out is NULL; ISO_INVALID_ARGUMENT for a
 * bad dial in the environment, whose sentence iso_context_new_message keeps. */
ISO_API iso_status iso_context_new(const iso_context_options *options, iso_context **out);
/* The same, with the reason of a failure in words ("ISOBIT_SEED=abc: …"). message may be NULL. */
ISO_API iso_status iso_context_new_message(const iso_context_options *options, iso_context **out, char *message,
                                           size_t n_bytes);
/* A context for another thread: shares parent's allocator, memory limit, policy (copied) and plans; an error of its
 * own. n_threads 0: the parent's number. Storage may pass between the two; handles may not. */
ISO_API iso_status iso_context_new_child(iso_context *parent, int n_threads, iso_context **out);
/* Frees every handle that is left, kept ones too. NULL is fine. */
ISO_API void iso_context_free(iso_context *ctx);

/* ---- gradients ---- */
/* Makes t a leaf: backward leaves d(loss)/dt in iso_grad(t). `on` false: forgets that wish and the gradient. Returns t.
 * Floating point only. ISO_STATE for `false` on the result of a recorded operator: use iso_detach. */
ISO_API iso_tensor *iso_requires_grad(iso_tensor *t, bool on);
/* Whether operators on t are recorded (t is such a leaf, or made from one). */
ISO_API bool iso_wants_grad(const iso_tensor *t);
/* The leaf's gradient as it is now, a handle in the current scope; NULL without an error if there is none. */
ISO_API iso_tensor *iso_grad(const iso_tensor *t);
/* Replaces the leaf's gradient (same shape and dtype, shared, not copied); NULL frees it, as zeroing does. */
ISO_API iso_status iso_grad_set(iso_tensor *t, const iso_tensor *grad);
ISO_API iso_status iso_grad_zero(iso_tensor *t);
/* The same values without history: shares storage. */
ISO_API iso_tensor *iso_detach(iso_context *ctx, const iso_tensor *t);

/* Between push and pop nothing is recorded; they nest. */
ISO_API void iso_no_grad_push(iso_context *ctx);
ISO_API void iso_no_grad_pop(iso_context *ctx);
ISO_API bool iso_grad_is_enabled(const iso_context *ctx);

typedef struct iso_backward_options {
  bool retain_graph; /* keep the tape, so that backward can run again           */
  bool create_graph; /* record the gradient's own operators; implies retain_graph */
} iso_backward_options;
/* Adds d(loss)/d(leaf) to every leaf's gradient; loss has one element. A tensor used several times adds its
 * contributions in descending order of use. Frees the tape: differentiating a tensor recorded on it again
 * is ISO_STALE_HANDLE (iso_detach makes it a constant). Refuses while an error is set; after an error in backward
 * gradients are invalid until zeroed. ISO_MODIFIED: a tensor that the gradient needs was changed in place since.
 * ISO_STATE: loss has no history. */
ISO_API iso_status iso_backward(const iso_tensor *loss);
/* The same from any tensor with its gradient dy (its shape and dtype; NULL: ones). options NULL: none set. */
ISO_API iso_status iso_backward_with(const iso_tensor *t, const iso_tensor *dy, const iso_backward_options *options);
/* grads[i] = Σ_j d(outputs[j]·dys[j])/d(inputs[i]), handles in the current scope, NULL where there is no dependence; no
 * leaf's gradient is touched. inputs may be leaves or results. dys NULL, or an entry NULL: ones. */
ISO_API iso_status iso_grad_of(int n_outputs, const iso_tensor *const *outputs, const iso_tensor *const *dys,
                               int n_inputs, const iso_tensor *const *inputs, const iso_backward_options *options,
                               iso_tensor **grads);
/* Called during backward with the complete gradient of t; returns it, or another of the same shape and dtype, or NULL
 * with the context's error set. Runs in a scope of its own, so what it makes (but the result) is freed after it. */
typedef iso_tensor *iso_grad_hook(iso_context *ctx, iso_tensor *grad, void *user);
/* Hooks run in the order they were added. One on a result lives as long as the tape; one on a leaf as long as the leaf.
 */
ISO_API iso_status iso_hook_add(const iso_tensor *t, iso_grad_hook *hook, void *user);
/* Memory for time: y = f(ctx, user, inputs) whose operators are not recorded; backward runs f again, records that, and
 * goes on from there, so of what happens inside only the inputs stay in memory. Bits are those of the plain call:
 * dropout draws the same masks, gradients add up in the same order, running statistics are updated once. f reads
 * parameters and whatever else it likes, but must do the same both times: ISO_STATE if it draws another number of
 * random tensors or returns another shape. `user` is copied (user_bytes; NULL with 0), and what it points to must live
 * until backward; at most 16 inputs, NULL among them allowed. The second run sees the policy of the first. Checkpoints
 * nest. What f keeps for itself has no history afterwards; gradients of gradients (create_graph) are refused. */
typedef iso_tensor *iso_block(iso_context *ctx, void *user, iso_tensor *const *inputs);
ISO_API iso_tensor *iso_checkpoint(iso_context *ctx, iso_block *f, const void *user, size_t user_bytes, int n_inputs,
                                   iso_tensor *const *inputs);
/* Forgets everything recorded. The end of the outermost scope does the same. */
ISO_API void iso_tape_clear(iso_context *ctx);
/* Operators recorded and not yet freed. */
ISO_API size_t iso_tape_length(const iso_context *ctx);

/* ---- steps made of leaves (micro-batches whose gradients add up in one fixed tree; docs/numerics.md) ----
 *
 *   iso_step_begin(ctx, 4);
 *   for (int g = 0; g < 4; g++) {                       // in any order of aligned blocks
 *     iso_leaf_range(n_samples, 4, g, &begin, &end);
 *     iso_leaf_begin(ctx, g);
 *     ... forward on samples begin … end−1, loss divided by the whole step's count; iso_backward(loss) ...
 *     iso_leaf_end(ctx, loss);
 *   }
 *   iso_step_end(ctx, &loss);                           // gradients are the tree over leaves now
 *   iso_optimizer_step(optimizer);
 */
/* Frees every leaf tensor's gradient and starts a step of n_leaves (a power of two ≤ 65536). */
ISO_API iso_status iso_step_begin(iso_context *ctx, int n_leaves);
/* Random operators count their sites from 0 in each leaf, with the leaf's number. */
ISO_API iso_status iso_leaf_begin(iso_context *ctx, int leaf);
/* Takes the gradients made since leaf_begin, and the leaf's loss (one element, or NULL), into the step's tree. */
ISO_API iso_status iso_leaf_end(iso_context *ctx, const iso_tensor *loss);
/* Sets the gradients, and *loss (may be NULL) to the tree over the leaves' losses, 0 without any. Leaves that were not
 * run are absent. Batch norm's running statistics take all leaves, ascending. */
ISO_API iso_status iso_step_end(iso_context *ctx, double *loss);
/* Drops a step that was begun, gradients and all; nothing happens outside one. */
ISO_API void iso_step_abandon(iso_context *ctx);

/* ---- what there is: the rows behind docs/operators.md ---- */
typedef struct iso_operator_info {
  const char *topic; /* "pointwise": a row without a name that opens a topic, its formula is the title; else NULL */
  const char *name;  /* "exp": the function is iso_exp */
  const char *formula, *shapes, *dtypes, *numeric_class, *gradient;
  const char *difference; /* from PyTorch's operator of that meaning, and why; "": none */
} iso_operator_info;
/* All rows in order, *n of them. */
ISO_API const iso_operator_info *iso_operator_list(int *n);

#ifdef __cplusplus
}
#endif

/* ---- the operators, by topic ---- */
#include <isobit/ops/pointwise.h>
#include <isobit/ops/reduce.h>
#include <isobit/ops/product.h>
#include <isobit/ops/pool.h>
#include <isobit/ops/recurrent.h>
#include <isobit/ops/norm.h>
#include <isobit/ops/random.h>
#include <isobit/ops/loss.h>
#include <isobit/ops/shape.h>
#include <isobit/ops/create.h>
#include <isobit/ops/linalg.h>
#include <isobit/ops/sort.h>
#include <isobit/ops/index.h>
#include <isobit/ops/vision.h>
#endif
