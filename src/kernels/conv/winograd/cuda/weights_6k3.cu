/* weights_6k3.cu: weights.cuh for class winograd.6x6k3. */
#include "kernels/conv/winograd/cuda/weights.cuh"
ISO__WINO_CUDA_WEIGHTS(6k3)
