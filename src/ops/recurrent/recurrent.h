/* recurrent.h (this room's): one layer in one direction. */
#ifndef ISO_OPS_RECURRENT_RECURRENT_H
#define ISO_OPS_RECURRENT_RECURRENT_H
#include "kernels/recurrent/recurrent.h"
#include "ops/ops.h"

/* What runs: all contiguous, checked. */
typedef struct iso__recurrence {
  iso__cell cell;
  bool reverse;
  const iso_tensor *w_hh, *b_hh; /* b_hh may be NULL */
  const iso_tensor *h0, *c0;     /* (batch,hidden); c0 for lstm alone */
  const iso_tensor *lengths;     /* i64 (batch), each in [0,time], or NULL */
} iso__recurrence;
/* x (time,batch,gates·hidden): W·x + b → (time,batch,hidden), *h_n and, for lstm, *c_n (batch,hidden). */
iso_tensor *iso__recurrent(iso_context *ctx, const iso_tensor *x, const iso__recurrence *r, iso_tensor **h_n,
                           iso_tensor **c_n);
#endif
