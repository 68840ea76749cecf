/* igemm_avx2.c: implicit products by 6×16 micro-tiles. */
#define MR 6
#include "kernels/conv/igemm_impl.h"

const iso__conv_tiles iso__conv_tiles_avx2 = {
    .mr = MR,
    .nr = NR,
    .rows = {MR, MR / 3 * 2, MR / 3},
    .tile = {{tile_3_2, tile_3_1}, {tile_2_2, tile_2_1}, {tile_1_2, tile_1_1}},
    .gathered = {{gathered_3_2, gathered_3_1}, {gathered_2_2, gathered_2_1}, {gathered_1_2, gathered_1_1}},
    .pack = pack,
    .interleave = interleave,
    .copy_strip = copy_strip,
};

size_t iso__conv_igemm_workspace_avx2(const iso__problem *problem, int n_threads);
double iso__conv_igemm_cost_avx2(const iso__problem *problem, int n_threads);
void iso__conv_igemm_run_avx2(const iso__call *call);

size_t iso__conv_igemm_workspace_avx2(const iso__problem *problem, int n_threads) {
  return iso__conv_igemm_workspace(&iso__conv_tiles_avx2, (const iso_conv_problem *)problem, n_threads);
}
double iso__conv_igemm_cost_avx2(const iso__problem *problem, int n_threads) {
  return iso__conv_igemm_cost(&iso__conv_tiles_avx2, (const iso_conv_problem *)problem, n_threads);
}
void iso__conv_igemm_run_avx2(const iso__call *call) { iso__conv_igemm_run(&iso__conv_tiles_avx2, call); }
