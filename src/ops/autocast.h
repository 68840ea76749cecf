/* autocast.h: the two lines by which operators take part in mixed precision.
 *
 * ISO__AUTOCAST first of all casts the operands as the list says and calls the operator once more, with autocast off:
 * what it is written in sees the dtypes that were chosen for the whole. ISO__HALVES makes an operator whose kernels
 * compute in f32 one of f16 and bf16: operands are widened, which is exact, and the result is rounded once, so bits are
 * those of a kernel that widens as it reads. What such an operator saves for its gradient is saved narrow
 * (tensor/origin.c). */
#ifndef ISO_OPS_AUTOCAST_H
#define ISO_OPS_AUTOCAST_H
#include "autograd/autocast.h"

enum { ISO__MOST_CASTS = 6 };
typedef struct iso__casts {
  iso_tensor *made[ISO__MOST_CASTS]; /* to be released */
  int n;
  iso_dtype dtype; /* of the result (halves) */
} iso__casts;

/* Whether the operator is to be called with the operands that these now are. */
bool iso__autocast_enter(iso_context *ctx, const char *op, int n, const iso_tensor **const *operands, iso__casts *c);
iso_tensor *iso__autocast_leave(iso_context *ctx, iso__casts *c, iso_tensor *result);
bool iso__halves_enter(iso_context *ctx, int n, const iso_tensor **const *operands, iso__casts *c);
iso_tensor *iso__halves_leave(iso_context *ctx, iso__casts *c, iso_tensor *result);

/* The same for a list of operands. */
typedef struct iso__cast_list {
  int n;
  iso_tensor **made;
  const iso_tensor **operands;
} iso__cast_list;
bool iso__autocast_enter_list(iso_context *ctx, const char *op, int n, const iso_tensor *const *operands,
                              iso__cast_list *c);
iso_tensor *iso__autocast_leave_list(iso_context *ctx, iso__cast_list *c, iso_tensor *result);

/* `call` is the operator's own, operands the addresses of its arguments that are tensors. */
#define ISO__AUTOCAST(ctx, op, call, ...)                                                                              \
  do {                                                                                                                 \
    if (!iso__autocast_is_on(ctx)) break;                                                                              \
    const iso_tensor **const operands_[] = {__VA_ARGS__};                                                              \
    iso__casts casts_;                                                                                                 \
    if (iso__autocast_enter((ctx), (op), (int)(sizeof operands_ / sizeof *operands_), operands_, &casts_))             \
      return iso__autocast_leave((ctx), &casts_, (call));                                                              \
  } while (0)
#define ISO__AUTOCAST_LIST(ctx, op, n, list, call)                                                                     \
  do {                                                                                                                 \
    iso__cast_list casts_;                                                                                             \
    if (!iso__autocast_is_on(ctx) || !iso__autocast_enter_list((ctx), (op), (n), (list), &casts_)) break;              \
    (list) = casts_.operands;                                                                                          \
    return iso__autocast_leave_list((ctx), &casts_, (call));                                                           \
  } while (0)
/* The first operand decides. */
#define ISO__HALVES(ctx, call, ...)                                                                                    \
  do {                                                                                                                 \
    const iso_tensor **const operands_[] = {__VA_ARGS__};                                                              \
    iso__casts casts_;                                                                                                 \
    if (iso__halves_enter((ctx), (int)(sizeof operands_ / sizeof *operands_), operands_, &casts_))                     \
      return iso__halves_leave((ctx), &casts_, (call));                                                                \
  } while (0)
#endif
