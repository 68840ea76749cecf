/* transforms.h: the one-dimensional transforms of the Winograd classes, each one fixed expression.
 *
 * F(m,r) computes m outputs of an r-tap correlation with a = m + r − 1 products (Winograd 1980; Lavin and Gray 2015):
 *
 *   y = Aᵀ[(G g)·(Bᵀ d)]            forward; backward to the data is forward with a turned kernel
 *   dg = Gᵀ[(A dy)·(Bᵀ d)]          backward to the weights
 *
 * Matrices alone do not fix bits: these expressions are the classes' contract (docs/numerics-winograd.md tables them),
 * and scalar references in both precisions and the vector engines are all compiled from this text. In two dimensions a
 * transform goes down the columns first, then across the rows of what that left.
 *
 *   class       m r a  points                    error, against ±1, ±2 …
 *   2x2k3       2 3 4  0 ±1 ∞
 *   4x4k3       4 3 6  0 ±√2 ±1/√2 ∞             half that of the customary ±1 ±2 at the same price
 *   5x5k3       5 3 7  0 ±1 ±1/2 −2 ∞
 *   6x6k3       6 3 8  0 ±1 ±2 ±1/2 ∞
 *   2x2k5       2 5 6  those of 4x4k3
 *   4x4k5       4 5 8  those of 6x6k3
 *
 * For each class, by the suffix MkR (wino_data_4k3 …, names by WT_FN):
 *   wino_data_MkR(d[a], v[a])     v = Bᵀ d     a tile of x
 *   wino_kernel_MkR(g[r], u[a])   u = G g      the kernel
 *   wino_output_MkR(m[a], y[m])   y = Aᵀ m     back to outputs
 *   wino_grad_MkR(y[m], z[a])     z = A y      a tile of dy, for the weights' gradient
 *   wino_dkernel_MkR(m[a], w[r])  w = Gᵀ m     back to the kernel
 * Input and output arrays must not overlap. The functions index arrays by constants only, so that with inlining and
 * unrolled callers everything stays in registers.
 *
 * The includer defines, and undefines afterwards: WT the type; WT_FN(name); WT_ADD(a,b), WT_SUB(a,b), WT_MUL(a,b),
 * WT_FMA(a,b,c) = a·b + c and WT_FNMA(a,b,c) = c − a·b, each rounding once; WT_CONST(x), the double x rounded to the
 * type; WT_INLINE, the functions' storage class. transforms_real.h and transforms_vec.h do it. */

/* √2 and 1/√2 in binary64. Powers of two and small integers are exact, all others are rounded by WT_CONST. */
#define SQRT2 0x1.6a09e667f3bcdp+0
#define HALF_SQRT2 0x1.6a09e667f3bcdp-1

/* ---- Bᵀ d by the points ---- */

/* 0 ±1 ∞ */
WT_INLINE void WT_FN(wino_data_2k3)(const WT *d, WT *v) {
  v[0] = WT_SUB(d[0], d[2]);
  v[1] = WT_ADD(d[1], d[2]);
  v[2] = WT_SUB(d[2], d[1]);
  v[3] = WT_SUB(d[3], d[1]);
}

/* 0 ±√2 ±1/√2 ∞ */
WT_INLINE void WT_FN(wino_data_4k3)(const WT *d, WT *v) {
  const WT half = WT_CONST(0.5), two = WT_CONST(2), q = WT_CONST(2.5), a = WT_CONST(SQRT2), b = WT_CONST(HALF_SQRT2);
  const WT e1 = WT_FNMA(half, d[2], d[4]), o1 = WT_FNMA(half, d[1], d[3]);
  const WT e2 = WT_FNMA(two, d[2], d[4]), o2 = WT_FNMA(two, d[1], d[3]);
  v[0] = WT_FNMA(q, d[2], WT_ADD(d[0], d[4]));
  v[1] = WT_FMA(a, o1, e1);
  v[2] = WT_FNMA(a, o1, e1);
  v[3] = WT_FMA(b, o2, e2);
  v[4] = WT_FNMA(b, o2, e2);
  v[5] = WT_FNMA(q, d[3], WT_ADD(d[1], d[5]));
}
WT_INLINE void WT_FN(wino_data_2k5)(const WT *d, WT *v) { WT_FN(wino_data_4k3)(d, v); }

