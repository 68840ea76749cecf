/* ops/shape.h: shape and storage. What holds for every operator: ops.h. */
#ifndef ISOBIT_OPS_SHAPE_H
#define ISOBIT_OPS_SHAPE_H
#include <isobit/tensor.h>
#ifdef __cplusplus
extern "C" {
#endif

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
/* x on a device ("cpu", "cuda:0", …; iso_context_set_device says which there are): a copy in x's storage order where
 * that is dense, else contiguous; an alias where x lies there already. Errors: the device's. Gradient: dy, on x's
 * device. */
ISO_API iso_tensor *iso_to(iso_context *ctx, const iso_tensor *x, const char *device);
/* Rounds once; the gradient is cast back. Float to integer truncates and saturates, NaN gives 0: no gradient. */
ISO_API iso_tensor *iso_cast(iso_context *ctx, const iso_tensor *x, iso_dtype dtype);

/* ---- more views ---- */
/* Elements of these axes in reverse (n_axes 0: of all): negative strides, no copy. */
ISO_API iso_tensor *iso_flip(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes);
/* A quarter turn, k times, from axis_a towards axis_b. */
ISO_API iso_tensor *iso_rot90(iso_context *ctx, const iso_tensor *x, int k, int axis_a, int axis_b);
/* (…,a,…,b,…) → (…,d): elements (i, i + offset) of the two axes; offset < 0: below the diagonal. */
ISO_API iso_tensor *iso_diagonal(iso_context *ctx, const iso_tensor *x, int64_t offset, int axis_a, int axis_b);
/* Axes from[i] move to the places to[i]; the others keep their order. */
ISO_API iso_tensor *iso_movedim(iso_context *ctx, const iso_tensor *x, int n, const int *from, const int *to);
/* One axis becomes n axes of these extents; one may be −1. */
ISO_API iso_tensor *iso_unflatten(iso_context *ctx, const iso_tensor *x, int axis, int n, const int64_t *shape);
/* Leading axes of extent 1 until there are n_dims (3 dims from 2: one behind, as PyTorch's atleast_3d has it). */
ISO_API iso_tensor *iso_atleast(iso_context *ctx, const iso_tensor *x, int n_dims);
/* Windows of `size` elements along an axis, `step` apart: (…,n,…) → (…,(n − size)/step + 1,…,size). The gradient adds
 * windows to +0 in ascending order. */
ISO_API iso_tensor *iso_unfold(iso_context *ctx, const iso_tensor *x, int axis, int64_t size, int64_t step);

/* ---- parts: handles in parts[0 … n−1], all NULL after an error ---- */
/* Parts of these sizes, which fill the axis. */
ISO_API iso_status iso_split_sizes(iso_context *ctx, const iso_tensor *x, int axis, int n, const int64_t *sizes,
                                   iso_tensor **parts);
/* n parts as even as can be, the first ones longer by one (PyTorch's tensor_split). */
ISO_API iso_status iso_split_evenly(iso_context *ctx, const iso_tensor *x, int axis, int n, iso_tensor **parts);
/* At most n parts of ceil(extent/n) elements (PyTorch's chunk); *n_parts, which may be NULL, says how many there are.
 */
ISO_API iso_status iso_chunk(iso_context *ctx, const iso_tensor *x, int axis, int n, iso_tensor **parts, int *n_parts);
/* Every element of an axis as a tensor without it; n is the extent. */
ISO_API iso_status iso_unbind(iso_context *ctx, const iso_tensor *x, int axis, int n, iso_tensor **parts);

/* ---- joining and repeating ---- */
/* cat along axis 1 (0 for vectors), 0 and 2 after iso_atleast of 1, 2 and 3; column_stack makes columns of vectors. */
ISO_API iso_tensor *iso_hstack(iso_context *ctx, int n, const iso_tensor *const *parts);
ISO_API iso_tensor *iso_vstack(iso_context *ctx, int n, const iso_tensor *const *parts);
ISO_API iso_tensor *iso_dstack(iso_context *ctx, int n, const iso_tensor *const *parts);
ISO_API iso_tensor *iso_column_stack(iso_context *ctx, int n, const iso_tensor *const *parts);
/* Matrices along the diagonal of a matrix of zeros; vectors are rows. */
ISO_API iso_tensor *iso_block_diag(iso_context *ctx, int n, const iso_tensor *const *parts);
/* x repeated counts[i] times along axis i, new leading axes for more counts than axes (n ≥ x's dimensions). */
ISO_API iso_tensor *iso_repeat(iso_context *ctx, const iso_tensor *x, int n, const int64_t *counts);
/* Each element of an axis `count` times in a row. */
ISO_API iso_tensor *iso_repeat_interleave(iso_context *ctx, const iso_tensor *x, int axis, int64_t count);
/* Element i counts[i] times: integers, (extent) or one for all. The gradient adds an element's copies in their order.
 */
ISO_API iso_tensor *iso_repeat_interleave_each(iso_context *ctx, const iso_tensor *x, int axis,
                                               const iso_tensor *counts);
/* All tensors of n vectors' grid, indexed by their order ("ij"), into grids[0 … n−1]. */
ISO_API iso_status iso_meshgrid(iso_context *ctx, int n, const iso_tensor *const *parts, iso_tensor **grids);
/* Elements move `shifts[i]` places along axes[i] and come in again at the other end. n 0 is refused; to roll the
 * flattened tensor, flatten it. */
ISO_API iso_tensor *iso_roll(iso_context *ctx, const iso_tensor *x, int n, const int64_t *shifts, const int *axes);

/* ---- padding ---- */
typedef enum iso_pad_mode {
  ISO_PAD_CONSTANT,
  ISO_PAD_REFLECT,   /* … 2 1 | 0 1 2 … : less than the extent */
  ISO_PAD_REPLICATE, /* … 0 0 | 0 1 2 … */
  ISO_PAD_CIRCULAR,  /* … 8 9 | 0 1 2 … : at most the extent */
} iso_pad_mode;
/* The last n_pads/2 axes get pads[2i] elements before and pads[2i+1] behind, i counted from the last axis (PyTorch's
 * order). Negative pads crop: circular ones first, else after the other side was padded. */
ISO_API iso_tensor *iso_pad(iso_context *ctx, const iso_tensor *x, int n_pads, const int64_t *pads, iso_pad_mode mode,
                            double value);

/* ---- triangles and diagonals ---- */
/* Elements above (tril), below (triu) the diagonal of the last two axes are zero; `diagonal` moves it to the right. */
ISO_API iso_tensor *iso_tril(iso_context *ctx, const iso_tensor *x, int64_t diagonal);
ISO_API iso_tensor *iso_triu(iso_context *ctx, const iso_tensor *x, int64_t diagonal);
/* (…,d) → (…,d+|offset|,d+|offset|), zero but for that diagonal, the two new axes at axis_a and axis_b. */
ISO_API iso_tensor *iso_diag_embed(iso_context *ctx, const iso_tensor *x, int64_t offset, int axis_a, int axis_b);
/* A vector's diagonal matrix, a matrix's diagonal. */
ISO_API iso_tensor *iso_diag(iso_context *ctx, const iso_tensor *x, int64_t offset);

/* ---- a part replaced: x's copy with `part` in the place that the view of that name shows ---- */
ISO_API iso_tensor *iso_slice_scatter(iso_context *ctx, const iso_tensor *x, const iso_tensor *part, int axis,
                                      int64_t begin, int64_t end, int64_t step);
ISO_API iso_tensor *iso_select_scatter(iso_context *ctx, const iso_tensor *x, const iso_tensor *part, int axis,
                                       int64_t index);
ISO_API iso_tensor *iso_diagonal_scatter(iso_context *ctx, const iso_tensor *x, const iso_tensor *part, int64_t offset,
                                         int axis_a, int axis_b);

/* ---- images ---- */
/* (…,C·r²,H,W) → (…,C,H·r,W·r) and back. */
ISO_API iso_tensor *iso_pixel_shuffle(iso_context *ctx, const iso_tensor *x, int64_t factor);
ISO_API iso_tensor *iso_pixel_unshuffle(iso_context *ctx, const iso_tensor *x, int64_t factor);
/* (N,C,…): channel g·(C/groups) + j goes to j·groups + g. */
ISO_API iso_tensor *iso_channel_shuffle(iso_context *ctx, const iso_tensor *x, int64_t groups);
typedef struct iso_im2col_options {
  int64_t kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w; /* 0: 1, padding 0 */
} iso_im2col_options;
/* (N,C,H,W) or (C,H,W) → (N,C·kernel_h·kernel_w,positions): the windows of a convolution as columns. */
ISO_API iso_tensor *iso_im2col(iso_context *ctx, const iso_tensor *x, const iso_im2col_options *options);
/* The adjoint: (N,C·kernel_h·kernel_w,positions) → (N,C,height,width): windows are added in ascending order, along
 * rows first, then down. */
ISO_API iso_tensor *iso_col2im(iso_context *ctx, const iso_tensor *x, int64_t height, int64_t width,
                               const iso_im2col_options *options);

/* ---- Einstein's summation ---- */
/* "bij,bjk->bik": letters name axes, "..." the broadcast rest; a letter that the result lacks is summed over; without
 * "->" the result has the letters that occur once, in alphabetical order. Operands are joined from left to right by
 * matrix products. Classes `ordered`, and `lanes` where a letter of one operand alone is summed first. */
ISO_API iso_tensor *iso_einsum(iso_context *ctx, const char *equation, int n, const iso_tensor *const *operands);

#ifdef __cplusplus
}
#endif
#endif
