/* jacobi_body.h: eigenvalues by cyclic Jacobi rotations, singular values by one-sided ones (Hestenes), once per
 * precision. A rotation turns two rows at a time; pairs are taken row by row, in sweeps, until a sweep turns nothing.
 */

enum { NAMED(most_sweeps) = 60 };

/* tree over panels of tree over 64 lanes: `lanes` of docs/numerics.md, for products of two rows. */
static REAL NAMED(panel_dot)(const REAL *a, const REAL *b, int64_t n) {
  REAL lane[ISO__LANES] = {0};
  int64_t i = 0;
  for (; i + ISO__LANES <= n; i += ISO__LANES)
    for (int l = 0; l < ISO__LANES; l++) lane[l] = EXACT(fma)(a[i + l], b[i + l], lane[l]);
  for (int l = 0; i + l < n; l++) lane[l] = EXACT(fma)(a[i + l], b[i + l], lane[l]);
  for (int width = ISO__LANES / 2; width; width /= 2)
    for (int l = 0; l < width; l++) lane[l] = lane[2 * l] + lane[2 * l + 1];
  return lane[0];
}
static REAL NAMED(dot)(const REAL *a, const REAL *b, int64_t n) {
  REAL waiting[48], sum = 0;
  uint64_t n_panels = 0;
  for (int64_t i = 0; i < n; i += ISO__ROW_PANEL, n_panels++) {
    const int64_t left = n - i;
    int bit = 0;
    REAL panel = NAMED(panel_dot)(a + i, b + i, left < ISO__ROW_PANEL ? left : ISO__ROW_PANEL);
    for (; n_panels >> bit & 1; bit++) panel = waiting[bit] + panel;
    waiting[bit] = panel;
  }
  bool any = false;
  for (int bit = 0; n_panels >> bit; bit++)
    if (n_panels >> bit & 1) sum = any ? waiting[bit] + sum : waiting[bit], any = true;
  return sum + 0;
}

/* x = c·x − s·y, y = s·x + c·y */
static void NAMED(rotate)(REAL *restrict x, REAL *restrict y, int64_t n, REAL c, REAL s) {
  for (int64_t i = 0; i < n; i++) {
    const REAL a = x[i], b = y[i];
    x[i] = EXACT(fma)(c, a, -(s * b));
    y[i] = EXACT(fma)(s, a, c * b);
  }
}
/* The smaller root t of t² + 2·z·t − 1. */
static REAL NAMED(tangent)(REAL z) {
  const REAL t = 1 / (EXACT(fabs)(z) + EXACT(sqrt)(EXACT(fma)(z, z, (REAL)1)));
  return z < 0 ? -t : t;
}

/* Makes the largest component (the first of equals) positive; whether the sign was turned. */
static bool NAMED(turn_sign)(REAL *v, int64_t n) {
  int64_t at = 0;
  for (int64_t i = 1; i < n; i++)
    if (EXACT(fabs)(v[i]) > EXACT(fabs)(v[at])) at = i;
  if (n == 0 || !(v[at] < 0)) return false;
  for (int64_t i = 0; i < n; i++) v[i] = -v[i];
  return true;
}

/* order[i]: place of the i-th smallest (or largest) value; stable, NaN last. */
static void NAMED(order)(const REAL *value, int64_t n, bool descending, int64_t *order) {
  for (int64_t i = 0; i < n; i++) {
    int64_t at = i;
    for (; at > 0; at--) {
      const REAL before = value[order[at - 1]];
      if (!(before != before || (descending ? value[i] > before : value[i] < before)) || value[i] != value[i]) break;
      order[at] = order[at - 1];
    }
    order[at] = i;
  }
}

/* ---- symmetric eigenvalues ---- */

/* One rotation of s (n,n, both triangles) and the rows of v, which makes s[p][q] zero. */
static void NAMED(rotate_symmetric)(REAL *s, REAL *v, int64_t n, int64_t p, int64_t q) {
  REAL *sp = s + p * n, *sq = s + q * n;
  const REAL app = sp[p], aqq = sq[q], apq = sp[q];
  const REAL t = NAMED(tangent)((aqq - app) / (2 * apq)), c = 1 / EXACT(sqrt)(EXACT(fma)(t, t, (REAL)1)), sine = t * c;
  NAMED(rotate)(sp, sq, n, c, sine);
  NAMED(rotate)(v + p * n, v + q * n, n, c, sine);
  sp[p] = EXACT(fma)(-t, apq, app), sq[q] = EXACT(fma)(t, apq, aqq), sp[q] = sq[p] = 0;
  for (int64_t r = 0; r < n; r++) {
    if (r == p || r == q) continue;
    s[r * n + p] = sp[r], s[r * n + q] = sq[r];
  }
}

/* s, v: scratch (n,n) each, then values (n), then order. Off-diagonal entries below a quarter of the unit roundoff, the
 * largest entry being scaled into [½,1), are zero. */
