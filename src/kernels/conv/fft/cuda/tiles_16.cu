/* tiles_16.cu: tiles.cuh for class fft.16. */
#include "kernels/conv/fft/cuda/tiles.cuh"
ISO__FFT_CUDA_KERNELS(16)
