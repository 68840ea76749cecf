/* integer.c: bits, shifts and divisors, of integers (bits of bool, too). No gradients. */
#include "ops/ops.h"

static iso_tensor *compute(iso_context *ctx, const char *op, iso__map_fn fn, bool takes_bool, const iso_tensor *a,
                           const iso_tensor *b) {
  const iso_tensor *const in[] = {a, b};
  const uint32_t dtypes = ISO__INTEGER_DTYPES | (takes_bool ? ISO__DTYPE_BIT(ISO_BOOL) : 0);
  if (!iso__takes(ctx, op, 2, in) || !iso__takes_dtypes(ctx, op, dtypes, 2, in)) return NULL;
  return iso__map(ctx, op, fn, 2, in, NULL, NULL);
}
iso_tensor *iso_bitwise_and(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  return compute(ctx, "bitwise_and", ISO__MAP_BIT_AND, true, a, b);
}
iso_tensor *iso_bitwise_or(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  return compute(ctx, "bitwise_or", ISO__MAP_BIT_OR, true, a, b);
}
iso_tensor *iso_bitwise_xor(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  return compute(ctx, "bitwise_xor", ISO__MAP_BIT_XOR, true, a, b);
}
/* Of bool: not. */
iso_tensor *iso_bitwise_not(iso_context *ctx, const iso_tensor *x) {
  if (!iso__takes_dtypes(ctx, "bitwise_not", ISO__INTEGER_DTYPES | ISO__DTYPE_BIT(ISO_BOOL), 1, ISO__TENSORS(x)))
    return NULL;
  const iso__map_fn fn = x->view.dtype == ISO_BOOL ? ISO__MAP_LOGICAL_NOT : ISO__MAP_BIT_NOT;
  return iso__map(ctx, "bitwise_not", fn, 1, ISO__TENSORS(x), NULL, NULL);
}
iso_tensor *iso_bitwise_left_shift(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  return compute(ctx, "bitwise_left_shift", ISO__MAP_SHIFT_LEFT, false, a, b);
}
iso_tensor *iso_bitwise_right_shift(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  return compute(ctx, "bitwise_right_shift", ISO__MAP_SHIFT_RIGHT, false, a, b);
}
iso_tensor *iso_gcd(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  return compute(ctx, "gcd", ISO__MAP_GCD, false, a, b);
}
iso_tensor *iso_lcm(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  return compute(ctx, "lcm", ISO__MAP_LCM, false, a, b);
}
