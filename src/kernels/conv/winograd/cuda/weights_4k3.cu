/* weights_4k3.cu: weights.cuh for class winograd.4x4k3. */
#include "kernels/conv/winograd/cuda/weights.cuh"
ISO__WINO_CUDA_WEIGHTS(4k3)
