/* heap.h: all memory of a context family: pluggable source, size-class cache, exact counts, limit, fault injection.
 *
 * A heap is shared by a context, its children and every storage made through them: it ends with the last reference and
 * the last live block, so storage may outlive the context. Freed blocks are kept by size class for reuse: fresh pages
 * cost more than most kernels. Thread-safe. */
#ifndef ISO_BASE_HEAP_H
#define ISO_BASE_HEAP_H
#include <isobit/base.h>
#include "base/owner.h"

typedef struct iso__heap iso__heap;

enum {
  ISO__ALIGNMENT = 64,
  ISO__TAIL_BYTES = 64
}; /* every block is 64-byte aligned and readable 64 bytes past its end */

/* source NULL: the C library's. NULL when there is no memory for the heap itself. */
iso__heap *iso__heap_new(const iso_allocator *source);
void iso__heap_retain(iso__heap *heap);
void iso__heap_release(iso__heap *heap);
void iso__heap_set_limit(iso__heap *heap, size_t n_bytes);

/* n_bytes 0 gives a valid block. *status (may be NULL) says OUT_OF_MEMORY or MEMORY_LIMIT when NULL is returned. */
void *iso__heap_alloc(iso__heap *heap, size_t n_bytes, iso_status *status);
void iso__heap_free(iso__heap *heap, void *block, size_t n_bytes); /* n_bytes as asked for; NULL is fine */
/* A block is the calling thread's owner's (owner.h) when it is made, and another's from here on. */
void iso__heap_set_owner(iso__heap *heap, void *block, size_t n_bytes, iso__owner owner);
#ifdef ISO_DEBUG
/* Frees a block of at least 16 bytes late: everything from its byte 16 on stays readable while fewer than 4096 blocks
 * have followed it. Counted as cached. */
void iso__heap_quarantine(iso__heap *heap, void *block, size_t n_bytes);
#endif
void iso__heap_trim(iso__heap *heap); /* gives the cache back to the source */
iso_memory_info iso__heap_info(const iso__heap *heap);
void iso__heap_reset_peak(iso__heap *heap);
void iso__heap_fail_at(iso__heap *heap, uint64_t n);
/* −1: blocks are handed out as they are. Returns the byte set before. */
int iso__heap_set_fill(iso__heap *heap, int byte);

#endif
