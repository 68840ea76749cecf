/* chain.h: several pointwise functions in one pass.
 *
 * Class `map`: every step rounds as the separate operator does, so the bits are those of the separate operators. Step k
 * computes fn[k] of operands arg[k][…]: 0 … 3 are the inputs, 4 + j is the result of step j < k. The last step's result
 * is the output. Functions are PLAIN ones (list.h), dtypes f32 and f64. */
#ifndef ISO_KERNELS_MAP_CHAIN_H
#define ISO_KERNELS_MAP_CHAIN_H
#include "kernels/map/map.h"

enum { ISO__CHAIN_STEPS = 8, ISO__CHAIN_INPUTS = 4 };
typedef struct iso_chain_problem {
  iso__problem head;
  uint8_t n_steps, n_inputs, n_dims;
  uint8_t reserved[5];
  uint16_t fn[ISO__CHAIN_STEPS]; /* iso__map_fn */
  uint8_t arg[ISO__CHAIN_STEPS][3];
  int64_t shape[ISO__MAP_MAX_DIMS];
  int64_t strides[1 + ISO__CHAIN_INPUTS][ISO__MAP_MAX_DIMS]; /* out, in0 …, as in map.h */
} iso_chain_problem;

typedef struct iso_chain_args {
  void *out; /* may equal an input of the same strides */
  const void *in[ISO__CHAIN_INPUTS];
  double scalar[ISO__CHAIN_STEPS][3];
} iso_chain_args;

/* Fills n_dims, shape and strides from uncollapsed ones; n_inputs is set. */
void iso__chain_collapse(iso_chain_problem *problem, int n_dims, const int64_t *shape, const int64_t *const *strides);
#endif
