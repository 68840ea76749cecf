/* state.h (this room's): an opened CUDA device. */
#ifndef ISO_DEVICE_CUDA_STATE_H
#define ISO_DEVICE_CUDA_STATE_H
#include <cuda_runtime_api.h>
#include "device/cuda/cuda.h"
#include "device/cuda/memory.h"
#include "device/cuda/pool.h"

enum { ISO__MAX_CUDA_DEVICES = 16 };

/* What is being captured (graph.c). */
typedef struct iso__cuda_recording {
  char refusal[160]; /* the first thing met that cannot be captured; "": none yet */
} iso__cuda_recording;

typedef struct iso__cuda_device {
  iso__device row; /* first: a row's pointer is the device's */
  char name[32], model[256];
  cudaStream_t stream, beside; /* all work; copies from the host that run beside it */
  cudaStream_t recorder;       /* where a capture's work is recorded; nothing runs there */
  cudaEvent_t begin, end;      /* of what is timed */
  cudaEvent_t turn;            /* where the work stood when a copy beside it was asked for */
  iso__cuda_cache *cache, *pinned;
  iso__cuda_pools *pools;
  iso__cuda_recording *recording;
  void *landing;                  /* pinned: where small copies to the host land (device.c) */
  struct iso__launches *launches; /* launches.h, which is no C++ */
  int n_multiprocessors;
} iso__cuda_device;

/* Makes it the calling thread's current device: the runtime has one a thread. */
cudaError_t iso__cuda_select(int ordinal);
/* Where every use of a device begins. */
static inline const iso__cuda_device *iso__cuda_device_of(const iso__device *device) {
  iso__cuda_select(device->ordinal);
  return (const iso__cuda_device *)(const void *)device;
}

iso_status iso__cuda_status(cudaError_t error);
/* Launches are noted from here on (failure.c); false: no host memory. */
bool iso__cuda_open_launches(iso__cuda_device *d);

/* Events (event.c), and what is measured of the device itself (measure.cu). */
iso_status iso__cuda_event_init(const iso__device *device, iso__event *event);
void iso__cuda_event_release(const iso__device *device, iso__event *event);
iso_status iso__cuda_event_record(const iso__device *device, iso__event *event);
iso_status iso__cuda_event_elapsed(const iso__device *device, const iso__event *begin, const iso__event *end,
                                   double *ns);
int iso__cuda_count_launches(const iso__device *device, void (*run)(const void *arg), const void *arg);
void iso__cuda_delay(const iso__device *device, double ns);
double iso__cuda_event_overhead_ns(const iso__device *device);
double iso__cuda_peak_gflops(const iso__device *device, double slice_ms);
double iso__cuda_copy_gbs(const iso__device *device, double slice_ms);

/* ranges.c: sets both where a profiler listens; false: none does. The devices' mutex is held. */
bool iso__cuda_ranges(void (**range_push)(const char *name), void (**range_pop)(void));

/* Copies beside the other work (beside.c). */
iso_status iso__cuda_copy_beside(const iso__device *device, void *dst, const void *src, size_t n_bytes,
                                 iso__event *done);
iso_status iso__cuda_event_follow(const iso__device *device, const iso__event *event);
iso_status iso__cuda_event_wait(const iso__device *device, const iso__event *event);

/* Copies with casts between arrangements (copy.cu). */
iso_status iso__cuda_copy_strided(const iso__device *device, void *dst, const void *src, const iso__strided *form);
iso_status iso__cuda_fill(const iso__device *device, void *dst, const void *element, size_t item_bytes, int64_t n);

/* Whether this thread captures the device's work. */
bool iso__cuda_captures(const iso__cuda_device *d);
/* The same; then `what` is kept as the reason why that cannot be. */
bool iso__cuda_refuses(const iso__cuda_device *d, const char *what);
/* Where this thread's work goes: other threads' runs on while one captures. */
static inline cudaStream_t iso__cuda_stream_of(const iso__cuda_device *d) {
  return iso__cuda_captures(d) ? d->recorder : d->stream;
}
#endif
