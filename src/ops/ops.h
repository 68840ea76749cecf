/* ops.h (internal): what the operators' files share.
 *
 * An operator's file holds its shape rule, its forward (filling a kernel family's problem and calling iso__execute) and
 * its gradient rule, which ops.def names. */
#ifndef ISO_OPS_OPS_H
#define ISO_OPS_OPS_H
#include <isobit/ops.h>
#include "autograd/tape.h"
#include "kernels/map/map.h"
#include "ops/autocast.h"
#include "plan/plan.h"

typedef enum iso__rule_id {
#define TOPIC(...)
#define DOC(...)
#define OP(id, ...) ISO__RULE_##id,
#include "ops/ops.def"
#undef OP
  ISO__N_RULES
} iso__rule_id;
extern const iso__rule iso__rules[ISO__N_RULES];

#define ISO__TENSORS(...) ((const iso_tensor *const[]){__VA_ARGS__})

/* ---- arguments ---- */
/* False when the operator should return NULL: a failed context, a NULL argument, or one of another context (an error).
 */
bool iso__takes(iso_context *ctx, const char *op, int n, const iso_tensor *const *t);
/* And of one dtype out of the mask (ISO__DTYPE_BIT …); entries beyond the first may be NULL. */
bool iso__takes_dtypes(iso_context *ctx, const char *op, uint32_t dtypes, int n, const iso_tensor *const *t);
#define ISO__REAL_DTYPES (ISO__FLOAT_DTYPES | ISO__HALF_DTYPES)
#define ISO__INTEGER_DTYPES (ISO__DTYPE_BIT(ISO_I64) | ISO__DTYPE_BIT(ISO_I32) | ISO__DTYPE_BIT(ISO_U8))
#define ISO__ALL_DTYPES (ISO__REAL_DTYPES | ISO__INTEGER_DTYPES | ISO__DTYPE_BIT(ISO_BOOL))
/* The same with f32 and f64. */
bool iso__takes_floats(iso_context *ctx, const char *op, int n, const iso_tensor *const *t);
/* A negative axis counts from the end; −1 with the error kept when out of range. */
int iso__axis(iso_context *ctx, const char *op, const iso_tensor *t, int axis);
/* The status of a call that takes none of its arguments. */
static inline iso_status iso__refusal(const iso_context *ctx) {
  return ctx && ctx->error.code ? ctx->error.code : ISO_INVALID_ARGUMENT;
}
bool iso__same_shape(const iso__view *a, const iso__view *b);

/* Element i of contiguous f32 or f64 data. */
static inline double iso__real_at(const void *data, iso_dtype dtype, int64_t i) {
  return dtype == ISO_F64 ? ((const double *)data)[i] : (double)((const float *)data)[i];
}
static inline bool iso__is_half(iso_dtype dtype) { return dtype == ISO_F16 || dtype == ISO_BF16; }

/* ---- results ---- */
/* y, recorded under the rule if an input wants a gradient. `status` not OK, or no memory: y is released and NULL
 * returned. */
typedef struct iso__finish_options {
  const iso_tensor *const *inputs;
  const iso_tensor *const *saved;
  int n_inputs, n_saved;
  const void *attrs;
  size_t attr_bytes;
  iso_tensor *second, *third; /* more results that have gradients; NULL: none. Released with y */
} iso__finish_options;
iso_tensor *iso__finish(iso_context *ctx, iso_tensor *y, iso_status status, iso__rule_id rule,
                        const iso__finish_options *o);
/* Whether input i of an operator that is about to be recorded needs a gradient: what to save depends on it. */
static inline bool iso__saves_for(const iso_tensor *input) { return input && input->var; }
/* iso__execute where w, from its first element, is the problem's weights operand: uses what is kept beside a packed
 * one. */
iso_status iso__execute_with(iso_context *ctx, const iso__problem *problem, const void *args, const iso_tensor *w);
static inline void *iso__data(const iso_tensor *t) { return t ? iso__view_data(&t->view) : NULL; }
/* An operator written in others makes its intermediate handles in a scope of its own: iso__enter, compute, and return
 * iso__leave of the result. */
