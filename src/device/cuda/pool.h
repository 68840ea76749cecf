/* pool.h (this room's): memory that belongs to captures, beside a device's cache.
 *
 * What a captured graph uses must stay where it was: between begin and end the capturing thread's requests are served
 * from a pool, a caching allocator of its own whose driver is the device's cache. So a block that is freed inside the
 * capture is handed out again inside it alone, segments that the warm-up left free are used again, and the limit and
 * the report of the device's cache count a pool whole, for as long as its graph can run. (A second cache over
 * cudaMalloc would hold the step's memory twice and allocate while recording.) Blocks are found again by address when
 * they are freed; a pool whose capture is gone goes with its last block. Pinned memory of the host, into which a graph
 * writes, is served in the same way from a cache of its own. Thread-safe. */
#ifndef ISO_DEVICE_CUDA_POOL_H
#define ISO_DEVICE_CUDA_POOL_H
#include "device/cuda/memory.h"

typedef struct iso__cuda_pool iso__cuda_pool;
typedef struct iso__cuda_pools iso__cuda_pools; /* of one device */

/* The device's cache and one of pinned memory, which stay their owner's. NULL: no host memory. */
iso__cuda_pools *iso__cuda_pools_new(iso__cuda_cache *cache, iso__cuda_cache *pinned);
void iso__cuda_pools_free(iso__cuda_pools *pools);
/* From the pool that serves the calling thread, else from the cache. */
void *iso__cuda_pools_alloc(iso__cuda_pools *pools, size_t n_bytes, size_t limit_bytes, iso_status *status);
void *iso__cuda_pools_alloc_pinned(iso__cuda_pools *pools, size_t n_bytes, iso_status *status);
void iso__cuda_pools_release(iso__cuda_pools *pools, void *block); /* NULL is fine */

/* A pool that serves this thread until `end`; NULL: one serves already (ISO_STATE), or there is no host memory. */
iso__cuda_pool *iso__cuda_pool_begin(iso__cuda_pools *pools, iso_status *status);
void iso__cuda_pool_end(iso__cuda_pools *pools);
/* Whether one serves this thread. */
bool iso__cuda_pool_serves(iso__cuda_pools *pools);
/* The graph is gone: so is the pool when its last block is released. NULL is fine. */
void iso__cuda_pool_abandon(iso__cuda_pools *pools, iso__cuda_pool *pool);
#endif
