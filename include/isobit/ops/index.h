/* ops/index.h: elements and rows by index: gathers, scatters, embeddings, masks. What holds for every operator: ops.h.
 *
 * Index tensors are i64 or i32, of any strides. One that is out of range is ISO_INVALID_ARGUMENT, naming tensor,
 * position and value; where a comment says so, negative ones count from the end. Moving operators take every dtype.
 * Sums into one place are added in ascending order of their sources, chunk by chunk (class `ordered`,
 * docs/numerics.md), never by whoever comes first; where several sources overwrite one place the last one wins, and it
 * alone gets a gradient. Nothing here writes in place: x is copied. */
#ifndef ISOBIT_OPS_INDEX_H
#define ISOBIT_OPS_INDEX_H
#include <isobit/tensor.h>
#ifdef __cplusplus
extern "C" {
#endif

/* ---- picking ---- */
/* y[…,k,…] = x[…,index[…,k,…],…] along axis; index has x's number of axes and, but along axis, at most its extents; y
 * has index's shape. Gradient: ordered sums of dy at the index. */
ISO_API iso_tensor *iso_gather(iso_context *ctx, const iso_tensor *x, int axis, const iso_tensor *index);
/* The same with x and index broadcast to each other but along axis. */
ISO_API iso_tensor *iso_take_along_dim(iso_context *ctx, const iso_tensor *x, const iso_tensor *index, int axis);
/* y[…,k,…] = x[…,index[k],…]: whole slices; index (n) or one number. */
ISO_API iso_tensor *iso_index_select(iso_context *ctx, const iso_tensor *x, int axis, const iso_tensor *index);
/* Elements of x by row-major position, negative ones from the end; y has index's shape. */
ISO_API iso_tensor *iso_take(iso_context *ctx, const iso_tensor *x, const iso_tensor *index);
/* x[indices[0], indices[1], …]: one index tensor an axis, negative ones from the end, broadcast to one shape B; NULL:
 * the whole axis; a bool tensor stands for its positions, and for as many axes as it has. Axes that are not named are
 * whole. B comes where the indexed axes were if those are neighbours, else first. */
ISO_API iso_tensor *iso_index(iso_context *ctx, const iso_tensor *x, int n_indices, const iso_tensor *const *indices);
/* x's elements where the mask (bool; both broadcast) is true, in row-major order: (n). */
ISO_API iso_tensor *iso_masked_select(iso_context *ctx, const iso_tensor *x, const iso_tensor *mask);
/* Positions of what is not 0 (a NaN is not), in row-major order: i64 (n,axes). No gradient. */
ISO_API iso_tensor *iso_nonzero(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_argwhere(iso_context *ctx, const iso_tensor *x); /* the same */

/* ---- writing: a copy of x with src in the indexed places ---- */
/* y = x, then y[…,index[…,k,…],…] = src[…,k,…], ascending. index has at most src's extents and, but along axis, x's. */
ISO_API iso_tensor *iso_scatter(iso_context *ctx, const iso_tensor *x, int axis, const iso_tensor *index,
                                const iso_tensor *src);
ISO_API iso_tensor *iso_scatter_value(iso_context *ctx, const iso_tensor *x, int axis, const iso_tensor *index,
                                      double value);
/* y = x + ordered(src). Floats and integers (which wrap); f16 and bf16 are added in f32 and rounded once. */
ISO_API iso_tensor *iso_scatter_add(iso_context *ctx, const iso_tensor *x, int axis, const iso_tensor *index,
                                    const iso_tensor *src);
typedef enum iso_combine {
  ISO_COMBINE_SUM,
  ISO_COMBINE_MEAN, /* floats only */
  ISO_COMBINE_PROD,
  ISO_COMBINE_AMAX, /* any NaN gives NaN; the gradient is shared by the elements that equal the result */
  ISO_COMBINE_AMIN,
} iso_combine;
/* x takes part where include_x, else it only stays where nothing arrives. Products in the order of sums. */
ISO_API iso_tensor *iso_scatter_reduce(iso_context *ctx, const iso_tensor *x, int axis, const iso_tensor *index,
                                       const iso_tensor *src, iso_combine combine, bool include_x);
/* The same for whole slices: index (n) or one number, src[…,k,…] goes to y[…,index[k],…]. */
ISO_API iso_tensor *iso_index_copy(iso_context *ctx, const iso_tensor *x, int axis, const iso_tensor *index,
                                   const iso_tensor *src);
/* y = x + ordered(alpha·src), alpha·src rounded first where alpha is not 1. */
ISO_API iso_tensor *iso_index_add(iso_context *ctx, const iso_tensor *x, int axis, const iso_tensor *index,
                                  const iso_tensor *src, double alpha);
ISO_API iso_tensor *iso_index_reduce(iso_context *ctx, const iso_tensor *x, int axis, const iso_tensor *index,
                                     const iso_tensor *src, iso_combine combine, bool include_x);
ISO_API iso_tensor *iso_index_fill(iso_context *ctx, const iso_tensor *x, int axis, const iso_tensor *index,
                                   double value);
/* x[indices] = values, or += where accumulate; indices as in iso_index; values are broadcast. */
ISO_API iso_tensor *iso_index_put(iso_context *ctx, const iso_tensor *x, int n_indices,
                                  const iso_tensor *const *indices, const iso_tensor *values, bool accumulate);
/* By row-major position, negative ones from the end; src has as many elements as index. */
ISO_API iso_tensor *iso_put(iso_context *ctx, const iso_tensor *x, const iso_tensor *index, const iso_tensor *src,
                            bool accumulate);
/* The first elements of src, in order, where the mask (bool; broadcast with x) is true. */
ISO_API iso_tensor *iso_masked_scatter(iso_context *ctx, const iso_tensor *x, const iso_tensor *mask,
                                       const iso_tensor *src);

/* ---- counting ---- */
/* index (…) → i64 (…,n_classes) of zeros with 1 at the index; n_classes 0: the largest index + 1. */
ISO_API iso_tensor *iso_one_hot(iso_context *ctx, const iso_tensor *index, int64_t n_classes);
/* x (n) of integers ≥ 0 and weights (n) → the ordered sum of the weights at each number, in their dtype; as long as the
 * largest number + 1, at least min_length. Without weights: iso_bincount. */
ISO_API iso_tensor *iso_bincount_weighted(iso_context *ctx, const iso_tensor *x, const iso_tensor *weights,
                                          int64_t min_length);

/* ---- rows of a table ---- */
typedef struct iso_embedding_options {
  bool has_padding;
  int64_t padding;         /* with has_padding: this row's gradient is zero; negative: from the end      */
  bool scale_by_frequency; /* the gradient of a row is divided by how often the row occurs in this call */
} iso_embedding_options;
/* index (…), weights (rows,d) → (…,d). Gradient: ordered sums of dy's rows, in row-major order of index. options NULL:
 * none set. */
ISO_API iso_tensor *iso_embedding(iso_context *ctx, const iso_tensor *index, const iso_tensor *weights,
                                  const iso_embedding_options *options);
typedef enum iso_bag_mode { ISO_BAG_MEAN, ISO_BAG_SUM, ISO_BAG_MAX } iso_bag_mode;
typedef struct iso_embedding_bag_options {
  const iso_tensor *offsets; /* (bags), ascending from 0: where each bag begins in index (n); NULL: index is (bags,n) */
  const iso_tensor *per_sample_weights; /* of index's shape; sums only */
  iso_bag_mode mode;
  bool include_last_offset; /* offsets has one more entry, the end */
  bool has_padding;
  int64_t padding; /* such entries are absent */
} iso_embedding_bag_options;
/* Bags of rows: mean, sum by fma(weight, row, acc), or maximum. An empty bag is 0. Class `ordered`, maximum `extremum`,
 * whose gradient goes to the first NaN, else the first of equals. */
ISO_API iso_tensor *iso_embedding_bag(iso_context *ctx, const iso_tensor *index, const iso_tensor *weights,
                                      const iso_embedding_bag_options *options);
typedef struct iso_segment_options {
  const iso_tensor *lengths; /* (segments), or those of every row: x's axes before the reduced one, then segments */
  const iso_tensor *offsets; /* (segments+1), ascending from 0 to x's extent: one of the two */
  int axis;
  bool has_initial;
  double initial; /* takes part in every segment; a mean is (initial + sum)/count, initial where there is nothing */
} iso_segment_options;
/* Neighbouring slices of x reduced segment by segment; with one list of segments, slices behind the last are left out.
 * An empty segment: sum 0, product 1, mean NaN, amax −inf, amin +inf. */
ISO_API iso_tensor *iso_segment_reduce(iso_context *ctx, const iso_tensor *x, iso_combine combine,
                                       const iso_segment_options *options);

#ifdef __cplusplus
}
#endif
#endif
