/* few.h: the weights' gradient where the image has few channels, as first layers do.
 *
 * Per panel of 1024 positions, dwᵀ[(r,s,c)][k] = Σ x[position moved by tap (r,s)][c] · dy[position][k]. Rows of the
 * micro-tiles are whole rows of dwᵀ, each one a pointer into a zero-padded copy of the panel's image rows; columns are
 * the output channels, a strip of one chunk of dy packed at a time, which stays in L1 while all rows pass. So the
 * image's few channels are only broadcast and vectors are full. The implicit product's gathered tiles (igemm.h) do the
 * work: their table says where each position lies.
 *
 * `ordered`: every panel's sum has a slot; the slots of a window are added in order, in the end transposed into dw.
 * `free`: threads take panels as they come and add every chunk to a dwᵀ of their own; these are added at the end. Which
 * thread had which panel is chance, and so are the last bits. There are two slots to add instead of one a panel. */
#ifndef ISO_KERNELS_CONV_FEW_H
#define ISO_KERNELS_CONV_FEW_H
#include "kernels/conv/igemm.h"

size_t iso__conv_few_workspace(const iso__conv_tiles *tiles, const iso_conv_problem *p, int n_threads, bool free_order);
double iso__conv_few_cost(const iso__conv_tiles *tiles, const iso_conv_problem *p, int n_threads, bool free_order);
const char *iso__conv_few_applicable(const iso__conv_tiles *tiles, const iso_conv_problem *p);
void iso__conv_few_run(const iso__conv_tiles *tiles, const iso__call *call, bool free_order);
#endif
