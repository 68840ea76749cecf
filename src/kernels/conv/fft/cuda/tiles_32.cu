/* tiles_32.cu: tiles.cuh for class fft.32. */
#include "kernels/conv/fft/cuda/tiles.cuh"
ISO__FFT_CUDA_KERNELS(32)
