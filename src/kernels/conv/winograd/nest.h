/* nest.h (internal): the two loop orders of Winograd convolution, for any class and instruction set.
 *
 * *tiles*: U whole, then blocks of tiles, each through all output channels while its V stays in L2. For kept weights,
 *   and where U is small against the tiles. The workspace does not know the batch.
 * *filters*: V of many tiles, then blocks of output channels: kernel transform, product, output, while their U stays in
 *   L2. For deep layers on small images, where U is larger than V; blocks of channels are what threads share. */
#ifndef ISO_KERNELS_CONV_WINOGRAD_NEST_H
#define ISO_KERNELS_CONV_WINOGRAD_NEST_H
#include "kernels/conv/winograd/winograd.h"

typedef struct iso__winograd_engine {
  const iso__winograd_kernels *kernels;
  iso__winograd_id id;
  int64_t m;
  bool filters; /* the order */
} iso__winograd_engine;

size_t iso__winograd_workspace(const iso__winograd_engine *e, const iso_conv_problem *p, int n_threads);
size_t iso__winograd_kept_bytes(const iso__winograd_engine *e, const iso_conv_problem *p);
void iso__winograd_prepare(const iso__winograd_engine *e, const iso__call *call, void *kept);
void iso__winograd_run(const iso__winograd_engine *e, const iso__call *call);
double iso__winograd_cost(const iso__winograd_engine *e, const iso_conv_problem *p, int n_threads);
#endif
