/* engine.h: how the engine of recurrences lays its workspace out: a packed U, then each thread's states. */
#ifndef ISO_KERNELS_RECURRENT_ENGINE_H
#define ISO_KERNELS_RECURRENT_ENGINE_H
#include "kernels/recurrent/recurrent.h"
#include "kernels/sizes.h"

/* Samples that a thread takes through all steps at a time: two full tiles of AVX-512, five of AVX2. */
enum { ISO__RECURRENT_SAMPLES = 28 };

typedef struct iso__recurrent_pieces {
  int64_t ld, ld_gates;                  /* floats between samples in states, in gates */
  size_t states[4], gates, panel, local; /* offsets in a thread's bytes; its bytes */
  size_t packed_bytes, n_bytes;          /* U; all */
} iso__recurrent_pieces;

/* Four states (h twice, c and one more, or dh, dc, …), a block of gates and a row of panel sums a sample. Rows begin in
 * different sets of the first cache. */
static inline iso__recurrent_pieces iso__recurrent_pieces_of(const iso_recurrent_problem *p, int strip, int n_threads) {
  const int64_t columns = iso__round_up(p->hidden, strip), gates = iso__cell_gates(p->cell);
  iso__recurrent_pieces q = {.ld = columns + 16};
  q.ld_gates = p->head.op == ISO__OP_RECURRENT_FWD ? gates * strip : gates * p->hidden + 16;
  for (int i = 0; i < 4; i++) q.states[i] = iso__take(&q.local, ISO__RECURRENT_SAMPLES * q.ld, sizeof(float));
  q.gates = iso__take(&q.local, ISO__RECURRENT_SAMPLES * q.ld_gates, sizeof(float));
  q.panel = iso__take(&q.local, ISO__RECURRENT_SAMPLES * q.ld, sizeof(float));
  q.packed_bytes = (size_t)(gates * p->hidden * columns) * sizeof(float);
  q.n_bytes = q.packed_bytes + (size_t)n_threads * q.local;
  return q;
}
size_t iso__recurrent_workspace(const iso__problem *problem, int n_threads, int strip);
#endif
