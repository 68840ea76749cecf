/* list.h: every pointwise function: id, name, number of inputs, kind.
 *
 * PLAIN: inputs and result are of the problem's dtype; *_bwd take (saved, dy). INTEGER: likewise, of integers and bool
 * only. TRUTH: the result is bool. CHOICE: the first input is bool. What each computes: real_functions.h and
 * integer_functions.h. */
#ifndef ISO_KERNELS_MAP_LIST_H
#define ISO_KERNELS_MAP_LIST_H

/* clang-format off */
#define ISO__MAP_LIST(X)                                                                                              \
  X(ADD, "add", 2, PLAIN)                                                                                             \
  X(SUB, "sub", 2, PLAIN)                                                                                             \
  X(MUL, "mul", 2, PLAIN)                                                                                             \
  X(DIV, "div", 2, PLAIN)                                                                                             \
  X(MAXIMUM, "maximum", 2, PLAIN)                                                                                     \
  X(MINIMUM, "minimum", 2, PLAIN)                                                                                     \
  X(POW, "pow", 2, PLAIN)                                                                                             \
  X(EQ, "eq", 2, TRUTH)                                                                                               \
  X(LT, "lt", 2, TRUTH)                                                                                               \
  X(LE, "le", 2, TRUTH)                                                                                               \
  X(NE, "ne", 2, TRUTH)                                                                                               \
  X(LOGICAL_AND, "logical_and", 2, TRUTH) /* of truths, as are the three below: 0 is false, all else true */          \
  X(LOGICAL_OR, "logical_or", 2, TRUTH)                                                                               \
  X(LOGICAL_XOR, "logical_xor", 2, TRUTH)                                                                             \
  X(LOGICAL_NOT, "logical_not", 1, TRUTH)                                                                             \
  X(NONZERO, "nonzero", 1, TRUTH)                                                                                     \
  X(ISNAN, "isnan", 1, TRUTH)                                                                                         \
  X(ISINF, "isinf", 1, TRUTH)                                                                                         \
  X(ISFINITE, "isfinite", 1, TRUTH)                                                                                   \
  X(WHERE, "where", 3, CHOICE)                                                                                        \
  X(ADD_SCALAR, "add_scalar", 1, PLAIN)                                                                               \
  X(MUL_SCALAR, "mul_scalar", 1, PLAIN)                                                                               \
  X(RSUB_SCALAR, "rsub_scalar", 1, PLAIN)                                                                             \
  X(RDIV_SCALAR, "rdiv_scalar", 1, PLAIN)                                                                             \
  X(POW_SCALAR, "pow_scalar", 1, PLAIN)                                                                               \
  X(CLAMP, "clamp", 1, PLAIN)                                                                                         \
  X(FMA, "fma", 3, PLAIN)                                                                                             \
  X(FMA_SCALAR, "fma_scalar", 2, PLAIN) /* fma(in0, scalar0, in1) */                                                  \
  X(COPY, "copy", 1, PLAIN)                                                                                           \
  X(NEG, "neg", 1, PLAIN)                                                                                             \
  X(ABS, "abs", 1, PLAIN)                                                                                             \
  X(SIGN, "sign", 1, PLAIN)                                                                                           \
  X(SQUARE, "square", 1, PLAIN)                                                                                       \
  X(SQRT, "sqrt", 1, PLAIN)                                                                                           \
  X(RSQRT, "rsqrt", 1, PLAIN)                                                                                         \
  X(RECIPROCAL, "reciprocal", 1, PLAIN)                                                                               \
  X(EXP, "exp", 1, PLAIN)                                                                                             \
  X(EXP2, "exp2", 1, PLAIN)                                                                                           \
  X(EXPM1, "expm1", 1, PLAIN)                                                                                         \
  X(LOG, "log", 1, PLAIN)                                                                                             \
  X(LOG2, "log2", 1, PLAIN)                                                                                           \
  X(LOG1P, "log1p", 1, PLAIN)                                                                                         \
  X(ERF, "erf", 1, PLAIN)                                                                                             \
  X(TANH, "tanh", 1, PLAIN)                                                                                           \
  X(SIGMOID, "sigmoid", 1, PLAIN)                                                                                     \
  X(SINPI, "sinpi", 1, PLAIN)                                                                                         \
  X(COSPI, "cospi", 1, PLAIN)                                                                                         \
  X(RELU, "relu", 1, PLAIN)                                                                                           \
  X(GELU, "gelu", 1, PLAIN)                                                                                           \
  X(GELU_TANH, "gelu_tanh", 1, PLAIN)                                                                                 \
  X(SILU, "silu", 1, PLAIN)                                                                                           \
  X(SOFTPLUS, "softplus", 1, PLAIN)                                                                                   \
  X(RELU_BWD, "relu_bwd", 2, PLAIN) /* (y, dy), as are the two below */                                               \
  X(TANH_BWD, "tanh_bwd", 2, PLAIN)                                                                                   \
  X(SIGMOID_BWD, "sigmoid_bwd", 2, PLAIN)                                                                             \
  X(GELU_BWD, "gelu_bwd", 2, PLAIN) /* (x, dy), as are the three below */                                             \
  X(GELU_TANH_BWD, "gelu_tanh_bwd", 2, PLAIN)                                                                         \
  X(SILU_BWD, "silu_bwd", 2, PLAIN)                                                                                   \
  X(SOFTPLUS_BWD, "softplus_bwd", 2, PLAIN)                                                                           \
  X(ADD_RELU, "add_relu", 2, PLAIN) /* relu(in0 + in1), the two roundings of the separate operators */                \
  X(BIT_AND, "bit_and", 2, INTEGER)                                                                                     \
  X(BIT_OR, "bit_or", 2, INTEGER)                                                                                       \
  X(BIT_XOR, "bit_xor", 2, INTEGER)                                                                                     \
  X(BIT_NOT, "bit_not", 1, INTEGER)                                                                                     \
  X(SHIFT_LEFT, "shift_left", 2, INTEGER)                                                                               \
  X(SHIFT_RIGHT, "shift_right", 2, INTEGER)                                                                             \
  X(FLOOR_DIV, "floor_div", 2, PLAIN)                                                                                   \
  X(REMAINDER, "remainder", 2, PLAIN)                                                                                 \
  X(TRUNC_DIV, "trunc_div", 2, PLAIN)                                                                                 \
  X(FMOD, "fmod", 2, PLAIN)                                                                                           \
  X(HYPOT, "hypot", 2, PLAIN)                                                                                         \
  X(SIGNBIT, "signbit", 1, TRUTH)                                                                                     \
  X(ISPOSINF, "isposinf", 1, TRUTH)                                                                                   \
  X(ISNEGINF, "isneginf", 1, TRUTH)                                                                                   \
  X(ISCLOSE, "isclose", 2, TRUTH) /* relative and absolute tolerance, whether NaN = NaN */                            \
  X(FLOOR, "floor", 1, PLAIN)                                                                                         \
  X(CEIL, "ceil", 1, PLAIN)                                                                                           \
  X(TRUNC, "trunc", 1, PLAIN)                                                                                         \
  X(ROUND, "round", 1, PLAIN) /* half to even */                                                                      \
  X(ROUND_SCALED, "round_scaled", 1, PLAIN)                                                                           \
  X(FRAC, "frac", 1, PLAIN)                                                                                           \
  X(COPYSIGN, "copysign", 2, PLAIN)                                                                                   \
  X(NEXTAFTER, "nextafter", 2, PLAIN) /* f32 and f64 only */                                                          \
  X(MANTISSA, "mantissa", 1, PLAIN)                                                                                   \
  X(EXPONENT, "exponent", 1, PLAIN)                                                                                   \
  X(NAN_TO_NUM, "nan_to_num", 1, PLAIN)                                                                               \
  X(FMAX, "fmax", 2, PLAIN) /* a NaN only where both are */                                                           \
  X(FMIN, "fmin", 2, PLAIN)                                                                                           \
  X(HEAVISIDE, "heaviside", 2, PLAIN)                                                                                 \
  X(LERP, "lerp", 3, PLAIN) /* from in0 to in1 by in2 */                                                              \
  X(LERP_SCALAR, "lerp_scalar", 2, PLAIN)                                                                             \
  X(ADDCMUL, "addcmul", 3, PLAIN)                                                                                     \
  X(ADDCDIV, "addcdiv", 3, PLAIN)                                                                                     \
  X(LOGADDEXP, "logaddexp", 2, PLAIN)                                                                                 \
  X(LOGADDEXP2, "logaddexp2", 2, PLAIN)                                                                               \
  X(LOGIT, "logit", 1, PLAIN)                                                                                         \
  X(XLOGY, "xlogy", 2, PLAIN)                                                                                         \
  X(XLOG1PY, "xlog1py", 2, PLAIN)                                                                                     \
  X(ENTR, "entr", 1, PLAIN)                                                                                           \
  X(SINC, "sinc", 1, PLAIN)                                                                                           \
  X(LEAKY_RELU, "leaky_relu", 1, PLAIN)                                                                               \
  X(PRELU, "prelu", 2, PLAIN)                                                                                         \
  X(ELU, "elu", 1, PLAIN) /* scalars: of negative values, of positive, of the exponent */                             \
  X(HARDSWISH, "hardswish", 1, PLAIN)                                                                                 \
  X(HARDSIGMOID, "hardsigmoid", 1, PLAIN)                                                                             \
  X(HARDSHRINK, "hardshrink", 1, PLAIN)                                                                               \
  X(SOFTSHRINK, "softshrink", 1, PLAIN)                                                                               \
  X(THRESHOLD, "threshold", 1, PLAIN)                                                                                 \
  X(SOFTPLUS_SCALED, "softplus_scaled", 1, PLAIN) /* beta, threshold */                                               \
  X(SOFTSIGN, "softsign", 1, PLAIN)                                                                                   \
  X(LOGSIGMOID, "logsigmoid", 1, PLAIN)                                                                               \
  X(MISH, "mish", 1, PLAIN)                                                                                           \
  X(GLU, "glu", 2, PLAIN)                                                                                             \
  X(SWIGLU, "swiglu", 2, PLAIN)                                                                                       \
  X(GEGLU, "geglu", 2, PLAIN)                                                                                         \
  X(GEGLU_TANH, "geglu_tanh", 2, PLAIN)                                                                               \
  X(CLAMP_BWD, "clamp_bwd", 2, PLAIN) /* (x, dy), as are all below */                                                 \
  X(HARDTANH_BWD, "hardtanh_bwd", 2, PLAIN)                                                                           \
  X(LEAKY_RELU_BWD, "leaky_relu_bwd", 2, PLAIN)                                                                       \
  X(ELU_BWD, "elu_bwd", 2, PLAIN)                                                                                     \
  X(HARDSWISH_BWD, "hardswish_bwd", 2, PLAIN)                                                                         \
  X(HARDSIGMOID_BWD, "hardsigmoid_bwd", 2, PLAIN)                                                                     \
  X(SHRINK_BWD, "shrink_bwd", 2, PLAIN)                                                                               \
  X(THRESHOLD_BWD, "threshold_bwd", 2, PLAIN)                                                                         \
  X(SOFTPLUS_SCALED_BWD, "softplus_scaled_bwd", 2, PLAIN)                                                             \
  X(SOFTSIGN_BWD, "softsign_bwd", 2, PLAIN)                                                                           \
  X(LOGSIGMOID_BWD, "logsigmoid_bwd", 2, PLAIN)                                                                       \
  X(MISH_BWD, "mish_bwd", 2, PLAIN)                                                                                   \
  X(GLU_BWD, "glu_bwd", 3, PLAIN) /* (a, b, dy): of the gate b */                                                     \
  X(SWIGLU_BWD, "swiglu_bwd", 3, PLAIN) /* (a, b, dy), as are the two below: of the gate a */                         \
  X(GEGLU_BWD, "geglu_bwd", 3, PLAIN)                                                                                 \
  X(GEGLU_TANH_BWD, "geglu_tanh_bwd", 3, PLAIN)                                                                       \
  X(GCD, "gcd", 2, INTEGER)                                                                                           \
  X(LCM, "lcm", 2, INTEGER)                                                                                           \
  X(SIN, "sin", 1, PLAIN)                                                                                             \
  X(COS, "cos", 1, PLAIN)                                                                                             \
  X(TAN, "tan", 1, PLAIN)                                                                                             \
  X(ASIN, "asin", 1, PLAIN)                                                                                           \
  X(ACOS, "acos", 1, PLAIN)                                                                                           \
  X(ATAN, "atan", 1, PLAIN)                                                                                           \
  X(SINH, "sinh", 1, PLAIN)                                                                                           \
  X(COSH, "cosh", 1, PLAIN)                                                                                           \
  X(ASINH, "asinh", 1, PLAIN)                                                                                         \
  X(ACOSH, "acosh", 1, PLAIN)                                                                                         \
  X(ATANH, "atanh", 1, PLAIN)                                                                                         \
  X(LOG10, "log10", 1, PLAIN)                                                                                         \
  X(ERFC, "erfc", 1, PLAIN)                                                                                           \
  X(ATAN2, "atan2", 2, PLAIN)                                                                                       \
  X(LGAMMA, "lgamma", 1, PLAIN)                                                                                     \
  X(DIGAMMA, "digamma", 1, PLAIN)                                                                                   \
  X(TRIGAMMA, "trigamma", 1, PLAIN)                                                                                 \
  X(ERFINV, "erfinv", 1, PLAIN)                                                                                     \
  X(NDTRI, "ndtri", 1, PLAIN)                                                                                       \
  X(I0, "i0", 1, PLAIN)                                                                                             \
  X(I0E, "i0e", 1, PLAIN)                                                                                           \
  X(I1, "i1", 1, PLAIN)                                                                                             \
  X(I1E, "i1e", 1, PLAIN)
/* clang-format on */
#endif