/* 0 ±1 ±1/2 −2 ∞: a six-point transform of d[i+1] + 2·d[i], which takes the lone point −2 out. */
WT_INLINE void WT_FN(wino_data_5k3)(const WT *d, WT *v) {
  const WT two = WT_CONST(2), half = WT_CONST(0.5), quarter = WT_CONST(0.25), q = WT_CONST(1.25);
  const WT r0 = WT_FMA(two, d[0], d[1]), r1 = WT_FMA(two, d[1], d[2]), r2 = WT_FMA(two, d[2], d[3]);
  const WT r3 = WT_FMA(two, d[3], d[4]), r4 = WT_FMA(two, d[4], d[5]), r5 = WT_FMA(two, d[5], d[6]);
  const WT e1 = WT_FNMA(quarter, r2, r4), o1 = WT_FNMA(quarter, r1, r3), e2 = WT_SUB(r4, r2), o2 = WT_SUB(r3, r1);
  v[0] = WT_FMA(quarter, r0, WT_FNMA(q, r2, r4));
  v[1] = WT_ADD(e1, o1);
  v[2] = WT_SUB(e1, o1);
  v[3] = WT_FMA(half, o2, e2);
  v[4] = WT_FNMA(half, o2, e2);
  v[5] = WT_FMA(quarter, d[1], WT_FNMA(q, d[3], d[5]));
  v[6] = WT_FMA(quarter, r1, WT_FNMA(q, r3, r5));
}

/* 0 ±1 ±2 ±1/2 ∞ */
WT_INLINE void WT_FN(wino_data_6k3)(const WT *d, WT *v) {
  const WT q = WT_CONST(5.25), r = WT_CONST(4.25), s = WT_CONST(1.25), f = WT_CONST(5);
  const WT quarter = WT_CONST(0.25), half = WT_CONST(0.5), two = WT_CONST(2), four = WT_CONST(4);
  const WT e1 = WT_FNMA(r, d[4], WT_ADD(d[2], d[6])), o1 = WT_FNMA(r, d[3], WT_ADD(d[1], d[5]));
  const WT e2 = WT_FMA(quarter, d[2], WT_FNMA(s, d[4], d[6])), o2 = WT_FMA(quarter, d[1], WT_FNMA(s, d[3], d[5]));
  const WT e3 = WT_FMA(four, d[2], WT_FNMA(f, d[4], d[6])), o3 = WT_FMA(four, d[1], WT_FNMA(f, d[3], d[5]));
  v[0] = WT_FMA(q, WT_SUB(d[4], d[2]), WT_SUB(d[0], d[6]));
  v[1] = WT_ADD(e1, o1);
  v[2] = WT_SUB(e1, o1);
  v[3] = WT_FMA(two, o2, e2);
  v[4] = WT_FNMA(two, o2, e2);
  v[5] = WT_FMA(half, o3, e3);
  v[6] = WT_FNMA(half, o3, e3);
  v[7] = WT_FMA(q, WT_SUB(d[3], d[5]), WT_SUB(d[7], d[1]));
}
WT_INLINE void WT_FN(wino_data_4k5)(const WT *d, WT *v) { WT_FN(wino_data_6k3)(d, v); }

/* ---- 2x2k3 ---- */

WT_INLINE void WT_FN(wino_kernel_2k3)(const WT *g, WT *u) {
  const WT half = WT_CONST(0.5), e = WT_MUL(half, WT_ADD(g[0], g[2]));
  u[0] = g[0];
  u[1] = WT_FMA(half, g[1], e);
  u[2] = WT_FNMA(half, g[1], e);
  u[3] = g[2];
}
WT_INLINE void WT_FN(wino_output_2k3)(const WT *m, WT *y) {
  y[0] = WT_ADD(m[0], WT_ADD(m[1], m[2]));
  y[1] = WT_ADD(m[3], WT_SUB(m[1], m[2]));
}
WT_INLINE void WT_FN(wino_grad_2k3)(const WT *y, WT *z) {
  z[0] = y[0];
  z[1] = WT_ADD(y[0], y[1]);
  z[2] = WT_SUB(y[0], y[1]);
  z[3] = y[1];
}
WT_INLINE void WT_FN(wino_dkernel_2k3)(const WT *m, WT *w) {
  const WT half = WT_CONST(0.5), s = WT_ADD(m[1], m[2]), t = WT_SUB(m[1], m[2]);
  w[0] = WT_FMA(half, s, m[0]);
  w[1] = WT_MUL(half, t);
  w[2] = WT_FMA(half, s, m[3]);
}

