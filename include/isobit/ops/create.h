/* ops/create.h: tensors made from numbers. What holds for every operator: ops.h. None has a gradient. Zeros, full and
 * uninitialised tensors, and copies of data: tensor.h. */
#ifndef ISOBIT_OPS_CREATE_H
#define ISOBIT_OPS_CREATE_H
#include <isobit/tensor.h>
#ifdef __cplusplus
extern "C" {
#endif

/* start, start + step, … before end: ceil((end − start)/step) elements, element i being start + i·step, two roundings
 * in f64, then one to the dtype (integers: exact in i64 while |value| ≤ 2^53). step 0, a wrong direction or a
 * non-finite number is ISO_INVALID_ARGUMENT. */
ISO_API iso_tensor *iso_arange(iso_context *ctx, iso_dtype dtype, double start, double end, double step);
/* n elements from start to end, both included: with step = (end − start)/(n − 1), start + i·step in the lower half,
 * end − (n − 1 − i)·step in the upper one, in f64. */
ISO_API iso_tensor *iso_linspace(iso_context *ctx, iso_dtype dtype, double start, double end, int64_t n);
/* base to the power of each element of that linspace, in f64. */
ISO_API iso_tensor *iso_logspace(iso_context *ctx, iso_dtype dtype, double start, double end, int64_t n, double base);
/* (rows,columns) with ones on the diagonal. */
ISO_API iso_tensor *iso_eye(iso_context *ctx, iso_dtype dtype, int64_t rows, int64_t columns);
/* x's shape and dtype (and storage order), every element = value. */
ISO_API iso_tensor *iso_full_like(iso_context *ctx, const iso_tensor *x, double value);
/* The same, uninitialised. */
ISO_API iso_tensor *iso_empty_like(iso_context *ctx, const iso_tensor *x);
/* i64 (2,n): row and column numbers of the elements that iso_tril and iso_triu leave, in row-major order. */
ISO_API iso_tensor *iso_tril_indices(iso_context *ctx, int64_t rows, int64_t columns, int64_t diagonal);
ISO_API iso_tensor *iso_triu_indices(iso_context *ctx, int64_t rows, int64_t columns, int64_t diagonal);

#ifdef __cplusplus
}
#endif
#endif
