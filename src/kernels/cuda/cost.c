/* cost.c: what engines on CUDA devices are estimated to take, in ns, of an H200's speeds: launches, memory, and
 * the chains of dependent operations where one thread computes one element. */
#include "kernels/cuda/cost.h"

double iso__cuda_memory_cost(const iso__problem *problem, int n_launches) {
  return 2500.0 * n_launches + iso__operands_bytes(problem) / 4000;
}
double iso__cuda_pass_cost(const iso__problem *problem, int n_multiprocessors) {
  (void)n_multiprocessors;
  return iso__cuda_memory_cost(problem, 1);
}
double iso__cuda_passes_cost(const iso__problem *problem, int n_multiprocessors) {
  (void)n_multiprocessors;
  return iso__cuda_memory_cost(problem, 2);
}
double iso__cuda_sort_cost(const iso__problem *problem, int n_multiprocessors) {
  (void)n_multiprocessors;
  return iso__cuda_memory_cost(problem, 14) + 3 * iso__operands_bytes(problem) / 4000;
}

/* A thread walks its terms one after the other, a load each: 4 ns apart when the caches serve it, and all of a
 * multiprocessor's 2048 threads at once; no faster than 1/16 of the peak. */
static double walked(double n_elements, double n_terms, int n_multiprocessors) {
  const double waves = n_elements / ((double)n_multiprocessors * 2048);
  return n_terms * (4 + 4 * (waves > 1 ? waves : 1));
}
static double outputs_of(const iso__problem *problem) {
  iso__operand operands[ISO__MAX_OPERANDS];
  const int n = iso__the_registry.operators[problem->op]->operands(problem, operands);
  double outputs = 0;
  for (int i = 0; i < n; i++)
    if (operands[i].output) outputs += (double)operands[i].n;
  return outputs > 1 ? outputs : 1;
}
double iso__cuda_elements_cost(const iso__problem *problem, int n_multiprocessors) {
  const double n = outputs_of(problem), terms = iso__the_registry.operators[problem->op]->flops(problem) / n;
  return iso__cuda_memory_cost(problem, 1) + 200 + walked(n, terms, n_multiprocessors);
}
/* Index arithmetic for every tap, and loads that neighbours do not share: 0.4 TFLOP/s was seen. */
double iso__cuda_taps_cost(const iso__problem *problem, int n_multiprocessors) {
  const double n = outputs_of(problem), flops = iso__the_registry.operators[problem->op]->flops(problem);
  return iso__cuda_memory_cost(problem, 1) + 200 + 15 * flops / n + flops * 132 / (400.0 * n_multiprocessors);
}
double iso__cuda_sums_cost(const iso__problem *problem, int n_multiprocessors) {
  const double n = outputs_of(problem), items = iso__operands_bytes(problem) / 4;
  return iso__cuda_memory_cost(problem, 2) + 200 + walked(n, 4 * items / n, n_multiprocessors);
}
double iso__cuda_rows_cost(const iso__problem *problem, int n_multiprocessors) {
  const double items = iso__operands_bytes(problem) / 4;
  return iso__cuda_memory_cost(problem, 1) + 1000 + walked(items, 1000, n_multiprocessors);
}
