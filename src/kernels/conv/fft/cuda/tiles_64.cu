/* tiles_64.cu: tiles.cuh for class fft.64. */
#include "kernels/conv/fft/cuda/tiles.cuh"
ISO__FFT_CUDA_KERNELS(64)
