/* product.h: batched products in class `ordered`, one chunk of the sum a slot, and the fold of slots: what the classes
 * of transformed tiles (Winograd, FFT) have between their transforms. C++ for .cu files. */
#ifndef ISO_KERNELS_CONV_WINOGRAD_CUDA_PRODUCT_H
#define ISO_KERNELS_CONV_WINOGRAD_CUDA_PRODUCT_H
#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

/* C[slot][e] = A[e]ᵀ·B[e] over terms slot·chunk … of k: a (e, k, m), b (e, k, n), c (slot, e, m, n); m and n are
 * multiples of four, chunk of 16; batch, the number of e, and of slots are at most 65535. No terms: one slot of zeros.
 *
 * a_in_rows: a is (e, m, k) with rows of whole float4 instead, zeros or anything finite behind k; any m.
 *
 * Complex: C = A·conj(B), two k a term: rows of a are real and imaginary parts in turn, b (e, k/2, n) and c have n/2
 * complex numbers a row; a column's real part is a chain over re·re, im·im, its imaginary part over re·(−im), im·re, by
 * term. */
struct iso__conv_cuda_product {
  const float *a, *b;
  float *c;
  int m, n, k, batch, chunk;
  bool complex, a_in_rows;
};
void iso__conv_cuda_multiply(const iso__conv_cuda_product *p, cudaStream_t stream);

/* Sums of chunks, `stride` floats from one to the next. */
struct iso__conv_cuda_slots {
  const float *sums;
  int n;
  size_t stride;
};

/* Folds a slice's chunk sums (n floats each, a multiple of four, one after the other) into total; first_chunk: their
 * number among all. A panel that the next slice continues waits in `panel`; NULL: slices end where panels do. */
void iso__conv_cuda_fold(const float *slots, int n_slots, size_t n, int64_t first_chunk, bool last, float *panel,
                         float *total, cudaStream_t stream);
#endif
