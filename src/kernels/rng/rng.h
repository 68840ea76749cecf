/* rng.h: dropout and random fills from Philox counters (NUMERICS §7); class `philox`.
 *
 * The key is (seed, stream), the counter (element>>2, site, leaf, step): bits depend on logical element numbers alone.
 * DROPOUT: y = kept ? x·(float)(1/(1−p)) : +0. A training step's forward call also writes which elements it kept, a bit
 * each; backward is the call on dy that reads them. RANDOM_FILL: UNIFORM fma(b−a,u,a), NORMAL fma(b, z, a) with a the
 * mean and b the standard deviation, BERNOULLI (1 with probability a), all over n contiguous elements. */
#ifndef ISO_KERNELS_RNG_H
#define ISO_KERNELS_RNG_H
#include "numeric/hd.h"
#include "plan/plan.h"
typedef enum iso__distribution { ISO__UNIFORM, ISO__NORMAL, ISO__BERNOULLI } iso__distribution;
typedef enum iso__dropout_bits { ISO__BITS_NONE, ISO__BITS_WRITTEN, ISO__BITS_READ } iso__dropout_bits;
typedef struct iso_rng_problem {
  iso__problem head;
  int64_t n;
  uint8_t distribution; /* RANDOM_FILL */
  uint8_t bits;         /* DROPOUT: iso__dropout_bits */
  uint8_t reserved[6];
} iso_rng_problem;
typedef struct iso_rng_args {
  uint64_t seed;
  uint32_t stream, site, leaf, step;
  const uint32_t
      *step_at;  /* NULL, or where the step's number lies when the kernel runs: in a captured step it changes */
  double a, b;   /* DROPOUT: a = p */
  const void *x; /* DROPOUT */
  void *y;
  void *bits; /* DROPOUT: bit e mod 8 of byte e/8 is element e; those after the last are 0 */
} iso_rng_args;
/* The place of the call's numbers; where the engine runs, which reads step_at there. */
static inline ISO__HD iso_philox iso__rng_place(const iso_rng_args *a) {
  const iso_philox at = {.seed = a->seed,
                         .stream = a->stream,
                         .site = a->site,
                         .leaf = a->leaf,
                         .step = a->step_at ? *a->step_at : a->step};
  return at;
}
static inline int64_t iso__dropout_bytes(int64_t n) { return (n + 7) / 8; }
#endif
