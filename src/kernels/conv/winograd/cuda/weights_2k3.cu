/* weights_2k3.cu: weights.cuh for class winograd.2x2k3. */
#include "kernels/conv/winograd/cuda/weights.cuh"
ISO__WINO_CUDA_WEIGHTS(2k3)
