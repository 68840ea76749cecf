/* qr_body.h: QR by Householder's reflections, LAPACK's signs, once per precision.
 *
 * Entries are first scaled by a power of two that brings the largest into [½,1), so that no square overflows; R is
 * scaled back. Column c: σ = Σ w_i² below the diagonal, ascending; β = ∓sqrt(α² + σ); τ = (β − α)/β; v = w/(α − β) with
 * v_c = 1. A reflection of columns j: s = w_c + Σ v_i·w_i ascending, u = τ·s, w_c − u, fma(−v_i, u, w_i). */

/* The exponent e of the largest magnitude, within ±120, and the factor 2^−e; 0 where there is nothing to scale. */
static int NAMED(scale_of)(const REAL *a, int64_t n) {
  REAL most = 0;
  int e = 0;
  for (int64_t i = 0; i < n; i++)
    if (EXACT(fabs)(a[i]) > most) most = EXACT(fabs)(a[i]);
  if (most == 0 || most - most != 0) return 0;
  (void)EXACT(frexp)(most, &e);
  return e < -120 ? -120 : e > 120 ? 120 : e;
}

/* Columns [from, n) of rows c … m−1 of w (ld apart), by the reflection whose v_i (i > c) is v[i·v_step]. */
static void NAMED(reflect)(REAL *w, int64_t ld, int64_t c, int64_t m, int64_t from, int64_t n, const REAL *v,
                           int64_t v_step, REAL tau, REAL *u) {
  if (tau == 0) return;
  REAL *top = w + c * ld;
  for (int64_t j = from; j < n; j++) u[j] = top[j];
  for (int64_t i = c + 1; i < m; i++) NAMED(add_row)(u + from, v[i * v_step], w + i * ld + from, n - from);
  for (int64_t j = from; j < n; j++) u[j] = tau * u[j];
  for (int64_t j = from; j < n; j++) top[j] = top[j] - u[j];
  for (int64_t i = c + 1; i < m; i++) NAMED(add_row)(w + i * ld + from, -v[i * v_step], u + from, n - from);
}

/* Makes column c of w (m,n) its reflection: β on the diagonal, v below; returns τ, 0 where nothing is below. */
static REAL NAMED(reflector)(REAL *w, int64_t m, int64_t n, int64_t c) {
  REAL sum = 0;
  const REAL alpha = w[c * n + c];
  for (int64_t i = c + 1; i < m; i++) sum = EXACT(fma)(w[i * n + c], w[i * n + c], sum);
  if (sum == 0) return 0;
  const REAL norm = EXACT(sqrt)(EXACT(fma)(alpha, alpha, sum)), beta = alpha > 0 ? -norm : norm;
  for (int64_t i = c + 1; i < m; i++) w[i * n + c] = w[i * n + c] / (alpha - beta);
  w[c * n + c] = beta;
  return (beta - alpha) / beta;
}

/* w: scratch (m,n), then tau (min(m,n)), then u (max(n,k)). */
static void NAMED(qr)(int64_t m, int64_t n, int64_t k, const REAL *a, REAL *q, REAL *r, REAL *w) {
  const int64_t least = m < n ? m : n;
  REAL *tau = w + m * n, *u = tau + least;
  const int e = NAMED(scale_of)(a, m * n);
  const REAL down = EXACT(ldexp)((REAL)1, -e), up = EXACT(ldexp)((REAL)1, e);
  for (int64_t i = 0; i < m * n; i++) w[i] = a[i] * down;
  for (int64_t c = 0; c < least; c++) {
    tau[c] = NAMED(reflector)(w, m, n, c);
    NAMED(reflect)(w, n, c, m, c + 1, n, w + c, n, tau[c], u);
  }
  for (int64_t i = 0; i < k; i++)
    for (int64_t j = 0; j < n; j++) r[i * n + j] = j >= i ? w[i * n + j] * up : 0;
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < k; j++) q[i * k + j] = i == j;
  for (int64_t c = least - 1; c >= 0; c--) NAMED(reflect)(q, k, c, m, c, k, w + c, n, tau[c], u);
}