static inline void iso__enter(iso_context *ctx) { iso__operator_scope_push(ctx); }
static inline iso_tensor *iso__leave(iso_context *ctx, iso_tensor *result) {
  iso_escape(result);
  iso_scope_pop(ctx);
  return result;
}
/* relu(y), y released: of a half result, whose relu has the same bits before the rounding as after it, so that what its
 * gradient reads is saved as half. */
iso_tensor *iso__then_relu(iso_context *ctx, iso_tensor *y);
/* Ends an intermediate handle and passes the result on. */
static inline iso_tensor *iso__drop(iso_tensor *result, iso_tensor *intermediate) {
  iso_release(intermediate);
  return result;
}

/* ---- pointwise kernels without recording ---- */
/* fn of n broadcast inputs, into a new tensor, or into `out` (NULL: new) if that has the right shape. scalars: three,
 * or NULL for functions that read none. */
iso_tensor *iso__map(iso_context *ctx, const char *op, iso__map_fn fn, int n, const iso_tensor *const *in,
                     const double *scalars, iso_tensor *out);
/* An empty tensor for the result of broadcast inputs; strides of v as an operand of a result of that form. */
iso_tensor *iso__map_result(iso_context *ctx, const char *op, iso_dtype dtype, int n, const iso_tensor *const *in);
void iso__broadcast_strides(const iso__view *v, const iso__view *out, int64_t *strides);
/* The incoming gradient if the rule may overwrite it: nobody else sees it and it is dense. Else NULL. */
iso_tensor *iso__reusable_dy(const iso__gradient *g);

/* ---- gradients that several operators use ---- */
/* Sums a broadcast gradient back to the form of the operand (NUMERICS §3). */
iso_tensor *iso__sum_to(iso_context *ctx, iso_tensor *dy, const iso__view *form);
iso_tensor *iso__relu_bwd(iso_context *ctx, const iso_tensor *y, const iso_tensor *dy, iso_tensor *out);
iso_tensor *iso__sum_squares(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims);
/* A one-element tensor without dimensions. */
iso_tensor *iso__scalar(iso_context *ctx, iso_dtype dtype, double value);
/* Zeros of `form`'s shape with t in the slice. */
typedef struct iso__slice {
  int axis;
  int64_t begin, end, step;
} iso__slice;
iso_tensor *iso__slice_bwd(iso_context *ctx, const iso_tensor *t, const iso__view *form, const iso__slice *s);

/* Indices that lie on the context's device, which is not the CPU, as contiguous i64 there: checked by the device
 * (iso__index_check), without waiting unless nothing can be in range. */
iso_tensor *iso__indices_on_device(iso_context *ctx, const iso_tensor *index, const iso__index_check *check);
/* UNSUPPORTED, kept, where the context does not compute on the CPU: `what` is not there. Returns whether it does. */
bool iso__needs_cpu(iso_context *ctx, const char *op, const char *what);
/* Ends iso__host_enter: t, made on the CPU in between, on the context's device; a copy there, and t released, where
 * that is another. */
iso_tensor *iso__host_finish(iso_context *ctx, const iso__device *device, iso_tensor *t);

/* Contiguous, or channels-last, copies for kernels that need that order, with t's history: record and save them in the
 * place of t. NULL when t already lies so (or after an error). */
iso_tensor *iso__contiguous_copy(iso_context *ctx, const iso_tensor *t);
iso_tensor *iso__channels_last_copy(iso_context *ctx, const iso_tensor *t);

/* stress.c: what ISOBIT_STRESS says of this context. */
iso_status iso__stress_from_environment(iso_context *ctx);

#define OP(id, name, gradient, ...) void gradient(iso__gradient *g);
#include "ops/ops.def"
#undef OP
#undef TOPIC
#undef DOC
#endif
