/* ops/linalg.h: small linear algebra. What holds for every operator: ops.h.
 *
 * Matrices are the last two axes, those before are a batch (and broadcast where two operands meet). f32 and f64.
 * Results have the bits that docs/numerics.md (§10, §11: factorisations) gives them on every machine: no LAPACK is
 * called. A matrix that an operator cannot take (not positive definite, singular) is ISO_INVALID_ARGUMENT, naming its
 * number in the batch. */
#ifndef ISOBIT_OPS_LINALG_H
#define ISOBIT_OPS_LINALG_H
#include <isobit/tensor.h>
#ifdef __cplusplus
extern "C" {
#endif

/* ---- factorisations ---- */
/* a (…,n,n) symmetric positive definite → L (…,n,n) lower, a = L·Lᵀ; only a's lower triangle is read. `upper`: Lᵀ, from
 * the upper triangle. Class `cholesky`. */
ISO_API iso_tensor *iso_cholesky(iso_context *ctx, const iso_tensor *a, bool upper);
/* a (…,m,n) = Q·R; returns Q (…,m,k) and sets *r (k,n) upper, k = min(m,n), or m if `complete`. Class `householder`. No
 * gradient of complete ones with m > n. */
ISO_API iso_tensor *iso_qr(iso_context *ctx, const iso_tensor *a, bool complete, iso_tensor **r);
/* a (…,m,n) → L below and U on and above the diagonal, and i32 *pivots (…,min(m,n)): row exchanged with row i at step
 * i. Class `lu`. A zero pivot is no error. No gradient. */
ISO_API iso_tensor *iso_lu_factor(iso_context *ctx, const iso_tensor *a, iso_tensor **pivots);
/* The same as three matrices, a = P·L·U: returns P (…,m,m), *l (…,m,k), *u (…,k,n). No gradient. */
ISO_API iso_tensor *iso_lu(iso_context *ctx, const iso_tensor *a, iso_tensor **l, iso_tensor **u);
/* a (…,n,n) symmetric, its lower triangle (or `upper`) → values (…,n) ascending, *vectors (…,n,n) in columns: a =
 * V·diag(λ)·Vᵀ. Each vector's largest component is positive. Class `jacobi.cyclic`. */
ISO_API iso_tensor *iso_eigh(iso_context *ctx, const iso_tensor *a, bool upper, iso_tensor **vectors);
/* a (…,m,n) = U·diag(s)·Vᵀ, k = min(m,n): returns U (…,m,k), *s (…,k) descending, *vt (…,k,n). The largest component of
 * each column of U is positive. Class `jacobi.one_sided`. `full_matrices`: U (…,m,m), *vt (…,n,n), the columns and rows
 * beyond k any that complete the base (class `householder`, of the others); they have no gradient. */
ISO_API iso_tensor *iso_svd(iso_context *ctx, const iso_tensor *a, bool full_matrices, iso_tensor **s, iso_tensor **vt);

/* ---- solving ---- */
typedef struct iso_triangular_options {
  bool upper;      /* a's upper triangle is read, else its lower one */
  bool transposed; /* aᵀ·x = b */
  bool unit;       /* the diagonal counts as ones */
  bool right;      /* x·a = b (x·aᵀ = b) */
} iso_triangular_options;
/* a (…,n,n), b (…,n,k) → x with a·x = b. Class `substitution`; a zero on the diagonal divides as numbers do. */
ISO_API iso_tensor *iso_triangular_solve(iso_context *ctx, const iso_tensor *a, const iso_tensor *b,
                                         const iso_triangular_options *options);
/* a (…,n,n), b (…,n,k) → x with a·x = b, by LU. Classes `lu`, `substitution`. */
ISO_API iso_tensor *iso_solve(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
/* The same of factors: of iso_cholesky (l lower, or upper), and of iso_lu_factor (no gradient for lu). */
ISO_API iso_tensor *iso_cholesky_solve(iso_context *ctx, const iso_tensor *b, const iso_tensor *l, bool upper);
ISO_API iso_tensor *iso_lu_solve(iso_context *ctx, const iso_tensor *lu, const iso_tensor *pivots, const iso_tensor *b);
/* solve(a, 1). */
ISO_API iso_tensor *iso_inv(iso_context *ctx, const iso_tensor *a);
/* (L·Lᵀ)⁻¹ of iso_cholesky's L, or (Uᵀ·U)⁻¹. */
ISO_API iso_tensor *iso_cholesky_inverse(iso_context *ctx, const iso_tensor *l, bool upper);
/* The product of U's diagonal, ascending, times the sign of the exchanges. The gradient needs a regular matrix. */
ISO_API iso_tensor *iso_det(iso_context *ctx, const iso_tensor *a);
/* The determinant's sign (no gradient); *log_abs is the logarithm of its magnitude: a sum of logarithms, ascending. */
ISO_API iso_tensor *iso_slogdet(iso_context *ctx, const iso_tensor *a, iso_tensor **log_abs);
/* log det, NaN where it is negative. */
ISO_API iso_tensor *iso_logdet(iso_context *ctx, const iso_tensor *a);

/* ---- made of those ---- */
/* aⁿ by squaring, low bit first; n < 0: of the inverse. */
ISO_API iso_tensor *iso_matrix_power(iso_context *ctx, const iso_tensor *a, int64_t n);
/* Σ aⁱ/i!, by Taylor's polynomial of degree 18 (Horner) of a/2ˢ, squared s times; s from the largest column sum of the
 * whole batch. */
ISO_API iso_tensor *iso_matrix_exp(iso_context *ctx, const iso_tensor *a);
/* 3-vectors along an axis; the others broadcast. */
ISO_API iso_tensor *iso_cross(iso_context *ctx, const iso_tensor *a, const iso_tensor *b, int axis);
/* x (n) → (n,columns) of powers 0, 1, 2 …, each the former times x. */
ISO_API iso_tensor *iso_vander(iso_context *ctx, const iso_tensor *x, int64_t columns);
/* Distances ‖a_i − b_j‖_p of rows: a (…,m,c), b (…,n,c) → (…,m,n). */
ISO_API iso_tensor *iso_cdist(iso_context *ctx, const iso_tensor *a, const iso_tensor *b, double p);
/* Sum of the singular values' p-th powers, to 1/p: nuclear norm 1, spectral norm INFINITY, smallest value −INFINITY. */
ISO_API iso_tensor *iso_schatten_norm(iso_context *ctx, const iso_tensor *a, double p);
typedef struct iso_cov_options {
  const iso_tensor *counts;  /* (n) how often each observation counts, any dtype; NULL: once   */
  const iso_tensor *weights; /* (n) its weight; NULL: 1. w = counts·weights                     */
} iso_cov_options;
/* Observations in columns: x (c,n) → Σ w·d·dᵀ/divisor, d = x − mean: (c,c); without axes for one variable. The divisor
 * is Σw − correction·Σw·weights/Σw (Σw − correction without weights), at least 0. */
ISO_API iso_tensor *iso_cov(iso_context *ctx, const iso_tensor *x, double correction, const iso_cov_options *options);
/* cov scaled to a unit diagonal, clipped to [−1,1]. */
ISO_API iso_tensor *iso_corrcoef(iso_context *ctx, const iso_tensor *x);

#ifdef __cplusplus
}
#endif
#endif
