/* linalg.h (ops): what the files of linear algebra share. */
#ifndef ISO_OPS_LINALG_LINALG_H
#define ISO_OPS_LINALG_LINALG_H
#include "kernels/linalg/linalg.h"
#include "ops/ops.h"

/* Whether a has two axes or more, square ones if asked. */
bool iso__takes_matrix(iso_context *ctx, const char *op, const iso_tensor *a, bool square);
/* The problem of a's matrices; m, n and batch are filled. */
void iso__linalg_problem(iso_linalg_problem *p, iso__op op, const iso_tensor *a);
/* The place (matrix·n + k) of the first element of square, contiguous matrices' diagonals that `is_bad` finds; −1:
 * none. */
int64_t iso__find_diagonal(const iso_tensor *t, bool (*is_bad)(double));
/* A result with a's batch axes and these last extents; columns −1: a vector of `rows`. */
iso_tensor *iso__batch_of(iso_context *ctx, const iso_tensor *a, iso_dtype dtype, int64_t rows, int64_t columns);
/* The last two axes exchanged. */
static inline iso_tensor *iso__turned(iso_context *ctx, const iso_tensor *a) { return iso_transpose(ctx, a, -1, -2); }
/* Column scaling: a·diag(d). */
iso_tensor *iso__scale_columns(iso_context *ctx, const iso_tensor *a, const iso_tensor *d);
/* a with this diagonal. */
iso_tensor *iso__with_diagonal(iso_context *ctx, const iso_tensor *a, const iso_tensor *diagonal);
#endif
