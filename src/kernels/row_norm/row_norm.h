/* row_norm.h: normalisation of rows by their own statistics: layer, RMS, group and instance norm; classes `lanes` and
 * `ordered` (NUMERICS §5).
 *
 * x (samples,positions,channels), channels innermost. A row is one sample's group of channels, its elements counted
 * position by position, the channel fastest, within the group: n = positions·channels/groups of them. Layer norm over
 * the last n elements: positions 1, channels n, groups 1; instance norm: groups = channels. γ and β are per channel.
 *
 * fwd: mean = lanes(x)/n; d = x − mean; r = 1/sqrt(lanes(d·d)/n + eps); h = d·r; y = fma(h,γ,β) (without β: h·γ;
 * without γ: h + β, or h). mean and r (samples,groups) are outputs too. bwd_data: g = dy·γ (without γ: dy); dx =
 * r·fma(−h, lanes(g·h)/n, g − lanes(g)/n). bwd_weights: dγ = ordered(dy·h) by fma, dβ = ordered(dy), k = (sample,
 * position). bwd: both in one pass over x and dy, for one group and one position, with γ; dβ if wanted. rms: no mean: d
 * = x, and dx = r·fma(−h, lanes(g·h)/n, g). Ba et al., "Layer normalization", 2016; Wu and He, "Group normalization",
 * 2018; Zhang and Sennrich, "Root mean square layer normalization", 2019. */
#ifndef ISO_KERNELS_ROW_NORM_H
#define ISO_KERNELS_ROW_NORM_H
#include "plan/plan.h"
#include "numeric/hd.h"

typedef struct iso_row_norm_problem {
  iso__problem head;
  int64_t samples, positions, channels, groups;
  uint8_t rms;
  uint8_t has_gamma, has_beta; /* bwd, bwd_weights: which of dγ, dβ are wanted */
  uint8_t reserved[5];
} iso_row_norm_problem;

/* Chunks whose sums of dγ and dβ `bwd` keeps at a time: whole panels. */
enum { ISO__ROW_NORM_WAVE = 64 };

/* Groups that the engine of images takes at once. */
enum { ISO__ROW_NORM_GROUPS = 32 };

/* fwd: x, gamma, beta -> y, mean, rstd. bwd_data: x, mean, rstd, gamma, dy -> dx. bwd_weights: x, mean, rstd, dy ->
 * dgamma, dbeta. bwd: x, mean, rstd, dy, gamma -> dx, dgamma, dbeta. mean is absent under rms. */
typedef struct iso_row_norm_args {
  const void *x, *gamma, *beta, *dy;
  void *mean, *rstd; /* outputs of fwd, inputs of the rest */
  void *y, *dx, *dgamma, *dbeta;
  double eps;
} iso_row_norm_args;

static inline ISO__HD int64_t iso__row_norm_n(const iso_row_norm_problem *p) {
  return p->positions * (p->channels / p->groups);
}
/* Whether a row's elements lie side by side. */
static inline ISO__HD bool iso__row_norm_is_dense(const iso_row_norm_problem *p) {
  return p->positions == 1 || p->groups == 1;
}
#endif
