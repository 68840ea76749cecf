/* memory.c: the caching allocator (memory.h): best fit among free blocks, split and joined inside their segment. */
#include "device/cuda/memory.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { GRANULE = 512, SMALL_SEGMENT = 2 << 20, LARGEST_SMALL = 1 << 20, LARGE_GRANULE = 2 << 20 };

typedef struct block {
  char *data;
  size_t n_bytes;
  struct block *before, *after; /* neighbours in the segment */
  struct block *next;           /* in the list of free blocks, or in the table of those in use */
  bool is_free, is_small;       /* small: of a segment that is cut up */
  iso__owner owner;             /* of one in use */
} block;

enum { N_BUCKETS = 4096 };
struct iso__cuda_cache {
  pthread_mutex_t mutex;
  iso__cuda_source source;
  block *free_blocks[2];    /* by is_small, unordered */
  block *in_use[N_BUCKETS]; /* by address */
  iso__cuda_memory info;
  iso__cuda_owners owners;
};

iso__cuda_cache *iso__cuda_cache_new(const iso__cuda_source *source) {
  iso__cuda_cache *c = calloc(1, sizeof *c);
  if (!c) return NULL;
  pthread_mutex_init(&c->mutex, NULL);
  c->source = *source;
  return c;
}

static size_t bucket_of(const void *data) { return ((uintptr_t)data / GRANULE * UINT64_C(0x9e3779b97f4a7c15)) >> 52; }

static void put_free(iso__cuda_cache *c, block *b) {
  b->is_free = true;
  b->next = c->free_blocks[b->is_small];
  c->free_blocks[b->is_small] = b;
}
static void take_free(iso__cuda_cache *c, block *b) {
  block **at = &c->free_blocks[b->is_small];
  while (*at != b) at = &(*at)->next;
  *at = b->next;
  b->is_free = false;
}

/* The smallest free block that is large enough. */
static block *best_fit(iso__cuda_cache *c, bool is_small, size_t n_bytes) {
  block *best = NULL;
  for (block *b = c->free_blocks[is_small]; b; b = b->next)
    if (b->n_bytes >= n_bytes && (!best || b->n_bytes < best->n_bytes)) best = b;
  return best;
}

static void join(block *left, block *right) {
  left->n_bytes += right->n_bytes;
  left->after = right->after;
  if (right->after) right->after->before = left;
  free(right);
}

/* Gives free segments back; whether there were any. */
static bool give_free(iso__cuda_cache *c) {
  bool any = false;
  for (int small = 0; small < 2; small++)
    for (block **at = &c->free_blocks[small]; *at;) {
      block *b = *at;
      if (b->before || b->after) {
        at = &b->next;
        continue;
      }
      *at = b->next;
      c->source.give(c->source.user, b->data);
      c->info.reserved_bytes -= b->n_bytes;
      free(b);
      any = true;
    }
  return any;
}

static bool trim(iso__cuda_cache *c) { return !c->source.keeps && give_free(c); }

static block *new_segment(iso__cuda_cache *c, bool is_small, size_t n_bytes, size_t limit, iso_status *status) {
  const size_t want = is_small ? SMALL_SEGMENT : (n_bytes + LARGE_GRANULE - 1) / LARGE_GRANULE * LARGE_GRANULE;
  block *b = calloc(1, sizeof *b);
  *status = ISO_OUT_OF_MEMORY;
  if (!b) return NULL;
  if (limit && c->info.reserved_bytes + want > limit) trim(c);
  if (limit && c->info.reserved_bytes + want > limit) {
    *status = ISO_MEMORY_LIMIT;
    return free(b), NULL;
  }
  b->data = c->source.take(c->source.user, want);
  if (!b->data && trim(c)) b->data = c->source.take(c->source.user, want);
  if (!b->data) return free(b), NULL;
  c->info.n_driver_allocations++;
  c->info.reserved_bytes += want;
  b->n_bytes = want, b->is_small = is_small;
  put_free(c, b);
  return b;
}

/* Cuts what is not needed off into a free block of its own; without host memory for that the block stays whole. */
static void split(iso__cuda_cache *c, block *b, size_t n_bytes) {
  const size_t rest = b->n_bytes - n_bytes;
  if (rest < (b->is_small ? (size_t)GRANULE : (size_t)LARGEST_SMALL)) return;
  block *right = calloc(1, sizeof *right);
  if (!right) return;
  *right = (block){.data = b->data + n_bytes, .n_bytes = rest, .before = b, .after = b->after, .is_small = b->is_small};
  if (b->after) b->after->before = right;
  b->after = right;
  b->n_bytes = n_bytes;
  put_free(c, right);
}