/* ---- 4x4k3 ---- */

WT_INLINE void WT_FN(wino_kernel_4k3)(const WT *g, WT *u) {
  const WT a = WT_CONST(SQRT2 / 6), b = WT_CONST(-2 * HALF_SQRT2 / 3);
  const WT e1 = WT_FMA(WT_CONST(1.0 / 3), g[2], WT_MUL(WT_CONST(1.0 / 6), g[0]));
  const WT e2 = WT_FMA(WT_CONST(-1.0 / 3), g[2], WT_MUL(WT_CONST(-2.0 / 3), g[0]));
  u[0] = g[0];
  u[1] = WT_FMA(a, g[1], e1);
  u[2] = WT_FNMA(a, g[1], e1);
  u[3] = WT_FMA(b, g[1], e2);
  u[4] = WT_FNMA(b, g[1], e2);
  u[5] = g[2];
}
WT_INLINE void WT_FN(wino_output_4k3)(const WT *m, WT *y) {
  const WT s1 = WT_ADD(m[1], m[2]), t1 = WT_SUB(m[1], m[2]), s2 = WT_ADD(m[3], m[4]), t2 = WT_SUB(m[3], m[4]);
  y[0] = WT_ADD(m[0], WT_ADD(s1, s2));
  y[1] = WT_FMA(WT_CONST(SQRT2), t1, WT_MUL(WT_CONST(HALF_SQRT2), t2));
  y[2] = WT_FMA(WT_CONST(2), s1, WT_MUL(WT_CONST(0.5), s2));
  y[3] = WT_FMA(WT_CONST(2 * SQRT2), t1, WT_FMA(WT_CONST(HALF_SQRT2 / 2), t2, m[5]));
}
WT_INLINE void WT_FN(wino_grad_4k3)(const WT *y, WT *z) {
  const WT two = WT_CONST(2), half = WT_CONST(0.5), a = WT_CONST(SQRT2), b = WT_CONST(HALF_SQRT2);
  const WT e1 = WT_FMA(two, y[2], y[0]), o1 = WT_FMA(two, y[3], y[1]);
  const WT e2 = WT_FMA(half, y[2], y[0]), o2 = WT_FMA(half, y[3], y[1]);
  z[0] = y[0];
  z[1] = WT_FMA(a, o1, e1);
  z[2] = WT_FNMA(a, o1, e1);
  z[3] = WT_FMA(b, o2, e2);
  z[4] = WT_FNMA(b, o2, e2);
  z[5] = y[3];
}
WT_INLINE void WT_FN(wino_dkernel_4k3)(const WT *m, WT *w) {
  const WT s1 = WT_ADD(m[1], m[2]), t1 = WT_SUB(m[1], m[2]), s2 = WT_ADD(m[3], m[4]), t2 = WT_SUB(m[3], m[4]);
  w[0] = WT_FMA(WT_CONST(1.0 / 6), s1, WT_FMA(WT_CONST(-2.0 / 3), s2, m[0]));
  w[1] = WT_FMA(WT_CONST(SQRT2 / 6), t1, WT_MUL(WT_CONST(-2 * HALF_SQRT2 / 3), t2));
  w[2] = WT_FMA(WT_CONST(1.0 / 3), s1, WT_FMA(WT_CONST(-1.0 / 3), s2, m[5]));
}

/* ---- 5x5k3 ---- */

