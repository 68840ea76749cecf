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

/* ---- random numbers: functions of (seed, step, leaf, site, element), never of threads ---- */
/* The context's optimiser steps so far; set when resuming. Setting it starts the sites again from 0. */
ISO_API uint32_t iso_random_step(const iso_context *ctx);
ISO_API void iso_random_set_step(iso_context *ctx, uint32_t step);
/* New tensors of stream "graph" at the next site: uniform in [a,b) = fma(b−a,u,a); normal fma(sd,z,mean); 1 with
 * probability p, else 0. No gradient. */
ISO_API iso_tensor *iso_random_uniform(iso_context *ctx, iso_dtype dtype, int n_dims, const int64_t *shape, double a,
                                       double b);
ISO_API iso_tensor *iso_random_normal(iso_context *ctx, iso_dtype dtype, int n_dims, const int64_t *shape, double mean,
                                      double sd);
ISO_API iso_tensor *iso_random_bernoulli(iso_context *ctx, iso_dtype dtype, int n_dims, const int64_t *shape, double p);
/* Fill t in place at a place of the caller's choice; element numbers are logical, whatever t's strides. */
ISO_API iso_status iso_fill_uniform(iso_tensor *t, const iso_philox *at, double a, double b);
ISO_API iso_status iso_fill_normal(iso_tensor *t, const iso_philox *at, double mean, double sd);

