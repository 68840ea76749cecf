/* images_6k3.cu: images.cuh for class winograd.6x6k3. */
#include "kernels/conv/winograd/cuda/images.cuh"
ISO__WINO_CUDA_IMAGES(6k3)
