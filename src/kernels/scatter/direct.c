/* direct.c: scatters without sorting, for any CPU; see direct_impl.h. */
#define ISA(name) name
#include "kernels/scatter/direct_impl.h"

size_t iso__scatter_direct_workspace(const iso__problem *problem, int n_threads) {
  return (size_t)n_threads * iso__scatter_direct_bytes((const iso_scatter_problem *)problem);
}
