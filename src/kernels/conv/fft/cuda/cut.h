/* cut.h: how an FFT convolution is cut for a CUDA device: geometry, slices, workspace. Plain C, of no effect on bits.
 *
 * Spectra, one complex product a frequency f (column u, row v of a spectrum: u·N + v), and back. Rows are complex
 * numbers, along channels as in the tensors; but dy's have real and imaginary parts in rows of their own (product.h).
 * In floats, K and C twice the channels, K' the channels, in whole float4:
 *
 *   forward, backward to the data        u (group, f, c, K)   the kernel: what is kept
 *                                        a (group, f, tile, C)   windows of a slice of tiles
 *                                        m (chunk, group, f, tile, K)   sums of chunks
 *   backward to the weights              a (group, f, 2tile, K')   tiles of dy; b (group, f, tile, C)   windows of x
 *                                        m (chunk, group, f, K', C)   sums of the slice's chunks
 *                                        panel, total (group, f, K', C)   what the slices before left */
#ifndef ISO_KERNELS_CONV_FFT_CUDA_CUT_H
#define ISO_KERNELS_CONV_FFT_CUDA_CUT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct iso__fft_cuda_axis {
  int image, outputs, kernel, pad, step, n_tiles; /* fft.h's iso__fft_axis */
} iso__fft_cuda_axis;

typedef struct iso__fft_cuda_cut {
  int n, frequencies;
  iso__fft_cuda_axis row, col;
  int groups, from, to; /* channels of a group: the image's, the outputs' */
  bool turned;          /* backward to the data */
  float scale;
  int64_t tiles;
  int slab, slice, slots;                    /* groups and tiles at once; chunks of a slice's products, at least 1 */
  int left, right;                           /* rows and columns of the products: tiles and K, or K' and C */
  size_t u, a, b, m, panel, total, n_floats; /* in the workspace, in floats */
  size_t u_floats;
} iso__fft_cuda_cut;

struct iso_conv_problem;
#ifdef __cplusplus
extern "C" {
#endif
iso__fft_cuda_cut iso__fft_cuda_cut_images(const struct iso_conv_problem *p, int n);
iso__fft_cuda_cut iso__fft_cuda_cut_weights(const struct iso_conv_problem *p, int n);
#ifdef __cplusplus
}
#endif
#endif
