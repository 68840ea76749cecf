/* reference_body.h: the functions of real_functions.h, once per precision: REAL is the type, EXACT(f) the C library's
 * exact function f of it, MATH(f) the shared function f of numeric/, NAMED(f) this file's name for it. */

static inline REAL NAMED(relu)(REAL x) { return x > 0 ? x : x != x ? x : 0; }

/* Integer powers by squaring, low bit first; every other exponent by the shared pow. */
static inline REAL NAMED(power)(REAL x, REAL exponent) {
  if (!(EXACT(rint)(exponent) == exponent && EXACT(fabs)(exponent) <= ISO__MAP_LARGEST_INTEGER_POWER))
    return MATH(pow)(x, exponent);
  REAL result = 1, square = x;
  for (int n = (int)EXACT(fabs)(exponent); n; n >>= 1) {
    if (n & 1) result = result * square;
    if (n > 1) square = square * square;
  }
  return exponent < 0 ? 1 / result : result;
}

/* Truths are 1 and 0. */
static inline REAL NAMED(map)(iso__map_fn fn, REAL a, REAL b, REAL c, REAL s0, REAL s1) {
  switch (fn) {
#define CASE(id, expression)                                                                                           \
  case ISO__MAP_##id: return (REAL)(expression);
    ISO__MAP_REAL_FUNCTIONS(CASE)
#undef CASE
  default: return 0; /* functions of integers */
  }
}
