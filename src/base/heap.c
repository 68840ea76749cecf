/* heap.c: a size-class cache over a pluggable source of memory.
 *
 * Classes follow the usual geometric series with sixteen steps a doubling, in units of 64 bytes, so at most 6.25 % of a
 * block is lost from 1 KiB on. Freed blocks wait in one stack a class (last in, first out: the warmest block comes
 * back), linked through their first bytes, so the path of a hit is a lock, a pop and an unlock.
 *
 * Counts are in block bytes: what was asked for plus the readable tail, rounded up to its class; that is what the
 * source really gave. Cached and live blocks together never exceed the limit, and stay within a quarter (and a little)
 * above the highest live count so far, so that a change of shapes does not leave the old shapes' blocks behind. Classes
 * unused for longest are given back first.
 *
 * Under AddressSanitizer every block comes straight from the source, with its exact size, so that overruns and uses
 * after free are seen; the tail holds a pattern that is checked when the block is freed. */
#include "base/heap.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#  define CACHING 0
#elif defined(__has_feature)
#  if __has_feature(address_sanitizer)
#    define CACHING 0
#  endif
#endif
#ifndef CACHING
#  define CACHING 1
#endif

enum { UNIT_BYTES = 64, N_LINEAR = 16, N_STEPS = 16, N_CLASSES = N_LINEAR + N_STEPS * 54, SLACK_BYTES = 16 << 20 };

typedef struct free_block {
  struct free_block *next;
} free_block;

typedef struct size_class {
  free_block *top;
  uint64_t last_use; /* in allocations */
} size_class;

#ifdef ISO_DEBUG
enum { MAX_DEAD = 4096 };
typedef struct dead_block {
  struct dead_block *next;
  size_t n_bytes;
} dead_block;
#endif

struct iso__heap {
  iso_allocator source;
  atomic_int n_refs;
  pthread_mutex_t mutex;
  size_t live, peak, cached, limit;
  size_t highest; /* peak that is never reset: bounds the cache */
  uint64_t n_allocations;
  uint64_t fail_in; /* 0: off; 1: the next one fails */
  size_class classes[N_CLASSES];
#ifdef ISO_DEBUG
  dead_block *oldest_dead, *newest_dead;
  size_t dead_bytes;
  int n_dead;
#endif
};

static void *library_alloc(void *user, size_t n_bytes, size_t alignment) {
  (void)user;
  void *block = NULL;
  return posix_memalign(&block, alignment, n_bytes) == 0 ? block : NULL;
}

static void library_free(void *user, void *block, size_t n_bytes) {
  (void)user, (void)n_bytes;
  free(block);
}

/* ---- size classes ---- */

typedef struct fit {
  int index;
  size_t n_bytes; /* the block's */
} fit;

/* More than any machine has; AddressSanitizer ends the program over a request of 2^40. */
#define MAX_BYTES ((size_t)1 << (CACHING ? 47 : 38))

/* n_bytes must be at most MAX_BYTES. */
static fit class_of(size_t n_bytes) {
  size_t n_units = (n_bytes + ISO__TAIL_BYTES + UNIT_BYTES - 1) / UNIT_BYTES;
  if (n_units <= N_LINEAR) return (fit){(int)n_units - 1, n_units * UNIT_BYTES};
  int k = 63 - __builtin_clzll((unsigned long long)(n_units - 1)); /* 2^k < n_units <= 2^(k+1), k >= 4 */
  size_t base = (size_t)1 << k, step = base / N_STEPS;
  size_t n_steps = (n_units - base + step - 1) / step;
  return (fit){N_LINEAR + (k - 4) * N_STEPS + (int)n_steps - 1, (base + n_steps * step) * UNIT_BYTES};
}

static size_t class_bytes(int index) {
  if (index < N_LINEAR) return (size_t)(index + 1) * UNIT_BYTES;
  size_t base = (size_t)N_LINEAR << ((index - N_LINEAR) / N_STEPS);
  return (base + (size_t)((index - N_LINEAR) % N_STEPS + 1) * (base / N_STEPS)) * UNIT_BYTES;
}

/* ---- the source, with redzones when there is no cache ---- */

enum { TAIL_PATTERN = 0xa5 };

static void *source_alloc(iso__heap *heap, size_t n_bytes, size_t n_block_bytes) {
#if CACHING
  (void)n_bytes;
  return heap->source.alloc(heap->source.user, n_block_bytes, ISO__ALIGNMENT);
#else
  (void)n_block_bytes;
  char *block = heap->source.alloc(heap->source.user, n_bytes + ISO__TAIL_BYTES, ISO__ALIGNMENT);
  if (block) memset(block + n_bytes, TAIL_PATTERN, ISO__TAIL_BYTES);
  return block;
#endif
}

