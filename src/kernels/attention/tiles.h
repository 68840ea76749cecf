/* tiles.h: what the vectorised engines of attention share with the choice among them; see tiles_impl.h. */
#ifndef ISO_KERNELS_ATTENTION_TILES_H
#define ISO_KERNELS_ATTENTION_TILES_H
#include "kernels/attention/attention.h"

enum {
  ISO__TILE = 64,        /* queries of a tile, and keys of a block */
  ISO__TILE_CHUNK = 256, /* keys whose gradients are under way at once: a chunk of dq's sums */
  ISO__TILE_WIDTH = 256  /* columns of a head: its products are single chunks */
};
/* Columns in memory of the engine's own: whole vectors of either instruction set. */
static inline int64_t iso__tile_columns(int64_t n) { return (n + 15) / 16 * 16; }

/* Whether dq is computed by tasks of its own, so that few heads keep many threads busy: scores are then made twice. */
static inline bool iso__tiles_split(const iso_attention_problem *p, int n_threads) {
  const int64_t heads = p->batch * (p->heads / p->group), turns = (heads + n_threads - 1) / n_threads;
  return 5 * turns * n_threads > 7 * heads;
}
/* Floats of a thread's workspace. */
int64_t iso__tiles_forward_floats(const iso_attention_problem *p);
int64_t iso__tiles_backward_floats(const iso_attention_problem *p);
#endif
