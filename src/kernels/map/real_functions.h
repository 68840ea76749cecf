/* real_functions.h: what each function of list.h computes of real numbers a, b, c and scalars s0, s1, in plain C.
 *
 * This text is the specification: reference_body.h makes the references of it, typed_body.h the engines of f64; the
 * vector engines' expressions (map_impl.h) must give its bits. */
#ifndef ISO_KERNELS_MAP_REAL_FUNCTIONS_H
#define ISO_KERNELS_MAP_REAL_FUNCTIONS_H

/* clang-format off */
#define ISO__MAP_REAL_FUNCTIONS(X)                                                                                    \
  X(ADD, a + b)                                                                                                       \
  X(SUB, a - b)                                                                                                       \
  X(MUL, a * b)                                                                                                       \
  X(DIV, a / b)                                                                                                       \
  X(MAXIMUM, a != a ? a : a > b ? a : b) /* of equal zeros the second */                                              \
  X(MINIMUM, a != a ? a : a < b ? a : b)                                                                              \
  X(POW, MATH(pow)(a, b))                                                                                             \
  X(EQ, a == b)                                                                                                       \
  X(LT, a < b)                                                                                                        \
  X(LE, a <= b)                                                                                                       \
  X(NE, a != b)                                                                                                       \
  X(LOGICAL_AND, a != 0 && b != 0) /* NaN is not 0 */                                                                 \
  X(LOGICAL_OR, a != 0 || b != 0)                                                                                     \
  X(LOGICAL_XOR, (a != 0) != (b != 0))                                                                                \
  X(LOGICAL_NOT, a == 0)                                                                                              \
  X(NONZERO, a != 0)                                                                                                  \
  X(ISNAN, a != a)                                                                                                    \
  X(ISINF, EXACT(fabs)(a) == (REAL)INFINITY)                                                                          \
  X(ISFINITE, EXACT(fabs)(a) < (REAL)INFINITY)                                                                        \
  X(WHERE, a != 0 ? b : c)                                                                                            \
  X(ADD_SCALAR, a + s0)                                                                                               \
  X(MUL_SCALAR, a * s0)                                                                                               \
  X(RSUB_SCALAR, s0 - a)                                                                                              \
  X(RDIV_SCALAR, s0 / a)                                                                                              \
  X(POW_SCALAR, NAMED(power)(a, s0))                                                                                  \
  X(CLAMP, a < s0 ? s0 : a > s1 ? s1 : a)                                                                             \
  X(FMA, EXACT(fma)(a, b, c))                                                                                         \
  X(FMA_SCALAR, EXACT(fma)(a, s0, b))                                                                                 \
  X(COPY, a)                                                                                                          \
  X(NEG, -a)                                                                                                          \
  X(ABS, EXACT(fabs)(a))                                                                                              \
  X(SIGN, a > 0 ? 1 : a < 0 ? -1 : a) /* zeros and NaN stay */                                                        \
  X(SQUARE, a * a)                                                                                                    \
  X(SQRT, EXACT(sqrt)(a))                                                                                             \
  X(RSQRT, MATH(rsqrt)(a))                                                                                            \
  X(RECIPROCAL, 1 / a)                                                                                                \
  X(EXP, MATH(exp)(a))                                                                                                \
  X(EXP2, MATH(exp2)(a))                                                                                              \
  X(EXPM1, MATH(expm1)(a))                                                                                            \
  X(LOG, MATH(log)(a))                                                                                                \
  X(LOG2, MATH(log2)(a))                                                                                              \
  X(LOG1P, MATH(log1p)(a))                                                                                            \
  X(ERF, MATH(erf)(a))                                                                                                \
  X(TANH, MATH(tanh)(a))                                                                                              \
  X(SIGMOID, MATH(sigmoid)(a))                                                                                        \
  X(SINPI, MATH(sinpi)(a))                                                                                            \
  X(COSPI, MATH(cospi)(a))                                                                                            \
  X(RELU, NAMED(relu)(a))                                                                                             \
  X(GELU, MATH(gelu)(a))                                                                                              \
  X(GELU_TANH, MATH(gelu_tanh)(a))                                                                                    \
  X(SILU, MATH(silu)(a))                                                                                              \
  X(SOFTPLUS, MATH(softplus)(a))                                                                                      \
  X(RELU_BWD, a > 0 ? b : a != a ? a : 0)                                                                             \
  X(TANH_BWD, b * EXACT(fma)(-a, a, (REAL)1))                                                                         \
  X(SIGMOID_BWD, b * (a * (1 - a)))                                                                                   \
  X(GELU_BWD, b * MATH(gelu_grad)(a))                                                                                 \
  X(GELU_TANH_BWD, b * MATH(gelu_tanh_grad)(a))                                                                       \
  X(SILU_BWD, b * MATH(silu_grad)(a))                                                                                 \
  X(SOFTPLUS_BWD, b * MATH(sigmoid)(a))                                                                               \
  X(ADD_RELU, NAMED(relu)(a + b))
/* clang-format on */
#endif
