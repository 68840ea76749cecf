/* heap.c: a size-class cache over a pluggable source of memory.
 *
 * Classes follow the usual geometric series with sixteen steps a doubling, in units of 64 bytes, so at most 6.25 % of a
 * block is lost from 1 KiB on. Freed blocks wait in one stack a class (last in, first out: the warmest block comes
 * back), linked through their first bytes, so the path of a hit is a lock, a pop and an unlock. The lock is
 * a spin lock, since an uncontended mutex costs two locked instructions a call and these are most of the path; the
 * source is never called while it is held.
 *
 * Counts are in block bytes: what was asked for plus the readable tail, rounded up to its class; that is what the
 * source really gave. Cached and live blocks together never exceed the limit, and stay within a quarter (and a little)
 * above the highest live count so far, so that a change of shapes does not leave the old shapes' blocks behind. Classes
 * unused for longest are given back first.
 *
 * A thread that has entered a region (region.h) gets its blocks from there; these are not counted, the region is.
 *
 * The byte behind what was asked for, the first of the tail, says whose the block is; the counts by owner add up to the
 * live bytes, and are kept as they were when these were highest.
 *
 * Under AddressSanitizer every block comes straight from the source, with its exact size, so that overruns and uses
 * after free are seen; the tail holds a pattern that is checked when the block is freed. */
#include "base/dry.h"
#include "base/region.h"
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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
  size_t n_bytes; /* the block's */
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
  atomic_bool locked; /* guards all below */
  int n_refs;         /* the heap ends when these and the live bytes are none */
  size_t live, peak, cached, limit;
  size_t owned[ISO__N_OWNERS], owned_at_peak[ISO__N_OWNERS]; /* of live, and of peak */
  size_t highest;                                            /* peak that is never reset: bounds the cache */
  atomic_bool dry;                                           /* memory is counted, and hardly used */
  uint64_t n_allocations;
  uint64_t fail_in; /* 0: off; 1: the next one fails */
  int fill;         /* 0: off; else 1 + the byte that blocks handed out are filled with */
  iso__region *regions;
  size_class classes[N_CLASSES];
#ifdef ISO_DEBUG
  dead_block *oldest_dead, *newest_dead;
  size_t dead_bytes;
  int n_dead;
#endif
};

static void lock(iso__heap *heap) {
  for (int n = 1; atomic_exchange_explicit(&heap->locked, true, memory_order_acquire); n++)
    if (n % 64 == 0) sched_yield(); /* its holder may have been preempted */
}

static void unlock(iso__heap *heap) { atomic_store_explicit(&heap->locked, false, memory_order_release); }

void iso__heap_lock(iso__heap *heap) { lock(heap); }
void iso__heap_unlock(iso__heap *heap) { unlock(heap); }
iso__region **iso__heap_regions(iso__heap *heap) { return &heap->regions; }

/* ---- the usual source ---- */

/* Blocks from this size on are mapped by themselves, aligned so that they consist of huge pages where the system has
 * them: matrices whose rows lie pages apart spend a tenth of a product on translating addresses otherwise. */
#define HUGE_BYTES ((size_t)2 << 20)

static size_t mapped_bytes(size_t n_bytes) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  return (n_bytes + page - 1) / page * page;
}

static void *map_block(size_t n_bytes) {
  const size_t n_mapped = mapped_bytes(n_bytes);
  char *all = mmap(NULL, n_mapped + HUGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) return NULL;
  char *block = all + (HUGE_BYTES - (uintptr_t)all % HUGE_BYTES) % HUGE_BYTES;
  const size_t n_before = (size_t)(block - all);
  if (n_before) munmap(all, n_before);
  munmap(block + n_mapped, HUGE_BYTES - n_before);
#if defined(MADV_HUGEPAGE)
  madvise(block, n_mapped, MADV_HUGEPAGE); /* a wish: without it only speed is less */
#endif
  return block;
}

