/* dry.h: dry runs: what follows asks for all its memory and touches next to none of it. Engines don't run, copies are
 * not made, the limit does not hold, and large blocks are mapped without being backed until they are written; all that
 * is not computed reads as 0. For planning, on the CPU. */
#ifndef ISO_BASE_DRY_H
#define ISO_BASE_DRY_H
#include "base/heap.h"

/* The most bytes that were live, and whose they were. */
typedef struct iso__heap_peak {
  size_t n_bytes, highest, owned[ISO__N_OWNERS];
} iso__heap_peak;
/* Begin gives the peak so far, and counts a new one from the bytes that are live; end gives that, and brings the
 * earlier one back. For every context of the heap. */
void iso__heap_dry_begin(iso__heap *heap, iso__heap_peak *before);
iso__heap_peak iso__heap_dry_end(iso__heap *heap, const iso__heap_peak *before);
bool iso__heap_is_dry(const iso__heap *heap);
#endif
