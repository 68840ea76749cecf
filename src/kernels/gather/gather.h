/* gather.h: elements and rows picked by index (gather, index_select, take, embedding, advanced indexing). Class `map`:
 * bits are moved.
 *
 * x (outer,extent,inner) contiguous, index i64 in [0,extent) (checked above this room) -> y (outer,n,inner).
 * each 0: index (n), y[o,k,:] = x[o,index[k],:]. each 1: index (outer,n,inner), y[o,k,i] = x[o,index[o,k,i],i]. */
#ifndef ISO_KERNELS_GATHER_H
#define ISO_KERNELS_GATHER_H
#include "plan/plan.h"

typedef struct iso_gather_problem {
  iso__problem head;
  int64_t outer, n, inner, extent;
  uint8_t each;
  uint8_t reserved[7];
} iso_gather_problem;
typedef struct iso_gather_args {
  const void *x;
  const int64_t *index;
  void *y;
} iso_gather_args;
#endif
