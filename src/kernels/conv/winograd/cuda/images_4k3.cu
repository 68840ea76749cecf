/* images_4k3.cu: images.cuh for class winograd.4x4k3. */
#include "kernels/conv/winograd/cuda/images.cuh"
ISO__WINO_CUDA_IMAGES(4k3)
