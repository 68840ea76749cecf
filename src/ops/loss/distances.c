/* distances.c: cosine similarity, distances by p-norms and the losses made of them, written in operators. */
#include "base/fenv.h"
#include "ops/loss/loss.h"

static iso_tensor *sum_along(iso_context *ctx, const iso_tensor *x, int axis, bool keep) {
  return iso_sum(ctx, x, 1, &axis, keep);
}

iso_tensor *iso_cosine_similarity(iso_context *ctx, const iso_tensor *a, const iso_tensor *b, int axis, double eps) {
  ISO__AUTOCAST(ctx, "cosine_similarity", iso_cosine_similarity(ctx, a, b, axis, eps), &a, &b);
  if (!iso__takes(ctx, "cosine_similarity", 2, ISO__TENSORS(a, b)) ||
      !iso__takes_floats(ctx, "cosine_similarity", 2, ISO__TENSORS(a, b)))
    return NULL;
  if (eps == 0) eps = 1e-8;
  iso__enter(ctx);
  iso_tensor *ab = iso_mul(ctx, a, b);
  if (ab && ab->view.n_dims == 0) ab = iso_unsqueeze(ctx, ab, 0); /* a number is a vector of one */
  if (!ab || (axis = iso__axis(ctx, "cosine_similarity", ab, axis)) < 0) return iso__leave(ctx, NULL);
  /* Both in the result's shape, so that the axis means the same in each. The clamp comes before the root, whose slope
   * at 0 is infinite. */
  iso_tensor *norms[2];
  for (int i = 0; i < 2; i++) {
    iso_tensor *wide = iso_expand(ctx, i ? b : a, ab->view.n_dims, ab->view.shape);
    iso_tensor *squares = wide ? iso__sum_squares(ctx, wide, 1, &axis, false) : NULL;
    norms[i] = iso_sqrt(ctx, iso_clamp(ctx, squares, iso__fenv_mul(eps, eps), INFINITY));
  }
  iso_tensor *dot = sum_along(ctx, ab, axis, false);
  return iso__leave(ctx, iso_div(ctx, dot, iso_mul(ctx, norms[0], norms[1])));
}

iso_tensor *iso_pairwise_distance(iso_context *ctx, const iso_tensor *a, const iso_tensor *b, double p, double eps,
                                  bool keep_dim) {
  ISO__AUTOCAST(ctx, "pairwise_distance", iso_pairwise_distance(ctx, a, b, p, eps, keep_dim), &a, &b);
  if (!iso__takes(ctx, "pairwise_distance", 2, ISO__TENSORS(a, b)) ||
      !iso__takes_floats(ctx, "pairwise_distance", 2, ISO__TENSORS(a, b)))
    return NULL;
  if (!(p > 0)) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "pairwise_distance", "p is %g: more than 0 is needed", p);
    return NULL;
  }
  const int last = -1;
  iso__enter(ctx);
  iso_tensor *d = iso_add_scalar(ctx, iso_sub(ctx, a, b), eps), *y;
  if (!d || iso__axis(ctx, "pairwise_distance", d, last) < 0) return iso__leave(ctx, NULL);
  if (p == 2) y = iso_sqrt(ctx, iso__sum_squares(ctx, d, 1, &last, keep_dim));
  else if (p == 1) y = sum_along(ctx, iso_abs(ctx, d), last, keep_dim);
  else if (p == INFINITY) y = iso_amax(ctx, iso_abs(ctx, d), 1, &last, keep_dim);
  else
    y = iso_pow_scalar(ctx, sum_along(ctx, iso_pow_scalar(ctx, iso_abs(ctx, d), p), last, keep_dim),
                       iso__fenv_div(1, p));
  return iso__leave(ctx, y);
}