/* ---- pointwise, with broadcasting; gradients are summed back to each input's shape ---- */
ISO_API iso_tensor *iso_add(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
ISO_API iso_tensor *iso_sub(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
ISO_API iso_tensor *iso_mul(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
ISO_API iso_tensor *iso_div(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
ISO_API iso_tensor *iso_pow(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
/* NaN if either is; the gradient goes to the chosen one, of equals half to each. */
ISO_API iso_tensor *iso_maximum(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
ISO_API iso_tensor *iso_minimum(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
/* relu(a + b), the two roundings of the separate operators. */
ISO_API iso_tensor *iso_add_relu(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
/* 1 or 0 in the operands' dtype; no gradient. */
ISO_API iso_tensor *iso_eq(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
ISO_API iso_tensor *iso_ne(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
ISO_API iso_tensor *iso_lt(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
ISO_API iso_tensor *iso_le(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
ISO_API iso_tensor *iso_gt(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
ISO_API iso_tensor *iso_ge(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
/* condition ≠ 0 ? a : b; condition in the dtype of a and b. No gradient for condition. */
ISO_API iso_tensor *iso_where(iso_context *ctx, const iso_tensor *condition, const iso_tensor *a, const iso_tensor *b);

/* The scalar is rounded to the dtype once. */
ISO_API iso_tensor *iso_add_scalar(iso_context *ctx, const iso_tensor *x, double s);
ISO_API iso_tensor *iso_mul_scalar(iso_context *ctx, const iso_tensor *x, double s);
ISO_API iso_tensor *iso_rsub_scalar(iso_context *ctx, const iso_tensor *x, double s); /* s − x */
ISO_API iso_tensor *iso_div_scalar(iso_context *ctx, const iso_tensor *x, double s);  /* x / s */
ISO_API iso_tensor *iso_rdiv_scalar(iso_context *ctx, const iso_tensor *x, double s); /* s / x */
ISO_API iso_tensor *iso_pow_scalar(iso_context *ctx, const iso_tensor *x, double s);  /* x^s   */
/* min(max(x,low),high); a NaN stays; the gradient passes where low ≤ x ≤ high. */
ISO_API iso_tensor *iso_clamp(iso_context *ctx, const iso_tensor *x, double low, double high);

ISO_API iso_tensor *iso_neg(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_abs(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_sign(iso_context *ctx, const iso_tensor *x); /* no gradient */
ISO_API iso_tensor *iso_square(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_sqrt(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_rsqrt(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_reciprocal(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_exp(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_exp2(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_expm1(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_log(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_log2(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_log1p(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_erf(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_tanh(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_sigmoid(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_sinpi(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_cospi(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_relu(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_gelu(iso_context *ctx, const iso_tensor *x);      /* x·(1 + erf(x/√2))/2 */
ISO_API iso_tensor *iso_gelu_tanh(iso_context *ctx, const iso_tensor *x); /* its tanh approximation */
ISO_API iso_tensor *iso_silu(iso_context *ctx, const iso_tensor *x);      /* x·sigmoid(x) */
ISO_API iso_tensor *iso_softplus(iso_context *ctx, const iso_tensor *x);  /* log(1 + exp(x)) */

/* ---- reductions over any axes (negative: from the end; n_axes 0: all of them) ---- */
ISO_API iso_tensor *iso_sum(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims);
ISO_API iso_tensor *iso_mean(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims);
/* Σ(x−mean)²/(n − correction). */
ISO_API iso_tensor *iso_var(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims,
                            double correction);
ISO_API iso_tensor *iso_prod(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims);
/* Any NaN gives NaN. The gradient is shared equally by the elements that equal the result. Empty: ISO_INVALID_ARGUMENT.
 */
ISO_API iso_tensor *iso_amax(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims);
ISO_API iso_tensor *iso_amin(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims);
/* i64: the first NaN, else the lowest index of equals. No gradient. */
ISO_API iso_tensor *iso_argmax(iso_context *ctx, const iso_tensor *x, int axis, bool keep_dim);
ISO_API iso_tensor *iso_argmin(iso_context *ctx, const iso_tensor *x, int axis, bool keep_dim);
ISO_API iso_tensor *iso_sum_all(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_mean_all(iso_context *ctx, const iso_tensor *x);

/* ---- constant weights ---- */
/* Says that w's contents stay as they are: operators that read it as weights (linear, the second factor of matmul,
 * convolutions) then keep it beside it in the form their engine wants (packed, or transformed for Winograd and FFT),
 * made at first use and made again after a change. Costs memory of about w's size an operator and engine; never changes
 * bits. w must be a whole tensor, not a part of another's storage. For inference and frozen layers. */
ISO_API iso_status iso_tensor_pack(iso_tensor *w);
/* Frees what is kept and keeps nothing more. Not while another thread computes with w. */
ISO_API void iso_tensor_unpack(iso_tensor *w);
/* Bytes that are kept beside w now. */
ISO_API size_t iso_tensor_packed_bytes(const iso_tensor *w);

/* ---- products ---- */
/* (…,m,k)·(…,k,n) → (…,m,n); leading dimensions broadcast; 1-D operands are a row and a column whose dimension is
 * dropped again. Transposed views are read in place. Class `ordered`. */
ISO_API iso_tensor *iso_matmul(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
/* x (…,in), w (out,in), bias (out) or NULL → x·wᵀ + bias (…,out), then relu if asked. Gradients of w and bias: k = row.
 */
ISO_API iso_tensor *iso_linear(iso_context *ctx, const iso_tensor *x, const iso_tensor *w, const iso_tensor *bias,
                               bool relu);

/* ---- convolution (cross-correlation) of signals (N,C,L), images (N,C,H,W) and volumes (N,C,D,H,W) ----
 *
 * x (N,C,…), w (K,C/groups, kernel…), bias (K) or NULL → y (N,K,…), along each axis of extent
 *     (in + padding before and after − dilation·(kernel − 1) − 1)/stride + 1, rounded down.
 * Padding is real zeros: zero times an infinite weight is NaN. Transposed (the gradient of a convolution with respect
 * to its input): x (N,C,…), w (C,K/groups, kernel…), bias (K) or NULL → y (N,K,…) of extent (in − 1)·stride − padding
 * before and after + dilation·(kernel − 1) + 1 + output_pad. y is channels-last; x, w and residual are best so, others
 * are copied. Batch, channels and positions of x may be 0: y is then empty, or bias alone. Class by the rule, `ordered`
 * (docs/numerics.md): k = (kernel position, input channel); transposed: the taps of the position's stride phase, then
 * the channel of x. bias, residual and relu have the bits of iso_add and iso_relu. Gradients for x, w, bias and
 * residual. Operands may be the same tensor. ISO_SHAPE_MISMATCH: shapes that do not fit together, groups that do not
 * divide the channels, a kernel beyond the padded input. ISO_INVALID_ARGUMENT: a negative option or one above 2^31 − 1,
 * an output_pad of stride or more, sizes of more than 2^31 − 1 positions or 2^46 elements. */
/* Zero means the usual default: stride and dilation 1, padding 0, groups 1. */
typedef struct iso_conv1d_options {
  int64_t stride, pad, dilation, groups;
  const iso_tensor *residual;  /* y's shape: added after the bias                  */
  bool relu;                   /* applied last                                     */
  int64_t pad_left, pad_right; /* more padding of one side: pad + pad_left zeros … */
  int64_t output_pad;          /* transposed only: further results at the end      */
} iso_conv1d_options;
typedef struct iso_conv2d_options {
  int64_t stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups;
  const iso_tensor *residual;
  bool relu;
  int64_t pad_top, pad_bottom, pad_left, pad_right;
  int64_t output_pad_h, output_pad_w;
} iso_conv2d_options;
typedef struct iso_conv3d_options {
  int64_t stride_d, stride_h, stride_w, pad_d, pad_h, pad_w, dilation_d, dilation_h, dilation_w, groups;
  const iso_tensor *residual;
  bool relu;
  int64_t pad_front, pad_back, pad_top, pad_bottom, pad_left, pad_right;
  int64_t output_pad_d, output_pad_h, output_pad_w;
} iso_conv3d_options;
ISO_API iso_tensor *iso_conv1d(iso_context *ctx, const iso_tensor *x, const iso_tensor *w, const iso_tensor *bias,
                               const iso_conv1d_options *options);
ISO_API iso_tensor *iso_conv2d(iso_context *ctx, const iso_tensor *x, const iso_tensor *w, const iso_tensor *bias,
                               const iso_conv2d_options *options);
ISO_API iso_tensor *iso_conv3d(iso_context *ctx, const iso_tensor *x, const iso_tensor *w, const iso_tensor *bias,
                               const iso_conv3d_options *options);
ISO_API iso_tensor *iso_conv_transpose1d(iso_context *ctx, const iso_tensor *x, const iso_tensor *w,
                                         const iso_tensor *bias, const iso_conv1d_options *options);
ISO_API iso_tensor *iso_conv_transpose2d(iso_context *ctx, const iso_tensor *x, const iso_tensor *w,
                                         const iso_tensor *bias, const iso_conv2d_options *options);
ISO_API iso_tensor *iso_conv_transpose3d(iso_context *ctx, const iso_tensor *x, const iso_tensor *w,
                                         const iso_tensor *bias, const iso_conv3d_options *options);

/* ---- pooling of images (N,C,H,W) → (N,C,P,Q), channels-last; kernel 0 is an error, stride 0: the kernel ---- */
typedef struct iso_pool2d_options {
  int64_t kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w; /* padding at most half the kernel */
  bool count_padding;                                           /* average only: divide by the whole kernel */
} iso_pool2d_options;
/* A NaN wins, else the largest; ties go to the lowest (row, column), and so does the gradient. Not differentiable twice
 * with respect to the choice. */
ISO_API iso_tensor *iso_max_pool2d(iso_context *ctx, const iso_tensor *x, const iso_pool2d_options *options);
ISO_API iso_tensor *iso_avg_pool2d(iso_context *ctx, const iso_tensor *x, const iso_pool2d_options *options);
/* Mean over all positions: (N,C,H,W) → (N,C,1,1). */
ISO_API iso_tensor *iso_global_avg_pool2d(iso_context *ctx, const iso_tensor *x);

/* ---- normalisation and noise ---- */
typedef struct iso_batch_norm_options {
  bool training;   /* the batch's statistics, and the running ones are updated in place; else the running ones */
  double momentum; /* 0: 0.1; running = fma(momentum, stat − running, running), the variance's stat unbiased   */
  double eps;      /* 0: 1e-5 */
  const iso_tensor *residual; /* x's shape: added before the activation */
  bool relu;
} iso_batch_norm_options;
/* x (N,C), (N,C,L), (N,C,H,W) or (N,C,D,H,W); gamma, beta, running_mean, running_var (C). One value a channel in
 * training: ISO_INVALID_ARGUMENT. Gradients for x, gamma, beta, residual; they cannot be differentiated again. Class
 * `moments`.
 */
ISO_API iso_tensor *iso_batch_norm(iso_context *ctx, const iso_tensor *x, const iso_tensor *gamma,
                                   const iso_tensor *beta, iso_tensor *running_mean, iso_tensor *running_var,
                                   const iso_batch_norm_options *options);
/* Normalisation of each row by its own mean and variance; gamma and beta, either or both of them, may be NULL; eps 0:
 * 1e-5. Gradients for x, gamma and beta; they cannot be differentiated again. Class `lanes`, parameters' gradients
 * `ordered`: docs/numerics.md §5.
 * layer: rows are the last n_axes axes (at least 1) of x, whose extents gamma and beta have. rms: the same without a
 * mean (Zhang and Sennrich, 2019); eps 0: 1e-5, PyTorch's default is the dtype's epsilon. group: x (N,C,…), rows are a
 * sample's C/groups channels with all positions, gamma and beta (C). instance: groups = C. */
ISO_API iso_tensor *iso_layer_norm(iso_context *ctx, const iso_tensor *x, int n_axes, const iso_tensor *gamma,
                                   const iso_tensor *beta, double eps);
ISO_API iso_tensor *iso_rms_norm(iso_context *ctx, const iso_tensor *x, int n_axes, const iso_tensor *gamma,
                                 double eps);
ISO_API iso_tensor *iso_group_norm(iso_context *ctx, const iso_tensor *x, int64_t groups, const iso_tensor *gamma,
                                   const iso_tensor *beta, double eps);
ISO_API iso_tensor *iso_instance_norm(iso_context *ctx, const iso_tensor *x, const iso_tensor *gamma,
                                      const iso_tensor *beta, double eps);
/* Each element is zeroed with probability p, else scaled by 1/(1−p): p in [0,1). training false: x itself. */
ISO_API iso_tensor *iso_dropout(iso_context *ctx, const iso_tensor *x, double p, bool training);
ISO_API iso_tensor *iso_softmax(iso_context *ctx, const iso_tensor *x, int axis);
ISO_API iso_tensor *iso_log_softmax(iso_context *ctx, const iso_tensor *x, int axis);

/* ---- losses: one-element results ---- */
typedef struct iso_cross_entropy_options {
  const iso_tensor *weights; /* (classes), or NULL: 1 each                                           */
  double count;              /* divisor; 0: this call's own Σ w_t. Under leaves: the whole step's   */
} iso_cross_entropy_options;
/* logits (N,classes), target (N) i64 in [0,classes) → Σ_i −w_t·log_softmax(logits_i)[t_i] / count. A target out of
 * range is ISO_INVALID_ARGUMENT, naming position and value. options NULL: none set. Class `lanes`. */
ISO_API iso_tensor *iso_cross_entropy(iso_context *ctx, const iso_tensor *logits, const iso_tensor *target,
                                      const iso_cross_entropy_options *options);
/* Σ(a−b)²/count; count 0: the number of elements. */
ISO_API iso_tensor *iso_mse_loss(iso_context *ctx, const iso_tensor *a, const iso_tensor *b, double count);

/* ---- shape and storage; any dtype. Views share storage where they can; writing in place into a view of a recorded
 * tensor is noticed at backward ---- */
/* One extent may be −1: inferred. Logical order, so an image in channels-last storage is copied. */
ISO_API iso_tensor *iso_reshape(iso_context *ctx, const iso_tensor *x, int n_dims, const int64_t *shape);
ISO_API iso_tensor *iso_flatten(iso_context *ctx, const iso_tensor *x, int first_axis, int last_axis);
ISO_API iso_tensor *iso_squeeze(iso_context *ctx, const iso_tensor *x, int axis);
ISO_API iso_tensor *iso_unsqueeze(iso_context *ctx, const iso_tensor *x, int axis);
ISO_API iso_tensor *iso_permute(iso_context *ctx, const iso_tensor *x, const int *axes);
ISO_API iso_tensor *iso_transpose(iso_context *ctx, const iso_tensor *x, int axis_a, int axis_b);
/* Elements begin, begin+step, … before end of one axis; negative begin and end count from the end and are clipped. */
ISO_API iso_tensor *iso_slice(iso_context *ctx, const iso_tensor *x, int axis, int64_t begin, int64_t end,
                              int64_t step);
ISO_API iso_tensor *iso_select(iso_context *ctx, const iso_tensor *x, int axis, int64_t index);
/* Extents of 1, and new leading ones, are repeated without a copy. */
ISO_API iso_tensor *iso_expand(iso_context *ctx, const iso_tensor *x, int n_dims, const int64_t *shape);
ISO_API iso_tensor *iso_cat(iso_context *ctx, int n, const iso_tensor *const *parts, int axis);
ISO_API iso_tensor *iso_stack(iso_context *ctx, int n, const iso_tensor *const *parts, int axis);
/* x itself (another handle) if it already is. */
ISO_API iso_tensor *iso_contiguous(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_channels_last(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_clone(iso_context *ctx, const iso_tensor *x);
/* Rounds once; the gradient is cast back. Float to integer truncates and saturates, NaN gives 0: no gradient. */
ISO_API iso_tensor *iso_cast(iso_context *ctx, const iso_tensor *x, iso_dtype dtype);

/* ---- in place, for updates by hand: not recorded, so ISO_STATE on a tensor that wants a gradient unless under no_grad
 */
/* dst = fma(alpha, src, dst). */
ISO_API iso_status iso_accumulate(iso_tensor *dst, const iso_tensor *src, double alpha);

#ifdef __cplusplus
}
#endif
#endif
