/* unary.h (internal): what the files of pointwise functions share. */
#ifndef ISO_OPS_POINTWISE_UNARY_H
#define ISO_OPS_POINTWISE_UNARY_H
#include "ops/ops.h"

static const double ISO__LN2 = 0x1.62e42fefa39efp-1, ISO__PI = 0x1.921fb54442d18p+1;

/* What a derivative reads: nothing, the operands, the result. */
typedef enum iso__save { SAVE_NOTHING, SAVE_X, SAVE_Y } iso__save;

/* fn of n operands of one of `dtypes`, recorded with what its derivative reads: also three numbers, or none (NULL). */
iso_tensor *iso__pointwise(iso_context *ctx, const char *op, iso__map_fn fn, iso__rule_id rule, iso__save saves,
                           uint32_t dtypes, int n, const iso_tensor *const *in, const double *scalars);
/* The same of one operand without numbers. */
iso_tensor *iso__unary(iso_context *ctx, const char *op, iso__map_fn fn, iso__rule_id rule, iso__save saves,
                       uint32_t dtypes, const iso_tensor *x);
/* dx = dy·slope */
static inline void iso__chain(iso__gradient *g, const iso_tensor *slope) {
  g->dx[0] = iso_mul(g->ctx, g->dy[0], slope);
}
#endif