WT_INLINE void WT_FN(wino_kernel_5k3)(const WT *g, WT *u) {
  const WT half = WT_CONST(0.5), e1 = WT_ADD(g[0], g[2]), e2 = WT_FMA(WT_CONST(0.25), g[2], g[0]);
  u[0] = WT_ADD(g[0], g[0]);
  u[1] = WT_MUL(WT_CONST(2.0 / 9), WT_ADD(e1, g[1]));
  u[2] = WT_MUL(WT_CONST(2.0 / 3), WT_SUB(e1, g[1]));
  u[3] = WT_MUL(WT_CONST(-16.0 / 15), WT_FMA(half, g[1], e2));
  u[4] = WT_MUL(WT_CONST(-16.0 / 9), WT_FNMA(half, g[1], e2));
  u[5] = WT_MUL(WT_CONST(-2.0 / 45), WT_FMA(WT_CONST(4), g[2], WT_FNMA(WT_CONST(2), g[1], g[0])));
  u[6] = g[2];
}
WT_INLINE void WT_FN(wino_output_5k3)(const WT *m, WT *y) {
  const WT s1 = WT_ADD(m[1], m[2]), t1 = WT_SUB(m[1], m[2]), s2 = WT_ADD(m[3], m[4]), t2 = WT_SUB(m[3], m[4]);
  y[0] = WT_ADD(WT_ADD(m[0], m[5]), WT_ADD(s1, s2));
  y[1] = WT_FNMA(WT_CONST(2), m[5], WT_FMA(WT_CONST(0.5), t2, t1));
  y[2] = WT_FMA(WT_CONST(4), m[5], WT_FMA(WT_CONST(0.25), s2, s1));
  y[3] = WT_FNMA(WT_CONST(8), m[5], WT_FMA(WT_CONST(0.125), t2, t1));
  y[4] = WT_FMA(WT_CONST(16), m[5], WT_FMA(WT_CONST(0.0625), s2, WT_ADD(s1, m[6])));
}
WT_INLINE void WT_FN(wino_grad_5k3)(const WT *y, WT *z) {
  const WT e1 = WT_ADD(WT_ADD(y[0], y[2]), y[4]), o1 = WT_ADD(y[1], y[3]);
  const WT e2 = WT_FMA(WT_CONST(0.0625), y[4], WT_FMA(WT_CONST(0.25), y[2], y[0]));
  const WT o2 = WT_FMA(WT_CONST(0.125), y[3], WT_MUL(WT_CONST(0.5), y[1]));
  const WT e3 = WT_FMA(WT_CONST(16), y[4], WT_FMA(WT_CONST(4), y[2], y[0]));
  const WT o3 = WT_FMA(WT_CONST(8), y[3], WT_MUL(WT_CONST(2), y[1]));
  z[0] = y[0];
  z[1] = WT_ADD(e1, o1);
  z[2] = WT_SUB(e1, o1);
  z[3] = WT_ADD(e2, o2);
  z[4] = WT_SUB(e2, o2);
  z[5] = WT_SUB(e3, o3);
  z[6] = y[4];
}
WT_INLINE void WT_FN(wino_dkernel_5k3)(const WT *m, WT *w) {
  const WT a = WT_MUL(WT_CONST(2.0 / 9), m[1]), b = WT_MUL(WT_CONST(2.0 / 3), m[2]);
  const WT c = WT_MUL(WT_CONST(-16.0 / 15), m[3]), d = WT_MUL(WT_CONST(-16.0 / 9), m[4]);
  const WT e = WT_MUL(WT_CONST(-2.0 / 45), m[5]);
  const WT s1 = WT_ADD(a, b), t1 = WT_SUB(a, b), s2 = WT_ADD(c, d), t2 = WT_SUB(c, d);
  w[0] = WT_ADD(WT_FMA(WT_CONST(2), m[0], e), WT_ADD(s1, s2));
  w[1] = WT_FNMA(WT_CONST(2), e, WT_FMA(WT_CONST(0.5), t2, t1));
  w[2] = WT_FMA(WT_CONST(4), e, WT_FMA(WT_CONST(0.25), s2, WT_ADD(s1, m[6])));
}

/* ---- 6x6k3 ---- */

