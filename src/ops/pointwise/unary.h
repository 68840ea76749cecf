/* unary.h (internal): what the files of elementary functions share. */
#ifndef ISO_OPS_POINTWISE_UNARY_H
#define ISO_OPS_POINTWISE_UNARY_H
#include "ops/ops.h"

typedef enum iso__save { SAVE_NOTHING, SAVE_X, SAVE_Y } iso__save;

/* fn(x) of one of `dtypes`, recorded with what its derivative reads. */
iso_tensor *iso__unary(iso_context *ctx, const char *op, iso__map_fn fn, iso__rule_id rule, iso__save saves,
                       uint32_t dtypes, const iso_tensor *x);
/* dx = dy·slope */
static inline void iso__chain(iso__gradient *g, const iso_tensor *slope) {
  g->dx[0] = iso_mul(g->ctx, g->dy[0], slope);
}
#endif
