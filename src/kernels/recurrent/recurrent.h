/* recurrent.h: whole recurrences: LSTM, GRU and the plain tanh and relu cells; class `ordered` (NUMERICS §5).
 *
 * x (time,batch,gates·hidden) holds W·x + b of all steps. A sample's steps s = 0 … length−1 are the times s, or
 * length−1−s where `reverse`; u = ordered(U·h) + b' with U (gates·hidden,hidden), and without b' the sum alone.
 *
 * lstm (gates i, f, g, o): i, f, o = σ(x + u); g = tanh(x + u); c' = fma(f,c,i·g); h' = o·tanh(c').
 * gru (gates r, z, n): r, z = σ(x + u); n = tanh(fma(r,u,x)); h' = fma(z,h−n,n).
 * tanh, relu: h' = tanh(x + u), relu(x + u).
 *
 * y (time,batch,hidden) is h' at its time, hn and cn are the states after a sample's last step: h0 and c0 where it has
 * none. `saves`: what bwd reads is kept: i, f, g, o and c', or r, z, n and u of n. From a sample's length on y and what
 * is saved are zero, and x is not read.
 *
 * bwd: steps descending, dh = dy + what came from the step after it (dhn at the last; what is absent is left out).
 * lstm: t = tanh(c'); dc = fma(dh·o,fma(−t,t,1),dc of the step after it); dx = dc·g·(i·(1−i)), dc·c·(f·(1−f)),
 * dc·i·fma(−g,g,1), dh·t·(o·(1−o)); dc·f goes on; dh goes on as ordered(dx·U). gru: dn = dh·(1−z)·fma(−n,n,1);
 * dx = dn·u·(r·(1−r)), dh·(h−n)·(z·(1−z)), dn; dz the same with dn·r last: the gradient of u; dh goes on as
 * ordered(dz·U) + dh·z. tanh, relu: dx = dh·fma(−y,y,1), or the gradient of relu. Products from left to right. dx and
 * dz are zero from a sample's length on. Hochreiter and Schmidhuber, "Long short-term memory", 1997; Cho et al.,
 * "Learning phrase representations using RNN encoder-decoder", 2014, with the reset gate after the product. */
#ifndef ISO_KERNELS_RECURRENT_H
#define ISO_KERNELS_RECURRENT_H
#include "plan/plan.h"
#include "numeric/hd.h"

typedef enum iso__cell { ISO__CELL_LSTM, ISO__CELL_GRU, ISO__CELL_TANH, ISO__CELL_RELU } iso__cell;

typedef struct iso_recurrent_problem {
  iso__problem head;
  int64_t time, batch, hidden;
  int64_t dy_time, dy_batch; /* bwd: elements of dy between times and between samples */
  uint8_t cell;              /* iso__cell */
  uint8_t reverse, has_lengths, has_bias;
  uint8_t saves;                    /* fwd */
  uint8_t has_dy, has_dhn, has_dcn; /* bwd */
} iso_recurrent_problem;

/* fwd: x, u, bias, h0, c0, lengths -> y, gates, cells, hn, cn. bwd: u, gates, cells, y, h0, c0, lengths, dy, dhn, dcn
 * -> dx, dz, dh0, dc0. What a cell or its problem lacks is NULL: c for all but lstm, dz for all but gru, gates for tanh
 * and relu; bwd reads y for all but lstm, h0 for gru, c0 for lstm. */
typedef struct iso_recurrent_args {
  const void *x, *u, *bias, *h0, *c0;
  const int64_t *lengths; /* (batch), each in [0,time] */
  void *y, *gates, *cells, *hn, *cn;
  const void *y_saved, *gates_saved, *cells_saved, *dy, *dhn, *dcn;
  void *dx, *dz, *dh0, *dc0;
} iso_recurrent_args;

static inline ISO__HD int64_t iso__cell_gates(unsigned cell) {
  return cell == ISO__CELL_LSTM ? 4 : cell == ISO__CELL_GRU ? 3 : 1;
}
/* What fwd saves of a step beside y and c': vectors of `hidden`. */
static inline ISO__HD int64_t iso__cell_saved(unsigned cell) {
  return cell == ISO__CELL_LSTM || cell == ISO__CELL_GRU ? 4 : 0;
}
static inline ISO__HD int64_t iso__recurrent_length(const iso_recurrent_problem *p, const iso_recurrent_args *a,
                                                    int64_t sample) {
  return p->has_lengths ? a->lengths[sample] : p->time;
}
/* Row of (time,batch,…) of a sample's step s. */
static inline ISO__HD int64_t iso__recurrent_row(const iso_recurrent_problem *p, int64_t sample, int64_t length,
                                                 int64_t s) {
  return (p->reverse ? length - 1 - s : s) * p->batch + sample;
}
#endif
