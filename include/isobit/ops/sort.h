/* ops/sort.h: sorts, order statistics, unique elements, searches and histograms. What holds for every operator: ops.h.
 *
 * One order for all of them (class `stable`): NaN is the largest, all NaNs are equal, −0 equals +0, and of equals the
 * lower index comes first, whichever way the sort runs. f32, f64, f16, bf16, i64, i32, u8, bool unless said otherwise.
 * A tensor without dimensions counts as one of a single element (axis 0 or −1). Gradients reach the elements that were
 * picked. `indices` (may be NULL) receives an i64 tensor: places along the axis. */
#ifndef ISOBIT_OPS_SORT_H
#define ISOBIT_OPS_SORT_H
#include <isobit/tensor.h>
#ifdef __cplusplus
extern "C" {
#endif

/* x's elements along axis in order; same shape. */
ISO_API iso_tensor *iso_sort(iso_context *ctx, const iso_tensor *x, int axis, bool descending, iso_tensor **indices);
/* The places alone, i64. No gradient. */
ISO_API iso_tensor *iso_argsort(iso_context *ctx, const iso_tensor *x, int axis, bool descending);
/* Ascending along axis 0. */
ISO_API iso_tensor *iso_msort(iso_context *ctx, const iso_tensor *x);
/* The k largest (or smallest) along axis, in order. k beyond the extent: ISO_INVALID_ARGUMENT. */
ISO_API iso_tensor *iso_topk(iso_context *ctx, const iso_tensor *x, int64_t k, int axis, bool largest,
                             iso_tensor **indices);
/* The k-th smallest, k from 1. */
ISO_API iso_tensor *iso_kthvalue(iso_context *ctx, const iso_tensor *x, int64_t k, int axis, bool keep_dim,
                                 iso_tensor **indices);
/* The element at place ⌊(n−1)/2⌋ of the order; the first NaN if there is one. Empty rows: ISO_INVALID_ARGUMENT. */
ISO_API iso_tensor *iso_median(iso_context *ctx, const iso_tensor *x, int axis, bool keep_dim, iso_tensor **indices);
/* The same among those that are no NaN; a NaN where there is no other. */
ISO_API iso_tensor *iso_nanmedian(iso_context *ctx, const iso_tensor *x, int axis, bool keep_dim, iso_tensor **indices);
/* The most frequent element, of equally frequent ones the smallest, at the last of its places; NaNs differ from each
 * other. */
ISO_API iso_tensor *iso_mode(iso_context *ctx, const iso_tensor *x, int axis, bool keep_dim, iso_tensor **indices);

/* What a quantile between two elements is. */
typedef enum iso_quantile_rule {
  ISO_QUANTILE_LINEAR, /* a + w·(b − a), w the fraction of the rank */
  ISO_QUANTILE_LOWER,
  ISO_QUANTILE_HIGHER,
  ISO_QUANTILE_MIDPOINT, /* w = 1/2 between different places */
  ISO_QUANTILE_NEAREST,  /* the rank to nearest, halves to even */
} iso_quantile_rule;
/* x along axis at ranks q·(n−1), rounded in x's dtype, of the order → (n_q, …): the shape of x without axis, or with 1
 * there, behind n_q. f32, f64; 0 ≤ q ≤ 1. A row with a NaN gives NaN. */
ISO_API iso_tensor *iso_quantile(iso_context *ctx, const iso_tensor *x, int n_q, const double *q, int axis,
                                 bool keep_dim, iso_quantile_rule rule);
/* The same among those that are no NaN; NaN where there is no other. */
ISO_API iso_tensor *iso_nanquantile(iso_context *ctx, const iso_tensor *x, int n_q, const double *q, int axis,
                                    bool keep_dim, iso_quantile_rule rule);

/* ---- unique elements: ascending, without gradient. inverse (x's shape) and counts are i64 and may be NULL: where each
 * element of x went, and how many went there. NaNs differ from each other; of −0 and +0 the first stands ---- */
ISO_API iso_tensor *iso_unique(iso_context *ctx, const iso_tensor *x, iso_tensor **inverse, iso_tensor **counts);
/* Of slices along axis, in lexicographic order; inverse (extent of axis). */
ISO_API iso_tensor *iso_unique_along(iso_context *ctx, const iso_tensor *x, int axis, iso_tensor **inverse,
                                     iso_tensor **counts);
/* One of each run of equals, in the order they lie in. */
ISO_API iso_tensor *iso_unique_consecutive(iso_context *ctx, const iso_tensor *x, iso_tensor **inverse,
                                           iso_tensor **counts);
ISO_API iso_tensor *iso_unique_consecutive_along(iso_context *ctx, const iso_tensor *x, int axis, iso_tensor **inverse,
                                                 iso_tensor **counts);

/* ---- searches, without gradient ---- */
/* sorted (n), or (…,n) with values (…,m) → i64, the shape of values: how many elements of the row are less than the
 * value (`right`: or equal). sorter (NULL: none): i64, shape of sorted, element i of a row is sorted[sorter[i]]. */
ISO_API iso_tensor *iso_searchsorted(iso_context *ctx, const iso_tensor *sorted, const iso_tensor *values, bool right,
                                     const iso_tensor *sorter);
ISO_API iso_tensor *iso_bucketize(iso_context *ctx, const iso_tensor *x, const iso_tensor *boundaries, bool right);
/* bool, shape of elements: whether `among` holds the element (`invert`: whether not). A NaN is never held. */
ISO_API iso_tensor *iso_isin(iso_context *ctx, const iso_tensor *elements, const iso_tensor *among, bool invert);

/* ---- histograms, without gradient: counts are exact integers ---- */
/* x (n) of i64, i32, u8 → i64 (max(max x + 1, min_length)): how often each value is there. A negative one is
 * ISO_INVALID_ARGUMENT, naming place and value. */
ISO_API iso_tensor *iso_bincount(iso_context *ctx, const iso_tensor *x, int64_t min_length);
/* Counts, in x's dtype, of `bins` equal parts of [low, high]; low = high: of x's own range, widened by 1 each way where
 * that is empty. Bin ⌊(x − low)·bins/(high − low)⌋ in x's dtype, the last one closed; others and NaN are not counted.
 * f32, f64. */
ISO_API iso_tensor *iso_histc(iso_context *ctx, const iso_tensor *x, int64_t bins, double low, double high);
/* The bins + 1 edges of such parts, in x's dtype: low + i·step before the middle, high − (bins − i)·step behind it. An
 * empty range is widened by ½ each way; 0 to 1 where x has no elements. */
ISO_API iso_tensor *iso_histogram_edges(iso_context *ctx, const iso_tensor *x, int64_t bins, double low, double high);
/* Counts, in x's dtype, of edges[i] ≤ x < edges[i+1], the last bin closed. edges (bins + 1), ascending. weight (NULL: 1
 * each): x's number of elements, added up instead, class `ordered`. `density`: each divided by the total and by its
 * bin's width. */
ISO_API iso_tensor *iso_histogram(iso_context *ctx, const iso_tensor *x, const iso_tensor *edges,
                                  const iso_tensor *weight, bool density);
/* The same of points x (n,n_axes), edges[d] along axis d → (bins of axis 0, …). */
ISO_API iso_tensor *iso_histogramdd(iso_context *ctx, const iso_tensor *x, int n_axes, const iso_tensor *const *edges,
                                    const iso_tensor *weight, bool density);

#ifdef __cplusplus
}
#endif
#endif
