/* cuda.h (internal): what rooms above the device room may ask of CUDA beyond the device's row (device.h). */
#ifndef ISO_DEVICE_CUDA_CUDA_H
#define ISO_DEVICE_CUDA_CUDA_H
#include "device/device.h"

/* The device's row, opened at the first call; not OK: no such device, or none can be used, and `why` says why. */
iso_status iso__cuda_open(int ordinal, const iso__device **device, char *why, size_t n_bytes);

/* "cuda" or "cuda:N"; −1: something else. */
int iso__cuda_ordinal(const char *name);
/* Where the device lies ("0000:17:00.0"), without opening it; false: there is none, or the build has no CUDA. */
bool iso__cuda_bus_address(int ordinal, char *address, size_t n_bytes);

#ifdef ISO_HAS_CUDA
/* The stream that engines of this context launch on (a cudaStream_t): all work of a device is in its order. */
void *iso__cuda_context_stream(const iso_context *ctx);
/* Keeps a CUDA error code as the context's error; `op` is the engine or call that met it. */
void iso__cuda_keep_error(iso_context *ctx, const char *op, int error);
/* The device that this thread's CUDA calls go to; −1: the process has opened none. */
int iso__cuda_current_device(void);
/* The multiprocessors of the context's device: what rows for CUDA get as n_threads. */
int iso__cuda_multiprocessors(const iso_context *ctx);
#endif

/* ---- graphs: a device's work recorded once, launched again and again on the same addresses ---- */
typedef struct iso__cuda_graph iso__cuda_graph;
/* From here to `end` what this thread asks of the device is recorded, not run, and its memory comes from a pool that
 * belongs to the graph. NULL: `why` says why not. */
iso__cuda_graph *iso__cuda_graph_begin(const iso__device *device, char *why, size_t n_bytes);
/* Whether all could be recorded; else `why` says what could not, and the graph is only to be freed. */
bool iso__cuda_graph_end(iso__cuda_graph *graph, char *why, size_t n_bytes);
iso_status iso__cuda_graph_launch(const iso__cuda_graph *graph);
/* Waits for its last launch. Tensors made while it was recorded stay what they are. NULL is fine. */
void iso__cuda_graph_free(iso__cuda_graph *graph);

/* What the caching allocator of a device holds. */
typedef struct iso__cuda_memory {
  size_t live_bytes, peak_bytes; /* of blocks in use, rounded to what they take */
  size_t reserved_bytes;         /* taken from the driver, in use or kept for reuse */
  size_t largest_free_bytes;     /* of a block that is kept */
  size_t device_free_bytes, device_bytes;
  uint64_t n_allocations, n_driver_allocations;
} iso__cuda_memory;
/* Of a CUDA device's row. */
iso__cuda_memory iso__cuda_memory_info(const iso__device *device);
#endif
