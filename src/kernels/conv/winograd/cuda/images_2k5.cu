/* images_2k5.cu: images.cuh for class winograd.2x2k5. */
#include "kernels/conv/winograd/cuda/images.cuh"
ISO__WINO_CUDA_IMAGES(2k5)
