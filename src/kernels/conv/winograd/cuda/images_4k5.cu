/* images_4k5.cu: images.cuh for class winograd.4x4k5. */
#include "kernels/conv/winograd/cuda/images.cuh"
ISO__WINO_CUDA_IMAGES(4k5)
