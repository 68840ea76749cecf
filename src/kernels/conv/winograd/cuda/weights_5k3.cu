/* weights_5k3.cu: weights.cuh for class winograd.5x5k3. */
#include "kernels/conv/winograd/cuda/weights.cuh"
ISO__WINO_CUDA_WEIGHTS(5k3)
