/* device.c: CUDA devices: opened once a process, one stream each, so that all work of a device is in one order.
 *
 * The runtime is linked statically and looks for the driver when it is first called: without one, opening says so. */
#include "device/cuda/indices.h"
#include "device/cuda/launches.h"
#include "device/cuda/state.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static iso__cuda_device *opened[ISO__MAX_CUDA_DEVICES];
static atomic_uint_fast64_t n_waits[ISO__MAX_CUDA_DEVICES];

enum { LANDING_BYTES = 4096 };

/* ---- the row ---- */

iso_status iso__cuda_status(cudaError_t error) {
  return error == cudaSuccess ? ISO_OK : error == cudaErrorMemoryAllocation ? ISO_OUT_OF_MEMORY : ISO_DEVICE_ERROR;
}

cudaError_t iso__cuda_select(int ordinal) {
  static _Thread_local int current = -1;
  if (current == ordinal) return cudaSuccess;
  const cudaError_t error = cudaSetDevice(ordinal);
  current = error == cudaSuccess ? ordinal : -1;
  return error;
}

static cudaError_t wait_for(const iso__cuda_device *d) {
  atomic_fetch_add_explicit(&n_waits[d->row.ordinal], 1, memory_order_relaxed);
  return cudaStreamSynchronize(d->stream);
}

static uint64_t cuda_n_waits(const iso__device *device) {
  return atomic_load_explicit(&n_waits[device->ordinal], memory_order_relaxed);
}

static void *cuda_alloc(const iso__device *device, iso__heap *heap, size_t n_bytes, iso_status *status) {
  return iso__cuda_pools_alloc(iso__cuda_device_of(device)->pools, n_bytes, iso__heap_info(heap).limit_bytes, status);
}

static void *cuda_alloc_pinned(const iso__device *device, size_t n_bytes, iso_status *status) {
  return iso__cuda_pools_alloc_pinned(iso__cuda_device_of(device)->pools, n_bytes, status);
}

static void cuda_free(const iso__device *device, iso__heap *heap, void *block, size_t n_bytes) {
  (void)heap, (void)n_bytes;
  iso__cuda_pools_release(iso__cuda_device_of(device)->pools, block);
}

static enum cudaMemoryType type_of(const void *p, cudaError_t *error) {
  struct cudaPointerAttributes of = {.type = cudaMemoryTypeUnregistered};
  if (*error == cudaSuccess) *error = cudaPointerGetAttributes(&of, p);
  return of.type;
}

/* Between memory that the device reaches: for a few bytes a kernel is faster than the copy engine. */
static iso_status copy_by_kernel(const iso__cuda_device *d, void *dst, const void *src, size_t n_bytes) {
  const iso__strided bytes = {.n_dims = 1,
                              .shape = {(int64_t)n_bytes},
                              .dst_strides = {1},
                              .src_strides = {1},
                              .dst_dtype = ISO_U8,
                              .src_dtype = ISO_U8};
  return iso__cuda_copy_strided(&d->row, dst, src, &bytes);
}

/* By way of pinned memory: the driver's own way for pageable memory takes longer. */
static iso_status copy_small_to_host(const iso__cuda_device *d, void *dst, const void *src, size_t n_bytes) {
  static pthread_mutex_t landing = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&landing);
  iso_status status = copy_by_kernel(d, d->landing, src, n_bytes);
  if (status == ISO_OK) status = iso__cuda_status(wait_for(d));
  if (status == ISO_OK) memcpy(dst, d->landing, n_bytes);
  pthread_mutex_unlock(&landing);
  return status;
}

/* What a capture can record: copies inside the device, and into pinned memory, where they are after a replay. What is
 * refused leaves zeros on the host, not whatever lay there. */
static iso_status copy_captured(const iso__cuda_device *d, void *dst, const void *src, size_t n_bytes,
                                enum cudaMemoryType to, enum cudaMemoryType from) {
  if (from == cudaMemoryTypeDevice && to == cudaMemoryTypeHost && n_bytes <= LANDING_BYTES)
    return copy_by_kernel(d, dst, src, n_bytes);
  if (from == cudaMemoryTypeDevice && (to == cudaMemoryTypeDevice || to == cudaMemoryTypeHost))
    return iso__cuda_status(cudaMemcpyAsync(dst, src, n_bytes, cudaMemcpyDefault, d->recorder));
  iso__cuda_refuses(d, "elements are copied between host and device");
  if (to != cudaMemoryTypeDevice) memset(dst, 0, n_bytes);
  return ISO_UNSUPPORTED;
}

