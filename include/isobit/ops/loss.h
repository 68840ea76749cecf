/* ops/loss.h: losses. What holds for every operator: ops.h. */
#ifndef ISOBIT_OPS_LOSS_H
#define ISOBIT_OPS_LOSS_H
#include <isobit/tensor.h>
#ifdef __cplusplus
extern "C" {
#endif

/* ---- how the losses of the elements or samples become the result ---- */
typedef enum iso_reduction {
  ISO_REDUCTION_MEAN, /* Σ / count: one element */
  ISO_REDUCTION_SUM,  /* one element            */
  ISO_REDUCTION_NONE  /* every loss for itself  */
} iso_reduction;
typedef struct iso_loss_options {
  iso_reduction reduction;
  double count; /* MEAN's divisor; 0: the number of losses (weights or none). Under leaves: the whole step's */
  const iso_tensor *weight; /* multiplies each element's loss, with broadcasting; NULL: 1 each */
} iso_loss_options;
/* Below, options NULL means none set, and a loss computed element by element needs target in x's shape; its sum is
 * `lanes` over the elements in logical order. Gradients exist for x and, unless said otherwise, for a floating-point
 * target; integer targets and weights are constants. */

/* ---- classification ---- */
typedef struct iso_cross_entropy_options {
  const iso_tensor *weights; /* (classes), or NULL: 1 each                                                   */
  double count;              /* MEAN's divisor; 0: this call's own Σ w_t. Under leaves: the whole step's     */
  iso_reduction reduction;   /* NONE: the target's shape                                                     */
  double label_smoothing;    /* s in [0,1]: (1−s)·loss + s/classes·Σ_c −w_c·log_softmax(x)_c                 */
  bool ignores;              /* targets equal to ignore_index count nothing: loss, gradient and weight are 0 */
  int64_t ignore_index;
} iso_cross_entropy_options;
/* logits (N,classes), (N,classes,d…) or (classes), target i64 (N), (N,d…) or () in [0,classes) → Σ_i
 * −w_t·log_softmax(logits_i)[t_i] / count. A target out of range is ISO_INVALID_ARGUMENT, naming position and value.
 * Or target holds probabilities in the logits' shape and dtype: Σ −w_c·target_c·log_softmax(logits)_c over the number
 * of rows. Class `lanes`. */
ISO_API iso_tensor *iso_cross_entropy(iso_context *ctx, const iso_tensor *logits, const iso_tensor *target,
                                      const iso_cross_entropy_options *options);
/* The same of log-probabilities: Σ −w_t·log_p[t] / count. label_smoothing is refused. */
ISO_API iso_tensor *iso_nll_loss(iso_context *ctx, const iso_tensor *log_p, const iso_tensor *target,
                                 const iso_cross_entropy_options *options);
/* p in [0,1]: −(t·log p + (1−t)·log(1−p)), logarithms at least −100; dp = (p−t)/max(p·(1−p), 1e−12). */
ISO_API iso_tensor *iso_binary_cross_entropy(iso_context *ctx, const iso_tensor *p, const iso_tensor *target,
                                             const iso_loss_options *options);
/* (1−t)·x + (1 + (pos_weight−1)·t)·softplus(−x); pos_weight NULL: 1, else with broadcasting. */
ISO_API iso_tensor *iso_binary_cross_entropy_with_logits(iso_context *ctx, const iso_tensor *x,
                                                         const iso_tensor *target, const iso_tensor *pos_weight,
                                                         const iso_loss_options *options);
/* x log-probabilities: t·(log t − x), 0 where t = 0; log_target: exp(t)·(t − x). PyTorch's "batchmean": count = N. */
ISO_API iso_tensor *iso_kl_div(iso_context *ctx, const iso_tensor *x, const iso_tensor *target, bool log_target,
                               const iso_loss_options *options);

typedef struct iso_ctc_options {
  int64_t blank;
  bool zero_infinity;      /* infinite losses count 0 and have no gradient                                */
  iso_reduction reduction; /* MEAN: of loss / max(target length, 1) over the samples; NONE: (N)           */
  double count;            /* MEAN's divisor; 0: N. Under leaves: the whole step's                        */
} iso_ctc_options;
/* −log of the probability that (T,N,classes) log_p, a path of one class a frame, spells targets once repeats are merged
 * and blanks dropped (Graves et al., 2006). targets i64 (N,S), or (Σ target_lengths) one after another; input_lengths
 * (N) ≤ T; target_lengths (N). Without a sample axis: log_p (T,classes), one length each, and the result has none.
 * Class `ctc`: docs/numerics.md §11. The gradient is the formula's own and cannot be differentiated again. */
ISO_API iso_tensor *iso_ctc_loss(iso_context *ctx, const iso_tensor *log_p, const iso_tensor *targets,
                                 const iso_tensor *input_lengths, const iso_tensor *target_lengths,
                                 const iso_ctc_options *options);

/* ---- regression; d = x − target ---- */
/* d². */
ISO_API iso_tensor *iso_mse_loss(iso_context *ctx, const iso_tensor *x, const iso_tensor *target,
                                 const iso_loss_options *options);
/* |d|, its gradient at 0 is 0. */
ISO_API iso_tensor *iso_l1_loss(iso_context *ctx, const iso_tensor *x, const iso_tensor *target,
                                const iso_loss_options *options);
/* m·(|d| − m/2)/beta with m = min(|d|, beta): d²/(2·beta) near 0, |d| − beta/2 beyond beta. beta 0: |d|. */
ISO_API iso_tensor *iso_smooth_l1_loss(iso_context *ctx, const iso_tensor *x, const iso_tensor *target, double beta,
                                       const iso_loss_options *options);
/* m·(|d| − m/2) with m = min(|d|, delta): d²/2 near 0, delta·(|d| − delta/2) beyond delta > 0. */
ISO_API iso_tensor *iso_huber_loss(iso_context *ctx, const iso_tensor *x, const iso_tensor *target, double delta,
                                   const iso_loss_options *options);
typedef struct iso_poisson_nll_options {
  bool rate;  /* x is the rate: x − t·log(x + eps); else its logarithm: exp(x) − t·x */
  bool full;  /* adds Stirling's t·log t − t + log(2πt)/2 where t > 1                 */
  double eps; /* 0: 1e-8 */
  iso_loss_options loss;
} iso_poisson_nll_options;
ISO_API iso_tensor *iso_poisson_nll_loss(iso_context *ctx, const iso_tensor *x, const iso_tensor *target,
                                         const iso_poisson_nll_options *options);
typedef struct iso_gaussian_nll_options {
  bool full;  /* adds log(2π)/2 */
  double eps; /* 0: 1e-6 */
  iso_loss_options loss;
} iso_gaussian_nll_options;
/* (log v + d²/v)/2 with v = max(var, eps), with broadcasting; var may lack x's last axis. */
ISO_API iso_tensor *iso_gaussian_nll_loss(iso_context *ctx, const iso_tensor *x, const iso_tensor *target,
                                          const iso_tensor *var, const iso_gaussian_nll_options *options);

/* ---- margins; y is 1 or −1 in x's dtype ---- */
/* log(1 + exp(−y·x)). */
ISO_API iso_tensor *iso_soft_margin_loss(iso_context *ctx, const iso_tensor *x, const iso_tensor *y,
                                         const iso_loss_options *options);
/* y = 1: x; y = −1: max(0, margin − x); else both, added. */
ISO_API iso_tensor *iso_hinge_embedding_loss(iso_context *ctx, const iso_tensor *x, const iso_tensor *y, double margin,
                                             const iso_loss_options *options);
/* max(0, margin − y·(a − b)), with broadcasting. */
ISO_API iso_tensor *iso_margin_ranking_loss(iso_context *ctx, const iso_tensor *a, const iso_tensor *b,
                                            const iso_tensor *y, double margin, const iso_loss_options *options);
typedef struct iso_multi_margin_options {
  int p;                     /* 1 or 2; 0: 1 */
  const iso_tensor *weights; /* (classes), or NULL */
  iso_reduction reduction;
  double count;
} iso_multi_margin_options;
/* x (N,classes) or (classes), target i64 (N) or (): Σ_{c≠t} w_t·max(0, margin − x_t + x_c)^p / classes. */
ISO_API iso_tensor *iso_multi_margin_loss(iso_context *ctx, const iso_tensor *x, const iso_tensor *target,
                                          double margin, const iso_multi_margin_options *options);
/* x (N,classes) or (classes), target i64 of that shape, a row's classes up to its first −1: Σ over those t and all
 * other classes c of max(0, 1 − (x_t − x_c)) / classes. */
ISO_API iso_tensor *iso_multilabel_margin_loss(iso_context *ctx, const iso_tensor *x, const iso_tensor *target,
                                               const iso_loss_options *options);
/* The mean over the last axis of t·softplus(−x) + (1−t)·softplus(x), weighted before it. */
ISO_API iso_tensor *iso_multilabel_soft_margin_loss(iso_context *ctx, const iso_tensor *x, const iso_tensor *target,
                                                    const iso_loss_options *options);

/* ---- distances ---- */
/* Σ a·b / (max(‖a‖, eps)·max(‖b‖, eps)) along an axis, with broadcasting; eps 0: 1e-8. */
ISO_API iso_tensor *iso_cosine_similarity(iso_context *ctx, const iso_tensor *a, const iso_tensor *b, int axis,
                                          double eps);
/* (Σ |a − b + eps|^p)^(1/p) along the last axis, with broadcasting; p INFINITY: the largest. */
ISO_API iso_tensor *iso_pairwise_distance(iso_context *ctx, const iso_tensor *a, const iso_tensor *b, double p,
                                          double eps, bool keep_dim);
/* c = Σ a·b / sqrt((Σ a² + 1e−12)·(Σ b² + 1e−12)) of rows (N,D), y (N), or (D) and (): y = 1: 1 − c; y = −1: max(0,
 * c − margin); else 0. */
ISO_API iso_tensor *iso_cosine_embedding_loss(iso_context *ctx, const iso_tensor *a, const iso_tensor *b,
                                              const iso_tensor *y, double margin, const iso_loss_options *options);
typedef struct iso_triplet_margin_options {
  double p;   /* of the distance; 0: 2 */
  double eps; /* 0: 1e-6 */
  bool swap;  /* the smaller of d(anchor, negative) and d(positive, negative) (Balntas et al., 2016) */
  iso_loss_options loss;
} iso_triplet_margin_options;
/* max(0, margin + d(anchor, positive) − d(anchor, negative)), d = iso_pairwise_distance. */
ISO_API iso_tensor *iso_triplet_margin_loss(iso_context *ctx, const iso_tensor *anchor, const iso_tensor *positive,
                                            const iso_tensor *negative, double margin,
                                            const iso_triplet_margin_options *options);

#ifdef __cplusplus
}
#endif
#endif
