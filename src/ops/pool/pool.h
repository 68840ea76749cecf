/* pool.h (internal): what the operators on windows and planes share: batches that may be missing, the storage in which
 * the kernels see a tensor, geometry. */
#ifndef ISO_OPS_POOL_H
#define ISO_OPS_POOL_H
#include "kernels/pool/pool.h"
#include "kernels/unpool/unpool.h"
#include "ops/ops.h"

/* How kernels see x (N,C,…): channels-last, or, contiguous, as N·C planes of one channel. Equal bits either way. */
typedef struct iso__planes {
  int n_dims; /* 2 + spatial axes */
  int64_t n, c;
  bool planar;
} iso__planes;
static inline int64_t iso__planes_n(const iso__planes *f) { return f->planar ? f->n * f->c : f->n; }
static inline int64_t iso__planes_c(const iso__planes *f) { return f->planar ? 1 : f->c; }

/* x with a batch of one where it has none (n_axes + 1 dimensions); NULL with the error kept for other shapes, extents
 * of 0 beside the batch, dtypes that are no floats, or NULL. *batched says whether `iso__unbatch` has nothing to do. */
iso_tensor *iso__batch(iso_context *ctx, const char *op, const iso_tensor *x, int n_axes, bool *batched);
iso_tensor *iso__unbatch(iso_context *ctx, iso_tensor *y, bool batched);
/* The form of x (N,C,…): as it lies. */
iso__planes iso__planes_of(const iso_tensor *x);
/* A copy of t in that storage, with its history; NULL if it lies so. */
iso_tensor *iso__planes_copy(iso_context *ctx, const iso__planes *f, const iso_tensor *t);
/* A new (N,C,extent…) in that storage; `extent` holds depth, row and column, of which the last n_dims − 2 count. */
iso_tensor *iso__planes_new(iso_context *ctx, const iso__planes *f, iso_dtype dtype, const int64_t extent[3]);
/* Depth, row and column of x (N,C,…), 1 where it has none. */
void iso__planes_extent(const iso_tensor *x, int64_t extent[3]);

/* A pooling: its problem as max or average forward, and the tensors' form. */
typedef struct iso__pooling {
  iso_pool_problem problem;
  iso__planes form;
} iso__pooling;
/* Pools (N,C,…) by a problem whose axes are set; indices NULL: not wanted. */
iso_tensor *iso__max_pool(iso_context *ctx, const iso_tensor *x, iso__pooling *pooling, iso_tensor **indices);
iso_tensor *iso__avg_pool(iso_context *ctx, const iso_tensor *x, const iso__pooling *pooling);

/* Elements moved between planes of `out` positions and picks (unpool.h), and recorded under `rule`; `in` and index in
 * the form's storage or copied. */
typedef struct iso__unpooling {
  iso__planes form;
  int64_t places[3], picks[3];
} iso__unpooling;
iso_tensor *iso__unpool(iso_context *ctx, iso__op op, iso__rule_id rule, const iso__unpooling *u, const iso_tensor *in,
                        const iso_tensor *index);
#endif
