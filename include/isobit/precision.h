/* precision.h: mixed precision: operators that compute in f16 or bf16, and the scale that keeps small gradients in f16.
 *
 *   iso_autocast_push(ctx, &(iso_autocast_options){.dtype = ISO_F16});
 *   iso_tensor *loss = iso_cross_entropy(ctx, iso_module_forward(model, x), y, NULL);  // weights stay f32
 *   iso_autocast_pop(ctx);
 *   iso_backward(iso_grad_scaler_scale(scaler, loss));                                 // gradients of weights are f32
 *   iso_grad_scaler_unscale(scaler, optimizer);                                        // before clipping
 *   iso_optimizer_clip_grad_norm(optimizer, 1, NULL);
 *   iso_grad_scaler_step(scaler, optimizer, NULL);                                     // not where a gradient
 * overflowed iso_grad_scaler_update(scaler);
 *
 * docs/mixed-precision.md says what each costs. Semantics are those of torch.amp (PyTorch 2.13); Micikevicius et al.,
 * "Mixed precision training", 2018. */
#ifndef ISOBIT_PRECISION_H
#define ISOBIT_PRECISION_H
#include <isobit/base.h>
#include <isobit/numeric.h>
#include <isobit/tensor.h>
#ifdef __cplusplus
extern "C" {
#endif

/* ---- autocast ----
 *
 * Between push and pop each operator casts its f32, f16 and bf16 operands as its row of the list says; f64 and integers
 * stay, and an operator with an f64 operand casts nothing. Results have the dtype that the operator then gives. Casts
 * are on the tape, so that gradients come back in the dtype of what was cast: f32 for f32 weights. A weight (a leaf
 * that wants a gradient) is cast once a scope and change of its values; the pop frees those copies. Backward casts
 * nothing by itself, wherever it is called. Scopes nest; a pop restores the scope around. */
typedef enum iso_autocast_kind {
  ISO_AUTOCAST_AS_IS,  /* operands as they come                                        */
  ISO_AUTOCAST_LOW,    /* cast to the scope's dtype                                    */
  ISO_AUTOCAST_F32,    /* cast to f32                                                  */
  ISO_AUTOCAST_WIDEST, /* where operands differ, cast to f32: two of f16 and bf16, too */
  ISO_AUTOCAST_N_KINDS
} iso_autocast_kind;
ISO_API const char *iso_autocast_kind_name(iso_autocast_kind kind); /* "as_is", "low", "f32", "widest" */

typedef struct iso_autocast_row {
  const char *op; /* "matmul": of iso_matmul */
  iso_autocast_kind kind;
} iso_autocast_row;
/* The list as it is without overrides, *n rows in ascending order of names. An operator without a row takes its
 * operands as they come, or is written in operators that have rows. */
ISO_API const iso_autocast_row *iso_autocast_list(int *n);

typedef struct iso_autocast_options {
  iso_dtype dtype;       /* ISO_BF16, ISO_F16; ISO_F32: nothing is cast in this scope */
  const char *overrides; /* other kinds for this scope: "softmax=low,linear=f32"; NULL: none. A scope inside begins with
                            the list again */
} iso_autocast_options;
/* ISO_INVALID_ARGUMENT: another dtype, an operator without a row, or a kind that does not exist, by name; no scope is
 * opened then. Says once a context that low precision saves memory, not time, where that is so. */
ISO_API iso_status iso_autocast_push(iso_context *ctx, const iso_autocast_options *options);
/* ISO_STATE: more pops than pushes. */
ISO_API iso_status iso_autocast_pop(iso_context *ctx);
/* The innermost scope's dtype; ISO_F32: nothing is cast. */
ISO_API iso_dtype iso_autocast_dtype(const iso_context *ctx);
/* What the operator does now. */
ISO_API iso_autocast_kind iso_autocast_kind_of(const iso_context *ctx, const char *op);

/* ---- gradient scaler ----
 *
 * f16 has nothing below 2^−24, so the loss is multiplied before backward and the gradients divided after it. The scale
 * grows where gradients stay finite, and backs off, its step skipped, where they do not. */
typedef struct iso_grad_scaler iso_grad_scaler;
typedef struct iso_optimizer iso_optimizer; /* nn.h */
/* Zero means the usual value. */
typedef struct iso_grad_scaler_options {
  double init_scale;       /* [65536], at least 1                                   */
  double growth_factor;    /* [2], above 1                                          */
  double backoff_factor;   /* [0.5], in (0,1)                                       */
  int64_t growth_interval; /* [2000] steps in a row with finite gradients before it grows */
} iso_grad_scaler_options;
ISO_API iso_grad_scaler *iso_grad_scaler_new(iso_context *ctx, const iso_grad_scaler_options *options);
/* NULL is fine. */
ISO_API void iso_grad_scaler_free(iso_grad_scaler *s);
/* loss·scale, recorded; loss is f32 or f64. */
ISO_API iso_tensor *iso_grad_scaler_scale(iso_grad_scaler *s, const iso_tensor *loss);
/* Gradients of the optimiser's parameters become g·(1/scale), in place, and are looked through for what is not finite.
 * ISO_STATE: it has been done for this optimiser since the last update. */
ISO_API iso_status iso_grad_scaler_unscale(iso_grad_scaler *s, iso_optimizer *o);
/* iso_optimizer_step where all gradients are finite, nothing otherwise; unscales first if that was not done. *stepped
 * (may be NULL): whether it was made. */
ISO_API iso_status iso_grad_scaler_step(iso_grad_scaler *s, iso_optimizer *o, bool *stepped);
/* After all optimisers' steps: where a gradient was not finite, scale·backoff_factor, but at least 1 (PyTorch has no
 * floor); else scale·growth_factor after growth_interval steps, unless that is above f32's largest. ISO_STATE: nothing
 * was unscaled since the last update. */
ISO_API iso_status iso_grad_scaler_update(iso_grad_scaler *s);
ISO_API double iso_grad_scaler_get_scale(const iso_grad_scaler *s);

/* What was found last, until the next unscale. */
typedef struct iso_grad_scaler_report {
  bool found;         /* a gradient was not finite: its step is skipped                        */
  const char *tensor; /* the first such parameter's name, in the optimiser's order             */
  int64_t element;    /* its first such element, row-major                                     */
  double value;       /* inf, −inf or NaN                                                      */
  double scale;       /* that the gradients were divided by                                    */
  uint64_t n_skipped; /* steps skipped since the scaler was made or its state set              */
} iso_grad_scaler_report;
ISO_API iso_grad_scaler_report iso_grad_scaler_get_report(const iso_grad_scaler *s);
/* The scaler's state as tensors that checkpoints save and load in place: "scale" (f64), "growth_tracker" and
 * "n_skipped" (i64), one element each. */
ISO_API const iso_named_tensor *iso_grad_scaler_state(iso_grad_scaler *s, size_t *n);

#ifdef __cplusplus
}
#endif
#endif