WT_INLINE void WT_FN(wino_kernel_6k3)(const WT *g, WT *u) {
  const WT c1 = WT_CONST(-2.0 / 9), c2 = WT_CONST(1.0 / 90), c3 = WT_CONST(32.0 / 45);
  const WT h2 = WT_CONST(2.0 / 90), h3 = WT_CONST(16.0 / 45);
  const WT e1 = WT_MUL(c1, WT_ADD(g[0], g[2]));
  const WT e2 = WT_FMA(WT_CONST(4.0 / 90), g[2], WT_MUL(c2, g[0]));
  const WT e3 = WT_FMA(WT_CONST(8.0 / 45), g[2], WT_MUL(c3, g[0]));
  u[0] = g[0];
  u[1] = WT_FMA(c1, g[1], e1);
  u[2] = WT_FNMA(c1, g[1], e1);
  u[3] = WT_FMA(h2, g[1], e2);
  u[4] = WT_FNMA(h2, g[1], e2);
  u[5] = WT_FMA(h3, g[1], e3);
  u[6] = WT_FNMA(h3, g[1], e3);
  u[7] = g[2];
}
WT_INLINE void WT_FN(wino_output_6k3)(const WT *m, WT *y) {
  const WT s1 = WT_ADD(m[1], m[2]), t1 = WT_SUB(m[1], m[2]), s2 = WT_ADD(m[3], m[4]), t2 = WT_SUB(m[3], m[4]);
  const WT s3 = WT_ADD(m[5], m[6]), t3 = WT_SUB(m[5], m[6]);
  y[0] = WT_ADD(WT_ADD(m[0], s1), WT_ADD(s2, s3));
  y[1] = WT_FMA(WT_CONST(2), t2, WT_FMA(WT_CONST(0.5), t3, t1));
  y[2] = WT_FMA(WT_CONST(4), s2, WT_FMA(WT_CONST(0.25), s3, s1));
  y[3] = WT_FMA(WT_CONST(8), t2, WT_FMA(WT_CONST(0.125), t3, t1));
  y[4] = WT_FMA(WT_CONST(16), s2, WT_FMA(WT_CONST(0.0625), s3, s1));
  y[5] = WT_FMA(WT_CONST(32), t2, WT_FMA(WT_CONST(0.03125), t3, WT_ADD(t1, m[7])));
}
WT_INLINE void WT_FN(wino_grad_6k3)(const WT *y, WT *z) {
  const WT two = WT_CONST(2), half = WT_CONST(0.5);
  const WT four = WT_CONST(4), sixteen = WT_CONST(16), quarter = WT_CONST(0.25), sixteenth = WT_CONST(0.0625);
  const WT e1 = WT_ADD(WT_ADD(y[0], y[2]), y[4]), o1 = WT_ADD(WT_ADD(y[1], y[3]), y[5]);
  const WT e2 = WT_FMA(sixteen, y[4], WT_FMA(four, y[2], y[0])), o2 = WT_FMA(sixteen, y[5], WT_FMA(four, y[3], y[1]));
  const WT e3 = WT_FMA(sixteenth, y[4], WT_FMA(quarter, y[2], y[0]));
  const WT o3 = WT_FMA(sixteenth, y[5], WT_FMA(quarter, y[3], y[1]));
  z[0] = y[0];
  z[1] = WT_ADD(e1, o1);
  z[2] = WT_SUB(e1, o1);
  z[3] = WT_FMA(two, o2, e2);
  z[4] = WT_FNMA(two, o2, e2);
  z[5] = WT_FMA(half, o3, e3);
  z[6] = WT_FNMA(half, o3, e3);
  z[7] = y[5];
}
WT_INLINE void WT_FN(wino_dkernel_6k3)(const WT *m, WT *w) {
  const WT c1 = WT_CONST(-2.0 / 9);
  const WT s1 = WT_ADD(m[1], m[2]), t1 = WT_SUB(m[1], m[2]), s2 = WT_ADD(m[3], m[4]), t2 = WT_SUB(m[3], m[4]);
  const WT s3 = WT_ADD(m[5], m[6]), t3 = WT_SUB(m[5], m[6]);
  w[0] = WT_FMA(c1, s1, WT_FMA(WT_CONST(1.0 / 90), s2, WT_FMA(WT_CONST(32.0 / 45), s3, m[0])));
  w[1] = WT_FMA(c1, t1, WT_FMA(WT_CONST(2.0 / 90), t2, WT_MUL(WT_CONST(16.0 / 45), t3)));
  w[2] = WT_FMA(c1, s1, WT_FMA(WT_CONST(4.0 / 90), s2, WT_FMA(WT_CONST(8.0 / 45), s3, m[7])));
}

