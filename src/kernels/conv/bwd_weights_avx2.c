/* bwd_weights_avx2.c: the weights' gradient (bwd_weights.h). */
#define MAX_ROWS 6
#include "kernels/conv/bwd_weights_impl.h"

const iso__conv_packers iso__conv_packers_avx2 = {.tiles = &iso__tiles_avx2,
                                                  .columns = pack_columns,
                                                  .columns_first = pack_columns_first,
                                                  .tall = pack_tall,
                                                  .rows = pack_rows};

size_t iso__conv_bwd_weights_workspace_avx2(const iso__problem *problem, int n_threads);
double iso__conv_bwd_weights_cost_avx2(const iso__problem *problem, int n_threads);
void iso__conv_bwd_weights_run_avx2(const iso__call *call);

size_t iso__conv_bwd_weights_workspace_avx2(const iso__problem *problem, int n_threads) {
  return iso__conv_bwd_weights_workspace(&iso__conv_packers_avx2, (const iso_conv_problem *)problem, n_threads);
}
double iso__conv_bwd_weights_cost_avx2(const iso__problem *problem, int n_threads) {
  return iso__conv_bwd_weights_cost(&iso__conv_packers_avx2, (const iso_conv_problem *)problem, n_threads);
}
void iso__conv_bwd_weights_run_avx2(const iso__call *call) { iso__conv_bwd_weights_run(&iso__conv_packers_avx2, call); }
