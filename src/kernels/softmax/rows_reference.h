/* Rows of softmax and log-softmax in plain C, once per precision: included by the references of softmax and loss. REAL
 * is the type, NAMED(f) the name of f in it, MATH(f) the shared function f of numeric/. */

/* m = amax: any NaN gives NaN, a zero is +0. */
static ISO__HD REAL NAMED(row_max)(const REAL *x, int64_t n) {
  REAL m = x[0];
  for (int64_t i = 1; i < n; i++)
    if (m == m && !(x[i] <= m)) m = x[i];
  return m + 0;
}

/* Element j of the row's softmax, or of its logarithm. A row of −inf gives zeros. */
static ISO__HD REAL NAMED(softmax_at)(const REAL *x, int64_t n, int64_t j, bool log) {
  struct NAMED(iso__lanes) sum = {.i = 0};
  const REAL m = NAMED(row_max)(x, n);
  if (m == -(REAL)INFINITY) return 0;
  for (int64_t i = 0; i < n; i++) NAMED(iso__lanes_add)(&sum, MATH(exp)(x[i] - m));
  const REAL s = NAMED(iso__lanes_end)(&sum);
  return log ? (x[j] - m) - MATH(log)(s) : MATH(exp)(x[j] - m) * (1 / s);
}
