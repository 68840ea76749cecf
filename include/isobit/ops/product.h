/* ops/product.h: matrix products and convolutions. What holds for every operator: ops.h. */
#ifndef ISOBIT_OPS_PRODUCT_H
#define ISOBIT_OPS_PRODUCT_H
#include <isobit/tensor.h>
#ifdef __cplusplus
extern "C" {
#endif

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

/* ---- products of other forms; class `ordered` in their sums, gradients for all operands ---- */
/* β·c + α·product: each step rounded, those by 1 left out, c not read where β is 0. c expands to the product's shape,
 * else ISO_SHAPE_MISMATCH. Products: addmm (m,k)·(k,n); addmv (m,k)·(k); addr (m) outer (n); baddbmm (b,m,k)·(b,k,n);
 * addbmm Σ_b (b,m,k)·(b,k,n) → (m,n), k = (b, inner). */
ISO_API iso_tensor *iso_addmm(iso_context *ctx, const iso_tensor *c, const iso_tensor *a, const iso_tensor *b,
                              double beta, double alpha);
ISO_API iso_tensor *iso_addmv(iso_context *ctx, const iso_tensor *c, const iso_tensor *a, const iso_tensor *b,
                              double beta, double alpha);
ISO_API iso_tensor *iso_addr(iso_context *ctx, const iso_tensor *c, const iso_tensor *a, const iso_tensor *b,
                             double beta, double alpha);
ISO_API iso_tensor *iso_baddbmm(iso_context *ctx, const iso_tensor *c, const iso_tensor *a, const iso_tensor *b,
                                double beta, double alpha);
ISO_API iso_tensor *iso_addbmm(iso_context *ctx, const iso_tensor *c, const iso_tensor *a, const iso_tensor *b,
                               double beta, double alpha);
/* Σ a_i·b_i of two vectors (n) → (). */
ISO_API iso_tensor *iso_dot(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
/* Σ a·b along an axis of the two broadcast together; rounded products, summed as iso_sum does (class `lanes`). */
ISO_API iso_tensor *iso_vecdot(iso_context *ctx, const iso_tensor *a, const iso_tensor *b, int axis);
/* (m), (n) → (m,n). */
ISO_API iso_tensor *iso_outer(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
/* (…a,k), (…b,k) → (…a,…b); a scalar multiplies. */
ISO_API iso_tensor *iso_inner(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
/* Sums over n_axes pairs (axes_a[i], axes_b[i]) of equal extents, in the order named; the result has the free axes of
 * a, then of b. An axis named twice: ISO_INVALID_ARGUMENT. */
ISO_API iso_tensor *iso_tensordot(iso_context *ctx, const iso_tensor *a, const iso_tensor *b, int n_axes,
                                  const int *axes_a, const int *axes_b);
/* Kronecker product: extents multiply, missing leading ones are 1; at most four dimensions. */
ISO_API iso_tensor *iso_kron(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
/* factors[0]·…·factors[n−1], n from 2 to 256, matrices and vectors at the ends, associated so that the fewest
 * multiplications are done (of equals: split first). */
ISO_API iso_tensor *iso_multi_dot(iso_context *ctx, int n, const iso_tensor *const *factors);
/* x1 (…,in1), x2 (…,in2), w (out,in1,in2), bias (out) or NULL → Σ_ij x1_i·w_oij·x2_j + bias_o (…,out); the sum over i
 * is the inner one. */
ISO_API iso_tensor *iso_bilinear(iso_context *ctx, const iso_tensor *x1, const iso_tensor *x2, const iso_tensor *w,
                                 const iso_tensor *bias);

/* q (…,l,e), k (…,s,e), v (…,s,f) → softmax(q·kᵀ·scale + mask)·v (…,l,f); leading dimensions broadcast. f32, f64, f16
 * and bf16 (computed as f32, rounded once); class `attention.k64`. The weights are never stored: memory grows with l,
 * not with l·s. Strided views are read in place as long as columns are adjacent, so that heads are a view
 * (batch,heads,length,e) of (batch,length,heads·e); the result and the gradients lie in memory as their operand does.
 *
 * A key that a query does not see is absent: whatever q, k and v hold there, NaN too, changes no bit, forward or
 * backward; and neither does the number of absent keys behind the last. A row that attends to nothing is 0, with zero
 * gradients and a warning that names it. Gradients for q, k, v and an added mask (which takes l·s elements); of second
 * order by operators, in l·s elements. ISO_SHAPE_MISMATCH: shapes that do not fit. ISO_DTYPE_MISMATCH: a mask that is
 * neither bool nor of q's dtype. ISO_INVALID_ARGUMENT: a probability out of [0, 1], a length out of range. */
typedef struct iso_attention_options {
  const iso_tensor *mask; /* bool, true: attend; or of q's dtype, added to the scores; broadcast to (…,l,s) */
  bool causal;            /* position i attends to j ≤ i, of what the mask leaves                           */
  double scale;           /* 0: 1/√e */
  double dropout;         /* of the weights, with this probability */
  /* i64 or i32, (first leading dimension): keys from lengths[b] on are absent, queries from query_lengths[b] on attend
   * to nothing and are 0 without a warning. A padded batch attending to itself passes its lengths as both. */
  const iso_tensor *lengths, *query_lengths;
} iso_attention_options;
ISO_API iso_tensor *iso_scaled_dot_product_attention(iso_context *ctx, const iso_tensor *q, const iso_tensor *k,
                                                     const iso_tensor *v, const iso_attention_options *options);

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
 * an output_pad of stride + padding after or more, sizes of more than 2^31 − 1 positions or 2^46 elements.
 */
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

#ifdef __cplusplus
}
#endif
#endif
