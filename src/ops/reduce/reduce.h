/* reduce.h: the axes of a reduction, and the launch that sum, prod, amax … share. */
#ifndef ISO_OPS_REDUCE_H
#define ISO_OPS_REDUCE_H
#include "kernels/reduce/reduce.h"
#include "ops/ops.h"

/* Which axes; also a node's attributes. */
typedef struct iso__axes {
  bool reduced[ISO_MAX_DIMS];
  bool keep_dims;
  int64_t n; /* elements of each sum */
} iso__axes;

/* Reads and checks the caller's axes (n_axes 0: all of them). */
bool iso__axes_read(iso_context *ctx, const char *op, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims,
                    iso__axes *out);
/* The same for extrema, which need an element. */
bool iso__extremum_axes_read(iso_context *ctx, const char *op, const iso_tensor *x, int n_axes, const int *axes,
                             bool keep_dims, iso__axes *out);
/* f16 and bf16 are reduced as f32 and rounded once: `reduction` of a half x, on the tape as its casts are. */
typedef iso_tensor *iso__reduction(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims);
bool iso__reduce_is_half(const iso_context *ctx, const iso_tensor *x);
iso_tensor *iso__reduce_half(iso_context *ctx, iso__reduction *reduction, const iso_tensor *x, int n_axes,
                             const int *axes, bool keep_dims);
/* The reduced axes as a list; how many there are. */
int iso__axes_list(const iso__axes *axes, const iso__view *x, int *list);
/* The reduction itself, not recorded: rows (class lanes) if the reduced axes are innermost, else columns. */
iso_tensor *iso__reduce(iso_context *ctx, iso__reduce_fn fn, const iso_tensor *x, const iso__axes *axes);
/* The same of a function with a second result (means, positions); `divisor` of VAR and STD. */
iso_tensor *iso__reduce_two(iso_context *ctx, iso__reduce_fn fn, const iso_tensor *x, const iso__axes *axes,
                            double divisor, iso_tensor **second);
/* iso__reduce, recorded. */
iso_tensor *iso__reduce_finish(iso_context *ctx, iso__reduce_fn fn, iso__rule_id rule, const iso_tensor *x,
                               const iso__axes *axes, bool save_x, bool save_y);
/* t with a result's shape → with the reduced axes as extents of 1; then repeated to the shape of x: views. */
iso_tensor *iso__reduced_keep(iso_context *ctx, const iso_tensor *t, const iso__view *x, const iso__axes *axes);
iso_tensor *iso__reduced_expand(iso_context *ctx, const iso_tensor *t, const iso__view *x, const iso__axes *axes);
/* y with 1 where it is 0, and a with 0 there: a / y that is 0 where y is, differentiable there too. */
iso_tensor *iso__div_or_zero(iso_context *ctx, const iso_tensor *a, const iso_tensor *y);
/* dy shared equally by the elements that `chosen` (bool) names among those of each result. */
iso_tensor *iso__share(iso_context *ctx, const iso_tensor *chosen, const iso_tensor *dy, const iso__view *x,
                       const iso__axes *axes);
#endif
