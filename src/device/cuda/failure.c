/* failure.c: errors of a CUDA device's work: by whom they are met, whose they can be (launches.h), and what is left. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include "device/cuda/launches.h"
#include "device/cuda/state.h"

/* cuStreamWriteValue32 of the driver, which the runtime has no call for. */
typedef int write_value(cudaStream_t stream, uintptr_t address, uint32_t value, unsigned flags);
static write_value *writer;

bool iso__cuda_open_launches(iso__cuda_device *d) {
  if (!(d->launches = calloc(1, sizeof *d->launches))) return false;
  void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *ended = NULL;
  if (driver) *(void **)&writer = dlsym(driver, "cuStreamWriteValue32_v2");
  if (writer && cudaHostAlloc(&ended, sizeof(uint32_t), cudaHostAllocPortable | cudaHostAllocMapped) == cudaSuccess) {
    *(uint32_t *)ended = 0;
    d->launches->ended = ended;
  }
  (void)cudaGetLastError(); /* without, more names are listed */
  return true;
}

void iso__cuda_note(const iso__device *device, const char *what) {
  const iso__cuda_device *d = iso__cuda_device_of(device);
  uint32_t number;
  if (iso__cuda_captures(d)) return; /* launched when it is replayed */
  if (iso__launches_note(d->launches, what, &number)) writer(d->stream, (uintptr_t)d->launches->ended, number, 0);
}

/* After these nothing of the device can be used by this process; others are of the call that got them alone. */
static bool loses_device(cudaError_t error) {
  switch (error) {
  case cudaErrorIllegalAddress:
  case cudaErrorLaunchFailure:
  case cudaErrorLaunchTimeout:
  case cudaErrorMisalignedAddress:
  case cudaErrorIllegalInstruction:
  case cudaErrorInvalidAddressSpace:
  case cudaErrorInvalidPc:
  case cudaErrorHardwareStackError:
  case cudaErrorAssert:
  case cudaErrorECCUncorrectable:
  case cudaErrorUnknown: return true;
  default: return false;
  }
}

static void say(const iso__cuda_device *d, cudaError_t error, char *text, size_t n_bytes) {
  char where[200] = "";
  const bool lost = loses_device(error);
  if (lost) {
    atomic_store(&d->launches->is_lost, true);
    iso__launches_describe(d->launches, where, sizeof where);
  }
  snprintf(text, n_bytes, "%s (%s)%s%s%s", cudaGetErrorString(error), cudaGetErrorName(error), where[0] ? " " : "",
           where,
           lost ? "; the device is lost to this process, which must be started anew (CUDA_LAUNCH_BLOCKING=1: the error "
                  "comes with its launch)"
                : "");
}

void iso__cuda_explain(const iso__device *device, char *text, size_t n_bytes) {
  const iso__cuda_device *d = iso__cuda_device_of(device);
  const cudaError_t error = cudaStreamQuery(d->stream);
  if (error == cudaSuccess || error == cudaErrorNotReady) snprintf(text, n_bytes, "its work failed");
  else say(d, error, text, n_bytes);
}

void iso__cuda_keep_error(iso_context *ctx, const char *op, int error) {
  char text[420];
  if (!ctx->device) snprintf(text, sizeof text, "%s", cudaGetErrorString((cudaError_t)error));
  else say(iso__cuda_device_of(ctx->device), (cudaError_t)error, text, sizeof text);
  ISO__FAIL(ctx, iso__cuda_status((cudaError_t)error), op, "%s: %s", ctx->device ? ctx->device->name : "cuda", text);
}
