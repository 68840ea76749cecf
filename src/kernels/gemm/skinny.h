/* skinny.h: limits of engine `gemm_skinny`, shared by its two builds and its cost. */
#ifndef ISO_KERNELS_GEMM_SKINNY_H
#define ISO_KERNELS_GEMM_SKINNY_H
enum { ISO__SKINNY_MAX_ROWS = 8, ISO__SKINNY_TASK_TERMS = 1 << 18 /* elements of B worth a thread */ };
#endif
