/* ctc.h: connectionist temporal classification (Graves et al., 2006): −log of the probability that a frame sequence
 * spells a target once repeats are merged and blanks dropped, and its gradient. Class `ctc`.
 *
 * log_p (t,n,c); targets (n,s) i64 in [0,c); input_lengths T and target_lengths L (n) i64, T ≤ t, L ≤ s (all checked
 * above this room). A sample's states: blanks 0 … L, of which blank k stands before target k, and targets 0 … L−1; e is
 * the frame's log_p of a state's class. alpha (n,t,2s+1): a frame's s+1 blanks, then its s targets.
 *
 * fwd, frame 0: blank 0 and target 0 are e. Frame i, from frame i−1: blank k = lse(blank k, target k−1) + e, target k =
 * lse(target k, blank k, target k−1) + e, the last only where target k differs from target k−1. loss = −lse(blank L,
 * target L−1) of frame T−1; T = 0: 0 for an empty target, else +inf. What no path reaches is −inf, frames and states
 * beyond a sample's too.
 * bwd, frame T−1: b = 0 at blank L and target L−1, else −inf. Frame i, from v = b + e of frame i+1: blank k = lse(blank
 * k, target k), target k = lse(target k, blank k+1, target k+1), the last as above. With w = exp((alpha + b) + loss)
 * the blank's class has lanes(w) over the blanks; to its class each target adds its w, ascending; dx = −scale·that, and
 * +0 in frames from T on, and all over for a sample of infinite loss under zero_infinity. lse(x,y,z): (hi, lo) = x > y
 * ? (x,y) : (y,x); (m, r) = hi > z ? (hi,z) : (z,hi); log((1 + exp(r−m)) + exp(lo−m)) + m, where m = −inf counts as 0
 * and the 1 as 0. lse(x,y) = lse(x,y,−inf). */
#ifndef ISO_KERNELS_CTC_H
#define ISO_KERNELS_CTC_H
#include "plan/plan.h"
typedef struct iso_ctc_problem {
  iso__problem head;
  int64_t t, n, c, s, blank;
  uint8_t zero_infinity;
  uint8_t reserved[7];
} iso_ctc_problem;
typedef struct iso_ctc_args {
  const void *log_p, *alpha_saved, *scale; /* scale (n): the losses' gradients */
  const int64_t *targets, *input_lengths, *target_lengths;
  void *loss, *alpha, *dx;
} iso_ctc_args;

/* One sample as reference and engines see it. */
typedef struct iso__ctc_sample {
  const int64_t *target;
  int64_t frames, letters;            /* T, L */
  int64_t t, c, s, blank, frame_step; /* frame_step: from frame to frame of log_p */
  bool zero_infinity;
} iso__ctc_sample;
static inline iso__ctc_sample iso__ctc_sample_of(const iso_ctc_problem *p, const iso_ctc_args *a, int64_t i) {
  return (iso__ctc_sample){.target = a->targets + i * p->s,
                           .frames = a->input_lengths[i],
                           .letters = a->target_lengths[i],
                           .t = p->t,
                           .c = p->c,
                           .s = p->s,
                           .blank = p->blank,
                           .frame_step = p->n * p->c,
                           .zero_infinity = p->zero_infinity};
}
/* Whether target k may follow target k−1 without a blank between. */
static inline bool iso__ctc_follows(const iso__ctc_sample *q, int64_t k) {
  return k > 0 && k < q->letters && q->target[k] != q->target[k - 1];
}
#endif