/* Pageable host memory makes the copy wait by itself; pinned memory does not, and the host may then change or free it:
 * so the stream is waited for unless both sides are the device's. */
static iso_status cuda_copy(const iso__device *device, void *dst, const void *src, size_t n_bytes) {
  const iso__cuda_device *d = iso__cuda_device_of(device);
  if (!n_bytes) return ISO_OK;
  cudaError_t error = cudaSuccess;
  const enum cudaMemoryType from = type_of(src, &error), to = type_of(dst, &error);
  if (error != cudaSuccess) return iso__cuda_status(error);
  if (iso__cuda_captures(d)) return copy_captured(d, dst, src, n_bytes, to, from);
  if (from == cudaMemoryTypeDevice && to != cudaMemoryTypeDevice && n_bytes <= LANDING_BYTES)
    return copy_small_to_host(d, dst, src, n_bytes);
  error = cudaMemcpyAsync(dst, src, n_bytes, cudaMemcpyDefault, d->stream);
  if (error == cudaSuccess && (from != cudaMemoryTypeDevice || to != cudaMemoryTypeDevice)) error = wait_for(d);
  return iso__cuda_status(error);
}

static iso_status cuda_zero(const iso__device *device, void *dst, size_t n_bytes) {
  const cudaStream_t stream = iso__cuda_stream_of(iso__cuda_device_of(device));
  return n_bytes ? iso__cuda_status(cudaMemsetAsync(dst, 0, n_bytes, stream)) : ISO_OK;
}

static iso_status cuda_synchronize(const iso__device *device) {
  const iso__cuda_device *d = iso__cuda_device_of(device);
  if (iso__cuda_refuses(d, "the host waits for the device")) return ISO_UNSUPPORTED;
  return iso__cuda_status(wait_for(d));
}

/* ms that n runs take between two events; −1: the device failed. */
static float time_runs(const iso__cuda_device *d, void (*run)(const void *arg), const void *arg, int n) {
  float ms = -1;
  cudaEventRecord(d->begin, d->stream);
  for (int i = 0; i < n; i++) run(arg);
  cudaEventRecord(d->end, d->stream);
  const bool ok =
      cudaEventSynchronize(d->end) == cudaSuccess && cudaEventElapsedTime(&ms, d->begin, d->end) == cudaSuccess;
  return ok ? ms : -1;
}

/* A run by itself also waits for its launch, on a clock that may rest: short ones are repeated back to back. */
static double cuda_time(const iso__device *device, void (*run)(const void *arg), const void *arg) {
  enum { MOST_RUNS = 50 };
  static const float enough_ms = 1;
  const iso__cuda_device *d = iso__cuda_device_of(device);
  if (iso__cuda_refuses(d, "work is timed")) return -1;
  float ms = time_runs(d, run, arg, 1);
  const int n = ms > 0 && ms < enough_ms ? (int)(enough_ms / ms) + 1 : 1;
  const int runs = n < MOST_RUNS ? n : MOST_RUNS;
  if (ms >= 0 && runs > 1) ms = time_runs(d, run, arg, runs) / (float)runs;
  return ms < 0 ? -1 : 1e6 * (double)ms;
}

/* ---- opening ---- */

static void *take_segment(void *user, size_t n_bytes) {
  (void)user;
  void *segment = NULL;
  if (cudaMalloc(&segment, n_bytes) == cudaSuccess) return segment;
  (void)cudaGetLastError(); /* told by NULL */
  return NULL;
}
static void give_segment(void *user, void *segment) {
  (void)user;
  cudaFree(segment); /* waits for what is under way */
}

static void *take_pinned(void *user, size_t n_bytes) {
  (void)user;
  void *segment = NULL;
  if (cudaHostAlloc(&segment, n_bytes, cudaHostAllocPortable) == cudaSuccess) return segment;
  (void)cudaGetLastError(); /* told by NULL */
  return NULL;
}
static void give_pinned(void *user, void *segment) {
  (void)user;
  cudaFreeHost(segment);
}

static const iso__cuda_source driver = {.take = take_segment, .give = give_segment};
static const iso__cuda_source host_driver = {.take = take_pinned, .give = give_pinned};

