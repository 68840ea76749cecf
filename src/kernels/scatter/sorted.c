/* sorted.c: scatters by sorting, for any CPU; see sorted_impl.h. */
#include "kernels/scatter/engines.h"
#define ISA(name) name
#include "kernels/scatter/sorted_impl.h"

size_t iso__scatter_sorted_workspace(const iso__problem *problem, int n_threads) {
  iso__scatter_sort sort;
  (void)n_threads;
  return iso__scatter_sort_place((const iso_scatter_problem *)problem, NULL, &sort);
}
