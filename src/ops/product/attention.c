/* attention.c: softmax(q·kᵀ·scale + mask)·v (Vaswani et al., "Attention is all you need", 2017) from its operators, so
 * its sums have their orders and a row's bits do not depend on the rows beside it.
 *
 * What a mask leaves out gets the lowest finite score, not −∞: its weight is exactly 0 beside any other, and a row that
 * attends to nothing has finite gradients, which the second mask, on the weights, makes 0. */
#include <float.h>
#include <math.h>
#include "ops/ops.h"

static iso_tensor *mismatch(iso_context *ctx, const iso_tensor *q, const iso_tensor *k, const iso_tensor *v) {
  char tq[128], tk[128], tv[128];
  ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "scaled_dot_product_attention",
            "q is %s, k %s and v %s: (…,l,e), (…,s,e) and (…,s,f) are expected",
            iso__shape_text(q->view.n_dims, q->view.shape, tq, sizeof tq),
            iso__shape_text(k->view.n_dims, k->view.shape, tk, sizeof tk),
            iso__shape_text(v->view.n_dims, v->view.shape, tv, sizeof tv));
  return NULL;
}

/* (l,s), true where j ≤ i, and the caller's mask with it; NULL without either. Always a handle of its own. */
static iso_tensor *kept(iso_context *ctx, const iso_tensor *mask, bool causal, int64_t l, int64_t s) {
  const bool picks = mask && mask->view.dtype == ISO_BOOL;
  if (!causal) return picks ? iso_tensor_alias(ctx, mask) : NULL;
  iso_tensor *all = iso_tensor_full(ctx, ISO_BOOL, 2, (const int64_t[]){l, s}, 1);
  iso_tensor *below = iso__drop(iso_tril(ctx, all, 0), all);
  return picks ? iso__drop(iso_logical_and(ctx, mask, below), below) : below;
}

iso_tensor *iso_scaled_dot_product_attention(iso_context *ctx, const iso_tensor *q, const iso_tensor *k,
                                             const iso_tensor *v, const iso_attention_options *options) {
  static const char op[] = "scaled_dot_product_attention";
  const iso_attention_options o = options ? *options : (iso_attention_options){0};
  const iso_tensor *mask = o.mask;
  if (!iso__takes(ctx, op, 3, ISO__TENSORS(q, k, v)) || !iso__takes_floats(ctx, op, 3, ISO__TENSORS(q, k, v)) ||
      (mask && !iso__takes(ctx, op, 1, &mask)))
    return NULL;
  const int nq = q->view.n_dims, nk = k->view.n_dims, nv = v->view.n_dims;
  if (nq < 2 || nk < 2 || nv < 2 || q->view.shape[nq - 1] != k->view.shape[nk - 1] ||
      k->view.shape[nk - 2] != v->view.shape[nv - 2])
    return mismatch(ctx, q, k, v);
  const int64_t e = q->view.shape[nq - 1];
  const double scale = o.scale != 0 ? o.scale : 1 / sqrt((double)(e > 0 ? e : 1));
  iso_tensor *scaled = iso_mul_scalar(ctx, q, scale), *kt = iso_transpose(ctx, k, -1, -2);
  iso_tensor *scores = iso_matmul(ctx, scaled, kt);
  iso_release(scaled);
  iso_release(kt);
  if (mask && mask->view.dtype != ISO_BOOL) scores = iso__drop(iso_add(ctx, scores, mask), scores);
  iso_tensor *keep = kept(ctx, mask, o.causal, q->view.shape[nq - 2], k->view.shape[nk - 2]);
  iso_tensor *out = iso_logical_not(ctx, keep);
  if (out) {
    const double lowest = q->view.dtype == ISO_F64 ? -DBL_MAX : -(double)FLT_MAX;
    scores = iso__drop(iso_masked_fill(ctx, scores, out, lowest), scores);
  }
  iso_tensor *weights = iso__drop(iso_softmax(ctx, scores, -1), scores);
  if (out) weights = iso__drop(iso_masked_fill(ctx, weights, out, 0), weights);
  if (o.dropout != 0) weights = iso__drop(iso_dropout(ctx, weights, o.dropout, true), weights);
  iso_release(keep);
  iso_release(out);
  return iso__drop(iso_matmul(ctx, weights, v), weights);
}
