/* reference_body.h: the functions of real_functions.h, once per precision: REAL is the type, EXACT(f) the C library's
 * exact function f of it, MATH(f) the shared function f of numeric/, NAMED(f) this file's name for it. */

static inline ISO__HD REAL NAMED(relu)(REAL x) { return x > 0 ? x : x != x ? x : 0; }

/* Integer powers by squaring, low bit first; every other exponent by the shared pow. */
static inline ISO__HD REAL NAMED(power)(REAL x, REAL exponent) {
  if (!(EXACT(rint)(exponent) == exponent && EXACT(fabs)(exponent) <= ISO__MAP_LARGEST_INTEGER_POWER))
    return MATH(pow)(x, exponent);
  REAL result = 1, square = x;
  for (int n = (int)EXACT(fabs)(exponent); n; n >>= 1) {
    if (n & 1) result = result * square;
    if (n > 1) square = square * square;
  }
  return exponent < 0 ? 1 / result : result;
}

static inline ISO__HD REAL NAMED(square)(REAL x) { return x * x; }
static inline ISO__HD REAL NAMED(bell)(REAL s) { return s * (1 - s); }
/* Towards zero, which keeps the sign. */
static inline ISO__HD REAL NAMED(cut)(REAL x) { return x < 0 ? -EXACT(floor)(-x) : EXACT(floor)(x); }

/* The whole number next to (a − rest)/b, which is whole but for rounding. */
static inline ISO__HD REAL NAMED(floor_quotient)(REAL a, REAL b) {
  const REAL rest = MATH(fmod)(a, b);
  if (b == 0) return a / b;
  REAL quotient = (a - rest) / b;
  if (rest != 0 && (rest < 0) != (b < 0)) quotient = quotient - 1;
  if (quotient == 0) return EXACT(copysign)(0, a / b);
  const REAL whole = EXACT(floor)(quotient);
  return quotient - whole > (REAL)0.5 ? whole + 1 : whole;
}

/* Infinities are close to themselves alone. */
static inline ISO__HD bool NAMED(is_close)(REAL a, REAL b, REAL relative, REAL absolute, REAL nan_equal) {
  const REAL d = EXACT(fabs)(a - b);
  if (a == b || (nan_equal != 0 && a != a && b != b)) return true;
  return d < (REAL)INFINITY && d <= absolute + EXACT(fabs)(relative * b);
}

/* From the nearer end. */
static inline ISO__HD REAL NAMED(lerp)(REAL a, REAL b, REAL w) {
  const REAL d = b - a;
  return EXACT(fabs)(w) < (REAL)0.5 ? EXACT(fma)(w, d, a) : EXACT(fma)(-d, 1 - w, b);
}

static inline ISO__HD REAL NAMED(larger)(REAL a, REAL b) { return a != a ? a : a > b ? a : b; }
static inline ISO__HD REAL NAMED(log_add_exp2)(REAL a, REAL b) {
  const REAL m = NAMED(larger)(a, b), e = MATH(exp2)(-EXACT(fabs)(a - b));
  return EXACT(fabs)(m) == (REAL)INFINITY ? m : m + MATH(log1p)(e) * (REAL)0x1.71547652b82fep+0; /* 1/log 2 */
}

static inline ISO__HD REAL NAMED(six)(REAL x) {
  const REAL y = x + 3;
  return y < 0 ? 0 : y > 6 ? 6 : y;
}
/* Truths are 1 and 0. */
static inline ISO__HD REAL NAMED(map)(iso__map_fn fn, REAL a, REAL b, REAL c, REAL s0, REAL s1, REAL s2) {
  switch (fn) {
#define CASE(id, expression)                                                                                           \
  case ISO__MAP_##id: return (REAL)(expression);
    ISO__MAP_REAL_FUNCTIONS(CASE)
#undef CASE
  default: return 0; /* functions of integers */
  }
}
