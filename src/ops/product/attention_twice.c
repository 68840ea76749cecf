/* attention_twice.c: attention's gradient for create_graph, in operators, from the weights w = softmax(scores):
 *
 *   dv = drop(w)ᵀ·dy    dw = drop(dy·vᵀ)    ds = w·(dw − Σ dw·w)    dq = ds·k·scale    dk = dsᵀ·q·scale
 *
 * What is absent gets the lowest finite score, then weight 0: a row that attends to nothing stays finite. f16 and bf16
 * are widened to f32 and rounded at the end. */
#include <float.h>
#include "ops/product/attention.h"

/* (batch or 1,1,n,1) or, as columns, (…,1,n): true from the item's length on. */
static iso_tensor *beyond(iso_context *ctx, const iso_tensor *lengths, int64_t repeat, int64_t n, bool columns) {
  if (!lengths) return NULL;
  const int64_t items = lengths->view.shape[0];
  iso_tensor *each =
      iso_expand(ctx, iso_reshape(ctx, lengths, 2, (int64_t[]){items, 1}), 2, (int64_t[]){items, repeat});
  iso_tensor *length = iso_reshape(ctx, each, 4, (int64_t[]){items * repeat, 1, 1, 1});
  iso_tensor *place = iso_arange(ctx, ISO_I64, 0, (double)n, 1);
  return iso_ge(ctx, iso_reshape(ctx, place, 2, (int64_t[]){columns ? 1 : n, columns ? n : 1}), length);
}
static iso_tensor *either(iso_context *ctx, iso_tensor *a, iso_tensor *b) {
  return a && b ? iso_logical_or(ctx, a, b) : a ? a : b;
}
static iso_tensor *fill(iso_context *ctx, iso_tensor *x, const iso_tensor *where, double value) {
  return where ? iso_masked_fill(ctx, x, where, value) : x;
}

/* Where scores are absent; NULL: nowhere. */
static iso_tensor *absent(iso_context *ctx, const iso__attention *at, const iso__attention_operands *t, int64_t l,
                          int64_t s) {
  iso_tensor *keys = beyond(ctx, t->key_lengths, at->repeat, s, true);
  iso_tensor *queries = beyond(ctx, t->query_lengths, at->repeat, l, false);
  iso_tensor *out = either(ctx, keys, queries);
  if (at->causal) {
    iso_tensor *all = iso_tensor_full(ctx, ISO_BOOL, 2, (const int64_t[]){l, s}, 1);
    out = either(ctx, out, iso_logical_not(ctx, iso_tril(ctx, all, 0)));
  }
  if (t->mask && t->mask->view.dtype == ISO_BOOL) out = either(ctx, out, iso_logical_not(ctx, t->mask));
  return out;
}

/* x·factor, 0 where it was dropped. */
static iso_tensor *drop(iso_context *ctx, iso_tensor *x, const iso_tensor *dropped, double factor) {
  return dropped ? iso_masked_fill(ctx, iso_mul_scalar(ctx, x, factor), dropped, 0) : x;
}
static iso_tensor *turned(iso_context *ctx, const iso_tensor *x) { return iso_transpose(ctx, x, -1, -2); }

void iso__attention_gradient_twice(iso__gradient *g, const iso__attention_operands *t) {
  static const char op[] = "scaled_dot_product_attention";
  iso_context *ctx = g->ctx;
  const iso__attention *at = iso__attrs(g);
  const iso_dtype dtype = t->q->view.dtype, wide = dtype == ISO_F64 ? ISO_F64 : ISO_F32;
  const int64_t l = t->q->view.shape[2], s = t->v->view.shape[2];
  iso_tensor *gone = beyond(ctx, t->key_lengths, at->repeat, s, false); /* of rows of k and v: they may hold NaN */
  iso_tensor *q = iso_cast(ctx, t->q, wide), *dy = iso_cast(ctx, g->dy[0], wide);
  iso_tensor *k = fill(ctx, iso_cast(ctx, t->k, wide), gone, 0), *v = fill(ctx, iso_cast(ctx, t->v, wide), gone, 0);
  iso_tensor *scaled = iso_mul_scalar(ctx, q, at->scale);
  iso_tensor *scores = iso_matmul(ctx, scaled, turned(ctx, k));
  if (t->mask && t->mask->view.dtype != ISO_BOOL) scores = iso_add(ctx, scores, iso_cast(ctx, t->mask, wide));
  iso_tensor *out = absent(ctx, at, t, l, s), *dropped = NULL;
  scores = fill(ctx, scores, out, wide == ISO_F64 ? -DBL_MAX : -(double)FLT_MAX);
  iso_tensor *w = fill(ctx, iso_softmax(ctx, scores, -1), out, 0);
  if (iso__failed(ctx)) return;
  if (at->dropout != 0)
    dropped =
        iso_cast(ctx, iso__random_bernoulli_at(ctx, op, ISO_F32, 4, w->view.shape, at->dropout, &at->place), ISO_BOOL);
  const double factor = at->dropout < 1 ? 1 / (1 - at->dropout) : 0;
  iso_tensor *dw = drop(ctx, iso_matmul(ctx, dy, turned(ctx, v)), dropped, factor);
  iso_tensor *sum = iso_sum(ctx, iso_mul(ctx, dw, w), 1, (const int[]){-1}, true);
  iso_tensor *ds = iso_mul(ctx, w, iso_sub(ctx, dw, sum));
  /* One head of k and v for all of q's: their gradients are summed over its heads. */
  if (iso__needs(g, 0)) g->dx[0] = iso_cast(ctx, iso_mul_scalar(ctx, iso_matmul(ctx, ds, k), at->scale), dtype);
  if (iso__needs(g, 1)) {
    iso_tensor *dk = iso_mul_scalar(ctx, iso_matmul(ctx, turned(ctx, ds), q), at->scale);
    g->dx[1] = iso_cast(ctx, iso__sum_to(ctx, dk, &t->k->view), dtype);
  }
  if (iso__needs(g, 2)) {
    iso_tensor *dv = iso_matmul(ctx, turned(ctx, drop(ctx, w, dropped, factor)), dy);
    g->dx[2] = iso_cast(ctx, iso__sum_to(ctx, dv, &t->v->view), dtype);
  }
  if (iso__needs(g, 3)) g->dx[3] = iso_cast(ctx, ds, dtype);
}