static iso_status refuse(int ordinal, cudaError_t error, const char *step, char *why, size_t n_bytes) {
  snprintf(why, n_bytes, "cuda:%d: %s: %s (%s); 'isobit doctor' goes through what is needed", ordinal, step,
           cudaGetErrorString(error), cudaGetErrorName(error));
  (void)cudaGetLastError();
  return ISO_UNSUPPORTED;
}

/* What opening got before it failed. */
static void close_device(iso__cuda_device *d) {
  if (d->landing) iso__cuda_cache_release(d->pinned, d->landing);
  free(d->recording);
  if (d->launches) cudaFreeHost((void *)(uintptr_t)d->launches->ended);
  free(d->launches);
  iso__cuda_pools_free(d->pools);
  iso__cuda_cache_free(d->pinned);
  iso__cuda_cache_free(d->cache);
  const cudaEvent_t events[] = {d->begin, d->end, d->turn};
  for (int i = 0; i < 3; i++)
    if (events[i]) cudaEventDestroy(events[i]);
  if (d->recorder) cudaStreamDestroy(d->recorder);
  if (d->beside) cudaStreamDestroy(d->beside);
  if (d->stream) cudaStreamDestroy(d->stream);
  *d = (iso__cuda_device){0};
}

static iso_status open_device(int ordinal, iso__cuda_device *d, char *why, size_t n_bytes) {
  int n_devices = 0, major = 0, minor = 0;
  cudaError_t error = cudaGetDeviceCount(&n_devices);
  if (error != cudaSuccess) return refuse(ordinal, error, "no CUDA device can be used", why, n_bytes);
  if (ordinal >= n_devices) {
    snprintf(why, n_bytes, "cuda:%d: there %s %d CUDA device%s", ordinal, n_devices == 1 ? "is" : "are", n_devices,
             n_devices == 1 ? "" : "s");
    return ISO_NOT_FOUND;
  }
  if ((error = iso__cuda_select(ordinal)) != cudaSuccess) return refuse(ordinal, error, "selecting it", why, n_bytes);
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, ordinal);
  cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, ordinal);
  if (10 * major + minor < 75) {
    snprintf(why, n_bytes, "cuda:%d has compute capability %d.%d: unsupported, needs 7.5 (Turing) or later", ordinal,
             major, minor);
    return ISO_UNSUPPORTED;
  }
  struct cudaDeviceProp properties;
  if (cudaGetDeviceProperties(&properties, ordinal) == cudaSuccess)
    snprintf(d->model, sizeof d->model, "%s", properties.name);
  cudaDeviceGetAttribute(&d->n_multiprocessors, cudaDevAttrMultiProcessorCount, ordinal);
  error = cudaStreamCreateWithFlags(&d->stream, cudaStreamNonBlocking);
  if (error != cudaSuccess) return refuse(ordinal, error, "making a stream", why, n_bytes);
  error = cudaStreamCreateWithFlags(&d->beside, cudaStreamNonBlocking);
  if (error != cudaSuccess) return refuse(ordinal, error, "making a stream for copies", why, n_bytes);
  error = cudaStreamCreateWithFlags(&d->recorder, cudaStreamNonBlocking);
  if (error != cudaSuccess) return refuse(ordinal, error, "making a stream for captures", why, n_bytes);
  if ((error = cudaEventCreateWithFlags(&d->turn, cudaEventDisableTiming)) != cudaSuccess)
    return refuse(ordinal, error, "making events", why, n_bytes);
  if ((error = cudaEventCreate(&d->begin)) != cudaSuccess || (error = cudaEventCreate(&d->end)) != cudaSuccess)
    return refuse(ordinal, error, "making events", why, n_bytes);
  if ((d->cache = iso__cuda_cache_new(&driver)) && (d->pinned = iso__cuda_cache_new(&host_driver)) &&
      (d->pools = iso__cuda_pools_new(d->cache, d->pinned)) && (d->recording = calloc(1, sizeof *d->recording)) &&
      iso__cuda_open_launches(d) && (d->landing = iso__cuda_cache_alloc(d->pinned, LANDING_BYTES, 0, NULL)))
    return ISO_OK;
  snprintf(why, n_bytes, "cuda:%d: no memory on the host, or none that can be pinned ('ulimit -l' says how much)",
           ordinal);
  return ISO_OUT_OF_MEMORY;
}

