/* gemm.h: C = epilogue(alpha·op(A)·op(B) + beta·C), row-major, strided batch.
 *
 * Class `ordered` (NUMERICS §2, §4): per element, chunks of 256 terms by fma from +0 with k ascending, folded in panels
 * of four. Then `alpha·t` if has_alpha, then `+ beta·C` with that product rounded if has_beta (else C is not read),
 * then bias (one per column), then the residual (laid out like C), then `·scale`, then the activation, each exactly its
 * stand-alone operator. f16 and bf16: every operand has that dtype; they are widened, computed as f32 and rounded once.
 * Class `free`: any association of the sum over k. Reference: reference.c. Engines: engines.def. Shapes for tests and
 * benchmarks: cases.c. */
#ifndef ISO_KERNELS_GEMM_H
#define ISO_KERNELS_GEMM_H
#include "plan/plan.h"

typedef enum iso__activation {
  ISO__ACTIVATION_NONE = 0,
  ISO__ACTIVATION_RELU = 1,
  ISO__ACTIVATION_GELU = 2, /* by erf */
  ISO__ACTIVATION_GELU_TANH = 3,
  ISO__ACTIVATION_SILU = 4
} iso__activation;

typedef struct iso_gemm_problem {
  iso__problem head;
  int64_t m, n, k, batch;
  int64_t lda, ldb, ldc;                                  /* elements between rows as stored */
  int64_t batch_stride_a, batch_stride_b, batch_stride_c; /* elements between batch items (0: shared; not for c) */
  uint8_t trans_a;                                        /* 0: A stored (m,k); 1: A stored (k,m) */
  uint8_t trans_b;                                        /* 0: B stored (k,n); 1: B stored (n,k) */
  uint8_t has_alpha, has_beta, has_bias;
  uint8_t activation; /* iso__activation */
  uint8_t has_residual, has_scale;
  uint64_t reserved; /* 0 */
} iso_gemm_problem;

typedef struct iso_gemm_args {
  const void *a, *b;
  void *c;
  const void *bias;          /* (n) or NULL */
  double alpha, beta, scale; /* rounded once to what is computed in: f32 or f64 */
  const void *residual;      /* like c, or NULL; may be c */
} iso_gemm_args;
#endif
