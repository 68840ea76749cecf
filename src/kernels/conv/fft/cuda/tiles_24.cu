/* tiles_24.cu: tiles.cuh for class fft.24. */
#include "kernels/conv/fft/cuda/tiles.cuh"
ISO__FFT_CUDA_KERNELS(24)
