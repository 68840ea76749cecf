/* sort.h (internal): rows to sort, and the one step of a sort that has a gradient. */
#ifndef ISO_OPS_SORT_SORT_H
#define ISO_OPS_SORT_SORT_H
#include "kernels/sort/sort.h"
#include "ops/ops.h"

/* x with its axis last and contiguous, recorded. */
typedef struct iso__rows {
  iso_tensor *x; /* (…,n) */
  int axis;
  bool scalar; /* x has no dimensions: as (1) here */
  int64_t rows, n;
} iso__rows;
/* False with the error kept. `x` is to be released. */
bool iso__rows_take(iso_context *ctx, const char *op, const iso_tensor *x, int axis, iso__rows *rows);
/* t (…,k) as a result: its last axis back in its place, or gone where `without_axis`. Ends t. */
iso_tensor *iso__rows_return(iso_context *ctx, const iso__rows *rows, iso_tensor *t, bool without_axis);

/* Places begin … begin+count−1 of the sort of rows: values, recorded, and *index. NULL after an error. */
iso_tensor *iso__sort_window(iso_context *ctx, const iso__rows *rows, int64_t begin, int64_t count, bool descending,
                             iso_tensor **index);
/* y[…,j] = x[…,index[…,j]]; both contiguous, index i64 (…,k) and within x. Recorded. Its gradient adds in ascending
 * order of j, from +0: up to 256 equal indices a row are class `ordered`. */
iso_tensor *iso__pick(iso_context *ctx, const iso_tensor *x, const iso_tensor *index);
/* A tensor of t's shape but for the last extent. */
iso_tensor *iso__rows_new(iso_context *ctx, const iso_tensor *t, iso_dtype dtype, int64_t n);
/* Values and index as results; the index is handed over, or ended where nobody wants it. Ends rows. */
iso_tensor *iso__rows_finish(iso_context *ctx, iso__rows *rows, iso_tensor *y, iso_tensor *index, bool without_axis,
                             iso_tensor **indices);
/* The window and its finish. */
iso_tensor *iso__rows_window(iso_context *ctx, iso__rows *rows, int64_t begin, int64_t count, bool descending,
                             bool without_axis, iso_tensor **indices);

/* i64 (bins): how often `number`, i64 contiguous, holds each. */
iso_tensor *iso__count(iso_context *ctx, const iso_tensor *number, int64_t bins);

/* The first NaN of n elements, −1: there is none. */
int64_t iso__first_nan(const void *x, iso_dtype dtype, int64_t n);
/* Whether elements i and j are equal: −0 equals +0, a NaN nothing. */
bool iso__elements_equal(const void *x, iso_dtype dtype, int64_t i, int64_t j);
#endif
