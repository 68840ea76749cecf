/* weights_2k5.cu: weights.cuh for class winograd.2x2k5. */
#include "kernels/conv/winograd/cuda/weights.cuh"
ISO__WINO_CUDA_WEIGHTS(2k5)
