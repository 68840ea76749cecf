/* Scans of floats in plain C, once per precision; see reference.c. REAL is the type, NAMED(f) the name of f in it. */

static ISO__HD REAL NAMED(log_add)(REAL a, REAL b) {
  const REAL d = a == b ? 0 : -EXACT(fabs)(a - b); /* equals may be infinite */
  return (a > b ? a : b) + MATH(softplus)(d);
}
static ISO__HD REAL NAMED(combine)(int fn, REAL a, REAL b) {
  return fn == ISO__SCAN_SUM ? a + b : fn == ISO__SCAN_PROD ? a * b : NAMED(log_add)(a, b);
}
/* The last of steps + 1 elements, `step` apart. */
static ISO__HD REAL NAMED(scan)(int fn, const REAL *x, int64_t step, int64_t steps) {
  const REAL neutral = fn == ISO__SCAN_SUM ? 0 : fn == ISO__SCAN_PROD ? 1 : -(REAL)INFINITY;
  REAL carry = neutral, run = neutral;
  for (int64_t i = 0; i <= steps; i++) {
    if (i && i % ISO__PANEL == 0) carry = NAMED(combine)(fn, carry, run), run = neutral;
    run = NAMED(combine)(fn, run, x[i * step]);
  }
  return NAMED(combine)(fn, carry, run);
}
/* Steps to the extremum of steps + 1 elements: the last NaN, else the last of equals. */
static ISO__HD int64_t NAMED(extremum)(int fn, const REAL *x, int64_t step, int64_t steps) {
  int64_t best = 0;
  for (int64_t i = 1; i <= steps; i++) {
    const REAL v = x[i * step], b = x[best * step];
    if (v != v || (fn == ISO__SCAN_MAX ? v >= b : v <= b)) best = i;
  }
  return best;
}
