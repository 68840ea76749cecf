/* event.c: events of a CUDA device, and how many kernels a piece of work launches. */
#include "device/cuda/state.h"

iso_status iso__cuda_event_init(const iso__device *device, iso__event *event) {
  (void)device;
  *event = (iso__event){0};
  cudaEvent_t e;
  const cudaError_t error = cudaEventCreate(&e);
  if (error == cudaSuccess) event->handle = e;
  return iso__cuda_status(error);
}

void iso__cuda_event_release(const iso__device *device, iso__event *event) {
  (void)device;
  if (event->handle) cudaEventDestroy(event->handle);
  event->handle = NULL;
}

iso_status iso__cuda_event_record(const iso__device *device, iso__event *event) {
  const iso__cuda_device *d = iso__cuda_device_of(device);
  if (iso__cuda_refuses(d, "an event is recorded")) return ISO_UNSUPPORTED;
  return iso__cuda_status(cudaEventRecord(event->handle, d->stream));
}

iso_status iso__cuda_event_elapsed(const iso__device *device, const iso__event *begin, const iso__event *end,
                                   double *ns) {
  (void)device;
  float ms = 0;
  cudaError_t error = cudaEventSynchronize(begin->handle);
  if (error == cudaSuccess) error = cudaEventSynchronize(end->handle);
  if (error == cudaSuccess) error = cudaEventElapsedTime(&ms, begin->handle, end->handle);
  *ns = 1e6 * (double)ms;
  return iso__cuda_status(error);
}

/* A captured run is not executed; its graph has a node a kernel, copy or fill. */
int iso__cuda_count_launches(const iso__device *device, void (*run)(const void *arg), const void *arg) {
  const cudaStream_t stream = iso__cuda_stream_of(iso__cuda_device_of(device));
  cudaGraph_t graph = NULL;
  size_t n = 0;
  if (cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess) {
    run(arg);
    if (cudaStreamEndCapture(stream, &graph) != cudaSuccess || cudaGraphGetNodes(graph, NULL, &n) != cudaSuccess) n = 0;
  }
  if (graph) cudaGraphDestroy(graph);
  (void)cudaGetLastError(); /* what cannot be captured is not counted */
  return (int)n;
}