#if CACHING
/* The same for a dry run: no page of it exists before it is written. */
static void *map_empty(size_t n_bytes) {
  void *block =
      mmap(NULL, mapped_bytes(n_bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
#  if defined(MADV_NOHUGEPAGE)
  if (block != MAP_FAILED) madvise(block, mapped_bytes(n_bytes), MADV_NOHUGEPAGE);
#  endif
  return block == MAP_FAILED ? NULL : block;
}
#endif

static void *library_alloc(void *user, size_t n_bytes, size_t alignment) {
  (void)user;
  if (CACHING && n_bytes >= HUGE_BYTES) return map_block(n_bytes);
  void *block = NULL;
  return posix_memalign(&block, alignment, n_bytes) == 0 ? block : NULL;
}

static void library_free(void *user, void *block, size_t n_bytes) {
  (void)user;
  if (CACHING && n_bytes >= HUGE_BYTES) munmap(block, mapped_bytes(n_bytes));
  else free(block);
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

/* ---- the source, with redzones when there is no cache ---- */

enum { TAIL_PATTERN = 0xa5 };

static void *source_alloc(iso__heap *heap, size_t n_bytes, size_t n_block_bytes) {
#if CACHING
  (void)n_bytes;
  if (heap->dry && heap->source.alloc == library_alloc && n_block_bytes >= HUGE_BYTES) return map_empty(n_block_bytes);
  return heap->source.alloc(heap->source.user, n_block_bytes, ISO__ALIGNMENT);
#else
  (void)n_block_bytes;
  char *block = heap->source.alloc(heap->source.user, n_bytes + ISO__TAIL_BYTES, ISO__ALIGNMENT);
  if (block) memset(block + n_bytes, TAIL_PATTERN, ISO__TAIL_BYTES);
  return block;
#endif
}

#if !CACHING
static void check_tail(const void *block, size_t n_bytes) {
  const unsigned char *tail = (const unsigned char *)block + n_bytes;
  for (int i = 1; i < ISO__TAIL_BYTES; i++) /* 0: the owner */
    if (tail[i] != TAIL_PATTERN) {
      fprintf(stderr, "isobit: byte %d past the end of a block of %zu bytes was written\n", i, n_bytes);
      abort(); /* only in sanitizer builds: a bug of ours */
    }
}
#endif

/* ---- the cache; every function here is called with the lock held ---- */

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
static void cache_push(iso__heap *heap, fit f, void *memory) {
  size_class *c = &heap->classes[f.index];
  free_block *block = memory;
  *block = (free_block){.next = c->top, .n_bytes = f.n_bytes};
  c->top = block;
  c->last_use = heap->n_allocations;
  heap->cached += f.n_bytes;
}
#endif

/* Takes blocks out of the cache, least recently used classes first, until at most n_bytes are left; returns their list.
 */
static free_block *cache_shrink(iso__heap *heap, size_t n_bytes) {
  free_block *victims = NULL;
  while (heap->cached > n_bytes) {
    size_class *oldest = NULL;
    for (size_class *c = heap->classes; c < heap->classes + N_CLASSES; c++)
      if (c->top && (!oldest || c->last_use < oldest->last_use)) oldest = c;
    while (oldest->top && heap->cached > n_bytes) {
      free_block *block = oldest->top;
      oldest->top = block->next;
      heap->cached -= block->n_bytes;
      block->next = victims;
      victims = block;
    }
  }
  return victims;
}

/* How much may stay cached beside the live bytes. */
static size_t cache_bound(const iso__heap *heap) {
  size_t highest = heap->live > heap->highest ? heap->live : heap->highest;
  size_t bound = highest + highest / 4 + SLACK_BYTES;
  if (heap->limit && heap->limit < bound) bound = heap->limit;
  return bound > heap->live ? bound - heap->live : 0;
}

/* Without the lock. */
static void source_free_all(iso__heap *heap, free_block *victims) {
  while (victims) {
    free_block *next = victims->next;
    heap->source.free(heap->source.user, victims, victims->n_bytes);
    victims = next;
  }
}

/* ---- the heap's life ---- */

iso__heap *iso__heap_new(const iso_allocator *source) {
  iso_allocator chosen = source ? *source : (iso_allocator){library_alloc, library_free, NULL};
  iso__heap *heap = chosen.alloc(chosen.user, sizeof *heap, ISO__ALIGNMENT);
  if (!heap) return NULL;
  memset(heap, 0, sizeof *heap);
  heap->source = chosen;
  heap->n_refs = 1;
  atomic_init(&heap->locked, false);
  return heap;
}

void iso__heap_retain(iso__heap *heap) {
  lock(heap);
  heap->n_refs++;
  unlock(heap);
}

/* What a free leaves to be done without the lock: giving a block to the source, or ending the heap. */
typedef struct aftermath {
  void *block;
  size_t n_bytes; /* as asked for */
  bool ends;
} aftermath;

#ifdef ISO_DEBUG
static aftermath quarantine_pop(iso__heap *heap);
#endif

static void finish(iso__heap *heap, aftermath a) {
#if !CACHING
  if (a.block) {
    check_tail(a.block, a.n_bytes);
    heap->source.free(heap->source.user, a.block, a.n_bytes + ISO__TAIL_BYTES);
  }
#endif
  if (!a.ends) return;
#ifdef ISO_DEBUG
  while (heap->n_dead) {
    aftermath dead = quarantine_pop(heap);
    finish(heap, dead);
  }
#endif
  source_free_all(heap, cache_shrink(heap, 0));
  iso_allocator source = heap->source;
  source.free(source.user, heap, sizeof *heap);
}

static bool is_over(const iso__heap *heap) { return heap->n_refs == 0 && heap->live == 0; }

void iso__heap_release(iso__heap *heap) {
  if (!heap) return;
  lock(heap);
  heap->n_refs--;
  aftermath a = {.ends = is_over(heap)};
  unlock(heap);
  finish(heap, a);
}

void iso__heap_set_limit(iso__heap *heap, size_t n_bytes) {
  lock(heap);
  heap->limit = n_bytes;
  free_block *victims = cache_shrink(heap, cache_bound(heap));
  unlock(heap);
  source_free_all(heap, victims);
}

void iso__heap_trim(iso__heap *heap) {
  lock(heap);
  free_block *victims = cache_shrink(heap, 0);
  unlock(heap);
  source_free_all(heap, victims);
}

/* ---- blocks ---- */

static unsigned char *owner_of(void *block, size_t n_bytes) { return (unsigned char *)block + n_bytes; }

static bool should_fail(iso__heap *heap) {
  heap->n_allocations++;
  return heap->fail_in && --heap->fail_in == 0;
}

static bool over_limit(const iso__heap *heap, size_t n_bytes) {
  return heap->limit && !heap->dry && (n_bytes > heap->limit || heap->live > heap->limit - n_bytes);
}

static void count_peak(iso__heap *heap) {
  if (heap->live > heap->peak) {
    heap->peak = heap->live;
    memcpy(heap->owned_at_peak, heap->owned, sizeof heap->owned);
  }
  if (heap->live > heap->highest) heap->highest = heap->live;
}

/* The bytes are live already, so that the limit holds while the lock is open. Takes the lock over and returns without.
 */
static void *fresh_block(iso__heap *heap, size_t n_bytes, size_t n_block_bytes, iso__owner owner) {
  free_block *victims = cache_shrink(heap, cache_bound(heap));
  unlock(heap);
  source_free_all(heap, victims);
  void *block = source_alloc(heap, n_bytes, n_block_bytes);
  if (!block) {
    iso__heap_trim(heap);
    block = source_alloc(heap, n_bytes, n_block_bytes);
  }
  lock(heap);
  if (block) count_peak(heap);
  else heap->live -= n_block_bytes, heap->owned[owner] -= n_block_bytes;
  unlock(heap);
  return block;
}

void *iso__heap_alloc(iso__heap *heap, size_t n_bytes, iso_status *status) {
  iso_status ignored;
  if (!status) status = &ignored;
  *status = ISO_OUT_OF_MEMORY;
  lock(heap);
  if (should_fail(heap) || n_bytes > MAX_BYTES) return unlock(heap), NULL;
  const int fill = heap->dry ? 0 : heap->fill;
  fit f = class_of(n_bytes);
  if (over_limit(heap, f.n_bytes)) {
    unlock(heap);
    *status = ISO_MEMORY_LIMIT;
    return NULL;
  }
  const iso__owner owner = iso__owner_now();
  iso__region *region = CACHING ? iso__region_for(heap, owner, n_bytes) : NULL;
  void *block = region ? iso__region_take(region, n_bytes) : NULL;
  if (block) {
    unlock(heap);
    if (fill) memset(block, fill - 1, n_bytes);
    return *status = ISO_OK, block;
  }
  heap->live += f.n_bytes;
  heap->owned[owner] += f.n_bytes;
  block = cache_pop(heap, f);
  if (block) {
    count_peak(heap);
    unlock(heap);
  } else {
    block = fresh_block(heap, n_bytes, f.n_bytes, owner);
  }
  if (block && fill) memset(block, fill - 1, n_bytes);
  if (block && heap->dry && n_bytes < HUGE_BYTES) memset(block, 0, n_bytes); /* as the pages of larger ones read */
  if (block) *owner_of(block, n_bytes) = (unsigned char)owner, *status = ISO_OK;
  return block;
}

/* A block that is no longer live: into the cache, or to the source where there is none. With the lock held. */
static aftermath give_back(iso__heap *heap, void *block, size_t n_bytes) {
  aftermath a = {.ends = is_over(heap)};
#if CACHING
  cache_push(heap, class_of(n_bytes), block);
#else
  a.block = block;
  a.n_bytes = n_bytes;
#endif
  return a;
}

/* With the lock held. */
static void count_dead(iso__heap *heap, void *block, size_t n_bytes) {
  const size_t n_block_bytes = class_of(n_bytes).n_bytes;
  heap->live -= n_block_bytes;
  heap->owned[*owner_of(block, n_bytes)] -= n_block_bytes;
}

/* With the lock held; NULL: the block is one of the heap's own. */
static iso__region *region_of(const iso__heap *heap, const void *block) {
  iso__region *r = heap->regions;
  while (r && !iso__region_holds(r, block)) r = iso__region_next(r);
  return r;
}

void iso__heap_set_owner(iso__heap *heap, void *block, size_t n_bytes, iso__owner owner) {
  const size_t n_block_bytes = class_of(n_bytes).n_bytes;
  lock(heap);
  if (region_of(heap, block)) {
    unlock(heap);
    return;
  }
  heap->owned[*owner_of(block, n_bytes)] -= n_block_bytes;
  heap->owned[owner] += n_block_bytes;
  *owner_of(block, n_bytes) = (unsigned char)owner;
  unlock(heap);
}

void iso__heap_free(iso__heap *heap, void *block, size_t n_bytes) {
  if (!block) return;
  lock(heap);
  iso__region *region = region_of(heap, block);
  if (region) {
    const bool over = iso__region_give(region, block);
    unlock(heap);
    if (over) iso__region_end(region);
    return;
  }
  count_dead(heap, block, n_bytes);
  aftermath a = give_back(heap, block, n_bytes);
  unlock(heap);
  finish(heap, a);
}

/* ---- quarantine ---- */

#ifdef ISO_DEBUG
static aftermath quarantine_pop(iso__heap *heap) {
  dead_block *block = heap->oldest_dead;
  size_t n_bytes = block->n_bytes;
  heap->oldest_dead = block->next;
  if (!block->next) heap->newest_dead = NULL;
  heap->dead_bytes -= class_of(n_bytes).n_bytes;
  heap->n_dead--;
  aftermath a = give_back(heap, block, n_bytes);
  a.ends = false; /* whoever called sees to that */
  return a;
}

void iso__heap_quarantine(iso__heap *heap, void *block, size_t n_bytes) {
  lock(heap);
  dead_block *dead = block;
  count_dead(heap, block, n_bytes);
  *dead = (dead_block){.n_bytes = n_bytes};
  *(heap->newest_dead ? &heap->newest_dead->next : &heap->oldest_dead) = dead;
  heap->newest_dead = dead;
  heap->dead_bytes += class_of(n_bytes).n_bytes;
  aftermath a = {0};
  if (++heap->n_dead > MAX_DEAD) a = quarantine_pop(heap);
  a.ends = is_over(heap);
  unlock(heap);
  finish(heap, a);
}
#endif

/* ---- counts and switches ---- */

iso_memory_info iso__heap_info(const iso__heap *heap) {
  iso__heap *h = (iso__heap *)heap; /* only its lock changes */
  lock(h);
  iso_memory_info info = {.live_bytes = h->live,
                          .peak_bytes = h->peak,
                          .cached_bytes = h->cached,
                          .limit_bytes = h->limit,
                          .n_allocations = h->n_allocations,
                          .now = iso__owners_of(h->owned),
                          .at_peak = iso__owners_of(h->owned_at_peak)};
#ifdef ISO_DEBUG
  info.cached_bytes += h->dead_bytes;
#endif
  unlock(h);
  return info;
}

void iso__heap_reset_peak(iso__heap *heap) {
  lock(heap);
  heap->peak = heap->live;
  memcpy(heap->owned_at_peak, heap->owned, sizeof heap->owned);
  unlock(heap);
}

int iso__heap_set_fill(iso__heap *heap, int byte) {
  lock(heap);
  const int before = heap->fill - 1;
  heap->fill = byte < 0 ? 0 : 1 + (byte & 255);
  unlock(heap);
  return before;
}

bool iso__heap_is_dry(const iso__heap *heap) { return atomic_load_explicit(&heap->dry, memory_order_relaxed); }

void iso__heap_dry_begin(iso__heap *heap, iso__heap_peak *before) {
  lock(heap);
  *before = (iso__heap_peak){.n_bytes = heap->peak, .highest = heap->highest};
  memcpy(before->owned, heap->owned_at_peak, sizeof before->owned);
  heap->dry = true;
  heap->peak = heap->live;
  memcpy(heap->owned_at_peak, heap->owned, sizeof heap->owned);
  unlock(heap);
  iso__heap_trim(heap); /* blocks that pages lie behind */
}

iso__heap_peak iso__heap_dry_end(iso__heap *heap, const iso__heap_peak *before) {
  lock(heap);
  iso__heap_peak found = {.n_bytes = heap->peak, .highest = heap->highest};
  memcpy(found.owned, heap->owned_at_peak, sizeof found.owned);
  heap->dry = false;
  heap->peak = before->n_bytes, heap->highest = before->highest;
  memcpy(heap->owned_at_peak, before->owned, sizeof heap->owned_at_peak);
  unlock(heap);
  iso__heap_trim(heap); /* blocks without huge pages */
  return found;
}

void iso__heap_fail_at(iso__heap *heap, uint64_t n) {
  lock(heap);
  heap->fail_in = n;
  unlock(heap);
}
