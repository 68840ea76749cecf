/* channels.h: the workspace of the input's gradient; channels_impl.h says what lies there. */
#ifndef ISO_KERNELS_GRID_CHANNELS_H
#define ISO_KERNELS_GRID_CHANNELS_H
#include "kernels/grid/grid.h"
#include "kernels/sizes.h"

enum { ISO__GRID_BLOCK = 64 }; /* channels: the lanes of an innermost reduction */
typedef struct iso__grid_slots {
  size_t chunks_at, panel_at, total_at, thread_bytes; /* counts begin at 0 */
} iso__grid_slots;
static inline iso__grid_slots iso__grid_slots_of(const iso_grid_problem *p) {
  iso__grid_slots s = {0};
  const int64_t places = iso__grid_places(p), lanes = iso__min(p->c, ISO__GRID_BLOCK);
  const size_t item = iso_dtype_size((iso_dtype)p->head.dtype);
  iso__take(&s.thread_bytes, places, 1);
  s.chunks_at = iso__take(&s.thread_bytes, places, 1);
  s.panel_at = iso__take(&s.thread_bytes, places * lanes, item);
  s.total_at = iso__take(&s.thread_bytes, places * lanes, item);
  return s;
}
#endif