static void *alloc_locked(iso__cuda_cache *c, size_t n_bytes, size_t limit, iso_status *status) {
  const bool is_small = n_bytes <= LARGEST_SMALL;
  block *b = best_fit(c, is_small, n_bytes);
  if (!b && !(b = new_segment(c, is_small, n_bytes, limit, status))) return NULL;
  take_free(c, b);
  split(c, b, n_bytes);
  b->next = c->in_use[bucket_of(b->data)];
  c->in_use[bucket_of(b->data)] = b;
  c->info.n_allocations++;
  b->owner = iso__owner_now();
  c->owners.now[b->owner] += b->n_bytes;
  c->info.live_bytes += b->n_bytes;
  if (c->info.live_bytes > c->info.peak_bytes) {
    c->info.peak_bytes = c->info.live_bytes;
    memcpy(c->owners.at_peak, c->owners.now, sizeof c->owners.now);
  }
  return b->data;
}

void *iso__cuda_cache_alloc(iso__cuda_cache *c, size_t n_bytes, size_t limit_bytes, iso_status *status) {
  iso_status ignored;
  if (!status) status = &ignored;
  *status = ISO_OUT_OF_MEMORY;
  if (n_bytes > SIZE_MAX / 2) return NULL;
  n_bytes = n_bytes ? (n_bytes + GRANULE - 1) / GRANULE * GRANULE : GRANULE;
  pthread_mutex_lock(&c->mutex);
  void *data = alloc_locked(c, n_bytes, limit_bytes, status);
  pthread_mutex_unlock(&c->mutex);
  if (data) *status = ISO_OK;
  return data;
}

bool iso__cuda_cache_release(iso__cuda_cache *c, void *data) {
  if (!data) return false;
  pthread_mutex_lock(&c->mutex);
  block **at = &c->in_use[bucket_of(data)];
  while (*at && (*at)->data != data) at = &(*at)->next;
  block *b = *at;
  if (b) {
    *at = b->next;
    c->info.live_bytes -= b->n_bytes;
    c->owners.now[b->owner] -= b->n_bytes;
    if (b->after && b->after->is_free) take_free(c, b->after), join(b, b->after);
    if (b->before && b->before->is_free) b = b->before, take_free(c, b), join(b, b->after);
    put_free(c, b);
  }
  pthread_mutex_unlock(&c->mutex);
  return b != NULL;
}

void iso__cuda_cache_trim(iso__cuda_cache *c) {
  pthread_mutex_lock(&c->mutex);
  trim(c);
  pthread_mutex_unlock(&c->mutex);
}

void iso__cuda_cache_free(iso__cuda_cache *c) {
  if (!c) return;
  for (size_t i = 0; i < N_BUCKETS; i++)
    while (c->in_use[i]) iso__cuda_cache_release(c, c->in_use[i]->data);
  give_free(c);
  pthread_mutex_destroy(&c->mutex);
  free(c);
}

void iso__cuda_cache_set_owner(iso__cuda_cache *c, void *data, iso__owner owner) {
  pthread_mutex_lock(&c->mutex);
  block *b = c->in_use[bucket_of(data)];
  while (b && b->data != data) b = b->next;
  if (b) {
    c->owners.now[b->owner] -= b->n_bytes, c->owners.now[owner] += b->n_bytes;
    b->owner = owner;
  }
  pthread_mutex_unlock(&c->mutex);
}

iso__cuda_owners iso__cuda_cache_owners(iso__cuda_cache *c) {
  pthread_mutex_lock(&c->mutex);
  const iso__cuda_owners owners = c->owners;
  pthread_mutex_unlock(&c->mutex);
  return owners;
}

void iso__cuda_cache_reset_peak(iso__cuda_cache *c) {
  pthread_mutex_lock(&c->mutex);
  c->info.peak_bytes = c->info.live_bytes;
  memcpy(c->owners.at_peak, c->owners.now, sizeof c->owners.now);
  pthread_mutex_unlock(&c->mutex);
}

iso__cuda_memory iso__cuda_cache_info(iso__cuda_cache *c) {
  pthread_mutex_lock(&c->mutex);
  iso__cuda_memory info = c->info;
  for (int small = 0; small < 2; small++)
    for (const block *b = c->free_blocks[small]; b; b = b->next)
      if (b->n_bytes > info.largest_free_bytes) info.largest_free_bytes = b->n_bytes;
  pthread_mutex_unlock(&c->mutex);
  return info;
}