#if !CACHING
static void source_free(iso__heap *heap, void *block, size_t n_bytes) {
  const unsigned char *tail = (const unsigned char *)block + n_bytes;
  for (int i = 0; i < ISO__TAIL_BYTES; i++)
    if (tail[i] != TAIL_PATTERN) {
      fprintf(stderr, "isobit: byte %d past the end of a block of %zu bytes was written\n", i, n_bytes);
      abort(); /* only in sanitizer builds: a bug of ours */
    }
  heap->source.free(heap->source.user, block, n_bytes + ISO__TAIL_BYTES);
}
#endif

/* ---- the cache ---- */

static void *cache_pop(iso__heap *heap, fit f) {
  size_class *c = &heap->classes[f.index];
  free_block *block = c->top;
  if (!block) return NULL;
  c->top = block->next;
  c->last_use = heap->n_allocations;
  heap->cached -= f.n_bytes;
  return block;
}

#if CACHING
static void cache_push(iso__heap *heap, fit f, void *block) {
  size_class *c = &heap->classes[f.index];
  ((free_block *)block)->next = c->top;
  c->top = block;
  c->last_use = heap->n_allocations;
  heap->cached += f.n_bytes;
}
#endif

/* Gives cached blocks back, least recently used classes first, until at most n_bytes are left. */
static void cache_shrink(iso__heap *heap, size_t n_bytes) {
  while (heap->cached > n_bytes) {
    int oldest = -1;
    for (int i = 0; i < N_CLASSES; i++)
      if (heap->classes[i].top && (oldest < 0 || heap->classes[i].last_use < heap->classes[oldest].last_use))
        oldest = i;
    size_class *c = &heap->classes[oldest];
    size_t block_bytes = class_bytes(oldest);
    while (c->top && heap->cached > n_bytes) {
      free_block *block = c->top;
      c->top = block->next;
      heap->cached -= block_bytes;
      heap->source.free(heap->source.user, block, block_bytes);
    }
  }
}

/* Makes the cache small enough that a fresh block of n_bytes may join. */
static void cache_make_room(iso__heap *heap, size_t n_bytes) {
  size_t live = heap->live + n_bytes;
  size_t highest = live > heap->highest ? live : heap->highest;
  size_t bound = highest + highest / 4 + SLACK_BYTES;
  if (heap->limit && heap->limit < bound) bound = heap->limit;
  cache_shrink(heap, bound > live ? bound - live : 0);
}

/* A block that is no longer live: into the cache, or to the source where there is none. */
static void give_back(iso__heap *heap, fit f, void *block, size_t n_bytes) {
#if CACHING
  (void)n_bytes;
  cache_push(heap, f, block);
#else
  (void)f;
  source_free(heap, block, n_bytes);
#endif
}

/* ---- quarantine ---- */

#ifdef ISO_DEBUG
static void *quarantine_pop(iso__heap *heap, size_t *n_bytes) {
  dead_block *block = heap->oldest_dead;
  *n_bytes = block->n_bytes;
  heap->oldest_dead = block->next;
  if (!block->next) heap->newest_dead = NULL;
  heap->dead_bytes -= class_of(*n_bytes).n_bytes;
  heap->n_dead--;
  return block;
}

void iso__heap_quarantine(iso__heap *heap, void *block, size_t n_bytes) {
  pthread_mutex_lock(&heap->mutex);
  dead_block *dead = block;
  *dead = (dead_block){.n_bytes = n_bytes};
  *(heap->newest_dead ? &heap->newest_dead->next : &heap->oldest_dead) = dead;
  heap->newest_dead = dead;
  size_t block_bytes = class_of(n_bytes).n_bytes;
  heap->live -= block_bytes;
  heap->dead_bytes += block_bytes;
  if (++heap->n_dead > MAX_DEAD) {
    void *oldest = quarantine_pop(heap, &n_bytes);
    give_back(heap, class_of(n_bytes), oldest, n_bytes);
  }
  pthread_mutex_unlock(&heap->mutex);
}
#endif

/* ---- the heap ---- */

