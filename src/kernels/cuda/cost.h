/* cost.h: estimates for engines on CUDA devices; see cost.c. */
#ifndef ISO_KERNELS_CUDA_COST_H
#define ISO_KERNELS_CUDA_COST_H
#include "plan/plan.h"

#ifdef __cplusplus
extern "C" {
#endif
/* Launches, and every operand once through memory. */
double iso__cuda_memory_cost(const iso__problem *problem, int n_launches);
double iso__cuda_pass_cost(const iso__problem *problem, int n_multiprocessors);   /* one launch */
double iso__cuda_passes_cost(const iso__problem *problem, int n_multiprocessors); /* two */
/* A sort of 4-byte pairs and a pass. */
double iso__cuda_sort_cost(const iso__problem *problem, int n_multiprocessors);
/* One thread an output element, where an element walks a convolution's taps or a row and a column. */
double iso__cuda_taps_cost(const iso__problem *problem, int n_multiprocessors);
/* One thread an output element, where an element takes its share of the operator's flops; where it takes its share of
 * the inputs (a column's sum); and where it takes a row of its own (a softmax). */
double iso__cuda_elements_cost(const iso__problem *problem, int n_multiprocessors);
double iso__cuda_sums_cost(const iso__problem *problem, int n_multiprocessors);
double iso__cuda_rows_cost(const iso__problem *problem, int n_multiprocessors);
#ifdef __cplusplus
}
#endif
#endif
