/* images_2k3.cu: images.cuh for class winograd.2x2k3. */
#include "kernels/conv/winograd/cuda/images.cuh"
ISO__WINO_CUDA_IMAGES(2k3)
