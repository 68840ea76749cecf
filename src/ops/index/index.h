/* index.h (this room's): checked indices, and the three operators that all others are made of: gather, scatter of sums,
 * scatter of something else. */
#ifndef ISO_OPS_INDEX_INDEX_H
#define ISO_OPS_INDEX_INDEX_H
#include "kernels/gather/gather.h"
#include "kernels/scatter/scatter.h"
#include "ops/ops.h"

/* ---- indices ---- */

/* index as kernels want it: contiguous i64 in [0, extent), a new handle. `wraps`: negative ones count from the end.
 * NULL with an error that names `name`, position and value. */
iso_tensor *iso__index_read(iso_context *ctx, const char *op, const char *name, const iso_tensor *index, int64_t extent,
                            bool wraps);
/* The same for numbers of bins, from 0 up to INT64_MAX−1; *largest is −1 where there is none. */
iso_tensor *iso__index_read_bins(iso_context *ctx, const char *op, const char *name, const iso_tensor *index,
                                 int64_t *largest);
/* Row-major positions of what is not zero: (n). */
iso_tensor *iso__nonzero_positions(iso_context *ctx, const iso_tensor *x);
/* t with one axis if it has none (for both: axis 0 and −1 are then fine); another handle. */
iso_tensor *iso__at_least_1d(iso_context *ctx, const iso_tensor *t);
/* y in x's shape where x had no axis. */
iso_tensor *iso__like_0d(iso_context *ctx, const iso_tensor *x, iso_tensor *y);

/* ---- operators on checked indices ---- */

/* Where along x the index points: x (outer,extent,inner), axis `axis`. each: index has y's shape (gather) or src's
 * (scatter); else it is (n). padding ≥ 0: contributions to that row have no gradient, or are zero. */
typedef struct iso__indexing {
  int axis;
  bool each;
  int64_t extent, padding;
  bool zeroes;       /* gather: y is zero where the index is the padding */
  bool by_frequency; /* gather of rows: the gradient of each is divided by how often it occurs */
} iso__indexing;

iso_tensor *iso__gather_at(iso_context *ctx, const iso_tensor *x, const iso_tensor *index, const iso__indexing *at);
/* base + ordered(src); base NULL: zeros. */
iso_tensor *iso__scatter_sum(iso_context *ctx, const iso_tensor *base, const iso_tensor *src, const iso_tensor *index,
                             const iso__indexing *at);
iso_tensor *iso__scatter_set(iso_context *ctx, const iso_tensor *base, const iso_tensor *src, const iso_tensor *index,
                             const iso__indexing *at);
iso_tensor *iso__scatter_reduced(iso_context *ctx, const iso_tensor *base, const iso_tensor *src,
                                 const iso_tensor *index, const iso__indexing *at, iso_combine combine, bool include);
/* The kernel alone: not recorded. base NULL: zeros. */
iso_tensor *iso__scatter_run(iso_context *ctx, iso__scatter_fn fn, iso__scatter_base how, const iso_tensor *base,
                             const iso_tensor *src, const iso_tensor *index, const iso__indexing *at);
/* How often each place along the axis occurs in index (n), at least 1, in form's dtype; extents 1 along the other axes
 * of form. */
iso_tensor *iso__index_frequencies(iso_context *ctx, const iso__view *form, const iso_tensor *index,
                                   const iso__indexing *at);
/* Bytes of a contiguous tensor, wherever it lies, become 0. */
static inline void iso__clear_bytes(iso_tensor *t, size_t begin, size_t n_bytes) {
  const iso__device *device = t->view.storage->device;
  device->zero(device, (char *)iso__data(t) + begin, n_bytes);
}
/* Same dtype, else an error. */
bool iso__index_same_dtype(iso_context *ctx, const char *op, const iso_tensor *x, const iso_tensor *src);

/* A table of rows; and its row that padding (negative: from the end) stands for, −1 without one. */
bool iso__is_table(iso_context *ctx, const char *op, const iso_tensor *weights);
bool iso__padding_row(iso_context *ctx, const char *op, bool has, int64_t padding, int64_t rows, int64_t *row);
#endif
