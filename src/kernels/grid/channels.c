/* channels.c: the workspace of the input's gradient, for its rows. */
#include "kernels/grid/channels.h"

size_t iso__grid_bwd_input_workspace(const iso__problem *problem, int n_threads) {
  return iso__grid_slots_of((const iso_grid_problem *)problem).thread_bytes * (size_t)n_threads;
}
