/* linalg.h: factorisations of small matrices, many at a time.
 *
 * All operands are contiguous, row-major, `batch` matrices each (m = n where they are square). One matrix is one
 * thread's work; each kernel is one text (factor_body.h, qr_body.h, jacobi_body.h) whose loops along rows are what
 * vectors take several of at a time.
 *
 * CHOLESKY       a (n,n), its lower triangle → x = L (n,n), zeros above: class `cholesky`
 * TRIANGULAR     a (n,n), b (n,k) → x (n,k): a·x = b, or aᵀ·x = b: class `substitution`
 * LU             a (m,n) → x (m,n) = L below, U on and above the diagonal; pivots (min(m,n)): row exchanged with row i
 *                at step i: class `lu`
 * QR             a (m,n) → x = Q (m,k), y = R (k,n), k = min(m,n) or m: class `householder`
 * EIGH           a (n,n), its lower triangle → x = values (n) ascending, y = vectors (n,n), in columns: class
 *                `jacobi.cyclic`
 * SVD            a (m,n) → x = U (m,k), y = values (k) descending, z = Vᵀ (k,n), k = min(m,n): class `jacobi.one_sided`
 *
 * A matrix that has no factorisation gives NaNs (cholesky) or a zero pivot (LU): the caller looks. Vectors of EIGH and
 * U of SVD have the sign that makes their largest component (the first of equals) positive. */
#ifndef ISO_KERNELS_LINALG_H
#define ISO_KERNELS_LINALG_H
#include "plan/plan.h"

typedef struct iso_linalg_problem {
  iso__problem head;
  int64_t batch, m, n, k;
  uint8_t upper, transposed,
      unit; /* TRIANGULAR: which triangle of a; aᵀ; ones on the diagonal, whatever stands there */
  uint8_t reserved[5];
} iso_linalg_problem;
typedef struct iso_linalg_args {
  const void *a, *b;
  void *x, *y, *z;
  int32_t *pivots;
} iso_linalg_args;

static inline int64_t iso__linalg_least(const iso_linalg_problem *p) { return p->m < p->n ? p->m : p->n; }
/* Where i64 numbers may lie behind scratch that ends there. */
static inline int64_t *iso__linalg_places(void *end) { return (int64_t *)(((uintptr_t)end + 7) & ~(uintptr_t)7); }
/* Bytes that one matrix needs beside its operands, a multiple of 64. */
size_t iso__linalg_item_bytes(const iso__problem *problem);
#endif
