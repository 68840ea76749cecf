/* real_functions.h: what each function of list.h computes of real numbers a, b, c and scalars s0, s1, in plain C.
 *
 * This text is the specification: reference_body.h makes the references of it, typed_body.h the engines of f64; the
 * vector engines' expressions (vector_functions.h) must give its bits. */
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
  X(ADD_RELU, NAMED(relu)(a + b))                                                                                     \
  X(SIGNBIT, NAMED(sign_bit)(a))                                                                                      \
  X(FLOOR_DIV, NAMED(floor_quotient)(a, b))                                                                           \
  X(REMAINDER, MATH(remainder)(a, b))                                                                                 \
  X(TRUNC_DIV, NAMED(cut)(a / b))                                                                                     \
  X(FMOD, MATH(fmod)(a, b)) /* exact */                                                                               \
  X(HYPOT, MATH(hypot)(a, b))                                                                                         \
  X(ISPOSINF, a == (REAL)INFINITY)                                                                                    \
  X(ISNEGINF, a == (REAL)-INFINITY)                                                                                   \
  X(ISCLOSE, NAMED(is_close)(a, b, s0, s1, s2))                                                                       \
  X(FLOOR, EXACT(floor)(a))                                                                                           \
  X(CEIL, -EXACT(floor)(-a))                                                                                          \
  X(TRUNC, NAMED(cut)(a))                                                                                             \
  X(ROUND, EXACT(rint)(a))                                                                                            \
  X(ROUND_SCALED, s1 != 0 ? EXACT(rint)(a / s0) * s0 : EXACT(rint)(a * s0) / s0)                                      \
  X(FRAC, a - NAMED(cut)(a))                                                                                          \
  X(COPYSIGN, NAMED(with_sign)(a, b))                                                                                 \
  X(NEXTAFTER, NAMED(next)(a, b))                                                                                     \
  X(MANTISSA, NAMED(mantissa)(a))                                                                                     \
  X(EXPONENT, NAMED(exponent)(a))                                                                                     \
  X(NAN_TO_NUM, a != a ? s0 : a == (REAL)INFINITY ? s1 : a == (REAL)-INFINITY ? s2 : a)                               \
  X(FMAX, a != a ? b : b != b ? a : a > b ? a : b)                                                                    \
  X(FMIN, a != a ? b : b != b ? a : a < b ? a : b)                                                                    \
  X(HEAVISIDE, a == 0 ? b : (REAL)(a > 0))                                                                            \
  X(LERP, NAMED(lerp)(a, b, c))                                                                                       \
  X(LERP_SCALAR, NAMED(lerp)(a, b, s0))                                                                               \
  X(ADDCMUL, a + (s0 * b) * c)                                                                                        \
  X(ADDCDIV, a + (s0 * b) / c)                                                                                        \
  X(LOGADDEXP, MATH(logaddexp)(a, b))                                                                                 \
  X(LOGADDEXP2, NAMED(log_add_exp2)(a, b))                                                                            \
  X(LOGIT, a < (REAL)0.25 ? MATH(log)(a / (1 - a)) : MATH(log1p)((2 * a - 1) / (1 - a)))                              \
  X(XLOGY, b != b ? b : a == 0 ? 0 : a * MATH(log)(b))                                                                \
  X(XLOG1PY, b != b ? b : a == 0 ? 0 : a * MATH(log1p)(b))                                                            \
  X(ENTR, a > 0 ? -a * MATH(log)(a) : a == 0 ? 0 : a != a ? a : (REAL)-INFINITY)                                      \
  X(SINC, a == 0 ? 1 : MATH(sinpi)(a) / ((REAL)0x1.921fb54442d18p+1 * a))                                             \
  X(LEAKY_RELU, a > 0 ? a : a * s0)                                                                                   \
  X(PRELU, a > 0 ? a : a * b)                                                                                         \
  X(ELU, a > 0 ? a * s1 : MATH(expm1)(a * s2) * s0)                                                                   \
  X(HARDSWISH, a * NAMED(six)(a) / 6)                                                                                 \
  X(HARDSIGMOID, NAMED(six)(a) / 6)                                                                                   \
  X(HARDSHRINK, a >= -s0 && a <= s0 ? 0 : a)                                                                          \
  X(SOFTSHRINK, a > s0 ? a - s0 : a < -s0 ? a + s0 : a != a ? a : 0)                                                  \
  X(THRESHOLD, a <= s0 ? s1 : a)                                                                                      \
  X(SOFTPLUS_SCALED, a * s0 > s1 ? a : MATH(softplus)(a * s0) / s0)                                                   \
  X(SOFTSIGN, a / (1 + EXACT(fabs)(a)))                                                                               \
  X(LOGSIGMOID, MATH(log_sigmoid)(a))                                                                                  \
  X(MISH, MATH(mish)(a))                                                                                              \
  X(GLU, a * MATH(sigmoid)(b))                                                                                        \
  X(SWIGLU, MATH(silu)(a) * b)                                                                                        \
  X(GEGLU, MATH(gelu)(a) * b)                                                                                         \
  X(GEGLU_TANH, MATH(gelu_tanh)(a) * b)                                                                               \
  X(CLAMP_BWD, a >= s0 && a <= s1 ? b : 0)                                                                            \
  X(HARDTANH_BWD, a <= s0 || a >= s1 ? 0 : b)                                                                         \
  X(LEAKY_RELU_BWD, a > 0 ? b : b * s0)                                                                               \
  X(ELU_BWD, a > 0 ? b * s1 : b * (s0 * s2 * MATH(exp)(a * s2)))                                                      \
  X(HARDSWISH_BWD, a <= -3 ? 0 : a >= 3 ? b : b * (a / 3 + (REAL)0.5))                                                \
  X(HARDSIGMOID_BWD, a <= -3 || a >= 3 ? 0 : b / 6)                                                                   \
  X(SHRINK_BWD, a >= -s0 && a <= s0 ? 0 : b)                                                                          \
  X(THRESHOLD_BWD, a <= s0 ? 0 : b)                                                                                   \
  X(SOFTPLUS_SCALED_BWD, a * s0 > s1 ? b : b * MATH(sigmoid)(a * s0))                                                 \
  X(SOFTSIGN_BWD, b / NAMED(square)(1 + EXACT(fabs)(a)))                                                              \
  X(LOGSIGMOID_BWD, b * MATH(sigmoid)(-a))                                                                            \
  X(MISH_BWD, b * MATH(mish_grad)(a))                                                                                 \
  X(GLU_BWD, (c * a) * NAMED(bell)(MATH(sigmoid)(b)))                                                                 \
  X(SWIGLU_BWD, (c * b) * MATH(silu_grad)(a))                                                                         \
  X(GEGLU_BWD, (c * b) * MATH(gelu_grad)(a))                                                                          \
  X(GEGLU_TANH_BWD, (c * b) * MATH(gelu_tanh_grad)(a))                                                                \
  X(SIN, MATH(sin)(a))                                                                                                \
  X(COS, MATH(cos)(a))                                                                                                \
  X(TAN, MATH(tan)(a))                                                                                                \
  X(ASIN, MATH(asin)(a))                                                                                              \
  X(ACOS, MATH(acos)(a))                                                                                              \
  X(ATAN, MATH(atan)(a))                                                                                              \
  X(SINH, MATH(sinh)(a))                                                                                              \
  X(COSH, MATH(cosh)(a))                                                                                              \
  X(ASINH, MATH(asinh)(a))                                                                                            \
  X(ACOSH, MATH(acosh)(a))                                                                                            \
  X(ATANH, MATH(atanh)(a))                                                                                            \
  X(LOG10, MATH(log10)(a))                                                                                            \
  X(ERFC, MATH(erfc)(a))                                                                                              \
  X(ATAN2, MATH(atan2)(a, b))                                                                                       \
  X(LGAMMA, MATH(lgamma)(a))                                                                                        \
  X(DIGAMMA, MATH(digamma)(a))                                                                                      \
  X(TRIGAMMA, MATH(trigamma)(a))                                                                                    \
  X(ERFINV, MATH(erfinv)(a))                                                                                        \
  X(NDTRI, MATH(ndtri)(a))                                                                                          \
  X(I0, MATH(i0)(a))                                                                                                \
  X(I0E, MATH(i0e)(a))                                                                                              \
  X(I1, MATH(i1)(a))                                                                                                \
  X(I1E, MATH(i1e)(a))
/* clang-format on */
#endif
