/* pool.c: memory that belongs to captures (pool.h). */
#include "device/cuda/pool.h"
#include <pthread.h>
#include <stdlib.h>

enum { OF_DEVICE, PINNED, N_KINDS };

/* Of one kind of memory. */
typedef struct part {
  iso__cuda_cache *cache, *from;
  size_t limit_bytes; /* of the request that is being served, */
  iso_status status;  /* and what became of it              */
} part;

struct iso__cuda_pool {
  iso__cuda_pool *next;
  part of[N_KINDS];
  bool is_abandoned;
};

struct iso__cuda_pools {
  pthread_mutex_t mutex;
  iso__cuda_cache *cache[N_KINDS];
  iso__cuda_pool *first;
  _Atomic(iso__cuda_pool *) serving; /* written with the mutex held */
  pthread_t thread;                  /* that is served */
};

static void *take(void *user, size_t n_bytes) {
  part *p = user;
  const iso__owner before = iso__owner_enter(ISO__OWNER_CAPTURES);
  void *segment = iso__cuda_cache_alloc(p->from, n_bytes, p->limit_bytes, &p->status);
  iso__owner_leave(before);
  return segment;
}
static void give(void *user, void *segment) {
  const part *p = user;
  iso__cuda_cache_release(p->from, segment);
}

iso__cuda_pools *iso__cuda_pools_new(iso__cuda_cache *cache, iso__cuda_cache *pinned) {
  iso__cuda_pools *pools = calloc(1, sizeof *pools);
  if (!pools) return NULL;
  pthread_mutex_init(&pools->mutex, NULL);
  pools->cache[OF_DEVICE] = cache, pools->cache[PINNED] = pinned;
  return pools;
}

static void pool_free(iso__cuda_pool *p) {
  for (int k = 0; k < N_KINDS; k++) iso__cuda_cache_free(p->of[k].cache);
  free(p);
}

static iso__cuda_pool *pool_new(const iso__cuda_pools *pools) {
  iso__cuda_pool *p = calloc(1, sizeof *p);
  for (int k = 0; p && k < N_KINDS; k++) {
    part *o = &p->of[k];
    o->from = pools->cache[k];
    o->cache = iso__cuda_cache_new(&(iso__cuda_source){.take = take, .give = give, .user = o, .keeps = true});
    if (!o->cache) return pool_free(p), NULL;
  }
  return p;
}

void iso__cuda_pools_free(iso__cuda_pools *pools) {
  if (!pools) return;
  for (iso__cuda_pool *p = pools->first, *next; p; p = next) {
    next = p->next;
    pool_free(p);
  }
  pthread_mutex_destroy(&pools->mutex);
  free(pools);
}

static bool serves(const iso__cuda_pools *pools) {
  return pools->serving && pthread_equal(pools->thread, pthread_self());
}

/* Asked at every launch: where none serves, it is seen without the mutex. */
bool iso__cuda_pool_serves(iso__cuda_pools *pools) {
  if (!pools->serving) return false;
  pthread_mutex_lock(&pools->mutex);
  const bool yes = serves(pools);
  pthread_mutex_unlock(&pools->mutex);
  return yes;
}

static void *alloc(iso__cuda_pools *pools, int kind, size_t n_bytes, size_t limit_bytes, iso_status *status) {
  pthread_mutex_lock(&pools->mutex);
  part *p = serves(pools) ? &pools->serving->of[kind] : NULL;
  pthread_mutex_unlock(&pools->mutex);
  if (!p) return iso__cuda_cache_alloc(pools->cache[kind], n_bytes, limit_bytes, status);
  p->limit_bytes = limit_bytes, p->status = ISO_OUT_OF_MEMORY;
  void *block = iso__cuda_cache_alloc(p->cache, n_bytes, 0, status);
  if (!block && status) *status = p->status;
  return block;
}

void *iso__cuda_pools_alloc(iso__cuda_pools *pools, size_t n_bytes, size_t limit_bytes, iso_status *status) {
  return alloc(pools, OF_DEVICE, n_bytes, limit_bytes, status);
}
void *iso__cuda_pools_alloc_pinned(iso__cuda_pools *pools, size_t n_bytes, iso_status *status) {
  return alloc(pools, PINNED, n_bytes, 0, status);
}

/* Where the pool stands in the list. */
static iso__cuda_pool **place_of(iso__cuda_pools *pools, const iso__cuda_pool *pool) {
  iso__cuda_pool **at = &pools->first;
  while (*at != pool) at = &(*at)->next;
  return at;
}

static void drop_if_unused(iso__cuda_pools *pools, iso__cuda_pool *p) {
  if (!p->is_abandoned) return;
  for (int k = 0; k < N_KINDS; k++)
    if (iso__cuda_cache_info(p->of[k].cache).live_bytes) return;
  *place_of(pools, p) = p->next;
  pool_free(p);
}

static bool release(iso__cuda_cache *of_device, iso__cuda_cache *pinned, void *block) {
  return iso__cuda_cache_release(of_device, block) || iso__cuda_cache_release(pinned, block);
}

/* Pools are asked first: the first block of a pool's segment has the address of the cache's block that it lies in. */
void iso__cuda_pools_release(iso__cuda_pools *pools, void *block) {
  if (!block) return;
  pthread_mutex_lock(&pools->mutex);
  iso__cuda_pool *p = pools->first;
  while (p && !release(p->of[OF_DEVICE].cache, p->of[PINNED].cache, block)) p = p->next;
  if (p) drop_if_unused(pools, p);
  pthread_mutex_unlock(&pools->mutex);
  if (!p) release(pools->cache[OF_DEVICE], pools->cache[PINNED], block);
}

iso__cuda_pool *iso__cuda_pool_begin(iso__cuda_pools *pools, iso_status *status) {
  iso__cuda_pool *p = pool_new(pools);
  *status = p ? ISO_OK : ISO_OUT_OF_MEMORY;
  if (!p) return NULL;
  pthread_mutex_lock(&pools->mutex);
  const bool is_free = !pools->serving;
  if (is_free) {
    p->next = pools->first;
    pools->thread = pthread_self();
    pools->first = p, pools->serving = p;
  }
  pthread_mutex_unlock(&pools->mutex);
  if (!is_free) pool_free(p), p = NULL, *status = ISO_STATE;
  return p;
}

void iso__cuda_pool_end(iso__cuda_pools *pools) {
  pthread_mutex_lock(&pools->mutex);
  pools->serving = NULL;
  pthread_mutex_unlock(&pools->mutex);
}

void iso__cuda_pool_abandon(iso__cuda_pools *pools, iso__cuda_pool *pool) {
  if (!pool) return;
  pthread_mutex_lock(&pools->mutex);
  pool->is_abandoned = true;
  drop_if_unused(pools, pool);
  pthread_mutex_unlock(&pools->mutex);
}
