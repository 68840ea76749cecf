/* images_5k3.cu: images.cuh for class winograd.5x5k3. */
#include "kernels/conv/winograd/cuda/images.cuh"
ISO__WINO_CUDA_IMAGES(5k3)