static void NAMED(eigh)(int64_t n, const REAL *a, REAL *values, REAL *vectors, REAL *s) {
  REAL *v = s + n * n, *found = v + n * n;
  int64_t *order = iso__linalg_places(found + n);
  int e = 0;
  for (int64_t i = 0; i < n; i++) {
    const int row = NAMED(scale_of)(a + i * n, i + 1);
    e = i == 0 || row > e ? row : e;
  }
  const REAL down = EXACT(ldexp)((REAL)1, -e), up = EXACT(ldexp)((REAL)1, e), least = UNIT_ROUNDOFF / 4;
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) {
      s[i * n + j] = (j <= i ? a[i * n + j] : a[j * n + i]) * down;
      v[i * n + j] = i == j;
    }
  bool turned = true;
  for (int sweep = 0; sweep < NAMED(most_sweeps) && turned; sweep++) {
    turned = false;
    for (int64_t p = 0; p < n; p++)
      for (int64_t q = p + 1; q < n; q++)
        if (EXACT(fabs)(s[p * n + q]) > least) NAMED(rotate_symmetric)(s, v, n, p, q), turned = true;
  }
  for (int64_t i = 0; i < n; i++) found[i] = s[i * n + i];
  NAMED(order)(found, n, false, order);
  for (int64_t i = 0; i < n; i++) {
    REAL *vector = v + order[i] * n;
    values[i] = found[order[i]] * up;
    NAMED(turn_sign)(vector, n);
    for (int64_t j = 0; j < n; j++) vectors[j * n + i] = vector[j];
  }
}

/* ---- singular values ---- */

/* A unit vector orthogonal to the `n_rows` unit rows before it: the first coordinate vector of which enough is left
 * after two projections. */
static void NAMED(complete)(REAL *w, int64_t length, int64_t n_rows) {
  REAL *x = w + n_rows * length;
  for (int64_t axis = 0; axis < length; axis++) {
    for (int64_t i = 0; i < length; i++) x[i] = i == axis;
    for (int64_t r = 0; r < 2 * n_rows; r++) {
      const REAL *row = w + r % n_rows * length;
      NAMED(add_row)(x, -NAMED(dot)(x, row, length), row, length);
    }
    const REAL square = NAMED(dot)(x, x, length), norm = EXACT(sqrt)(square);
    if (!(4 * square * (REAL)length > 1)) continue;
    for (int64_t i = 0; i < length; i++) x[i] = x[i] / norm;
    return;
  }
}

/* Rotates pairs of rows of w (rows,length) until they are orthogonal, and the rows of j (rows,rows) with them. */
static void NAMED(orthogonalise)(REAL *w, REAL *j, int64_t rows, int64_t length) {
  const REAL tolerance = UNIT_ROUNDOFF * EXACT(sqrt)((REAL)length);
  bool turned = true;
  for (int sweep = 0; sweep < NAMED(most_sweeps) && turned; sweep++) {
    turned = false;
    for (int64_t p = 0; p < rows; p++)
      for (int64_t q = p + 1; q < rows; q++) {
        REAL *wp = w + p * length, *wq = w + q * length;
        const REAL a = NAMED(dot)(wp, wp, length), b = NAMED(dot)(wq, wq, length), g = NAMED(dot)(wp, wq, length);
        if (!(EXACT(fabs)(g) > tolerance * EXACT(sqrt)(a) * EXACT(sqrt)(b))) continue;
        const REAL t = NAMED(tangent)((b - a) / (2 * g)), c = 1 / EXACT(sqrt)(EXACT(fma)(t, t, (REAL)1));
        NAMED(rotate)(wp, wq, length, c, t * c);
        NAMED(rotate)(j + p * rows, j + q * rows, rows, c, t * c);
        turned = true;
      }
  }
}

/* w: scratch (k,max(m,n)), its copy in order of the values, j (k,k), values (k), order. The rows of w are a's columns
 * or rows, whichever are longer: in the end they are that side's vectors, and the rows of j the other side's. */
static void NAMED(svd)(int64_t m, int64_t n, const REAL *a, REAL *u, REAL *values, REAL *vt, REAL *w) {
  const bool tall = m >= n;
  const int64_t k = tall ? n : m, length = tall ? m : n;
  REAL *unit = w + k * length, *j = unit + k * length, *norm = j + k * k;
  int64_t *order = iso__linalg_places(norm + k);
  const int e = NAMED(scale_of)(a, m * n);
  const REAL down = EXACT(ldexp)((REAL)1, -e), up = EXACT(ldexp)((REAL)1, e);
  for (int64_t r = 0; r < k; r++)
    for (int64_t i = 0; i < length; i++) w[r * length + i] = (tall ? a[i * n + r] : a[r * n + i]) * down;
  for (int64_t r = 0; r < k * k; r++) j[r] = r / k == r % k;
  NAMED(orthogonalise)(w, j, k, length);
  for (int64_t r = 0; r < k; r++) norm[r] = EXACT(sqrt)(NAMED(dot)(w + r * length, w + r * length, length));
  NAMED(order)(norm, k, true, order);
  for (int64_t r = 0; r < k; r++) {
    const REAL s = norm[order[r]];
    values[r] = s * up;
    REAL *row = unit + r * length, *other = j + order[r] * k;
    const bool is_zero = s <= UNIT_ROUNDOFF * norm[order[0]]; /* to rounding: its direction is noise */
    for (int64_t i = 0; i < length && !is_zero; i++) row[i] = w[order[r] * length + i] / s;
    if (is_zero) NAMED(complete)(unit, length, r);
    const bool turned = tall ? NAMED(turn_sign)(row, length) : NAMED(turn_sign)(other, k);
    for (int64_t i = 0; i < k && turned && tall; i++) other[i] = -other[i];
    for (int64_t i = 0; i < length && turned && !tall; i++) row[i] = -row[i];
    for (int64_t i = 0; i < m; i++) u[i * k + r] = tall ? row[i] : other[i];
    for (int64_t i = 0; i < n; i++) vt[r * n + i] = tall ? other[i] : row[i];
  }
}
