/* rng.h: dropout and random fills from Philox counters (NUMERICS §7); class `philox`.
 *
 * The key is (seed, stream), the counter (element>>2, site, leaf, step): bits depend on logical element numbers alone.
 * DROPOUT: y = kept ? x·(float)(1/(1−p)) : +0; backward is the same call on dy. RANDOM_FILL: UNIFORM fma(b−a,u,a),
 * NORMAL fma(b, z, a) with a the mean and b the standard deviation, BERNOULLI (1 with probability a), all over n
 * contiguous elements. */
#ifndef ISO_KERNELS_RNG_H
#define ISO_KERNELS_RNG_H
#include "plan/plan.h"
typedef enum iso__distribution { ISO__UNIFORM, ISO__NORMAL, ISO__BERNOULLI } iso__distribution;
typedef struct iso_rng_problem {
  iso__problem head;
  int64_t n;
  uint8_t distribution; /* RANDOM_FILL */
  uint8_t reserved[7];
} iso_rng_problem;
typedef struct iso_rng_args {
  uint64_t seed;
  uint32_t stream, site, leaf, step;
  double a, b;   /* DROPOUT: a = p */
  const void *x; /* DROPOUT */
  void *y;
} iso_rng_args;
#endif