iso__heap *iso__heap_new(const iso_allocator *source) {
  iso_allocator chosen = source ? *source : (iso_allocator){library_alloc, library_free, NULL};
  iso__heap *heap = chosen.alloc(chosen.user, sizeof *heap, ISO__ALIGNMENT);
  if (!heap) return NULL;
  memset(heap, 0, sizeof *heap);
  heap->source = chosen;
  atomic_init(&heap->n_refs, 1);
  pthread_mutex_init(&heap->mutex, NULL);
  return heap;
}

void iso__heap_retain(iso__heap *heap) { atomic_fetch_add_explicit(&heap->n_refs, 1, memory_order_relaxed); }

void iso__heap_release(iso__heap *heap) {
  if (!heap || atomic_fetch_sub_explicit(&heap->n_refs, 1, memory_order_acq_rel) != 1) return;
#ifdef ISO_DEBUG
  while (heap->n_dead) {
    size_t n_bytes;
    void *block = quarantine_pop(heap, &n_bytes);
    give_back(heap, class_of(n_bytes), block, n_bytes);
  }
#endif
  cache_shrink(heap, 0);
  pthread_mutex_destroy(&heap->mutex);
  iso_allocator source = heap->source;
  source.free(source.user, heap, sizeof *heap);
}

void iso__heap_set_limit(iso__heap *heap, size_t n_bytes) {
  pthread_mutex_lock(&heap->mutex);
  heap->limit = n_bytes;
  cache_make_room(heap, 0);
  pthread_mutex_unlock(&heap->mutex);
}

static bool should_fail(iso__heap *heap) {
  heap->n_allocations++;
  return heap->fail_in && --heap->fail_in == 0;
}

static bool over_limit(const iso__heap *heap, size_t n_bytes) {
  return heap->limit && (n_bytes > heap->limit || heap->live > heap->limit - n_bytes);
}

static void *fresh_block(iso__heap *heap, size_t n_bytes, size_t n_block_bytes) {
  cache_make_room(heap, n_block_bytes);
  void *block = source_alloc(heap, n_bytes, n_block_bytes);
  if (block || !heap->cached) return block;
  cache_shrink(heap, 0);
  return source_alloc(heap, n_bytes, n_block_bytes);
}

void *iso__heap_alloc(iso__heap *heap, size_t n_bytes, iso_status *status) {
  void *block = NULL;
  iso_status why = ISO_OUT_OF_MEMORY;
  pthread_mutex_lock(&heap->mutex);
  if (!should_fail(heap) && n_bytes <= MAX_BYTES) {
    fit f = class_of(n_bytes);
    if (over_limit(heap, f.n_bytes)) {
      why = ISO_MEMORY_LIMIT;
    } else {
      block = cache_pop(heap, f);
      if (!block) block = fresh_block(heap, n_bytes, f.n_bytes);
    }
    if (block) {
      heap->live += f.n_bytes;
      if (heap->live > heap->peak) heap->peak = heap->live;
      if (heap->live > heap->highest) heap->highest = heap->live;
    }
  }
  pthread_mutex_unlock(&heap->mutex);
  if (status) *status = block ? ISO_OK : why;
  return block;
}

void iso__heap_free(iso__heap *heap, void *block, size_t n_bytes) {
  if (!block) return;
  fit f = class_of(n_bytes);
  pthread_mutex_lock(&heap->mutex);
  heap->live -= f.n_bytes;
  give_back(heap, f, block, n_bytes);
  pthread_mutex_unlock(&heap->mutex);
}

void iso__heap_trim(iso__heap *heap) {
  pthread_mutex_lock(&heap->mutex);
  cache_shrink(heap, 0);
  pthread_mutex_unlock(&heap->mutex);
}

iso_memory_info iso__heap_info(const iso__heap *heap) {
  iso__heap *h = (iso__heap *)heap; /* only its mutex changes */
  pthread_mutex_lock(&h->mutex);
  iso_memory_info info = {.live_bytes = h->live,
                          .peak_bytes = h->peak,
                          .cached_bytes = h->cached,
                          .limit_bytes = h->limit,
                          .n_allocations = h->n_allocations};
#ifdef ISO_DEBUG
  info.cached_bytes += h->dead_bytes;
#endif
  pthread_mutex_unlock(&h->mutex);
  return info;
}

void iso__heap_reset_peak(iso__heap *heap) {
  pthread_mutex_lock(&heap->mutex);
  heap->peak = heap->live;
  pthread_mutex_unlock(&heap->mutex);
}

void iso__heap_fail_at(iso__heap *heap, uint64_t n) {
  pthread_mutex_lock(&heap->mutex);
  heap->fail_in = n;
  pthread_mutex_unlock(&heap->mutex);
}
