/* unpool.h: moving elements of planes to and from numbered places, channels-last.
 *
 * u (n,places,c) and v (n,picks,c) with index (n,picks,c), i64 in [0, places): what max unpooling and the gradients of
 * pooling with indices consist of.
 *   pick: v[j] = u[index[j]].
 *   put:  u[i] = the last v[j] (ascending j) with index[j] = i, +0 where there is none.
 *   add:  u[i] = ordered(v[j] with index[j] = i, ascending j). */
#ifndef ISO_KERNELS_UNPOOL_H
#define ISO_KERNELS_UNPOOL_H
#include "plan/plan.h"

typedef struct iso_unpool_problem {
  iso__problem head;
  int64_t n, c, places, picks;
} iso_unpool_problem;
typedef struct iso_unpool_args {
  const void *in; /* pick: u, else v */
  void *out;
  const int64_t *index;
} iso_unpool_args;
#endif
