/* state.h (this room's): an opened CUDA device. */
#ifndef ISO_DEVICE_CUDA_STATE_H
#define ISO_DEVICE_CUDA_STATE_H
#include <cuda_runtime_api.h>
#include "device/cuda/cuda.h"
#include "device/cuda/memory.h"

enum { ISO__MAX_CUDA_DEVICES = 16 };

typedef struct iso__cuda_device {
  iso__device row; /* first: a row's pointer is the device's */
  char name[32], model[256];
  cudaStream_t stream;
  cudaEvent_t begin, end; /* of what is timed */
  iso__cuda_cache *cache;
  int n_multiprocessors;
} iso__cuda_device;

static inline const iso__cuda_device *iso__cuda_device_of(const iso__device *device) {
  return (const iso__cuda_device *)(const void *)device;
}

/* Copies with casts between arrangements (copy.cu). */
iso_status iso__cuda_copy_strided(const iso__device *device, void *dst, const void *src, const iso__strided *form);
#endif
