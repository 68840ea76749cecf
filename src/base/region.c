/* region.c: first fit in the order of addresses (Knuth, "The Art of Computer Programming", 2.5, algorithm A),
 * neighbours that are free becoming one when the search passes them. An inference's blocks live briefly and are few at
 * a time, so the search is short, and when it is over all is one free block again: no length leaves holes for the next.
 */
#include "base/region.h"
#include <stdint.h>
#include <string.h>

/* In front of each block; the next one begins n_bytes further on. */
typedef struct piece {
  size_t n_bytes; /* with this header */
  bool is_used;
} piece;

enum { HEADER_BYTES = ISO__ALIGNMENT, LEAST_BYTES = 1024 };

struct iso__region {
  iso__heap *heap;
  iso__region *next;
  char *begin, *end;
  size_t n_bytes, n_used; /* as asked for; blocks in use */
  uint64_t n_asked, n_missed;
  bool is_closed;
};

static _Thread_local iso__region *entered;

static size_t rounded(size_t n_bytes) {
  return (n_bytes + ISO__TAIL_BYTES + HEADER_BYTES + ISO__ALIGNMENT - 1) / ISO__ALIGNMENT * ISO__ALIGNMENT;
}

/* ---- life ---- */

iso__region *iso__region_new(iso__heap *heap, size_t n_bytes, iso_status *status) {
  n_bytes = n_bytes / ISO__ALIGNMENT * ISO__ALIGNMENT;
  iso__region *r = iso__heap_alloc(heap, sizeof *r, status);
  char *begin = r ? iso__heap_alloc(heap, n_bytes + HEADER_BYTES, status) : NULL;
  if (!begin) {
    iso__heap_free(heap, r, sizeof *r);
    return NULL;
  }
  memset(begin, 0, n_bytes + HEADER_BYTES); /* here its pages come into being */
  *r = (iso__region){.heap = heap, .begin = begin, .end = begin + n_bytes, .n_bytes = n_bytes + HEADER_BYTES};
  *(piece *)r->begin = (piece){.n_bytes = n_bytes};
  iso__heap_lock(heap);
  iso__region **list = iso__heap_regions(heap);
  r->next = *list;
  *list = r;
  iso__heap_unlock(heap);
  return r;
}

void iso__region_end(iso__region *r) {
  iso__heap *heap = r->heap;
  iso__heap_lock(heap);
  iso__region **at = iso__heap_regions(heap);
  while (*at != r) at = &(*at)->next;
  *at = r->next;
  iso__heap_unlock(heap);
  iso__heap_free(heap, r->begin, r->n_bytes);
  iso__heap_free(heap, r, sizeof *r);
}

void iso__region_free(iso__region *r) {
  if (!r) return;
  iso__heap_lock(r->heap);
  r->is_closed = true;
  const bool over = r->n_used == 0;
  iso__heap_unlock(r->heap);
  if (over) iso__region_end(r);
}

size_t iso__region_bytes(const iso__region *r) { return r ? r->n_bytes : 0; }

void iso__region_counts(const iso__region *r, uint64_t *n_asked, uint64_t *n_missed) {
  *n_asked = r ? r->n_asked : 0, *n_missed = r ? r->n_missed : 0;
}

iso__region *iso__region_enter(iso__region *r) {
  iso__region *before = entered;
  entered = r;
  return before;
}

/* ---- blocks ---- */

/* Small blocks are cheap in the heap's classes, and other owners' outlive a run. */
iso__region *iso__region_for(const iso__heap *heap, iso__owner owner, size_t n_bytes) {
  const bool suits = entered && entered->heap == heap && !entered->is_closed && n_bytes >= LEAST_BYTES &&
                     (owner == ISO__OWNER_ACTIVATIONS || owner == ISO__OWNER_WORKSPACE);
  return suits ? entered : NULL;
}

void *iso__region_take(iso__region *r, size_t n_bytes) {
  r->n_asked++;
  if (n_bytes > r->n_bytes) return r->n_missed++, NULL;
  const size_t wanted = rounded(n_bytes);
  for (char *at = r->begin; at < r->end; at += ((piece *)at)->n_bytes) {
    piece *p = (piece *)at;
    if (p->is_used) continue;
    for (const piece *next; (char *)p + p->n_bytes < r->end; p->n_bytes += next->n_bytes) {
      next = (const piece *)((char *)p + p->n_bytes);
      if (next->is_used) break;
    }
    if (p->n_bytes < wanted) continue;
    if (p->n_bytes - wanted >= HEADER_BYTES) {
      *(piece *)(at + wanted) = (piece){.n_bytes = p->n_bytes - wanted};
      p->n_bytes = wanted;
    }
    p->is_used = true;
    r->n_used++;
    return at + HEADER_BYTES;
  }
  return r->n_missed++, NULL;
}

bool iso__region_holds(const iso__region *r, const void *block) {
  return (const char *)block > r->begin && (const char *)block < r->end;
}

bool iso__region_give(iso__region *r, void *block) {
  ((piece *)((char *)block - HEADER_BYTES))->is_used = false;
  return --r->n_used == 0 && r->is_closed;
}

iso__region *iso__region_next(const iso__region *r) { return r->next; }
