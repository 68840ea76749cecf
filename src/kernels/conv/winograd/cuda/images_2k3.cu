#include "kernels/conv/winograd/cuda/images.cuh"
ISO__WINO_CUDA_IMAGES(2k3)
