/* weights_4k5.cu: weights.cuh for class winograd.4x4k5. */
#include "kernels/conv/winograd/cuda/weights.cuh"
ISO__WINO_CUDA_WEIGHTS(4k5)