/* ---- 2x2k5 ---- */

WT_INLINE void WT_FN(wino_kernel_2k5)(const WT *g, WT *u) {
  const WT a = WT_CONST(SQRT2), b = WT_CONST(HALF_SQRT2);
  const WT two = WT_CONST(2), four = WT_CONST(4), half = WT_CONST(0.5), quarter = WT_CONST(0.25);
  const WT c1 = WT_CONST(1.0 / 6), c2 = WT_CONST(-2.0 / 3);
  const WT e1 = WT_FMA(four, g[4], WT_FMA(two, g[2], g[0])), o1 = WT_MUL(a, WT_FMA(two, g[3], g[1]));
  const WT e2 = WT_FMA(quarter, g[4], WT_FMA(half, g[2], g[0])), o2 = WT_MUL(b, WT_FMA(half, g[3], g[1]));
  u[0] = g[0];
  u[1] = WT_MUL(c1, WT_ADD(e1, o1));
  u[2] = WT_MUL(c1, WT_SUB(e1, o1));
  u[3] = WT_MUL(c2, WT_ADD(e2, o2));
  u[4] = WT_MUL(c2, WT_SUB(e2, o2));
  u[5] = g[4];
}
WT_INLINE void WT_FN(wino_output_2k5)(const WT *m, WT *y) {
  const WT s1 = WT_ADD(m[1], m[2]), t1 = WT_SUB(m[1], m[2]), s2 = WT_ADD(m[3], m[4]), t2 = WT_SUB(m[3], m[4]);
  y[0] = WT_ADD(m[0], WT_ADD(s1, s2));
  y[1] = WT_FMA(WT_CONST(SQRT2), t1, WT_FMA(WT_CONST(HALF_SQRT2), t2, m[5]));
}
WT_INLINE void WT_FN(wino_grad_2k5)(const WT *y, WT *z) {
  const WT a = WT_CONST(SQRT2), b = WT_CONST(HALF_SQRT2);
  z[0] = y[0];
  z[1] = WT_FMA(a, y[1], y[0]);
  z[2] = WT_FNMA(a, y[1], y[0]);
  z[3] = WT_FMA(b, y[1], y[0]);
  z[4] = WT_FNMA(b, y[1], y[0]);
  z[5] = y[1];
}
WT_INLINE void WT_FN(wino_dkernel_2k5)(const WT *m, WT *w) {
  const WT s1 = WT_ADD(m[1], m[2]), t1 = WT_SUB(m[1], m[2]), s2 = WT_ADD(m[3], m[4]), t2 = WT_SUB(m[3], m[4]);
  w[0] = WT_FMA(WT_CONST(1.0 / 6), s1, WT_FMA(WT_CONST(-2.0 / 3), s2, m[0]));
  w[1] = WT_FMA(WT_CONST(SQRT2 / 6), t1, WT_MUL(WT_CONST(-2 * HALF_SQRT2 / 3), t2));
  w[2] = WT_FMA(WT_CONST(1.0 / 3), s1, WT_MUL(WT_CONST(-1.0 / 3), s2));
  w[3] = WT_FMA(WT_CONST(SQRT2 / 3), t1, WT_MUL(WT_CONST(-HALF_SQRT2 / 3), t2));
  w[4] = WT_FMA(WT_CONST(2.0 / 3), s1, WT_FMA(WT_CONST(-1.0 / 6), s2, m[5]));
}

/* ---- 4x4k5 ---- */

