/* integer_functions.h: what each function of list.h that integers have computes of integers a, b, c and scalars s0, s1.
 *
 * All dtypes are widened to 64 bits, wrap there, and are cut to the dtype (bool: anything but 0 is 1). Division by zero
 * gives 0, and the remainder is then the dividend, so that a = b·(a/b) + a%b holds always. Left shifts by a negative
 * count or by 64 and more give 0; right shifts keep the sign, and such counts leave nothing but the sign. This text is
 * the specification of both the reference and the engines (typed.c). */
#ifndef ISO_KERNELS_MAP_INTEGER_FUNCTIONS_H
#define ISO_KERNELS_MAP_INTEGER_FUNCTIONS_H
#include <stdint.h>
#include "numeric/hd.h"

static inline ISO__HD int64_t wrap_add(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
static inline ISO__HD int64_t wrap_sub(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }
static inline ISO__HD int64_t wrap_mul(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }

/* Towards zero; the lowest number by −1 wraps. */
static inline ISO__HD int64_t trunc_div(int64_t a, int64_t b) { return b == 0 ? 0 : b == -1 ? wrap_sub(0, a) : a / b; }
static inline ISO__HD int64_t trunc_rest(int64_t a, int64_t b) { return b == 0 ? a : b == -1 ? 0 : a % b; }
/* Downwards; the rest has the divisor's sign. */
static inline ISO__HD int64_t floor_div(int64_t a, int64_t b) {
  const int64_t rest = trunc_rest(a, b);
  return trunc_div(a, b) - (b != 0 && rest != 0 && (rest < 0) != (b < 0));
}
static inline ISO__HD int64_t floor_rest(int64_t a, int64_t b) {
  const int64_t rest = trunc_rest(a, b);
  return b != 0 && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

static inline ISO__HD int64_t shift_left(int64_t a, int64_t n) {
  return n < 0 || n > 63 ? 0 : (int64_t)((uint64_t)a << n);
}
static inline ISO__HD int64_t shift_right(int64_t a, int64_t n) { return a >> (n < 0 || n > 63 ? 63 : n); }

/* By squaring, wrapping. Of negative exponents only the powers of 1 and −1 are whole; the others give 0. */
static inline ISO__HD int64_t wrap_pow(int64_t a, int64_t n) {
  if (n < 0) return a == 1 ? 1 : a == -1 ? (n & 1 ? -1 : 1) : 0;
  int64_t result = 1;
  for (; n; n >>= 1, a = wrap_mul(a, a))
    if (n & 1) result = wrap_mul(result, a);
  return result;
}

/* Not negative, except that the greatest divisor of the lowest number and itself or 0 wraps to it. */
static inline ISO__HD int64_t gcd(int64_t a, int64_t b) {
  uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a, y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
  while (y) {
    const uint64_t rest = x % y;
    x = y, y = rest;
  }
  return (int64_t)x;
}
static inline ISO__HD int64_t lcm(int64_t a, int64_t b) {
  const int64_t divisor = gcd(a, b);
  if (divisor == 0) return 0;
  const int64_t product = wrap_mul(trunc_div(a, divisor), b);
  return product < 0 ? wrap_sub(0, product) : product;
}

/* clang-format off */
#define ISO__MAP_INTEGER_FUNCTIONS(X)                                                                                 \
  X(ADD, wrap_add(a, b))                                                                                              \
  X(SUB, wrap_sub(a, b))                                                                                              \
  X(MUL, wrap_mul(a, b))                                                                                              \
  X(DIV, trunc_div(a, b))                                                                                             \
  X(MAXIMUM, a > b ? a : b)                                                                                           \
  X(MINIMUM, a < b ? a : b)                                                                                           \
  X(POW, wrap_pow(a, b))                                                                                              \
  X(EQ, a == b)                                                                                                       \
  X(LT, a < b)                                                                                                        \
  X(LE, a <= b)                                                                                                       \
  X(NE, a != b)                                                                                                       \
  X(LOGICAL_AND, a && b)                                                                                              \
  X(LOGICAL_OR, a || b)                                                                                               \
  X(LOGICAL_XOR, !a != !b)                                                                                            \
  X(LOGICAL_NOT, !a)                                                                                                  \
  X(NONZERO, a != 0)                                                                                                  \
  X(ISNAN, 0)                                                                                                         \
  X(ISINF, 0)                                                                                                         \
  X(ISFINITE, 1)                                                                                                      \
  X(WHERE, a ? b : c)                                                                                                 \
  X(ADD_SCALAR, wrap_add(a, s0))                                                                                      \
  X(MUL_SCALAR, wrap_mul(a, s0))                                                                                      \
  X(RSUB_SCALAR, wrap_sub(s0, a))                                                                                     \
  X(POW_SCALAR, wrap_pow(a, s0))                                                                                      \
  X(CLAMP, a < s0 ? s0 : a > s1 ? s1 : a)                                                                             \
  X(FMA, wrap_add(wrap_mul(a, b), c))                                                                                 \
  X(FMA_SCALAR, wrap_add(wrap_mul(a, s0), b))                                                                         \
  X(COPY, a)                                                                                                          \
  X(NEG, wrap_sub(0, a))                                                                                              \
  X(ABS, a < 0 ? wrap_sub(0, a) : a)                                                                                  \
  X(SIGN, (a > 0) - (a < 0))                                                                                          \
  X(SQUARE, wrap_mul(a, a))                                                                                           \
  X(RELU, a > 0 ? a : 0)                                                                                              \
  X(RELU_BWD, a > 0 ? b : 0)                                                                                          \
  X(ADD_RELU, wrap_add(a, b) > 0 ? wrap_add(a, b) : 0)                                                                \
  X(BIT_AND, a & b)                                                                                                   \
  X(BIT_OR, a | b)                                                                                                    \
  X(BIT_XOR, a ^ b)                                                                                                   \
  X(BIT_NOT, ~a)                                                                                                      \
  X(SHIFT_LEFT, shift_left(a, b))                                                                                     \
  X(SHIFT_RIGHT, shift_right(a, b))                                                                                   \
  X(FLOOR_DIV, floor_div(a, b))                                                                                       \
  X(REMAINDER, floor_rest(a, b))                                                                                      \
  X(TRUNC_DIV, trunc_div(a, b))                                                                                       \
  X(FMOD, trunc_rest(a, b))                                                                                           \
  X(SIGNBIT, a < 0)                                                                                                   \
  X(ISPOSINF, 0)                                                                                                      \
  X(ISNEGINF, 0)                                                                                                      \
  X(GCD, gcd(a, b))                                                                                                   \
  X(LCM, lcm(a, b))                                                                                                   \
  X(HEAVISIDE, a == 0 ? b : a > 0)                                                                                    \
  X(FMAX, a > b ? a : b)                                                                                              \
  X(FMIN, a < b ? a : b)                                                                                              \
  X(ADDCMUL, wrap_add(a, wrap_mul(wrap_mul(s0, b), c)))
/* clang-format on */
#endif
