/* memory.h (this room's): the caching allocator of one device.
 *
 * Memory is taken from the driver in segments and cut into blocks: small ones (up to 1 MiB) from segments of 2 MiB,
 * large ones from segments of their own, rounded to 2 MiB. A freed block joins its free neighbours and waits for reuse:
 * all work of a device is in one order, so a block can be handed out again at once. When the driver or the limit
 * refuses, whole free segments go back to the driver and the request is tried again. Thread-safe. */
#ifndef ISO_DEVICE_CUDA_MEMORY_H
#define ISO_DEVICE_CUDA_MEMORY_H
#include "device/cuda/cuda.h"
#include "device/cuda/report.h"

typedef struct iso__cuda_cache iso__cuda_cache;

/* Where segments come from: cudaMalloc and cudaFree, or a test's. Returns NULL when there is no more. */
typedef struct iso__cuda_source {
  void *(*take)(void *user, size_t n_bytes);
  void (*give)(void *user, void *segment);
  void *user;
  bool keeps; /* segments go back only when the cache is freed: something may still use their addresses (pool.h) */
} iso__cuda_source;

iso__cuda_cache *iso__cuda_cache_new(const iso__cuda_source *source); /* NULL: no host memory */
void iso__cuda_cache_free(iso__cuda_cache *cache);                    /* gives every segment back */
/* limit_bytes: of all segments together, for this request; 0: none. */
void *iso__cuda_cache_alloc(iso__cuda_cache *cache, size_t n_bytes, size_t limit_bytes, iso_status *status);
bool iso__cuda_cache_release(iso__cuda_cache *cache, void *block); /* false: it is not this cache's, or NULL */
/* Blocks are the calling thread's owner's (base/owner.h); one that is none of the cache's is left alone. */
void iso__cuda_cache_set_owner(iso__cuda_cache *cache, void *block, iso__owner owner);
iso__cuda_owners iso__cuda_cache_owners(iso__cuda_cache *cache);
void iso__cuda_cache_trim(iso__cuda_cache *cache);
iso__cuda_memory iso__cuda_cache_info(iso__cuda_cache *cache);
void iso__cuda_cache_reset_peak(iso__cuda_cache *cache);
#endif
