/* tiles_48.cu: tiles.cuh for class fft.48. */
#include "kernels/conv/fft/cuda/tiles.cuh"
ISO__FFT_CUDA_KERNELS(48)
