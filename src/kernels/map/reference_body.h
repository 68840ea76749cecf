/* The map functions in plain C, once per precision: REAL is the type, EXACT(f) the C library's exact function f of it,
 * MATH(f) the shared function f of numeric/, NAMED(f) this file's name for it. This text is the specification; the fast
 * engines' expressions in map_impl.h must give its bits. */

static REAL NAMED(relu)(REAL x) { return x > 0 ? x : x != x ? x : 0; }

/* Integer powers by squaring, low bit first; every other exponent by the shared pow. */
static REAL NAMED(power)(REAL x, REAL exponent) {
  if (!(EXACT(rint)(exponent) == exponent && EXACT(fabs)(exponent) <= ISO__MAP_LARGEST_INTEGER_POWER))
    return MATH(pow)(x, exponent);
  REAL result = 1, square = x;
  for (int n = (int)EXACT(fabs)(exponent); n; n >>= 1) {
    if (n & 1) result = result * square;
    if (n > 1) square = square * square;
  }
  return exponent < 0 ? 1 / result : result;
}

static REAL NAMED(map)(iso__map_fn fn, REAL a, REAL b, REAL c, REAL s0, REAL s1) {
  switch (fn) {
  case ISO__MAP_ADD: return a + b;
  case ISO__MAP_SUB: return a - b;
  case ISO__MAP_MUL: return a * b;
  case ISO__MAP_DIV: return a / b;
  case ISO__MAP_MAXIMUM: return a != a ? a : a > b ? a : b; /* of equal zeros the second */
  case ISO__MAP_MINIMUM: return a != a ? a : a < b ? a : b;
  case ISO__MAP_POW: return MATH(pow)(a, b);
  case ISO__MAP_EQ: return a == b;
  case ISO__MAP_LT: return a < b;
  case ISO__MAP_LE: return a <= b;
  case ISO__MAP_WHERE: return a != 0 ? b : c; /* NaN is not 0 */
  case ISO__MAP_ADD_SCALAR: return a + s0;
  case ISO__MAP_MUL_SCALAR: return a * s0;
  case ISO__MAP_RSUB_SCALAR: return s0 - a;
  case ISO__MAP_RDIV_SCALAR: return s0 / a;
  case ISO__MAP_POW_SCALAR: return NAMED(power)(a, s0);
  case ISO__MAP_CLAMP: return a < s0 ? s0 : a > s1 ? s1 : a;
  case ISO__MAP_FMA: return EXACT(fma)(a, b, c);
  case ISO__MAP_FMA_SCALAR: return EXACT(fma)(a, s0, b);
  case ISO__MAP_COPY: return a;
  case ISO__MAP_NEG: return -a;
  case ISO__MAP_ABS: return EXACT(fabs)(a);
  case ISO__MAP_SIGN: return a > 0 ? 1 : a < 0 ? -1 : a; /* zeros and NaN stay */
  case ISO__MAP_SQUARE: return a * a;
  case ISO__MAP_SQRT: return EXACT(sqrt)(a);
  case ISO__MAP_RSQRT: return MATH(rsqrt)(a);
  case ISO__MAP_RECIPROCAL: return 1 / a;
  case ISO__MAP_EXP: return MATH(exp)(a);
  case ISO__MAP_EXP2: return MATH(exp2)(a);
  case ISO__MAP_EXPM1: return MATH(expm1)(a);
  case ISO__MAP_LOG: return MATH(log)(a);
  case ISO__MAP_LOG2: return MATH(log2)(a);
  case ISO__MAP_LOG1P: return MATH(log1p)(a);
  case ISO__MAP_ERF: return MATH(erf)(a);
  case ISO__MAP_TANH: return MATH(tanh)(a);
  case ISO__MAP_SIGMOID: return MATH(sigmoid)(a);
  case ISO__MAP_SINPI: return MATH(sinpi)(a);
  case ISO__MAP_COSPI: return MATH(cospi)(a);
  case ISO__MAP_RELU: return NAMED(relu)(a);
  case ISO__MAP_GELU: return MATH(gelu)(a);
  case ISO__MAP_GELU_TANH: return MATH(gelu_tanh)(a);
  case ISO__MAP_SILU: return MATH(silu)(a);
  case ISO__MAP_SOFTPLUS: return MATH(softplus)(a);
  case ISO__MAP_RELU_BWD: return a > 0 ? b : a != a ? a : 0;
  case ISO__MAP_TANH_BWD: return b * EXACT(fma)(-a, a, (REAL)1);
  case ISO__MAP_SIGMOID_BWD: return b * (a * (1 - a));
  case ISO__MAP_GELU_BWD: return b * MATH(gelu_grad)(a);
  case ISO__MAP_GELU_TANH_BWD: return b * MATH(gelu_tanh_grad)(a);
  case ISO__MAP_SILU_BWD: return b * MATH(silu_grad)(a);
  case ISO__MAP_SOFTPLUS_BWD: return b * MATH(sigmoid)(a);
  case ISO__MAP_ADD_RELU: return NAMED(relu)(a + b);
  default: return 0;
  }
}
