/* bwd_weights.h: the weights' gradient as an ordered product over positions.
 *
 * dw[k][(t,r,s,c)] = Σ over positions (n,o,p,q) of dy[position][k] · x[position moved by tap (r,s)][c]: both operands
 * are contiguous along what is kept, so gemm's strip tiles run on them: dy is A, read in place or packed; one tap's
 * (or, with few channels, several taps') columns of x are packed 256 positions at a time into B, 256 × 32 floats, which
 * stays in L1.
 *
 * While a chunk's products run, the next chunk of x and dy is called into the cache.
 *
 * Work is cut by groups, output channels and input channels. A task passes all taps of a chunk while its x and dy are
 * in L2; else they would come from memory once a tap. Where that gives too few equal tasks, panels of 1024 positions
 * are shared out as well, each panel's sum waiting in a slot until all slots of a window are added in order; if dw is
 * too large for slots, taps are.
 *
 * Positions whose tap lies in the padding are left out of a chunk if dy is finite there: such terms are zeros (NUMERICS
 * §2, Zero terms). Else B holds real zeros. */
#ifndef ISO_KERNELS_CONV_BWD_WEIGHTS_H
#define ISO_KERNELS_CONV_BWD_WEIGHTS_H
#include "kernels/conv/conv.h"
#include "kernels/gemm/tile.h"

/* Positions pos … pos + n − 1 of a chunk, whose x lie `step` floats apart; x NULL: in the padding. */
typedef struct iso__conv_run {
  const float *x;
  int32_t pos, n;
} iso__conv_run;

/* What an instruction set brings beyond gemm's tiles. */
typedef struct iso__conv_packers {
  const iso__tiles *tiles;
  /* b[row][0 … strip) = n_columns floats of each position's x, zeros beyond; the positions of all runs one after
   * another. */
  void (*columns)(const iso__conv_run *runs, int n_runs, int64_t step, int n_columns, int strip, float *b);
  /* The same from a channels-first image: columns are `plane` floats apart. */
  void (*columns_first)(const iso__conv_run *runs, int n_runs, int64_t step, int64_t plane, int n_columns, int strip,
                        float *b);
  /* Strips of A as gemm's tiles read them: channels 0 … n_channels − 1 of dy's rows in even tiles, n_terms·rows floats
   * each. */
  void (*tall)(const float *dy, int64_t pitch, int64_t n_channels, int64_t n_terms, float *a);
  /* a[row][0 … n) = dy[pos][0 … n) of the runs' positions; runs with x NULL are passed over, and if dy is not finite
   * there, the answer is false. */
  bool (*rows)(const iso__conv_run *runs, int n_runs, const float *dy, int64_t pitch, int n, int64_t a_step, float *a);
} iso__conv_packers;

size_t iso__conv_bwd_weights_workspace(const iso__conv_packers *packers, const iso_conv_problem *p, int n_threads);
double iso__conv_bwd_weights_cost(const iso__conv_packers *packers, const iso_conv_problem *p, int n_threads);
void iso__conv_bwd_weights_run(const iso__conv_packers *packers, const iso__call *call);

extern const iso__conv_packers iso__conv_packers_avx2, iso__conv_packers_avx512;
#endif
