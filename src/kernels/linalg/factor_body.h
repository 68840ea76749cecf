/* factor_body.h: Cholesky, LU and triangular systems, once per precision (numeric/real_f32.h).
 *
 * Each element takes its updates one after the other, a = fma(−l, u, a), in ascending k: what the textbook's inner
 * products give when they start from a. The loops run the other way (right-looking), along rows, so that a row's
 * elements are independent. */

static void NAMED(add_row)(REAL *restrict y, REAL f, const REAL *restrict x, int64_t n) {
  for (int64_t j = 0; j < n; j++) y[j] = EXACT(fma)(f, x[j], y[j]);
}

/* u: scratch (n,n), L transposed. */
static void NAMED(cholesky)(int64_t n, const REAL *a, REAL *l, REAL *u) {
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = i; j < n; j++) u[i * n + j] = a[j * n + i];
  for (int64_t k = 0; k < n; k++) {
    REAL *row = u + k * n;
    row[k] = EXACT(sqrt)(row[k]);
    for (int64_t j = k + 1; j < n; j++) row[j] = row[j] / row[k];
    for (int64_t i = k + 1; i < n; i++) NAMED(add_row)(u + i * n + i, -row[i], row + i, n - i);
  }
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) l[i * n + j] = j <= i ? u[j * n + i] : 0;
}

/* Rows of x in the order in which they become known: ascending if the matrix, as it is used, is lower. */
static void NAMED(triangular)(const iso_linalg_problem *p, const REAL *a, const REAL *b, REAL *x) {
  const int64_t n = p->n, k = p->k;
  const bool ascends = p->upper == p->transposed;
  for (int64_t i = 0; i < n * k; i++) x[i] = b[i];
  for (int64_t step = 0; step < n; step++) {
    const int64_t i = ascends ? step : n - 1 - step;
    REAL *row = x + i * k;
    for (int64_t j = 0; j < k && !p->unit; j++) row[j] = row[j] / a[i * n + i];
    for (int64_t later = step + 1; later < n; later++) {
      const int64_t r = ascends ? later : n - 1 - later;
      NAMED(add_row)(x + r * k, -(p->transposed ? a[i * n + r] : a[r * n + i]), row, k);
    }
  }
}

/* The pivot of a column is the first of its largest magnitudes; a column of zeros is left as it is. */
static void NAMED(lu)(int64_t m, int64_t n, const REAL *a, REAL *x, int32_t *pivots) {
  for (int64_t i = 0; i < m * n; i++) x[i] = a[i];
  for (int64_t k = 0; k < m && k < n; k++) {
    int64_t best = k;
    for (int64_t i = k + 1; i < m; i++)
      if (EXACT(fabs)(x[i * n + k]) > EXACT(fabs)(x[best * n + k])) best = i;
    pivots[k] = (int32_t)best;
    REAL *top = x + k * n, *chosen = x + best * n;
    for (int64_t j = 0; j < n && best != k; j++) {
      const REAL other = top[j];
      top[j] = chosen[j], chosen[j] = other;
    }
    if (top[k] == 0) continue;
    for (int64_t i = k + 1; i < m; i++) {
      REAL *row = x + i * n;
      row[k] = row[k] / top[k];
      NAMED(add_row)(row + k + 1, -row[k], top + k + 1, n - k - 1);
    }
  }
}
