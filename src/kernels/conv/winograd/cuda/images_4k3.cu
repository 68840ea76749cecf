#include "kernels/conv/winograd/cuda/images.cuh"
ISO__WINO_CUDA_IMAGES(4k3)