iso_status iso__cuda_open(int ordinal, const iso__device **device, char *why, size_t n_bytes) {
  static iso__cuda_device devices[ISO__MAX_CUDA_DEVICES];
  if (ordinal >= ISO__MAX_CUDA_DEVICES) {
    snprintf(why, n_bytes, "cuda:%d: devices up to cuda:%d are possible", ordinal, ISO__MAX_CUDA_DEVICES - 1);
    return ISO_INVALID_ARGUMENT;
  }
  iso_status status = ISO_OK;
  pthread_mutex_lock(&mutex);
  iso__cuda_device *d = &devices[ordinal];
  if (!opened[ordinal] && (status = open_device(ordinal, d, why, n_bytes)) == ISO_OK) {
    snprintf(d->name, sizeof d->name, "cuda:%d", ordinal);
    d->row = (iso__device){.name = d->name,
                           .isa = ISO_ISA_CUDA,
                           .ordinal = ordinal,
                           .model = d->model,
                           .alloc = cuda_alloc,
                           .alloc_pinned = cuda_alloc_pinned,
                           .free = cuda_free,
                           .copy = cuda_copy,
                           .zero = cuda_zero,
                           .copy_strided = iso__cuda_copy_strided,
                           .fill = iso__cuda_fill,
                           .synchronize = cuda_synchronize,
                           .time = cuda_time,
                           .event_init = iso__cuda_event_init,
                           .event_release = iso__cuda_event_release,
                           .event_record = iso__cuda_event_record,
                           .event_elapsed = iso__cuda_event_elapsed,
                           .copy_beside = iso__cuda_copy_beside,
                           .event_follow = iso__cuda_event_follow,
                           .event_wait = iso__cuda_event_wait,
                           .n_waits = cuda_n_waits,
                           .delay = iso__cuda_delay,
                           .count_launches = iso__cuda_count_launches,
                           .event_overhead_ns = iso__cuda_event_overhead_ns,
                           .peak_gflops = iso__cuda_peak_gflops,
                           .copy_gbs = iso__cuda_copy_gbs,
                           .check_indices = iso__cuda_check_indices,
                           .collect = iso__cuda_collect,
                           .width = d->n_multiprocessors};
    iso__cuda_ranges(&d->row.range_push, &d->row.range_pop);
    opened[ordinal] = d;
  } else if (!opened[ordinal]) close_device(d);
  if (status == ISO_OK && d->launches->is_lost) {
    snprintf(why, n_bytes, "cuda:%d was lost by an error of its work: this process must be started anew", ordinal);
    status = ISO_DEVICE_ERROR;
  }
  pthread_mutex_unlock(&mutex);
  if (status == ISO_OK) *device = &d->row;
  return status;
}

/* ---- what other rooms ask ---- */

bool iso__cuda_bus_address(int ordinal, char *address, size_t n_bytes) {
  const bool ok = cudaDeviceGetPCIBusId(address, (int)n_bytes, ordinal) == cudaSuccess;
  (void)cudaGetLastError(); /* told by false */
  return ok;
}

void *iso__cuda_context_stream(const iso_context *ctx) { return iso__cuda_stream_of(iso__cuda_device_of(ctx->device)); }
int iso__cuda_multiprocessors(const iso_context *ctx) { return iso__cuda_device_of(ctx->device)->n_multiprocessors; }

int iso__cuda_current_device(void) {
  int device = -1;
  for (int i = 0; i < ISO__MAX_CUDA_DEVICES; i++)
    if (opened[i]) return cudaGetDevice(&device) == cudaSuccess ? device : -1;
  return -1;
}

iso__cuda_memory iso__cuda_memory_info(const iso__device *device) {
  iso__cuda_memory info = iso__cuda_cache_info(iso__cuda_device_of(device)->cache);
  cudaMemGetInfo(&info.device_free_bytes, &info.device_bytes);
  return info;
}

iso__cuda_owners iso__cuda_memory_owners(const iso__device *device) {
  return iso__cuda_cache_owners(iso__cuda_device_of(device)->cache);
}
void iso__cuda_set_owner(const iso__device *device, void *block, iso__owner owner) {
  iso__cuda_cache_set_owner(iso__cuda_device_of(device)->cache, block, owner);
}
