/* beside.c: copies from pinned host memory on a stream of their own, beside the device's other work.
 *
 * Device memory is handed out again as soon as it is freed, since all work of a device is in one order: so a copy
 * begins behind what was given to the device before it was asked for, which may still use the block that it writes. */
#include "device/cuda/state.h"

iso_status iso__cuda_copy_beside(const iso__device *device, void *dst, const void *src, size_t n_bytes,
                                 iso__event *done) {
  const iso__cuda_device *d = iso__cuda_device_of(device);
  if (iso__cuda_refuses(d, "elements are copied from the host")) return ISO_UNSUPPORTED;
  cudaError_t error = cudaEventRecord(d->turn, d->stream);
  if (error == cudaSuccess) error = cudaStreamWaitEvent(d->beside, d->turn, 0);
  if (error == cudaSuccess && n_bytes) error = cudaMemcpyAsync(dst, src, n_bytes, cudaMemcpyHostToDevice, d->beside);
  if (error == cudaSuccess) error = cudaEventRecord(done->handle, d->beside);
  return iso__cuda_status(error);
}

iso_status iso__cuda_event_follow(const iso__device *device, const iso__event *event) {
  const iso__cuda_device *d = iso__cuda_device_of(device);
  if (iso__cuda_refuses(d, "a copy from the host is followed")) return ISO_UNSUPPORTED;
  return iso__cuda_status(cudaStreamWaitEvent(d->stream, event->handle, 0));
}

iso_status iso__cuda_event_wait(const iso__device *device, const iso__event *event) {
  (void)device;
  return iso__cuda_status(cudaEventSynchronize(event->handle));
}