WT_INLINE void WT_FN(wino_kernel_4k5)(const WT *g, WT *u) {
  const WT c1 = WT_CONST(-2.0 / 9), c2 = WT_CONST(1.0 / 90), c3 = WT_CONST(32.0 / 45);
  const WT e1 = WT_ADD(WT_ADD(g[0], g[2]), g[4]), o1 = WT_ADD(g[1], g[3]);
  const WT e2 = WT_FMA(WT_CONST(16), g[4], WT_FMA(WT_CONST(4), g[2], g[0]));
  const WT o2 = WT_FMA(WT_CONST(8), g[3], WT_MUL(WT_CONST(2), g[1]));
  const WT e3 = WT_FMA(WT_CONST(0.0625), g[4], WT_FMA(WT_CONST(0.25), g[2], g[0]));
  const WT o3 = WT_FMA(WT_CONST(0.125), g[3], WT_MUL(WT_CONST(0.5), g[1]));
  u[0] = g[0];
  u[1] = WT_MUL(c1, WT_ADD(e1, o1));
  u[2] = WT_MUL(c1, WT_SUB(e1, o1));
  u[3] = WT_MUL(c2, WT_ADD(e2, o2));
  u[4] = WT_MUL(c2, WT_SUB(e2, o2));
  u[5] = WT_MUL(c3, WT_ADD(e3, o3));
  u[6] = WT_MUL(c3, WT_SUB(e3, o3));
  u[7] = g[4];
}
WT_INLINE void WT_FN(wino_output_4k5)(const WT *m, WT *y) {
  const WT s1 = WT_ADD(m[1], m[2]), t1 = WT_SUB(m[1], m[2]), s2 = WT_ADD(m[3], m[4]), t2 = WT_SUB(m[3], m[4]);
  const WT s3 = WT_ADD(m[5], m[6]), t3 = WT_SUB(m[5], m[6]);
  y[0] = WT_ADD(WT_ADD(m[0], s1), WT_ADD(s2, s3));
  y[1] = WT_FMA(WT_CONST(2), t2, WT_FMA(WT_CONST(0.5), t3, t1));
  y[2] = WT_FMA(WT_CONST(4), s2, WT_FMA(WT_CONST(0.25), s3, s1));
  y[3] = WT_FMA(WT_CONST(8), t2, WT_FMA(WT_CONST(0.125), t3, WT_ADD(t1, m[7])));
}
WT_INLINE void WT_FN(wino_grad_4k5)(const WT *y, WT *z) {
  const WT two = WT_CONST(2), half = WT_CONST(0.5), four = WT_CONST(4), quarter = WT_CONST(0.25);
  const WT e1 = WT_ADD(y[0], y[2]), o1 = WT_ADD(y[1], y[3]);
  const WT e2 = WT_FMA(four, y[2], y[0]), o2 = WT_FMA(four, y[3], y[1]);
  const WT e3 = WT_FMA(quarter, y[2], y[0]), o3 = WT_FMA(quarter, y[3], y[1]);
  z[0] = y[0];
  z[1] = WT_ADD(e1, o1);
  z[2] = WT_SUB(e1, o1);
  z[3] = WT_FMA(two, o2, e2);
  z[4] = WT_FNMA(two, o2, e2);
  z[5] = WT_FMA(half, o3, e3);
  z[6] = WT_FNMA(half, o3, e3);
  z[7] = y[3];
}
WT_INLINE void WT_FN(wino_dkernel_4k5)(const WT *m, WT *w) {
  const WT c1 = WT_CONST(-2.0 / 9);
  const WT s1 = WT_ADD(m[1], m[2]), t1 = WT_SUB(m[1], m[2]), s2 = WT_ADD(m[3], m[4]), t2 = WT_SUB(m[3], m[4]);
  const WT s3 = WT_ADD(m[5], m[6]), t3 = WT_SUB(m[5], m[6]);
  w[0] = WT_FMA(c1, s1, WT_FMA(WT_CONST(1.0 / 90), s2, WT_FMA(WT_CONST(32.0 / 45), s3, m[0])));
  w[1] = WT_FMA(c1, t1, WT_FMA(WT_CONST(2.0 / 90), t2, WT_MUL(WT_CONST(16.0 / 45), t3)));
  w[2] = WT_FMA(c1, s1, WT_FMA(WT_CONST(4.0 / 90), s2, WT_MUL(WT_CONST(8.0 / 45), s3)));
  w[3] = WT_FMA(c1, t1, WT_FMA(WT_CONST(8.0 / 90), t2, WT_MUL(WT_CONST(4.0 / 45), t3)));
  w[4] = WT_FMA(c1, s1, WT_FMA(WT_CONST(16.0 / 90), s2, WT_FMA(WT_CONST(2.0 / 45), s3, m[7])));
}

#undef SQRT2
#undef HALF_SQRT2
