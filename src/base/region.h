/* region.h: a stretch of a heap's memory, written to before it is needed, that one user's blocks are cut from: so that
 * sizes that never came before meet no fresh pages. The heap looks here first while a thread has entered the region. */
#ifndef ISO_BASE_REGION_H
#define ISO_BASE_REGION_H
#include "base/heap.h"
#include "base/owner.h"

typedef struct iso__region iso__region;

/* Counted as one block of the heap, in use. NULL without memory (*status as of iso__heap_alloc). */
iso__region *iso__region_new(iso__heap *heap, size_t n_bytes, iso_status *status);
/* Ends when its last block is free, which may be later. NULL is fine. */
void iso__region_free(iso__region *region);
size_t iso__region_bytes(const iso__region *region);
/* Blocks asked of it, and those that it had no room for: these came from the heap as usual. */
void iso__region_counts(const iso__region *region, uint64_t *n_asked, uint64_t *n_missed);

/* On the calling thread; NULL: none. Returns the one before. */
iso__region *iso__region_enter(iso__region *region);

/* ---- of the heap, with its lock held ---- */
/* The region that this thread has entered, if blocks of that owner and size are cut from it. */
iso__region *iso__region_for(const iso__heap *heap, iso__owner owner, size_t n_bytes);
void *iso__region_take(iso__region *region, size_t n_bytes); /* NULL: no room */
bool iso__region_holds(const iso__region *region, const void *block);
/* True: it was closed, and this was its last block: the caller ends it by iso__region_end, without the lock. */
bool iso__region_give(iso__region *region, void *block);
void iso__region_end(iso__region *region);
iso__region **iso__heap_regions(iso__heap *heap); /* the heap's list */
iso__region *iso__region_next(const iso__region *region);
void iso__heap_lock(iso__heap *heap);
void iso__heap_unlock(iso__heap *heap);
#endif
