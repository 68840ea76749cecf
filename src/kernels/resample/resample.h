/* resample.h: interpolation of signals, images and volumes, channels-last, and its gradient.
 *
 * Separable: along an axis output o is a weighted sum of neighbouring inputs, its taps; the weight of a place is the
 * product (depth·row)·column of its axes' weights, each computed in binary64 and rounded once (taps.h). Forward: every
 * output is ordered(fma(w, x, acc)) over its places, ascending; nearest modes have one place and copy it. Backward:
 * every input is ordered(fma(w, dy, acc)) over the outputs that see it, ascending. */
#ifndef ISO_KERNELS_RESAMPLE_H
#define ISO_KERNELS_RESAMPLE_H
#include "plan/plan.h"
#include "numeric/hd.h"

typedef enum iso__resample_mode {
  ISO__RESAMPLE_NEAREST,       /* ⌊o·step⌋                                             */
  ISO__RESAMPLE_NEAREST_EXACT, /* ⌊(o + ½)·step⌋                                       */
  ISO__RESAMPLE_LINEAR,
  ISO__RESAMPLE_CUBIC /* Keys' kernel with a = −3/4, smooth: −1/2; edges repeat */
} iso__resample_mode;

typedef struct iso_resample_axis {
  int64_t in, out;
  int64_t step; /* the bits of a double: inputs from one output to the next; 0: in/out */
} iso_resample_axis;
typedef struct iso_resample_problem {
  iso__problem head;
  int64_t n, c;
  iso_resample_axis axis[3]; /* depth, row, column; 1 to 1 where the tensor has none */
  uint8_t mode, corners, smooth;
  uint8_t reserved[5];
} iso_resample_problem;

/* fwd: x -> y. bwd: dy -> dx. */
typedef struct iso_resample_args {
  const void *in;
  void *out;
} iso_resample_args;

const char *iso__resample_wrong(const iso_resample_problem *p);
static inline ISO__HD bool iso__resample_copies(const iso_resample_problem *p) {
  return p->head.op == ISO__OP_RESAMPLE_FWD && p->mode <= ISO__RESAMPLE_NEAREST_EXACT;
}
#endif