iso_tensor *iso_cosine_embedding_loss(iso_context *ctx, const iso_tensor *a, const iso_tensor *b, const iso_tensor *y,
                                      double margin, const iso_loss_options *options) {
  ISO__AUTOCAST(ctx, "cosine_embedding_loss", iso_cosine_embedding_loss(ctx, a, b, y, margin, options), &a, &b, &y);
  const char *op = "cosine_embedding_loss";
  if (!iso__takes(ctx, op, 3, ISO__TENSORS(a, b, y)) || !iso__takes_floats(ctx, op, 2, ISO__TENSORS(a, b)) ||
      !iso__loss_shapes(ctx, op, a, b, "b"))
    return NULL;
  const int n_dims = a->view.n_dims;
  if (n_dims < 1 || n_dims > 2 || y->view.n_dims != n_dims - 1 ||
      (n_dims == 2 && y->view.shape[0] != a->view.shape[0])) {
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op, "a, b and y have %d, %d and %d dimensions: (N,D), (N,D) and (N) are needed",
              n_dims, b->view.n_dims, y->view.n_dims);
    return NULL;
  }
  const int last = -1;
  const iso_dtype dtype = a->view.dtype;
  iso__enter(ctx);
  const iso_tensor *sign = y->view.dtype == dtype ? y : iso_cast(ctx, y, dtype);
  iso_tensor *dot = sum_along(ctx, iso_mul(ctx, a, b), last, false), *squares[2];
  for (int i = 0; i < 2; i++)
    squares[i] = iso_add_scalar(ctx, iso__sum_squares(ctx, i ? b : a, 1, &last, false), 1e-12);
  iso_tensor *c = iso_div(ctx, dot, iso_sqrt(ctx, iso_mul(ctx, squares[0], squares[1])));
  iso_tensor *zero = iso__scalar(ctx, dtype, 0), *one = iso__scalar(ctx, dtype, 1),
             *minus = iso__scalar(ctx, dtype, -1);
  if (iso__failed(ctx)) return iso__leave(ctx, NULL);
  iso_tensor *near = iso_where(ctx, iso_eq(ctx, sign, one), iso_rsub_scalar(ctx, c, 1), zero);
  iso_tensor *hinge = iso_clamp(ctx, iso_add_scalar(ctx, c, -margin), 0, INFINITY);
  iso_tensor *far = iso_where(ctx, iso_eq(ctx, sign, minus), hinge, zero);
  return iso__leave(ctx, iso__loss_reduce(ctx, iso_add(ctx, near, far), options));
}

iso_tensor *iso_triplet_margin_loss(iso_context *ctx, const iso_tensor *anchor, const iso_tensor *positive,
                                    const iso_tensor *negative, double margin,
                                    const iso_triplet_margin_options *options) {
  ISO__AUTOCAST(ctx, "triplet_margin_loss", iso_triplet_margin_loss(ctx, anchor, positive, negative, margin, options),
                &anchor, &positive, &negative);
  const iso_triplet_margin_options none = {0}, *o = options ? options : &none;
  const char *op = "triplet_margin_loss";
  if (!iso__takes(ctx, op, 3, ISO__TENSORS(anchor, positive, negative)) ||
      !iso__takes_floats(ctx, op, 3, ISO__TENSORS(anchor, positive, negative)))
    return NULL;
  const double p = o->p != 0 ? o->p : 2, eps = o->eps != 0 ? o->eps : 1e-6;
  iso__enter(ctx);
  iso_tensor *near = iso_pairwise_distance(ctx, anchor, positive, p, eps, false);
  iso_tensor *far = iso_pairwise_distance(ctx, anchor, negative, p, eps, false);
  if (o->swap) far = iso_minimum(ctx, far, iso_pairwise_distance(ctx, positive, negative, p, eps, false));
  iso_tensor *loss = iso_clamp(ctx, iso_add_scalar(ctx, iso_sub(ctx, near, far), margin), 0, INFINITY);
  return iso__leave(ctx, iso__loss_reduce(ctx, loss, &o->loss));
}
